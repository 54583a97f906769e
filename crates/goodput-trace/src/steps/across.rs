//! Which step of one rank is which of another.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Member, Steps};
use crate::peers;

/// The same steps on all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepsAcross {
    /// In order.
    pub rows: Vec<StepRow>,
    /// How steps of different ranks are known to be the same.
    pub matched_by: MatchedBy,
}

/// One step on all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRow {
    /// Its number, when steps are known by number.
    pub number: Option<i64>,
    /// For each rank, in the order given, the index of its step, if its trace has it.
    pub of_rank: Vec<Option<u32>>,
}

/// How steps of different ranks are known to be the same, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MatchedBy {
    /// By their numbers.
    Number,
    /// By the exchanges in which they meet.
    Exchanges,
    /// By their order alone, for one rank at least: captures that begin one step apart are told wrongly.
    Order,
}

impl StepsAcross {
    /// Matches the steps of the ranks of a job: by number where all have numbers, else by the exchanges that are
    /// matched, whose members name the ranks by their index here.
    pub fn of(ranks: &[&Steps], exchanges: &[peers::Match]) -> Self {
        let numbered = |rank: &&Steps| rank.steps.iter().all(|step| step.number.is_some());
        if ranks.iter().all(numbered) {
            return Self { rows: by_number(ranks), matched_by: MatchedBy::Number };
        }
        by_exchanges(ranks, exchanges)
    }
}

fn by_number(ranks: &[&Steps]) -> Vec<StepRow> {
    let mut rows: BTreeMap<Option<i64>, Vec<Option<u32>>> = BTreeMap::new();
    for (rank, found) in ranks.iter().enumerate() {
        for (index, step) in found.steps.iter().enumerate() {
            let row = rows.entry(step.number).or_insert_with(|| vec![None; ranks.len()]);
            row[rank].get_or_insert(index as u32);
        }
    }
    rows.into_iter().map(|(number, of_rank)| StepRow { number, of_rank }).collect()
}

/// Steps of a rank keep their distance to those of the rank with most steps: the distance at which most exchanges meet,
/// else none.
fn by_exchanges(ranks: &[&Steps], exchanges: &[peers::Match]) -> StepsAcross {
    let count = |rank: usize| ranks[rank].steps.len();
    let Some(reference) = (0..ranks.len()).max_by_key(|&rank| (count(rank), Reverse(rank))) else {
        return StepsAcross { rows: Vec::new(), matched_by: MatchedBy::Order };
    };
    let step_of = |member: &peers::Member| {
        let members = &ranks[member.trace as usize].members;
        match members.get(member.work as usize)? {
            Member::Step(step) => Some(i64::from(*step)),
            Member::Before | Member::After => None,
        }
    };
    let mut votes: Vec<FxHashMap<i64, usize>> = vec![FxHashMap::default(); ranks.len()];
    for found in exchanges {
        let of_reference = found.members.iter().find(|member| member.trace as usize == reference);
        let Some(reference_step) = of_reference.and_then(step_of) else { continue };
        for member in &found.members {
            if let Some(step) = step_of(member) {
                *votes[member.trace as usize].entry(reference_step - step).or_default() += 1;
            }
        }
    }
    let mut matched_by = MatchedBy::Exchanges;
    let distances: Vec<i64> = votes
        .iter()
        .enumerate()
        .map(|(rank, votes)| {
            let best = votes.iter().max_by_key(|&(&distance, &votes)| (votes, Reverse(distance.abs())));
            if best.is_none() && rank != reference {
                matched_by = MatchedBy::Order;
            }
            best.map_or(0, |(&distance, _)| distance)
        })
        .collect();
    let mut rows: BTreeMap<i64, Vec<Option<u32>>> = BTreeMap::new();
    for (rank, distance) in distances.into_iter().enumerate() {
        for step in 0..count(rank) as u32 {
            rows.entry(i64::from(step) + distance).or_insert_with(|| vec![None; ranks.len()])[rank] =
                Some(step);
        }
    }
    let rows = rows.into_values().map(|of_rank| StepRow { number: None, of_rank }).collect();
    StepsAcross { rows, matched_by }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Class;
    use crate::peers::{PeerOptions, analyse};
    use crate::trace::sketch::Sketch;
    use crate::trace::{HostKind, Identity, RankTrace};

    /// Steps 4 to 6 or 5 to 7 of 100 us, each with an all-reduce of its own name.
    fn rank(rank: u32, steps: std::ops::Range<i64>, kind: impl Fn(i64) -> HostKind) -> RankTrace {
        let mut sketch = Sketch::default();
        for step in steps {
            let at = step * 100_000;
            let name = format!("ncclDevKernel_AllReduce_Sum_f32_{step}");
            sketch
                .range(kind(step), "range", at, at + 100_000)
                .launched_by(1, at + 10, 7, (at + 100, at + 50_000), Class::Gemm, "gemm")
                .launched_by(1, at + 20, 9, (at + 50_000, at + 60_000), Class::Communication, &name);
        }
        sketch.builder.identity = Some(Identity { rank: Some(rank), ..Identity::UNKNOWN });
        sketch.trace()
    }

    fn across(kind: impl Fn(i64) -> HostKind) -> StepsAcross {
        let traces = [rank(0, 4..7, &kind), rank(1, 5..8, &kind)];
        let peers = analyse(&traces, PeerOptions::default());
        let steps = traces.each_ref().map(Steps::of);
        StepsAcross::of(&steps.each_ref(), &peers.matches)
    }

    /// Captures that begin one step apart.
    fn assert_one_apart(found: &StepsAcross) {
        let of_rank: Vec<_> = found.rows.iter().map(|row| (row.of_rank[0], row.of_rank[1])).collect();
        assert_eq!(of_rank, [(Some(0), None), (Some(1), Some(0)), (Some(2), Some(1)), (None, Some(2))]);
    }

    #[test]
    fn steps_are_matched_by_number() {
        let found = across(|number| HostKind::Step(Some(number)));
        assert_eq!(found.matched_by, MatchedBy::Number);
        assert_one_apart(&found);
        assert_eq!(found.rows[0].number, Some(4));
    }

    #[test]
    fn steps_without_numbers_are_matched_by_the_exchanges_they_share() {
        let found = across(|_| HostKind::Step(None));
        assert_eq!(found.matched_by, MatchedBy::Exchanges);
        assert_one_apart(&found);
    }

    #[test]
    fn without_either_their_order_is_all_there_is() {
        let steps = [rank(0, 0..2, |_| HostKind::Step(None)), rank(1, 0..2, |_| HostKind::Step(None))]
            .each_ref()
            .map(Steps::of);
        let found = StepsAcross::of(&steps.each_ref(), &[]);
        assert_eq!((found.rows.len(), found.matched_by), (2, MatchedBy::Order));
        assert!(StepsAcross::of(&[], &[]).rows.is_empty());
    }
}
