//! What was found, written for other programs.

mod annotated;
mod parquet;
mod table;

pub use self::annotated::write as write_annotated;
pub use self::parquet::{write_intervals, write_kernels};
