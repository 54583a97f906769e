//! Free devices of a serving pool, charged once: no demand, a replica that waits although it fits, devices that form no
//! complete replica.

use crate::capacity::CapacityTime;
use crate::pattern::Pattern;
use crate::records::Symbol;
use crate::time::{Interval, Window};

use super::records::ServingPoolSample;

/// A pool over the part of the window that its samples cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolAccount {
    /// The pool.
    pub pool: Symbol,
    /// From its first sample, or the window's start, to the window's end.
    pub covered: Interval,
    /// Held by complete replicas there.
    pub held: CapacityTime,
    /// Free devices while no replica waits, or beyond what the waiting ones need.
    pub no_demand: CapacityTime,
    /// Free devices that would have placed a replica that waits.
    pub placement_wait: CapacityTime,
    /// Free devices that a waiting replica needs and that form no complete replica where they stand.
    pub incomplete: CapacityTime,
    /// All free devices that form no complete replica, whether or not a replica waits: beside the ledger.
    pub scattered: CapacityTime,
    /// Replica-nanoseconds of waiting.
    pub waiting_ns: i128,
}

impl PoolAccount {
    /// Free and held.
    pub fn offered(&self) -> CapacityTime {
        self.held + self.free()
    }

    /// Free devices.
    pub fn free(&self) -> CapacityTime {
        self.no_demand + self.placement_wait + self.incomplete
    }

    /// Scheduling losses by pattern.
    pub fn losses(&self) -> [(Pattern, CapacityTime); 3] {
        [
            (Pattern::NoDemand, self.no_demand),
            (Pattern::ReplicaPlacementWait, self.placement_wait),
            (Pattern::IncompleteReplica, self.incomplete),
        ]
    }

    /// Held over held and free.
    pub fn scheduling_goodput(&self) -> Option<f64> {
        self.held.share_of(self.offered())
    }

    /// Charges the samples of one pool, in time order. Held time is added by the caller.
    pub(super) fn new(pool: Symbol, samples: &[ServingPoolSample], window: Window) -> Self {
        let first = samples.first().map_or(window.to(), |sample| sample.at);
        let mut account = Self {
            pool,
            covered: window.clip(Interval::new(first.max(window.from()), window.to())),
            held: CapacityTime::ZERO,
            no_demand: CapacityTime::ZERO,
            placement_wait: CapacityTime::ZERO,
            incomplete: CapacityTime::ZERO,
            scattered: CapacityTime::ZERO,
            waiting_ns: 0,
        };
        for (index, sample) in samples.iter().enumerate() {
            let until = samples.get(index + 1).map_or(window.to(), |next| next.at);
            let length_ns = window.clip(Interval::new(sample.at, until)).duration_ns();
            account.add(sample, length_ns);
        }
        account
    }

    fn add(&mut self, sample: &ServingPoolSample, length_ns: i64) {
        let amount = |devices| CapacityTime::of(devices, length_ns);
        let (free, each) = (sample.free_devices, sample.replica_devices);
        let complete = sample.placeable_replicas.saturating_mul(each).min(free);
        let placed = sample.placeable_replicas.min(sample.waiting_replicas);
        let waits = placed.saturating_mul(each).min(free);
        let rest = (sample.waiting_replicas - placed).saturating_mul(each);
        let incomplete = rest.min(free - complete);
        self.placement_wait += amount(waits);
        self.incomplete += amount(incomplete);
        self.no_demand += amount(free - waits - incomplete);
        self.scattered += amount(free - complete);
        self.waiting_ns += i128::from(sample.waiting_replicas) * i128::from(length_ns);
    }
}
