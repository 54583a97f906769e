//! From one job row, of text or JSON, to an [`Attempt`]: the rules that both share.

use goodput_core::records::{
    Attempt, AttemptKey, FileId, FleetRecords, JobState, SourceRef, Symbol, Symbols,
};
use goodput_core::{NS_PER_SECOND, Timestamp};

use super::super::node_list::NodeLists;
use super::super::state::wait_reason;
use super::EXPORT_COMMAND;
use crate::{FileReport, ReadError, Treatment};

/// A file whose first rows are all refused is no job table; reading on is useless.
const MAX_REFUSED_BEFORE_USE: u64 = 10_000;

/// What a row says, parsed but not yet judged.
#[derive(Debug, Clone)]
pub(super) struct JobRow<'a> {
    pub(super) line: u32,
    /// The raw id.
    pub(super) job: &'a str,
    pub(super) display_id: &'a str,
    pub(super) cluster: &'a str,
    pub(super) name: &'a str,
    pub(super) user: &'a str,
    pub(super) account: &'a str,
    pub(super) partition: &'a str,
    pub(super) qos: &'a str,
    pub(super) reservation: &'a str,
    pub(super) state: JobState,
    pub(super) state_text: &'a str,
    pub(super) reason: &'a str,
    pub(super) submit: Option<Timestamp>,
    /// `None` when the record has no such field; inside, `None` when never eligible.
    pub(super) eligible: Option<Option<Timestamp>>,
    pub(super) start: Option<Timestamp>,
    pub(super) end: Option<Timestamp>,
    pub(super) elapsed_ns: Option<i64>,
    pub(super) suspended_ns: Option<i64>,
    pub(super) time_limit_ns: Option<i64>,
    /// `None` when the row says nothing about an allocation; zero for a job without devices.
    pub(super) allocated_devices: Option<u64>,
    pub(super) requested_devices: Option<u64>,
    pub(super) node_count: Option<u64>,
    pub(super) node_list: &'a str,
}

/// Why a row is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) field: String,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(code: &'static str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, field: field.into(), message: message.into() }
    }
}

/// A repair of a row that will be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repair {
    pub(super) code: &'static str,
    pub(super) field: &'static str,
    pub(super) message: String,
}

/// Takes the rows of one file into the records, and keeps account of them.
#[derive(Debug)]
pub(super) struct JobRows<'a> {
    records: &'a mut FleetRecords,
    pub(super) report: FileReport,
    file: FileId,
    cluster: &'a str,
    node_lists: NodeLists,
    /// By [`Symbol::index`] of the raw id: what was used of that job.
    seen_jobs: Vec<Seen>,
    last_names: LastNames,
    has_devices: bool,
    has_second_attempt: bool,
    unsized_waiting: u64,
    without_eligible: u64,
    waiting_arrays: u64,
    first_refusal: Option<(u32, Refusal)>,
}

impl<'a> JobRows<'a> {
    pub(super) fn new(
        path: &str,
        format: String,
        file: FileId,
        cluster: &'a str,
        records: &'a mut FleetRecords,
    ) -> Self {
        Self {
            records,
            report: FileReport::new(path, format),
            file,
            cluster,
            node_lists: NodeLists::default(),
            seen_jobs: Vec::new(),
            last_names: LastNames::default(),
            has_devices: false,
            has_second_attempt: false,
            unsized_waiting: 0,
            without_eligible: 0,
            waiting_arrays: 0,
            first_refusal: None,
        }
    }

    /// Whether a row of this raw id was used.
    pub(super) fn has_job(&self, job: &str) -> bool {
        let symbol = self.records.symbols.find(job);
        symbol.is_some_and(|symbol| {
            self.seen_jobs.get(symbol.index()).is_some_and(|&seen| seen != Seen::Nothing)
        })
    }

    /// Uses a row, or refuses it.
    pub(super) fn add(&mut self, row: &JobRow<'_>, mut repairs: Vec<Repair>) {
        let line = row.line;
        match self.attempt(row, &mut repairs) {
            Ok(attempt) => {
                self.report.rows += 1;
                self.report.used += 1;
                self.records.attempts.push(attempt);
                for (at, repair) in repairs.into_iter().enumerate() {
                    self.report.find(Treatment::Repaired, repair.code, line, repair.field, || repair.message);
                    // A row repaired twice is one repaired row.
                    self.report.repaired -= u64::from(at > 0);
                }
            }
            Err(refusal) => self.refuse(line, refusal),
        }
    }

    /// Counts a row that is not used.
    pub(super) fn refuse(&mut self, line: u32, refusal: Refusal) {
        self.report.rows += 1;
        let Refusal { code, field, message } = refusal.clone();
        self.report.find(Treatment::Refused, code, line, &field, || message);
        self.first_refusal.get_or_insert((line, refusal));
    }

    /// Counts a row that is none of a job.
    pub(super) fn skip(&mut self, word: &'static str) {
        self.report.rows += 1;
        *self.report.skipped.entry(word).or_default() += 1;
    }

    /// Whether so many rows were refused, and none used, that this is no job table.
    pub(super) fn is_hopeless(&self) -> bool {
        self.report.used == 0 && self.report.refused >= MAX_REFUSED_BEFORE_USE
    }

