//! `<cluster>_job_table`: one row an attempt, as `sacct -D` lists them.

use goodput_core::records::{Attempt, AttemptKey, FleetRecords, JobState, NodeSet, WaitReason};
use goodput_core::{NS_PER_SECOND, Timestamp};

use super::names::{Names, Resources};
use super::{Row, Table};
use crate::ReadError;
use crate::scheduler::slurm::reading::{Fault, Outcome, Reading, shown, text};
use crate::scheduler::slurm::times::{INFINITE, NO_VALUE, whole_number};

/// Where the columns stand; an older version lacks some.
struct Columns {
    id: Option<usize>,
    array_job: Option<usize>,
    array_task: Option<usize>,
    het_job: Option<usize>,
    het_offset: Option<usize>,
    name: Option<usize>,
    account: Option<usize>,
    association: Option<usize>,
    user: Option<usize>,
    partition: Option<usize>,
    qos: Option<usize>,
    reservation: Option<usize>,
    state: Option<usize>,
    time_limit: Option<usize>,
    submit: Option<usize>,
    eligible: Option<usize>,
    start: Option<usize>,
    end: Option<usize>,
    suspended: Option<usize>,
    nodes: Option<usize>,
    node_count: Option<usize>,
    allocated: Option<usize>,
    requested: Option<usize>,
}

impl Columns {
    fn find(table: &Table<'_>) -> Self {
        let column = |name| table.column(name);
        Self {
            id: column("id_job"),
            array_job: column("id_array_job"),
            array_task: column("id_array_task"),
            het_job: column("het_job_id"),
            het_offset: column("het_job_offset"),
            name: column("job_name"),
            account: column("account"),
            association: column("id_assoc"),
            user: column("id_user"),
            partition: column("partition"),
            qos: column("id_qos"),
            reservation: column("id_resv"),
            state: column("state"),
            time_limit: column("timelimit"),
            submit: column("time_submit"),
            eligible: column("time_eligible"),
            start: column("time_start"),
            end: column("time_end"),
            suspended: column("time_suspended"),
            nodes: column("nodelist"),
            node_count: column("nodes_alloc"),
            allocated: column("tres_alloc"),
            requested: column("tres_req"),
        }
    }
}

pub(super) fn read(
    table: Table<'_>,
    names: &Names,
    reading: &mut Reading<'_>,
    records: &mut FleetRecords,
) -> Result<(), ReadError> {
    let columns = Columns::find(&table);
    let resources = names.resources(table.label)?;
    let cluster = reading.cluster(table.cluster().as_bytes(), records);
    table.rows(reading, |row, reading, line| {
        let instant =
            |reading: &mut Reading<'_>, column, field| reading.instant(row.get(column), line, field);
        let submit = instant(reading, columns.submit, "time_submit")?
            .ok_or_else(|| Fault::row("time_submit", "the submit time is missing"))?;
        let start = instant(reading, columns.start, "time_start")?;
        let end = instant(reading, columns.end, "time_end")?;
        let has_started = start.is_some();
        let (devices, node_count) = size(row, &columns, resources, has_started)?;
        let state = state(row.get(columns.state))?;
        let suspended_ns = suspended(row.get(columns.suspended), end)?;
        let nodes = match has_started {
            true => reading.node_set(row.get(columns.nodes), "nodelist", records)?,
            false => NodeSet::NONE,
        };
        let eligible = match columns.eligible {
            None => Some(submit),
            column => instant(reading, column, "time_eligible")?,
        };
        let symbols = &mut records.symbols;
        let job = symbols.intern(&text(row.get(columns.id)));
        let attempt = Attempt {
            key: AttemptKey { cluster, job, submit },
            display_id: symbols.intern(&display_id(row, &columns)),
            name: symbols.intern(&row.text(columns.name)),
            user: symbols.intern(&names.user(row.get(columns.association), row.get(columns.user))),
            account: symbols.intern(&row.text(columns.account)),
            partition: symbols.intern(&row.text(columns.partition)),
            qos: symbols.intern(&names.qos(row.get(columns.qos))),
            reservation: symbols.intern(&names.reservation(row.get(columns.reservation))),
            state,
            eligible,
            assigned: None,
            start,
            end,
            suspended_ns,
            time_limit_ns: time_limit(row.get(columns.time_limit)),
            devices,
            node_count,
            nodes,
            wait_reason: WaitReason::Eligible,
            source: reading.source(line),
        };
        records.attempts.push(attempt);
        Ok(Outcome::Used)
    })
}

