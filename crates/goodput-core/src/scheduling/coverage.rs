//! Whether the records cover the window.

use crate::records::{FleetRecords, JobState, SourceRef};
use crate::time::{Timestamp, Window};

use super::SchedulingError;
use super::notes::Notes;

/// A stretch at an end of the window without any record is worth a warning from this share of the window on.
const QUIET_SHARE: i64 = 20;

/// Until when the records speak: when they were written, or the window's end.
pub(super) fn records_end(
    records: &FleetRecords,
    window: Window,
    notes: &mut Notes,
) -> Result<Timestamp, SchedulingError> {
    if let Some(written_at) = records.written_at {
        if written_at <= window.from() {
            return Err(SchedulingError::NotCovered { written_at, from: window.from() });
        }
        if written_at < window.to() {
            notes.warn(
                "window_not_covered",
                format!(
                    "the records were written {:.3} s before the window ends; what was free or held after that is unrecorded (end the window at {written_at}, or export again)",
                    (window.to() - written_at) as f64 / 1e9,
                ),
                None,
            );
        }
    }
    if let Some(told) = Told::by(records) {
        told.check(records, window, notes)?;
    }
    Ok(records.written_at.unwrap_or(window.to()).min(window.to()))
}

/// What job records and samples tell of time.
struct Told {
    first: Timestamp,
    last: Timestamp,
    /// Rows that still run, and the first of them.
    running: u64,
    first_running: Option<SourceRef>,
}

impl Told {
    /// `None` without a job record.
    fn by(records: &FleetRecords) -> Option<Self> {
        let submit = records.attempts.first()?.key.submit;
        let mut told = Self { first: submit, last: submit, running: 0, first_running: None };
        for attempt in &records.attempts {
            let known = [Some(attempt.key.submit), attempt.eligible, attempt.start, attempt.end];
            told.first = told.first.min(attempt.start.unwrap_or(attempt.key.submit)).min(attempt.key.submit);
            told.last = known.into_iter().flatten().fold(told.last, Timestamp::max);
            if attempt.state == JobState::Running && attempt.end.is_none() {
                told.running += 1;
                told.first_running.get_or_insert(attempt.source);
            }
        }
        let first = [records.node_samples.first().map(|s| s.at), records.queue_samples.first().map(|s| s.at)];
        told.first = first.into_iter().flatten().fold(told.first, Timestamp::min);
        let last = [records.node_samples.last().map(|s| s.at), records.queue_samples.last().map(|s| s.at)];
        told.last = last.into_iter().flatten().fold(told.last, Timestamp::max);
        Some(told)
    }

    /// A window longer than what was exported looks like an idle fleet, or like one that holds on to everything: say
    /// so. One that misses it altogether has no answer.
    fn check(
        &self,
        records: &FleetRecords,
        window: Window,
        notes: &mut Notes,
    ) -> Result<(), SchedulingError> {
        let limit = window.duration_ns() / QUIET_SHARE;
        let is_after = self.last < window.from() && self.running == 0 && records.written_at.is_none();
        if window.to() <= self.first || is_after {
            return Err(SchedulingError::OutsideRecords { first: self.first, last: self.last, window });
        }
        let quiet_ns = self.first - window.from();
        if quiet_ns > limit {
            notes.warn(
                "window_not_covered",
                format!(
                    "no job record is older than {}, {:.3} s after the window begins; if the export began there, begin the window there too, or the time before looks idle",
                    self.first,
                    quiet_ns as f64 / 1e9
                ),
                None,
            );
        }
        let quiet_ns = window.to() - self.last;
        if quiet_ns <= limit || records.written_at.is_some() {
            return Ok(());
        }
        let looks = match self.running {
            0 => "the time after looks idle".to_owned(),
            rows => format!(
                "what its {rows} running rows held after it is a guess (export ElapsedRaw, which tells when the records were written)"
            ),
        };
        notes.warn(
            "window_not_covered",
            format!(
                "the last record is of {}, {:.3} s before the window ends, and no record says when it was written; if the export ended there, end the window there too, or {looks}",
                self.last,
                quiet_ns as f64 / 1e9
            ),
            self.first_running,
        );
        Ok(())
    }
}