    fn attempt(&mut self, row: &JobRow<'_>, repairs: &mut Vec<Repair>) -> Result<Attempt, Refusal> {
        let submit =
            row.submit.ok_or_else(|| Refusal::new("no_submit", "Submit", "the row has no submit time"))?;
        let span = held_span(row, repairs)?;
        let nodes = self
            .node_lists
            .set(row.node_list, self.records)
            .map_err(|error| Refusal::new("bad_node_list", "NodeList", error.to_string()))?;
        let named_nodes = self.records.node_set(nodes).len() as u64;
        let node_count = row.node_count.unwrap_or(named_nodes);
        let node_count = u32::try_from(node_count).map_err(|_| {
            Refusal::new("bad_count", "NNodes", format!("{node_count} nodes are more than any cluster has"))
        })?;
        self.without_eligible += u64::from(row.eligible.is_none());
        let devices = self.devices(row, span.start.is_some(), repairs);
        if row.state == JobState::Other {
            self.report.find(Treatment::Noted, "unknown_state", row.line, "State", || {
                format!(
                    "{:?} is no state this version knows; the allocation counts all the same",
                    row.state_text
                )
            });
        }

        let names = &mut self.records.symbols;
        let cluster = if row.cluster.is_empty() { self.cluster } else { row.cluster };
        let [cluster, name, user, account, partition, qos, reservation] = self.last_names.intern(
            [cluster, row.name, row.user, row.account, row.partition, row.qos, row.reservation],
            names,
        );
        let key = AttemptKey { cluster, job: names.intern(row.job), submit };
        let attempt = Attempt {
            key,
            display_id: if row.display_id == row.job { key.job } else { names.intern(row.display_id) },
            name,
            user,
            account,
            partition,
            qos,
            reservation,
            state: row.state,
            eligible: row.eligible.unwrap_or(Some(submit)),
            assigned: None,
            start: span.start,
            end: span.end,
            suspended_ns: span.suspended_ns,
            time_limit_ns: row.time_limit_ns,
            devices,
            node_count,
            nodes,
            wait_reason: wait_reason(row.reason),
            source: SourceRef { file: self.file, line: row.line },
        };
        self.note_now(&attempt, row.elapsed_ns);
        self.note_job(&attempt, row.display_id);
        Ok(attempt)
    }

    fn devices(&mut self, row: &JobRow<'_>, has_started: bool, repairs: &mut Vec<Repair>) -> u64 {
        if !has_started {
            if row.requested_devices.is_none() {
                self.unsized_waiting += 1;
            }
            return row.requested_devices.or(row.allocated_devices).unwrap_or(0);
        }
        match (row.allocated_devices, row.requested_devices) {
            (Some(devices), _) => devices,
            (None, Some(devices)) if devices > 0 => {
                repairs.push(Repair {
                    code: "devices_from_request",
                    field: "AllocTRES",
                    message: format!("empty on a job that started: the {devices} requested devices count"),
                });
                devices
            }
            (None, _) => 0,
        }
    }

    /// The dump's own now: a running row's start + elapsed + suspended, the latest of them.
    fn note_now(&mut self, attempt: &Attempt, elapsed_ns: Option<i64>) {
        if attempt.state == JobState::Running
            && attempt.end.is_none()
            && let (Some(start), Some(elapsed_ns)) = (attempt.start, elapsed_ns)
        {
            let now = start + elapsed_ns + attempt.suspended_ns;
            self.records.written_at = self.records.written_at.max(Some(now));
        }
    }

    fn note_job(&mut self, attempt: &Attempt, display_id: &str) {
        self.has_devices |= attempt.devices > 0;
        let is_array = display_id.ends_with(']');
        self.waiting_arrays += u64::from(is_array && attempt.state == JobState::Pending);
        let at = attempt.key.job.index();
        if self.seen_jobs.len() <= at {
            self.seen_jobs.resize(at + 1, Seen::Nothing);
        }
        let is_resize = attempt.state == JobState::Resizing;
        // Without -D a requeued row alone shows too, while its job waits out its begin time, and so do the rows of a
        // resized job.
        self.has_second_attempt |= self.seen_jobs[at] == Seen::Attempt && !is_resize;
        if !is_resize {
            self.seen_jobs[at] = Seen::Attempt;
        } else if self.seen_jobs[at] == Seen::Nothing {
            self.seen_jobs[at] = Seen::Resize;
        }
    }

