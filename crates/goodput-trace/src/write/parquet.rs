//! Kernels and charged intervals of all ranks as Parquet tables: nanoseconds are `INT64`, names are plain strings.

use std::io::{self, Write};

use goodput_core::records::Symbol;
use parquet::data_type::ByteArray;

use super::table::{Cell, Table, Type};
use crate::analysis::Analysis;
use crate::partition::Charge;
use crate::trace::{RankTrace, WorkKind};

/// Columns of the table of device work.
const KERNELS: [(&str, Type); 17] = [
    ("rank", Type::Integer),
    ("part", Type::Text),
    ("device", Type::Integer),
    ("stream", Type::Integer),
    ("start_ns", Type::Integer),
    ("duration_ns", Type::Integer),
    ("name", Type::Text),
    ("kind", Type::Text),
    ("class", Type::Text),
    ("bytes", Type::Integer),
    ("launch_start_ns", Type::Integer),
    ("launch", Type::Text),
    ("operator", Type::Text),
    ("collective", Type::Text),
    ("group", Type::Text),
    ("sequence", Type::Integer),
    ("correlation", Type::Integer),
];

/// Columns of the table of intervals.
const INTERVALS: [(&str, Type); 9] = [
    ("rank", Type::Integer),
    ("part", Type::Text),
    ("step_index", Type::Integer),
    ("step", Type::Integer),
    ("start_ns", Type::Integer),
    ("duration_ns", Type::Integer),
    ("charge", Type::Text),
    ("collective", Type::Text),
    ("name", Type::Text),
];

/// Writes a row for each kernel, copy and fill of every rank.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_kernels(analysis: &Analysis, out: impl Write + Send) -> io::Result<()> {
    let mut table = Table::new(out, &KERNELS)?;
    for rank in &analysis.ranks {
        let trace = &rank.trace;
        let mut texts = Texts::of(trace);
        let (rank, part) = identity(trace);
        for work in &trace.work {
            let stream = trace.streams.get(work.stream as usize);
            let launch = trace.launch_of(work);
            let is_communication = work.class == crate::class::Class::Communication;
            let kind = is_communication.then(|| trace.collective_kind(work).key());
            let collective = trace.collective_of(work);
            table.push([
                Cell::Integer(rank),
                Cell::Text(part.clone()),
                Cell::Integer(stream.map(|stream| stream.device)),
                Cell::Integer(stream.map(|stream| stream.id)),
                Cell::Integer(Some(work.start_ns)),
                Cell::Integer(Some(work.duration_ns())),
                texts.cell(Some(work.name)),
                Cell::Text(Some(ByteArray::from(word(work.kind)))),
                Cell::Text(Some(ByteArray::from(work.class.key()))),
                Cell::Integer(work.bytes.and_then(|bytes| bytes.try_into().ok())),
                Cell::Integer(launch.map(|launch| launch.start_ns)),
                texts.cell(launch.map(|launch| launch.name)),
                texts.cell(trace.operator_of(work).map(|operator| operator.name)),
                Cell::Text(kind.map(ByteArray::from)),
                texts.cell(collective.and_then(|args| args.group)),
                Cell::Integer(collective.and_then(|args| args.sequence?.try_into().ok())),
                Cell::Integer(work.correlation.try_into().ok()),
            ])?;
        }
    }
    table.close()
}

/// Writes what each part of each step's device window is charged to, in order and without a hole. `name` is the device work
/// that is charged, or that the idle device waits for.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_intervals(analysis: &Analysis, out: impl Write + Send) -> io::Result<()> {
    let mut table = Table::new(out, &INTERVALS)?;
    for rank in &analysis.ranks {
        let trace = &rank.trace;
        let mut texts = Texts::of(trace);
        let (number, part) = identity(trace);
        for (index, (step, windows)) in (0..).zip(rank.steps.steps.iter().zip(&rank.windows)) {
            for slice in windows.device.iter().flat_map(|partition| &partition.slices) {
                let work = slice.work.and_then(|work| trace.work.get(work as usize));
                let collective = match slice.charge {
                    Charge::Transfer(kind) | Charge::CommunicationNotSplit(kind) => Some(kind.key()),
                    _ => None,
                };
                table.push([
                    Cell::Integer(number),
                    Cell::Text(part.clone()),
                    Cell::Integer(Some(index)),
                    Cell::Integer(step.number),
                    Cell::Integer(Some(slice.start_ns)),
                    Cell::Integer(Some(slice.end_ns - slice.start_ns)),
                    Cell::Text(Some(ByteArray::from(slice.charge.key()))),
                    Cell::Text(collective.map(ByteArray::from)),
                    texts.cell(work.map(|work| work.name)),
                ])?;
            }
        }
    }
    table.close()
}

fn identity(trace: &RankTrace) -> (Option<i64>, Option<ByteArray>) {
    (trace.identity.rank.map(i64::from), trace.identity.part.as_deref().map(ByteArray::from))
}

