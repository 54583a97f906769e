//! Slurm: the job table (`sacct`), events, reservations, nodes, snapshots, the database's own tables,
//! and the notations that they share.

use jiff::tz::TimeZone;

pub mod events;
pub mod node_list;
pub mod node_state;
pub mod nodes;
pub mod reservations;
pub mod sacct;
pub mod slurmdbd;
pub mod snapshots;
pub mod state;
pub mod times;
pub mod tres;

mod keyed;
mod kind;
mod listing;
mod nodes_json;
mod reading;

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
