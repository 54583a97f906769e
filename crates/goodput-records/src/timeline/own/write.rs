//! Writes the format.

use std::io::{self, Write};

use goodput_core::Timestamp;
use goodput_core::records::{
    Commits, Event, EventKind, Phase, RankSample, Step, StepWork, StopCause, Symbols, Timeline,
};
use serde_json::{Map, Value, json};

use super::fields::{CAUSES, PHASES};
use crate::decimal::ns_to_seconds;

/// Writes timelines in goodput's own format.
///
/// ```
/// use goodput_core::records::{FileId, Step, StepWork, Timeline};
/// use goodput_core::Timestamp;
/// use goodput_records::timeline::{TimelineOptions, TimelineWriter, read_timeline};
///
/// let mut writer = TimelineWriter::new(Vec::new());
/// writer.header(&Timeline { job: Some("4711".into()), devices: Some(8), ..Timeline::default() })?;
/// let start = Timestamp::from_seconds(1_767_225_600);
/// let step = Step { index: 0, count: 1, line: 0, start, end: Some(start + 2_000_000_000), input_wait_ns: 0 };
/// writer.step(&step, StepWork::default())?;
/// let text = writer.into_inner();
/// let read = read_timeline("log", FileId(0), text.as_slice(), &TimelineOptions::default())?;
/// assert_eq!(read[0].0.steps[0].end, step.end);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TimelineWriter<W: Write> {
    out: W,
}

impl<W: Write> TimelineWriter<W> {
    /// A writer into `out`, best buffered.
    pub fn new(out: W) -> Self {
        Self { out }
    }

