//! Attempts by gang size, account and partition: what they held, and how long they waited.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::capacity::CapacityTime;
use crate::records::{Attempt, DeviceUnit, FleetRecords, Symbol};
use crate::time::{Interval, Timestamp, Window};

use super::attempts::Jobs;
use super::notes::Notes;
use super::placement::Placement;
use super::waits::Waits;
use super::{Cohort, CohortKind, WaitStatistics};

/// Cohorts of each kind that an attempt belongs to.
const KINDS: [CohortKind; 3] = [CohortKind::GangSize, CohortKind::Account, CohortKind::Partition];

/// One cohort of each kind: the cohorts of one attempt.
type Membership = [usize; 3];

/// Cohorts by what groups them.
pub(super) struct Table<'a> {
    records: &'a FleetRecords,
    sizes: FxHashMap<u64, usize>,
    accounts: FxHashMap<Symbol, usize>,
    partitions: FxHashMap<Symbol, usize>,
    pub cohorts: Vec<Cohort>,
    memberships: Vec<Membership>,
    /// By devices, account and partition: few differ, so that one look-up an attempt is enough.
    membership_of: FxHashMap<(u64, Symbol, Symbol), u32>,
}

impl<'a> Table<'a> {
    /// No cohorts yet.
    pub fn new(records: &'a FleetRecords) -> Self {
        Self {
            records,
            sizes: FxHashMap::default(),
            accounts: FxHashMap::default(),
            partitions: FxHashMap::default(),
            cohorts: Vec::new(),
            memberships: Vec::new(),
            membership_of: FxHashMap::default(),
        }
    }

    /// An attempt held `time`, or waited and held nothing.
    pub fn count(&mut self, row: usize, time: CapacityTime) {
        let membership = self.membership(row);
        for cohort in self.cohorts_of(membership) {
            let cohort = &mut self.cohorts[cohort];
            cohort.attempts += 1;
            cohort.held += time;
        }
    }

    /// The number of the membership of an attempt, so that lists of waits need not name attempts.
    pub fn membership(&mut self, row: usize) -> u32 {
        let attempt = &self.records.attempts[row];
        let key = (attempt.devices, attempt.account, attempt.partition);
        if let Some(&number) = self.membership_of.get(&key) {
            return number;
        }
        let number = u32::try_from(self.memberships.len()).unwrap_or(u32::MAX);
        let membership = KINDS.map(|kind| self.cohort(kind, attempt));
        self.memberships.push(membership);
        self.membership_of.insert(key, number);
        number
    }

    fn cohort(&mut self, kind: CohortKind, attempt: &Attempt) -> usize {
        let next = self.cohorts.len();
        let number = *match kind {
            CohortKind::GangSize => self.sizes.entry(attempt.devices).or_insert(next),
            CohortKind::Account => self.accounts.entry(attempt.account).or_insert(next),
            CohortKind::Partition => self.partitions.entry(attempt.partition).or_insert(next),
        };
        if number == next {
            self.cohorts.push(Cohort {
                kind,
                label: label(self.records, kind, attempt),
                attempts: 0,
                held: CapacityTime::ZERO,
                partly_held: None,
                attempt_wait: WaitStatistics::default(),
                first_wait: WaitStatistics::default(),
                total_wait: WaitStatistics::default(),
            });
        }
        number
    }

    /// The cohorts of a membership.
    pub fn cohorts_of(&self, membership: u32) -> Membership {
        self.memberships[membership as usize]
    }

    /// The cohort of gangs of `devices`.
    fn of_size(&mut self, devices: u64) -> Option<&mut Cohort> {
        self.cohorts.get_mut(*self.sizes.get(&devices)?)
    }
}

fn label(records: &FleetRecords, kind: CohortKind, attempt: &Attempt) -> String {
    let name = |symbol: Symbol| records.symbols.get(symbol).to_owned();
    match (kind, records.device_unit) {
        (CohortKind::GangSize, DeviceUnit::Device) => attempt.devices.to_string(),
        (CohortKind::GangSize, unit) => (attempt.devices as f64 / f64::from(unit.per_device())).to_string(),
        (CohortKind::Account, _) => name(attempt.account),
        (CohortKind::Partition, _) => name(attempt.partition),
    }
}

