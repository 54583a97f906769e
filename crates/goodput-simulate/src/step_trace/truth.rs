//! What an analysis of the traces must find, from the simulation's own books.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::machine::{History, Meeting};
use super::program::{Message, Work};
use super::record::{Activity, Hold, Holder, Record, Task};
use super::{Capture, Exchange, Operation, Scenario, SendMode};

/// When the simulated job begins: 2026-05-28T20:26:40Z.
pub(super) const EPOCH_NS: i64 = 1_780_000_000_000_000_000;

/// What a nanosecond of a rank's device is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Charge {
    /// A kernel that computes.
    Compute(Operation),
    /// Exposed communication that moves data.
    Transfer(Exchange),
    /// Exposed communication before the last of the group has come; a send before its receiver has.
    PeerWait,
    /// A receive before its sender has come.
    Bubble,
    /// Exposed communication of which not every member's trace shows the exchange.
    NotSplit(Exchange),
    /// An exposed copy.
    Copy,
    /// An exposed fill.
    Fill,
    /// Nothing was queued.
    HostLate(HostCause),
    /// Queued, and not yet started.
    LaunchLatency,
    /// Launched before the device fell idle, and told to wait for another stream.
    StreamDependency,
    /// Idle before work whose launch the trace does not show, or at the end of the window.
    Unattributed,
}

/// What the host did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostCause {
    /// Waited for the next batch.
    DataLoader,
    /// Waited for the device.
    HostSync,
    /// Ran the optimizer.
    Optimizer,
    /// Asked the driver for memory.
    Allocator,
    /// Dispatched operators.
    Dispatch,
}

impl HostCause {
    /// The word used in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::DataLoader => "data_loader",
            Self::HostSync => "host_sync",
            Self::Optimizer => "optimizer",
            Self::Allocator => "allocator",
            Self::Dispatch => "dispatch",
        }
    }
}

impl Charge {
    /// The key used in JSON.
    pub fn key(self) -> String {
        match self {
            Self::Compute(operation) => format!("compute_{}_ns", operation.key()),
            Self::Transfer(exchange) => format!("transfer_{}_ns", exchange.key()),
            Self::PeerWait => "peer_wait_ns".to_owned(),
            Self::Bubble => "bubble_ns".to_owned(),
            Self::NotSplit(exchange) => format!("not_split_{}_ns", exchange.key()),
            Self::Copy => "copy_ns".to_owned(),
            Self::Fill => "fill_ns".to_owned(),
            Self::HostLate(cause) => format!("host_late_{}_ns", cause.key()),
            Self::LaunchLatency => "launch_latency_ns".to_owned(),
            Self::StreamDependency => "stream_dependency_ns".to_owned(),
            Self::Unattributed => "unattributed_ns".to_owned(),
        }
    }
}

/// What the traces of a job must tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth {
    /// Name of the scenario.
    pub scenario: String,
    /// Its seed.
    pub seed: u64,
    /// The ranks, traced or not.
    pub ranks: Vec<RankTruth>,
    /// Collectives (no sends and receives) that every member's trace shows.
    pub collectives: Vec<CollectiveTruth>,
}

/// One rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankTruth {
    /// The rank.
    pub rank: u32,
    /// Whether there is a trace of it.
    pub is_traced: bool,
    /// What its clock shows above the true time.
    pub clock_offset_ns: i64,
    /// Start skew of the collectives that it started last.
    pub blame_ns: i64,
    /// Its steps.
    pub steps: Vec<StepTruth>,
}

/// One step of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepTruth {
    /// Its number.
    pub number: i64,
    /// Whether the trace shows everything in it.
    pub is_whole: bool,
    /// From the start of the step on the host to the start of the next.
    pub host: WindowTruth,
    /// From the end of the device work launched in steps before to the end of the device work launched in this one;
    /// for the first step from the start of its device work.
    pub device: WindowTruth,
    /// How much longer its computing kernels ran because communication ran beside them.
    pub stretched_ns: i64,
}

/// An interval and what its nanoseconds are charged to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowTruth {
    /// Start on the rank's own clock, nanoseconds since 1970.
    pub start_ns: i64,
    /// End on the rank's own clock.
    pub end_ns: i64,
    /// Charges in nanoseconds; they sum to the window.
    pub charges: BTreeMap<Charge, i64>,
}

/// One collective of all its ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectiveTruth {
    /// Name of the process group.
    pub group: String,
    /// Its members.
    pub ranks: Vec<u32>,
    /// Number within the group.
    pub sequence: u64,
    /// Which exchange.
    pub exchange: Exchange,
    /// First to last start.
    pub skew_ns: i64,
    /// The rank that started last; of several the lowest.
    pub last_rank: u32,
}

