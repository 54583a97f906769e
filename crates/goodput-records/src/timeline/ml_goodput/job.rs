//! One job's entries, in the order of the log, as a timeline.

use goodput_core::Timestamp;
use goodput_core::records::{EventKind, Phase, Step, StopCause, Symbol, Timeline};

use super::entry::{Entry, Key, Scalar};
use super::orbax::Checkpoints;
use super::writers::Writers;
use crate::FileReport;
use crate::decimal::{seconds_to_ns, whole};
use crate::timeline::draft::Draft;
use crate::timeline::{Source, TimelineOptions};

/// One job while its log is read.
pub(super) struct Job {
    name: String,
    pub draft: Draft,
    pub writers: Writers,
    pub checkpoints: Checkpoints,
    /// Whether this attempt has made a step: input waits before the first one belong to the start.
    stepping: bool,
    launched: Option<Timestamp>,
    ended: Option<Timestamp>,
    /// The last phase that ended, for second writers.
    last_ended: Option<(Symbol, Timestamp, Timestamp)>,
    active_slices: Option<u64>,
}

impl Job {
    pub(super) fn new(name: &str, source: &Source<'_>, format: &str) -> Self {
        let mut draft = Draft::new(source.label, format, source.file);
        draft.timeline.job = Some(name.to_owned());
        Self {
            name: name.to_owned(),
            draft,
            writers: Writers::default(),
            checkpoints: Checkpoints::default(),
            stepping: false,
            launched: None,
            ended: None,
            last_ended: None,
            active_slices: None,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Takes one entry. The key that carries the event's stamp says what kind of event it is.
    pub(super) fn apply(&mut self, entry: &Entry<'_>, line: u32, options: &TimelineOptions) {
        self.draft.report.rows += 1;
        let mut known = false;
        for (key, value) in entry.pairs() {
            let custom = || entry.text(Key::CustomType).unwrap_or("custom");
            let waited_for = || entry.text(Key::ElasticWaitType).unwrap_or("elastic_wait");
            known = true;
            match key {
                Key::StepStart => self.step(entry, value, line),
                Key::DataLoadingStart if self.stepping => {
                    self.begin(Phase::InputWait, "data_loading", value, line)
                }
                Key::DataLoadingStart => self.begin(Phase::Launch, "data_loading", value, line),
                Key::DataLoadingEnd => self.end("data_loading", value, line),
                Key::CustomStart => self.begin(custom_phase(custom()), custom(), value, line),
                Key::CustomEnd => self.end(custom(), value, line),
                Key::JobStart => self.start(value, line),
                Key::JobEnd => self.stop(value, line),
                Key::TpuInitStart => self.begin(Phase::Launch, "tpu_init", value, line),
                Key::TpuInitEnd => self.end("tpu_init", value, line),
                Key::TrainingPrepStart => self.begin(Phase::Launch, "training_prep", value, line),
                Key::TrainingPrepEnd => self.end("training_prep", value, line),
                Key::ElasticWaitStart => self.begin(Phase::Reconfiguration, waited_for(), value, line),
                Key::ElasticWaitEnd => self.end(waited_for(), value, line),
                Key::ElasticReinitStart => self.begin(Phase::Reconfiguration, "elastic_reinit", value, line),
                Key::ElasticReinitEnd => self.end("elastic_reinit", value, line),
                Key::SliceCountsAt => self.slices(entry, value, line, options),
                Key::EventType => self.checkpoint(entry, line),
                _ => known = false,
            }
            if known {
                break;
            }
        }
        if !known {
            self.draft.skip("other entry");
        }
    }

    fn step(&mut self, entry: &Entry<'_>, start: &Scalar<'_>, line: u32) {
        let Some(start) = self.time(start, "step_start_time", line) else { return };
        let index = match entry.get(Key::StepCount) {
            Some(Scalar::Number(digits)) => whole(digits.as_bytes()),
            _ => None,
        };
        let Some(index) = index else {
            return self.draft.refuse("bad_value", line, "step_count", || {
                "a step_start_time needs a step_count, a whole number of at least 0".to_owned()
            });
        };
        let steps = &mut self.draft.timeline.steps;
        if let Some(last) = steps.last().filter(|_| self.stepping).copied() {
            if index <= last.index && self.writers.is_copy(steps, index, start) {
                return self.duplicate("duplicate_step_writer", line, "step_count");
            }
            if index <= last.index && start >= last.start {
                self.writers.begin(steps);
            }
        }
        let steps = &mut self.draft.timeline.steps;
        steps.push(Step { index, count: 1, line, start, end: None, input_wait_ns: 0 });
        self.writers.stepped(steps);
        self.stepping = true;
        self.checkpoints.stepped();
    }

    fn start(&mut self, at: &Scalar<'_>, line: u32) {
        let Some(at) = self.time(at, "job_start_time", line) else { return };
        if self.launched.is_some_and(|launched| self.writers.same(launched, at)) {
            return self.duplicate("duplicate_event_writer", line, "job_start_time");
        }
        self.evicted_before_restart();
        if let Some(last) = self.draft.timeline.steps.last().copied().filter(|last| at < last.start) {
            self.draft.note_clock_step(last.start, at, line);
        }
        self.draft.abandon_phases();
        self.draft.instant(EventKind::Launch, at, line);
        self.launched = Some(at);
        self.ended = None;
        self.stepping = false;
        self.writers.begin(&self.draft.timeline.steps);
    }

    fn stop(&mut self, at: &Scalar<'_>, line: u32) {
        let Some(at) = self.time(at, "job_end_time", line) else { return };
        if self.ended.is_some_and(|ended| self.writers.same(ended, at)) {
            return self.duplicate("duplicate_event_writer", line, "job_end_time");
        }
        let cause = match self.checkpoints.take_eviction() {
            Some(_) => StopCause::Preempted,
            None => StopCause::Ended,
        };
        self.draft.instant(EventKind::Stopped { cause }, at, line);
        self.ended = Some(at);
    }

    /// An attempt that saved on an eviction notice and made no further step was evicted, also when no
    /// `job_end_time` says that it ended.
    fn evicted_before_restart(&mut self) {
        if let Some((at, line)) = self.checkpoints.take_eviction() {
            self.draft.instant(EventKind::Stopped { cause: StopCause::Preempted }, at, line);
        }
    }

    fn begin(&mut self, phase: Phase, name: &str, at: &Scalar<'_>, line: u32) {
        let Some(at) = self.time(at, name, line) else { return };
        let symbol = self.draft.timeline.symbols.intern(name);
        let open = self
            .draft
            .open_phase(|open| open.name == symbol)
            .is_some_and(|open| self.writers.same(open.start, at));
        let inside =
            |(ended, start, end): (Symbol, Timestamp, Timestamp)| ended == symbol && start <= at && at < end;
        if open || self.last_ended.is_some_and(inside) {
            return self.duplicate("duplicate_event_writer", line, name);
        }
        self.draft.begin_phase(phase, name, at, line);
        if phase == Phase::Launch {
            self.stepping = false;
        }
    }

    fn end(&mut self, name: &str, at: &Scalar<'_>, line: u32) {
        let Some(at) = self.time(at, name, line) else { return };
        let symbol = self.draft.timeline.symbols.intern(name);
        if let Some(interval) = self.draft.end_phase(at, |open| open.name == symbol) {
            self.last_ended = Some((symbol, interval.start, interval.end));
            if interval.end < interval.start {
                self.draft.note_clock_step(interval.start, interval.end, line);
            }
        } else if self.last_ended.is_some_and(|(ended, _, end)| ended == symbol && self.writers.same(end, at))
        {
            self.duplicate("duplicate_event_writer", line, name);
        } else {
            self.draft.refuse("end_without_start", line, name, || {
                format!("the end of {name} without a start before it: when it began is in no line")
            });
        }
    }

    /// `active_slices` of `total_slices` at an instant.
    fn slices(&mut self, entry: &Entry<'_>, at: &Scalar<'_>, line: u32, options: &TimelineOptions) {
        let Some(at) = self.time(at, "elastic_slice_counts_timestamp", line) else { return };
        let slices = match entry.get(Key::ActiveSlices) {
            Some(Scalar::Number(digits)) => whole(digits.as_bytes()),
            _ => None,
        };
        let Some(slices) = slices else {
            return self
                .draft
                .refuse("bad_value", line, "active_slices", || "expected a whole number".to_owned());
        };
        if options.devices_per_slice.is_none() {
            self.draft.note("slices_not_devices", line, "active_slices", || {
                "the log counts slices and not devices: sizes are in slices; state the devices of one slice with --devices-per-slice".to_owned()
            });
        }
        let devices = slices.saturating_mul(options.devices_per_slice.unwrap_or(1));
        if self.active_slices.is_none() {
            self.draft.timeline.devices = Some(devices);
        } else if self.active_slices != Some(slices) {
            self.draft.instant(EventKind::Resized { devices }, at, line);
        }
        self.active_slices = Some(slices);
    }

    pub(super) fn duplicate(&mut self, code: &'static str, line: u32, field: &str) {
        self.draft.skip("second writer's copy");
        self.draft.note(code, line, field, || {
            "a second process logged the same a moment later: counted once. Let one process record".to_owned()
        });
    }

    /// The instant that a stamp gives; a refusal when it gives none.
    pub(super) fn time(&mut self, value: &Scalar<'_>, field: &str, line: u32) -> Option<Timestamp> {
        let at = stamp(value);
        if at.is_none() {
            self.draft.refuse("bad_value", line, field, || {
                "the stamp is no number of seconds since 1970; the entry is not used".to_owned()
            });
        }
        at
    }

    pub(super) fn finish(mut self) -> (Timeline, FileReport) {
        self.evicted_before_restart();
        self.draft.put_in_order();
        let Draft { timeline, mut report, .. } = self.draft;
        report.used = report.rows - report.refused - report.skipped.values().sum::<u64>();
        (timeline, report)
    }
}

/// Custom events are declared work; those that evaluate have a category of their own.
fn custom_phase(name: &str) -> Phase {
    let name = name.to_ascii_lowercase();
    if name.starts_with("eval") || name.contains("_eval") || name.contains("validation") {
        Phase::Evaluation
    } else {
        Phase::Declared
    }
}

/// Unix seconds as an instant.
pub(super) fn stamp(value: &Scalar<'_>) -> Option<Timestamp> {
    match value {
        Scalar::Number(digits) => seconds_to_ns(digits).map(Timestamp::from_nanos),
        _ => None,
    }
}
