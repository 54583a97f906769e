//! The longest step over time: what each rank was charged with, thinned for a picture.

use std::cmp::Reverse;

use goodput_trace::analysis::{Analysis, RankAnalysis};
use goodput_trace::partition::{Charge, Slice};
use serde::Serialize;

use super::StepRowView;
use crate::view::Exact;

/// The longest judged step, on the ranks to look at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepTimelineView {
    /// As the trace calls it.
    pub step: String,
    /// The rank on which it is the longest; `None` when its trace does not tell.
    pub rank: Option<u32>,
    /// Its index among the ranks.
    pub index: usize,
    /// Start of the picture, on the common clock of the ranks.
    pub from_ns: Exact,
    /// Length of the picture: from the first start to the last end of the step over the lanes.
    pub length_ns: i64,
    /// Stretches shorter than this are drawn as part of what fills most of it. The figures elsewhere are exact.
    pub resolution_ns: i64,
    /// One lane a rank, in order.
    pub lanes: Vec<StepLaneView>,
    /// Ranks with this step that are not drawn.
    pub lanes_omitted: u64,
}

/// One rank's device window of the step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepLaneView {
    /// The rank; `None` when its trace does not tell.
    pub rank: Option<u32>,
    /// Its index among the ranks.
    pub index: usize,
    /// In time order.
    pub segments: Vec<ChargedSegmentView>,
}

/// A stretch of one charge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChargedSegmentView {
    /// Nanoseconds since the start of the picture.
    pub from_ns: i64,
    /// Nanoseconds since the start of the picture.
    pub to_ns: i64,
    /// What most of it is charged to.
    pub charge: &'static str,
    /// The kernel, when it is a single one: the one that runs, or that an idle device waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The charge, for renderers.
    #[serde(skip)]
    pub kind: Charge,
}

/// Lanes drawn.
const LANES: usize = 32;
/// Resolution steps of all lanes together: a lane has at most two stretches a step.
const ALL_STRETCHES: usize = 9_600;
/// Resolution steps of one lane: more would be thinner than a pixel.
const STRETCHES: usize = 750;
/// Characters of a kernel's name.
const KERNEL_NAME: usize = 80;

impl StepTimelineView {
    /// `ranked` are the ranks by index, those to look at first; `None` without a judged step.
    pub(super) fn new(analysis: &Analysis, rows: &[StepRowView], ranked: &[usize]) -> Option<Self> {
        let (rank, step) = longest(analysis)?;
        let of_rank = |index: usize| -> Option<usize> {
            if index == rank {
                return Some(step);
            }
            let row = rows.iter().find(|row| row.of_rank.get(rank) == Some(&Some(step as u32)))?;
            row.of_rank.get(index).copied().flatten().map(|step| step as usize)
        };
        let window = |index: usize| {
            let windows = analysis.ranks[index].windows.get(of_rank(index)?)?;
            Some((index, windows.device.as_ref()?))
        };
        // Clocks that cannot be compared would set lanes apart that belong together.
        let comparable = |index: &usize| {
            let clocks = analysis.peers.as_ref().map(|peers| &peers.clocks);
            *index == rank || clocks.is_some_and(|clocks| clocks.share_clock(rank as u32, *index as u32))
        };
        let all: Vec<_> = ranked.iter().copied().filter(comparable).filter_map(window).collect();
        let (omitted, mut drawn) = (all.len().saturating_sub(LANES), all);
        if let Some(at) = drawn.iter().position(|(index, _)| *index == rank) {
            let longest = drawn.remove(at);
            drawn.insert(0, longest);
        }
        drawn.truncate(LANES);
        drawn.sort_by_key(|(index, _)| *index);

        let common_ns = |index: usize, at_ns: i64| match &analysis.peers {
            Some(peers) => peers.clocks.corrected_ns(index as u32, at_ns),
            None => at_ns,
        };
        let from_ns = drawn.iter().map(|(index, p)| common_ns(*index, p.window.0)).min()?;
        let to_ns = drawn.iter().map(|(index, p)| common_ns(*index, p.window.1)).max()?;
        let stretches = (ALL_STRETCHES / drawn.len()).clamp(1, STRETCHES);
        let resolution_ns = i64::try_from(stretches).map_or(1, |n| (to_ns - from_ns) / n).max(1);
        let lanes = drawn.into_iter().map(|(index, partition)| {
            let rank = &analysis.ranks[index];
            let shift_ns = common_ns(index, 0).saturating_sub(from_ns);
            StepLaneView {
                rank: rank.trace.identity.rank,
                index,
                segments: thin(&partition.slices, resolution_ns)
                    .into_iter()
                    .map(|slice| segment(rank, slice, shift_ns))
                    .collect(),
            }
        });
        let rank_of = &analysis.ranks[rank];
        let name =
            rank_of.steps.steps.get(step).map(|step| rank_of.trace.name(step.name)).unwrap_or_default();
        Some(Self {
            step: super::build::step_name(name, step),
            rank: rank_of.trace.identity.rank,
            index: rank,
            from_ns: from_ns.into(),
            length_ns: to_ns - from_ns,
            resolution_ns,
            lanes: lanes.collect(),
            lanes_omitted: omitted as u64,
        })
    }
}

