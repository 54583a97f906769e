//! Held time and wall time of a job, drawn: failures, preemptions and queue waits at random, saves on their cadence.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::run::{Eviction, JobRun};

/// A stream of draws, the same for the same seed on every machine.
pub(super) struct Draws(ChaCha8Rng);

impl Draws {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform in `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }

    /// Standard normal (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Poisson: counted arrivals for small means, the normal limit above.
    fn poisson(&mut self, mean: f64) -> f64 {
        const COUNTED: f64 = 64.0;
        if mean > COUNTED {
            return (mean + mean.sqrt() * self.normal()).round().max(0.0);
        }
        let (mut count, mut at) = (0.0, self.exponential(1.0));
        while at < mean {
            count += 1.0;
            at += self.exponential(1.0);
        }
        count
    }
}

/// The wait before the first start.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum QueueWait {
    Fixed(f64),
    /// Waits as they were, each as likely.
    Empirical(Vec<f64>),
    /// Log-normal by its median and the standard deviation of the logarithm.
    LogNormal {
        median_s: f64,
        sigma: f64,
    },
}

impl QueueWait {
    pub fn draw(&self, draws: &mut Draws) -> f64 {
        match self {
            Self::Fixed(seconds) => *seconds,
            Self::Empirical(waits) => {
                waits[((draws.uniform() * waits.len() as f64) as usize).min(waits.len() - 1)]
            }
            Self::LogNormal { median_s, sigma } => median_s * (sigma * draws.normal()).exp(),
        }
    }

    pub fn mean_s(&self) -> f64 {
        match self {
            Self::Fixed(seconds) => *seconds,
            Self::Empirical(waits) => waits.iter().sum::<f64>() / waits.len() as f64,
            Self::LogNormal { median_s, sigma } => median_s * (sigma * sigma / 2.0).exp(),
        }
    }
}

/// One draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Finished {
    /// From submission.
    pub wall_s: f64,
    /// Holding the devices.
    pub held_s: f64,
}

/// A job with this much fault-free training ahead of it.
pub(super) struct Job<'a> {
    pub run: &'a JobRun,
    pub interval_s: Option<f64>,
    /// Seconds of training at the fault-free pace, input ready.
    pub work_s: f64,
    pub wait: &'a QueueWait,
    /// Failures at these held times instead of at random.
    pub failures_at_s: Option<&'a [f64]>,
}

/// More rollbacks than this in one draw, and the job is taken never to finish.
const MOST_ROLLBACKS: u64 = 1_000_000;

impl Job<'_> {
    /// One life of the job. An attempt starts at a durable generation; an interruption after `x` held seconds keeps the
    /// whole cycles in `x`, one less when the last was not durable yet.
    pub fn finish(&self, draws: &mut Draws) -> Finished {
        let run = self.run;
        let waited_s = self.wait.draw(draws);
        let steady_s =
            self.work_s / (1.0 - run.input_wait).max(f64::MIN_POSITIVE) / run.pace(self.interval_s);
        let (interval_s, cycle_s) = match self.interval_s {
            Some(interval_s) => (interval_s, interval_s + run.pause_s),
            None => (f64::INFINITY, f64::INFINITY),
        };
        let failures_per_s = if self.failures_at_s.is_some() { 0.0 } else { run.failures_per_s };
        let (evictions_per_s, restart_s) = match run.eviction {
            Eviction::RollsBack(restart_s) => (run.evictions_per_s, restart_s),
            Eviction::Costs(_) => (0.0, 0.0),
        };
        let rate = failures_per_s + evictions_per_s;
        let mut listed = self.failures_at_s.unwrap_or_default().iter().copied().peekable();
        let mut held_s = run.startup_s;
        let mut left_s = steady_s;
        let mut requeues = 0.0;
        for rollbacks in 0.. {
            let random_s = if rate > 0.0 { draws.exponential(rate.recip()) } else { f64::INFINITY };
            while listed.peek().is_some_and(|at| *at < held_s) {
                listed.next();
            }
            let listed_s = listed.peek().map_or(f64::INFINITY, |at| at - held_s);
            let up_s = random_s.min(listed_s);
            if up_s >= left_s {
                // The last stretch ends with its own save: what no commit holds is not retained.
                let saves = if interval_s.is_finite() { (left_s / interval_s).ceil() } else { 0.0 };
                let needed_s = left_s + saves * run.pause_s;
                if up_s >= needed_s {
                    held_s += needed_s;
                    break;
                }
            }
            if rollbacks >= MOST_ROLLBACKS {
                held_s = f64::INFINITY;
                break;
            }
            let mut cycles = if cycle_s.is_finite() { (up_s / cycle_s).floor() } else { 0.0 };
            if cycles > 0.0 && up_s - cycles * cycle_s < run.durable_after_s {
                cycles -= 1.0;
            }
            left_s -= cycles * interval_s.min(left_s);
            let evicted = listed_s > random_s && draws.uniform() * rate < evictions_per_s;
            held_s += up_s + if evicted { restart_s } else { run.recovery_s };
            requeues += f64::from(u8::from(evicted));
        }
        if let Eviction::Costs(cost_s) = run.eviction
            && run.evictions_per_s > 0.0
            && held_s.is_finite()
        {
            // A preemption that only delays moves nothing else, so their number is drawn at once.
            let evictions = draws.poisson(run.evictions_per_s * held_s);
            held_s += evictions * cost_s;
            requeues += evictions;
        }
        Finished { wall_s: waited_s + held_s + requeues * run.requeue_s, held_s }
    }
}

/// Draws summarised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub mean_s: f64,
    pub p10_s: f64,
    pub p50_s: f64,
    pub p90_s: f64,
    pub mean_held_s: f64,
    /// Share of the draws by the deadline.
    pub by_deadline: Option<f64>,
}

impl Job<'_> {
    /// `count` lives, from a stream of their own: jobs that are drawn with the same seed meet the same luck, so that
    /// their differences are their own.
    pub fn spread(&self, seed: u64, count: usize, deadline_s: Option<f64>) -> Spread {
        let mut draws = Draws::new(seed);
        let mut walls = Vec::with_capacity(count);
        let mut held_s = 0.0;
        for _ in 0..count {
            let finished = self.finish(&mut draws);
            walls.push(finished.wall_s);
            held_s += finished.held_s;
        }
        walls.sort_unstable_by(f64::total_cmp);
        // Nearest rank.
        let at = |share: f64| walls[((share * count as f64).ceil() as usize).clamp(1, count) - 1];
        Spread {
            mean_s: walls.iter().sum::<f64>() / count as f64,
            p10_s: at(0.10),
            p50_s: at(0.50),
            p90_s: at(0.90),
            mean_held_s: held_s / count as f64,
            by_deadline: deadline_s.map(|deadline_s| {
                walls.partition_point(|wall_s| *wall_s <= deadline_s) as f64 / count as f64
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> JobRun {
        JobRun {
            startup_s: 300.0,
            launches: 1.0,
            input_wait: 0.02,
            pause_s: 10.0,
            contention: 0.0,
            durable_after_s: 0.0,
            every_s: None,
            failures_per_s: 1.0 / 100_000.0,
            recovery_s: 600.0,
            evictions_per_s: 0.0,
            eviction: Eviction::Costs(0.0),
            requeue_s: 0.0,
            graceful: false,
        }
    }

    fn mean_held_s(run: &JobRun, work_s: f64) -> f64 {
        let wait = QueueWait::Fixed(0.0);
        let job = Job { run, interval_s: run.best_interval_s(), work_s, wait: &wait, failures_at_s: None };
        job.spread(7, 4000, None).mean_held_s
    }

    /// In the small-loss regime the draws, the renewal formula and the first-order sum say the same.
    #[test]
    fn the_composed_sum_is_what_draws_give_while_losses_are_small() {
        let costly = JobRun { evictions_per_s: 1e-5, eviction: Eviction::Costs(900.0), ..run() };
        let rolled = JobRun { evictions_per_s: 1e-5, eviction: Eviction::RollsBack(300.0), ..run() };
        for run in [run(), costly, rolled] {
            let work_s = 2e6;
            let held_s = mean_held_s(&run, work_s);
            let drawn = work_s / held_s;
            let interval_s = run.best_interval_s();
            let loss = run.loss(held_s, interval_s).unwrap();
            assert!(loss.composed.left_small_loss_regime().is_none());
            let exact = run.expected_runtime_goodput(interval_s) - run.startup_s / held_s;
            assert!((drawn - exact).abs() < 2e-3, "drawn {drawn}, renewal {exact}");
            let (low, high) = (1.0 - loss.runtime(), loss.composed.runtime_goodput_high());
            assert!(drawn > low - 3e-3 && drawn < high + 3e-3, "drawn {drawn} outside {low} to {high}");
        }
    }

    #[test]
    fn a_flush_in_flight_rolls_back_one_generation_more() {
        let durable = JobRun { every_s: Some(1000.0), pause_s: 1.0, ..run() };
        let delayed = JobRun { durable_after_s: 900.0, ..durable };
        let wait = QueueWait::Fixed(0.0);
        let held = |run: &JobRun| {
            let job = Job { run, interval_s: run.every_s, work_s: 2e6, wait: &wait, failures_at_s: None };
            job.spread(3, 4000, None).mean_held_s
        };
        let extra_s = held(&delayed) - held(&durable);
        // Twenty failures or so lose 900 s more each, on average.
        let expected_s = 900.0 * held(&durable) / 100_000.0;
        assert!((extra_s / expected_s - 1.0).abs() < 0.1, "{extra_s} against {expected_s}");
    }

    #[test]
    fn listed_failures_leave_nothing_to_chance() {
        let run = JobRun { every_s: Some(1000.0), input_wait: 0.0, ..run() };
        let wait = QueueWait::Fixed(60.0);
        let at = [300.0 + 2525.0];
        let job =
            Job { run: &run, interval_s: run.every_s, work_s: 3000.0, wait: &wait, failures_at_s: Some(&at) };
        let spread = job.spread(1, 10, Some(1e9));
        // Two cycles of 1010 s hold; 505 s are lost; recovery 600 s; the third cycle again.
        assert_eq!(spread.mean_held_s, 300.0 + 2525.0 + 600.0 + 1010.0);
        assert_eq!(spread.p90_s - spread.mean_held_s, 60.0);
        assert_eq!(spread.by_deadline, Some(1.0));
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let (one, other) = (mean_held_s(&run(), 1e6), mean_held_s(&run(), 1e6));
        assert_eq!(one, other);
    }

    #[test]
    fn draws_have_the_distributions_that_they_name() {
        let mut draws = Draws::new(1);
        let n = 40_000;
        for mean in [0.5, 20.0, 500.0] {
            let sum: f64 = (0..n).map(|_| draws.poisson(mean)).sum();
            assert!((sum / f64::from(n) / mean - 1.0).abs() < 0.02);
        }
        let normals: Vec<f64> = (0..n).map(|_| draws.normal()).collect();
        let variance = normals.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!((variance - 1.0).abs() < 0.03, "{variance}");
    }
}
