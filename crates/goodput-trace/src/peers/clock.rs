//! How far the clocks of the ranks are apart.
//!
//! A synchronising collective ends on all its members within a few microseconds. A rank's offset is the mean, over the
//! collectives of a group, of its end minus the median end of that collective; corrected is raw minus offset. Groups
//! that share ranks are joined along a spanning tree, those with most collectives first. Ranks that only send to each
//! other are joined last: a receive cannot end before its send ends, in either direction, which bounds the offset as
//! the round trip of a time protocol does. Offsets are rounded to the nearest nanosecond and taken as constant over
//! the capture: drift shows in the spread that remains.

use std::collections::{BTreeMap, BinaryHeap};

use super::NotSplitReason;
use super::exchange::Exchange;
use super::group::Group;
use super::matching::{Joined, Role};
use crate::trace::{Epoch, RankTrace};

/// Whether the clocks of the ranks are corrected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ClockCorrection {
    /// Stamps are compared as they are.
    None,
    /// By the ends of synchronising collectives.
    #[default]
    EndOfCollectives,
}

impl ClockCorrection {
    /// The estimator, as a report names it.
    pub fn estimator(self) -> &'static str {
        match self {
            Self::None => "none: raw stamps",
            Self::EndOfCollectives => {
                "mean over collectives of (end - median end of that collective), constant over the capture"
            }
        }
    }
}

/// The clocks of the ranks. Vectors go by trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clocks {
    /// How they are corrected.
    pub correction: ClockCorrection,
    /// What is subtracted from a trace's stamps, in nanoseconds; zero where nothing was estimated.
    pub offsets_ns: Vec<i64>,
    /// Traces of one number share a corrected clock.
    pub components: Vec<u32>,
    /// Whether a trace and all of its component count from 1970, so that components can be compared as far as their
    /// hosts' clocks agree.
    pub is_absolute: Vec<bool>,
    /// Collectives that the offsets come from.
    pub collectives: u64,
    /// The 99th percentile over collectives of their latest minus earliest corrected end, in nanoseconds: what offsets
    /// leave unexplained. `None` without collectives.
    pub spread_p99_ns: Option<i64>,
    /// The largest of them, in nanoseconds.
    pub spread_max_ns: Option<i64>,
}

impl Clocks {
    /// An instant of a trace on the common clock of its component.
    pub fn corrected_ns(&self, trace: u32, instant_ns: i64) -> i64 {
        instant_ns.saturating_sub(self.offset_ns(trace))
    }

    /// An instant of the common clock on the trace's own.
    pub fn own_ns(&self, trace: u32, corrected_ns: i64) -> i64 {
        corrected_ns.saturating_add(self.offset_ns(trace))
    }

    /// Whether instants of two traces can be compared.
    pub fn share_clock(&self, left: u32, right: u32) -> bool {
        let is_absolute = |trace: u32| self.is_absolute.get(trace as usize) == Some(&true);
        self.components.get(left as usize) == self.components.get(right as usize)
            || (is_absolute(left) && is_absolute(right))
    }

    fn offset_ns(&self, trace: u32) -> i64 {
        self.offsets_ns.get(trace as usize).copied().unwrap_or(0)
    }

    pub(super) fn estimate(
        traces: &[RankTrace],
        groups: &[Group],
        exchanges: &[Vec<Exchange>],
        joined: &[Joined],
        correction: ClockCorrection,
    ) -> Self {
        let comparisons = comparisons(groups, joined);
        let ends = |collective: &Joined| -> Vec<i64> {
            let end = |&(trace, index): &(u32, u32)| exchanges[trace as usize][index as usize].end_ns;
            collective.members.iter().map(end).collect()
        };
        let shortest = |collective: &Joined| -> i64 {
            let duration =
                |&(trace, index): &(u32, u32)| exchanges[trace as usize][index as usize].duration_ns();
            collective.members.iter().map(duration).min().unwrap_or(0)
        };
        let mut clocks = Self {
            correction,
            offsets_ns: vec![0; traces.len()],
            components: (0..).take(traces.len()).collect(),
            is_absolute: traces.iter().map(|trace| trace.epoch == Epoch::Unix).collect(),
            collectives: comparisons.iter().map(|(_, collectives)| collectives.len() as u64).sum(),
            spread_p99_ns: None,
            spread_max_ns: None,
        };
        if correction == ClockCorrection::EndOfCollectives {
            let mut relative: Vec<Relative> = comparisons
                .iter()
                .map(|(group, collectives)| {
                    let rows: Vec<(Vec<i64>, i64)> = collectives
                        .iter()
                        .map(|collective| (ends(collective), shortest(collective)))
                        .collect();
                    Relative {
                        traces: group.traces.clone(),
                        is_collective: true,
                        weight: rows.len(),
                        offsets_ns: offsets(&rows),
                    }
                })
                .collect();
            relative.extend(round_trips(traces, exchanges, joined));
            clocks.connect(&relative);
        }
        let mut spreads: Vec<i64> = comparisons
            .iter()
            .flat_map(|(_, collectives)| collectives)
            .map(|collective| {
                let corrected = collective
                    .members
                    .iter()
                    .zip(ends(collective))
                    .map(|(m, end)| clocks.corrected_ns(m.0, end));
                spread(corrected)
            })
            .collect();
        spreads.sort_unstable();
        clocks.spread_max_ns = spreads.last().copied();
        clocks.spread_p99_ns = spreads.get((spreads.len() * 99).div_ceil(100).saturating_sub(1)).copied();
        clocks
    }

