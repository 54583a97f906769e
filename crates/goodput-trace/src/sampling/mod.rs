//! Which ranks and windows to trace next, and how large that will be.
//!
//! Tracing every rank all the time is out of the question: 5 s of Nsight Systems on one GPU are some 500 MB, 512 GB on
//! 1 024 of them. So traces are samples, and a sample answers a question only if it is drawn over everything that may
//! differ: pipeline stages, parallel groups, nodes, hours of the day, phases of the run. Rank 0 alone is no sample. Rare
//! events are caught by [`trigger`]s on step timers that are always on.
//!
//! ```
//! use goodput_trace::sampling::{Budget, JobLayout, Request, plan};
//! let layout = JobLayout { tensor: 8, pipeline: 4, expert: 1, data: 32, devices_per_node: 8 };
//! let request = Request {
//!     mesh: layout.mesh(),
//!     budget: Budget::Bytes(100_000_000_000),
//!     bytes_per_device_second: 100_000_000,
//!     window_ns: 5_000_000_000,
//!     windows: 4,
//!     steps: &[],
//!     suspects: &[],
//! };
//! let plan = plan(&request)?;
//! assert_eq!(plan.everything_bytes, 4 * 512_000_000_000);
//! assert!(plan.bytes <= 100_000_000_000);
//! assert!(plan.ranks.len() == 50 && plan.strata.iter().all(|stratum| stratum.traced > 0));
//! # Ok::<(), goodput_trace::sampling::SamplingError>(())
//! ```

mod ranks;
#[cfg(test)]
mod tests;
pub mod trigger;
mod windows;

pub use ranks::{ChosenRank, Reason, Stratum, Suspect};
pub use windows::{ChosenWindow, Phase, StepTime, WindowReason};

use goodput_core::planning::trace_bytes;

use crate::audit::{Axis, Mesh};

/// How a job's ranks are laid out, tensor innermost, then expert, data, pipeline (Megatron-LM's order).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLayout {
    /// Ranks that share every matrix.
    pub tensor: u32,
    /// Ranks over which experts are spread.
    pub expert: u32,
    /// Replicas.
    pub data: u32,
    /// Stages.
    pub pipeline: u32,
    /// Ranks of one node.
    pub devices_per_node: u32,
}

impl JobLayout {
    /// The mesh, axes of one rank left out.
    pub fn mesh(&self) -> Mesh {
        let axes = [
            (ranks::PIPELINE, self.pipeline),
            ("data", self.data),
            ("expert", self.expert),
            (ranks::TENSOR, self.tensor),
        ];
        let axes = axes.into_iter().filter(|&(_, size)| size > 1).map(|(name, size)| Axis::new(name, size));
        Mesh { axes: axes.collect(), devices_per_node: self.devices_per_node.max(1), nodes: None }
    }
}

/// How much may be traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Ranks.
    Ranks(u32),
    /// Bytes of all traces together.
    Bytes(u128),
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Request<'a> {
    /// The job: axes, and nodes. Axes named `pipeline` and `tensor` are the stages and the innermost groups.
    pub mesh: Mesh,
    /// How much may be traced.
    pub budget: Budget,
    /// Bytes that one device writes in a second of tracing: measured on traces at hand ([`bytes_per_device_second`]),
    /// or stated.
    pub bytes_per_device_second: u64,
    /// Length of one window in nanoseconds.
    pub window_ns: i64,
    /// Windows to trace.
    pub windows: u32,
    /// Steps of the job's timeline, when there is one, in order.
    pub steps: &'a [StepTime],
    /// Ranks that blame fell on.
    pub suspects: &'a [Suspect],
}

