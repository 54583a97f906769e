//! Rows of one job: which belong together, and what each held once overlapping rows are cut.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::records::{Attempt, FleetRecords, JobState};
use crate::time::{Interval, Timestamp};

use super::notes::Notes;

/// Positions in `FleetRecords::attempts`, rows of one (cluster, raw id) together and by submit.
///
/// A raw id is not one job: after a scheduler loses its state, ids start again. Rows of one id belong to one job
/// while each goes on from the one before ([`Jobs::iter`]).
#[derive(Debug)]
pub struct Jobs {
    order: Vec<u32>,
    /// Where each job begins in `order`, and its length at the end.
    begins: Vec<u32>,
    /// Stretches of `order` with rows of one raw id (not of one cluster, perhaps).
    repeated: Vec<Range<usize>>,
}

impl Jobs {
    /// Groups the attempts of `records`.
    pub fn new(records: &FleetRecords) -> Self {
        let attempts = &records.attempts;
        let (order, repeated) = order_by_id(records);
        let mut begins = Vec::with_capacity(order.len() + 1);
        let mut place = 0;
        for rows in &repeated {
            begins.extend((place..=rows.start).map(position));
            let next = |&place: &usize| {
                !continues(&attempts[order[place - 1] as usize], &attempts[order[place] as usize])
            };
            begins.extend((rows.start + 1..rows.end).filter(next).map(position));
            place = rows.end;
        }
        begins.extend((place..=order.len()).map(position));
        Self { order, begins, repeated }
    }

    /// The rows of each job, in order of submission.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.begins.windows(2).map(|b| &self.order[b[0] as usize..b[1] as usize])
    }
}

