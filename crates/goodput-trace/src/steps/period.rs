//! The period of the sequence of kernel names: steps of a trace that marks none.
//!
//! Lags at which short runs of names recur are the candidates; the autocorrelation of the names at each decides.

use std::hash::Hasher;

use goodput_core::records::Symbol;
use rustc_hash::{FxHashMap, FxHasher};

use super::marks::Mark;
use crate::trace::{DeviceWork, RankTrace};

/// How a sequence of kernels repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Kernels in one period, on the stream that has most.
    pub kernels: usize,
    /// Kernels that have the name of the one a period earlier.
    pub repeated: usize,
    /// Kernels that have one a period earlier.
    pub compared: usize,
}

impl Period {
    /// Fewer kernels make no step.
    pub const FEWEST_KERNELS: usize = 5;
    /// Fewer repetitions are no period.
    pub const FEWEST_TIMES: usize = 3;
    /// Share of the kernels that must repeat.
    pub const REPEATED: f64 = 0.9;
    /// A shorter lag that repeats this much less is taken: the layers of a model repeat less well than its steps, the
    /// multiples of a step no better.
    const SHORTER: f64 = 0.005;
    /// Candidate lags that are tried.
    const CANDIDATES: usize = 64;
    /// Names in a run that is looked for.
    const RUN: usize = 8;

    fn share(self) -> f64 {
        self.repeated as f64 / self.compared as f64
    }
}

/// The period of the trace, and a mark at each.
pub(super) fn find(trace: &RankTrace) -> Option<(Period, Vec<Mark>)> {
    let work = busiest_stream(trace);
    let names: Vec<Symbol> = work.iter().map(|work| work.name).collect();
    let runs = runs(&names);
    let period = period(&names, &runs)?;
    let mut starts = anchor(&work, &runs, period.kernels);
    // Set-up before the first period may hold the same run of names by chance.
    let stretches: Vec<&[Symbol]> = starts.windows(2).map(|at| &names[at[0]..at[1]]).collect();
    let usual = *stretches.get(stretches.len() / 2)?;
    let set_up = stretches.iter().take_while(|stretch| !alike(stretch, usual)).count();
    starts.drain(..set_up);
    let end_ns = trace.device_window()?.1;
    let marks = starts
        .iter()
        .enumerate()
        .map(|(index, &start)| Mark {
            number: None,
            name: Symbol::EMPTY,
            start_ns: work[start].start_ns,
            end_ns: starts.get(index + 1).map_or(end_ns, |&next| work[next].start_ns),
        })
        .collect();
    Some((period, marks))
}

/// The work of the stream that has most of it.
fn busiest_stream(trace: &RankTrace) -> Vec<DeviceWork> {
    let mut counts = vec![0_usize; trace.streams.len()];
    for work in &trace.work {
        counts[work.stream as usize] += 1;
    }
    let busiest = (0..counts.len()).max_by_key(|&stream| (counts[stream], std::cmp::Reverse(stream)));
    trace.work.iter().filter(|work| Some(work.stream as usize) == busiest).copied().collect()
}

/// A hash of the names from each position on.
fn runs(names: &[Symbol]) -> Vec<u64> {
    let hash = |run: &[Symbol]| {
        let mut hasher = FxHasher::default();
        run.iter().for_each(|name| hasher.write_usize(name.index()));
        hasher.finish()
    };
    names.windows(Period::RUN).map(hash).collect()
}

/// Whether two stretches have more than half of their names in common, in whatever order.
fn alike(one: &[Symbol], other: &[Symbol]) -> bool {
    let mut counts: FxHashMap<Symbol, i64> = FxHashMap::default();
    one.iter().for_each(|&name| *counts.entry(name).or_default() += 1);
    let mut is_common = |name: &Symbol| match counts.get_mut(name) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    };
    other.iter().filter(|name| is_common(name)).count() * 2 > one.len().max(other.len())
}

fn period(names: &[Symbol], runs: &[u64]) -> Option<Period> {
    let mut last: FxHashMap<u64, usize> = FxHashMap::default();
    let mut lags: FxHashMap<usize, usize> = FxHashMap::default();
    for (at, &run) in runs.iter().enumerate() {
        if let Some(before) = last.insert(run, at) {
            *lags.entry(at - before).or_default() += 1;
        }
    }
    let longest = names.len() / Period::FEWEST_TIMES;
    let mut lags: Vec<_> =
        lags.into_iter().filter(|(lag, _)| (Period::FEWEST_KERNELS..=longest).contains(lag)).collect();
    lags.sort_unstable_by_key(|&(lag, times)| (std::cmp::Reverse(times), lag));
    let candidates: Vec<Period> = lags
        .iter()
        .take(Period::CANDIDATES)
        .map(|&(kernels, _)| {
            let pairs = names.iter().zip(&names[kernels..]);
            let repeated = pairs.filter(|(earlier, later)| earlier == later).count();
            Period { kernels, repeated, compared: names.len() - kernels }
        })
        .collect();
    let best = candidates.iter().map(|period| period.share()).fold(0.0, f64::max);
    let good = (best - Period::SHORTER).max(Period::REPEATED);
    candidates.into_iter().filter(|period| period.share() >= good).min_by_key(|period| period.kernels)
}

/// Where the periods begin. A capture of whole periods began with one, as profilers do. Else at the run of names that
/// occurs once in each and has the longest idle time before it, since the host waits between steps rather than within.
fn anchor(work: &[DeviceWork], runs: &[u64], kernels: usize) -> Vec<usize> {
    if work.len().is_multiple_of(kernels) {
        return (0..work.len()).step_by(kernels).collect();
    }
    let mut positions: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    for (at, &run) in runs.iter().enumerate() {
        positions.entry(run).or_default().push(at);
    }
    let once_each = |at: &Vec<usize>| {
        at.len() + 1 >= work.len() / kernels
            && at[0] < kernels * 3 / 2
            && at.windows(2).all(|pair| (kernels / 2..=kernels * 3 / 2).contains(&(pair[1] - pair[0])))
    };
    let idle_ns = |at: &usize| match at.checked_sub(1) {
        Some(before) => (work[*at].start_ns - work[before].end_ns).max(0),
        None => 0,
    };
    let idle_before = |at: &Vec<usize>| (at.iter().map(idle_ns).sum::<i64>(), std::cmp::Reverse(at[0]));
    let best = positions.into_values().filter(once_each).max_by_key(idle_before);
    best.unwrap_or_else(|| (0..work.len()).step_by(kernels).collect())
}