    /// Offsets within groups become offsets within components: a spanning tree over groups that share ranks.
    fn connect(&mut self, groups: &[Relative]) {
        let mut of_trace: Vec<Vec<usize>> = vec![Vec::new(); self.offsets_ns.len()];
        for (at, group) in groups.iter().enumerate() {
            for &trace in &group.traces {
                of_trace[trace as usize].push(at);
            }
        }
        let mut roots: Vec<usize> = (0..groups.len()).collect();
        roots.sort_by_key(|&at| std::cmp::Reverse(groups[at].rank(at)));
        let mut is_known = vec![false; self.offsets_ns.len()];
        let mut is_seen = vec![false; groups.len()];
        for root in roots {
            let mut next = BinaryHeap::from([(groups[root].rank(root), root)]);
            // A component is numbered by the first trace reached.
            let mut component = None;
            while let Some((_, at)) = next.pop() {
                if std::mem::replace(&mut is_seen[at], true) {
                    continue;
                }
                let group = &groups[at];
                let shift = self.shift(group, &is_known);
                for (&trace, offset_ns) in group.traces.iter().zip(&group.offsets_ns) {
                    let slot = trace as usize;
                    if std::mem::replace(&mut is_known[slot], true) {
                        continue;
                    }
                    self.offsets_ns[slot] = offset_ns.saturating_add(shift);
                    self.components[slot] = *component.get_or_insert(trace);
                    next.extend(
                        of_trace[slot].iter().filter(|&&g| !is_seen[g]).map(|&g| (groups[g].rank(g), g)),
                    );
                }
            }
        }
        let mut is_absolute = vec![true; self.components.len()];
        for (&component, &is) in self.components.iter().zip(&self.is_absolute) {
            is_absolute[component as usize] &= is;
        }
        self.is_absolute = self.components.iter().map(|&component| is_absolute[component as usize]).collect();
    }

    /// What a group's offsets are short of those already known: the mean over the ranks shared.
    fn shift(&self, group: &Relative, is_known: &[bool]) -> i64 {
        let shared =
            group.traces.iter().zip(&group.offsets_ns).filter(|(trace, _)| is_known[**trace as usize]);
        let (sum, count) = shared.fold((0_i128, 0_i128), |(sum, count), (trace, offset_ns)| {
            (sum + i128::from(self.offset_ns(*trace)) - i128::from(*offset_ns), count + 1)
        });
        if count == 0 { 0 } else { rounded(sum, count) }
    }
}

/// Offsets within one group.
struct Relative {
    traces: Vec<u32>,
    is_collective: bool,
    weight: usize,
    offsets_ns: Vec<i64>,
}

impl Relative {
    /// Collectives before round trips, most exchanges first, then most members, then the first found.
    fn rank(&self, at: usize) -> (bool, usize, usize, std::cmp::Reverse<usize>) {
        (self.is_collective, self.weight, self.traces.len(), std::cmp::Reverse(at))
    }
}

/// Pairs between two ranks: the least of receive end minus send end either way.
#[derive(Default)]
struct RoundTrips {
    forward_ns: Option<i64>,
    backward_ns: Option<i64>,
    count: usize,
}

