//! Which records to open for each loss: the largest of those that took part in it.

use crate::pattern::Pattern;
use crate::records::{FleetRecords, NodeStatus, SourceRef};
use crate::time::{Interval, Timestamp, Window};

use super::demand::{Role, Standing};
use super::layout::Layout;
use super::placement::Placement;

/// Records kept for a loss.
const KEPT: usize = 5;

/// The largest few of many amounts.
#[derive(Debug, Clone, Default)]
struct Largest(Vec<(i128, SourceRef)>);

impl Largest {
    fn add(&mut self, amount: i128, source: SourceRef) {
        if amount <= 0 || (self.0.len() == KEPT && self.0.last().is_some_and(|&(least, _)| amount <= least)) {
            return;
        }
        let place = self.0.partition_point(|&(other, _)| other >= amount);
        self.0.insert(place, (amount, source));
        self.0.truncate(KEPT);
    }

    /// As [`Self::add`], for one record that is met once a node.
    fn add_once(&mut self, amount: i128, source: SourceRef) {
        if self.0.iter().all(|&(_, known)| known != source) {
            self.add(amount, source);
        }
    }

    fn extend(&mut self, other: &Self) {
        other.0.iter().for_each(|&(amount, source)| self.add(amount, source));
    }

    fn sources(&self) -> Vec<SourceRef> {
        self.0.iter().map(|&(_, source)| source).collect()
    }
}

/// The records behind the losses of one pool.
#[derive(Debug, Clone, Default)]
pub(super) struct PoolEvidence {
    limited: Largest,
    by_role: [Largest; Role::COUNT],
    outages: Largest,
    partial: Largest,
    granted: Largest,
}

impl PoolEvidence {
    /// The largest records behind a loss; none where nothing waited.
    pub fn of(&self, pattern: Pattern) -> Vec<SourceRef> {
        let roles = |roles: &[Role]| {
            let mut all = Largest::default();
            roles.iter().for_each(|&role| all.extend(&self.by_role[role as usize]));
            all.sources()
        };
        match pattern {
            Pattern::QuotaBlocked => self.limited.sources(),
            Pattern::Fragmentation => roles(&[Role::Misshapen]),
            Pattern::TooFewFree => roles(&[Role::TooBig]),
            Pattern::GangReservation => roles(&[Role::TooBig, Role::Misshapen]),
            Pattern::SchedulerDelay => roles(&[Role::Fits]),
            Pattern::CapabilityMismatch => roles(&Role::ALL),
            Pattern::UnheldUnsettled => roles(&[Role::Fits, Role::Unknown]),
            Pattern::PartialGangHold => self.partial.sources(),
            Pattern::OutOfService => self.outages.sources(),
            Pattern::IdleReservation => self.granted.sources(),
            _ => Vec::new(),
        }
    }

    fn include(&mut self, other: &Self) {
        self.limited.extend(&other.limited);
        self.outages.extend(&other.outages);
        self.partial.extend(&other.partial);
        self.granted.extend(&other.granted);
        for (mine, theirs) in self.by_role.iter_mut().zip(&other.by_role) {
            mine.extend(theirs);
        }
    }
}

/// The largest waits of each shape, by whether a limit blocked them.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    eligible: Vec<Largest>,
    limited: Vec<Largest>,
}

impl Waiters {
    /// An attempt waited.
    pub fn add(&mut self, placement: &Placement, row: usize, waiting: Interval, source: SourceRef) {
        let by_shape = match placement.standing(row) {
            Standing::NotEligible => return,
            Standing::Limited => &mut self.limited,
            Standing::Eligible => &mut self.eligible,
        };
        if by_shape.len() < placement.shapes.waiting.len() {
            by_shape.resize(placement.shapes.waiting.len(), Largest::default());
        }
        for part in 0..placement.parts(row) {
            let devices = placement.shape(row, part).devices;
            let amount = i128::from(devices) * i128::from(waiting.duration_ns());
            by_shape[placement.part(row, part) as usize].add(amount, source);
        }
    }
}

/// Evidence of each pool, and of the fleet as the last.
pub(super) fn evidence(
    records: &FleetRecords,
    window: Window,
    horizon: Timestamp,
    layout: &Layout,
    placement: &Placement,
    waiters: &Waiters,
) -> Vec<PoolEvidence> {
    let mut pools = vec![PoolEvidence::default(); layout.pools.len()];
    let amount = |devices: u64, interval: Interval| {
        i128::from(devices) * i128::from(window.clip(interval).duration_ns())
    };
    for (number, limited) in waiters.limited.iter().enumerate() {
        pools[placement.shapes.waiting[number].shape.pool as usize].limited.extend(limited);
    }
    for (number, eligible) in waiters.eligible.iter().enumerate() {
        let waiting = &placement.shapes.waiting[number];
        let pool = &mut pools[waiting.shape.pool as usize];
        for role in Role::ALL.into_iter().filter(|&role| waiting.roles[role as usize]) {
            pool.by_role[role as usize].extend(eligible);
        }
    }
    for outage in records.node_intervals.iter().filter(|outage| outage.status != NodeStatus::Up) {
        if let Some(node) = layout.node(outage.node) {
            let node = layout.nodes[node as usize];
            let interval = Interval::new(outage.start, outage.end.unwrap_or(window.to()));
            let amount = amount(u64::from(node.devices), interval);
            pools[node.pool as usize].outages.add(amount, outage.source);
        }
    }
    for grant in records.reservations.iter().filter(|reservation| !reservation.maintenance) {
        for node in records.node_set(grant.nodes).iter().filter_map(|&node| layout.node(node)) {
            let node = layout.nodes[node as usize];
            let amount = amount(u64::from(node.devices), Interval::new(grant.start, grant.end));
            pools[node.pool as usize].granted.add_once(amount, grant.source);
        }
    }
    for hold in &records.partial_holds {
        if hold.attempt < records.attempts.len() && placement.is_known(hold.attempt) {
            let interval = Interval::new(hold.start, hold.end.unwrap_or(horizon));
            let pool = placement.shape(hold.attempt, 0).pool as usize;
            pools[pool].partial.add(amount(u64::from(hold.devices), interval), hold.source);
        }
    }
    let mut fleet = PoolEvidence::default();
    pools.iter().for_each(|pool| fleet.include(pool));
    pools.push(fleet);
    pools
}
