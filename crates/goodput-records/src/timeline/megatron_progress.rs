//! Megatron-LM's `<save>/progress.txt` (`--log-progress`): starts, world sizes, saves and commits, and what
//! had been computed by then. Coarse: one record of steps a save.

use std::io::BufRead;

use goodput_core::Timestamp;
use goodput_core::records::{Commits, EventKind, Step, StepWork};
use memchr::memmem;

use super::clock::WallClock;
use super::draft::Draft;
use super::{Account, Format, Source};
use crate::ReadError;
use crate::decimal::scaled;
use crate::lines::Lines;

pub(super) const FORMAT: Format = Format { name: "megatron-progress", sniff, read };

fn sniff(head: &[u8]) -> bool {
    let first_line = head.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or(head);
    memmem::find(first_line, b"\tJob ID: ").is_some() && memmem::find(first_line, b"\t# GPUs: ").is_some()
}

fn read(reader: &mut dyn BufRead, source: &Source<'_>) -> Result<Vec<Account>, ReadError> {
    let mut lines = Lines::new(reader, source.label);
    let mut clock = WallClock::new(source)?;
    let mut run = Run { draft: Draft::new(source.label, FORMAT.name, source.file), ..Run::default() };
    run.draft.timeline.commits = Commits::Recorded;
    run.draft.timeline.stamp_resolution_ns = 1_000_000_000;
    while let Some(line) = lines.next()? {
        let text = line.text.unwrap_or("");
        if text.trim_ascii().is_empty() && line.text.is_ok() {
            continue;
        }
        run.draft.report.rows += 1;
        let entry = Entry::read(text, &mut clock);
        let outcome = entry.and_then(|entry| run.take(&entry, line.number));
        if let Err(field) = outcome {
            let code = if line.terminated { "bad_value" } else { "truncated_line" };
            run.draft
                .refuse(code, line.number, field, || format!("no readable {field}; the line is not used"));
        }
    }
    let Draft { mut timeline, mut report, .. } = run.draft;
    timeline.job = run.job;
    report.used = report.rows - report.refused - report.skipped.values().sum::<u64>();
    Ok(vec![(timeline, report)])
}

/// One line: `stamp <tab> Job ID: id <tab> # GPUs: n <tab> what <tab> key: value ..`.
struct Entry<'a> {
    at: Timestamp,
    job: &'a str,
    devices: u64,
    what: &'a str,
    values: &'a str,
}

impl<'a> Entry<'a> {
    fn read(line: &'a str, clock: &mut WallClock) -> Result<Self, &'static str> {
        let mut fields = line.splitn(5, '\t');
        let mut next = || fields.next().map(str::trim);
        let stamp = next().and_then(|text| clock.read(text)).ok_or("date and time")?;
        let job = next().and_then(|text| text.strip_prefix("Job ID:")).ok_or("Job ID")?.trim();
        let devices =
            next().and_then(|text| text.strip_prefix("# GPUs:")?.trim().parse().ok()).ok_or("# GPUs")?;
        let what = next().ok_or("event")?;
        Ok(Self { at: stamp.at, job, devices, what, values: next().unwrap_or("") })
    }

    fn value(&self, name: &str) -> Option<&'a str> {
        let named = |field: &'a str| field.trim().strip_prefix(name)?.strip_prefix(':').map(str::trim);
        self.values.split('\t').find_map(named)
    }

    fn iteration(&self) -> Result<u64, &'static str> {
        self.value("Iteration").and_then(|text| text.parse().ok()).ok_or("Iteration")
    }
}

/// The run while its file is read.
#[derive(Default)]
struct Run {
    draft: Draft,
    job: Option<String>,
    devices: Option<u64>,
    /// Iteration and instant up to which steps are recorded.
    recorded: Option<(u64, Timestamp)>,
    committed: u64,
    tokens: Cumulative,
    flops: Cumulative,
}

