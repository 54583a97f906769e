//! Appends to a job's timeline while the job runs.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use goodput_core::records::{
    Event, EventKind, Phase, RankSample, Step, StepWork, StopCause, Symbols, Timeline,
};
use goodput_core::{Interval, Timestamp};

use super::fields::{CAUSES, Fields, PHASES};
use super::lock::{WriterLock, lock_path};
use super::write::TimelineWriter;

/// Longest first line that is looked at: a header names software and little else.
const HEADER_BYTES: u64 = 1 << 20;

/// Appends lines to the timeline of one job.
///
/// A line is one `write` to a file opened for appending, so that a reader never sees half a line and a crash of the
/// process leaves none. A restarted attempt opens the same file and goes on with it. One process at a time writes a
/// job's timeline: the file `NAME.lock` beside it is locked as long as the recorder lives, and the system frees it
/// when the process ends, however it ends. Nothing is flushed to the disk: after a crash of the machine the last
/// seconds may be missing; [`TimelineRecorder::sync`] flushes.
///
/// ```
/// use goodput_core::records::{EventKind, FileId, StepWork, StopCause, Timeline};
/// use goodput_records::timeline::{TimelineOptions, TimelineRecorder, read_timeline};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.jsonl");
/// let job = Timeline { job: Some("4711".into()), devices: Some(8), ..Timeline::default() };
/// let recorder = TimelineRecorder::open(&path, &job)?;
/// let start = recorder.now();
/// recorder.step(0, start, recorder.now(), 0, StepWork::default())?;
/// recorder.event(EventKind::Stopped { cause: StopCause::Finished }, recorder.now())?;
/// let log = std::fs::File::open(&path)?;
/// let read = read_timeline("run.jsonl", FileId(0), log, &TimelineOptions::default())?;
/// assert_eq!(read[0].1.used, 4); // header, launch, step, stop
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TimelineRecorder {
    path: PathBuf,
    file: Mutex<Out>,
    clock: Clock,
    process: u32,
    _lock: WriterLock,
}

/// The file, and whether its last line may lack its end.
#[derive(Debug)]
struct Out {
    file: File,
    torn: bool,
}

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The system refuses.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Another recorder has the job.
    #[error(
        "{}: another recorder writes this job's timeline ({holder}): let one process of the job record, such as \
         rank 0, and give each job a file of its own",
        path.display()
    )]
    Locked {
        /// The timeline.
        path: PathBuf,
        /// Who holds it, as far as known.
        holder: String,
    },
    /// The file is another job's.
    #[error(
        "{}:1: the timeline is of job {found}, not {wanted}: give each job a file of its own",
        path.display()
    )]
    OtherJob {
        /// The timeline.
        path: PathBuf,
        /// The job of its header.
        found: String,
        /// The job to record.
        wanted: String,
    },
    /// The file is something else.
    #[error("{}:1: the file is no goodput timeline: name a new file", path.display())]
    NotATimeline {
        /// The file.
        path: PathBuf,
    },
    /// Written from a fork.
    #[error(
        "{}: opened in process {opened}, used in process {used}: a recorder does not survive a fork, record in the \
         process that opened it",
        path.display()
    )]
    Forked {
        /// The timeline.
        path: PathBuf,
        /// The process that opened it.
        opened: u32,
        /// The process that uses it.
        used: u32,
    },
    /// A figure that the format cannot hold.
    #[error("{}: {field} {problem}", path.display())]
    Value {
        /// The timeline.
        path: PathBuf,
        /// The field.
        field: &'static str,
        /// What is wrong and what was expected.
        problem: String,
    },
}

