//! The job table as text.

use std::io::Read;

use goodput_core::Timestamp;
use goodput_core::records::{FileId, FleetRecords};
use rustc_hash::FxHashSet;

use super::super::SlurmOptions;
use super::super::state::job_state;
use super::super::times::{Times, duration_ns, quoted, whole_number};
use super::super::tres::{Amounts, KnownTres, count, gres_devices};
use super::align::{Bounds, Misaligned, align, begins_a_row};
use super::columns::{Columns, Field};
use super::header::{Layout, layout};
use super::job::{JobRow, JobRows, Refusal, Repair, seconds_ns};
use super::lines::Lines;
use super::{EXPORT_COMMAND, io_error};
use crate::{FileReport, ReadError, Treatment};

/// A record is not spread over more text than this, nor looked at more often while it grows.
const MAX_RECORD_BYTES: usize = 1 << 20;
const MAX_TRIES: u32 = 8;

pub(super) fn read(
    path: &str,
    file: FileId,
    input: impl Read,
    options: &SlurmOptions,
    into: &mut FleetRecords,
) -> Result<FileReport, ReadError> {
    let mut lines = Lines::new(input);
    let layout = layout(path, &mut lines, options)?;
    let cluster = options.cluster.as_deref().unwrap_or("");
    let format = format!(
        "sacct text, {} columns, delimiter {:?}",
        layout.columns.len(),
        String::from_utf8_lossy(&layout.delimiter)
    );
    let mut table = Table {
        path,
        times: Times::new(options.time_zone.clone()),
        tres: KnownTres::default(),
        rows: JobRows::new(path, format, file, cluster, into),
        fields: Vec::new(),
        pending: Pending::default(),
        orphans: Orphans::default(),
        last_is_row: false,
        layout,
    };
    if let Some(line) = table.layout.first_row.take() {
        table.line(table.layout.lines_before, &line)?;
    }
    let mut number = table.layout.lines_before;
    while let Some(line) = lines.next_line().map_err(|error| io_error(path, error))? {
        number = number.saturating_add(1);
        table.line(number, line)?;
        if table.rows.is_hopeless() {
            break;
        }
    }
    table.refuse_pending();
    if lines.is_cut {
        table.rows.report.find(Treatment::Noted, "unfinished_line", number, "", || {
            "the last line has no line break: the file may have been cut off, and its last value with it"
                .to_owned()
        });
    }
    table.orphans.note(&mut table.rows);
    table.rows.finish()
}

/// A record whose lines so far are not a row.
#[derive(Debug, Default)]
struct Pending {
    line: u32,
    text: String,
    delimiters: usize,
    tries: u32,
    /// Lines joined so far.
    lines: u32,
    has_bad_utf8: bool,
}

struct Table<'a> {
    path: &'a str,
    layout: Layout,
    times: Times,
    tres: KnownTres,
    rows: JobRows<'a>,
    /// Bounds of the fields of the row at hand, kept to be filled again.
    fields: Vec<Bounds>,
    pending: Pending,
    orphans: Orphans,
    /// Whether the line before was a whole row, so that this line may continue its last column.
    last_is_row: bool,
}