/// Offsets between two ranks that send to each other: within the bounds that their pairs leave, the middle, or, where
/// both count from 1970, what is nearest to none.
fn round_trips(traces: &[RankTrace], exchanges: &[Vec<Exchange>], joined: &[Joined]) -> Vec<Relative> {
    let mut bounds: BTreeMap<(u32, u32), RoundTrips> = BTreeMap::new();
    for pair in joined.iter().filter(|pair| pair.role == Role::Pair && pair.obstacle.is_none()) {
        let &[send, receive] = pair.members.as_slice() else { continue };
        let end = |(trace, index): (u32, u32)| exchanges[trace as usize][index as usize].end_ns;
        let later_ns = end(receive).saturating_sub(end(send));
        let key = (send.0.min(receive.0), send.0.max(receive.0));
        let trips = bounds.entry(key).or_default();
        let bound = if send.0 < receive.0 { &mut trips.forward_ns } else { &mut trips.backward_ns };
        *bound = Some(bound.map_or(later_ns, |bound| bound.min(later_ns)));
        trips.count += 1;
    }
    let is_absolute = |trace: u32| traces[trace as usize].epoch == Epoch::Unix;
    bounds
        .into_iter()
        .filter_map(|((left, right), trips)| {
            let (most, least) = (trips.forward_ns, trips.backward_ns.map(i64::saturating_neg));
            let offset_ns = if is_absolute(left) && is_absolute(right) {
                0.max(least.unwrap_or(i64::MIN)).min(most.unwrap_or(i64::MAX))
            } else {
                least?.midpoint(most?)
            };
            Some(Relative {
                traces: vec![left, right],
                is_collective: false,
                weight: trips.count,
                offsets_ns: vec![0, offset_ns],
            })
        })
        .collect()
}

/// Synchronising collectives in which every trace of the group took part, by group.
fn comparisons<'a>(groups: &'a [Group], joined: &'a [Joined]) -> Vec<(&'a Group, Vec<&'a Joined>)> {
    let mut of_group: Vec<(&Group, Vec<&Joined>)> = groups.iter().map(|group| (group, Vec::new())).collect();
    for collective in joined {
        let Some((group, collectives)) = of_group.get_mut(collective.group as usize) else { continue };
        let is_usable = match collective.obstacle {
            None | Some(NotSplitReason::MissingTrace | NotSplitReason::NotRecorded) => true,
            Some(_) => false,
        };
        let is_whole = collective.members.len() == group.traces.len() && group.traces.len() > 1;
        if is_usable && is_whole && collective.kind.synchronises() {
            collectives.push(collective);
        }
    }
    of_group.retain(|(_, collectives)| !collectives.is_empty());
    of_group
}

/// The offset of each member from `(ends by member, shortest duration)` of each collective. Collectives whose ends
/// disagree by more than they last, after correction by the median, are mismatched or disturbed and left out.
fn offsets(collectives: &[(Vec<i64>, i64)]) -> Vec<i64> {
    let members = collectives.first().map_or(0, |(ends, _)| ends.len());
    // Twice the end minus twice the median: a median of an even number may be half a nanosecond.
    let residuals: Vec<Vec<i128>> = collectives
        .iter()
        .map(|(ends, _)| {
            let median = twice_median(ends);
            ends.iter().map(|&end| 2 * i128::from(end) - median).collect()
        })
        .collect();
    let column = |member: usize| residuals.iter().filter_map(move |row| row.get(member).copied());
    let medians: Vec<i128> = (0..members)
        .map(|member| {
            let mut values: Vec<i128> = column(member).collect();
            let middle = values.len() / 2;
            *values.select_nth_unstable(middle).1
        })
        .collect();
    let is_sound: Vec<bool> = residuals
        .iter()
        .zip(collectives)
        .map(|(row, (_, shortest_ns))| {
            let corrected = row.iter().zip(&medians).map(|(residual, median)| residual - median);
            let (least, most) =
                corrected.fold((i128::MAX, i128::MIN), |(a, b), value| (a.min(value), b.max(value)));
            most - least <= 2 * i128::from(*shortest_ns)
        })
        .collect();
    let is_any_sound = is_sound.contains(&true);
    (0..members)
        .map(|member| {
            let (sum, count) = column(member)
                .zip(&is_sound)
                .filter(|(_, is_sound)| **is_sound || !is_any_sound)
                .fold((0_i128, 0_i128), |(sum, count), (residual, _)| (sum + residual, count + 1));
            rounded(sum, 2 * count)
        })
        .collect()
}

fn twice_median(values: &[i64]) -> i128 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let (low, high) = ((sorted.len() - 1) / 2, sorted.len() / 2);
    i128::from(sorted[low]) + i128::from(sorted[high])
}

/// The quotient to the nearest integer, halves upwards: all members of a group lie half a nanosecond off an even
/// number's median, and rounded alike they keep their distances.
fn rounded(sum: i128, count: i128) -> i64 {
    let nearest = (2 * sum + count).div_euclid(2 * count);
    i64::try_from(nearest).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX })
}

/// Latest minus earliest.
pub(super) fn spread(instants: impl Iterator<Item = i64>) -> i64 {
    let (least, most) =
        instants.fold((i64::MAX, i64::MIN), |(a, b), instant| (a.min(instant), b.max(instant)));
    most.saturating_sub(least).max(0)
}
