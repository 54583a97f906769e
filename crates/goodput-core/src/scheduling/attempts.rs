//! Rows of one job: which belong together, and what each held once overlapping rows are cut.

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
}

impl Jobs {
    /// Groups the attempts of `records`.
    pub fn new(records: &FleetRecords) -> Self {
        let attempts = &records.attempts;
        let order = order_by_id(records);
        let mut begins = Vec::with_capacity(order.len() + 1);
        for (place, &row) in order.iter().enumerate() {
            let goes_on =
                place > 0 && continues(&attempts[order[place - 1] as usize], &attempts[row as usize]);
            if !goes_on {
                begins.push(position(place));
            }
        }
        begins.push(position(order.len()));
        Self { order, begins }
    }

    /// The rows of each job, in order of submission.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.begins.windows(2).map(|b| &self.order[b[0] as usize..b[1] as usize])
    }
}

fn position(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// A counting sort by raw id (ids are dense symbols), then by cluster and submit inside the few ids that repeat.
fn order_by_id(records: &FleetRecords) -> Vec<u32> {
    let attempts = &records.attempts;
    let mut place = vec![0u32; records.symbols.len() + 1];
    for attempt in attempts {
        place[attempt.key.job.index() + 1] += 1;
    }
    for i in 1..place.len() {
        place[i] += place[i - 1];
    }
    let mut order = vec![0u32; attempts.len()];
    for (row, attempt) in attempts.iter().enumerate() {
        let at = &mut place[attempt.key.job.index()];
        order[*at as usize] = position(row);
        *at += 1;
    }
    for rows in order.chunk_by_mut(|&a, &b| attempts[a as usize].key.job == attempts[b as usize].key.job) {
        if rows.len() > 1 {
            rows.sort_by_key(|&row| {
                let attempt = &attempts[row as usize];
                (
                    attempt.key.cluster,
                    attempt.key.submit,
                    attempt.end.unwrap_or(Timestamp::from_nanos(i64::MAX)),
                )
            });
        }
    }
    order
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

/// What each attempt held, not yet clipped to the window; empty when it held nothing.
///
/// Slurm 22.05 writes the second row of a resized job with the original start, so that it overlaps the first;
/// rows of one id are cut to begin where the earlier one ended.
pub(super) fn held_intervals(
    records: &FleetRecords,
    jobs: &Jobs,
    horizon: Timestamp,
    notes: &mut Notes,
) -> Vec<Interval> {
    let attempts = &records.attempts;
    let never = Interval::new(Timestamp::default(), Timestamp::default());
    let mut held = vec![never; attempts.len()];
    let mut released: Option<(usize, Timestamp)> = None;
    for place in 0..jobs.order.len() {
        let row = jobs.order[place] as usize;
        let attempt = &attempts[row];
        let next = jobs.order.get(place + 1).map(|&n| &attempts[n as usize]).filter(|n| same_id(attempt, n));
        let Some(mut interval) = attempt.held(horizon) else { continue };
        if attempt.end.is_none() {
            if let Some(next) = next {
                // The scheduler cannot run one id twice: the later submission ends the open row.
                interval.end = next.key.submit.max(interval.start);
                notes.note("open_row_superseded", attempt.source);
            } else if !matches!(attempt.state, JobState::Running | JobState::Suspended | JobState::Other) {
                notes.note("no_end", attempt.source);
            }
        }
        if attempt.end.is_some_and(|end| end < interval.start) {
            notes.note("ends_before_start", attempt.source);
            continue;
        }
        if let Some((earlier, until)) = released
            && same_id(&attempts[earlier], attempt)
            && interval.start < until
        {
            notes.note("overlapping_rows", attempt.source);
            interval.start = until.min(interval.end);
        }
        let until = match released {
            Some((earlier, until)) if same_id(&attempts[earlier], attempt) => until.max(interval.end),
            _ => interval.end,
        };
        released = Some((row, until));
        if !interval.is_empty() {
            held[row] = interval;
        }
    }
    held
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
