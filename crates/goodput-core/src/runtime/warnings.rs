//! What a person should know before trusting a runtime account.

use super::account::{Allocation, HeldInterval, RuntimeOptions};
use super::executions::{Executions, Sign};
use super::gap::Story;
use super::held;
use super::log_order::ClockStep;
use super::pace::Pace;
use crate::records::{Commits, EventKind, SourceRef, Timeline};
use crate::time::{NS_PER_SECOND, Timestamp};
use crate::warning::Warning;

/// What the warnings are drawn from.
pub(super) struct Evidence<'a> {
    pub timeline: &'a Timeline,
    pub allocation: &'a Allocation,
    pub held: &'a [HeldInterval],
    pub executions: &'a Executions,
    pub clock_steps: &'a [ClockStep],
    pub pace: &'a Pace,
    pub options: &'a RuntimeOptions,
    pub devices_known: bool,
    pub stories: &'a [Story],
    pub suspension_left_ns: i64,
}

/// Every warning that applies.
pub(super) fn of(evidence: &Evidence<'_>) -> Vec<Warning> {
    let from_log = matches!(evidence.allocation, Allocation::FromLog { .. });
    [
        from_log.then(|| evidence.no_allocation_record()),
        evidence.commits_unknown(),
        evidence.clock_steps_back(),
        evidence.outside_held().or_else(|| evidence.clocks_disagree()),
        evidence.devices_unknown(),
        evidence.silence_unsettled(),
        evidence.second_writers(),
        evidence.unsigned_rollbacks(),
        evidence.suspension_not_located(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn seconds(at: Timestamp) -> f64 {
    at.as_nanos() as f64 / 1e9
}

impl Evidence<'_> {
    fn at_line(&self, line: u32) -> Option<SourceRef> {
        Some(SourceRef { line, ..self.timeline.source })
    }

    fn warning(&self, code: &'static str, message: String, line: Option<u32>) -> Warning {
        Warning { code, message, source: line.map_or(Some(self.timeline.source), |l| self.at_line(l)) }
    }

    fn no_allocation_record(&self) -> Warning {
        let end = if self.executions.logged_end.is_some() {
            "the end that it logs"
        } else if self.options.window.is_some() {
            "the window's end (it logs no end)"
        } else {
            "its last evidence (it logs no end; give --live if the job still runs, or --to and its end, to account for \
             the time since)"
        };
        let restarts = self.executions.executions.len().saturating_sub(1);
        let ended_and_restarted = self.stories.iter().skip(1).take(restarts).enumerate().any(|(i, _)| {
            let gap = &self.executions.gaps[i + 1];
            self.executions.evidence[gap.evidence.clone()].iter().any(|e| matches!(e.sign, Sign::Stopped(_)))
        });
        let between = if ended_and_restarted || restarts > 0 {
            "; time between a stop and the next start counts as held, because without scheduler records \
             waiting in a queue cannot be told from downtime"
        } else {
            ""
        };
        let message = format!(
            "no allocation record: held time runs from the log's first evidence to {end}{between}; add the \
             scheduler's records to settle it"
        );
        self.warning("no_allocation_record", message, None)
    }

    fn commits_unknown(&self) -> Option<Warning> {
        let unknown = self.timeline.commits == Commits::Unknown && !self.executions.laid.is_empty();
        unknown.then(|| {
            let message =
                "the log records no checkpoint commits: steps that no later start rolled back behind \
                           count as retained"
                    .to_owned();
            self.warning("commits_unknown", message, None)
        })
    }

    fn clock_steps_back(&self) -> Option<Warning> {
        let first = self.clock_steps.first()?;
        let steps = &self.timeline.steps;
        let (before, after) = (&steps[first.position - 1], &steps[first.position]);
        let message = format!(
            "the clock steps back {} time(s): step {} at line {} starts at {:.3} s, {:.3} s before step {} of \
             line {}, which was logged before it; amounts follow the stamps, so held time lacks what the clock \
             lost",
            self.clock_steps.len(),
            after.index,
            after.line,
            seconds(after.start),
            first.back_ns as f64 / 1e9,
            before.index,
            before.line,
        );
        Some(self.warning("clock_steps_back", message, Some(after.line)))
    }

    fn outside_held(&self) -> Option<Warning> {
        if !matches!(self.allocation, Allocation::Recorded(_)) {
            return None;
        }
        let steps = || self.executions.laid.iter().map(|l| &self.timeline.steps[l.position as usize]);
        let outside = |at: Timestamp| held::at(self.held, at).is_none();
        let first = steps().find(|s| outside(s.start))?;
        let count = steps().filter(|s| outside(s.start)).count();
        let next = self.held.partition_point(|h| h.interval.start <= first.start);
        let nearest = self.held.get(next.saturating_sub(1)).or(self.held.first())?;
        let message = format!(
            "{count} step(s) lie outside every held interval, the first, step {}, at {:.3} s where the \
             scheduler's record nearest to it says [{:.3}, {:.3}) s: the log and the allocation are of \
             different jobs or their clocks disagree; such steps count nothing",
            first.index,
            seconds(first.start),
            seconds(nearest.interval.start),
            seconds(nearest.interval.end),
        );
        Some(self.warning("outside_held", message, Some(first.line)))
    }

    /// A start before the allocation, or an end long after its release: both values are shown.
    fn clocks_disagree(&self) -> Option<Warning> {
        // The scheduler rounds its stamps down; processes may outlive the release while they are killed.
        const ROUNDING_NS: i64 = NS_PER_SECOND;
        const KILLED_NS: i64 = 60 * NS_PER_SECOND;
        if !matches!(self.allocation, Allocation::Recorded(_)) {
            return None;
        }
        let events = self.timeline.events.iter().filter(|e| {
            !matches!(
                e.kind,
                EventKind::Committed { .. } | EventKind::SaveStarted { .. } | EventKind::LoggingCost
            )
        });
        let steps = self.executions.laid.iter().map(|l| &self.timeline.steps[l.position as usize]);
        let stamps = events
            .flat_map(|e| [(e.interval.start, e.line), (e.interval.end, e.line)])
            .chain(steps.filter_map(|s| Some((s.end?, s.line))));
        let apart = |at: Timestamp| {
            let next = self.held.partition_point(|h| h.interval.start <= at);
            let before = next.checked_sub(1).map(|i| self.held[i].interval);
            if before.is_some_and(|held| at <= held.end) {
                return None;
            }
            let early = self.held.get(next).map(|h| (h.interval, h.interval.start - at, ROUNDING_NS));
            let late = before.map(|held| (held, at - held.end, KILLED_NS));
            let nearest = early.into_iter().chain(late).min_by_key(|&(_, apart_ns, _)| apart_ns)?;
            let tolerated_ns = nearest.2 + self.timeline.stamp_resolution_ns;
            (nearest.1 > tolerated_ns).then_some((nearest.0, nearest.1))
        };
        let found = stamps.filter_map(|(at, line)| apart(at).map(|(held, ns)| (ns, at, line, held)));
        let (apart_ns, at, line, held) = found.max_by_key(|&(ns, ..)| ns)?;
        let place =
            if line > 0 { format!("line {line} of the log") } else { "a line of the logs".to_owned() };
        let message = format!(
            "{place} is stamped {:.3} s, {:.3} s outside the nearest interval [{:.3}, {:.3}) s of the \
             scheduler's record: their clocks disagree, or a record of another attempt is missing; held time follows \
             the scheduler, and what the log says outside it counts nothing",
            seconds(at),
            apart_ns as f64 / 1e9,
            seconds(held.start),
            seconds(held.end),
        );
        Some(self.warning("clocks_disagree", message, Some(line)))
    }

    fn devices_unknown(&self) -> Option<Warning> {
        (!self.devices_known).then(|| {
            let message =
                "neither the log nor the allocation says how many devices the job held: amounts are \
                           job time (one device)"
                    .to_owned();
            self.warning("devices_unknown", message, None)
        })
    }

    fn silence_unsettled(&self) -> Option<Warning> {
        (self.pace.silences > 0).then(|| {
            let message = format!(
                "{} step(s) were followed by no new start for more than {} times the fault-free step time, with \
                 no other evidence: each counts the fault-free time and the rest is unsettled; log step ends",
                self.pace.silences, self.options.silence_multiple,
            );
            self.warning("silence_unsettled", message, None)
        })
    }

    fn second_writers(&self) -> Option<Warning> {
        let records = self.executions.duplicates;
        (records > 0).then(|| {
            let message = format!(
                "{records} record(s) repeat a step within three quarters of a step time and without a restart: several \
                 processes log the same steps, each step is counted once; let one process log"
            );
            self.warning("second_writers", message, None)
        })
    }

    /// A rollback is rare. Where the number goes back all the time, the log is that of several writers.
    fn unsigned_rollbacks(&self) -> Option<Warning> {
        const STEPS_A_ROLLBACK: u64 = 10;
        let (rollbacks, steps) = (self.executions.unsigned_rollbacks, self.executions.laid.len() as u64);
        (rollbacks > 1 && rollbacks.saturating_mul(STEPS_A_ROLLBACK) > steps).then(|| {
            let message = format!(
                "the step number goes back {rollbacks} times in {steps} step records without a start: each time the \
                 steps from there on count as rolled back. If several processes write this log with clocks that \
                 differ by more than three quarters of a step, let one process log; if the job rolls back on purpose, log a restore"
            );
            self.warning("rollbacks_without_start", message, None)
        })
    }

    fn suspension_not_located(&self) -> Option<Warning> {
        (self.suspension_left_ns > 0).then(|| {
            let message = format!(
                "the scheduler's record holds {:.3} s of suspension that no silence of the log has room for: \
                 that time is charged as the log tells it; log suspensions",
                self.suspension_left_ns as f64 / 1e9,
            );
            self.warning("suspension_not_located", message, None)
        })
    }
}
