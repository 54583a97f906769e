//! JSON of rocprofv3 (`rocprofv3 --output-format json`), one trace a process.
//!
//! Everything is in one document of many lists, in any order: rows are kept as figures and named at the end. Stamps are
//! nanoseconds of the machine's clock.

mod process;
mod row;

use std::io::{self, Read};
use std::path::Path;

use crate::json::Walker;
use crate::reading::{Cause, FileReading, FileTraces, Format, ReadError};
use process::{Buffer, Process};
use row::{Agent, KernelSymbol, KindNames, Marker, Metadata, Row};

/// Reads the traces of one file from its inflated text.
///
/// # Errors
/// When the system cannot read, or when the text is not of rocprofv3. A file without dispatches gives a trace without
/// device work, and the reading says so.
pub fn read(input: &mut dyn Read, path: &Path) -> Result<FileTraces, ReadError> {
    let mut document = Document {
        walker: Walker::new(input),
        reading: FileReading::new(path, Format::Rocprof),
        processes: Vec::new(),
        is_known: false,
    };
    let io = |source| ReadError::Io { path: path.to_owned(), source };
    document.read().map_err(io)?;
    let Document { mut walker, mut reading, processes, is_known } = document;
    if !is_known {
        let problem = "JSON, but not of rocprofv3: there is no \"rocprofiler-sdk-tool\" at the top".into();
        return Err(ReadError::Format { path: path.to_owned(), problem });
    }
    reading.bytes = walker.offset();
    for damage in walker.damages {
        reading.truncated |= damage.is_cut;
        let cause = if damage.is_cut { Cause::Truncated } else { Cause::BrokenEvent };
        reading.find(cause, damage.at, || damage.text);
    }
    if !reading.truncated {
        reading.find_after_end(&mut walker.window).map_err(io)?;
    }
    let ranks = process::finish(processes, path, &mut reading);
    Ok(FileTraces { ranks, reading })
}

struct Document<'a> {
    walker: Walker<'a>,
    reading: FileReading,
    processes: Vec<Process>,
    /// The key by which rocprofv3 is known was there.
    is_known: bool,
}

impl Document<'_> {
    fn read(&mut self) -> io::Result<()> {
        if !self.walker.opens(b'{')? {
            return Ok(());
        }
        while let Some(key) = self.walker.key()? {
            if key != b"rocprofiler-sdk-tool" {
                self.walker.skip()?;
                continue;
            }
            self.is_known = true;
            // A list of processes; some versions write the one process without the list.
            if self.walker.opens(b'[')? {
                while self.walker.opens(b'{')? {
                    self.process()?;
                    self.walker.opens(b',')?;
                }
                self.walker.opens(b']')?;
            } else if self.walker.opens(b'{')? {
                self.process()?;
            } else {
                self.walker.skip()?;
            }
        }
        Ok(())
    }

    fn process(&mut self) -> io::Result<()> {
        let mut process = Process::default();
        let walker = &mut self.walker;
        while let Some(key) = walker.key()? {
            match key.as_slice() {
                b"metadata" => process.metadata = walker.value(Metadata::scan)?.unwrap_or_default(),
                b"agents" => walker.items(Agent::scan, |agent, _| process.agents.push(agent))?,
                b"kernel_symbols" => {
                    walker.items(KernelSymbol::scan, |symbol, _| process.add_symbol(symbol))?
                }
                b"strings" => strings(walker, &mut process)?,
                b"buffer_records" => buffers(walker, &mut process, &mut self.reading)?,
                _ => walker.skip()?,
            }
        }
        self.processes.push(process);
        Ok(())
    }
}

fn strings(walker: &mut Walker<'_>, process: &mut Process) -> io::Result<()> {
    if !walker.opens(b'{')? {
        return walker.skip();
    }
    while let Some(key) = walker.key()? {
        match key.as_slice() {
            b"buffer_records" => walker.items(KindNames::scan, |names, _| process.kinds.push(names))?,
            b"marker_api" => walker.items(Marker::scan, |marker, _| process.add_marker(marker))?,
            _ => walker.skip()?,
        }
    }
    Ok(())
}

fn buffers(walker: &mut Walker<'_>, process: &mut Process, reading: &mut FileReading) -> io::Result<()> {
    if !walker.opens(b'{')? {
        return walker.skip();
    }
    while let Some(key) = walker.key()? {
        match Buffer::of(&key) {
            Some(buffer) => walker.items(Row::scan, |row, at| process.add_row(buffer, &row, at, reading))?,
            None => walker.skip()?,
        }
    }
    Ok(())
}
