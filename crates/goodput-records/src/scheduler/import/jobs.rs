//! A table of jobs.

use csv::StringRecord;
use goodput_core::Timestamp;
use goodput_core::records::{
    Attempt, AttemptKey, FleetRecords, JobState, NodeSet, SourceRef, Symbol, WaitReason,
};

use super::map::JobColumns;
use super::{Reading, Refusal};
use crate::scheduler::slurm::node_list::NodeLists;
use crate::{FileReport, ReadError, Treatment};

impl JobColumns {
    /// Every column that the map names.
    pub(super) fn names(&self) -> Vec<&str> {
        let optional = [
            &self.eligible,
            &self.assigned,
            &self.devices,
            &self.milli_per_device,
            &self.state,
            &self.name,
            &self.user,
            &self.account,
            &self.partition,
            &self.qos,
            &self.node_count,
            &self.nodes,
        ];
        [self.job.as_str(), &self.submit, &self.start, &self.end]
            .into_iter()
            .chain(optional.into_iter().filter_map(Option::as_deref))
            .collect()
    }
}

/// Where the mapped columns stand in this table.
struct Positions {
    job: usize,
    submit: usize,
    eligible: Option<usize>,
    assigned: Option<usize>,
    start: usize,
    end: usize,
    devices: Option<usize>,
    milli_per_device: Option<usize>,
    state: Option<usize>,
    name: Option<usize>,
    user: Option<usize>,
    account: Option<usize>,
    partition: Option<usize>,
    qos: Option<usize>,
    node_count: Option<usize>,
    nodes: Option<usize>,
}

impl Positions {
    fn new(reading: &Reading<'_>, columns: &JobColumns) -> Self {
        Self {
            job: reading.column(&columns.job),
            submit: reading.column(&columns.submit),
            eligible: reading.optional(&columns.eligible),
            assigned: reading.optional(&columns.assigned),
            start: reading.column(&columns.start),
            end: reading.column(&columns.end),
            devices: reading.optional(&columns.devices),
            milli_per_device: reading.optional(&columns.milli_per_device),
            state: reading.optional(&columns.state),
            name: reading.optional(&columns.name),
            user: reading.optional(&columns.user),
            account: reading.optional(&columns.account),
            partition: reading.optional(&columns.partition),
            qos: reading.optional(&columns.qos),
            node_count: reading.optional(&columns.node_count),
            nodes: reading.optional(&columns.nodes),
        }
    }
}

pub(super) fn read(
    reading: Reading<'_>,
    columns: &JobColumns,
    records: &mut FleetRecords,
) -> Result<FileReport, ReadError> {
    let positions = Positions::new(&reading, columns);
    let states = states(reading.label, columns)?;
    if positions.milli_per_device.is_some() {
        records.count_in_milli_devices();
    }
    let cluster = records.symbols.intern(&reading.map.cluster);
    let mut node_lists = NodeLists::default();
    reading.rows(|reading, row, line| {
        let job = reading.cell(row, Some(positions.job));
        let job = job.ok_or_else(|| reading.refusal(positions.job, "the job id is missing".to_owned()))?;
        let span = Span::read(reading, row, &positions)?;
        let devices = devices(reading, row, &positions, records.device_unit.per_device())?;
        let stated = positions.node_count.filter(|&column| reading.cell(row, Some(column)).is_some());
        let stated = stated.map(|column| {
            u32::try_from(reading.count(row, column)?)
                .map_err(|_| reading.refusal(column, "more nodes than a cluster has".to_owned()))
        });
        let stated = stated.transpose()?;
        let nodes = nodes(reading, row, line, &positions, &mut node_lists, records);
        let listed = u32::try_from(records.node_set(nodes).len()).unwrap_or(u32::MAX);
        let word = reading.cell(row, positions.state);
        let state = match word {
            None => span.state(),
            Some(word) => states.iter().find(|(known, _)| *known == word).map_or_else(
                || {
                    reading.report.find(Treatment::Noted, "unknown_state", line, "state", || {
                        format!("{word:?} is not in the map's states: kept as OTHER")
                    });
                    JobState::Other
                },
                |&(_, state)| state,
            ),
        };
        let job = records.symbols.intern(job);
        let mut text = |column| records.symbols.intern(reading.cell(row, column).unwrap_or_default());
        let attempt = Attempt {
            key: AttemptKey { cluster, job, submit: span.submit },
            display_id: job,
            name: text(positions.name),
            user: text(positions.user),
            account: text(positions.account),
            partition: text(positions.partition),
            qos: text(positions.qos),
            reservation: Symbol::EMPTY,
            state,
            eligible: Some(span.eligible),
            assigned: span.assigned,
            start: span.start,
            end: span.end,
            suspended_ns: 0,
            time_limit_ns: None,
            devices,
            node_count: stated.unwrap_or(listed),
            nodes,
            wait_reason: WaitReason::Eligible,
            source: SourceRef { file: reading.file, line },
        };
        records.attempts.push(attempt);
        Ok(())
    })
}