impl Table<'_> {
    fn line(&mut self, number: u32, bytes: &[u8]) -> Result<(), ReadError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.text_line(number, text, false),
            Err(_) => self.text_line(number, &String::from_utf8_lossy(bytes), true),
        }
    }

    fn text_line(&mut self, number: u32, text: &str, has_bad_utf8: bool) -> Result<(), ReadError> {
        self.layout.split(text.as_bytes(), &mut self.fields);
        if self.pending.lines > 0 && self.aligned(text).is_ok() {
            self.refuse_pending();
        }
        if self.pending.lines == 0 && self.fields.len() == self.layout.columns.len() {
            return self.row(number, text, has_bad_utf8.then(bad_utf8).into_iter().collect());
        }
        if self.pending.lines == 0 {
            if text.trim_ascii().is_empty() {
                return Ok(());
            }
            if self.continues_last_column(text) {
                self.rows.report.find(Treatment::Noted, "continuation_line", number, "", || {
                    "the line continues the free text of the row before, whose last column holds line breaks".to_owned()
                });
                return Ok(());
            }
        }
        self.extend_pending(number, text);
        self.pending.has_bad_utf8 |= has_bad_utf8;
        self.try_pending()
    }

    /// One field for each column, where the fields at hand have the shapes of the columns.
    fn aligned(&self, text: &str) -> Result<Vec<Bounds>, Misaligned> {
        align(text, &self.fields, &self.layout.columns, self.layout.delimiter == b",")
    }

    /// Whether this short line is the rest of a free text at the end of the row before.
    fn continues_last_column(&self, text: &str) -> bool {
        self.last_is_row
            && self.layout.ends_in_free_text()
            && self.fields.len() < self.layout.columns.len()
            && !begins_a_row(text, &self.fields, &self.layout.columns)
    }

    fn extend_pending(&mut self, number: u32, text: &str) {
        let pending = &mut self.pending;
        if pending.lines == 0 {
            pending.line = number;
        } else {
            pending.text.push('\n');
        }
        pending.lines += 1;
        pending.text.push_str(text);
        pending.delimiters += self.fields.len().saturating_sub(1);
        self.last_is_row = false;
    }

    /// Uses the pending record if it is whole by now.
    fn try_pending(&mut self) -> Result<(), ReadError> {
        if self.pending.text.len() > MAX_RECORD_BYTES {
            self.refuse_pending();
            return Ok(());
        }
        if self.pending.delimiters + 1 < self.layout.columns.len() {
            return Ok(());
        }
        let text = std::mem::take(&mut self.pending.text);
        self.layout.split(text.as_bytes(), &mut self.fields);
        match self.aligned(&text) {
            Ok(bounds) => {
                let mut repairs: Vec<Repair> = self.alignment_repair().into_iter().collect();
                repairs.extend(self.pending.has_bad_utf8.then(bad_utf8));
                self.fields = bounds;
                let line = self.pending.line;
                self.pending = Pending::default();
                self.row(line, &text, repairs)
            }
            Err(fault) => {
                self.pending.tries += 1;
                let is_last_try =
                    self.pending.tries >= MAX_TRIES || matches!(fault, Misaligned::Ambiguous { .. });
                self.pending.text = text;
                if is_last_try {
                    self.refuse(fault);
                }
                Ok(())
            }
        }
    }

    fn alignment_repair(&self) -> Option<Repair> {
        let surplus = self.fields.len().saturating_sub(self.layout.columns.len());
        let lines = self.pending.lines;
        if lines > 1 {
            return Some(Repair {
                code: "split_record",
                field: "",
                message: format!("{lines} lines are one record: a free text holds line breaks"),
            });
        }
        (self.layout.delimiter != b",").then(|| Repair {
            code: "stray_delimiter",
            field: "",
            message: format!("{surplus} fields too many: a free text holds the delimiter"),
        })
    }

    fn refuse_pending(&mut self) {
        if self.pending.lines > 0 {
            self.refuse(Misaligned::NoReading);
        }
    }

    fn refuse(&mut self, fault: Misaligned) {
        let pending = std::mem::take(&mut self.pending);
        let columns = &self.layout.columns;
        let (found, expected) = (pending.delimiters + 1, columns.len());
        let refusal = match fault {
            Misaligned::NoReading => Refusal::new(
                "wrong_field_count",
                "",
                format!(
                    "{found} fields where the header has {expected}, and no free text explains the difference"
                ),
            ),
            Misaligned::Ambiguous { column } => Refusal::new(
                "ambiguous_row",
                columns.names[column].as_str(),
                format!(
                    "{found} fields where the header has {expected}: a free text holds the delimiter and the row \
                     reads in two ways; export with --delimiter=$'\\x1f'"
                ),
            ),
        };
        self.rows.refuse(pending.line, refusal);
        self.last_is_row = false;
    }

    /// A row whose fields are one for each column.
    fn row(&mut self, line: u32, text: &str, repairs: Vec<Repair>) -> Result<(), ReadError> {
        self.last_is_row = true;
        let cells = Cells { text, fields: &self.fields, columns: &self.layout.columns };
        let id = cells.id();
        // Ids are a few bytes long: a search routine for long texts costs more than it saves.
        if let Some(dot) = id.bytes().position(|b| b == b'.') {
            self.orphans.step(&id[..dot]);
            self.rows.skip("step");
            return Ok(());
        }
        if cells.is_header() {
            self.rows.skip("header");
            return Ok(());
        }
        self.orphans.job(id);
        match cells.job_row(line, &mut self.times, &mut self.tres) {
            Ok(row) => self.rows.add(&row, repairs),
            Err(Fault::Row(refusal)) => self.rows.refuse(line, refusal),
            Err(Fault::File(refusal)) => {
                return Err(ReadError::Format {
                    path: self.path.to_owned(),
                    line,
                    field: refusal.field,
                    message: refusal.message,
                    remedy: format!(
                        "name the zone of the file's times with --time-zone, or export with: {EXPORT_COMMAND}"
                    ),
                });
            }
        }
        Ok(())
    }
}