/// Devices and nodes held, or asked for by an attempt that never started.
fn size(
    row: &Row<'_>,
    columns: &Columns,
    resources: &Resources,
    has_started: bool,
) -> Result<(u64, u32), Fault> {
    let list = if has_started { columns.allocated } else { columns.requested };
    let counts = resources.counts(row.get(list))?;
    let allocated = whole_number(row.get(columns.node_count)).filter(|_| has_started);
    let nodes = counts.nodes.or(allocated).unwrap_or(0);
    let nodes = u32::try_from(nodes).map_err(|_| Fault::row("tres", format!("{nodes} nodes")))?;
    Ok((counts.devices.unwrap_or(0), nodes))
}

/// Numeric job states: the base in the low eight bits, flags above (`slurm.h`).
fn state(number: &[u8]) -> Result<JobState, Fault> {
    const BASE_BITS: u64 = 0xff;
    const FLAG_REQUEUED: u64 = 1 << 10;
    const FLAG_RESIZING: u64 = 1 << 13;
    let value = whole_number(number)
        .ok_or_else(|| Fault::row("state", format!("{} is no numeric state", shown(number))))?;
    if value & FLAG_REQUEUED != 0 {
        return Ok(JobState::Requeued);
    }
    if value & FLAG_RESIZING != 0 {
        return Ok(JobState::Resizing);
    }
    Ok(match value & BASE_BITS {
        0 => JobState::Pending,
        1 => JobState::Running,
        2 => JobState::Suspended,
        3 => JobState::Completed,
        4 => JobState::Cancelled,
        5 => JobState::Failed,
        6 => JobState::Timeout,
        7 => JobState::NodeFail,
        8 => JobState::Preempted,
        9 => JobState::BootFail,
        10 => JobState::Deadline,
        11 => JobState::OutOfMemory,
        _ => JobState::Other,
    })
}

/// The sum of the suspensions. While a job is suspended the column holds the instant at which that
/// began instead, and its sum is not known yet.
fn suspended(number: &[u8], end: Option<Timestamp>) -> Result<i64, Fault> {
    const LONGEST_SECONDS: i64 = 315_576_000;
    if number.is_empty() {
        return Ok(0);
    }
    let seconds = whole_number(number).and_then(|seconds| i64::try_from(seconds).ok());
    match seconds {
        Some(seconds) if seconds < LONGEST_SECONDS => Ok(seconds * NS_PER_SECOND),
        Some(began) => Ok(end.map_or(0, |end| (end - Timestamp::from_seconds(began)).max(0))),
        None => Err(Fault::row("time_suspended", format!("{} is no number of seconds", shown(number)))),
    }
}

/// Minutes; none when unlimited or the partition's own.
fn time_limit(minutes: &[u8]) -> Option<i64> {
    let minutes = whole_number(minutes).filter(|&minutes| minutes != INFINITE && minutes != NO_VALUE)?;
    i64::try_from(minutes).ok()?.checked_mul(60 * NS_PER_SECOND)
}

/// The id that a person knows: `9_5` of an array, `23+1` of a heterogeneous job.
fn display_id(row: &Row<'_>, columns: &Columns) -> String {
    let number = |column| whole_number(row.get(column)).filter(|&n| n != NO_VALUE && n != INFINITE);
    let id = text(row.get(columns.id));
    if let (Some(base @ 1..), Some(task)) = (number(columns.array_job), number(columns.array_task)) {
        return format!("{base}_{task}");
    }
    if let (Some(base @ 1..), Some(offset)) = (number(columns.het_job), number(columns.het_offset)) {
        return format!("{base}+{offset}");
    }
    id.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("0", JobState::Pending)]
    #[case("7", JobState::NodeFail)]
    #[case("1024", JobState::Requeued)]
    #[case("8192", JobState::Resizing)]
    #[case("200", JobState::Other)]
    fn states(#[case] number: &str, #[case] expected: JobState) {
        assert_eq!(state(number.as_bytes()).ok(), Some(expected));
    }

    #[test]
    fn a_suspension_is_a_sum_or_the_instant_it_began() {
        assert_eq!(suspended(b"15", None).ok(), Some(15 * NS_PER_SECOND));
        let end = Some(Timestamp::from_seconds(1_795_973_990));
        assert_eq!(suspended(b"1795973973", end).ok(), Some(17 * NS_PER_SECOND));
        assert!(suspended(b"x", None).is_err());
    }

    #[test]
    fn limits_are_minutes() {
        assert_eq!(time_limit(b"10"), Some(600 * NS_PER_SECOND));
        assert_eq!(time_limit(b"4294967295"), None);
    }
}
