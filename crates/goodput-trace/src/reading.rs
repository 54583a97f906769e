//! What became of the events of a file.

use std::fmt;
use std::io::{self, Read};
use std::path::PathBuf;

use crate::json::Window;

/// What wrote a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// PyTorch's Kineto, or any other Chrome trace.
    Chrome,
    /// An SQLite export of Nsight Systems.
    Nsight,
    /// JSON of rocprofv3.
    Rocprof,
    /// XSpace protobuf of XLA's profiler.
    XPlane,
}

impl Format {
    /// The word used in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::Chrome => "chrome_trace",
            Self::Nsight => "nsight_sqlite",
            Self::Rocprof => "rocprofv3",
            Self::XPlane => "xplane",
        }
    }
}

/// What became of the events of one file: each is used, ignored as of no concern, repaired and used, or refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReading {
    /// The file.
    pub path: PathBuf,
    /// What wrote it.
    pub format: Format,
    /// Bytes of text (inflated), or of the file for a binary format.
    pub bytes: u64,
    /// Events seen.
    pub events: u64,
    /// Events of no concern: flows, names, Python frames, counters.
    pub ignored: u64,
    /// Device events used.
    pub device_events: u64,
    /// Device events that the profiler lost (no stamp and no duration) or that could not be read.
    pub lost_device_events: u64,
    /// Kernels among the device events used, where the reader counts them.
    pub kernels: u64,
    /// Kernels among the device events lost, where the reader counts them.
    pub lost_kernels: u64,
    /// The file ends in the middle.
    pub truncated: bool,
    /// What was repaired or refused, by cause.
    pub findings: Vec<Finding>,
}

/// One cause of repairs or refusals in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What happened.
    pub cause: Cause,
    /// How often.
    pub count: u64,
    /// Nanoseconds taken from durations, when the repair takes any.
    pub removed_ns: i64,
    /// Offset in bytes of the first one in the (inflated) text, or its row for a table.
    pub first_at: u64,
    /// What the first one says, shortened.
    pub example: String,
}

macro_rules! causes {
    ($( $(#[$doc:meta])* $name:ident => $key:literal, $label:literal, $degrades:literal; )+) => {
        /// Why an event was repaired or refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Cause { $( $(#[$doc])* $name, )+ }

        impl Cause {
            /// The word used in JSON.
            pub fn key(self) -> &'static str {
                match self { $( Self::$name => $key, )+ }
            }

            /// The words that a report shows.
            pub fn label(self) -> &'static str {
                match self { $( Self::$name => $label, )+ }
            }

            /// Whether something that the answer needs was lost.
            pub fn degrades(self) -> bool {
                match self { $( Self::$name => $degrades, )+ }
            }
        }
    };
}

causes! {
    /// A figure that is no number (`inf`, `NaN`): taken as missing.
    NotFinite => "not_finite", "figures that are no numbers, taken as missing", false;
    /// A byte that is no UTF-8: replaced.
    InvalidUtf8 => "invalid_utf8", "names with bytes that are no UTF-8, replaced", false;
    /// A raw control byte in a string: kept.
    ControlByte => "control_byte", "names with raw control bytes, kept", false;
    /// An event that is no JSON: skipped.
    BrokenEvent => "broken_event", "events that are no JSON, skipped", true;
    /// Metadata beside the events that cannot be read: left out.
    BrokenMetadata => "broken_metadata", "metadata that cannot be read, left out", true;
    /// An event without a readable start.
    NoStamp => "no_stamp", "events without a readable stamp, skipped", true;
    /// Device work at instant zero without a duration: the profiler lost it.
    LostDeviceEvent => "lost_device_event", "device events lost by the profiler (no stamp, no duration)", true;
    /// An end before the start.
    NegativeDuration => "negative_duration", "events that end before they start, skipped", true;
    /// A duration that runs into the next event of its stream: clipped.
    OverlongDuration => "overlong_duration", "durations that run into the next event of their stream, clipped", true;
    /// Device work of which the name was lost: its time is known, its class is not.
    NoName => "no_name", "device events without a name, taken as computation", true;
    /// No kernel, copy or fill in the whole file.
    NoDeviceWork => "no_device_work", "no device work in the file", false;
    /// An event that never ended (B without E).
    Unfinished => "unfinished", "events without an end, skipped", true;
    /// A compressed file does not fit its own checksum, or is followed by what is not compressed.
    Damaged => "damaged", "compressed file damaged: what was read from it may be wrong", true;
    /// Text after the document, such as a second document: not read.
    TextAfterEnd => "text_after_end", "text after the end of the document, not read", true;
    /// The file ends in the middle.
    Truncated => "truncated", "file cut short: complete events before the cut are used", true;
}