impl Run {
    fn take(&mut self, entry: &Entry<'_>, line: u32) -> Result<(), &'static str> {
        match entry.what {
            "Starting job" => self.start(entry, line),
            "Saved checkpoint" => {
                self.steps(entry, line)?;
                self.commit(entry, line)?;
            }
            "Saving async checkpoint" => {
                let step = entry.iteration()?;
                self.steps(entry, line)?;
                self.draft.instant(EventKind::SaveStarted { step }, entry.at, line);
            }
            "Saved async checkpoint" => self.commit(entry, line)?,
            _ => self.draft.skip("other entry"),
        }
        Ok(())
    }

    fn start(&mut self, entry: &Entry<'_>, line: u32) {
        self.draft.instant(EventKind::Launch, entry.at, line);
        if self.devices.is_none() {
            self.draft.timeline.devices = Some(entry.devices);
            self.job = Some(entry.job.to_owned()).filter(|job| !job.is_empty());
        } else {
            if self.devices != Some(entry.devices) {
                self.draft.instant(EventKind::Resized { devices: entry.devices }, entry.at, line);
            }
            self.draft.note("resume_point_supposed", line, "", || {
                let step = self.committed;
                format!("taken to resume from the last committed checkpoint, iteration {step}: the file does not say")
            });
        }
        if self.job.as_deref().is_some_and(|job| job != entry.job) {
            self.job = None;
            self.draft.note("several_job_ids", line, "Job ID", || {
                "the run went on under another scheduler job: name the job if one record covers them all"
                    .to_owned()
            });
        }
        self.devices = Some(entry.devices);
        self.recorded = Some((self.committed, entry.at));
        self.tokens.resume();
        self.flops.resume();
    }

    /// The iterations since the last save or start, as one record.
    fn steps(&mut self, entry: &Entry<'_>, line: u32) -> Result<(), &'static str> {
        let number = entry.iteration()?;
        let work = StepWork {
            tokens: self.tokens.advance(entry.value("Tokens (in billions)"), 9),
            model_flops: u128::from(self.flops.advance(entry.value("Floating-point operations"), -9))
                * 1_000_000_000,
        };
        let before = self.recorded.replace((number, entry.at));
        let Some((done, since)) = before.filter(|(done, _)| *done < number) else {
            self.draft.note("iterations_unknown", line, "Iteration", || {
                "no start before the first save, or a lower iteration than before: how many it adds is not known".to_owned()
            });
            return Ok(());
        };
        if entry.at < since {
            self.draft.note_clock_step(since, entry.at, line);
        }
        let count = u32::try_from(number - done).map_err(|_| "Iteration")?;
        let step = Step { index: done + 1, count, line, start: since, end: Some(entry.at), input_wait_ns: 0 };
        self.draft.timeline.steps.push(step);
        self.draft.timeline.work.push(work);
        self.draft.note("between_saves", line, "", || {
            "the file stamps starts and saves only: startup, input wait, evaluation and pauses between them are inside the \
             steps' time and count as productive. Name the run's standard output beside it"
                .to_owned()
        });
        Ok(())
    }

    fn commit(&mut self, entry: &Entry<'_>, line: u32) -> Result<(), &'static str> {
        let step = entry.iteration()?;
        self.committed = step;
        self.tokens.commit();
        self.flops.commit();
        self.draft.instant(EventKind::Committed { step }, entry.at, line);
        Ok(())
    }
}

/// A total that is printed with few digits: a difference is only as good as they allow.
#[derive(Debug, Clone, Copy, Default)]
struct Cumulative {
    total: u64,
    committed: u64,
}

impl Cumulative {
    /// What was added since the total before, in units of `10^-places`; zero when the printed digits do
    /// not show it to a twentieth.
    fn advance(&mut self, text: Option<&str>, places: i32) -> u64 {
        let total = text.and_then(|text| scaled(text, places)).and_then(|total| u64::try_from(total).ok());
        let (Some(total), Some(text)) = (total, text) else { return 0 };
        let added = total.saturating_sub(self.total);
        self.total = total;
        let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let last_place =
            power.parse::<i64>().unwrap_or(0) + i64::from(places) - i64::try_from(decimals).unwrap_or(0);
        let place = u32::try_from(last_place).map_or(1, |power| 10u64.saturating_pow(power));
        if added / 20 < place { 0 } else { added }
    }

    fn commit(&mut self) {
        self.committed = self.total;
    }

    /// A restart counts on from what the checkpoint holds.
    fn resume(&mut self) {
        self.total = self.committed;
    }
}
