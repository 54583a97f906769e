//! The job table: `sacct` as text or JSON, plain or compressed with gzip.
//!
//! **Text** of any column order and delimiter (`|`, the unit separator, tab, `|#`, …), with a header
//! or with names given by the user, with `-X` or with steps (which are counted and left out), with a
//! delimiter at the end of each row or without. Required columns: `JobIDRaw` (or `JobID`), `State`,
//! `Submit`, `Start`, `End`, `AllocTRES` (an old site: `AllocGRES` or `ReqGRES`). Also read:
//! `JobName`, `User`, `Account`, `Cluster`, `Partition`, `QOS`, `Reservation`, `Eligible`, `Elapsed`,
//! `ElapsedRaw`, `Suspended`, `Timelimit`, `TimelimitRaw`, `NNodes`, `ReqTRES`, `NodeList`, `Reason`.
//!
//! **JSON** of every data parser from Slurm 22.05 on, one job at a time.
//!
//! Repaired and counted: free text that holds the delimiter or line breaks (the row is put right by
//! the columns of known shape), bytes that are no UTF-8, an end that follows from start and elapsed.
//! Refused and counted, with the line: rows that read in no way or in several, values that are no
//! instant, count or node list. Refused as a file: tables for the eye, times without their date,
//! local times without a zone, files that hold only steps.

use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;
use goodput_core::records::{FileId, FleetRecords};

use super::SlurmOptions;
use crate::{FileReport, ReadError};

mod align;
mod columns;
mod delimiters;
mod header;
mod job;
mod json;
mod json_array;
mod lines;
mod text;

/// The export that holds everything the accounting can use.
pub const EXPORT_COMMAND: &str = "SLURM_TIME_FORMAT=%s sacct -a -X -D -S <from> -E <to> --parsable2 \
     --delimiter=$'\\x1f' --noconvert --format=JobIDRaw,JobID,User,Account,Partition,QOS,Reservation,State,ExitCode,\
     Submit,Eligible,Start,End,Suspended,ElapsedRaw,Timelimit,NNodes,ReqTRES,AllocTRES,NodeList,Flags,Reason,JobName";

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads one job table into `into`, and tells what became of its rows.
///
/// ```
/// use goodput_core::records::{FileId, FleetRecords};
/// use goodput_records::scheduler::slurm::{SlurmOptions, sacct::read_sacct};
///
/// let table = "JobIDRaw|State|Submit|Start|End|AllocTRES\n\
///              7|COMPLETED|1795973123|1795973124|1795973159|cpu=4,gres/gpu=8,node=1\n\
///              7.batch|COMPLETED|1795973124|1795973124|1795973159|cpu=4,gres/gpu=8,node=1\n";
/// let mut records = FleetRecords::new();
/// let report = read_sacct("jobs.txt", FileId(0), table.as_bytes(), &SlurmOptions::default(), &mut records)?;
/// assert_eq!((report.used, report.skipped["step"]), (1, 1));
/// assert_eq!(records.attempts[0].devices, 8);
/// # Ok::<(), goodput_records::ReadError>(())
/// ```
///
/// # Errors
/// [`ReadError`] when the file cannot be read, is no job table, lacks a required column, or has rows
/// of which none can be used. Then `into` has no attempt of this file.
pub fn read_sacct(
    path: &str,
    file: FileId,
    mut input: impl Read,
    options: &SlurmOptions,
    into: &mut FleetRecords,
) -> Result<FileReport, ReadError> {
    let before = (into.attempts.len(), into.written_at);
    let head = read_head(&mut input).map_err(|error| io_error(path, error))?;
    let is_gzip = head.starts_with(&GZIP);
    let input = io::Cursor::new(head).chain(input);
    let result = if is_gzip {
        read_plain(path, file, MultiGzDecoder::new(BufReader::new(input)), options, into)
    } else {
        read_plain(path, file, input, options, into)
    };
    if result.is_err() {
        into.attempts.truncate(before.0);
        into.written_at = before.1;
    }
    result
}

/// Text or JSON, by the first byte: neither a flag nor a name tells what Slurm really wrote.
fn read_plain(
    path: &str,
    file: FileId,
    mut input: impl Read,
    options: &SlurmOptions,
    into: &mut FleetRecords,
) -> Result<FileReport, ReadError> {
    let head = read_head(&mut input).map_err(|error| io_error(path, error))?;
    let is_json = head.trim_ascii_start().starts_with(b"{");
    let is_other = head.starts_with(b"\xff\xfe") || head.contains(&0);
    let input = io::Cursor::new(head).chain(input);
    if is_other {
        return Err(ReadError::Format {
            path: path.to_owned(),
            line: 0,
            field: String::new(),
            message: "the file is binary, in UTF-16, or compressed in a way that is not read".to_owned(),
            remedy: "save it as UTF-8 text or JSON, plain or compressed with gzip".to_owned(),
        });
    }
    if is_json {
        json::read(path, file, input, options, into)
    } else {
        text::read(path, file, input, options, into)
    }
}

/// The first bytes, enough to tell what the file is.
fn read_head(input: &mut impl Read) -> io::Result<Vec<u8>> {
    const HEAD_BYTES: u64 = 64;
    let mut head = Vec::new();
    input.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

fn io_error(path: &str, source: io::Error) -> ReadError {
    ReadError::Io { path: path.to_owned(), source }
}
