//! What the devices did: kernels, copies, fills, and graph replays whose kernels are hidden.

use goodput_core::records::Symbol;
use rusqlite::Result;

use super::Export;
use super::tables::Cells;
use crate::class::Class;
use crate::reading::Cause;
use crate::trace::{DeviceWork, WorkKind};

/// Columns that all tables of device work have, in this order before their own.
const COMMON: [&str; 6] = ["start", "end", "deviceId", "streamId", "correlationId", "globalPid"];

/// `CUPTI_ACTIVITY_KIND_KERNEL`.
pub(super) fn kernels(export: &mut Export<'_>) -> Result<()> {
    let columns = ["demangledName", "shortName", "mangledName"];
    device_rows(export, "CUPTI_ACTIVITY_KIND_KERNEL", &columns, WorkKind::Kernel)
}

/// `CUPTI_ACTIVITY_KIND_MEMCPY`.
pub(super) fn copies(export: &mut Export<'_>) -> Result<()> {
    device_rows(export, "CUPTI_ACTIVITY_KIND_MEMCPY", &["copyKind", "bytes"], WorkKind::Copy)
}

/// `CUPTI_ACTIVITY_KIND_MEMSET`.
pub(super) fn fills(export: &mut Export<'_>) -> Result<()> {
    device_rows(export, "CUPTI_ACTIVITY_KIND_MEMSET", &["memKind", "bytes"], WorkKind::Fill)
}

/// `CUPTI_ACTIVITY_KIND_GRAPH_TRACE`: one row a replay, written in the mode that hides the kernels inside. A graph whose
/// kernels are there is counted by them.
pub(super) fn graphs(export: &mut Export<'_>) -> Result<()> {
    device_rows(export, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", &["graphId"], WorkKind::Graph)
}

fn device_rows(export: &mut Export<'_>, table: &str, own: &[&str], kind: WorkKind) -> Result<()> {
    let columns = [&COMMON[..], own].concat();
    let tables = export.tables;
    tables.rows(table, &columns, |number, row| {
        export.reading.events += 1;
        let Some((start_ns, end_ns)) = export.interval((row.integer(0), row.integer(1)), true, table, number)
        else {
            return;
        };
        let Export { processes, strings, reading, .. } = &mut *export;
        let process = processes.of_device_row(row.integer(5));
        // 0 is no correlation.
        let correlation = row.unsigned(4).filter(|&id| id != 0);
        if kind == WorkKind::Graph && correlation.is_some_and(|id| process.launched.contains(&id)) {
            reading.ignored += 1;
            return;
        }
        let (name, class) = match kind {
            WorkKind::Kernel => {
                let id = (6..=8).find_map(|column| row.integer(column));
                match id.and_then(|id| Some((id, strings.get(&id)?))) {
                    Some((id, text)) => process.kernel(id, text),
                    None => {
                        reading.find(Cause::NoName, number, || format!("{table} row {number}"));
                        (Symbol::EMPTY, Class::Other)
                    }
                }
            }
            WorkKind::Copy => (process.builder.intern(copy_name(row.integer(6))), Class::Memory),
            WorkKind::Fill => (process.builder.intern("Memset"), Class::Memory),
            WorkKind::Graph => (process.builder.intern(&graph_name(&row)), Class::Other),
        };
        let stream = process.stream(row.integer(2).unwrap_or(0), row.integer(3).unwrap_or(0));
        process.launched.extend(correlation);
        let work = DeviceWork {
            start_ns,
            end_ns,
            name,
            stream,
            correlation: correlation.unwrap_or(0),
            launch: None,
            operator: None,
            collective: None,
            bytes: if matches!(kind, WorkKind::Copy | WorkKind::Fill) { row.unsigned(7) } else { None },
            kind,
            class,
        };
        process.builder.work(work, correlation, None);
        reading.device_events += 1;
    })
}

/// `ENUM_CUDA_MEMCPY_OPER`, in the words that Kineto uses.
fn copy_name(kind: Option<i64>) -> &'static str {
    match kind {
        Some(1) => "Memcpy HtoD",
        Some(2) => "Memcpy DtoH",
        Some(3) => "Memcpy HtoA",
        Some(4) => "Memcpy AtoH",
        Some(5) => "Memcpy AtoA",
        Some(6) => "Memcpy AtoD",
        Some(7) => "Memcpy DtoA",
        Some(8) => "Memcpy DtoD",
        Some(9) => "Memcpy HtoH",
        Some(10) => "Memcpy PtoP",
        Some(11) => "Memcpy HtoD (unified memory)",
        Some(12) => "Memcpy DtoH (unified memory)",
        Some(13) => "Memcpy DtoD (unified memory)",
        _ => "Memcpy",
    }
}

fn graph_name(row: &Cells<'_>) -> String {
    match row.integer(6) {
        Some(id) => format!("CUDA graph {id}"),
        None => "CUDA graph".into(),
    }
}
