//! A fleet of inference replicas with known truth: rolling updates, failures, bursts, a warm pool, small jobs that scatter
//! the free devices; the log that it would write, and its own books.
//!
//! ```
//! use goodput_simulate::serving::{Scenario, simulate};
//! let fleet = simulate(&Scenario { days: 1, ..Scenario::default() });
//! assert!(fleet.log.starts_with("{\"goodput_serving\":1"));
//! assert!(fleet.truth.ready() < fleet.truth.held());
//! ```

mod books;
mod check;
mod lives;
mod pool;
mod work;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;

pub use books::{PoolTruth, ServingTruth};

use lives::Fleet;

/// When the simulated fleet begins: 2026-05-28T20:26:40Z.
const EPOCH_NS: i64 = 1_780_000_000_000_000_000;
const S: i64 = 1_000_000_000;

/// What the fleet is made of: the `SERVING.yaml` of `goodput simulate --serving`. Every amount of time is a mean around which draws
/// vary.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// Seed of every draw.
    pub seed: u64,
    /// Days that the log covers.
    pub days: u32,
    /// Replicas that serve all the time.
    pub replicas: u32,
    /// Replicas that are ready and have no work.
    pub warm_pool: u32,
    /// Replicas added for an hour, once a day.
    pub burst_replicas: u32,
    /// Nodes on which small jobs come and go.
    pub mixed_nodes: u32,
    /// Hours between failures of a replica.
    pub failure_h: f64,
    /// Hours between updates of a replica.
    pub update_h: f64,
    /// Seconds to load the weights.
    pub weight_load_s: f64,
    /// Seconds to compile.
    pub compile_s: f64,
    /// Seconds to warm up.
    pub warm_up_s: f64,
    /// Seconds to drain.
    pub drain_s: f64,
    /// Seconds of one sample of work.
    pub sample_s: u32,
    /// Share of ready time with work at the busiest hour.
    pub peak_load: f64,
    /// Bytes of the weights.
    pub weight_bytes: u64,
    /// Bytes of keys and values a token.
    pub kv_bytes_per_token: u64,
    /// Model FLOPs of a prompt token.
    pub flops_per_token: u64,
    /// Memory bandwidth of a device in bytes/s.
    pub bytes_per_second: u64,
    /// Dense peak of a device in FLOP/s.
    pub flops_per_second: u64,
    /// Whether submission is eager: host dispatch is exposed in every step.
    pub eager: bool,
}

impl Default for Scenario {
    /// A week of a 70B model on nodes of eight H100.
    fn default() -> Self {
        Self {
            seed: 1,
            days: 7,
            replicas: 5,
            warm_pool: 1,
            burst_replicas: 3,
            mixed_nodes: 3,
            failure_h: 60.0,
            update_h: 30.0,
            weight_load_s: 180.0,
            compile_s: 90.0,
            warm_up_s: 72.0,
            drain_s: 60.0,
            sample_s: 600,
            peak_load: 0.8,
            weight_bytes: 140_000_000_000,
            kv_bytes_per_token: 327_680,
            flops_per_token: 140_000_000_000,
            bytes_per_second: 3_350_000_000_000,
            flops_per_second: 989_400_000_000_000,
            eager: true,
        }
    }
}

/// Devices of a node, and of a replica.
const DEVICES: u64 = 8;

impl Scenario {
    fn end_ns(&self) -> i64 {
        i64::from(self.days.max(1)) * 86_400 * S
    }
}

/// A simulated fleet: what it logs, and what an accounting of the log must find.
#[derive(Debug, Clone)]
pub struct SimulatedServing {
    /// Lines of JSON, in order of time.
    pub log: String,
    /// The books.
    pub truth: ServingTruth,
}

/// Lets the fleet run.
pub fn simulate(scenario: &Scenario) -> SimulatedServing {
    let mut fleet = Fleet::run(scenario);
    work::add(scenario, &mut fleet);
    pool::add(scenario, &mut fleet);
    fleet.truth.settle(scenario);
    fleet.lines.sort_by_key(|(at, _)| *at);
    let mut log = format!(
        "{{\"goodput_serving\":1,\"deployment\":\"chat-70b\",\"device\":\"H100 SXM5\",\"dtype\":\"bf16\",\
         \"weight_bytes\":{},\"kv_bytes_per_token\":{},\"prefill_flops_per_token\":{}}}\n",
        scenario.weight_bytes, scenario.kv_bytes_per_token, scenario.flops_per_token
    );
    for (_, line) in &fleet.lines {
        log.push_str(line);
        log.push('\n');
    }
    SimulatedServing { log, truth: fleet.truth }
}

impl SimulatedServing {
    /// Writes `serving.jsonl` and `truth.json` into `folder`; returns their paths.
    ///
    /// # Errors
    /// When the folder cannot be made or a file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs::create_dir_all(folder)?;
        let (log, truth) = (folder.join("serving.jsonl"), folder.join("truth.json"));
        fs::write(&log, &self.log)?;
        fs::write(&truth, self.truth.json())?;
        Ok(vec![log, truth])
    }
}

/// An instant as the log writes it: seconds since 1970 with nine decimals.
fn stamp(ns: i64) -> String {
    let at = EPOCH_NS + ns;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "{}.{:09}", at / S, at % S);
    text
}
