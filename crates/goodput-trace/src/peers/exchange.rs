//! The communication kernels of one rank, in terms that ranks share.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use super::group::Groups;
use crate::class::Class;
use crate::trace::{CollectiveArgs, CollectiveKind, DeviceWork, HostKind, RankTrace};

/// A communication kernel of one rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    pub work: u32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub kind: CollectiveKind,
    pub group: u32,
    pub sequence: Option<u64>,
    /// Hash of what is alike on all members.
    pub signature: u64,
    /// The numbered step that launched it.
    pub step: Option<i64>,
    /// Sender and receiver of a point-to-point exchange, as far as told.
    pub source: Option<u32>,
    pub destination: Option<u32>,
}

impl Exchange {
    pub fn duration_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// The communication kernels of each trace by start, and their groups by index.
pub(super) fn collect(traces: &[RankTrace]) -> (Vec<Vec<Exchange>>, Groups) {
    let mut groups = Groups::default();
    let lanes = Lanes::of(traces);
    let exchanges = traces
        .iter()
        .zip(0..)
        .map(|(trace, index)| {
            let steps = numbered_steps(trace);
            // One look-up a group and name, not one a collective: rank lists are long.
            let mut named = FxHashMap::default();
            let mut hashes = FxHashMap::default();
            communication(trace)
                .map(|(at, work)| {
                    let args = trace.collective_of(work);
                    let group = args
                        .and_then(|args| match args.group {
                            Some(name) => {
                                *named.entry(name).or_insert_with(|| groups.named(index, trace, args))
                            }
                            None => groups.named(index, trace, args),
                        })
                        .unwrap_or_else(|| {
                            let size = args.and_then(|args| args.group_size);
                            groups.lane(index, trace, lanes.of_work(index, trace, work), size)
                        });
                    let kind = trace.collective_kind(work);
                    let name = *hashes
                        .entry(work.name)
                        .or_insert_with(|| hash_of(comparable(trace.name(work.name))));
                    exchange(trace, at, work, kind, group, name, &steps)
                })
                .collect()
        })
        .collect();
    (exchanges, groups)
}

fn communication(trace: &RankTrace) -> impl Iterator<Item = (u32, &DeviceWork)> {
    (0..).zip(&trace.work).filter(|(_, work)| work.class == Class::Communication)
}

fn exchange(
    trace: &RankTrace,
    at: u32,
    work: &DeviceWork,
    kind: CollectiveKind,
    group: u32,
    name: u64,
    steps: &[(i64, i64, i64)],
) -> Exchange {
    let args = trace.collective_of(work);
    let own = trace.identity.rank;
    let (source, destination) = (args.and_then(|a| a.source_rank), args.and_then(|a| a.destination_rank));
    // A batch of sends and receives in one kernel tells one of them.
    let kind = match (kind, own) {
        (CollectiveKind::SendReceive, Some(own)) if source == Some(own) && destination.is_some() => {
            CollectiveKind::Send
        }
        (CollectiveKind::SendReceive, Some(own)) if destination == Some(own) && source.is_some() => {
            CollectiveKind::Receive
        }
        (kind, _) => kind,
    };
    let (source, destination) = match kind {
        CollectiveKind::Send => (own.or(source), destination),
        CollectiveKind::Receive => (source, own.or(destination)),
        _ => (source, destination),
    };
    Exchange {
        work: at,
        start_ns: work.start_ns,
        end_ns: work.end_ns,
        kind,
        group,
        sequence: args.and_then(|args| args.sequence),
        signature: signature(trace, kind, args, name),
        step: trace.launch_of(work).and_then(|launch| step_at(steps, launch.start_ns)),
        source,
        destination,
    }
}

/// What all members of a collective have alike. The sizes of an all-to-all differ from rank to rank; sender and
/// receiver tell the size from their own side.
fn signature(trace: &RankTrace, kind: CollectiveKind, args: Option<&CollectiveArgs>, name: u64) -> u64 {
    let dtype = args.and_then(|args| args.dtype).map(|dtype| trace.name(dtype));
    match (kind, args) {
        (CollectiveKind::Send | CollectiveKind::Receive, Some(args)) => {
            hash_of((args.in_elements.max(args.out_elements), dtype))
        }
        (CollectiveKind::Send | CollectiveKind::Receive, None) => 0,
        (CollectiveKind::AllToAll | CollectiveKind::SendReceive, Some(_)) => hash_of((kind, dtype)),
        (_, Some(args)) => hash_of((kind, args.in_elements, args.out_elements, dtype)),
        (_, None) => hash_of((kind, name)),
    }
}

/// A kernel's name without what NCCL renamed in 2.19.
fn comparable(name: &str) -> &str {
    name.strip_prefix("ncclDevKernel_").or_else(|| name.strip_prefix("ncclKernel_")).unwrap_or(name)
}

fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Number, start and end of each numbered step: it lasts until the next one starts.
fn numbered_steps(trace: &RankTrace) -> Vec<(i64, i64, i64)> {
    let mut steps: Vec<(i64, i64, i64)> = trace
        .ranges
        .iter()
        .filter_map(|range| match range.kind {
            HostKind::Step(Some(number)) => Some((number, range.start_ns, range.end_ns)),
            _ => None,
        })
        .collect();
    steps.sort_by_key(|&(_, start_ns, _)| start_ns);
    for at in 1..steps.len() {
        steps[at - 1].2 = steps[at].1;
    }
    steps
}

fn step_at(steps: &[(i64, i64, i64)], instant_ns: i64) -> Option<i64> {
    let after = steps.partition_point(|&(_, start_ns, _)| start_ns <= instant_ns);
    let &(number, _, end_ns) = steps.get(after.checked_sub(1)?)?;
    (instant_ns < end_ns).then_some(number)
}

/// How streams of different ranks correspond where no group is named: by their order (ids differ from rank to rank),
/// and not at all where ranks communicate on different numbers of streams.
struct Lanes(Option<Vec<Vec<i64>>>);

impl Lanes {
    fn of(traces: &[RankTrace]) -> Self {
        let streams: Vec<Vec<i64>> = traces
            .iter()
            .map(|trace| {
                let mut ids: Vec<i64> = communication(trace)
                    .filter_map(|(_, work)| trace.streams.get(work.stream as usize))
                    .map(|stream| stream.id)
                    .collect();
                ids.sort_unstable();
                ids.dedup();
                ids
            })
            .collect();
        let mut counts = streams.iter().map(Vec::len).filter(|&count| count > 0);
        let first = counts.next();
        let is_alike = counts.all(|count| Some(count) == first);
        Self(is_alike.then_some(streams))
    }

    fn of_work(&self, index: u32, trace: &RankTrace, work: &DeviceWork) -> u32 {
        let lane = self.0.as_ref().and_then(|streams| {
            let id = trace.streams.get(work.stream as usize)?.id;
            streams.get(index as usize)?.binary_search(&id).ok()
        });
        lane.and_then(|lane| u32::try_from(lane).ok()).unwrap_or(0)
    }
}
