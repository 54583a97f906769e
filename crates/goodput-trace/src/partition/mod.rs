//! Every nanosecond of a rank's window, charged once.
//!
//! The first that matches: a compute kernel; communication, what moves data before what waits; a copy or a fill; idle.
//! An idle gap `[a, b)` before work that starts at `b` and was launched at `l` is *host late* over `[a, clamp(l, a, b))`,
//! by what the launching thread did, and *launch latency* or *stream dependency* over the rest.
//!
//! ```
//! use goodput_trace::partition::{Splits, partition};
//! # use goodput_trace::{reading::Format, trace::{Epoch, TraceBuilder}};
//! # let trace = TraceBuilder::default().finish("t.json".as_ref(), Format::Chrome, Epoch::Own);
//! let rank = partition(&trace, (0, 1_000), &Splits::default(), |_, _| true);
//! assert_eq!(rank.compute_ns() + rank.exposed_comm_ns() + rank.exposed_mem_ns() + rank.idle_ns(), rank.window_ns());
//! ```

mod causes;
mod charge;
mod layers;
mod links;
#[cfg(test)]
mod painted;
mod sweep;
mod words;

use std::collections::BTreeMap;

pub use charge::{Charge, HostCause, Slice, Split, Splits, WaitKind};
pub use links::launch_latencies;
pub use sweep::Partitioner;

use crate::trace::{DeviceWork, RankTrace};

/// One window of one rank, every nanosecond charged once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The window `[from, to)` in nanoseconds.
    pub window: (i64, i64),
    /// What each part of the window is charged to, in order and without a hole.
    pub slices: Vec<Slice>,
    /// Nanoseconds by charge. They sum to the window.
    pub amounts: BTreeMap<Charge, i64>,
    /// Nanoseconds in which communication runs, hidden or not.
    pub comm_total_ns: i64,
}

/// Charges every nanosecond of `window` (half-open) once, over the device work that `filter` admits.
///
/// For several windows of one trace, build a [`Partitioner`].
pub fn partition(
    trace: &RankTrace,
    window: (i64, i64),
    splits: &Splits,
    filter: impl Fn(usize, &DeviceWork) -> bool,
) -> Partition {
    Partitioner::new(trace, splits).partition(window, filter)
}

impl Partition {
    /// Length of the window.
    pub fn window_ns(&self) -> i64 {
        self.window.1 - self.window.0
    }

    /// Nanoseconds of one charge.
    pub fn amount_ns(&self, charge: Charge) -> i64 {
        self.amounts.get(&charge).copied().unwrap_or(0)
    }

    /// Nanoseconds in which a kernel computes.
    pub fn compute_ns(&self) -> i64 {
        self.sum(Charge::is_compute)
    }

    /// Nanoseconds in which communication runs and nothing computes.
    pub fn exposed_comm_ns(&self) -> i64 {
        self.sum(Charge::is_communication)
    }

    /// Nanoseconds in which only copies and fills run.
    pub fn exposed_mem_ns(&self) -> i64 {
        self.sum(Charge::is_memory)
    }

    /// Nanoseconds in which nothing runs.
    pub fn idle_ns(&self) -> i64 {
        self.sum(Charge::is_idle)
    }

    /// Nanoseconds of communication beside computation.
    pub fn hidden_comm_ns(&self) -> i64 {
        self.comm_total_ns - self.exposed_comm_ns()
    }

    /// Idle nanoseconds in which nothing was queued.
    pub fn host_late_ns(&self) -> i64 {
        self.sum(|charge| matches!(charge, Charge::HostLate(_)))
    }

    /// Idle nanoseconds between the launch and the start: latency, the queue, another stream.
    pub fn launch_latency_ns(&self) -> i64 {
        self.amount_ns(Charge::LaunchLatency) + self.amount_ns(Charge::StreamDependency)
    }

    /// Idle nanoseconds that no launch explains.
    pub fn unattributed_ns(&self) -> i64 {
        self.amount_ns(Charge::Unattributed)
    }

    fn sum(&self, of: impl Fn(Charge) -> bool) -> i64 {
        self.amounts.iter().filter(|&(&charge, _)| of(charge)).map(|(_, ns)| ns).sum()
    }
}
