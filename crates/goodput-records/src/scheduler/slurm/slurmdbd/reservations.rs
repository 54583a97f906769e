//! `<cluster>_resv_table`: the only record of a reservation's nodes after it has ended.

use goodput_core::records::FleetRecords;

use super::Table;
use super::names::Names;
use crate::ReadError;
use crate::scheduler::slurm::reading::{Fault, Reading};
use crate::scheduler::slurm::reservations::Fields;
use crate::scheduler::slurm::times::whole_number;

/// `RESERVE_FLAG_MAINT` of `slurm.h`.
const FLAG_MAINTENANCE: u64 = 1;

pub(super) fn read(
    table: Table<'_>,
    names: &mut Names,
    reading: &mut Reading<'_>,
    records: &mut FleetRecords,
) -> Result<(), ReadError> {
    let column = |name| table.column(name);
    let (id, name, flags) = (column("id_resv"), column("resv_name"), column("flags"));
    let (start, end, nodes) = (column("time_start"), column("time_end"), column("nodelist"));
    table.rows(reading, |row, reading, line| {
        let maintenance = match row.get(flags) {
            b"" => None,
            number => {
                let flags = whole_number(number).ok_or_else(|| Fault::row("flags", "no numeric flags"))?;
                Some(flags & FLAG_MAINTENANCE != 0)
            }
        };
        if let Some(id) = whole_number(row.get(id)) {
            names.reservations.insert(id, row.text(name));
        }
        let fields = Fields {
            name: row.get(name),
            start: row.get(start),
            end: row.get(end),
            nodes: nodes.map(|_| row.get(nodes)),
            maintenance,
        };
        fields.take(line, reading, records)
    })
}
