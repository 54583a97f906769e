//! `ask: time`: time to result, `queue wait + ideal device-time / (devices x R x P)`, and its spread.

use goodput_core::planning::time_to_result_s;

use super::answer::{Answer, Picture, Unit};
use super::error::PlanError;
use super::fields::Fields;
use super::monte_carlo::{Job, QueueWait};
use super::quantity::Quantity;
use super::run::JobRun;
use super::straggler::log_normal;
use super::words::{percent, time};

/// A job to a result.
pub(super) struct ToResult {
    pub devices: f64,
    pub ideal_device_s: f64,
    pub program: f64,
    pub run: JobRun,
    pub interval_s: Option<f64>,
    pub wait: QueueWait,
}

impl ToResult {
    pub fn read(fields: &Fields<'_>) -> Result<Self, PlanError> {
        let run = JobRun::read(fields)?;
        let efficiency = fields.or("efficiency", Quantity::Factor, 1.0)?;
        let job = Self {
            devices: fields.need("job.devices", Quantity::Count)?,
            ideal_device_s: ideal_device_s(fields)?,
            program: fields.need("factors.program", Quantity::Factor)? * efficiency,
            interval_s: run.interval_s(fields)?,
            wait: queue_wait(fields)?,
            run,
        };
        job.run.expected(fields, job.interval_s)?;
        Ok(job)
    }

    /// Fault-free training, input ready.
    pub fn work_s(&self) -> f64 {
        self.ideal_device_s / (self.devices * self.program)
    }

    pub fn job<'a>(&'a self, failures_at_s: Option<&'a [f64]>) -> Job<'a> {
        Job {
            run: &self.run,
            interval_s: self.interval_s,
            work_s: self.work_s(),
            wait: &self.wait,
            failures_at_s,
        }
    }

    /// Expected runtime goodput over the whole job, one startup included.
    pub fn runtime(&self) -> f64 {
        let steady = self.run.expected_runtime_goodput(self.interval_s) * self.run.pace(self.interval_s);
        let work_s = self.work_s();
        work_s / (self.run.startup_s + work_s / steady)
    }
}

/// Interruptions over all draws of a job; more would stall.
const MOST_ROLLBACKS: f64 = 2e8;

impl ToResult {
    /// Refuses draws that would not end: a cycle between two saves meets `e^(rate T) - 1` rollbacks on average.
    ///
    /// # Errors
    /// Names the interval between saves, which is too long for the interruptions.
    pub fn drawable(&self, fields: &Fields<'_>, draws: usize) -> Result<(), PlanError> {
        let Some(interval_s) = self.interval_s else { return Ok(()) };
        let rate = self.run.rollbacks_per_s();
        let cycles = self.work_s() / (1.0 - self.run.input_wait) / interval_s;
        let rollbacks = cycles * (rate * (interval_s + self.run.pause_s)).exp_m1();
        if rollbacks * draws as f64 <= MOST_ROLLBACKS {
            return Ok(());
        }
        let message = format!(
            "an interruption every {} and a save every {}: the job rolls back {rollbacks:.2e} times before it is done, in \
             each of {draws} draws; expected a shorter interval, or fewer draws",
            time(rate.recip()),
            time(interval_s)
        );
        Err(fields.refuse("checkpoint.every", message))
    }
}

/// Work at the ideal rate: stated, or tokens and FLOPs over the peak.
fn ideal_device_s(fields: &Fields<'_>) -> Result<f64, PlanError> {
    if let Some(ideal) = fields.get("job.ideal", Quantity::DeviceTime)? {
        return Ok(ideal);
    }
    if !fields.has("job.tokens") {
        return Err(fields.missing(
            "job.ideal",
            "device-time such as 9300 device-hours, or job.tokens, job.flops_per_token and job.peak_tflops",
        ));
    }
    let tokens = fields.need("job.tokens", Quantity::Positive)?;
    let flops = fields.need("job.flops_per_token", Quantity::Positive)?;
    Ok(tokens * flops / (fields.need("job.peak_tflops", Quantity::Positive)? * 1e12))
}

fn queue_wait(fields: &Fields<'_>) -> Result<QueueWait, PlanError> {
    if let Some(waits) = fields.waits_from_report("queue_wait")? {
        return Ok(QueueWait::Empirical(waits));
    }
    if fields.is_mapping_with("queue_wait", "samples") {
        let waits = fields.many("queue_wait.samples", Quantity::Duration)?.unwrap_or_default();
        if waits.is_empty() {
            return Err(PlanError::new(fields.at("queue_wait.samples"), "expected at least one duration"));
        }
        return Ok(QueueWait::Empirical(waits));
    }
    if ["median", "p90"].iter().any(|key| fields.is_mapping_with("queue_wait", key)) {
        let (median_s, sigma) = log_normal(fields, "queue_wait")?;
        return Ok(QueueWait::LogNormal { median_s, sigma });
    }
    Ok(QueueWait::Fixed(fields.or("queue_wait", Quantity::Duration, 0.0)?))
}

