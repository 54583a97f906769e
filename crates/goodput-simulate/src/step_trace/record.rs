//! What happened on one rank, in true time since the job began. The trace is written from it, and the truth.

use super::HostCause;
use super::program::{Launch, Stream, Work};

/// Everything that happened on a rank.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// Device work in the order of its launch.
    pub tasks: Vec<Task>,
    /// Start of each step, and the end of the last.
    pub step_starts_ns: Vec<i64>,
    /// What the host did other than dispatch: disjoint, in order.
    pub activities: Vec<Activity>,
    /// Calls of `cudaStreamWaitEvent`.
    pub waits: Vec<WaitCall>,
    /// Who held the device, gapless from the start to the end of the last work.
    pub holds: Vec<Hold>,
}

impl Record {
    /// Device work launched in a step.
    pub(super) fn tasks_of(&self, step: u32) -> &[Task] {
        let from = self.tasks.partition_point(|task| task.step < step);
        let to = self.tasks.partition_point(|task| task.step <= step);
        &self.tasks[from..to]
    }

    /// Work starts now. If it ends an idle interval, that waited for it; of several for the one launched first.
    pub(super) fn wakes(&mut self, task: usize, now: i64) {
        let Some(hold) = self.holds.last_mut().filter(|hold| hold.end_ns == now) else { return };
        if let Holder::Idle { until } = &mut hold.by {
            *until = Some(until.map_or(task, |other| other.min(task)));
        }
    }
}

/// A piece of device work.
#[derive(Debug)]
pub(super) struct Task {
    pub launch: Launch,
    /// The step it was launched in, counted from zero.
    pub step: u32,
    /// Start of the operator.
    pub operator_ns: i64,
    /// Start of the runtime call.
    pub call_ns: i64,
    /// End of call and operator.
    pub returned_ns: i64,
    /// Earliest start on the device.
    pub ready_ns: i64,
    /// Work of other streams that must have ended.
    pub after: Vec<usize>,
    /// The last call that made it wait for another stream.
    pub wait_call: Option<(i64, i64)>,
    /// Ties call and work together.
    pub correlation: u64,
    /// Number of the exchange among those of its group, or of its sender and receiver.
    pub sequence: u64,
    /// Index of the exchange.
    pub exchange: Option<usize>,
    pub start_ns: i64,
    /// `None` until it has ended.
    pub end_ns: Option<i64>,
}

impl Task {
    /// How much longer it ran than it would have alone.
    pub(super) fn stretched_ns(&self) -> i64 {
        match self.launch.work {
            Work::Compute { ns, .. } => self.end_ns.unwrap_or(self.start_ns) - self.start_ns - ns,
            _ => 0,
        }
    }
}

/// Something that the host did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Activity {
    pub cause: HostCause,
    pub start_ns: i64,
    pub end_ns: i64,
}

/// A call of `cudaStreamWaitEvent`.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitCall {
    pub start_ns: i64,
    pub end_ns: i64,
    pub stream: Stream,
    pub on: Stream,
    pub correlation: u64,
}

/// Who held the device in an interval: work that computes before exchanges, these before copies and fills.
#[derive(Debug, Clone)]
pub(super) struct Hold {
    pub start_ns: i64,
    pub end_ns: i64,
    pub by: Holder,
}

/// Who held the device.
#[derive(Debug, Clone)]
pub(super) enum Holder {
    /// A kernel that computes, a copy or a fill: of several the one that started first.
    Task(usize),
    /// Exchanges, in the order of their start, and whether each still waited for its peers.
    Exchanges(Vec<(usize, bool)>),
    /// Nobody, until this work started.
    Idle { until: Option<usize> },
}
