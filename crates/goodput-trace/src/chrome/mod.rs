//! Chrome traces, PyTorch's Kineto first among them.
//!
//! A file is read in blocks, event by event; memory is bounded by what the trace keeps. Metadata (the rank, the base
//! time) may come after the events, so that stamps are completed at the end. What is no JSON is skipped up to the next
//! event, what was cut is used up to the cut, and both are counted with their place.

mod args;
mod collective;
mod document;
mod event;
mod file;
mod foreign;
mod jax;
mod metadata;
mod names;
mod open;
mod rows;

use std::io::Read;
use std::path::Path;

use crate::reading::{FileTraces, ReadError};

/// Reads the traces of one file from its inflated text.
///
/// # Errors
/// When the text cannot be read, and when it is JSON but holds no events.
pub fn read(input: &mut dyn Read, path: &Path) -> Result<FileTraces, ReadError> {
    document::read(input, path)
}