/// Draws of one question.
const DRAWS: f64 = 10_000.0;
/// So many are never needed, and a few more zeros would stall.
const MOST_DRAWS: f64 = 1e6;

pub(super) fn draws(fields: &Fields<'_>, default: f64) -> Result<usize, PlanError> {
    let draws = fields.or("draws", Quantity::Count, default)?;
    if draws > MOST_DRAWS {
        return Err(fields.refuse("draws", format!("found {draws}, expected at most {MOST_DRAWS}")));
    }
    Ok(draws as usize)
}

pub(super) fn answer(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name", "deadline", "draws", "efficiency"])?;
    let job = ToResult::read(fields)?;
    let deadline_s = fields.get("deadline", Quantity::Span)?;
    let failures_at_s = fields.many("reliability.failures_at", Quantity::Duration)?;
    if failures_at_s.is_some() && !fields.has("reliability.recovery") {
        return Err(fields.missing("reliability.recovery", Quantity::Duration.expected()));
    }
    let failures_at_s = failures_at_s.map(|mut at| {
        at.sort_by(f64::total_cmp);
        at
    });
    if failures_at_s.as_ref().is_some_and(|at| !at.is_empty()) && job.interval_s.is_none() {
        return Err(fields.missing("checkpoint.every", Quantity::Span.expected()));
    }
    let draws = draws(fields, DRAWS)?;
    if failures_at_s.is_none() {
        job.drawable(fields, draws)?;
    }
    let spread = job.job(failures_at_s.as_deref()).spread(fields.seed(), draws, deadline_s);
    let runtime = job.runtime();
    let expected_s =
        time_to_result_s(job.wait.mean_s(), job.ideal_device_s, job.devices as u64, runtime, job.program)
            .map_err(PlanError::range(fields.path()))?;
    let mut answer = Answer::default();
    answer
        .figure("expected_s", "queue wait + ideal / (devices x R x P)", expected_s, Unit::Seconds)
        .figure("mean_s", "mean of the draws", spread.mean_s, Unit::Seconds)
        .figure("p10_s", "one in ten is done by", spread.p10_s, Unit::Seconds)
        .figure("p50_s", "half are done by", spread.p50_s, Unit::Seconds)
        .figure("p90_s", "nine in ten are done by", spread.p90_s, Unit::Seconds)
        .figure("runtime_goodput", "runtime goodput, expected", runtime, Unit::Factor)
        .figure("program_goodput", "program goodput", job.program, Unit::Factor)
        .figure(
            "held_device_hours",
            "held, mean of the draws",
            spread.mean_held_s * job.devices / 3600.0,
            Unit::DeviceHours,
        );
    answer.verdict = format!(
        "Done after {} on average; half of the draws by {}, nine in ten by {}.",
        time(spread.mean_s),
        time(spread.p50_s),
        time(spread.p90_s)
    );
    if let (Some(deadline_s), Some(share)) = (deadline_s, spread.by_deadline) {
        answer.figure("by_deadline", "probability of meeting the deadline", share, Unit::Share);
        // A share of draws is not a certainty.
        let how_often = match share {
            0.0 => format!("in none of {draws} draws"),
            1.0 => format!("in all of {draws} draws"),
            share => format!("with probability {}", percent(share)),
        };
        answer.verdict += &format!(" The deadline of {} is met {how_often}.", time(deadline_s));
    }
    if let Some(price) = fields.get("price.per_device_hour", Quantity::Positive)? {
        let cost = price * spread.mean_held_s * job.devices / 3600.0;
        answer.figure("cost", "cost, mean of the draws", cost, Unit::Money);
    }
    answer.picture = Some(distribution(&job, failures_at_s.as_deref(), fields.seed(), deadline_s));
    Ok(answer)
}

/// Share of the draws that are done, over time.
fn distribution(
    job: &ToResult,
    failures_at_s: Option<&[f64]>,
    seed: u64,
    deadline_s: Option<f64>,
) -> Picture {
    const DRAWN: usize = 1000;
    let mut draws = super::monte_carlo::Draws::new(seed);
    let one = job.job(failures_at_s);
    let mut walls: Vec<f64> = (0..DRAWN).map(|_| one.finish(&mut draws).wall_s / 3600.0).collect();
    walls.sort_by(f64::total_cmp);
    let line: Vec<_> = (0..=100)
        .map(|percent| {
            let at = (percent * DRAWN / 100).clamp(1, DRAWN) - 1;
            (walls[at], percent as f64 / 100.0)
        })
        .filter(|(hours, _)| hours.is_finite())
        .collect();
    let marks = deadline_s.map(|deadline_s| {
        let met = walls.partition_point(|hours| *hours <= deadline_s / 3600.0) as f64 / DRAWN as f64;
        ("deadline".to_owned(), deadline_s / 3600.0, met)
    });
    Picture::Curves {
        x: "hours from submission",
        y: "share of the draws that are done",
        lines: vec![("done".to_owned(), line)],
        marks: marks.into_iter().collect(),
    }
}
