//! Readers of job logs: whatever a job writes about itself, as [`Timeline`]s.
//!
//! The format is found from the content; a new one is one file beside this one and one line in [`FORMATS`].
//!
//! ```
//! use goodput_core::records::FileId;
//! use goodput_records::timeline::{TimelineOptions, read_timeline};
//!
//! let log = br#"{"goodput_timeline":1,"job":"4711","devices":8}
//! {"event":"launch","at":"2026-01-01T00:00:00Z"}
//! {"step":0,"start":1767225630.0,"end":1767225632.0}
//! "#;
//! let read = read_timeline("job.jsonl", FileId(0), &log[..], &TimelineOptions::default())?;
//! let (timeline, report) = &read[0];
//! assert_eq!(timeline.devices, Some(8));
//! assert_eq!(timeline.steps.len(), 1);
//! assert_eq!((report.rows, report.refused), (3, 0));
//! # Ok::<(), goodput_records::ReadError>(())
//! ```

mod clock;
mod combine;
mod draft;
mod megatron;
mod megatron_progress;
mod merge;
mod ml_goodput;
mod order;
mod own;

use std::io::{BufRead, BufReader, Cursor, Read};

use goodput_core::records::{FileId, Timeline};
use jiff::tz::TimeZone;

use crate::gzip::inflated;
use crate::{FileReport, ReadError};

pub use combine::{combine, combine_by_job};
pub use merge::merge;
pub use own::{RecordError, TimelineRecorder, TimelineWriter};

/// How to read a job's log.
#[derive(Debug, Clone, Default)]
pub struct TimelineOptions {
    /// The zone of stamps that carry none; such a log is refused without it.
    pub time_zone: Option<TimeZone>,
    /// The format; `None` finds it from the content.
    pub format: Option<&'static Format>,
    /// The job's id in the scheduler's records. In a log of several jobs it selects the one to read.
    pub job: Option<String>,
    /// Devices of one slice, for logs that count slices.
    pub devices_per_slice: Option<u64>,
}

/// One log format.
#[derive(Debug)]
pub struct Format {
    /// Its name, for people and for [`Format::named`].
    pub name: &'static str,
    sniff: fn(&[u8]) -> bool,
    read: fn(&mut dyn BufRead, &Source<'_>) -> Result<Vec<Account>, ReadError>,
}

/// Every format that can be read, the most specific first.
pub const FORMATS: &[&Format] =
    &[&own::FORMAT, &ml_goodput::FORMAT, &megatron_progress::FORMAT, &megatron::FORMAT];

impl Format {
    /// The format that the beginning of a file is in.
    pub fn of(head: &[u8]) -> Option<&'static Self> {
        FORMATS.iter().copied().find(|format| (format.sniff)(head))
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().copied().find(|format| format.name == name)
    }
}

/// A job's timeline and what became of its lines.
type Account = (Timeline, FileReport);

/// What a format's reader is told about the file.
struct Source<'a> {
    label: &'a str,
    file: FileId,
    options: &'a TimelineOptions,
}

impl Source<'_> {
    fn refused(&self, line: u32, message: impl Into<String>, remedy: impl Into<String>) -> ReadError {
        ReadError::Format {
            path: self.label.to_owned(),
            line,
            field: String::new(),
            message: message.into(),
            remedy: remedy.into(),
        }
    }
}

/// Bytes looked at to find the format: a Megatron log prints its arguments before it prints a step.
const HEAD_BYTES: u64 = 256 << 10;

/// Reads one job log, gzipped or not: a timeline for each job that it holds, each with the account of
/// its lines. Several attempts of one job are one timeline.
///
/// # Errors
/// [`ReadError`] when the file cannot be read, its format is not known, it holds no timeline, a time zone is
/// needed and missing, or [`TimelineOptions::job`] names none of its several jobs.
pub fn read_timeline(
    label: &str,
    file: FileId,
    source: impl Read,
    options: &TimelineOptions,
) -> Result<Vec<(Timeline, FileReport)>, ReadError> {
    let context = Source { label, file, options };
    let io = |source| ReadError::Io { path: label.to_owned(), source };
    let mut input = inflated(BufReader::new(source)).map_err(io)?;
    let mut head = Vec::new();
    input.by_ref().take(HEAD_BYTES).read_to_end(&mut head).map_err(io)?;
    let format = context.format(&head)?;
    let mut whole = BufReader::with_capacity(HEAD_BYTES as usize, Cursor::new(head).chain(input));
    let mut read = (format.read)(&mut whole, &context)?;
    context.select(&mut read)?;
    Ok(read)
}

impl Source<'_> {
    fn format(&self, head: &[u8]) -> Result<&'static Format, ReadError> {
        if let Some(format) = self.options.format {
            return Ok(format);
        }
        if head.trim_ascii().is_empty() {
            let remedy = "check that the job has written its log, and that it is the right file";
            return Err(self.refused(0, "the file is empty", remedy));
        }
        Format::of(head).ok_or_else(|| {
            let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
            self.refused(
                0,
                "no job log that can be read",
                format!(
                    "formats that can be read: {}; name one if the file is one of them",
                    names.join(", ")
                ),
            )
        })
    }

    /// Applies [`TimelineOptions::job`].
    fn select(&self, read: &mut Vec<Account>) -> Result<(), ReadError> {
        if read.is_empty() {
            return Err(self.refused(
                0,
                "the file holds no job's entries",
                "check that it is the right file",
            ));
        }
        let Some(wanted) = &self.options.job else { return Ok(()) };
        if let [(timeline, _)] = read.as_mut_slice() {
            timeline.job = Some(wanted.clone());
            return Ok(());
        }
        let names: Vec<_> = read.iter().filter_map(|(timeline, _)| timeline.job.clone()).collect();
        read.retain(|(timeline, _)| timeline.job.as_ref() == Some(wanted));
        if read.is_empty() {
            let message = format!("job {wanted} is not among the {} jobs of the file", names.len());
            return Err(self.refused(0, message, format!("name one of: {}", names.join(", "))));
        }
        Ok(())
    }
}
