//! Goodput's own timeline format, version 1: `docs/timeline-format.md` and `schemas/timeline.schema.json`.

mod fields;
mod lock;
mod recorder;
mod write;

use std::io::BufRead;

use goodput_core::records::{Commits, EventKind, RankSample, Step, StepWork};
use goodput_core::{Interval, Timestamp};
use memchr::memmem;

use self::fields::{EVENTS, Fields, Problem};
use super::draft::Draft;
use super::{Account, Format, Source};
use crate::lines::Lines;
use crate::{ReadError, Treatment};

pub use recorder::{RecordError, TimelineRecorder};
pub use write::TimelineWriter;

pub(super) const FORMAT: Format = Format { name: "goodput-timeline", sniff, read };

fn sniff(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let first_line = head.split(|byte| *byte == b'\n').next().unwrap_or(head);
    first_line.starts_with(b"{") && memmem::find(first_line, b"\"goodput_timeline\"").is_some()
}

fn read(reader: &mut dyn BufRead, source: &Source<'_>) -> Result<Vec<Account>, ReadError> {
    let mut lines = Lines::new(reader, source.label);
    let mut jobs: Vec<Draft> = Vec::new();
    let mut current = 0;
    while let Some(line) = lines.next()? {
        let text = match line.text {
            Ok(text) if text.trim_ascii().is_empty() => continue,
            Ok(text) => text,
            Err(problem) => {
                if let Some(draft) = jobs.get_mut(current) {
                    draft.report.rows += 1;
                    draft.refuse("bad_text", line.number, "", || format!("the line is {problem}"));
                }
                continue;
            }
        };
        let parsed = Fields::parse(text);
        if let Some(fields) = parsed.as_ref().ok().filter(|fields| fields.is_header()) {
            fields.version().map_err(|problem| {
                source.refused(line.number, problem.message, "convert the file to version 1")
            })?;
            let job = fields.text("job", fields.job).unwrap_or_default();
            current = jobs.iter().position(|draft| draft.timeline.job == job).unwrap_or(jobs.len());
            if current == jobs.len() {
                jobs.push(Draft::new(source.label, FORMAT.name, source.file));
            }
        }
        let Some(draft) = jobs.get_mut(current) else {
            let remedy =
                "begin the file with a header: {\"goodput_timeline\":1,\"job\":\"4711\",\"devices\":512}";
            let message = match parsed {
                Ok(_) => "no header before the first record".to_owned(),
                Err(problem) => format!("the header cannot be read: {}", problem.message),
            };
            return Err(source.refused(line.number, message, remedy));
        };
        draft.report.rows += 1;
        match parsed.and_then(|fields| draft.record(&fields, line.number)) {
            Ok(()) => draft.report.used += 1,
            Err(problem) => {
                let code = if line.terminated { problem.code } else { "truncated_line" };
                draft.report.find(Treatment::Refused, code, line.number, problem.field, || problem.message);
            }
        }
    }
    let finish = |mut draft: Draft| {
        draft.put_in_order();
        (draft.timeline, draft.report)
    };
    Ok(jobs.into_iter().map(finish).collect())
}

impl Draft {
    fn record(&mut self, fields: &Fields<'_>, line: u32) -> Result<(), Problem> {
        if fields.is_header() {
            self.header(fields, line)
        } else if let Some(event) = fields.text("event", fields.event)? {
            self.event(&event, fields, line)
        } else if fields.rank.is_some() {
            self.rank(fields)
        } else {
            self.step(fields, line)
        }
    }

    /// Takes the first header; a later attempt's says nothing new.
    fn header(&mut self, fields: &Fields<'_>, line: u32) -> Result<(), Problem> {
        let devices = fields.whole("devices", fields.devices)?;
        if self.report.rows > 1 {
            if devices.is_some() && devices != self.timeline.devices {
                self.note("header_ignored", line, "devices", || {
                    "a later header with another size, which is ignored: say it with launch or resize"
                        .to_owned()
                });
            }
            return Ok(());
        }
        let peak = fields.positive("peak_tflops", fields.peak_tflops)?;
        self.timeline.job = fields.text("job", fields.job)?;
        self.timeline.source.line = line;
        self.timeline.devices = devices;
        self.timeline.planned_steps = fields.whole("planned_steps", fields.planned_steps)?;
        self.timeline.ideal.device = fields.text("device", fields.device)?;
        self.timeline.ideal.dtype = fields.text("dtype", fields.dtype)?;
        self.timeline.ideal.convention = fields.text("convention", fields.convention)?;
        self.timeline.ideal.peak_flops_per_second = peak.map(|tflops| tflops * 1e12);
        self.timeline.ideal.model_flops_per_token =
            fields.positive("model_flops_per_token", fields.model_flops_per_token)?;
        self.timeline.software = fields.software()?;
        if fields.flag("commits", fields.commits)? == Some(true) {
            self.timeline.commits = Commits::Recorded;
        }
        Ok(())
    }

