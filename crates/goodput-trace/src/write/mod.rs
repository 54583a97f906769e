//! What was found, written for other programs.

mod parquet;
mod table;

pub use self::parquet::{write_intervals, write_kernels};