fn position(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// A counting sort by raw id (ids are dense symbols), then by cluster and submit inside the few ids that repeat,
/// which are named. Rows are large, so that no more of them are touched than need be.
fn order_by_id(records: &FleetRecords) -> (Vec<u32>, Vec<Range<usize>>) {
    let attempts = &records.attempts;
    let mut place = vec![0u32; records.symbols.len() + 1];
    for attempt in attempts {
        place[attempt.key.job.index() + 1] += 1;
    }
    let mut repeated = Vec::new();
    for i in 1..place.len() {
        let begins = place[i - 1] as usize;
        if place[i] > 1 {
            repeated.push(begins..begins + place[i] as usize);
        }
        place[i] += place[i - 1];
    }
    let mut order = vec![0u32; attempts.len()];
    for (row, attempt) in attempts.iter().enumerate() {
        let at = &mut place[attempt.key.job.index()];
        order[*at as usize] = position(row);
        *at += 1;
    }
    for rows in &repeated {
        order[rows.clone()].sort_by_key(|&row| {
            let attempt = &attempts[row as usize];
            let open = Timestamp::from_nanos(i64::MAX);
            (attempt.key.cluster, attempt.key.submit, attempt.end.unwrap_or(open))
        });
    }
    (order, repeated)
}

fn same_id(a: &Attempt, b: &Attempt) -> bool {
    a.key.job == b.key.job && a.key.cluster == b.key.cluster
}

/// Whether `next` is a further attempt of the job of `before` (a requeue keeps user and name; a closed,
/// cancelled row followed by the same id is an id given out anew after a loss of state).
fn continues(before: &Attempt, next: &Attempt) -> bool {
    same_id(before, next)
        && before.user == next.user
        && before.name == next.name
        && before.state != JobState::Cancelled
}

/// What each attempt held, not yet clipped to the window.
///
/// Slurm 22.05 writes the second row of a resized job with the original start, so that it overlaps the first;
/// rows of one id are cut to begin where the earlier one ended. Few rows need it, so only those are kept.
pub(super) struct HeldIntervals {
    horizon: Timestamp,
    corrected: FxHashMap<u32, Interval>,
}

impl HeldIntervals {
    /// Finds the rows to correct; running rows hold until `horizon`.
    pub fn new(records: &FleetRecords, jobs: &Jobs, horizon: Timestamp, notes: &mut Notes) -> Self {
        let mut held = Self { horizon, corrected: FxHashMap::default() };
        let same = |&a: &u32, &b: &u32| same_id(&records.attempts[a as usize], &records.attempts[b as usize]);
        for rows in &jobs.repeated {
            for rows in jobs.order[rows.clone()].chunk_by(same) {
                held.cut(records, rows, notes);
            }
        }
        held
    }

    /// Cuts the rows of one id, in order of submission, so that no two overlap.
    fn cut(&mut self, records: &FleetRecords, rows: &[u32], notes: &mut Notes) {
        let mut released: Option<Timestamp> = None;
        for (place, &row) in rows.iter().enumerate() {
            let attempt = &records.attempts[row as usize];
            let Some(whole) = attempt.held(self.horizon) else { continue };
            let mut interval = whole;
            if let (None, Some(&next)) = (attempt.end, rows.get(place + 1)) {
                // The scheduler cannot run one id twice: the later submission ends the open row.
                notes.note("open_row_superseded", attempt.source);
                interval.end = records.attempts[next as usize].key.submit.max(interval.start);
            }
            if let Some(until) = released
                && interval.start < until
            {
                notes.note("overlapping_rows", attempt.source);
                interval.start = until.min(interval.end);
            }
            released = released.max(Some(interval.end));
            if interval != whole {
                self.corrected.insert(row, interval);
            }
        }
    }

    /// What the attempt in `row` held; empty when nothing.
    pub fn of(&self, row: usize, attempt: &Attempt) -> Interval {
        let corrected = self.corrected.get(&position(row)).copied();
        let never = Interval::new(self.horizon, self.horizon);
        corrected.or_else(|| attempt.held(self.horizon)).unwrap_or(never)
    }
}

/// Notes what cannot be right about an attempt that started.
pub(super) fn note_impossible(attempt: &Attempt, notes: &mut Notes) {
    if attempt.start.is_none() {
        return;
    }
    let may_run = matches!(attempt.state, JobState::Running | JobState::Suspended | JobState::Other);
    match attempt.end {
        Some(end) if attempt.start.is_some_and(|start| end < start) => {
            notes.note("ends_before_start", attempt.source);
        }
        None if !may_run => notes.note("no_end", attempt.source),
        _ => {}
    }
}

/// What the attempts of the job with this raw or displayed id held, in time order, rows cut so that they do not
/// overlap: positions in `FleetRecords::attempts` with their intervals. What still runs is held up to `open_end`.
pub fn held_intervals_of(records: &FleetRecords, job: &str, open_end: Timestamp) -> Vec<(usize, Interval)> {
    let Some(id) = records.symbols.find(job) else { return Vec::new() };
    let intervals = HeldIntervals::new(records, &Jobs::new(records), open_end, &mut Notes::default());
    let rows = records.attempts.iter().enumerate();
    let mut held: Vec<_> = rows
        .filter(|(_, attempt)| attempt.key.job == id || attempt.display_id == id)
        .map(|(row, attempt)| (row, intervals.of(row, attempt)))
        .filter(|(_, interval)| !interval.is_empty())
        .collect();
    held.sort_by_key(|(_, interval)| interval.start);
    held
}

/// What the attempts of some jobs held over their whole lives, whatever the window.
#[derive(Debug, Default)]
pub struct HeldLives {
    lives: Vec<Vec<(usize, Interval)>>,
    of_row: FxHashMap<u32, usize>,
}

impl HeldLives {
    /// The lives of the jobs with an attempt that `wanted` picks. What still runs is held up to `open_end`.
    pub fn new(
        records: &FleetRecords,
        jobs: &Jobs,
        wanted: impl Fn(&Attempt) -> bool,
        open_end: Timestamp,
    ) -> Self {
        let intervals = HeldIntervals::new(records, jobs, open_end, &mut Notes::default());
        let mut lives = Self::default();
        for rows in jobs.iter() {
            let attempt = |&row: &u32| (row as usize, &records.attempts[row as usize]);
            if !rows.iter().map(attempt).any(|(_, attempt)| wanted(attempt)) {
                continue;
            }
            let held = rows.iter().map(attempt).map(|(row, attempt)| (row, intervals.of(row, attempt)));
            let mut held: Vec<_> = held.filter(|(_, interval)| !interval.is_empty()).collect();
            held.sort_by_key(|(_, interval)| interval.start);
            lives.of_row.extend(rows.iter().map(|&row| (row, lives.lives.len())));
            lives.lives.push(held);
        }
        lives
    }

    /// The life of the job of the attempt in `row`, in time order: positions in `FleetRecords::attempts` with what
    /// they held.
    pub fn of(&self, row: usize) -> &[(usize, Interval)] {
        self.of_row.get(&position(row)).map_or(&[], |&job| &self.lives[job])
    }
}

/// While the attempt was eligible and had not started; `None` when never eligible or started at once.
pub(super) fn waiting_interval(attempt: &Attempt, horizon: Timestamp) -> Option<Interval> {
    let eligible = attempt.eligible?;
    let until = match (attempt.start, attempt.end) {
        (Some(start), _) => start,
        (None, Some(end)) => end,
        (None, None) if matches!(attempt.state, JobState::Pending | JobState::Requeued | JobState::Other) => {
            horizon
        }
        (None, None) => return None,
    };
    let waiting = Interval::new(eligible, until);
    (!waiting.is_empty()).then_some(waiting)
}
