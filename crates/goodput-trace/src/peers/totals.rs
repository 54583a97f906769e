//! Communication of each rank, every nanosecond once.

use super::exchange::Exchange;
use crate::partition::{Splits, WaitKind};

/// Communication of one rank over its whole trace, whether computation hides it or not. Where several kernels run at
/// once, the one that started first counts. The parts sum to the union of its communication kernels.
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

    /// Of the exchanges of one trace, by start.
    pub(super) fn of(exchanges: &[Exchange], splits: &Splits) -> Self {
        let mut totals = Self::default();
        let mut covered_ns = i64::MIN;
        for exchange in exchanges {
            let from_ns = exchange.start_ns.max(covered_ns);
            if exchange.end_ns <= from_ns {
                continue;
            }
            covered_ns = exchange.end_ns;
            match splits.get(&exchange.work) {
                Some(split) => {
                    let wait_ns = (split.waits_until_ns - from_ns).max(0);
                    match split.wait {
                        WaitKind::Peers => totals.wait_ns += wait_ns,
                        WaitKind::Upstream => totals.bubble_ns += wait_ns,
                    }
                    totals.transfer_ns += exchange.end_ns - from_ns - wait_ns;
                }
                None => totals.not_split_ns += exchange.end_ns - from_ns,
            }
        }
        totals
    }
}
