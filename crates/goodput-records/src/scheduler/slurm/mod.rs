//! Slurm: the job table (`sacct`), and the notations that every Slurm tool shares.

use jiff::tz::TimeZone;

pub mod node_list;
pub mod sacct;
pub mod state;
pub mod times;
pub mod tres;

/// What the user says about Slurm's files because the files themselves do not.
#[derive(Debug, Clone, Default)]
pub struct SlurmOptions {
    /// The zone of times without an offset; without it such times are refused.
    pub time_zone: Option<TimeZone>,
    /// Column names of a job table without a header, as given to `sacct --format`.
    pub columns: Option<Vec<String>>,
    /// The delimiter of a text table; found from its header when not given.
    pub delimiter: Option<String>,
    /// The cluster of records that name none.
    pub cluster: Option<String>,
}