/// Reads the truth off the books.
pub(super) fn truth(scenario: &Scenario, history: &History) -> Truth {
    let collectives = collectives(scenario, history);
    let ranks = (0..scenario.layout.ranks()).zip(&history.records).map(|(rank, record)| {
        let books = Books { scenario, history, rank, record, capture: scenario.capture(rank) };
        RankTruth {
            rank,
            is_traced: !scenario.missing_ranks.contains(&rank),
            clock_offset_ns: scenario.clock_offset_ns(rank),
            blame_ns: collectives.iter().filter(|c| c.last_rank == rank).map(|c| c.skew_ns).sum(),
            steps: (0..scenario.steps).map(|step| books.step(step)).collect(),
        }
    });
    Truth { scenario: scenario.name.clone(), seed: scenario.seed, ranks: ranks.collect(), collectives }
}

fn collectives(scenario: &Scenario, history: &History) -> Vec<CollectiveTruth> {
    let is_collective = |m: &&Meeting| matches!(m.exchange, Exchange::AllReduce | Exchange::AllToAll);
    let meetings = history.meetings.iter().filter(is_collective);
    let shown = meetings.filter(|meeting| is_shown_by_all(scenario, history, meeting));
    let truth = shown.filter_map(|meeting| {
        let first_ns = meeting.arrivals.iter().map(|&(.., ns)| ns).min()?;
        let last_ns = meeting.arrivals.iter().map(|&(.., ns)| ns).max()?;
        let last =
            meeting.arrivals.iter().filter(|&&(.., ns)| ns == last_ns).map(|&(rank, ..)| rank).min()?;
        Some(CollectiveTruth {
            group: group_name(meeting.group),
            ranks: history.groups[meeting.group].ranks.clone(),
            sequence: meeting.sequence,
            exchange: meeting.exchange,
            skew_ns: last_ns - first_ns,
            last_rank: u32::try_from(last).ok()?,
        })
    });
    truth.collect()
}

/// Name of a process group: group 0 is the whole job.
pub(super) fn group_name(group: usize) -> String {
    (group + 1).to_string()
}

fn is_shown_by_all(scenario: &Scenario, history: &History, meeting: &Meeting) -> bool {
    meeting.arrivals.iter().all(|&(rank, task, _)| {
        let Ok(number) = u32::try_from(rank) else { return false };
        !scenario.missing_ranks.contains(&number)
            && scenario.capture(number).shows(&history.records[rank].tasks[task])
    })
}

impl Capture {
    /// Whether the trace shows a piece of device work.
    pub(super) fn shows(&self, task: &Task) -> bool {
        self.covers(task.start_ns, task.end_ns.unwrap_or(i64::MAX))
    }

    /// Whether the trace shows a host event.
    pub(super) fn covers(&self, start_ns: i64, end_ns: i64) -> bool {
        self.from_ns <= start_ns && end_ns <= self.to_ns
    }
}

/// The books of one rank.
struct Books<'a> {
    scenario: &'a Scenario,
    history: &'a History,
    rank: u32,
    record: &'a Record,
    capture: Capture,
}

