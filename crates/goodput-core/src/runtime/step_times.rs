//! Percentiles of step durations.

use rustc_hash::FxHashMap;

use super::account::{RankTimes, StepTimes};
use crate::records::{RankSample, Symbols};

impl StepTimes {
    /// Exact percentiles (nearest rank) of `durations_ns`, which it reorders.
    pub(super) fn of(durations_ns: &mut [i64]) -> Self {
        let count = durations_ns.len();
        if count == 0 {
            return Self::default();
        }
        // Nearest rank: the smallest value that at least p percent of the values do not exceed. Each
        // selection leaves everything larger to its right, where the next one looks.
        let rank = |percent: usize| (count * percent).div_ceil(100).max(1) - 1;
        let mut from = 0;
        let mut select = |percent: usize| {
            let at = rank(percent);
            let value = *durations_ns[from..].select_nth_unstable(at - from).1;
            from = at;
            value
        };
        Self {
            count: count as u64,
            p50_ns: select(50),
            p90_ns: select(90),
            p99_ns: select(99),
            max_ns: select(100),
        }
    }
}

impl RankTimes {
    /// Per-rank times; `None` when no rank logged.
    pub(super) fn of(samples: &[RankSample], symbols: &Symbols) -> Option<Self> {
        // Where a rank last ran, and its durations.
        let mut by_rank: FxHashMap<u32, (&RankSample, Vec<i64>)> = FxHashMap::default();
        for sample in samples {
            let rank = by_rank.entry(sample.rank).or_insert((sample, Vec::new()));
            rank.0 = sample;
            rank.1.push(sample.duration_ns);
        }
        let mut medians: Vec<(i64, &RankSample)> = by_rank
            .values_mut()
            .map(|(sample, durations)| (StepTimes::of(durations).p50_ns, *sample))
            .collect();
        // Of equally slow ranks the lowest is named.
        medians.sort_unstable_by_key(|&(p50_ns, sample)| (p50_ns, std::cmp::Reverse(sample.rank)));
        let &(slowest_p50_ns, slowest) = medians.last()?;
        let over_all = |figure: fn(&RankSample) -> i64| {
            StepTimes::of(&mut samples.iter().map(figure).collect::<Vec<i64>>())
        };
        Some(Self {
            all: over_all(|s| s.duration_ns),
            input_wait: over_all(|s| s.input_wait_ns),
            ranks: medians.len() as u64,
            slowest_rank: slowest.rank,
            slowest_host: symbols.get(slowest.host).to_owned(),
            slowest_device: slowest.device,
            slowest_p50_ns,
            typical_p50_ns: medians[(medians.len() - 1) / 2].0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut durations: Vec<i64> = (1..=1000).rev().collect();
        let times = StepTimes::of(&mut durations);
        assert_eq!(times, StepTimes { count: 1000, p50_ns: 500, p90_ns: 900, p99_ns: 990, max_ns: 1000 });
        assert_eq!(
            StepTimes::of(&mut [7]),
            StepTimes { count: 1, p50_ns: 7, p90_ns: 7, p99_ns: 7, max_ns: 7 }
        );
    }

    #[test]
    fn the_slowest_rank_is_named_with_its_host() {
        let mut symbols = Symbols::new();
        let hosts = [symbols.intern("n0"), symbols.intern("n1")];
        let sample = |step, rank: u32, duration_ns| RankSample {
            step,
            rank,
            host: hosts[rank as usize % 2],
            device: Some(rank / 2),
            duration_ns,
            input_wait_ns: i64::from(rank),
        };
        let samples: Vec<_> = (0..5)
            .flat_map(|step| (0..4).map(move |rank| (step, rank)))
            .map(|(step, rank)| sample(step, rank, if rank == 3 { 120 } else { 100 }))
            .collect();
        let times = RankTimes::of(&samples, &symbols).unwrap();
        assert_eq!((times.slowest_rank, times.slowest_host.as_str(), times.slowest_p50_ns), (3, "n1", 120));
        assert_eq!((times.typical_p50_ns, times.ranks, times.all.count), (100, 4, 20));
        assert_eq!((times.slowest_device, times.input_wait.p50_ns, times.input_wait.max_ns), (Some(1), 1, 3));
    }
}