/// What to trace next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingPlan {
    /// The ranks, ascending.
    pub ranks: Vec<ChosenRank>,
    /// The windows, by instant.
    pub windows: Vec<ChosenWindow>,
    /// How much of each stratum the ranks cover.
    pub strata: Vec<Stratum>,
    /// Axes of which at least one whole group is traced, so that waiting can be told from transfer along them.
    pub split_axes: Vec<String>,
    /// Bytes of the plan.
    pub bytes: u128,
    /// Bytes of the same windows on every rank.
    pub everything_bytes: u128,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SamplingError {
    /// The budget does not reach for a rank and a peer to compare it with.
    #[error(
        "the budget reaches for {ranks} ranks; a rank says nothing without a peer: allow at least {needed_bytes} bytes \
         for two, or ask for shorter or fewer windows"
    )]
    TooSmall {
        /// Ranks that it reaches for.
        ranks: u128,
        /// Bytes of two.
        needed_bytes: u128,
    },
    /// A quantity that makes no sense.
    #[error("{field}: found {found}; expected {expected}")]
    Field {
        /// The field.
        field: &'static str,
        /// What it says.
        found: String,
        /// What it should say.
        expected: &'static str,
    },
}

/// Chooses ranks and windows.
///
/// # Errors
/// [`SamplingError`] when the budget is too small for two ranks, or a quantity makes no sense.
pub fn plan(request: &Request<'_>) -> Result<SamplingPlan, SamplingError> {
    let world = request.mesh.ranks();
    let positive = |field, value: i128| match value > 0 {
        true => Ok(()),
        false => Err(SamplingError::Field { field, found: value.to_string(), expected: "more than 0" }),
    };
    positive("mesh", world.into())?;
    positive("bytes_per_device_second", request.bytes_per_device_second.into())?;
    positive("window_ns", request.window_ns.into())?;
    positive("windows", request.windows.into())?;
    if let Some(suspect) = request.suspects.iter().find(|suspect| suspect.rank >= world) {
        let found = format!("rank {} of {world}", suspect.rank);
        return Err(SamplingError::Field { field: "suspects", found, expected: "a rank of the job" });
    }

    let each = window_bytes(request.bytes_per_device_second, request.window_ns, request.windows);
    let affordable = match request.budget {
        Budget::Ranks(ranks) => u128::from(ranks),
        Budget::Bytes(bytes) => bytes / each.max(1),
    };
    if affordable < 2.min(u128::from(world)) {
        return Err(SamplingError::TooSmall { ranks: affordable, needed_bytes: each.saturating_mul(2) });
    }
    let count = u32::try_from(affordable).unwrap_or(u32::MAX).min(world);
    let ranks = ranks::choose(&request.mesh, count, request.suspects);
    let traced: Vec<u32> = ranks.iter().map(|chosen| chosen.rank).collect();
    let bytes = each.saturating_mul(traced.len() as u128);
    Ok(SamplingPlan {
        strata: ranks::strata(&request.mesh, &traced),
        split_axes: ranks::whole_axes(&request.mesh, &traced),
        ranks,
        windows: windows::choose(request.windows, request.window_ns, request.steps),
        bytes,
        everything_bytes: each.saturating_mul(u128::from(world)),
    })
}

/// Bytes that one device writes in all windows.
fn window_bytes(bytes_per_second: u64, window_ns: i64, windows: u32) -> u128 {
    let seconds_bytes = u128::from(bytes_per_second) * u128::from(window_ns.unsigned_abs());
    let one = u64::try_from(seconds_bytes / 1_000_000_000).unwrap_or(u64::MAX);
    trace_bytes(one, u64::from(windows))
}

/// Bytes that one device writes in a second, by traces at hand: their bytes on disk over the nanoseconds that they
/// cover on all devices together. `None` for traces of no length.
pub fn bytes_per_device_second(bytes: u64, device_ns: i64) -> Option<u64> {
    let nanoseconds = u128::try_from(device_ns).ok().filter(|&ns| ns > 0)?;
    u64::try_from((u128::from(bytes) * 1_000_000_000).div_ceil(nanoseconds)).ok()
}
