//! `ml-goodput-measurement`: one JSON object an event, from the library's local file
//! (`<job>_timeline.jsonl`) or from a Cloud Logging export, where the object is the `jsonPayload` of an
//! entry and the export is JSONL or one JSON array, oldest or newest first.
//!
//! Every entry names its job; stamps are Unix seconds. A step has a start and no end, and commits are
//! never recorded.

mod entry;
mod job;
mod orbax;
mod writers;

use std::io::BufRead;

use goodput_core::Timestamp;
use memchr::memmem;
use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use self::entry::{Key, Record};
use self::job::Job;
use super::{Account, Format, Source};
use crate::lines::Lines;
use crate::{FileReport, ReadError, Treatment};

pub(super) const FORMAT: Format = Format { name: "ml-goodput-measurement", sniff, read };

fn sniff(head: &[u8]) -> bool {
    let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    matches!(start.first(), Some(b'{' | b'['))
        && (memmem::find(head, b"\"job_name\"").is_some() || memmem::find(head, b"\"jsonPayload\"").is_some())
}

fn read(reader: &mut dyn BufRead, source: &Source<'_>) -> Result<Vec<Account>, ReadError> {
    let mut log = Log {
        source,
        jobs: Vec::new(),
        by_name: FxHashMap::default(),
        stray: FileReport::default(),
        logged: Vec::new(),
    };
    if starts_array(reader).map_err(|e| ReadError::Io { path: source.label.to_owned(), source: e })? {
        log.read_array(reader)?;
    } else {
        log.read_lines(reader)?;
    }
    log.read_logged();
    Ok(log.finish())
}

/// Whether the first byte that is not blank opens an array.
fn starts_array(reader: &mut dyn BufRead) -> std::io::Result<bool> {
    let head = reader.fill_buf()?;
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    Ok(head.trim_ascii_start().first() == Some(&b'['))
}

/// The log while it is read: its jobs in the order of their first entries.
struct Log<'a> {
    source: &'a Source<'a>,
    jobs: Vec<Job>,
    by_name: FxHashMap<String, usize>,
    /// Lines that belong to no job.
    stray: FileReport,
    /// Payloads of Cloud Logging entries, kept until all are there: an export may be newest first.
    logged: Vec<Logged>,
}

struct Logged {
    at: Option<Timestamp>,
    line: u32,
    payload: Box<str>,
}

impl Log<'_> {
    fn read_lines(&mut self, reader: &mut dyn BufRead) -> Result<(), ReadError> {
        let label = self.source.label;
        let mut lines = Lines::new(reader, label);
        let mut last = 0;
        while let Some(line) = lines.next()? {
            match line.text {
                Ok(text) if text.trim_ascii().is_empty() => {}
                Ok(text) => {
                    let code = if line.terminated { "bad_json" } else { "truncated_line" };
                    self.record(text, line.number, code, &mut last);
                }
                Err(problem) => self.refuse("bad_text", line.number, || format!("the line is {problem}")),
            }
        }
        Ok(())
    }

    /// Reads a JSON array of entries, one element at a time.
    fn read_array(&mut self, reader: &mut dyn BufRead) -> Result<(), ReadError> {
        let mut records = 0u32;
        let mut last = 0;
        let mut each = |raw: &RawValue| {
            records = records.saturating_add(1);
            self.record(raw.get(), records, "bad_json", &mut last);
        };
        let mut deserializer = serde_json::Deserializer::from_reader(reader);
        let outcome = serde::Deserializer::deserialize_seq(&mut deserializer, Elements(&mut each));
        match outcome {
            Ok(()) => Ok(()),
            Err(error) if error.is_io() => {
                Err(ReadError::Io { path: self.source.label.to_owned(), source: error.into() })
            }
            Err(error) => {
                let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
                self.refuse("truncated_array", line, || {
                    format!("{error}: the {records} entries before it are used, whatever follows is not; export again")
                });
                Ok(())
            }
        }
    }

    /// Takes one JSON object. `last` is the job of the entry before, most likely this one's too.
    fn record(&mut self, text: &str, line: u32, code: &'static str, last: &mut usize) {
        match entry::read(text) {
            Ok(Record::Entry(entry)) => {
                let Some(name) = entry.text(Key::JobName) else {
                    return self.refuse("no_job_name", line, || {
                        "no job_name, which every entry of ml-goodput-measurement carries".to_owned()
                    });
                };
                if self.jobs.get(*last).is_none_or(|job| job.name() != name) {
                    *last = self.job(name);
                }
                if let Some(job) = self.jobs.get_mut(*last) {
                    job.apply(&entry, line, self.source.options);
                }
            }
            Ok(Record::Logged { timestamp, payload }) => {
                let at = timestamp.and_then(|t| t.parse::<jiff::Timestamp>().ok());
                let at = at.and_then(|t| i64::try_from(t.as_nanosecond()).ok()).map(Timestamp::from_nanos);
                self.logged.push(Logged { at, line, payload: payload.into() });
            }
            Err(error) => self.refuse(code, line, || {
                format!("{error} of the line: expected one JSON object; the line is not used")
            }),
        }
    }

    /// Takes the payloads of Cloud Logging entries in the order in which they were logged.
    fn read_logged(&mut self) {
        let mut logged = std::mem::take(&mut self.logged);
        let stamps = (logged.iter().find_map(|l| l.at), logged.iter().rev().find_map(|l| l.at));
        if let (Some(first), Some(last)) = stamps {
            if first > last {
                logged.reverse();
            }
            // An entry without a stamp stays behind the one before it.
            let mut latest = first.min(last);
            for entry in &mut logged {
                latest = *entry.at.get_or_insert(latest);
            }
            logged.sort_by_key(|entry| entry.at);
        }
        let mut last = 0;
        for entry in logged {
            if entry.payload.contains("\"jsonPayload\"") {
                self.refuse("bad_json", entry.line, || "a jsonPayload inside a jsonPayload".to_owned());
            } else {
                self.record(&entry.payload, entry.line, "bad_json", &mut last);
            }
        }
    }

    fn job(&mut self, name: &str) -> usize {
        if let Some(&position) = self.by_name.get(name) {
            return position;
        }
        self.jobs.push(Job::new(name, self.source, FORMAT.name));
        self.by_name.insert(name.to_owned(), self.jobs.len() - 1);
        self.jobs.len() - 1
    }

    fn refuse(&mut self, code: &'static str, line: u32, message: impl FnOnce() -> String) {
        self.stray.rows += 1;
        self.stray.find(Treatment::Refused, code, line, "", message);
    }

    /// The timelines. Lines that belong to no job are in the first job's account.
    fn finish(self) -> Vec<Account> {
        let mut read: Vec<_> = self.jobs.into_iter().map(Job::finish).collect();
        if let Some((_, report)) = read.first_mut() {
            report.absorb(self.stray);
        }
        read
    }
}

/// Visits the elements of an array one by one.
struct Elements<'f>(&'f mut dyn FnMut(&RawValue));

impl<'de> serde::de::Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON array of log entries")
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element::<Box<RawValue>>()? {
            (self.0)(&element);
        }
        Ok(())
    }
}
