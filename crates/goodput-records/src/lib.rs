//! Readers of what others wrote: scheduler records and job logs, as the record types of
//! [`goodput_core::records`], and runs of experiment trackers, with a [`ReadReport`] that accounts for every row.

pub mod experiment;
pub mod scheduler;
pub mod serving;
pub mod table;
pub mod throughput;
pub mod timeline;

mod decimal;
mod error;
mod gzip;
mod lines;
mod read_report;

pub use error::ReadError;
pub use read_report::{FileReport, Finding, ReadReport, Treatment};
