//! The events of a file, for as many ranks as it holds.

use std::path::Path;

use super::event::{Category, Event};
use super::foreign;
use super::jax::Profile;
use super::metadata::Metadata;
use super::open::OpenEvents;
use super::rows::{Rows, Span, is_collector, number_of, refuse, span_of, stamp};
use crate::json::Scanner;
use crate::reading::{Cause, FileReading, FileTraces, Format, shortened};
use crate::trace::{Epoch, Identity, RankEvidence, RankTrace};

/// Takes events one by one.
pub(super) struct ChromeFile {
    pub reading: FileReading,
    pub metadata: Metadata,
    /// Kineto writes a file a rank.
    main: Rows,
    /// Device work of writers that put ranks into one file as processes.
    by_process: Vec<(i64, Rows)>,
    open: OpenEvents,
    /// Events of a profile of XLA, if the file is one.
    jax: Profile,
}

impl ChromeFile {
    pub fn new(path: &Path) -> Self {
        Self {
            reading: FileReading::new(path, Format::Chrome),
            metadata: Metadata::default(),
            main: Rows::default(),
            by_process: Vec::new(),
            open: OpenEvents::default(),
            jax: Profile::default(),
        }
    }

    /// Takes an event whose text is `raw` and begins at `at`.
    #[inline]
    pub fn event(&mut self, event: &Event<'_>, raw: &[u8], at: u64) {
        self.reading.events += 1;
        match (event.phase, event.category) {
            (b'X', Category::Other) => self.reading.ignored += 1,
            (b'X', Category::Absent) if self.jax.knows(event.process) => {
                if let Some(span) = span_of(event, at, &mut self.reading) {
                    self.jax.event(event, raw, span, &mut self.reading);
                }
            }
            (b'M', _) => {
                self.jax.name(event, raw);
                self.reading.ignored += 1;
            }
            (b'X', Category::Python) if !is_collector(event.name) => self.reading.ignored += 1,
            (b'X', _) => {
                if let Some(span) = span_of(event, at, &mut self.reading) {
                    self.add(event, span);
                }
            }
            (b'B', _) => self.begin(event, raw, at),
            (b'E', _) => self.end(event, at),
            (b'i' | b'I', _) if event.name == b"[memory]" => self.memory(event, at),
            _ => self.reading.ignored += 1,
        }
    }

    fn add(&mut self, event: &Event<'_>, span: Span) {
        let is_rank = event.category == Category::Absent && foreign::has_ranks_as_processes(event.name);
        let rows = if is_rank {
            let process = number_of(event.process);
            let index =
                self.by_process.iter().position(|(known, _)| *known == process).unwrap_or_else(|| {
                    self.by_process.push((process, Rows::default()));
                    self.by_process.len() - 1
                });
            &mut self.by_process[index].1
        } else {
            &mut self.main
        };
        rows.add(event, span, &mut self.reading);
    }

    fn begin(&mut self, event: &Event<'_>, raw: &[u8], at: u64) {
        if event.category == Category::Other {
            self.reading.ignored += 1;
        } else if !self.open.begin(event.process, event.thread, event.name, raw, at) {
            self.unfinished(event, at);
        }
    }

    fn end(&mut self, event: &Event<'_>, at: u64) {
        if event.category == Category::Other {
            self.reading.ignored += 1;
            return;
        }
        let begun = self.open.end(event.process, event.thread, event.name);
        let Some((begun, first)) =
            begun.as_ref().and_then(|begun| Some((begun, Event::scan(&mut Scanner::new(&begun.raw)).ok()?)))
        else {
            return self.unfinished(event, at);
        };
        let (Some(start_ns), Some(end_ns)) = (stamp(first.start), stamp(event.start)) else {
            return self.refuse(Cause::NoStamp, &first, begun.at);
        };
        if end_ns < start_ns {
            return self.refuse(Cause::NegativeDuration, &first, begun.at);
        }
        self.add(&first, Span { start_ns, end_ns, at: begun.at });
    }

    fn unfinished(&mut self, event: &Event<'_>, at: u64) {
        self.refuse(Cause::Unfinished, event, at);
    }

    fn refuse(&mut self, cause: Cause, event: &Event<'_>, at: u64) {
        refuse(cause, event, at, &mut self.reading);
    }

    fn memory(&mut self, event: &Event<'_>, at: u64) {
        match stamp(event.start) {
            Some(at_ns) => {
                let is_kept = self.main.memory(&event.args, at_ns);
                self.reading.ignored += u64::from(!is_kept);
            }
            None => self.refuse(Cause::NoStamp, event, at),
        }
    }

    /// An event that is no JSON.
    pub fn broken(&mut self, at: u64, text: &[u8]) {
        self.reading.events += 1;
        self.reading
            .find(Cause::BrokenEvent, at, || shortened(&String::from_utf8_lossy(text).replace('\n', " ")));
    }

    /// A value of the metadata that is not what it should be.
    pub fn broken_metadata(&mut self, at: u64, key: &[u8]) {
        self.reading.find(Cause::BrokenMetadata, at, || String::from_utf8_lossy(key).into_owned());
    }

    /// The file ended inside.
    pub fn truncated(&mut self, at: u64, why: impl FnOnce() -> String) {
        self.reading.truncated = true;
        self.reading.find(Cause::Truncated, at, why);
    }

    /// The traces of the file.
    pub fn finish(mut self, path: &Path) -> FileTraces {
        for begun in std::mem::take(&mut self.open).left() {
            let first = Event::scan(&mut Scanner::new(&begun.raw)).unwrap_or_default();
            self.unfinished(&first, begun.at);
        }
        let identity = self.metadata.identity();
        let mut ranks = self.jax.finish(&identity, path);
        for (process, rows) in self.by_process {
            let identity = Identity {
                rank: u32::try_from(process).ok(),
                evidence: RankEvidence::Metadata,
                part: Some(format!("process {process}")),
                ..identity.clone()
            };
            ranks.push(trace_of(rows, identity, &self.metadata, path));
        }
        if ranks.is_empty() || self.main.earliest_ns.is_some() {
            ranks.push(trace_of(self.main, identity, &self.metadata, path));
        }
        FileTraces { ranks, reading: self.reading }
    }
}

fn trace_of(rows: Rows, identity: Identity, metadata: &Metadata, path: &Path) -> RankTrace {
    let Rows { mut builder, earliest_ns, .. } = rows;
    builder.identity = Some(identity);
    // Some versions link no operator, see `Rows::work`.
    builder.operators_by_nesting = true;
    builder.devices.clone_from(&metadata.devices);
    builder.software.clone_from(&metadata.software);
    if metadata.base_ns != 0 {
        builder.shift(metadata.base_ns);
    }
    let earliest_ns = earliest_ns.map(|ns| ns.saturating_add(metadata.base_ns));
    let epoch = if earliest_ns.is_some_and(is_unix_time) { Epoch::Unix } else { Epoch::Own };
    builder.finish(path, Format::Chrome, epoch)
}

/// Whether an instant can be one of a trace's when counted from 1970: from 2001-09-09, a billion seconds, to 2096.
/// Clocks that count from the start of a machine are decades below.
fn is_unix_time(ns: i64) -> bool {
    (1_000_000_000_000_000_000..4_000_000_000_000_000_000).contains(&ns)
}
