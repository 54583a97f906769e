//! How long attempts and jobs waited, from submit to start.

use crate::records::FleetRecords;
use crate::time::{Timestamp, Window};

use super::attempts::Jobs;
use super::cohorts::Table;
use super::notes::Notes;
use super::{Cohort, WaitStatistics};

/// A wait, and the number of the cohorts in which it counts.
type Wait = (i64, u32);

/// Waits of three kinds, sorted. Most jobs have one attempt, whose wait is of all three kinds and is kept once.
#[derive(Default)]
pub(super) struct Waits {
    only: Vec<Wait>,
    attempt: Vec<Wait>,
    first: Vec<Wait>,
    total: Vec<Wait>,
}

impl Waits {
    /// The waits that ended inside the window.
    pub fn new(
        records: &FleetRecords,
        jobs: &Jobs,
        window: Window,
        table: &mut Table<'_>,
        notes: &mut Notes,
    ) -> Self {
        let mut waits = Self::default();
        for rows in jobs.iter() {
            if let [row] = rows {
                waits.add_single(records, window, *row, table, notes);
            } else {
                waits.add_several(records, window, rows, table, notes);
            }
        }
        for list in [&mut waits.only, &mut waits.attempt, &mut waits.first, &mut waits.total] {
            list.sort_unstable();
        }
        waits
    }

    fn add_single(
        &mut self,
        records: &FleetRecords,
        window: Window,
        row: u32,
        table: &mut Table<'_>,
        notes: &mut Notes,
    ) {
        let attempt = &records.attempts[row as usize];
        let Some(start) = attempt.start.filter(|&start| window.interval().contains(start)) else { return };
        let wait = start - attempt.key.submit;
        if wait < 0 {
            notes.note("negative_wait", attempt.source);
        } else if attempt.devices > 0 {
            self.only.push((wait, table.membership(row as usize)));
        }
    }

    /// The attempts of one job: each wait, the wait until the first start, and all of them.
    fn add_several(
        &mut self,
        records: &FleetRecords,
        window: Window,
        rows: &[u32],
        table: &mut Table<'_>,
        notes: &mut Notes,
    ) {
        let submitted = records.attempts[rows[0] as usize].key.submit;
        let mut first: Option<Timestamp> = None;
        let (mut total, mut last_in_window) = (0, None);
        for &row in rows {
            let attempt = &records.attempts[row as usize];
            let Some(start) = attempt.start.filter(|&start| start < window.to()) else { continue };
            let inside = start >= window.from();
            let wait = start - attempt.key.submit;
            if wait < 0 {
                // The second row of a resized job goes on; it did not wait.
                if inside {
                    notes.note("negative_wait", attempt.source);
                }
                continue;
            }
            if attempt.devices == 0 {
                continue;
            }
            total += wait;
            if inside {
                let membership = table.membership(row as usize);
                self.attempt.push((wait, membership));
                if first.is_none() {
                    self.first.push((start - submitted, membership));
                }
                last_in_window = Some(membership);
            }
            first.get_or_insert(start);
        }
        if let Some(membership) = last_in_window {
            self.total.push((total, membership));
        }
    }

    /// Writes the statistics into the cohorts.
    pub fn fill(&self, table: &mut Table<'_>) {
        self.fill_one(table, &self.attempt, |cohort| &mut cohort.attempt_wait);
        if self.attempt.is_empty() {
            for cohort in &mut table.cohorts {
                (cohort.first_wait, cohort.total_wait) = (cohort.attempt_wait, cohort.attempt_wait);
            }
        } else {
            self.fill_one(table, &self.first, |cohort| &mut cohort.first_wait);
            self.fill_one(table, &self.total, |cohort| &mut cohort.total_wait);
        }
    }

    /// Percentiles of `only` and `more` taken together, cohort by cohort: walking the waits in order, the n-th of a
    /// cohort is found when n of it have passed, so no cohort needs a list of its own.
    fn fill_one(&self, table: &mut Table<'_>, more: &[Wait], field: fn(&mut Cohort) -> &mut WaitStatistics) {
        for &(_, membership) in self.only.iter().chain(more) {
            for cohort in table.cohorts_of(membership) {
                field(&mut table.cohorts[cohort]).count += 1;
            }
        }
        let mut passed = vec![0u64; table.cohorts.len()];
        let (mut only, mut more) = (self.only.iter().peekable(), more.iter().peekable());
        loop {
            let from_more = match (only.peek(), more.peek()) {
                (Some(a), Some(b)) => b < a,
                (None, Some(_)) => true,
                (Some(_), None) => false,
                (None, None) => break,
            };
            let Some(&(wait, membership)) = (if from_more { more.next() } else { only.next() }) else {
                break;
            };
            for cohort in table.cohorts_of(membership) {
                let rank = passed[cohort];
                passed[cohort] += 1;
                field(&mut table.cohorts[cohort]).take(rank, wait);
            }
        }
    }
}

impl WaitStatistics {
    /// Takes the wait of one rank, from zero, of `count` sorted waits.
    fn take(&mut self, rank: u64, wait_ns: i64) {
        if rank == self.count / 2 {
            self.p50_ns = wait_ns;
        }
        if rank == self.count.saturating_mul(90) / 100 {
            self.p90_ns = wait_ns;
        }
        if rank == self.count.saturating_mul(99) / 100 {
            self.p99_ns = wait_ns;
        }
        self.max_ns = wait_ns;
    }
}
