//! What a simulated fleet is made of: the `FLEET.yaml` of `goodput simulate`.

mod check;
mod demo;
mod span;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use check::ScenarioError;
pub(crate) use check::require;
pub use span::{Span, SpanError};

/// A fleet, its jobs and what befalls them. Every duration is a [`Span`] (`9.8s`, `77min`, `7d`).
///
/// ```
/// use goodput_simulate::{Scenario, simulate};
/// let scenario = Scenario::from_yaml("
/// seed: 1
/// start: 2026-03-02T00:00:00Z
/// duration: 6h
/// pools:
///   - {name: train, nodes: 4, devices_per_node: 8, device: H100, peak_tflops: 989, dtype: bf16}
/// jobs:
///   - name: pretrain
///     nodes: 2
///     submit_at: [10min]
///     program: {steps: 600, step: 10s, startup: 2min}
/// ")?;
/// let world = simulate(&scenario);
/// assert_eq!(world.jobs.len(), 1);
/// # Ok::<(), goodput_simulate::ScenarioError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the cluster in the records.
    #[serde(default = "default_cluster")]
    pub cluster: String,
    /// Seed of every draw: the same scenario with the same seed writes the same bytes.
    pub seed: u64,
    /// First instant, RFC 3339, on a whole second. The simulation starts with an empty fleet.
    #[serde(with = "timestamp")]
    pub start: jiff::Timestamp,
    /// Length of the simulation, in whole seconds. The records are written at its end.
    pub duration: Span,
    /// Time between two snapshots of nodes and queue, and between two cycles of the backfill
    /// scheduler; at least 10 s. What happens on this grid (plans for gangs, drains that begin on
    /// it) is determined by the snapshots exactly.
    #[serde(default = "default_snapshot_every")]
    pub snapshot_every: Span,
    /// The fleet's nodes. Pools are disjoint.
    pub pools: Vec<Pool>,
    /// The scheduler's policy.
    #[serde(default)]
    pub policy: Policy,
    /// Nodes out of service.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// Nodes granted to a team.
    #[serde(default)]
    pub reservations: Vec<StandingReservation>,
    /// The jobs that users submit.
    pub jobs: Vec<JobClass>,
}

/// Nodes of one kind. The pool is also the name of its partition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Name of the pool and of its partition.
    pub name: String,
    /// Nodes; they are called `<pool>-001` and so on.
    pub nodes: u32,
    /// Accelerators a node.
    pub devices_per_node: u32,
    /// Device name.
    pub device: String,
    /// Dense peak of one device for `dtype`, in TFLOP/s. Without it no job of the pool has an ideal.
    #[serde(default)]
    pub peak_tflops: Option<f64>,
    /// dtype of the jobs' arithmetic.
    #[serde(default = "default_dtype")]
    pub dtype: String,
    /// Mean number of failures of one node a day.
    #[serde(default)]
    pub failures_per_node_day: f64,
    /// How long a failed node stays down.
    #[serde(default = "default_repair")]
    pub repair: Span,
}

/// How the scheduler decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Whether lower-priority jobs may start while a higher one waits, if their time limit says
    /// that they do not delay it.
    pub backfill: bool,
    /// For how many waiting gangs of a pool nodes are kept free (`PLANNED`).
    pub planned_gangs: u32,
    /// How long a requeued job is held before it is eligible again.
    pub requeue_delay: Span,
    /// How long a dead node stays unnoticed.
    pub node_timeout: Span,
    /// Most devices an account may hold at a time, by account.
    pub quotas: BTreeMap<String, u32>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            backfill: true,
            planned_gangs: 1,
            // Slurm holds a requeued job for 121 s.
            requeue_delay: Span::from_millis(121_000),
            node_timeout: Span::from_millis(60_000),
            quotas: BTreeMap::new(),
        }
    }
}

/// Nodes that leave service for a while.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// What happens.
    pub kind: OutageKind,
    /// The pool.
    pub pool: String,
    /// Nodes by position in the pool, from 1.
    pub nodes: Vec<u32>,
    /// When, after the start.
    pub at: Span,
    /// For how long.
    pub lasts: Span,
    /// The operator's words.
    #[serde(default)]
    pub reason: String,
}

