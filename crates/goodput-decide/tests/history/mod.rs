//! Simulated histories of one job: failures, recoveries, checkpoints and steps with known expectations.
#![allow(dead_code, clippy::unwrap_used, reason = "each user takes its part; a test may panic")]

use goodput_decide::report::{
    CapacityTime, Contract, Coverage, Cycle, Exact, Factor, FactorBounds, Ideal, Measured, Report, Samples,
    StepBlock, StepTimes, Steps, TimelineReport, WindowStamps,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What a job is like. Times in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// Held time.
    pub held_s: f64,
    /// Mean time between failures.
    pub mtbf_s: f64,
    /// Mean recovery; each one is between half and three halves of it.
    pub recovery_s: f64,
    /// Steps between checkpoints.
    pub interval_steps: u32,
    /// Pause of a checkpoint.
    pub pause_s: f64,
    /// Mean productive time of a step.
    pub step_s: f64,
    /// Its relative standard deviation, half of it shared by neighbouring steps.
    pub noise: f64,
}

/// Eight weeks of a large job that fails every twelve hours.
pub const USUAL: Job = Job {
    held_s: 56.0 * 86_400.0,
    mtbf_s: 12.0 * 3600.0,
    recovery_s: 900.0,
    interval_steps: 300,
    pause_s: 12.0,
    step_s: 8.0,
    noise: 0.03,
};

const IDEAL_SHARE: f64 = 0.45;
const USUAL_STEP_S: f64 = 8.0;

struct Draw(ChaCha8Rng);

impl Draw {
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Irwin and Hall: near enough to a normal, variance one.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

fn ns(s: f64) -> Exact {
    Exact((s * 1e9).round() as i128)
}

impl Job {
    /// A report of the job's history as the verb would write it.
    pub fn report(&self, seed: u64, from_day: i128) -> Report {
        let mut draw = Draw(ChaCha8Rng::seed_from_u64(seed));
        let from = from_day * 86_400_000_000_000;
        let (mut cycles, mut blocks) = (Vec::new(), Vec::new());
        let (mut now, mut shared) = (0.0, 0.0);
        let (mut failures, mut steps, mut recovery, mut productive) = (0, 0u64, 0.0, 0.0);
        while now < self.held_s {
            let start = now;
            let lost = if now > 0.0 { self.recovery_s * (0.5 + draw.unit()) } else { 120.0 };
            recovery += lost;
            let fails = (start + lost + draw.exponential(self.mtbf_s)).min(self.held_s);
            now = (start + lost).min(self.held_s);
            let mut retained = 0.0;
            // Checkpoint by checkpoint; what follows the last one is lost with the failure.
            loop {
                shared = 0.9 * shared + draw.normal() * 0.19f64.sqrt();
                let spread = self.noise * (0.5f64.sqrt() * shared + (0.5 / 30.0f64).sqrt() * draw.normal());
                let work = f64::from(self.interval_steps) * self.step_s * (1.0 + spread);
                if now + work + self.pause_s > fails {
                    break;
                }
                now += work + self.pause_s;
                retained += work;
                steps += u64::from(self.interval_steps);
                blocks.push(StepBlock { steps: self.interval_steps.into(), productive_ns: ns(work) });
            }
            now = fails;
            productive += retained;
            if now < self.held_s {
                failures += 1;
            }
            cycles.push(Cycle {
                from_ns: Exact(from + ns(start).0),
                held_ns: ns(now - start),
                retained_ns: ns(retained),
            });
        }
        // As many blocks as are enough for an interval, so that an unoptimised test draws them quickly.
        let gathered = blocks.chunks(8).map(|block: &[StepBlock]| StepBlock {
            steps: block.iter().map(|b| b.steps).sum(),
            productive_ns: Exact(block.iter().map(|b| b.productive_ns.0).sum()),
        });
        let blocks = gathered.collect();
        let ideal = IDEAL_SHARE * USUAL_STEP_S * steps as f64;
        let factor =
            |settled: f64| Factor { settled: Some(settled), coverage: 1.0, low: settled, high: settled };
        let zero = Exact(0);
        Report::Timeline(Box::new(TimelineReport {
            program_basis: None,
            title: None,
            job: Some(format!("job-{seed}")),
            contract: Contract {
                scope: "job".to_owned(),
                window: WindowStamps { from_ns: Exact(from), to_ns: Exact(from + ns(self.held_s).0) },
                denominator: "held".to_owned(),
                devices: 1,
                device_types: Vec::new(),
                ideals: vec![Ideal {
                    ideal: "compute".to_owned(),
                    device: "device".to_owned(),
                    peak_flops_per_second: 1e15,
                    dtype: "bf16".to_owned(),
                    convention: "exact".to_owned(),
                }],
                software: Vec::new(),
                coverage: Coverage {
                    scheduling: None,
                    runtime: 1.0,
                    program: 1.0,
                    timelines: Some(1.0),
                    node_snapshots: None,
                },
                conditions: Vec::new(),
            },
            capacity_time: CapacityTime {
                offered_ns: None,
                held_ns: ns(self.held_s),
                retained_ns: ns(productive),
                ideal_ns: ns(ideal),
                scheduling_losses: Default::default(),
                runtime_losses: Default::default(),
                program_losses: Default::default(),
            },
            factor_bounds: FactorBounds {
                scheduling: None,
                runtime: factor(productive / self.held_s),
                program: factor(ideal / productive),
                mpg: None,
            },
            losses: Vec::new(),
            fault_free_step_ns: Some(ns(self.step_s)),
            steps: Steps { executed: steps, retained: steps, discarded: 0, pending: 0, planned: None },
            step_times: StepTimes { count: steps, p50_ns: None, p90_ns: None, p99_ns: None, max_ns: None },
            ranks: None,
            measured: Measured {
                held_ns: ns(self.held_s),
                launches: 1,
                startup_ns: zero,
                failures,
                recovery_ns: ns(recovery),
                preemptions: 0,
                preemption_ns: zero,
                input_wait_ns: zero,
                pauses: 0,
                pause_ns: zero,
                commits: 0,
                rework_ns: zero,
            },
            queue_wait_ns: Some(zero),
            samples: Samples { cycles, step_blocks: blocks },
        }))
    }

    /// R x P in expectation: of a very long history.
    pub fn expected_product(&self) -> f64 {
        let long = Self { held_s: 2000.0 * self.mtbf_s, ..*self };
        let sums = (0..6).map(|seed| {
            let Report::Timeline(job) = long.report(90_000 + seed, 0) else { unreachable!() };
            (job.capacity_time.ideal_ns.0 as f64, job.capacity_time.held_ns.0 as f64)
        });
        let (ideal, held) = sums.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        ideal / held
    }
}
