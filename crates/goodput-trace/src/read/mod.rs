//! Files and directories to the traces of all ranks.

mod compression;
mod files;
mod format;
mod ranks;

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::class;
use crate::reading::{FileReading, FileTraces, ReadError};
use crate::repair::repair;
use crate::trace::RankTrace;

/// How a set of traces is read.
#[derive(Default, Clone, Copy)]
pub struct ReadOptions<'a> {
    /// Ranks that the user states for a file; they override what the file says.
    pub stated_ranks: &'a [(PathBuf, u32)],
    /// Called with the bytes of a file as they are read (on disk, before they are inflated), from several threads.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
}

/// The traces of a set of files.
#[derive(Debug)]
pub struct TraceSet {
    /// One trace a rank, by rank. A single trace that does not tell its rank has none.
    pub ranks: Vec<RankTrace>,
    /// What became of the events of each file.
    pub files: Vec<FileReading>,
    /// Files found in a directory that are no traces.
    pub passed_over: Vec<PathBuf>,
}

/// Reads files, and the trace files in directories, on all cores.
///
/// # Errors
/// When a file cannot be read or is no trace, when two traces claim one rank, and when one of several does not tell
/// its rank.
pub fn read_traces(paths: &[PathBuf], options: &ReadOptions<'_>) -> Result<TraceSet, ReadError> {
    let found = files::find(paths)?;
    let read = found
        .par_iter()
        .map(|file| match read_file(&file.path, options) {
            Err(ReadError::Format { .. }) if !file.is_stated => Ok(None),
            result => result.map(Some),
        })
        .collect::<Result<Vec<_>, _>>()?;

    let mut set = TraceSet { ranks: Vec::new(), files: Vec::new(), passed_over: Vec::new() };
    for (file, traces) in found.into_iter().zip(read) {
        match traces {
            Some(traces) => {
                set.ranks.extend(traces.ranks);
                set.files.push(traces.reading);
            }
            None => set.passed_over.push(file.path),
        }
    }
    ranks::settle(&mut set.ranks, options.stated_ranks)?;
    Ok(set)
}

/// Reads the traces of one file, without settling their ranks.
///
/// # Errors
/// When the file cannot be read or is no trace.
pub fn read_file(path: &Path, options: &ReadOptions<'_>) -> Result<FileTraces, ReadError> {
    let io = |source| ReadError::Io { path: path.to_owned(), source };
    let file = Progress { inner: File::open(path).map_err(io)?, report: options.progress };
    let (compression, mut text) = compression::inflated(file).map_err(io)?;

    let mut head = Vec::with_capacity(format::HEAD_BYTES);
    // Damage this early leaves a head that tells no format, or it is met again where the head ends.
    let early = (&mut text).take(format::HEAD_BYTES as u64).read_to_end(&mut head).err();
    let Some(format) = format::detect(&head) else {
        return match early {
            Some(source) => Err(io(source)),
            None => Err(ReadError::Format { path: path.to_owned(), problem: unknown(&head) }),
        };
    };
    let mut whole = Cursor::new(head).chain(Early(early)).chain(text);
    let mut traces = format::read(format, path, compression.is_some(), &mut whole)?;
    for trace in &mut traces.ranks {
        repair(trace, &mut traces.reading);
        class::refine(trace);
    }
    Ok(traces)
}

/// An error that was met while looking ahead.
struct Early(Option<io::Error>);

impl Read for Early {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Whether two paths name one file.
fn same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn unknown(head: &[u8]) -> String {
    let seen = match head {
        [] => "the file is empty".to_owned(),
        _ => format!("begins with \"{}\"", head[..head.len().min(16)].escape_ascii()),
    };
    format!(
        "no trace that goodput knows: {seen}. It reads Kineto and Chrome traces (JSON), SQLite exports of Nsight \
         Systems (nsys export --type sqlite), JSON of rocprofv3 and XSpace protobuf of XLA"
    )
}

/// Tells how far reading has come.
struct Progress<'a, R> {
    inner: R,
    report: Option<&'a (dyn Fn(u64) + Sync)>,
}

impl<R: Read> Read for Progress<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if let Some(report) = self.report {
            report(count as u64);
        }
        Ok(count)
    }
}