/// Sums over the records' counts, which may be thousandths of a device.
pub(super) fn in_devices(records: &FleetRecords, time: CapacityTime) -> CapacityTime {
    CapacityTime::from_device_ns(time.device_ns() / i128::from(records.device_unit.per_device()))
}

/// What was unheld for the sake of a gang.
#[derive(Debug)]
pub(super) struct PartlyHeld {
    /// Whether snapshots could show nodes kept free.
    pub snapshots: bool,
    /// Kept free, by the devices of the largest gang that waited.
    pub kept_for: BTreeMap<u64, i128>,
}

/// What is needed to group attempts.
pub(super) struct Grouping<'a> {
    pub records: &'a FleetRecords,
    pub jobs: &'a Jobs,
    pub window: Window,
    /// Until when the records speak.
    pub horizon: Timestamp,
    /// Knows the attempts that held or waited inside the window.
    pub placement: &'a Placement,
    pub partly_held: PartlyHeld,
}

impl Grouping<'_> {
    /// Completes `table`, which knows what each cohort held: gang sizes ascending, the rest by what they held.
    pub fn cohorts(&self, mut table: Table<'_>, notes: &mut Notes) -> Vec<Cohort> {
        let waits = Waits::new(self.records, self.jobs, self.window, &mut table, notes);
        waits.fill(&mut table);
        self.add_partly_held(&mut table);
        let mut cohorts = table.cohorts;
        for cohort in &mut cohorts {
            cohort.held = in_devices(self.records, cohort.held);
            cohort.partly_held = cohort.partly_held.map(|time| in_devices(self.records, time));
        }
        cohorts.sort_by(|a, b| {
            let size = |cohort: &Cohort| match cohort.kind {
                CohortKind::GangSize => cohort.label.parse::<f64>().unwrap_or(0.0),
                _ => 0.0,
            };
            a.kind
                .cmp(&b.kind)
                .then(size(a).total_cmp(&size(b)))
                .then(b.held.cmp(&a.held))
                .then_with(|| a.label.cmp(&b.label))
        });
        cohorts
    }

    /// Members of incomplete gangs belong to the cohorts of their gang. Capacity kept free names no job: it counts
    /// for the size of the largest gang that waited, and says nothing of accounts and partitions.
    fn add_partly_held(&self, table: &mut Table<'_>) {
        let PartlyHeld { snapshots, kept_for } = &self.partly_held;
        let partial = &self.records.partial_holds;
        for cohort in &mut table.cohorts {
            let shown = match cohort.kind {
                CohortKind::GangSize => *snapshots || !partial.is_empty(),
                CohortKind::Account | CohortKind::Partition => !*snapshots && !partial.is_empty(),
            };
            cohort.partly_held = shown.then_some(CapacityTime::ZERO);
        }
        for hold in partial.iter().filter(|hold| self.placement.is_known(hold.attempt)) {
            let attempt = &self.records.attempts[hold.attempt];
            let complete = attempt.start.or(attempt.end).unwrap_or(self.horizon);
            let interval =
                self.window.clip(Interval::new(hold.start, hold.end.unwrap_or(complete).min(complete)));
            let time = CapacityTime::of(u64::from(hold.devices), interval.duration_ns());
            let membership = table.membership(hold.attempt);
            for cohort in table.cohorts_of(membership) {
                if let Some(partly_held) = &mut table.cohorts[cohort].partly_held {
                    *partly_held += time;
                }
            }
        }
        for (&devices, &unit_ns) in kept_for {
            if let Some(partly_held) = table.of_size(devices).and_then(|cohort| cohort.partly_held.as_mut()) {
                *partly_held += CapacityTime::from_device_ns(unit_ns);
            }
        }
    }
}
