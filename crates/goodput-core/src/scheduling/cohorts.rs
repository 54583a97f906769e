//! Attempts by gang size, account and partition: what they held, and how long they waited.

use rustc_hash::FxHashMap;

use crate::capacity::CapacityTime;
use crate::records::{Attempt, DeviceUnit, FleetRecords, Symbol};
use crate::time::{Timestamp, Window};

use super::attempts::Jobs;
use super::notes::Notes;
use super::{Cohort, CohortKind, HeldAttempt, WaitStatistics};

/// Cohorts of each kind that an attempt belongs to.
const KINDS: [CohortKind; 3] = [CohortKind::GangSize, CohortKind::Account, CohortKind::Partition];

/// Cohorts by what groups them.
struct Table<'a> {
    records: &'a FleetRecords,
    index: FxHashMap<(CohortKind, u64), usize>,
    cohorts: Vec<Cohort>,
    /// Gang size or symbol of each cohort.
    keys: Vec<(CohortKind, u64)>,
}

impl Table<'_> {
    fn of(&mut self, row: usize) -> [usize; 3] {
        let attempt = &self.records.attempts[row];
        KINDS.map(|kind| {
            let key = (kind, key(kind, attempt));
            *self.index.entry(key).or_insert_with(|| {
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
                self.keys.push(key);
                self.cohorts.len() - 1
            })
        })
    }
}

fn key(kind: CohortKind, attempt: &Attempt) -> u64 {
    match kind {
        CohortKind::GangSize => attempt.devices,
        CohortKind::Account => attempt.account.index() as u64,
        CohortKind::Partition => attempt.partition.index() as u64,
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

/// A wait, and the attempt in whose cohorts it counts.
type Wait = (i64, u32);

/// Waits of three kinds. Most jobs have one attempt, whose wait is of all three kinds and is kept once.
#[derive(Default)]
struct Waits {
    only: Vec<Wait>,
    attempt: Vec<Wait>,
    first: Vec<Wait>,
    total: Vec<Wait>,
}

/// What is needed to group attempts.
pub(super) struct Grouping<'a> {
    pub records: &'a FleetRecords,
    pub jobs: &'a Jobs,
    pub window: Window,
    pub held: &'a [HeldAttempt],
    /// Rows that held or waited inside the window.
    pub rows: &'a [u32],
    /// Partly held or kept free for the gangs of one size.
    pub partly_held: &'a [(u64, CapacityTime)],
}

impl Grouping<'_> {
    /// The cohorts, gang sizes ascending and the rest by what they held.
    pub fn cohorts(&self, notes: &mut Notes) -> Vec<Cohort> {
        let records = self.records;
        let mut table = Table { records, index: FxHashMap::default(), cohorts: Vec::new(), keys: Vec::new() };
        for &row in self.rows {
            for cohort in table.of(row as usize) {
                table.cohorts[cohort].attempts += 1;
            }
        }
        for held in self.held {
            let time = CapacityTime::of(held.devices, held.interval.duration_ns());
            for cohort in table.of(held.attempt) {
                table.cohorts[cohort].held += time;
            }
        }
        let waits = self.waits(notes);
        fill(&mut table, &waits.only, &waits.attempt, |cohort| &mut cohort.attempt_wait);
        fill(&mut table, &waits.only, &waits.first, |cohort| &mut cohort.first_wait);
        fill(&mut table, &waits.only, &waits.total, |cohort| &mut cohort.total_wait);
        for &(devices, time) in self.partly_held {
            if let Some(&cohort) = table.index.get(&(CohortKind::GangSize, devices)) {
                *table.cohorts[cohort].partly_held.get_or_insert_default() += time;
            }
        }
        let mut order: Vec<usize> = (0..table.cohorts.len()).collect();
        order.sort_by_key(|&i| {
            let (kind, key) = table.keys[i];
            let size = if kind == CohortKind::GangSize { key } else { 0 };
            (kind, size, std::cmp::Reverse(table.cohorts[i].held), table.cohorts[i].label.clone())
        });
        let mut cohorts: Vec<Option<Cohort>> = table.cohorts.into_iter().map(Some).collect();
        order.into_iter().filter_map(|i| cohorts[i].take()).collect()
    }

    fn waits(&self, notes: &mut Notes) -> Waits {
        let mut waits = Waits::default();
        let started_in =
            |start: Option<Timestamp>| start.is_some_and(|at| self.window.interval().contains(at));
        for rows in self.jobs.iter() {
            let attempts = &self.records.attempts;
            if attempts[rows[0] as usize].devices == 0 {
                continue;
            }
            let (mut first, mut total, mut last_in_window) = (None, 0, None);
            for &row in rows {
                let attempt = &attempts[row as usize];
                let Some(start) = attempt.start else { continue };
                if start >= self.window.to() {
                    break;
                }
                let wait = start - attempt.key.submit;
                if wait < 0 {
                    if started_in(attempt.start) {
                        notes.note("negative_wait", attempt.source);
                    }
                    continue;
                }
                if first.is_none() {
                    first = Some((start, start - attempts[rows[0] as usize].key.submit, row));
                }
                total += wait;
                if started_in(attempt.start) {
                    last_in_window = Some(row);
                    if rows.len() > 1 {
                        waits.attempt.push((wait, row));
                    } else {
                        waits.only.push((wait, row));
                    }
                }
            }
            if rows.len() > 1 {
                if let Some((start, wait, row)) = first
                    && started_in(Some(start))
                {
                    waits.first.push((wait, row));
                }
                if let Some(row) = last_in_window {
                    waits.total.push((total, row));
                }
            }
        }
        for list in [&mut waits.only, &mut waits.attempt, &mut waits.first, &mut waits.total] {
            list.sort_unstable();
        }
        waits
    }
}

/// Percentiles of the two sorted lists taken together, cohort by cohort: walking the waits in order, the n-th of a
/// cohort is found when n of it have passed, so no cohort needs a list of its own.
fn fill(table: &mut Table<'_>, only: &[Wait], more: &[Wait], field: fn(&mut Cohort) -> &mut WaitStatistics) {
    for &(_, row) in only.iter().chain(more) {
        for cohort in table.of(row as usize) {
            field(&mut table.cohorts[cohort]).count += 1;
        }
    }
    let mut passed = vec![0u64; table.cohorts.len()];
    let (mut only, mut more) = (only.iter().peekable(), more.iter().peekable());
    loop {
        let from_more = match (only.peek(), more.peek()) {
            (Some(a), Some(b)) => b < a,
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (None, None) => break,
        };
        let Some(&(wait, row)) = (if from_more { more.next() } else { only.next() }) else { break };
        for cohort in table.of(row as usize) {
            let rank = passed[cohort];
            passed[cohort] += 1;
            let statistics = field(&mut table.cohorts[cohort]);
            let count = u128::from(statistics.count);
            let at = |share: u128| u128::from(rank) == count * share / 100;
            if at(50) {
                statistics.p50_ns = wait;
            }
            if at(90) {
                statistics.p90_ns = wait;
            }
            if at(99) {
                statistics.p99_ns = wait;
            }
            statistics.max_ns = wait;
        }
    }
}