impl TimelineRecorder {
    /// The format's words for the phases.
    pub const PHASES: &'static [(&'static str, Phase)] = &PHASES;
    /// The format's words for the causes of a stop.
    pub const CAUSES: &'static [(&'static str, StopCause)] = &CAUSES;

    /// Opens `path` for the job that `header` describes (its steps and events are not looked at) and records the
    /// launch of an attempt. The file may hold earlier attempts of the same job.
    ///
    /// # Errors
    /// [`RecordError`] when the file cannot be written, another recorder has it, or it is another job's.
    pub fn open(path: impl AsRef<Path>, header: &Timeline) -> Result<Self, RecordError> {
        let path = path.as_ref().to_path_buf();
        let io = |source| RecordError::Io { path: path.clone(), source };
        let lock = WriterLock::take(&lock_path(&path))
            .map_err(io)?
            .map_err(|holder| RecordError::Locked { path: path.clone(), holder })?;
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(io)?;
        let is_new = file.metadata().map_err(io)?.len() == 0;
        let torn = !is_new && !is_terminated(&mut file).map_err(io)?;
        if !is_new {
            check_header(&path, &mut file, header.job.as_deref())?;
        }
        let recorder = Self {
            path,
            file: Mutex::new(Out { file, torn }),
            clock: Clock::start(),
            process: std::process::id(),
            _lock: lock,
        };
        let again = Timeline { job: header.job.clone(), commits: header.commits, ..Timeline::default() };
        recorder.write(|writer| writer.header(if is_new { header } else { &again }))?;
        let now = recorder.now();
        recorder.event(EventKind::Launch, now)?;
        if let Some(devices) = header.devices.filter(|_| !is_new) {
            recorder.event(EventKind::Resized { devices }, now)?;
        }
        Ok(recorder)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Now: the system's time when the recorder was opened, and the steady clock since, so that stamps of one attempt
    /// never go back.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Records a step that is over.
    ///
    /// # Errors
    /// [`RecordError`], also for an end before the start or an input wait longer than the step.
    pub fn step(
        &self,
        index: u64,
        start: Timestamp,
        end: Timestamp,
        input_wait_ns: i64,
        work: StepWork,
    ) -> Result<(), RecordError> {
        if end < start {
            return Err(self.value("end", "is before start: expected an end at or after the start"));
        }
        if !(0..=end - start).contains(&input_wait_ns) {
            let problem = format!("is {input_wait_ns} ns: expected 0 up to the step's {} ns", end - start);
            return Err(self.value("input_wait_s", problem));
        }
        let step = Step { index, count: 1, line: 0, start, end: Some(end), input_wait_ns };
        self.write(|writer| writer.step(&step, work))
    }

    /// Records one rank's own duration of a step.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn rank(
        &self,
        step: u64,
        rank: u32,
        host: &str,
        device: Option<u32>,
        duration_ns: i64,
        input_wait_ns: i64,
    ) -> Result<(), RecordError> {
        if duration_ns < 0 || input_wait_ns < 0 {
            return Err(self.value("duration_s", "or input_wait_s is negative: expected 0 or more"));
        }
        let mut symbols = Symbols::new();
        let host = symbols.intern(host);
        let sample = RankSample { step, rank, host, device, duration_ns, input_wait_ns };
        self.write(|writer| writer.rank(&sample, &symbols))
    }

    /// Records the beginning of a phase; [`Self::end_phase`] ends it.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn begin_phase(&self, phase: Phase, name: &str, at: Timestamp) -> Result<(), RecordError> {
        self.write_phase(phase, name, Interval::new(at, at), true)
    }

    /// Records the end of the last open phase of that kind and name.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn end_phase(&self, phase: Phase, name: &str, at: Timestamp) -> Result<(), RecordError> {
        self.write(|writer| writer.phase_end(phase, name, at))
    }

    /// Records a phase that is over.
    ///
    /// # Errors
    /// [`RecordError`], also for an end before the start.
    pub fn phase(
        &self,
        phase: Phase,
        name: &str,
        start: Timestamp,
        end: Timestamp,
    ) -> Result<(), RecordError> {
        if end < start {
            return Err(self.value("end", "is before start: expected an end at or after the start"));
        }
        self.write_phase(phase, name, Interval::new(start, end), false)
    }

    /// Records that logging itself took the time from `start` to `end`.
    ///
    /// # Errors
    /// [`RecordError`], also for an end before the start.
    pub fn logging(&self, start: Timestamp, end: Timestamp) -> Result<(), RecordError> {
        if end < start {
            return Err(self.value("end", "is before start: expected an end at or after the start"));
        }
        let event =
            Event { interval: Interval::new(start, end), open: false, kind: EventKind::LoggingCost, line: 0 };
        self.write(|writer| writer.event(&event, &Symbols::new()))
    }

    /// Records an event that is an instant: anything but a phase.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn event(&self, kind: EventKind, at: Timestamp) -> Result<(), RecordError> {
        let event = Event { interval: Interval::new(at, at), open: false, kind, line: 0 };
        self.write(|writer| writer.event(&event, &Symbols::new()))
    }

    /// Records the end of execution.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn stop(&self, cause: StopCause, at: Timestamp) -> Result<(), RecordError> {
        self.event(EventKind::Stopped { cause }, at)
    }

    /// Waits until the disk (or the file server) has every line.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn sync(&self) -> Result<(), RecordError> {
        let out = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        out.file.sync_data().map_err(|source| RecordError::Io { path: self.path.clone(), source })
    }

    fn write_phase(
        &self,
        phase: Phase,
        name: &str,
        interval: Interval,
        open: bool,
    ) -> Result<(), RecordError> {
        let mut symbols = Symbols::new();
        let name = symbols.intern(name);
        let event = Event { interval, open, kind: EventKind::Phase { phase, name }, line: 0 };
        self.write(|writer| writer.event(&event, &symbols))
    }

    /// Appends what `line` writes with one system call.
    fn write(
        &self,
        line: impl FnOnce(&mut TimelineWriter<Vec<u8>>) -> io::Result<()>,
    ) -> Result<(), RecordError> {
        let used = std::process::id();
        if used != self.process {
            return Err(RecordError::Forked { path: self.path.clone(), opened: self.process, used });
        }
        let mut writer = TimelineWriter::new(Vec::with_capacity(256));
        let mut out = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let io = |source| RecordError::Io { path: self.path.clone(), source };
        line(&mut writer).map_err(io)?;
        let mut text = writer.into_inner();
        if out.torn {
            // The torn line stays, to be counted by the reader; this one begins a new line.
            text.insert(0, b'\n');
        }
        let written = loop {
            match out.file.write(&text) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other.map_err(io)?,
            }
        };
        out.torn = written < text.len();
        if out.torn {
            let source =
                io::Error::new(io::ErrorKind::StorageFull, "the line was cut off: is the disk full?");
            return Err(io(source));
        }
        Ok(())
    }

    fn value(&self, field: &'static str, problem: impl Into<String>) -> RecordError {
        RecordError::Value { path: self.path.clone(), field, problem: problem.into() }
    }
}