    fn step(&mut self, fields: &Fields<'_>, line: u32) -> Result<(), Problem> {
        let index = fields.required("step", fields.whole("step", fields.step)?)?;
        let count = fields.whole("count", fields.count)?.unwrap_or(1);
        let count = u32::try_from(count).ok().filter(|count| *count > 0);
        let count = count.ok_or_else(|| Problem::value("count", "a whole number from 1 to 4294967295"))?;
        let start = fields.required("start", fields.time("start", fields.start)?)?;
        let end = fields.time("end", fields.end)?;
        if end.is_some_and(|end| end < start) {
            return Err(Problem::value("end", "an end at or after the start"));
        }
        let input_wait_ns = fields.duration("input_wait_s", fields.input_wait_s)?.unwrap_or(0);
        if end.is_some_and(|end| input_wait_ns > end - start) {
            return Err(Problem::value("input_wait_s", "at most the step's own duration"));
        }
        let tokens = fields.whole("tokens", fields.tokens)?.unwrap_or(0);
        let model_flops = fields.big("model_flops", fields.model_flops)?.unwrap_or(0);
        let work = StepWork { tokens, model_flops };
        if work != StepWork::default() || !self.timeline.work.is_empty() {
            self.timeline.work.resize(self.timeline.steps.len(), StepWork::default());
            self.timeline.work.push(work);
        }
        self.timeline.steps.push(Step { index, count, line, start, end, input_wait_ns });
        Ok(())
    }

    fn rank(&mut self, fields: &Fields<'_>) -> Result<(), Problem> {
        let rank = fields.required("rank", fields.whole("rank", fields.rank)?)?;
        let sample = RankSample {
            step: fields.required("step", fields.whole("step", fields.step)?)?,
            rank: u32::try_from(rank).map_err(|_| Problem::value("rank", "a rank of at most 4294967295"))?,
            host: self.timeline.symbols.intern(&fields.text("host", fields.host)?.unwrap_or_default()),
            device: fields
                .whole("device", fields.device)?
                .map(|device| {
                    u32::try_from(device)
                        .map_err(|_| Problem::value("device", "an index of at most 4294967295"))
                })
                .transpose()?,
            duration_ns: fields.required("duration_s", fields.duration("duration_s", fields.duration_s)?)?,
            input_wait_ns: fields.duration("input_wait_s", fields.input_wait_s)?.unwrap_or(0),
        };
        self.timeline.ranks.push(sample);
        Ok(())
    }

    fn event(&mut self, event: &str, fields: &Fields<'_>, line: u32) -> Result<(), Problem> {
        let at = || fields.required("at", fields.time("at", fields.at)?);
        let step = || fields.whole("step", fields.step);
        let devices = || fields.whole("devices", fields.devices);
        match event {
            "launch" => {
                let (at, devices) = (at()?, devices()?);
                self.abandon_phases();
                self.instant(EventKind::Launch, at, line);
                if let Some(devices) = devices {
                    self.instant(EventKind::Resized { devices }, at, line);
                }
            }
            "phase" => {
                let phase = fields.phase()?;
                let name = fields.text("name", fields.name)?.unwrap_or_default();
                let start = fields.required("start", fields.time("start", fields.start)?)?;
                match fields.time("end", fields.end)? {
                    Some(end) if end < start => {
                        return Err(Problem::value("end", "an end at or after the start"));
                    }
                    Some(end) => {
                        self.phase(phase, &name, Interval::new(start, end), line);
                    }
                    None => self.begin_phase(phase, &name, start, line),
                }
            }
            "phase_end" => {
                let (phase, at) = (fields.phase()?, at()?);
                let name = fields.text("name", fields.name)?.unwrap_or_default();
                let name = self.timeline.symbols.intern(&name);
                let same =
                    self.open_phase(|open| open.phase == phase && open.name == name).map(|open| open.start);
                match same {
                    None => return Err(Problem::value("phase", "the phase and name of one that is open")),
                    Some(start) if at < start => {
                        return Err(Problem::value("at", "an end at or after the start"));
                    }
                    Some(_) => self.end_phase(at, |open| open.phase == phase && open.name == name),
                };
            }
            "save" => {
                self.instant(EventKind::SaveStarted { step: fields.required("step", step()?)? }, at()?, line)
            }
            "commit" => {
                self.instant(EventKind::Committed { step: fields.required("step", step()?)? }, at()?, line)
            }
            "restore" => self.instant(EventKind::Restored { step: step()? }, at()?, line),
            "resize" => {
                self.instant(
                    EventKind::Resized { devices: fields.required("devices", devices()?)? },
                    at()?,
                    line,
                );
            }
            "standby" => {
                self.instant(
                    EventKind::Standby { devices: fields.required("devices", devices()?)? },
                    at()?,
                    line,
                );
            }
            "stop" => self.instant(EventKind::Stopped { cause: fields.cause()? }, at()?, line),
            "logging" => {
                let start = fields.required("start", fields.time("start", fields.start)?)?;
                let end = fields.required("end", fields.time("end", fields.end)?)?;
                self.logging(start, end, line)?;
            }
            other => return Err(Problem::word("event", other, EVENTS.into_iter())),
        }
        Ok(())
    }

    fn logging(&mut self, start: Timestamp, end: Timestamp, line: u32) -> Result<(), Problem> {
        if end < start {
            return Err(Problem::value("end", "an end at or after the start"));
        }
        self.instant(EventKind::LoggingCost, start, line);
        if let Some(event) = self.timeline.events.last_mut() {
            event.interval.end = end;
        }
        Ok(())
    }
}