    /// Gives `out` back.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Writes a whole timeline: header, then steps and events in the order of their lines, then ranks.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn timeline(&mut self, timeline: &Timeline) -> io::Result<()> {
        self.header(timeline)?;
        let mut events = timeline.events.iter().peekable();
        for (position, step) in timeline.steps.iter().enumerate() {
            while let Some(event) = events.next_if(|event| event.line < step.line) {
                self.event(event, &timeline.symbols)?;
            }
            self.step(step, timeline.work.get(position).copied().unwrap_or_default())?;
        }
        events.try_for_each(|event| self.event(event, &timeline.symbols))?;
        timeline.ranks.iter().try_for_each(|sample| self.rank(sample, &timeline.symbols))
    }

    /// Writes what `timeline` says about the whole job; its steps and events are not written.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn header(&mut self, timeline: &Timeline) -> io::Result<()> {
        let ideal = &timeline.ideal;
        let mut line = Map::new();
        line.insert("goodput_timeline".to_owned(), json!(1));
        let fields = [
            ("job", timeline.job.as_ref().map(|v| json!(v))),
            ("devices", timeline.devices.map(|v| json!(v))),
            ("device", ideal.device.as_ref().map(|v| json!(v))),
            ("peak_tflops", ideal.peak_flops_per_second.map(|v| json!(v / 1e12))),
            ("dtype", ideal.dtype.as_ref().map(|v| json!(v))),
            ("model_flops_per_token", ideal.model_flops_per_token.map(|v| json!(v))),
            ("convention", ideal.convention.as_ref().map(|v| json!(v))),
            ("planned_steps", timeline.planned_steps.map(|v| json!(v))),
            ("commits", Some(json!(timeline.commits == Commits::Recorded))),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                line.insert(name.to_owned(), value);
            }
        }
        if !timeline.software.is_empty() {
            let versions = timeline.software.iter().map(|(name, version)| (name.clone(), json!(version)));
            line.insert("software".to_owned(), Value::Object(versions.collect()));
        }
        writeln!(self.out, "{}", Value::Object(line))
    }

    /// Writes a step.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn step(&mut self, step: &Step, work: StepWork) -> io::Result<()> {
        write!(self.out, "{{\"step\":{}", step.index)?;
        if step.count != 1 {
            write!(self.out, ",\"count\":{}", step.count)?;
        }
        write!(self.out, ",\"start\":{}", seconds(step.start))?;
        if let Some(end) = step.end {
            write!(self.out, ",\"end\":{}", seconds(end))?;
        }
        if step.input_wait_ns != 0 {
            write!(self.out, ",\"input_wait_s\":{}", ns_to_seconds(step.input_wait_ns))?;
        }
        if work.tokens != 0 {
            write!(self.out, ",\"tokens\":{}", work.tokens)?;
        }
        if work.model_flops != 0 {
            write!(self.out, ",\"model_flops\":\"{}\"", work.model_flops)?;
        }
        writeln!(self.out, "}}")
    }

    /// Writes a rank's own record of a step.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn rank(&mut self, sample: &RankSample, symbols: &Symbols) -> io::Result<()> {
        write!(self.out, "{{\"rank\":{}", sample.rank)?;
        let host = symbols.get(sample.host);
        if !host.is_empty() {
            write!(self.out, ",\"host\":{}", json!(host))?;
        }
        if let Some(device) = sample.device {
            write!(self.out, ",\"device\":{device}")?;
        }
        let duration = ns_to_seconds(sample.duration_ns);
        write!(self.out, ",\"step\":{},\"duration_s\":{duration}", sample.step)?;
        if sample.input_wait_ns != 0 {
            write!(self.out, ",\"input_wait_s\":{}", ns_to_seconds(sample.input_wait_ns))?;
        }
        writeln!(self.out, "}}")
    }

    /// Writes an event whose names are in `symbols`.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn event(&mut self, event: &Event, symbols: &Symbols) -> io::Result<()> {
        let (start, end) = (seconds(event.interval.start), seconds(event.interval.end));
        match event.kind {
            EventKind::Launch => writeln!(self.out, "{{\"event\":\"launch\",\"at\":{start}}}"),
            EventKind::Phase { phase, name } => {
                write!(self.out, "{{\"event\":\"phase\",\"phase\":\"{}\"", phase_word(phase))?;
                let name = symbols.get(name);
                if !name.is_empty() {
                    write!(self.out, ",\"name\":{}", json!(name))?;
                }
                write!(self.out, ",\"start\":{start}")?;
                if !event.open {
                    write!(self.out, ",\"end\":{end}")?;
                }
                writeln!(self.out, "}}")
            }
            EventKind::SaveStarted { step } => {
                writeln!(self.out, "{{\"event\":\"save\",\"step\":{step},\"at\":{start}}}")
            }
            EventKind::Committed { step } => {
                writeln!(self.out, "{{\"event\":\"commit\",\"step\":{step},\"at\":{start}}}")
            }
            EventKind::Restored { step: Some(step) } => {
                writeln!(self.out, "{{\"event\":\"restore\",\"step\":{step},\"at\":{start}}}")
            }
            EventKind::Restored { step: None } => {
                writeln!(self.out, "{{\"event\":\"restore\",\"at\":{start}}}")
            }
            EventKind::Resized { devices } => {
                writeln!(self.out, "{{\"event\":\"resize\",\"devices\":{devices},\"at\":{start}}}")
            }
            EventKind::Standby { devices } => {
                writeln!(self.out, "{{\"event\":\"standby\",\"devices\":{devices},\"at\":{start}}}")
            }
            EventKind::Stopped { cause } => {
                let cause = cause_word(cause);
                writeln!(self.out, "{{\"event\":\"stop\",\"cause\":\"{cause}\",\"at\":{start}}}")
            }
            EventKind::LoggingCost => {
                writeln!(self.out, "{{\"event\":\"logging\",\"start\":{start},\"end\":{end}}}")
            }
        }
    }

    /// Writes the end of the last open phase of that kind and name.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn phase_end(&mut self, phase: Phase, name: &str, at: Timestamp) -> io::Result<()> {
        write!(self.out, "{{\"event\":\"phase_end\",\"phase\":\"{}\"", phase_word(phase))?;
        if !name.is_empty() {
            write!(self.out, ",\"name\":{}", json!(name))?;
        }
        writeln!(self.out, ",\"at\":{}}}", seconds(at))
    }
}

fn seconds(at: Timestamp) -> String {
    ns_to_seconds(at.as_nanos())
}

fn phase_word(phase: Phase) -> &'static str {
    PHASES.iter().find(|(_, p)| *p == phase).map_or("declared", |(word, _)| word)
}

fn cause_word(cause: StopCause) -> &'static str {
    CAUSES.iter().find(|(_, c)| *c == cause).map_or("ended", |(word, _)| word)
}