    /// Ends the file: notes what concerns it as a whole.
    ///
    /// # Errors
    /// When no row could be used although there were some.
    pub(super) fn finish(mut self) -> Result<FileReport, ReadError> {
        let report = &mut self.report;
        if report.used == 0 {
            if let Some((line, Refusal { field, message, .. })) = self.first_refusal {
                let message = match report.refused {
                    1 => message,
                    refused => format!("{message} (the first of {refused} refused rows; none can be used)"),
                };
                return Err(ReadError::Format {
                    path: report.path.clone(),
                    line,
                    field,
                    message,
                    remedy: format!("export the job table with: {EXPORT_COMMAND}"),
                });
            }
            if let Some(steps) = report.skipped.get("step") {
                return Err(ReadError::Format {
                    path: report.path.clone(),
                    line: 0,
                    field: "JobID".to_owned(),
                    message: format!(
                        "all {steps} rows are job steps: the rows of the jobs themselves are missing"
                    ),
                    remedy: format!("export the job rows with: {EXPORT_COMMAND}"),
                });
            }
            report.find(Treatment::Noted, "no_rows", 0, "", || "the file has no job row".to_owned());
            return Ok(self.report);
        }
        if !self.has_devices {
            report.find(Treatment::Noted, "no_devices", 0, "AllocTRES", || {
                "no row names gres/gpu: the cluster has no GPU jobs, or its slurm.conf lacks \
                 AccountingStorageTRES=gres/gpu and the accounting never recorded them"
                    .to_owned()
            });
        } else if self.unsized_waiting > 0 {
            let waiting = self.unsized_waiting;
            report.find(Treatment::Noted, "no_request", 0, "ReqTRES", || {
                format!("{waiting} jobs that never started have no ReqTRES: their demand counts no device")
            });
        }
        if self.without_eligible > 0 {
            let rows = self.without_eligible;
            report.find(Treatment::Noted, "no_eligible", 0, "Eligible", || {
                format!(
                    "{rows} rows do not say when the job could first have started: it counts as waiting from its \
                     submission, also while it was held or had unmet dependencies (export Eligible)"
                )
            });
        }
        if self.waiting_arrays > 0 {
            let rows = self.waiting_arrays;
            report.find(Treatment::Noted, "waiting_array", 0, "JobID", || {
                format!(
                    "{rows} rows stand for all waiting tasks of an array: each counts as the demand of one task \
                     (export with --array, where sacct has it)"
                )
            });
        }
        if !self.has_second_attempt {
            report.find(Treatment::Noted, "one_row_a_job", 0, "", || {
                "no job has two attempts: either none was requeued, or the file was exported without -D \
                 and earlier attempts are missing; the file does not say which"
                    .to_owned()
            });
        }
        Ok(self.report)
    }
}

/// What was used of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Nothing,
    /// The part before a resize.
    Resize,
    Attempt,
}

/// The names of the row before: most rows repeat some of them, and comparing is cheaper than looking up.
#[derive(Debug, Default)]
struct LastNames {
    texts: [String; 7],
    symbols: [Symbol; 7],
}

impl LastNames {
    fn intern(&mut self, names: [&str; 7], symbols: &mut Symbols) -> [Symbol; 7] {
        for ((text, symbol), name) in self.texts.iter_mut().zip(&mut self.symbols).zip(names) {
            if text != name {
                *symbol = symbols.intern(name);
                text.clear();
                text.push_str(name);
            }
        }
        self.symbols
    }
}

struct HeldSpan {
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    suspended_ns: i64,
}

/// When the devices were held. An end that is missing follows from the elapsed time, and so does a
/// suspension: Slurm's elapsed = end - start - suspended.
fn held_span(row: &JobRow<'_>, repairs: &mut Vec<Repair>) -> Result<HeldSpan, Refusal> {
    let is_over =
        !matches!(row.state, JobState::Pending | JobState::Running | JobState::Suspended | JobState::Other);
    let Some(start) = row.start.filter(|_| row.state != JobState::Pending || row.end.is_some()) else {
        if row.elapsed_ns.is_some_and(|ns| ns > 0) {
            let message = "the job ran (its elapsed time is not zero) and the row has no start";
            return Err(Refusal::new("no_start", "Start", message));
        }
        let has_run = matches!(
            row.state,
            JobState::Completed | JobState::Timeout | JobState::Preempted | JobState::NodeFail
        );
        if has_run && row.elapsed_ns.is_none() {
            return Err(Refusal::new("no_start", "Start", format!("{} without a start", row.state_text)));
        }
        return Ok(HeldSpan { start: None, end: row.end, suspended_ns: 0 });
    };
    let end = match (row.end, row.elapsed_ns) {
        (None, Some(elapsed_ns)) if is_over => {
            repairs.push(Repair {
                code: "end_from_elapsed",
                field: "End",
                message: format!("{} without an end: start + elapsed counts", row.state_text),
            });
            Some(start + elapsed_ns + row.suspended_ns.unwrap_or(0))
        }
        (None, None) if is_over => {
            return Err(Refusal::new("no_end", "End", format!("{} without an end", row.state_text)));
        }
        (end, _) => end,
    };
    if end.is_some_and(|end| end < start) {
        return Err(Refusal::new("ends_before_start", "End", "the end lies before the start"));
    }
    let suspended_ns = match (row.suspended_ns, row.elapsed_ns, end) {
        (Some(suspended_ns), _, _) => suspended_ns,
        (None, Some(elapsed_ns), Some(end)) => (end - start - elapsed_ns).max(0),
        _ => 0,
    };
    Ok(HeldSpan { start: Some(start), end, suspended_ns })
}

/// Whole seconds in nanoseconds, saturating.
pub(super) fn seconds_ns(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(NS_PER_SECOND)
}
