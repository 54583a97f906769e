//! The truth, read off what happened.

use std::collections::BTreeMap;

use super::machine::{History, Meeting};
use super::program::{Message, Work};
use super::record::{Activity, Hold, Holder, Record, Task};
use super::truth::{Charge, CollectiveTruth, EPOCH_NS, HostCause, RankTruth, StepTruth, Truth, WindowTruth};
use super::{Capture, Exchange, Scenario, SendMode};

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
            steps: books.steps(),
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

    fn is_whole(&self) -> bool {
        (self.from_ns, self.to_ns) == (i64::MIN, i64::MAX)
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
    fn steps(&self) -> Vec<StepTruth> {
        // The end of the device work of all steps so far.
        let mut reached_ns = None;
        let step = |step| {
            let before_ns = reached_ns;
            let ends_ns = self.record.tasks_of(step).iter().filter_map(|task| task.end_ns);
            reached_ns = ends_ns.max().max(before_ns);
            self.step(step, before_ns, reached_ns)
        };
        (0..self.scenario.steps).map(step).collect()
    }

    fn step(&self, step: u32, before_ns: Option<i64>, reached_ns: Option<i64>) -> StepTruth {
        let starts = &self.record.step_starts_ns;
        let (start_ns, end_ns) = (starts[step as usize], starts[step as usize + 1]);
        let own = self.record.tasks_of(step);
        let first_ns = || own.iter().map(|task| task.start_ns).min();
        let device_start_ns = before_ns.or_else(first_ns).unwrap_or(start_ns);
        let device_end_ns = reached_ns.unwrap_or(device_start_ns);
        let (from_ns, to_ns) = (start_ns.min(device_start_ns), end_ns.max(device_end_ns));
        let is_hidden = |task: &Task| {
            let overlaps = task.start_ns < to_ns && task.end_ns.is_none_or(|end_ns| end_ns > from_ns);
            overlaps && !self.capture.shows(task)
        };
        StepTruth {
            number: self.scenario.first_step + i64::from(step),
            is_whole: self.capture.is_whole()
                || (self.capture.covers(start_ns, end_ns) && !self.record.tasks.iter().any(is_hidden)),
            host: self.window(start_ns, end_ns),
            device: self.window(device_start_ns, device_end_ns),
            stretched_ns: own.iter().map(Task::stretched_ns).sum(),
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
        let activities = &self.record.activities;
        let first = activities.partition_point(|activity| activity.end_ns <= from);
        let during = activities[first..].iter().take_while(|activity| activity.start_ns < called_ns);
        for activity in during.filter(shown) {
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