fn bad_utf8() -> Repair {
    Repair { code: "bad_utf8", field: "", message: "bytes that are no UTF-8 were replaced".to_owned() }
}

/// What is wrong with a value: the row alone, or the whole file.
enum Fault {
    Row(Refusal),
    File(Refusal),
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Row(refusal)
    }
}

/// The fields of one row by column.
#[derive(Clone, Copy)]
struct Cells<'a> {
    text: &'a str,
    fields: &'a [Bounds],
    columns: &'a Columns,
}

impl<'a> Cells<'a> {
    fn get(self, field: Field) -> Option<&'a str> {
        let &(start, end) = self.fields.get(self.columns.at(field)?)?;
        self.text.get(start..end)
    }

    fn text_of(self, field: Field) -> &'a str {
        self.get(field).unwrap_or("")
    }

    fn id(self) -> &'a str {
        self.get(Field::JobIdRaw).or_else(|| self.get(Field::JobId)).unwrap_or("")
    }

    fn is_header(self) -> bool {
        self.id().eq_ignore_ascii_case("JobIDRaw") || self.id().eq_ignore_ascii_case("JobID")
    }

    fn job_row(self, line: u32, times: &mut Times, known: &mut KnownTres) -> Result<JobRow<'a>, Fault> {
        let job = self.id();
        if !job.as_bytes().first().is_some_and(u8::is_ascii_digit) {
            return Err(bad("bad_id", "JobID", job, "a job id").into());
        }
        let state_text = self.text_of(Field::State);
        if !super::columns::Shape::State.matches(state_text) {
            return Err(bad("bad_state", "State", state_text, "a state such as COMPLETED").into());
        }
        let mut time = |field, name| self.time(field, name, times);
        let submit = time(Field::Submit, "Submit")?;
        let eligible = match self.get(Field::Eligible) {
            None => None,
            at_once if at_once == self.get(Field::Submit) => Some(submit),
            Some(_) => Some(time(Field::Eligible, "Eligible")?),
        };
        let (start, end) = (time(Field::Start, "Start")?, time(Field::End, "End")?);

        let mut tres = |field, name| self.tres(field, name, known);
        let allocated = tres(Field::AllocTres, "AllocTRES")?;
        let requested = tres(Field::ReqTres, "ReqTRES")?;
        let node_count = match self.get(Field::NodeCount).filter(|text| !text.is_empty()) {
            Some(text) => Some(count(text.as_bytes()).ok_or_else(|| {
                bad("bad_count", "NNodes", text, "a whole number (export with --noconvert)")
            })?),
            None => allocated.nodes.or(requested.nodes),
        };
        let allocated_devices = match allocated.devices {
            Some(devices) => Some(devices),
            None => self
                .gres(Field::AllocGres, "AllocGRES", node_count)?
                .or_else(|| self.get(Field::AllocTres).filter(|text| !text.is_empty()).map(|_| 0)),
        };
        let requested_devices = match requested.devices {
            Some(devices) => Some(devices),
            None => self
                .gres(Field::ReqGres, "ReqGRES", node_count)?
                .or_else(|| self.get(Field::ReqTres).filter(|text| !text.is_empty()).map(|_| 0)),
        };
        Ok(JobRow {
            line,
            job,
            display_id: self.get(Field::JobId).unwrap_or(job),
            cluster: self.text_of(Field::Cluster),
            name: self.text_of(Field::Name),
            user: self.text_of(Field::User),
            account: self.text_of(Field::Account),
            partition: self.text_of(Field::Partition),
            qos: self.text_of(Field::Qos),
            reservation: self.text_of(Field::Reservation),
            state: job_state(state_text),
            state_text,
            reason: self.text_of(Field::Reason),
            submit,
            eligible,
            start,
            end,
            elapsed_ns: self.seconds(Field::ElapsedRaw).or_else(|| self.duration(Field::Elapsed)),
            suspended_ns: self.duration(Field::Suspended),
            time_limit_ns: self.duration(Field::TimeLimit).or_else(|| {
                self.seconds(Field::TimeLimitRaw).map(|minutes_ns| minutes_ns.saturating_mul(60))
            }),
            allocated_devices,
            requested_devices,
            node_count,
            node_list: self.text_of(Field::NodeList),
        })
    }

    fn time(self, field: Field, name: &str, times: &mut Times) -> Result<Option<Timestamp>, Fault> {
        let text = self.text_of(field);
        times.instant(text.as_bytes()).map_err(|error| {
            let refusal = Refusal::new("bad_time", name, error.to_string());
            if error.concerns_whole_file() { Fault::File(refusal) } else { Fault::Row(refusal) }
        })
    }

    fn tres(self, field: Field, name: &str, known: &mut KnownTres) -> Result<Amounts, Refusal> {
        known
            .parse(self.text_of(field).as_bytes())
            .map_err(|error| Refusal::new("bad_tres", name, error.to_string()))
    }

    /// Devices of an old site's column, which gives them for each node.
    fn gres(self, field: Field, name: &str, node_count: Option<u64>) -> Result<Option<u64>, Refusal> {
        let Some(text) = self.get(field).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let each = gres_devices(text.as_bytes()).filter(|&devices| devices > 0 || !text.contains("gpu"));
        let each = each.ok_or_else(|| bad("bad_gres", name, text, "devices such as gpu:8"))?;
        Ok(Some(each.saturating_mul(node_count.unwrap_or(1))))
    }

    fn seconds(self, field: Field) -> Option<i64> {
        whole_number(self.get(field)?.as_bytes()).map(seconds_ns)
    }

    fn duration(self, field: Field) -> Option<i64> {
        duration_ns(self.get(field)?.as_bytes())
    }
}

fn bad(code: &'static str, field: &str, text: &str, expected: &str) -> Refusal {
    Refusal::new(code, field, format!("{:?} is no {field}: expected {expected}", quoted(text.as_bytes())))
}

/// Jobs of which only steps are in the file.
#[derive(Debug, Default)]
struct Orphans {
    last_job: String,
    bases: FxHashSet<Box<str>>,
}

impl Orphans {
    fn job(&mut self, id: &str) {
        self.last_job.clear();
        self.last_job.push_str(id);
    }

    /// A step of job `base`. Steps follow the row of their job, unless that is missing.
    fn step(&mut self, base: &str) {
        if self.last_job != base {
            self.bases.insert(base.into());
            self.job(base);
        }
    }

    fn note(&self, rows: &mut JobRows<'_>) {
        let mut missing: Vec<&str> =
            self.bases.iter().map(AsRef::as_ref).filter(|base| !rows.has_job(base)).collect();
        missing.sort_unstable();
        for base in missing {
            rows.report.find(Treatment::Noted, "steps_without_job", 0, "JobID", || {
                format!("job {base} has steps and no row of its own: its allocation does not count")
            });
        }
    }
}