fn word(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::Kernel => "kernel",
        WorkKind::Copy => "copy",
        WorkKind::Fill => "fill",
        WorkKind::Graph => "graph",
    }
}

/// The strings of a trace, each made once.
struct Texts<'a> {
    trace: &'a RankTrace,
    made: Vec<Option<ByteArray>>,
}

impl<'a> Texts<'a> {
    fn of(trace: &'a RankTrace) -> Self {
        Self { trace, made: Vec::new() }
    }

    fn cell(&mut self, symbol: Option<Symbol>) -> Cell {
        Cell::Text(symbol.map(|symbol| {
            let index = symbol.index();
            if self.made.len() <= index {
                self.made.resize(index + 1, None);
            }
            self.made[index].get_or_insert_with(|| ByteArray::from(self.trace.name(symbol))).clone()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{AnalysisOptions, analyse};
    use crate::chrome;
    use goodput_model::device::Catalogue;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Row, RowAccessor};

    const TRACE: &str = r#"{"distributedInfo": {"rank": 3}, "traceEvents": [
        {"ph":"X","cat":"user_annotation","name":"ProfilerStep#7","pid":1,"tid":1,"ts":0,"dur":100},
        {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":5,"dur":2,"args":{"correlation":1}},
        {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":30,"dur":2,"args":{"correlation":2}},
        {"ph":"X","cat":"kernel","name":"sgemm","pid":0,"tid":7,"ts":10,"dur":10,"args":{"device":0,"stream":7,"correlation":1}},
        {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum","pid":0,"tid":9,"ts":40,"dur":20,
            "args":{"device":0,"stream":9,"correlation":2}},
        {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":70,"dur":5,"args":{"device":0,"stream":7,"bytes":64}}]}"#;

    fn analysis() -> Analysis {
        let file = chrome::read(&mut TRACE.as_bytes(), "t.json".as_ref()).unwrap();
        analyse(file.ranks, AnalysisOptions::new(Catalogue::built_in()))
    }

    fn rows(table: Vec<u8>) -> Vec<Row> {
        let reader = SerializedFileReader::new(bytes::Bytes::from(table)).unwrap();
        reader.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect()
    }

    #[test]
    fn kernels_come_back_as_they_are() {
        let mut out = Vec::new();
        write_kernels(&analysis(), &mut out).unwrap();
        let rows = rows(out);
        let column = |name: &str| KERNELS.iter().position(|(known, _)| *known == name).unwrap();
        let text = |row: &Row, name| row.get_string(column(name)).cloned().ok();
        let number = |row: &Row, name| row.get_long(column(name)).ok();
        let names: Vec<_> = rows.iter().filter_map(|row| text(row, "name")).collect();
        assert_eq!(names, ["sgemm", "ncclDevKernel_AllReduce_Sum", "Memcpy HtoD"]);
        let kinds: Vec<_> = rows.iter().filter_map(|row| text(row, "kind")).collect();
        assert_eq!(kinds, ["kernel", "kernel", "copy"]);
        assert_eq!(number(&rows[0], "rank"), Some(3));
        assert_eq!(
            (number(&rows[0], "start_ns"), number(&rows[0], "duration_ns")),
            (Some(10_000), Some(10_000))
        );
        assert_eq!(
            [number(&rows[0], "launch_start_ns"), number(&rows[2], "launch_start_ns")],
            [Some(5_000), None]
        );
        assert_eq!(
            [text(&rows[0], "collective"), text(&rows[1], "collective")],
            [None, Some("all_reduce".into())]
        );
        assert_eq!(number(&rows[2], "bytes"), Some(64));
    }

    #[test]
    fn intervals_cover_each_step() {
        let analysis = analysis();
        let mut out = Vec::new();
        write_intervals(&analysis, &mut out).unwrap();
        let rows = rows(out);
        let window = analysis.ranks[0].windows[0].device.as_ref().unwrap().window;
        let mut at = window.0;
        for row in &rows {
            assert_eq!((row.get_long(3).unwrap(), row.get_long(4).unwrap()), (7, at));
            at += row.get_long(5).unwrap();
        }
        assert_eq!(at, window.1);
        let charges: Vec<_> = rows.iter().map(|row| row.get_string(6).unwrap().as_str()).collect();
        assert!(charges.contains(&"communication_not_split"), "{charges:?}");
    }

    #[test]
    fn a_table_of_many_rows_has_several_groups() {
        let mut out = Vec::new();
        let mut table = Table::new(&mut out, &[("n", Type::Integer)]).unwrap();
        for number in 0..300_000 {
            table.push([Cell::Integer((number % 3 > 0).then_some(number))]).unwrap();
        }
        table.close().unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(out)).unwrap();
        assert_eq!((reader.num_row_groups(), reader.metadata().file_metadata().num_rows()), (3, 300_000));
    }
}
