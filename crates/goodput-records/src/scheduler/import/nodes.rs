//! A list of nodes.

use goodput_core::records::{FleetRecords, Node};
use rustc_hash::FxHashSet;

use super::Reading;
use super::map::NodeColumns;
use crate::{FileReport, ReadError, Treatment};

impl NodeColumns {
    /// Every column that the map names.
    pub(super) fn names(&self) -> Vec<&str> {
        let optional = [&self.device_type, &self.partitions, &self.block];
        [self.node.as_str(), &self.devices]
            .into_iter()
            .chain(optional.into_iter().filter_map(Option::as_deref))
            .collect()
    }
}

pub(super) fn read(
    reading: Reading<'_>,
    columns: &NodeColumns,
    records: &mut FleetRecords,
) -> Result<FileReport, ReadError> {
    let (node, devices) = (reading.column(&columns.node), reading.column(&columns.devices));
    let device_type = reading.optional(&columns.device_type);
    let partitions = reading.optional(&columns.partitions);
    let block = reading.optional(&columns.block);
    let per_device = records.device_unit.per_device();
    let mut known: FxHashSet<_> = records.nodes.iter().map(|node| node.name).collect();
    reading.rows(|reading, row, line| {
        let name = reading
            .cell(row, Some(node))
            .ok_or_else(|| reading.refusal(node, "the name is missing".to_owned()))?;
        let count = u32::try_from(reading.count(row, devices)?)
            .map_err(|_| reading.refusal(devices, "more devices than a node has".to_owned()))?;
        let symbols = &mut records.symbols;
        let name = symbols.intern(name);
        if !known.insert(name) {
            reading.report.find(Treatment::Noted, "node_listed_twice", line, &columns.node, || {
                "the node is listed again: its first row counts".to_owned()
            });
            return Ok(());
        }
        let partitions = reading.cell(row, partitions).unwrap_or_default();
        records.nodes.push(Node {
            name,
            devices: count.saturating_mul(per_device),
            device_type: symbols.intern(reading.cell(row, device_type).unwrap_or_default()),
            partitions: partitions
                .split(',')
                .map(str::trim)
                .filter(|p| !p.is_empty())
                .map(|p| symbols.intern(p))
                .collect(),
            block: symbols.intern(reading.cell(row, block).unwrap_or_default()),
        });
        Ok(())
    })
}
