//! Who came last, and what it did while the others waited.

use super::Match;
use crate::partition::WaitKind;

/// What one rank made others wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Blame {
    /// Skew (last start minus first start) of the collectives that it started last, in nanoseconds.
    pub skew_ns: i64,
    /// How many it started last, others being there before it.
    pub times_last: u64,
    /// Divided collectives that it took part in.
    pub collectives: u64,
    /// Pipeline bubbles that end with its send, in nanoseconds.
    pub bubble_ns: i64,
}

pub(super) fn table(traces: usize, matches: &[Match]) -> Vec<Blame> {
    let mut blame = vec![Blame::default(); traces];
    for found in matches {
        match found.outcome {
            Ok(WaitKind::Peers) => {
                for member in &found.members {
                    blame[member.trace as usize].collectives += 1;
                }
                let last = &mut blame[found.last as usize];
                last.skew_ns = last.skew_ns.saturating_add(found.skew_ns());
                last.times_last += u64::from(found.skew_ns() > 0);
            }
            Ok(WaitKind::Upstream) => {
                let last = &mut blame[found.last as usize];
                last.bubble_ns = last.bubble_ns.saturating_add(found.skew_ns());
            }
            Err(_) => {}
        }
    }
    blame
}
