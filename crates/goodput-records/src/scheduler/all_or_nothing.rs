//! A file that fails halfway leaves no records behind.

use goodput_core::records::FleetRecords;

use crate::ReadError;

/// Runs a reader; on an error every record that it has added is taken back. Nodes that were listed
/// before may keep partitions and device types that the file added to them.
pub(crate) fn all_or_nothing<T>(
    records: &mut FleetRecords,
    read: impl FnOnce(&mut FleetRecords) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let attempts = records.attempts.len();
    let nodes = records.nodes.len();
    let capacity = records.capacity.len();
    let node_intervals = records.node_intervals.len();
    let reservations = records.reservations.len();
    let node_samples = records.node_samples.len();
    let queue_samples = records.queue_samples.len();
    let pool_samples = records.pool_samples.len();
    read(records).inspect_err(|_| {
        records.attempts.truncate(attempts);
        records.nodes.truncate(nodes);
        records.capacity.truncate(capacity);
        records.node_intervals.truncate(node_intervals);
        records.reservations.truncate(reservations);
        records.node_samples.truncate(node_samples);
        records.queue_samples.truncate(queue_samples);
        records.pool_samples.truncate(pool_samples);
    })
}
