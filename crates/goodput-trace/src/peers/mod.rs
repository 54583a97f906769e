//! All ranks together: the same exchange on every rank, clocks, waiting against transfer, and who came last.
//!
//! [`analyse`] gives the splits that the partition of each rank intersects with its exposed communication. With the
//! slices of the partitions, [`blame::causes`] then says what the last ones did while the others waited.

mod align;
mod bandwidth;
pub mod blame;
mod clock;
mod exchange;
mod group;
mod matching;
mod reason;
mod shift;
mod totals;
mod wait;

pub use bandwidth::{Bandwidth, bus_factor, message_bytes};
pub use blame::{Blame, Causes};
pub use clock::{ClockCorrection, Clocks};
pub use group::{Group, GroupEvidence};
pub use reason::NotSplitReason;
pub use totals::CommunicationTotals;
pub use wait::Match;

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::partition::Splits;
use crate::trace::RankTrace;

/// A kernel that takes part in an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member {
    /// Index of the trace: no rank.
    pub trace: u32,
    /// Index of its device work.
    pub work: u32,
}

/// How the ranks are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PeerOptions {
    /// Whether clocks are corrected.
    pub clock_correction: ClockCorrection,
}

/// What the ranks of a job tell about each other. Vectors of ranks go by trace, in the order given.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerAnalysis {
    /// How far the clocks are apart.
    pub clocks: Clocks,
    /// Who exchanges with whom.
    pub groups: Vec<Group>,
    /// Every exchange, by its first start.
    pub matches: Vec<Match>,
    /// For each rank how its communication kernels divide: what [`partition`](crate::partition) asks for.
    pub splits: Vec<Splits>,
    /// Kernels that are not divided, by reason.
    pub not_split: Vec<NotSplit>,
    /// For each rank what it made others wait.
    pub blame: Vec<Blame>,
    /// Bandwidth by group, kind and size. Empty when the traces do not tell sizes.
    pub bandwidth: Vec<Bandwidth>,
    /// For each rank how its communication divides.
    pub totals: Vec<CommunicationTotals>,
}

/// Kernels that are not divided for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotSplit {
    /// Why.
    pub reason: NotSplitReason,
    /// How many kernels, over all ranks.
    pub kernels: u64,
    /// Sum of their durations in nanoseconds.
    pub duration_ns: i64,
}

/// Compares the ranks of a job.
pub fn analyse(traces: &[RankTrace], options: PeerOptions) -> PeerAnalysis {
    let (exchanges, groups) = exchange::collect(traces);
    let groups = groups.settle(traces);
    let joined = matching::Matching { traces, groups: &groups, exchanges: &exchanges }.join();
    let clocks = Clocks::estimate(traces, &groups, &exchanges, &joined, options.clock_correction);

    let fastest = wait::FastestSends::among(&joined, &exchanges, &clocks);
    let mut divided: Vec<_> =
        joined.par_iter().map(|joined| wait::divide(joined, &exchanges, &clocks, &fastest)).collect();
    divided.par_sort_by_key(|(found, _)| (found.first_start_ns, found.members.first().copied()));

    let mut splits = vec![Splits::default(); traces.len()];
    let mut not_split: BTreeMap<NotSplitReason, NotSplit> = BTreeMap::new();
    for (found, members) in &divided {
        for (member, split) in found.members.iter().zip(members) {
            splits[member.trace as usize].insert(member.work, *split);
        }
        if let Err(reason) = found.outcome {
            let row = not_split.entry(reason).or_insert(NotSplit { reason, kernels: 0, duration_ns: 0 });
            for member in &found.members {
                let work = &traces[member.trace as usize].work[member.work as usize];
                row.kernels += 1;
                row.duration_ns = row.duration_ns.saturating_add(work.duration_ns());
            }
        }
    }
    let matches: Vec<Match> = divided.into_iter().map(|(found, _)| found).collect();
    let totals = traces
        .par_iter()
        .zip(&splits)
        .map(|(trace, splits)| CommunicationTotals::of(trace, splits))
        .collect();
    PeerAnalysis {
        blame: blame::table(traces.len(), &matches),
        bandwidth: bandwidth::table(traces, &groups, &matches),
        clocks,
        groups,
        matches,
        splits,
        not_split: not_split.into_values().collect(),
        totals,
    }
}

#[cfg(test)]
mod tests;
