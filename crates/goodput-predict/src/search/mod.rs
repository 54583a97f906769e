//! Every layout that can be, and the best of them.
//!
//! A [`Space`] lists the families of layouts that a model, a batch and a number of devices allow: the degrees, the schedule and the
//! micro-batch. Each family holds the same degrees under every setting of the switches. An [`Evaluate`] bounds a family and a layout from
//! below, and predicts. Families are taken in the order of their bounds; what cannot beat what was found is never predicted, so that the
//! result is that of predicting everything.

mod constraint;
mod degrees;
mod floor;
mod found;
mod predicted;
mod refused;
mod shared;
mod space;

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::run::{Layout, Recompute, Run};

pub use constraint::BadConstraint;
pub use found::{Found, Outlook, Rank};
pub use predicted::Predicted;
pub use refused::{Refusal, Refused, Rule};
pub use shared::Shared;
pub use space::{Family, Space};

/// One way to run the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Devices.
    pub devices: u32,
    /// Degrees and switches.
    pub layout: Layout,
    /// What is computed again.
    pub recompute: Recompute,
    /// Sequences of a micro-batch.
    pub micro: u64,
}

impl Candidate {
    /// Writes itself into a run.
    pub fn apply(&self, run: &mut Run) {
        run.devices = self.devices;
        run.layout.clone_from(&self.layout);
        run.recompute = self.recompute;
        run.batch.micro = self.micro;
    }
}

/// What a candidate takes, or takes at least.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Needs {
    /// Time of a step.
    pub step_ns: f64,
    /// Memory of the rank that needs most.
    pub bytes: f64,
}

/// Bounds and predicts candidates.
pub trait Evaluate: Sync {
    /// Buffers of one thread.
    type Worker: Send;

    /// Buffers for one more thread.
    fn worker(&self) -> Self::Worker;

    /// What no candidate of the family goes below. The tighter, the fewer predictions; a bound that is too high loses answers.
    fn family_bound(&self, worker: &mut Self::Worker, family: &Family) -> Needs;

    /// What the candidate does not go below: real, and much cheaper than the prediction.
    ///
    /// # Errors
    /// Why it cannot run.
    fn lower_bound(&self, worker: &mut Self::Worker, candidate: &Candidate) -> Result<Needs, Refusal>;

    /// What the candidate takes.
    ///
    /// # Errors
    /// Why it cannot run.
    fn predict(&self, worker: &mut Self::Worker, candidate: &Candidate) -> Result<Needs, Refusal>;
}

/// How far a search has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Candidates of families that are through.
    pub done: u64,
    /// All candidates.
    pub candidates: u64,
    /// Of those done, how many were predicted.
    pub predicted: u64,
    /// Of those predicted, how many can run.
    pub feasible: u64,
    /// Of those done, how many do not fit in memory; the rest of those not feasible could not be better than what was found.
    pub too_large: u64,
    /// Of those done, how many have no kernel or no schedule.
    pub no_time: u64,
}

/// What to look for.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// How many of the best to keep.
    pub top: usize,
    /// What is best.
    pub rank: Rank,
    /// Whether to find all that no other beats in time, memory and devices at once. Prunes less.
    pub pareto: bool,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The best, in order; equal ones in the order of the space.
    pub best: Vec<Found>,
    /// The Pareto set by time, when asked for.
    pub pareto: Vec<Found>,
    /// What it took.
    pub progress: Progress,
}

/// Searches a space. `progress` is called after each family, from any thread.
pub fn search<E: Evaluate>(
    space: &Space,
    run: &Run,
    evaluate: &E,
    goal: Goal,
    progress: &(dyn Fn(Progress) + Sync),
) -> Answer {
    let families = space.families(run);
    let mut total = 0;
    let mut queue: Vec<(f64, Needs, u64, &Family)> = families
        .iter()
        .map(|family| {
            let first = total;
            total += space.candidates(family).count() as u64;
            (0.0, Needs::default(), first, family)
        })
        .collect();
    queue.par_iter_mut().for_each_init(
        || evaluate.worker(),
        |worker, (score, bound, _, family)| {
            *bound = evaluate.family_bound(worker, family);
            *score = goal.rank.score(bound.step_ns, family.devices);
        },
    );
    queue.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.2.cmp(&other.2)));

    let best = found::Best::new(goal);
    let counts = [const { AtomicUsize::new(0) }; 5];
    let next = AtomicUsize::new(0);
    let add = |at: usize, count: usize| counts[at].fetch_add(count, Ordering::Relaxed) + count;
    let work = || {
        let mut worker = evaluate.worker();
        while let Some((_, bound, first, family)) = queue.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (mut all, mut predicted, mut feasible, mut too_large, mut no_time) = (0, 0, 0, 0, 0);
            let mut refuse = |refusal| match refusal {
                Refusal::Memory => too_large += 1,
                Refusal::NoTime => no_time += 1,
            };
            let skip = best.beats(*bound, family.devices, *first);
            for (at, candidate) in space.candidates(family).enumerate() {
                all += 1;
                let index = first + at as u64;
                if skip {
                    continue;
                }
                match evaluate.lower_bound(&mut worker, &candidate) {
                    Ok(bound) if best.beats(bound, family.devices, index) => continue,
                    Ok(_) => predicted += 1,
                    Err(refusal) => {
                        refuse(refusal);
                        continue;
                    }
                }
                match evaluate.predict(&mut worker, &candidate) {
                    Ok(needs) => {
                        feasible += 1;
                        best.add(needs, index, candidate);
                    }
                    Err(refusal) => refuse(refusal),
                }
            }
            let [done, predicted, feasible, too_large, no_time] =
                [add(0, all), add(1, predicted), add(2, feasible), add(3, too_large), add(4, no_time)]
                    .map(|count| count as u64);
            progress(Progress { done, candidates: total, predicted, feasible, too_large, no_time });
        }
    };
    rayon::scope(|scope| {
        for _ in 0..rayon::current_num_threads() {
            scope.spawn(|_| work());
        }
    });
    let [done, predicted, feasible, too_large, no_time] =
        [0, 1, 2, 3, 4].map(|at: usize| counts[at].load(Ordering::Relaxed) as u64);
    let (best, pareto) = best.into_lists();
    let progress = Progress { done, candidates: total, predicted, feasible, too_large, no_time };
    Answer { best, pareto, progress }
}
