//! Whether the records cover the window.

use crate::records::{FleetRecords, JobState};
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
                    "the records were written {:.3} s before the window ends; what was free or held after that is unsettled (end the window at {} ns, or export again)",
                    (window.to() - written_at) as f64 / 1e9,
                    written_at.as_nanos()
                ),
                None,
            );
            return Ok(written_at);
        }
    }
    note_quiet_ends(records, window, notes);
    Ok(window.to())
}

/// A window longer than what was exported looks like an idle fleet: say so.
fn note_quiet_ends(records: &FleetRecords, window: Window, notes: &mut Notes) {
    let limit = window.duration_ns() / QUIET_SHARE;
    let mut first = Timestamp::from_nanos(i64::MAX);
    let mut last = Timestamp::from_nanos(i64::MIN);
    let mut running = false;
    for attempt in &records.attempts {
        let known = [Some(attempt.key.submit), attempt.eligible, attempt.start, attempt.end];
        first = first.min(attempt.start.unwrap_or(attempt.key.submit)).min(attempt.key.submit);
        last = known.into_iter().flatten().fold(last, Timestamp::max);
        running |= attempt.state == JobState::Running;
    }
    if records.attempts.is_empty() {
        return;
    }
    let samples = [records.node_samples.last().map(|s| s.at), records.queue_samples.last().map(|s| s.at)];
    last = samples.into_iter().flatten().fold(last, Timestamp::max);
    let quiet_ns = first - window.from();
    if quiet_ns > limit {
        notes.warn(
            "window_not_covered",
            format!(
                "no job record is older than {:.3} s after the window begins; if the export began there, begin the window there too, or the time before looks idle",
                quiet_ns as f64 / 1e9
            ),
            None,
        );
    }
    let quiet_ns = window.to() - last;
    if quiet_ns > limit && !running && records.written_at.is_none() {
        notes.warn(
            "window_not_covered",
            format!(
                "the last record is {:.3} s before the window ends and no record says when it was written; if the export ended there, end the window there too, or the time after looks idle",
                quiet_ns as f64 / 1e9
            ),
            None,
        );
    }
}