/// The instants of one attempt.
struct Span {
    submit: Timestamp,
    eligible: Timestamp,
    assigned: Option<Timestamp>,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
}

impl Span {
    fn read(reading: &mut Reading<'_>, row: &StringRecord, positions: &Positions) -> Result<Self, Refusal> {
        let submit = reading
            .instant(row, positions.submit)?
            .ok_or_else(|| reading.refusal(positions.submit, "the submit time is missing".to_owned()))?;
        let eligible = match positions.eligible {
            Some(column) => reading.instant(row, column)?,
            None => None,
        };
        let assigned = match positions.assigned {
            Some(column) => reading.instant(row, column)?,
            None => None,
        };
        let start = reading.instant(row, positions.start)?;
        let end = reading.instant(row, positions.end)?;
        if let (Some(start), Some(end)) = (start, end)
            && end < start
        {
            return Err(reading.refusal(positions.end, "the end is before the start".to_owned()));
        }
        if let (Some(column), Some(assigned), Some(start)) = (positions.assigned, assigned, start)
            && start < assigned
        {
            return Err(reading.refusal(column, "the first assignment is after the start".to_owned()));
        }
        Ok(Self { submit, eligible: eligible.unwrap_or(submit), assigned, start, end })
    }

    /// What the instants alone say about the state.
    fn state(&self) -> JobState {
        match (self.start, self.end) {
            (None, None) => JobState::Pending,
            (Some(_), None) => JobState::Running,
            (None, Some(_)) => JobState::Cancelled,
            (Some(_), Some(_)) => JobState::Other,
        }
    }
}

fn devices(
    reading: &Reading<'_>,
    row: &StringRecord,
    positions: &Positions,
    per_device: u32,
) -> Result<u64, Refusal> {
    let devices = positions.devices.map_or(Ok(1), |column| reading.count(row, column))?;
    let unit = match positions.milli_per_device {
        Some(column) if devices > 0 => reading.count(row, column)?,
        _ => per_device.into(),
    };
    Ok(devices.saturating_mul(unit))
}

fn nodes(
    reading: &mut Reading<'_>,
    row: &StringRecord,
    line: u32,
    positions: &Positions,
    node_lists: &mut NodeLists,
    records: &mut FleetRecords,
) -> NodeSet {
    let list = reading.cell(row, positions.nodes).unwrap_or_default();
    node_lists.set(list, records).unwrap_or_else(|error| {
        reading.report.find(Treatment::Repaired, "bad_node_list", line, "nodes", || {
            format!("{error}: the row is used without its nodes")
        });
        NodeSet::NONE
    })
}

/// The scheduler states of the source's words.
fn states<'m>(label: &str, columns: &'m JobColumns) -> Result<Vec<(&'m str, JobState)>, ReadError> {
    columns
        .states
        .iter()
        .map(|(word, state)| {
            let known = JOB_STATES.iter().find(|known| known.word() == state);
            known.map(|&state| (word.as_str(), state)).ok_or_else(|| ReadError::Format {
                path: label.to_owned(),
                line: 0,
                field: "states".to_owned(),
                message: format!("the map gives {word:?} the state {state:?}, which is none"),
                remedy: format!("use one of {}", JOB_STATES.map(JobState::word).join(", ")),
            })
        })
        .collect()
}

/// States that a map may name.
const JOB_STATES: [JobState; 15] = [
    JobState::Pending,
    JobState::Running,
    JobState::Completed,
    JobState::Cancelled,
    JobState::Failed,
    JobState::Timeout,
    JobState::NodeFail,
    JobState::Preempted,
    JobState::OutOfMemory,
    JobState::BootFail,
    JobState::Deadline,
    JobState::Requeued,
    JobState::Resizing,
    JobState::Suspended,
    JobState::Other,
];
