//! Turns records into the events of a window.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::capacity::CapacityTime;
use crate::records::{FleetRecords, JobState, NodeSet, NodeStatus, Symbol};
use crate::time::{Interval, Timestamp, Window};

use super::HeldAttempt;
use super::attempts::{HeldIntervals, note_impossible, waiting_interval};
use super::cohorts::Table;
use super::events::{Events, Kind};
use super::evidence::Waiters;
use super::layout::Layout;
use super::notes::Notes;
use super::placement::{Partial, Placement};
use super::pool_series;
use super::snapshots::Ticks;
use super::sweep::Change;

/// Events of the window and what they point to.
pub(super) struct Input<'a> {
    records: &'a FleetRecords,
    window: Window,
    horizon: Timestamp,
    layout: &'a Layout,
    pub placement: Placement,
    pub events: Events,
    pub changes: Vec<Change>,
    pub partials: Vec<Partial>,
    pub held: Vec<HeldAttempt>,
    pub cohorts: Table<'a>,
    pub waiters: Waiters,
    /// Rows that say when their first device was assigned.
    bound: Vec<usize>,
    pub by_state: BTreeMap<JobState, CapacityTime>,
    /// Weight of the whole-node gangs submitted in the window, by number of their shape.
    pub usual_gangs: Vec<i64>,
}

impl<'a> Input<'a> {
    pub fn new(records: &'a FleetRecords, window: Window, horizon: Timestamp, layout: &'a Layout) -> Self {
        Self {
            records,
            window,
            horizon,
            layout,
            placement: Placement::new(records.attempts.len()),
            events: Events::new(window, 3 * records.attempts.len()),
            changes: Vec::new(),
            partials: Vec::new(),
            held: Vec::with_capacity(records.attempts.len()),
            cohorts: Table::new(records),
            waiters: Waiters::default(),
            bound: Vec::new(),
            by_state: BTreeMap::new(),
            usual_gangs: Vec::new(),
        }
    }

    fn clip(&self, interval: Interval) -> Interval {
        self.window.clip(interval).intersect(Interval::new(self.window.from(), self.horizon))
    }

    /// What attempts hold and wait for.
    pub fn attempts(&mut self, intervals: &HeldIntervals, notes: &mut Notes) {
        for (row, attempt) in self.records.attempts.iter().enumerate() {
            if attempt.devices == 0 {
                continue;
            }
            note_impossible(attempt, notes);
            if attempt.assigned.is_some() {
                self.bound.push(row);
            }
            let never = Interval::new(self.window.from(), self.window.from());
            let held = self.clip(intervals.of(row, attempt));
            let waiting = waiting_interval(attempt, self.horizon).map_or(never, |waiting| self.clip(waiting));
            if held.is_empty() && waiting.is_empty() {
                continue;
            }
            self.placement.place(self.records, self.layout, row, notes);
            if !waiting.is_empty() {
                self.events.push(waiting.start, Kind::WaitStart, row);
                self.waiters.add(&self.placement, row, waiting, attempt.source);
            }
            match (waiting.is_empty(), held.is_empty()) {
                (false, false) if waiting.end == held.start => self.events.push(held.start, Kind::Start, row),
                (wait_is_empty, hold_is_empty) => {
                    if !wait_is_empty {
                        self.events.push(waiting.end, Kind::WaitEnd, row);
                    }
                    if !hold_is_empty {
                        self.events.push(held.start, Kind::Hold, row);
                    }
                }
            }
            let mut held_time = CapacityTime::ZERO;
            if !held.is_empty() {
                self.events.push(held.end, Kind::Release, row);
                held_time = self.hold(row, held);
            }
            self.cohorts.count(row, held_time);
            if self.window.interval().contains(attempt.key.submit) {
                self.weigh(row);
            }
        }
    }

