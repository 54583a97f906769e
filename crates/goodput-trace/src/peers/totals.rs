//! Communication of each rank, every nanosecond once.

use crate::class::Class;
use crate::partition::{Charge, Splits, partition};
use crate::trace::RankTrace;

/// Communication of one rank over its whole trace, whether computation hides it or not, by the rules of the
/// [`partition`]. The parts sum to the union of its communication kernels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommunicationTotals {
    /// Waiting for peers, in nanoseconds.
    pub wait_ns: i64,
    /// Waiting for a sender, in nanoseconds.
    pub bubble_ns: i64,
    /// Transfer, in nanoseconds.
    pub transfer_ns: i64,
    /// Kernels that are not divided, in nanoseconds.
    pub not_split_ns: i64,
}

impl CommunicationTotals {
    /// The union of the communication kernels, in nanoseconds.
    pub fn all_ns(&self) -> i64 {
        self.wait_ns + self.bubble_ns + self.transfer_ns + self.not_split_ns
    }

    pub(super) fn of(trace: &RankTrace, splits: &Splits) -> Self {
        let mut totals = Self::default();
        let Some(window) = trace.device_window() else { return totals };
        let alone = partition(trace, window, splits, |_, work| work.class == Class::Communication);
        for (charge, ns) in alone.amounts {
            match charge {
                Charge::PeerWait => totals.wait_ns += ns,
                Charge::Bubble => totals.bubble_ns += ns,
                Charge::Transfer(_) => totals.transfer_ns += ns,
                Charge::CommunicationNotSplit(_) => totals.not_split_ns += ns,
                _ => {}
            }
        }
        totals
    }
}
