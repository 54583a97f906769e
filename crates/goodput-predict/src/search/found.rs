//! The list of the best, shared by all threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use super::{Candidate, Goal, Needs};

/// What is best.
#[derive(Debug, Clone, PartialEq)]
pub enum Rank {
    /// The shortest step: the earliest result for a given number of steps.
    Time,
    /// The least device-time a step: the cheapest result.
    DeviceTime,
    /// The earliest result.
    TimeToResult(Outlook),
}

/// What lies between a step time and a result: stated, not predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlook {
    /// Steps of the whole job.
    pub steps: f64,
    /// Wait in the queue before the job holds so many devices, ns; devices `None` stand for all that are not named.
    pub queue_wait_ns: Vec<(Option<u32>, f64)>,
    /// Share of the held time in retained steps, the same way; 1 when nothing is said.
    pub runtime_goodput: Vec<(Option<u32>, f64)>,
}

impl Outlook {
    fn of(stated: &[(Option<u32>, f64)], devices: u32) -> Option<f64> {
        let named = stated.iter().find(|(of, _)| *of == Some(devices));
        let value = named.or_else(|| stated.iter().find(|(of, _)| of.is_none()));
        value.map(|(_, value)| *value)
    }

    /// Time that the job holds its devices: steps x step time over runtime goodput.
    ///
    /// ```
    /// use goodput_predict::search::Outlook;
    /// let outlook = Outlook { steps: 1000.0, queue_wait_ns: vec![(None, 5e12)], runtime_goodput: vec![(None, 0.9), (Some(512), 0.8)] };
    /// assert_eq!(outlook.held_ns(4e9, 512), 5e12);
    /// assert_eq!(outlook.result_ns(4e9, 512), 10e12);
    /// ```
    #[must_use]
    pub fn held_ns(&self, step_ns: f64, devices: u32) -> f64 {
        self.steps * step_ns / Self::of(&self.runtime_goodput, devices).unwrap_or(1.0)
    }

    /// From now to the result.
    #[must_use]
    pub fn result_ns(&self, step_ns: f64, devices: u32) -> f64 {
        Self::of(&self.queue_wait_ns, devices).unwrap_or(0.0) + self.held_ns(step_ns, devices)
    }
}

impl Rank {
    /// Lower is better.
    pub fn score(&self, step_ns: f64, devices: u32) -> f64 {
        match self {
            Self::Time => step_ns,
            Self::DeviceTime => step_ns * f64::from(devices),
            Self::TimeToResult(outlook) => outlook.result_ns(step_ns, devices),
        }
    }
}

/// A candidate that can run.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The candidate.
    pub candidate: Candidate,
    /// What it takes.
    pub needs: Needs,
    /// Its place in the space.
    pub index: u64,
}

impl Found {
    /// Whether it is nowhere worse than a bound on another, and somewhere better or earlier in the space.
    fn dominates(&self, bound: Needs, devices: u32, index: u64) -> bool {
        let (ours, theirs) = (self.needs, bound);
        let nowhere_worse =
            ours.step_ns <= theirs.step_ns && ours.bytes <= theirs.bytes && self.candidate.devices <= devices;
        let better =
            ours.step_ns < theirs.step_ns || ours.bytes < theirs.bytes || self.candidate.devices < devices;
        nowhere_worse && (better || self.index < index)
    }
}

pub(super) struct Best {
    goal: Goal,
    top: Mutex<Vec<Found>>,
    /// Score of the last of a full list, as bits: positive floats order as their bits.
    worst: AtomicU64,
    pareto: RwLock<Vec<Found>>,
}

impl Best {
    pub fn new(goal: Goal) -> Self {
        let worst = if goal.top == 0 { 0.0 } else { f64::INFINITY };
        Self {
            top: Mutex::new(Vec::new()),
            worst: AtomicU64::new(f64::to_bits(worst)),
            pareto: RwLock::new(Vec::new()),
            goal,
        }
    }

    /// Whether nothing that needs at least so much can enter a list.
    pub fn beats(&self, bound: Needs, devices: u32, index: u64) -> bool {
        let score = self.goal.rank.score(bound.step_ns, devices);
        if score <= f64::from_bits(self.worst.load(Ordering::Relaxed)) {
            return false;
        }
        let dominated = || {
            let pareto = self.pareto.read().unwrap_or_else(PoisonError::into_inner);
            pareto.iter().any(|found| found.dominates(bound, devices, index))
        };
        !self.goal.pareto || dominated()
    }

    pub fn add(&self, needs: Needs, index: u64, candidate: Candidate) {
        let devices = candidate.devices;
        let found = Found { candidate, needs, index };
        if self.goal.pareto {
            let mut pareto = self.pareto.write().unwrap_or_else(PoisonError::into_inner);
            if !pareto.iter().any(|other| other.dominates(needs, devices, index)) {
                pareto.retain(|other| !found.dominates(other.needs, other.candidate.devices, other.index));
                pareto.push(found.clone());
            }
        }
        let order = |found: &Found| {
            (
                self.goal.rank.score(found.needs.step_ns, found.candidate.devices),
                found.needs.bytes,
                found.index,
            )
        };
        let mut top = self.top.lock().unwrap_or_else(PoisonError::into_inner);
        let place = top.partition_point(|other| order(other) < order(&found));
        if place < self.goal.top {
            top.insert(place, found);
            top.truncate(self.goal.top);
            if top.len() == self.goal.top
                && let Some(last) = top.last()
            {
                self.worst.store(order(last).0.to_bits(), Ordering::Relaxed);
            }
        }
    }

    pub fn into_lists(self) -> (Vec<Found>, Vec<Found>) {
        let top = self.top.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut pareto = self.pareto.into_inner().unwrap_or_else(PoisonError::into_inner);
        pareto.sort_by(|one, other| {
            one.needs.step_ns.total_cmp(&other.needs.step_ns).then(one.index.cmp(&other.index))
        });
        (top, pareto)
    }
}