    fn hold(&mut self, row: usize, interval: Interval) -> CapacityTime {
        let mut devices = 0;
        for part in 0..self.placement.parts(row) {
            let shape = self.placement.shape(row, part);
            devices += shape.devices;
            self.held.push(HeldAttempt {
                attempt: row,
                pool: shape.pool as usize,
                interval,
                devices: shape.devices,
            });
        }
        let time = CapacityTime::of(devices, interval.duration_ns());
        *self.by_state.entry(self.records.attempts[row].state).or_default() += time;
        time
    }

    fn weigh(&mut self, row: usize) {
        for part in 0..self.placement.parts(row) {
            let shape = self.placement.shape(row, part);
            let node_devices = u64::from(self.layout.node_devices(shape.pool));
            if shape.nodes > 0 && shape.devices == u64::from(shape.nodes) * node_devices {
                let devices = i64::try_from(shape.devices).unwrap_or(i64::MAX);
                let number = self.placement.part(row, part) as usize;
                if self.usual_gangs.len() <= number {
                    self.usual_gangs.resize(number + 1, 0);
                }
                self.usual_gangs[number] += devices.saturating_mul(self.placement.minutes(row));
            }
        }
    }

    /// Members of gangs that are not complete.
    pub fn partial_holds(&mut self, notes: &mut Notes) {
        let mut exact = FxHashSet::default();
        for hold in &self.records.partial_holds {
            let Some(attempt) = self.records.attempts.get(hold.attempt) else { continue };
            exact.insert(hold.attempt);
            let complete = attempt.start.or(attempt.end).unwrap_or(self.horizon);
            let end = hold.end.map_or(complete, |end| end.min(complete));
            let node = self.layout.node(hold.node);
            let devices = u64::from(hold.devices);
            self.partial(hold.attempt, Interval::new(hold.start, end), node, devices, true, notes);
        }
        for row in std::mem::take(&mut self.bound) {
            let attempt = &self.records.attempts[row];
            let Some(assigned) = attempt.assigned else { continue };
            if exact.contains(&row) {
                continue;
            }
            let complete = attempt.start.or(attempt.end).unwrap_or(self.horizon);
            if self.partial(row, Interval::new(assigned, complete), None, attempt.devices, false, notes) {
                notes.note("partial_amount_unknown", attempt.source);
            }
        }
    }

    fn partial(
        &mut self,
        row: usize,
        interval: Interval,
        node: Option<u32>,
        devices: u64,
        exact: bool,
        notes: &mut Notes,
    ) -> bool {
        let interval = self.clip(interval);
        if interval.is_empty() {
            return false;
        }
        if !self.placement.is_known(row) {
            self.placement.place(self.records, self.layout, row, notes);
        }
        let pool = match node {
            Some(node) => self.layout.nodes[node as usize].pool,
            None => self.placement.shape(row, 0).pool,
        };
        self.events.push(interval.start, Kind::PartialStart, self.partials.len());
        self.events.push(interval.end, Kind::PartialEnd, self.partials.len());
        self.partials.push(Partial { row, pool, node, devices, exact });
        true
    }

    fn change(&mut self, at: Timestamp, change: Change) {
        self.push(at, Kind::Change, change);
    }

    fn push(&mut self, at: Timestamp, kind: Kind, change: Change) {
        self.events.push(at, kind, self.changes.len());
        self.changes.push(change);
    }

    /// Installed capacity over time, and the end of the records.
    pub fn capacity(&mut self) {
        for &(at, change) in &self.layout.changes {
            self.change(at, Change::Capacity(change));
        }
        if self.horizon < self.window.to() {
            self.change(self.horizon, Change::RecordsEnd);
        }
    }

