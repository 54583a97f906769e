//! What an analysis of the traces must find, from the simulation's own books.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Exchange, Operation};

/// When the simulated job begins: 2026-05-28T20:26:40Z.
pub(super) const EPOCH_NS: i64 = 1_780_000_000_000_000_000;

/// What a nanosecond of a rank's device is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Charge {
    /// A kernel that computes.
    Compute(Operation),
    /// Exposed communication that moves data.
    Transfer(Exchange),
    /// Exposed communication before the last of the group has come; a send before its receiver has.
    PeerWait,
    /// A receive before its sender has come.
    Bubble,
    /// Exposed communication of which not every member's trace shows the exchange.
    NotSplit(Exchange),
    /// An exposed copy.
    Copy,
    /// An exposed fill.
    Fill,
    /// Nothing was queued.
    HostLate(HostCause),
    /// Queued, and not yet started.
    LaunchLatency,
    /// Launched before the device fell idle, and told to wait for another stream.
    StreamDependency,
    /// Idle before work whose launch the trace does not show, or at the end of the window.
    Unattributed,
}

/// What the host did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostCause {
    /// Waited for the next batch.
    DataLoader,
    /// Waited for the device.
    HostSync,
    /// Ran the optimizer.
    Optimizer,
    /// Asked the driver for memory.
    Allocator,
    /// Dispatched operators.
    Dispatch,
}

impl HostCause {
    /// The word used in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::DataLoader => "data_loader",
            Self::HostSync => "host_sync",
            Self::Optimizer => "optimizer",
            Self::Allocator => "allocator",
            Self::Dispatch => "dispatch",
        }
    }
}

impl Charge {
    /// The key used in JSON.
    pub fn key(self) -> String {
        match self {
            Self::Compute(operation) => format!("compute_{}_ns", operation.key()),
            Self::Transfer(exchange) => format!("transfer_{}_ns", exchange.key()),
            Self::PeerWait => "peer_wait_ns".to_owned(),
            Self::Bubble => "bubble_ns".to_owned(),
            Self::NotSplit(exchange) => format!("not_split_{}_ns", exchange.key()),
            Self::Copy => "copy_ns".to_owned(),
            Self::Fill => "fill_ns".to_owned(),
            Self::HostLate(cause) => format!("host_late_{}_ns", cause.key()),
            Self::LaunchLatency => "launch_latency_ns".to_owned(),
            Self::StreamDependency => "stream_dependency_ns".to_owned(),
            Self::Unattributed => "unattributed_ns".to_owned(),
        }
    }
}

/// What the traces of a job must tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth {
    /// Name of the scenario.
    pub scenario: String,
    /// Its seed.
    pub seed: u64,
    /// The ranks, traced or not.
    pub ranks: Vec<RankTruth>,
    /// Collectives (no sends and receives) that every member's trace shows.
    pub collectives: Vec<CollectiveTruth>,
}

/// One rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankTruth {
    /// The rank.
    pub rank: u32,
    /// Whether there is a trace of it.
    pub is_traced: bool,
    /// What its clock shows above the true time.
    pub clock_offset_ns: i64,
    /// Start skew of the collectives that it started last.
    pub blame_ns: i64,
    /// Its steps.
    pub steps: Vec<StepTruth>,
}

/// One step of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepTruth {
    /// Its number.
    pub number: i64,
    /// Whether the trace shows everything in it.
    pub is_whole: bool,
    /// From the start of the step on the host to the start of the next.
    pub host: WindowTruth,
    /// From the end of the device work launched in steps before to the end of the device work launched in this one;
    /// for the first step from the start of its device work.
    pub device: WindowTruth,
    /// How much longer its computing kernels ran because communication ran beside them.
    pub stretched_ns: i64,
}

/// An interval and what its nanoseconds are charged to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowTruth {
    /// Start on the rank's own clock, nanoseconds since 1970.
    pub start_ns: i64,
    /// End on the rank's own clock.
    pub end_ns: i64,
    /// Charges in nanoseconds; they sum to the window.
    pub charges: BTreeMap<Charge, i64>,
}

/// One collective of all its ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectiveTruth {
    /// Name of the process group.
    pub group: String,
    /// Its members.
    pub ranks: Vec<u32>,
    /// Number within the group.
    pub sequence: u64,
    /// Which exchange.
    pub exchange: Exchange,
    /// First to last start.
    pub skew_ns: i64,
    /// The rank that started last; of several the lowest.
    pub last_rank: u32,
}

impl WindowTruth {
    /// Nanoseconds of the charges that `is_wanted`.
    pub fn sum_ns(&self, is_wanted: impl Fn(Charge) -> bool) -> i64 {
        self.charges.iter().filter(|(charge, _)| is_wanted(**charge)).map(|(_, ns)| ns).sum()
    }

    fn to_json(&self) -> Value {
        let charges: Map<_, _> = self.charges.iter().map(|(charge, ns)| (charge.key(), json!(ns))).collect();
        json!({"start_ns": self.start_ns, "end_ns": self.end_ns, "charges": charges})
    }
}

impl Truth {
    /// The text of `truth.json`.
    pub fn to_json(&self) -> String {
        let step = |step: &StepTruth| {
            json!({
                "step": step.number, "whole": step.is_whole, "stretched_ns": step.stretched_ns,
                "host": step.host.to_json(), "device": step.device.to_json(),
            })
        };
        let rank = |rank: &RankTruth| {
            json!({
                "rank": rank.rank, "traced": rank.is_traced, "clock_offset_ns": rank.clock_offset_ns,
                "blame_ns": rank.blame_ns, "steps": rank.steps.iter().map(step).collect::<Vec<_>>(),
            })
        };
        let document = json!({
            "schema": "goodput.step-trace-truth/1",
            "scenario": self.scenario,
            "seed": self.seed,
            "ranks": self.ranks.iter().map(rank).collect::<Vec<_>>(),
        });
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        text
    }
}
