//! A timeline while its log is being read, with the account of every line.

use goodput_core::records::{Event, EventKind, FileId, Phase, SourceRef, Symbol, Timeline};
use goodput_core::{Interval, Timestamp};

use crate::{FileReport, Treatment};

/// One job's timeline so far.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub timeline: Timeline,
    pub report: FileReport,
    open: Vec<OpenPhase>,
}

/// A phase whose end has not come yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenPhase {
    pub phase: Phase,
    pub name: Symbol,
    pub start: Timestamp,
    event: usize,
}

impl Draft {
    pub(crate) fn new(label: &str, format: &str, file: FileId) -> Self {
        let timeline =
            Timeline { source: SourceRef { file, line: 1 }, stamp_resolution_ns: 1, ..Timeline::default() };
        Self { timeline, report: FileReport::new(label, format), open: Vec::new() }
    }

    /// Adds an instant.
    pub(crate) fn instant(&mut self, kind: EventKind, at: Timestamp, line: u32) {
        self.timeline.events.push(Event { interval: Interval::new(at, at), open: false, kind, line });
    }

    /// Adds a phase with both ends known and returns its position.
    pub(crate) fn phase(&mut self, phase: Phase, name: &str, interval: Interval, line: u32) -> usize {
        let name = self.timeline.symbols.intern(name);
        self.timeline.events.push(Event {
            interval,
            open: false,
            kind: EventKind::Phase { phase, name },
            line,
        });
        self.timeline.events.len() - 1
    }

    /// Begins a phase; it stays open until [`Self::end_phase`].
    pub(crate) fn begin_phase(&mut self, phase: Phase, name: &str, start: Timestamp, line: u32) {
        let event = self.phase(phase, name, Interval::new(start, start), line);
        self.timeline.events[event].open = true;
        let name = self.timeline.symbols.intern(name);
        self.open.push(OpenPhase { phase, name, start, event });
    }

    /// The last open phase that `matches`.
    pub(crate) fn open_phase(&self, matches: impl Fn(&OpenPhase) -> bool) -> Option<&OpenPhase> {
        self.open.iter().rev().find(|open| matches(open))
    }

    /// Ends the last open phase that `matches`; its interval, or `None` when there is none.
    pub(crate) fn end_phase(
        &mut self,
        at: Timestamp,
        matches: impl Fn(&OpenPhase) -> bool,
    ) -> Option<Interval> {
        let position = self.open.iter().rposition(matches)?;
        let open = self.open.remove(position);
        let event = self.timeline.events.get_mut(open.event)?;
        event.interval.end = at;
        event.open = false;
        Some(event.interval)
    }

    /// Leaves every open phase open for good: their ends can no longer come.
    pub(crate) fn abandon_phases(&mut self) {
        self.open.clear();
    }

    pub(crate) fn refuse(
        &mut self,
        code: &'static str,
        line: u32,
        field: &str,
        message: impl FnOnce() -> String,
    ) {
        self.report.find(Treatment::Refused, code, line, field, message);
    }

    pub(crate) fn note(
        &mut self,
        code: &'static str,
        line: u32,
        field: &str,
        message: impl FnOnce() -> String,
    ) {
        self.report.find(Treatment::Noted, code, line, field, message);
    }

    /// Counts a line that says nothing this reader needs.
    pub(crate) fn skip(&mut self, word: &'static str) {
        *self.report.skipped.entry(word).or_default() += 1;
    }

    /// Notes a stamp that lies before the one that came earlier in the log.
    pub(crate) fn note_clock_step(&mut self, before: Timestamp, after: Timestamp, line: u32) {
        self.note("clock_steps_back", line, "", || {
            let back_s = (before - after) as f64 / 1e9;
            format!(
                "stamped {back_s:.3} s before an earlier line: the clock was set back, or lines of several writers \
                 are out of order. The stamps are kept, so one interval is negative; check the host's time service"
            )
        });
    }
}
