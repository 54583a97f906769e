//! Who came last, and what it did while the others waited.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Match, PeerAnalysis};
use crate::partition::{Charge, Slice, WaitKind};
use crate::trace::CollectiveKind;

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
        let Ok(wait) = found.outcome else { continue };
        match wait {
            WaitKind::Peers => {
                for member in &found.members {
                    blame[member.trace as usize].collectives += 1;
                }
                let last = &mut blame[found.last as usize];
                last.skew_ns = last.skew_ns.saturating_add(found.skew_ns());
                last.times_last += u64::from(found.skew_ns() > 0);
            }
            // A receiver that comes last leaves no bubble.
            WaitKind::Upstream if found.kind == CollectiveKind::Send && Some(found.last) != sender(found) => {
            }
            WaitKind::Upstream => {
                let last = &mut blame[found.last as usize];
                last.bubble_ns = last.bubble_ns.saturating_add(found.skew_ns());
            }
        }
    }
    blame
}

fn sender(found: &Match) -> Option<u32> {
    found.members.first().map(|member| member.trace)
}

/// Waiting of others that goes back to one rank, and what that rank did meanwhile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Causes {
    /// Skew in nanoseconds that ends with this rank: that of the collectives that it started last, less the part that
    /// it waited for another itself, plus what others passed on to it.
    pub skew_ns: i64,
    /// What the rank did in that time, in nanoseconds. Sums to the skew with [`Causes::outside_ns`].
    pub doing: BTreeMap<Charge, i64>,
    /// Part of the skew that no slice covers, in nanoseconds.
    pub outside_ns: i64,
}

impl Causes {
    /// What the rank did longest.
    pub fn chiefly(&self) -> Option<(Charge, i64)> {
        self.doing.iter().map(|(&charge, &ns)| (charge, ns)).max_by_key(|&(_, ns)| ns)
    }
}

/// Follows the skew of every divided collective to where it comes from, for each trace. `slices` holds the partitions
/// of each trace, by start.
///
/// While the others waited for the rank that started last, that rank computed, was idle, or waited itself, in another
/// exchange: then that time goes on to the rank that it waited for. The skew of all ranks together stays the same.
pub fn causes(analysis: &PeerAnalysis, slices: &[&[Slice]]) -> Vec<Causes> {
    let mut follow = Follow {
        analysis,
        slices,
        waits: waits(analysis),
        found: vec![Causes::default(); analysis.blame.len()],
    };
    for found in &analysis.matches {
        if found.outcome == Ok(WaitKind::Peers) && found.skew_ns() > 0 {
            follow.back(found.last, found.first_start_ns, found.last_start_ns);
        }
    }
    follow.found
}

/// For each trace the divided exchange of a kernel, by index.
fn waits(analysis: &PeerAnalysis) -> Vec<FxHashMap<u32, u32>> {
    let mut waits = vec![FxHashMap::default(); analysis.blame.len()];
    for (index, found) in (0..).zip(&analysis.matches) {
        if found.outcome.is_ok() {
            for member in &found.members {
                waits[member.trace as usize].insert(member.work, index);
            }
        }
    }
    waits
}

struct Follow<'a> {
    analysis: &'a PeerAnalysis,
    slices: &'a [&'a [Slice]],
    waits: Vec<FxHashMap<u32, u32>>,
    found: Vec<Causes>,
}

/// An interval of the common clock in which others waited for a trace, and how often the blame was passed on.
struct Span {
    trace: u32,
    from_ns: i64,
    to_ns: i64,
    passed: usize,
}

impl Follow<'_> {
    fn back(&mut self, trace: u32, from_ns: i64, to_ns: i64) {
        let mut spans = vec![Span { trace, from_ns, to_ns, passed: 0 }];
        while let Some(span) = spans.pop() {
            self.span(&span, &mut spans);
        }
    }

    fn span(&mut self, span: &Span, spans: &mut Vec<Span>) {
        let clocks = &self.analysis.clocks;
        let (from_ns, to_ns) =
            (clocks.own_ns(span.trace, span.from_ns), clocks.own_ns(span.trace, span.to_ns));
        let slices = self.slices.get(span.trace as usize).copied().unwrap_or_default();
        let first = slices.partition_point(|slice| slice.end_ns <= from_ns);
        let mut left_ns = to_ns - from_ns;
        for slice in slices[first..].iter().take_while(|slice| slice.start_ns < to_ns) {
            let (start_ns, end_ns) = (slice.start_ns.max(from_ns), slice.end_ns.min(to_ns));
            left_ns -= end_ns - start_ns;
            // Clocks that are off can close a circle, which no chain of ranks is longer than.
            let next = self.waited_for(span.trace, slice).filter(|_| span.passed < self.found.len());
            if let Some(trace) = next {
                spans.push(Span {
                    trace,
                    from_ns: clocks.corrected_ns(span.trace, start_ns),
                    to_ns: clocks.corrected_ns(span.trace, end_ns),
                    passed: span.passed + 1,
                });
                continue;
            }
            let causes = &mut self.found[span.trace as usize];
            causes.skew_ns += end_ns - start_ns;
            *causes.doing.entry(slice.charge).or_insert(0) += end_ns - start_ns;
        }
        let causes = &mut self.found[span.trace as usize];
        causes.skew_ns += left_ns;
        causes.outside_ns += left_ns;
    }

    /// Whom a trace waits for in a slice.
    fn waited_for(&self, trace: u32, slice: &Slice) -> Option<u32> {
        if !matches!(slice.charge, Charge::PeerWait | Charge::Bubble) {
            return None;
        }
        let index = *self.waits.get(trace as usize)?.get(&slice.work?)?;
        let found = self.analysis.matches.get(index as usize)?;
        let other = if found.kind == CollectiveKind::Send {
            found.members.iter().map(|member| member.trace).find(|&member| member != trace)?
        } else {
            found.last
        };
        (other != trace).then_some(other)
    }
}
