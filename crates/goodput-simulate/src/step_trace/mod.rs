//! Step traces of several ranks with known truth: a [`Scenario`] is simulated event by event (hosts, streams,
//! exchanges), written as Kineto writes traces, and its own books say where every nanosecond went.
//!
//! ```
//! use goodput_simulate::step_trace::{Charge, Scenario, simulate};
//! let scenario = Scenario::named("straggler").ok_or("no such scenario")?;
//! let traces = simulate(&scenario);
//! assert_eq!(traces.ranks.len(), 4);
//! let most_blamed = traces.truth.ranks.iter().max_by_key(|rank| rank.blame_ns).ok_or("no rank")?;
//! assert_eq!(most_blamed.rank, 2);
//! let victim = &traces.truth.ranks[0].steps[1].device;
//! assert!(victim.charges[&Charge::PeerWait] > 1_000_000);
//! # Ok::<(), &str>(())
//! ```

mod books;
mod device;
mod kernel;
mod kineto;
mod layout;
mod machine;
mod named;
mod program;
mod record;
mod scenario;
mod schedule;
mod truth;

pub use kernel::{Exchange, Operation};
pub use layout::{Axis, Group, Layout, Place};
pub use scenario::{
    Capture, HostTimes, KernelTimes, Messages, Network, Scenario, SendMode, Stall, Straggler,
};
pub use truth::{Charge, CollectiveTruth, HostCause, RankTruth, StepTruth, Truth, WindowTruth};

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The traces of a job, and what they must tell.
#[derive(Debug, Clone)]
pub struct SimulatedTraces {
    /// Rank and text of each trace.
    pub ranks: Vec<(u32, String)>,
    /// The truth.
    pub truth: Truth,
}

/// Lets the job run and writes its traces.
pub fn simulate(scenario: &Scenario) -> SimulatedTraces {
    let history = machine::run(scenario);
    let traced = (0..scenario.layout.ranks()).filter(|rank| !scenario.missing_ranks.contains(rank));
    SimulatedTraces {
        ranks: traced.map(|rank| (rank, kineto::trace(scenario, &history, rank))).collect(),
        truth: books::truth(scenario, &history),
    }
}

impl SimulatedTraces {
    /// Writes `rank0.json` and so on, and `truth.json` beside them; returns the paths of the traces.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        fs::create_dir_all(dir)?;
        let mut paths = Vec::new();
        for (rank, text) in &self.ranks {
            let path = dir.join(format!("rank{rank}.json"));
            fs::write(&path, text)?;
            paths.push(path);
        }
        fs::write(dir.join("truth.json"), self.truth.to_json())?;
        Ok(paths)
    }
}