impl FileReading {
    /// Nothing read yet.
    pub fn new(path: impl Into<PathBuf>, format: Format) -> Self {
        Self {
            path: path.into(),
            format,
            bytes: 0,
            events: 0,
            ignored: 0,
            device_events: 0,
            lost_device_events: 0,
            kernels: 0,
            lost_kernels: 0,
            truncated: false,
            findings: Vec::new(),
        }
    }

    /// Counts one repair or refusal.
    pub fn find(&mut self, cause: Cause, at: u64, example: impl FnOnce() -> String) {
        self.find_removed(cause, at, 0, example);
    }

    /// Counts what a JSON file holds beyond its document, up to the end of the stream.
    pub(crate) fn find_after_end<R: Read>(&mut self, window: &mut Window<R>) -> io::Result<()> {
        if let Some(at) = window.finish()? {
            self.find(Cause::TextAfterEnd, at, || "a second document, or what another program wrote".into());
        }
        if let Some(damage) = window.damage.take() {
            self.find(Cause::Damaged, window.offset(), || damage.to_string());
        }
        Ok(())
    }

    /// Counts one repair that takes `removed_ns` from a duration.
    pub fn find_removed(&mut self, cause: Cause, at: u64, removed_ns: i64, example: impl FnOnce() -> String) {
        match self.findings.iter_mut().find(|finding| finding.cause == cause) {
            Some(finding) => {
                finding.count += 1;
                finding.removed_ns = finding.removed_ns.saturating_add(removed_ns);
            }
            None => {
                self.findings.push(Finding { cause, count: 1, removed_ns, first_at: at, example: example() })
            }
        }
    }

    /// The interval of an event that starts and ends at what the file says, or `None` with the reason counted: a stamp
    /// that is missing or beyond any clock, an end before the start, and device work without stamp and duration.
    pub(crate) fn interval(
        &mut self,
        start_ns: Option<i64>,
        end_ns: Option<i64>,
        is_device: bool,
        at: u64,
        example: impl FnOnce() -> String,
    ) -> Option<(i64, i64)> {
        let on_a_clock = |stamp: &i64| stamp.unsigned_abs() <= MAX_STAMP_NS;
        let cause = match (start_ns.filter(on_a_clock), end_ns.filter(on_a_clock)) {
            (Some(0), Some(0)) if is_device => Cause::LostDeviceEvent,
            (Some(start), Some(end)) if end < start => Cause::NegativeDuration,
            (Some(start), Some(end)) => return Some((start, end)),
            _ => Cause::NoStamp,
        };
        self.find(cause, at, example);
        self.lost_device_events += u64::from(is_device);
        None
    }

    /// Whether something that the answer needs was lost.
    pub fn is_degraded(&self) -> bool {
        self.truncated || self.lost_device_events > 0 || self.findings.iter().any(|f| f.cause.degrades())
    }

    /// Share of the device events that were used; `None` without any.
    pub fn device_coverage(&self) -> Option<f64> {
        coverage(self.device_events, self.lost_device_events)
    }

    /// Share of the kernels that were used; `None` without any, and where the reader does not count them.
    pub fn kernel_coverage(&self) -> Option<f64> {
        coverage(self.kernels, self.lost_kernels)
    }
}

fn coverage(used: u64, lost: u64) -> Option<f64> {
    let all = used + lost;
    (all > 0).then(|| used as f64 / all as f64)
}

/// What of a text fits into an example.
pub(crate) fn shortened(text: &str) -> String {
    const CHARACTERS: usize = 80;
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, first at byte {}: {}", self.count, self.cause.label(), self.first_at, self.example)
    }
}

/// Why a file gives no trace at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// No reader knows the format.
    #[error("{path}: {problem}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What was found, what was expected, and what to do.
        problem: String,
    },
    /// Two traces claim the same rank.
    #[error(
        "{first} and {second} both hold the trace of rank {rank}: give one of them, or state the ranks with --rank"
    )]
    SameRank {
        /// The rank.
        rank: u32,
        /// The first file.
        first: PathBuf,
        /// The second file.
        second: PathBuf,
    },
    /// Several traces and one of them does not tell its rank.
    #[error(
        "{path}: nothing tells which rank this is (other traces: {other}): put the rank into its name (rank3.json), or state it with --rank"
    )]
    NoRank {
        /// The file.
        path: PathBuf,
        /// Another file of the set.
        other: PathBuf,
    },
}

/// The farthest stamp from its zero, 73 years either way of 1970 or of a boot, so that sums and differences stay in 64 bits.
const MAX_STAMP_NS: u64 = 1 << 61;

/// What one file holds.
#[derive(Debug)]
pub struct FileTraces {
    /// The ranks, several for formats that write them into one file.
    pub ranks: Vec<crate::trace::RankTrace>,
    /// What became of its events.
    pub reading: FileReading,
}