/// How a node leaves service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutageKind {
    /// It dies, and its jobs with it.
    Down,
    /// It takes no new jobs.
    Drain,
    /// A maintenance reservation that lists its nodes: no new jobs, running ones go on.
    Maintenance,
}

/// Nodes granted to a team: held for the whole time, idle or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandingReservation {
    /// Name.
    pub name: String,
    /// The account it is granted to.
    pub account: String,
    /// The pool.
    pub pool: String,
    /// Nodes by position in the pool, from 1.
    pub nodes: Vec<u32>,
    /// From, after the start.
    #[serde(default)]
    pub at: Span,
    /// For how long.
    pub lasts: Span,
}

/// Jobs of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobClass {
    /// Job name.
    pub name: String,
    /// The pool; the first one when not given.
    #[serde(default)]
    pub pool: Option<String>,
    /// Account.
    #[serde(default = "default_account")]
    pub account: String,
    /// User.
    #[serde(default = "default_user")]
    pub user: String,
    /// Quality of service.
    #[serde(default = "default_qos")]
    pub qos: String,
    /// Higher goes first; equal priorities go by submission.
    #[serde(default)]
    pub priority: i32,
    /// Nodes of the gang.
    pub nodes: u32,
    /// Accelerators on each of them; whole nodes when not given. Less than a node only with one node.
    #[serde(default)]
    pub devices_per_node: Option<u32>,
    /// Submissions at fixed times after the start.
    #[serde(default)]
    pub submit_at: Vec<Span>,
    /// Mean number of further submissions a day, at random times.
    #[serde(default)]
    pub per_day: f64,
    /// The hours of each day, from and until, in which those are submitted; all of it when not given.
    #[serde(default)]
    pub hours: Option<(Span, Span)>,
    /// Run-time limit; none when not given.
    #[serde(default)]
    pub time_limit: Option<Span>,
    /// A later begin time: the job is eligible only this long after its submission.
    #[serde(default)]
    pub begin_after: Span,
    /// Qualities of service whose jobs it may evict (they are requeued).
    #[serde(default)]
    pub preempts: Vec<String>,
    /// Whether it goes back into the queue after an eviction or a node failure.
    #[serde(default = "default_true")]
    pub requeue: bool,
    /// The standing reservation it runs in.
    #[serde(default)]
    pub reservation: Option<String>,
    /// What it runs.
    pub program: Program,
    /// The log it writes.
    #[serde(default)]
    pub log: LogFormat,
}

/// The log that a job leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// None: its held time is unsettled.
    #[default]
    None,
    /// The goodput timeline format.
    Goodput,
    /// Entries of the ml-goodput-measurement library: starts of steps, no commits.
    MlGoodput,
}

/// What a job does from launch to end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Steps to run.
    pub steps: u64,
    /// The steps of one job are drawn within this share of `steps`, up and down.
    #[serde(default)]
    pub steps_spread: f64,
    /// Fault-free step time.
    pub step: Span,
    /// Steps that one line of the log covers.
    #[serde(default = "default_one")]
    pub steps_per_line: u32,
    /// Two lines in five run up to this share faster or slower than the step time, which stays
    /// their median; at most 0.04, so that it is never mistaken for warm-up.
    #[serde(default)]
    pub jitter: f64,
    /// Gang complete to the first batch: launch, build, compilation.
    #[serde(default)]
    pub startup: Span,
    /// Reading a checkpoint, on top of that, when the job resumes.
    #[serde(default)]
    pub load: Span,
    /// Waiting for the first batch.
    #[serde(default)]
    pub first_batch: Span,
    /// Lines that run slower after each (re)start.
    #[serde(default)]
    pub warm_up_lines: u32,
    /// What each of them takes longer, as a share of the step time; more than 0.1.
    #[serde(default = "default_warm_up_excess")]
    pub warm_up_excess: f64,
    /// Waits for input inside steps.
    #[serde(default)]
    pub input_wait: Option<InputWait>,
    /// Checkpoints. Without them a job that is interrupted begins anew.
    #[serde(default)]
    pub checkpoint: Option<Checkpoint>,
    /// Evaluations inside the allocation.
    #[serde(default)]
    pub evaluation: Option<Evaluation>,
    /// Faults that the job survives by restarting inside its allocation.
    #[serde(default)]
    pub faults: Option<Faults>,
    /// A slow node: slower steps for a while.
    #[serde(default)]
    pub straggler: Option<Straggler>,
    /// A suspension by the scheduler.
    #[serde(default)]
    pub suspension: Option<Suspension>,
    /// How it ends.
    #[serde(default)]
    pub ending: Ending,
    /// End of execution to release.
    #[serde(default)]
    pub teardown: Span,
    /// Model FLOPs of one step over all devices. Without it the job has no ideal.
    #[serde(default)]
    pub model_flops_per_step: Option<f64>,
    /// How those FLOPs were counted, in words.
    #[serde(default = "default_flops_convention")]
    pub flops_convention: String,
}

