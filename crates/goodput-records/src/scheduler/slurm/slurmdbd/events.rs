//! `<cluster>_event_table`: the rows behind `sacctmgr show event`.

use goodput_core::records::{CapacityStep, FleetRecords, NodeInterval, NodeStatus};

use super::Table;
use super::names::Resources;
use crate::scheduler::slurm::node_state::NodeState;
use crate::scheduler::slurm::reading::{Fault, Outcome, Reading, shown, text};
use crate::scheduler::slurm::times::whole_number;
use crate::{ReadError, Treatment};

pub(super) fn read(
    table: Table<'_>,
    resources: &Resources,
    reading: &mut Reading<'_>,
    records: &mut FleetRecords,
) -> Result<(), ReadError> {
    let cluster = table.cluster();
    let column = |name| table.column(name);
    let (start, end, node) = (column("time_start"), column("time_end"), column("node_name"));
    let (nodes, reason, state, tres) =
        (column("cluster_nodes"), column("reason"), column("state"), column("tres"));
    table.rows(reading, |row, reading, line| {
        let start = reading
            .instant(row.get(start), line, "time_start")?
            .ok_or_else(|| Fault::row("time_start", "the start is missing"))?;
        let end = reading.instant(row.get(end), line, "time_end")?;
        if end.is_some_and(|end| end < start) {
            return Err(Fault::row("time_end", "the end is before the start"));
        }
        if !row.get(node).is_empty() {
            let number = row.get(state);
            let state = whole_number(number).and_then(|number| u32::try_from(number).ok());
            let status = state.map(|number| NodeState::from_number(number).status);
            let status = status
                .filter(|&status| status != NodeStatus::Up)
                .ok_or_else(|| Fault::row("state", format!("{} takes no node out of service", shown(number))))?;
            records.node_intervals.push(NodeInterval {
                node: records.symbols.intern(&text(row.get(node))),
                status,
                start,
                end,
                reason: records.symbols.intern(&row.text(reason)),
                source: reading.source(line),
            });
            return Ok(Outcome::Used);
        }
        let Some(devices) = resources.counts(row.get(tres))?.devices else {
            reading.report.find(Treatment::Noted, "no_devices_in_tres", line, "tres", || {
                "the cluster's TRES hold no gres/gpu (AccountingStorageTRES=gres/gpu is not set): its capacity is \
                 unknown"
                    .to_owned()
            });
            return Ok(Outcome::Skipped("cluster rows without devices"));
        };
        let nodes = reading.node_set(row.get(nodes), "cluster_nodes", records)?;
        let cluster = reading.cluster(cluster.as_bytes(), records);
        let source = reading.source(line);
        records.capacity.push(CapacityStep { cluster, start, end, devices, nodes, source });
        Ok(Outcome::Used)
    })
}