/// The system's time at one instant, and the steady clock since.
#[derive(Debug)]
struct Clock {
    wall_ns: i64,
    steady: Instant,
}

impl Clock {
    fn start() -> Self {
        let steady = Instant::now();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { wall_ns: i64::try_from(wall.as_nanos()).unwrap_or(i64::MAX), steady }
    }

    fn now(&self) -> Timestamp {
        let since = i64::try_from(self.steady.elapsed().as_nanos()).unwrap_or(i64::MAX);
        Timestamp::from_nanos(self.wall_ns.saturating_add(since))
    }
}

fn is_terminated(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

fn check_header(path: &Path, file: &mut File, job: Option<&str>) -> Result<(), RecordError> {
    let mut first = Vec::new();
    file.seek(SeekFrom::Start(0))
        .and_then(|_| BufReader::new(file.take(HEADER_BYTES)).read_until(b'\n', &mut first))
        .map_err(|source| RecordError::Io { path: path.to_path_buf(), source })?;
    let not_one = || RecordError::NotATimeline { path: path.to_path_buf() };
    let text = str::from_utf8(&first).map_err(|_| not_one())?;
    let fields = Fields::parse(text).ok().filter(Fields::is_header).ok_or_else(not_one)?;
    let found = fields.text("job", fields.job).map_err(|_| not_one())?;
    if found.as_deref() == job {
        return Ok(());
    }
    let named = |job: Option<&str>| job.map_or_else(|| "(not stated)".to_owned(), |job| format!("{job:?}"));
    Err(RecordError::OtherJob {
        path: path.to_path_buf(),
        found: named(found.as_deref()),
        wanted: named(job),
    })
}