/// Waits for input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputWait {
    /// Share of the log's lines that wait.
    pub share: f64,
    /// Mean wait of such a line; drawn between half and one and a half of it.
    pub mean: Span,
}

/// Checkpoints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Steps between two saves; a multiple of `steps_per_line`.
    pub every_steps: u64,
    /// How long training halts for a save.
    #[serde(default)]
    pub pause: Span,
    /// How long after the pause the checkpoint is committed: zero for a synchronous save.
    #[serde(default)]
    pub commit_lag: Span,
}

/// Evaluations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// Steps between two evaluations; a multiple of `steps_per_line`.
    pub every_steps: u64,
    /// How long one takes.
    pub takes: Span,
}

/// Faults inside the allocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// Mean number of faults of one node an hour.
    #[serde(default)]
    pub per_node_hour: f64,
    /// Further faults at fixed times after the scenario's start.
    #[serde(default)]
    pub at: Vec<Span>,
    /// Fault to first new step, warm-up excluded.
    pub recovery: Span,
}

/// A slow node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Straggler {
    /// When, after the first step of the job's first attempt.
    pub after: Span,
    /// For how long; at most a third of `after`, so that the median step stays fault-free.
    pub lasts: Span,
    /// What a step takes longer, as a share.
    pub slowdown: f64,
}

/// A suspension with the devices kept, once in a job's first attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suspension {
    /// When, after the attempt's start.
    pub after: Span,
    /// For how long.
    pub lasts: Span,
}

/// How a job ends, if nothing interrupts it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ending {
    /// It runs all its steps and commits its result.
    #[default]
    Finished,
    /// Of the jobs this share fails, at a random step.
    Failing {
        /// Share of the jobs.
        share: f64,
    },
    /// It falls silent after this many steps, until somebody cancels it.
    Hang {
        /// Steps before.
        after_steps: u64,
        /// Silence until the cancellation.
        lasts: Span,
    },
    /// It finishes, and its allocation is kept until somebody cancels it.
    Zombie {
        /// End of execution to cancellation.
        lasts: Span,
    },
}

fn default_cluster() -> String {
    "sim".into()
}
fn default_snapshot_every() -> Span {
    Span::from_millis(60_000)
}
fn default_dtype() -> String {
    "bf16".into()
}
fn default_repair() -> Span {
    Span::from_millis(4 * 3_600_000)
}
fn default_account() -> String {
    "research".into()
}
fn default_user() -> String {
    "alice".into()
}
fn default_qos() -> String {
    "normal".into()
}
fn default_flops_convention() -> String {
    "model FLOPs of real tokens, forward and backward, without recomputation or padding".into()
}
fn default_true() -> bool {
    true
}
fn default_one() -> u32 {
    1
}
fn default_warm_up_excess() -> f64 {
    0.5
}

/// RFC 3339 text.
mod timestamp {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(at: &jiff::Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(at)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<jiff::Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| {
            D::Error::custom(format!("`{text}` is no instant: write it as 2026-03-02T00:00:00Z"))
        })
    }
}
