//! What the network gave: algorithm and bus bandwidth of divided collectives.
//!
//! Bytes and factors are those of nccl-tests (doc/PERFORMANCE.md): the bus bandwidth of a collective over n ranks is
//! comparable with the hardware's, whatever n.

use std::collections::BTreeMap;

use super::{Group, Match};
use crate::partition::WaitKind;
use crate::trace::{CollectiveArgs, CollectiveKind, RankTrace};

/// Collectives of one kind, group and size.
#[derive(Debug, Clone, PartialEq)]
pub struct Bandwidth {
    /// Which exchange.
    pub kind: CollectiveKind,
    /// Index into [`PeerAnalysis::groups`](super::PeerAnalysis::groups).
    pub group: u32,
    /// Ranks that took part.
    pub ranks: u32,
    /// Bytes of the whole message of one rank.
    pub bytes: u64,
    /// How many there are.
    pub count: u64,
    /// Median time from the last start to the median end, in nanoseconds; the lower one of two.
    pub median_ns: i64,
    /// The shortest such time, in nanoseconds.
    pub best_ns: i64,
}

impl Bandwidth {
    /// Bytes per second at the median time.
    pub fn algorithm_bytes_per_second(&self) -> f64 {
        rate(self.bytes, self.median_ns)
    }

    /// Bytes per second over each link at the median time.
    pub fn bus_bytes_per_second(&self) -> f64 {
        self.algorithm_bytes_per_second() * bus_factor(self.kind, self.ranks)
    }

    /// Bytes per second over each link at the shortest time.
    pub fn best_bus_bytes_per_second(&self) -> f64 {
        rate(self.bytes, self.best_ns) * bus_factor(self.kind, self.ranks)
    }
}

fn rate(bytes: u64, time_ns: i64) -> f64 {
    bytes as f64 * 1e9 / time_ns as f64
}

/// What crosses each link over what each rank sends.
pub fn bus_factor(kind: CollectiveKind, ranks: u32) -> f64 {
    let ranks = f64::from(ranks.max(1));
    match kind {
        CollectiveKind::AllReduce => 2.0 * (ranks - 1.0) / ranks,
        CollectiveKind::AllGather
        | CollectiveKind::ReduceScatter
        | CollectiveKind::AllToAll
        | CollectiveKind::Gather
        | CollectiveKind::Scatter => (ranks - 1.0) / ranks,
        CollectiveKind::Broadcast
        | CollectiveKind::Reduce
        | CollectiveKind::Barrier
        | CollectiveKind::Send
        | CollectiveKind::Receive
        | CollectiveKind::SendReceive
        | CollectiveKind::Unknown => 1.0,
    }
}

/// Bytes of one rank's whole message: what comes out of an all-gather, what goes into anything else. `None` when the
/// trace does not tell elements or type.
pub fn message_bytes(trace: &RankTrace, kind: CollectiveKind, args: &CollectiveArgs) -> Option<u64> {
    let elements = match kind {
        CollectiveKind::AllGather | CollectiveKind::Receive => args.out_elements,
        _ => args.in_elements,
    };
    elements?.checked_mul(dtype_bytes(trace.name(args.dtype?))?)
}

/// Bytes of an element by the name that PyTorch gives its type.
fn dtype_bytes(dtype: &str) -> Option<u64> {
    Some(match dtype.to_ascii_lowercase().as_str() {
        "byte" | "char" | "bool" | "uint8" | "int8" => 1,
        name if name.starts_with("float8") => 1,
        "half" | "bfloat16" | "short" | "float16" | "int16" | "uint16" => 2,
        "float" | "int" | "float32" | "int32" | "uint32" | "complexhalf" => 4,
        "double" | "long" | "float64" | "int64" | "uint64" | "complexfloat" => 8,
        "complexdouble" => 16,
        _ => return None,
    })
}

/// The table, largest messages first. Without arguments in the trace it is empty.
pub(super) fn table(traces: &[RankTrace], groups: &[Group], matches: &[Match]) -> Vec<Bandwidth> {
    let mut times: BTreeMap<(u32, CollectiveKind, u64, u32), Vec<i64>> = BTreeMap::new();
    for found in matches.iter().filter(|found| found.outcome == Ok(WaitKind::Peers)) {
        let time_ns = found.transfer_ns();
        let (Some(bytes), Some(_)) = (bytes(traces, found), groups.get(found.group as usize)) else {
            continue;
        };
        if time_ns > 0 && bytes > 0 {
            let ranks = u32::try_from(found.members.len()).unwrap_or(u32::MAX);
            times.entry((found.group, found.kind, bytes, ranks)).or_default().push(time_ns);
        }
    }
    let mut rows: Vec<Bandwidth> = times
        .into_iter()
        .map(|((group, kind, bytes, ranks), mut times)| {
            times.sort_unstable();
            Bandwidth {
                kind,
                group,
                ranks,
                bytes,
                count: times.len() as u64,
                median_ns: times[(times.len() - 1) / 2],
                best_ns: times[0],
            }
        })
        .collect();
    rows.sort_by_key(|row| (row.group, row.kind, std::cmp::Reverse(row.bytes)));
    rows
}

/// The largest message of the members: those of an all-to-all differ.
fn bytes(traces: &[RankTrace], found: &Match) -> Option<u64> {
    let of_member = |member: &super::Member| {
        let trace = traces.get(member.trace as usize)?;
        let work = trace.work.get(member.work as usize)?;
        message_bytes(trace, found.kind, trace.collective_of(work)?)
    };
    found.members.iter().filter_map(of_member).max()
}