    /// Nodes out of service by their own records.
    pub fn outages(&mut self, notes: &mut Notes) {
        let records = self.records;
        if !self.layout.of_series
            && records.capacity.is_empty()
            && records.node_intervals.is_empty()
            && records.node_samples.is_empty()
        {
            notes.warn(
                "outages_unknown",
                "no record tells when nodes were down or drained, so that the whole inventory counts as in service (supply `sacctmgr show event -P All_Time`)".into(),
                None,
            );
        }
        let known: FxHashSet<Symbol> = self.records.nodes.iter().map(|node| node.name).collect();
        for outage in self.records.node_intervals.iter().filter(|outage| outage.status != NodeStatus::Up) {
            let interval = Interval::new(outage.start, outage.end.unwrap_or(self.window.to()));
            match self.layout.node(outage.node) {
                Some(node) => self.outage(node, interval),
                // Nodes without accelerators are in the inventory and in no pool.
                None if known.contains(&outage.node) || self.window.clip(interval).is_empty() => {}
                None => notes.note("outside_capacity", outage.source),
            }
        }
    }

    /// Reservations: for maintenance they take nodes out of service, granted to a team they hold them.
    pub fn reservations(&mut self, notes: &mut Notes) {
        for reservation in &self.records.reservations {
            let interval = Interval::new(reservation.start, reservation.end);
            if self.window.clip(interval).is_empty() {
                continue;
            }
            if reservation.nodes == NodeSet::NONE {
                let kind =
                    if reservation.maintenance { "maintenance_unknown" } else { "reservation_unknown" };
                notes.note(kind, reservation.source);
            }
            for name in self.records.node_set(reservation.nodes) {
                let Some(node) = self.layout.node(*name) else { continue };
                if reservation.maintenance {
                    self.outage(node, interval);
                } else {
                    let interval = self.window.clip(interval);
                    self.change(interval.start, Change::Reserved { node, begins: true });
                    self.change(interval.end, Change::Reserved { node, begins: false });
                }
            }
        }
    }

    fn outage(&mut self, node: u32, interval: Interval) {
        let interval = self.window.clip(interval);
        if !interval.is_empty() {
            self.change(interval.start, Change::Outage { node, begins: true });
            self.change(interval.end, Change::Outage { node, begins: false });
        }
    }

    /// Snapshots of nodes and of the queue.
    pub fn snapshots(&mut self) -> Ticks {
        let (ticks, found) = Ticks::new(self.records, self.window);
        for (at, snapshot) in found {
            if at < self.horizon {
                self.push(at, Kind::Snapshot, Change::Snapshot(snapshot));
            }
        }
        ticks
    }

    /// Totals of pools, for sources that publish series instead of jobs.
    pub fn series(&mut self, notes: &mut Notes) {
        if !self.layout.of_series {
            return;
        }
        for (pool, samples) in pool_series::by_pool(self.records) {
            let pool = self.layout.pool_of_partition(pool);
            for stretch in pool_series::stretches(self.records, &samples) {
                if stretch.interval.end > self.window.from() {
                    self.change(stretch.interval.start, Change::PoolSample { sample: stretch.sample, pool });
                }
                if stretch.last {
                    self.change(stretch.interval.end, Change::SeriesEnd { pool });
                }
            }
        }
        pool_series::note_gaps(self.records, self.window, notes);
    }

    /// Whether the records tell what jobs ask for, with a warning when they do not.
    pub fn demand_known(&self, ticks: &Ticks, notes: &mut Notes) -> bool {
        let attempts = &self.records.attempts;
        if self.layout.of_series {
            return true;
        }
        if ticks.sole_source {
            notes.warn(
                "held_from_snapshots",
                "no job records were given: what was held and what waited is taken from snapshots, which miss whatever happened between them".into(),
                None,
            );
            // Set at each snapshot of the queue.
            return false;
        }
        if attempts.is_empty() {
            notes.warn(
                "no_attempts",
                "no job records were given: nothing shows what was held or asked for, and the scheduling factor is unsettled".into(),
                None,
            );
        } else if attempts.iter().all(|attempt| attempt.devices == 0) {
            notes.warn(
                "no_devices",
                "no job record names a device; the site may lack AccountingStorageTRES=gres/gpu, and then nothing tells what was held: the scheduling factor is unsettled".into(),
                attempts.first().map(|attempt| attempt.source),
            );
            return false;
        }
        !attempts.is_empty()
    }
}
