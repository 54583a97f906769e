//! Exchanges themselves, hidden or not: what they took against what the links of the run's cluster would take for the
//! same messages. It tells a slower transfer from less overlap.

use std::collections::BTreeMap;

use goodput_predict::collective::{Collectives, GroupShape, Operation, Prepared};
use goodput_predict::run::Run;
use goodput_trace::partition::Split;
use goodput_trace::peers::{bus_factor, message_bytes};
use goodput_trace::trace::{CollectiveKind, DeviceWork, RankTrace};
use rustc_hash::FxHashMap;

use crate::axis::{Axis, Places};

/// Exchanges along one axis. Nanoseconds and bytes are sums.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Transfer {
    /// Exchanges.
    pub messages: u64,
    /// Their time without what is known to be waiting, ns.
    pub transfer_ns: i64,
    /// Of these the ones whose size the trace tells, and whose waiting is known.
    pub sized: u64,
    /// Time of the sized ones without waiting, ns.
    pub sized_ns: i64,
    /// What the prediction gives for the same sizes, ns.
    pub predicted_ns: f64,
    /// Bytes that the sized ones send over each link (nccl-tests' bus bytes).
    pub bus_bytes: f64,
    /// Exchanges whose waiting for peers is not known.
    pub not_split: u64,
}

impl Transfer {
    fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.transfer_ns += other.transfer_ns;
        self.sized += other.sized;
        self.sized_ns += other.sized_ns;
        self.predicted_ns += other.predicted_ns;
        self.bus_bytes += other.bus_bytes;
        self.not_split += other.not_split;
    }

    /// Bus bandwidth of the sized exchanges as measured and as predicted, GB/s.
    pub fn bus_gb_per_s(&self) -> Option<[f64; 2]> {
        (self.sized_ns > 0 && self.predicted_ns > 0.0)
            .then(|| [self.bus_bytes / self.sized_ns as f64, self.bus_bytes / self.predicted_ns])
    }
}

/// Exchanges by axis; `None` is that of no known axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transfers(BTreeMap<Option<Axis>, Transfer>);

impl Transfers {
    /// Along one axis.
    pub fn along(&self, axis: Option<Axis>) -> Transfer {
        self.0.get(&axis).copied().unwrap_or_default()
    }

    /// Each axis that has any.
    pub fn iter(&self) -> impl Iterator<Item = (Option<Axis>, &Transfer)> {
        self.0.iter().map(|(axis, transfer)| (*axis, transfer))
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (axis, transfer) in &other.0 {
            self.0.entry(*axis).or_default().add(transfer);
        }
    }

    pub(crate) fn push(
        &mut self,
        axis: Option<Axis>,
        trace: &RankTrace,
        work: &DeviceWork,
        split: Option<&Split>,
        wire: &mut Wire<'_>,
    ) {
        let of = self.0.entry(axis).or_default();
        let transfer_ns = match split {
            Some(split) => (work.end_ns - split.waits_until_ns).max(0),
            None => work.duration_ns(),
        };
        of.messages += 1;
        of.transfer_ns += transfer_ns;
        if split.is_none() {
            of.not_split += 1;
            return;
        }
        let kind = trace.collective_kind(work);
        let Some(args) = trace.collective_of(work) else { return };
        let bytes = message_bytes(trace, kind, args).filter(|bytes| *bytes > 0);
        let size = args.ranks.as_ref().map(|ranks| ranks.len() as u32).or(args.group_size);
        if let (Some(bytes), Some(axis)) = (bytes, axis)
            && let Some(ns) = wire.time_ns(axis, kind, size, bytes)
        {
            let size =
                if is_between_two(kind) { 2 } else { size.unwrap_or_else(|| wire.places.degree(axis)) };
            of.sized += 1;
            of.sized_ns += transfer_ns;
            of.predicted_ns += ns;
            of.bus_bytes += bytes as f64 * bus_factor(kind, size);
        }
    }
}

const fn is_between_two(kind: CollectiveKind) -> bool {
    matches!(kind, CollectiveKind::Send | CollectiveKind::Receive)
}

/// The links of the run's cluster, as the prediction takes them.
pub(crate) struct Wire<'a> {
    run: &'a Run,
    places: Places<'a>,
    prepared: FxHashMap<(Axis, CollectiveKind, u32), Option<Prepared>>,
}

impl<'a> Wire<'a> {
    pub fn new(run: &'a Run) -> Self {
        Self { run, places: Places::of(run), prepared: FxHashMap::default() }
    }

    /// Time of one exchange; `None` for a kind that is not predicted.
    fn time_ns(&mut self, axis: Axis, kind: CollectiveKind, size: Option<u32>, bytes: u64) -> Option<f64> {
        let size = if is_between_two(kind) { 2 } else { size.unwrap_or_else(|| self.places.degree(axis)) };
        let (run, places) = (self.run, &self.places);
        let prepared = self.prepared.entry((axis, kind, size)).or_insert_with(|| {
            let operation = match kind {
                CollectiveKind::AllReduce => Operation::AllReduce,
                CollectiveKind::AllGather => Operation::AllGather,
                CollectiveKind::ReduceScatter => Operation::ReduceScatter,
                CollectiveKind::AllToAll => Operation::AllToAll,
                CollectiveKind::Broadcast => Operation::Broadcast,
                CollectiveKind::Reduce => Operation::Reduce,
                CollectiveKind::Send | CollectiveKind::Receive => Operation::SendReceive,
                _ => return None,
            };
            let newest = Collectives::new(&run.cluster);
            let collectives = run.framework.nccl.map_or(newest, |release| newest.with_release(release));
            let shape = GroupShape::strided(&run.cluster, size, places.stride(axis));
            Some(collectives.prepare(operation, shape, run.precision.activation_bytes))
        });
        Some(prepared.as_ref()?.time(bytes as f64).estimate.ns)
    }
}
