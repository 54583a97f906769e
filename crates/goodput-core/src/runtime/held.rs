//! The job's held intervals: from scheduler records, or from the log alone.

use super::account::{Allocation, HeldInterval, RuntimeError};
use super::executions::Executions;
use super::log_order::{Entry, LogOrder};
use crate::records::Timeline;
use crate::time::{Interval, Timestamp, Window};

/// The held intervals. Without an allocation record, one from the log's first evidence, its end
/// still open.
pub(super) fn intervals(
    timeline: &Timeline,
    order: &LogOrder<'_>,
    allocation: &Allocation,
) -> Result<Vec<HeldInterval>, RuntimeError> {
    match allocation {
        Allocation::Recorded(held) => {
            let disordered = held.windows(2).find(|pair| pair[1].interval.start < pair[0].interval.end);
            match disordered {
                Some(pair) => Err(RuntimeError::OverlappingAllocations {
                    first: pair[0].source,
                    second: pair[1].source,
                }),
                None => Ok(held.clone()),
            }
        }
        Allocation::FromLog { devices } => {
            let first = match order.iter().next().ok_or(RuntimeError::NothingToAccount)?.0 {
                Entry::Step(_, step) => step.start,
                Entry::Event(event) => event.interval.start,
            };
            Ok(vec![HeldInterval {
                interval: Interval::new(first, Timestamp::from_nanos(i64::MAX)),
                devices: devices.or(timeline.devices).unwrap_or(1),
                ended_by: None,
                suspended_ns: 0,
                source: timeline.source,
            }])
        }
    }
}

/// Without an allocation record held time ends where the log says that execution stopped (and
/// nothing started again), else with the window, else with the last evidence.
pub(super) fn close(
    held: &mut [HeldInterval],
    allocation: &Allocation,
    timeline: &Timeline,
    executions: &Executions,
    window: Option<Window>,
) {
    if let (Allocation::FromLog { .. }, [held]) = (allocation, held) {
        held.interval.end = executions
            .logged_end
            .or(window.map(Window::to))
            .unwrap_or_else(|| last_evidence(timeline, executions, held.interval.start));
    }
}

fn last_evidence(timeline: &Timeline, executions: &Executions, first: Timestamp) -> Timestamp {
    let step = executions.laid.last().map(|laid| Timestamp::from_nanos(laid.end_ns));
    let event = timeline.events.iter().map(|e| e.interval.end.max(e.interval.start)).max();
    step.into_iter().chain(event).fold(first, Timestamp::max)
}

/// The held interval that `at` lies in.
pub(super) fn at(held: &[HeldInterval], at: Timestamp) -> Option<Interval> {
    let next = held.partition_point(|h| h.interval.start <= at);
    held[..next].last().map(|h| h.interval).filter(|h| h.contains(at))
}

/// From the first interval's start to the last one's end.
pub(super) fn extent(held: &[HeldInterval]) -> Result<Window, RuntimeError> {
    let from = held.first().map(|h| h.interval.start).ok_or(RuntimeError::NothingToAccount)?;
    let to = held.iter().map(|h| h.interval.end).max().unwrap_or(from);
    Ok(Window::new(from, to)?)
}

/// Whether anybody said how many devices there are.
pub(super) fn devices_known(timeline: &Timeline, allocation: &Allocation) -> bool {
    match allocation {
        Allocation::Recorded(_) => true,
        Allocation::FromLog { devices } => devices.is_some() || timeline.devices.is_some(),
    }
}

/// Time between held intervals, inside the window.
pub(super) fn queue_wait_ns(held: &[HeldInterval], window: Window) -> i64 {
    held.windows(2)
        .map(|pair| window.clip(Interval::new(pair[0].interval.end, pair[1].interval.start)).duration_ns())
        .sum()
}