/// The judged step with the longest device window: rank and step by index.
fn longest(analysis: &Analysis) -> Option<(usize, usize)> {
    let steps = analysis.ranks.iter().enumerate().flat_map(|(rank, of)| {
        let judged = of.windows.iter().enumerate().filter(|(_, windows)| windows.judged);
        judged.filter_map(move |(step, windows)| Some((windows.device.as_ref()?.window_ns(), rank, step)))
    });
    let (_, rank, step) = steps.max_by_key(|&(ns, rank, step)| (ns, Reverse((rank, step))))?;
    Some((rank, step))
}

fn segment(rank: &RankAnalysis, slice: Slice, shift_ns: i64) -> ChargedSegmentView {
    let work = slice.work.and_then(|work| rank.trace.work.get(work as usize));
    let kernel = work.map(|work| rank.trace.name(work.name)).filter(|name| !name.is_empty());
    ChargedSegmentView {
        from_ns: slice.start_ns.saturating_add(shift_ns),
        to_ns: slice.end_ns.saturating_add(shift_ns),
        charge: slice.charge.key(),
        kernel: kernel.map(|name| crate::name::cut(name, KERNEL_NAME)),
        kind: slice.charge,
    }
}

/// At most two stretches a resolution step: slices shorter than it are gathered until they fill one, and drawn as the
/// charge that takes most of it. Slices have no hole between them.
fn thin(slices: &[Slice], resolution_ns: i64) -> Vec<Slice> {
    let mut thinned: Vec<Slice> = Vec::new();
    let mut emit = |next: Slice| match thinned.last_mut() {
        Some(last) if last.charge == next.charge && last.work == next.work => last.end_ns = next.end_ns,
        _ => thinned.push(next),
    };
    let mut gathered: Vec<Slice> = Vec::new();
    for &slice in slices {
        if slice.end_ns - slice.start_ns >= resolution_ns {
            gathered_as_one(&mut gathered).into_iter().for_each(&mut emit);
            emit(slice);
            continue;
        }
        gathered.push(slice);
        if gathered.first().is_some_and(|first| slice.end_ns - first.start_ns >= resolution_ns) {
            gathered_as_one(&mut gathered).into_iter().for_each(&mut emit);
        }
    }
    gathered_as_one(&mut gathered).into_iter().for_each(&mut emit);
    thinned
}

/// Empties `gathered`.
fn gathered_as_one(gathered: &mut Vec<Slice>) -> Option<Slice> {
    let (first, last) = (*gathered.first()?, *gathered.last()?);
    let mut by_charge: Vec<(Charge, i64)> = Vec::new();
    for slice in gathered.iter() {
        let ns = slice.end_ns - slice.start_ns;
        match by_charge.iter_mut().find(|(charge, _)| *charge == slice.charge) {
            Some((_, sum)) => *sum += ns,
            None => by_charge.push((slice.charge, ns)),
        }
    }
    let most = by_charge.iter().max_by_key(|(charge, ns)| (*ns, Reverse(*charge)))?.0;
    let work = first.work.filter(|_| gathered.len() == 1);
    gathered.clear();
    Some(Slice { start_ns: first.start_ns, end_ns: last.end_ns, charge: most, work })
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodput_trace::class::Class;

    fn slice(start_ns: i64, end_ns: i64, charge: Charge) -> Slice {
        Slice { start_ns, end_ns, charge, work: Some(1) }
    }

    #[test]
    fn gathers_what_a_picture_cannot_show_and_loses_no_time() {
        let (gemm, idle) = (Charge::Compute(Class::Gemm), Charge::LaunchLatency);
        let mut slices = Vec::new();
        for i in 0..100 {
            slices.push(slice(i * 10, i * 10 + 7, gemm));
            slices.push(slice(i * 10 + 7, i * 10 + 10, idle));
        }
        slices.push(slice(1000, 1500, Charge::PeerWait));
        let thinned = thin(&slices, 50);
        assert_eq!(
            thinned.iter().map(|s| (s.start_ns, s.end_ns, s.charge)).collect::<Vec<_>>(),
            [(0, 1000, gemm), (1000, 1500, Charge::PeerWait)]
        );
        // A gathered stretch is of no single kernel.
        assert_eq!((thinned[0].work, thinned[1].work), (None, Some(1)));
    }

    #[test]
    fn a_lane_is_bounded() {
        let slices: Vec<_> = (0..100_000)
            .map(|i| slice(i, i + 1, if i % 2 == 0 { Charge::Copy } else { Charge::Fill }))
            .collect();
        let drawn = thin(&slices, 100_000 / 750).len();
        assert!(drawn <= 1_500 && drawn > 500, "{drawn} stretches");
    }
}
