//! Attempts by gang size, account and partition: what they held, and how long they waited.

use rustc_hash::FxHashMap;

use crate::capacity::CapacityTime;
use crate::records::{Attempt, DeviceUnit, FleetRecords, Symbol};
use crate::time::Window;

use super::attempts::Jobs;
use super::notes::Notes;
use super::placement::Placement;
use super::waits::Waits;
use super::{Cohort, CohortKind, HeldAttempt, WaitStatistics};

/// Cohorts of each kind that an attempt belongs to.
const KINDS: [CohortKind; 3] = [CohortKind::GangSize, CohortKind::Account, CohortKind::Partition];

const NONE: u32 = u32::MAX;

/// Gangs of fewer devices than this are looked up in a list, larger ones in a map.
const SMALL_GANG: usize = 4096;

/// One cohort of each kind: the cohorts of one attempt.
type Membership = [u32; 3];

/// Cohorts by what groups them. An attempt is looked up many times, so the lists are dense.
pub(super) struct Table<'a> {
    records: &'a FleetRecords,
    small: Vec<u32>,
    large: FxHashMap<u64, u32>,
    accounts: Vec<u32>,
    partitions: Vec<u32>,
    pub cohorts: Vec<Cohort>,
    memberships: Vec<Membership>,
    membership_of: FxHashMap<Membership, u32>,
}

impl<'a> Table<'a> {
    fn new(records: &'a FleetRecords) -> Self {
        let symbols = records.symbols.len();
        Self {
            records,
            small: vec![NONE; SMALL_GANG],
            large: FxHashMap::default(),
            accounts: vec![NONE; symbols],
            partitions: vec![NONE; symbols],
            cohorts: Vec::new(),
            memberships: Vec::new(),
            membership_of: FxHashMap::default(),
        }
    }

    /// The cohorts of an attempt, one of each kind.
    fn of(&mut self, row: usize) -> Membership {
        let attempt = &self.records.attempts[row];
        KINDS.map(|kind| {
            let slot = match kind {
                CohortKind::Account => &mut self.accounts[attempt.account.index()],
                CohortKind::Partition => &mut self.partitions[attempt.partition.index()],
                CohortKind::GangSize => match usize::try_from(attempt.devices) {
                    Ok(devices) if devices < SMALL_GANG => &mut self.small[devices],
                    _ => self.large.entry(attempt.devices).or_insert(NONE),
                },
            };
            if *slot == NONE {
                *slot = u32::try_from(self.cohorts.len()).unwrap_or(NONE);
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
            *slot
        })
    }

    /// The number of the membership of an attempt: few differ, so that lists of waits need not name attempts.
    pub fn membership(&mut self, row: usize) -> u32 {
        let membership = self.of(row);
        *self.membership_of.entry(membership).or_insert_with(|| {
            self.memberships.push(membership);
            u32::try_from(self.memberships.len() - 1).unwrap_or(NONE)
        })
    }

    /// The cohorts of a membership.
    pub fn cohorts_of(&self, membership: u32) -> [usize; 3] {
        self.memberships[membership as usize].map(|cohort| cohort as usize)
    }

    /// The cohort of gangs of `devices`.
    fn of_size(&mut self, devices: u64) -> Option<&mut Cohort> {
        let index = match usize::try_from(devices) {
            Ok(small) if small < SMALL_GANG => self.small[small],
            _ => self.large.get(&devices).copied().unwrap_or(NONE),
        };
        self.cohorts.get_mut(index as usize)
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

/// What is needed to group attempts.
pub(super) struct Grouping<'a> {
    pub records: &'a FleetRecords,
    pub jobs: &'a Jobs,
    pub window: Window,
    pub held: &'a [HeldAttempt],
    /// Knows the attempts that held or waited inside the window.
    pub placement: &'a Placement,
    /// Partly held or kept free for the gangs of one size.
    pub partly_held: &'a [(u64, CapacityTime)],
}

impl Grouping<'_> {
    /// The cohorts, gang sizes ascending and the rest by what they held.
    pub fn cohorts(&self, notes: &mut Notes) -> Vec<Cohort> {
        let mut table = Table::new(self.records);
        for row in (0..self.records.attempts.len()).filter(|&row| self.placement.is_known(row)) {
            for cohort in table.of(row) {
                table.cohorts[cohort as usize].attempts += 1;
            }
        }
        for held in self.held {
            let time = CapacityTime::of(held.devices, held.interval.duration_ns());
            for cohort in table.of(held.attempt) {
                table.cohorts[cohort as usize].held += time;
            }
        }
        let waits = Waits::new(self.records, self.jobs, self.window, &mut table, notes);
        waits.fill(&mut table);
        for &(devices, time) in self.partly_held {
            if let Some(cohort) = table.of_size(devices) {
                *cohort.partly_held.get_or_insert_default() += time;
            }
        }
        let mut cohorts = table.cohorts;
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
}