impl Books<'_> {
    fn step(&self, step: u32) -> StepTruth {
        let starts = &self.record.step_starts_ns;
        let (start_ns, end_ns) = (starts[step as usize], starts[step as usize + 1]);
        let ends =
            |last: u32| self.record.tasks.iter().filter(move |t| t.step <= last).filter_map(|t| t.end_ns);
        let before_ns = step.checked_sub(1).and_then(|before| ends(before).max());
        let first_ns = || self.record.tasks.iter().filter(|t| t.step == step).map(|t| t.start_ns).min();
        let device_start_ns = before_ns.or_else(first_ns).unwrap_or(start_ns);
        let device_end_ns = ends(step).max().unwrap_or(device_start_ns);
        let (from_ns, to_ns) = (start_ns.min(device_start_ns), end_ns.max(device_end_ns));
        let is_hidden = |task: &Task| {
            let overlaps = task.start_ns < to_ns && task.end_ns.is_none_or(|end_ns| end_ns > from_ns);
            overlaps && !self.capture.shows(task)
        };
        StepTruth {
            number: self.scenario.first_step + i64::from(step),
            is_whole: self.capture.covers(start_ns, end_ns) && !self.record.tasks.iter().any(is_hidden),
            host: self.window(start_ns, end_ns),
            device: self.window(device_start_ns, device_end_ns),
            stretched_ns: self.record.tasks.iter().filter(|t| t.step == step).map(Task::stretched_ns).sum(),
        }
    }

    fn window(&self, start_ns: i64, end_ns: i64) -> WindowTruth {
        let mut charges = BTreeMap::new();
        let mut charge = |charge, ns: i64| {
            if ns > 0 {
                *charges.entry(charge).or_default() += ns;
            }
        };
        let holds = &self.record.holds;
        let mut booked_ns = start_ns;
        for hold in &holds[holds.partition_point(|hold| hold.end_ns <= start_ns)..] {
            if hold.start_ns >= end_ns {
                break;
            }
            let (from, to) = (hold.start_ns.max(start_ns), hold.end_ns.min(end_ns));
            booked_ns = to;
            match &hold.by {
                Holder::Task(task) => charge(self.work(*task), to - from),
                Holder::Exchanges(running) => charge(self.exchange(running), to - from),
                Holder::Idle { until } => self.idle(hold, *until, from, to, &mut charge),
            }
        }
        charge(Charge::Unattributed, end_ns - booked_ns);
        let offset_ns = EPOCH_NS + self.scenario.clock_offset_ns(self.rank);
        WindowTruth { start_ns: start_ns + offset_ns, end_ns: end_ns + offset_ns, charges }
    }

    fn work(&self, task: usize) -> Charge {
        match self.record.tasks[task].launch.work {
            Work::Compute { operation, .. } => Charge::Compute(operation),
            Work::Fill { .. } => Charge::Fill,
            Work::Copy { .. } | Work::Exchange(_) => Charge::Copy,
        }
    }

    /// Of exchanges at one time what moves data goes first, then what is not split, then what waits.
    fn exchange(&self, running: &[(usize, bool)]) -> Charge {
        let ranked = running.iter().filter_map(|&(task, waits)| {
            let task = &self.record.tasks[task];
            let meeting = &self.history.meetings[task.exchange?];
            let Work::Exchange(Message { exchange, .. }) = task.launch.work else { return None };
            let moves_ns = meeting.complete_ns.unwrap_or(task.start_ns).max(task.start_ns);
            Some(match exchange {
                _ if !is_shown_by_all(self.scenario, self.history, meeting) => {
                    ((1, task.start_ns), Charge::NotSplit(exchange))
                }
                Exchange::Receive if waits => ((2, task.start_ns), Charge::Bubble),
                _ if waits => ((2, task.start_ns), Charge::PeerWait),
                Exchange::Send if self.scenario.network.send == SendMode::Buffered => {
                    ((0, task.start_ns), Charge::Transfer(exchange))
                }
                _ => ((0, moves_ns), Charge::Transfer(exchange)),
            })
        });
        ranked.min_by_key(|(rank, _)| *rank).map_or(Charge::Unattributed, |(_, charge)| charge)
    }

    /// Charges `[from, to)` of an idle interval.
    fn idle(
        &self,
        hold: &Hold,
        until: Option<usize>,
        from: i64,
        to: i64,
        charge: &mut impl FnMut(Charge, i64),
    ) {
        let next = until.map(|task| &self.record.tasks[task]);
        let shown = |task: &&Task| self.capture.covers(task.call_ns, task.returned_ns);
        let Some(next) = next.filter(shown).filter(|_| hold.end_ns == to) else {
            return charge(Charge::Unattributed, to - from);
        };
        let called_ns = next.call_ns.clamp(from, to);
        let mut dispatch_ns = called_ns - from;
        let shown = |activity: &&Activity| self.capture.covers(activity.start_ns, activity.end_ns);
        for activity in self.record.activities.iter().filter(shown) {
            let ns = activity.end_ns.min(called_ns) - activity.start_ns.max(from);
            if ns > 0 {
                charge(Charge::HostLate(activity.cause), ns);
                dispatch_ns -= ns;
            }
        }
        charge(Charge::HostLate(HostCause::Dispatch), dispatch_ns);
        let is_linked =
            next.wait_call.is_some_and(|(start_ns, end_ns)| self.capture.covers(start_ns, end_ns));
        let depends = is_linked && next.call_ns <= from;
        let queued = if depends { Charge::StreamDependency } else { Charge::LaunchLatency };
        charge(queued, to - called_ns);
    }
}

impl WindowTruth {
    /// Nanoseconds of the charges that `is_wanted`.
    pub fn sum_ns(&self, is_wanted: impl Fn(Charge) -> bool) -> i64 {
        self.charges.iter().filter(|(charge, _)| is_wanted(**charge)).map(|(_, ns)| ns).sum()
    }

    fn to_json(&self) -> Value {
        let charges: Map<_, _> = self.charges.iter().map(|(charge, ns)| (charge.key(), json!(ns))).collect();
        json!({"start_ns": self.start_ns, "end_ns": self.end_ns, "charges": charges})
    }
}

impl Truth {
    /// The text of `truth.json`.
    pub fn to_json(&self) -> String {
        let step = |step: &StepTruth| {
            json!({
                "step": step.number, "whole": step.is_whole, "stretched_ns": step.stretched_ns,
                "host": step.host.to_json(), "device": step.device.to_json(),
            })
        };
        let rank = |rank: &RankTruth| {
            json!({
                "rank": rank.rank, "traced": rank.is_traced, "clock_offset_ns": rank.clock_offset_ns,
                "blame_ns": rank.blame_ns, "steps": rank.steps.iter().map(step).collect::<Vec<_>>(),
            })
        };
        let document = json!({
            "schema": "goodput.step-trace-truth/1",
            "scenario": self.scenario,
            "seed": self.seed,
            "ranks": self.ranks.iter().map(rank).collect::<Vec<_>>(),
        });
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        text
    }
}
