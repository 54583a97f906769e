//! The step as a simulated schedule: which pass runs on which stage when, and where each stage's time goes.
//!
//! Pure arithmetic on times that others supply. Every stage runs its passes in the order of its [`Schedule`]; a pass starts when
//! its stage is free, what it needs has arrived and the host has enqueued it. Times are `f64` nanoseconds, rounded to 1/1024 ns
//! on entry, so that every sum and maximum up to two hours is exact: a stage's parts add up to the step, without a tolerance.
//!
//! ```
//! use goodput_predict::run::Schedule;
//! use goodput_predict::schedule::{Part, Pipeline, Simulator};
//!
//! let part = Part { forward_ns: 1e6, input_gradient_ns: 1e6, weight_gradient_ns: 1e6, ..Part::default() };
//! let pipeline = Pipeline::equal(Schedule::OneForwardOneBackward, 4, 16, part);
//! let mut simulator = Simulator::default();
//! let timeline = simulator.run(&pipeline)?;
//! assert_eq!(timeline.step_ns, (16.0 + 3.0) * 3e6); // fill and drain cost p - 1 micro-batches
//! assert_eq!(timeline.stages[0].bubble_ns, 3.0 * 3e6);
//! # Ok::<(), goodput_predict::schedule::Unschedulable>(())
//! ```

pub mod closed;
mod cost;
mod exchange;
mod order;
mod perfetto;
mod picture;
mod program;
mod simulate;
mod timeline;
mod zero_bubble;

pub use order::{Pass, positions};
pub use perfetto::chrome_trace;
pub use picture::{Doing, Event, Picture, Row, Span};
pub use simulate::Simulator;
pub use timeline::{StageTime, Timeline};

use crate::run::Schedule;

/// What one step of a pipeline does, and how long each piece takes alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// Order of the passes.
    pub schedule: Schedule,
    /// Stages.
    pub stages: usize,
    /// Micro-batches of the step.
    pub micro_batches: usize,
    /// Parts of the model, those of stage 0 first, [`parts_of_a_stage`] each. Part 0 of DualPipe's stage s is position s of the model, part
    /// 1 position p - 1 - s.
    pub parts: Vec<Part>,
    /// One forward, one backward, interleaved or not: whether the two run beside each other once the pipeline is full, so that exchanges
    /// of one hide beside the other's computation. One more forward comes first (Megatron-Core's combined schedule, which is interleaved);
    /// without interleaving two for each later stage.
    pub pairs: bool,
    /// Whether a stage waits for its own sends (Megatron without overlap of point-to-point exchanges) or computes on.
    pub blocking_sends: bool,
    /// What each stage exchanges with its replicas; empty when nothing.
    pub exchanges: Vec<Exchange>,
    /// The optimizer's time of each stage; empty when none.
    pub optimizer_ns: Vec<f64>,
    /// Whether optimizers wait for the slowest stage: a gradient norm or a check for overflow over all stages. Without, the next step
    /// starts on a stage as soon as the stage is through, and a step lasts as long as the longest stage's (arXiv:2401.10241, 4).
    pub optimizers_wait: bool,
    /// The host as a second clock; `None` when launches are free (captured graphs).
    pub host: Option<Host>,
}

/// Times of one part of the model for one micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Part {
    /// Forward, with whatever exchanges are exposed in it.
    pub forward_ns: f64,
    /// Gradient of the input, with what is computed again.
    pub input_gradient_ns: f64,
    /// Gradient of the weights; runs right after the other unless the schedule splits them.
    pub weight_gradient_ns: f64,
    /// What a forward beside a backward hides of this part's forward and of its backward.
    pub hidden_ns: [f64; 2],
    /// DualPipe: forward of this part beside the whole backward of the stage's other part. Their sum, less what each hides, when
    /// `None`.
    pub beside_backward_ns: Option<f64>,
    /// Transfer of the output to the next part.
    pub send_forward_ns: f64,
    /// Transfer of the gradient to the part before.
    pub send_backward_ns: f64,
    /// Activations held from the forward to the input gradient, in any unit.
    pub activation: f64,
    /// Of these, what stays until the weight gradient.
    pub weight_activation: f64,
}

/// Exchanges of a stage with its replicas. Each kind runs in order on a stream of its own, beside the passes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exchange {
    /// Gradient buckets.
    pub reductions: Vec<Bucket>,
    /// Parameters gathered at the start of the step.
    pub gathers: Vec<Bucket>,
}

/// One bucket of a part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Part of the stage.
    pub part: usize,
    /// Share of the part's last backward after which its gradients are ready (1 without overlap), or of the part's first forward
    /// before which its parameters are needed.
    pub share: f64,
    /// Time of the exchange.
    pub ns: f64,
}

/// Time that the host takes to enqueue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Host {
    /// The kernels of one part's forward.
    pub forward_ns: f64,
    /// Of one part's whole backward; half of it each for input and weights.
    pub backward_ns: f64,
    /// Whether the host waits for each receive before it enqueues (Megatron's `batch_p2p_sync`), so that it never runs ahead.
    pub waits_for_receives: bool,
}

impl Pipeline {
    /// A pipeline of equal parts, without exchanges, optimizer and host.
    pub fn equal(schedule: Schedule, stages: usize, micro_batches: usize, part: Part) -> Self {
        Self {
            schedule,
            stages,
            micro_batches,
            parts: vec![part; stages * parts_of_a_stage(schedule)],
            pairs: false,
            blocking_sends: false,
            exchanges: Vec::new(),
            optimizer_ns: Vec::new(),
            optimizers_wait: true,
            host: None,
        }
    }

    /// The parts of one stage.
    pub fn stage(&self, stage: usize) -> &[Part] {
        let parts = parts_of_a_stage(self.schedule);
        &self.parts[stage * parts..][..parts]
    }

    fn check(&self) -> Result<(), Unschedulable> {
        let (stages, micro_batches, parts) =
            (self.stages, self.micro_batches, parts_of_a_stage(self.schedule));
        if stages == 0 || micro_batches == 0 || parts == 0 {
            return Err(Unschedulable::Nothing);
        }
        let wanted = stages.saturating_mul(parts);
        // What repeats is written out for a few micro-batches a stage only.
        let repeats = !matches!(self.schedule, Schedule::GPipe | Schedule::DualPipe | Schedule::ZeroBubble2p);
        let written = if repeats { micro_batches.min(5 * stages) } else { micro_batches };
        if wanted > LARGEST
            || wanted.saturating_mul(written) > MOST_PASSES
            || micro_batches > u32::MAX as usize
        {
            return Err(Unschedulable::TooLarge);
        }
        for (what, given, may_be_empty) in [
            ("parts", self.parts.len() / parts, false),
            ("exchanges", self.exchanges.len(), true),
            ("optimizer_ns", self.optimizer_ns.len(), true),
        ] {
            if given != stages && !(may_be_empty && given == 0) {
                return Err(Unschedulable::Length { what, given, stages });
            }
        }
        match self.schedule {
            Schedule::Interleaved { .. } if parts > 1 && stages == 1 => Err(Unschedulable::OneStage),
            Schedule::Interleaved { .. } if !micro_batches.is_multiple_of(stages) => {
                Err(Unschedulable::Groups { micro_batches, stages })
            }
            Schedule::DualPipe if stages % 2 == 1 => Err(Unschedulable::OddStages { stages }),
            Schedule::DualPipe if micro_batches % 2 == 1 || micro_batches < 2 * stages => {
                Err(Unschedulable::TwoEnds { micro_batches, stages })
            }
            _ => Ok(()),
        }
    }
}

/// Most parts of a pipeline.
const LARGEST: usize = 8191;
/// Most passes, forward and backward together, of a schedule that is written out.
const MOST_PASSES: usize = 1 << 23;

/// Parts of the model on each stage.
pub fn parts_of_a_stage(schedule: Schedule) -> usize {
    match schedule {
        Schedule::Interleaved { parts } => parts as usize,
        Schedule::DualPipe => 2,
        _ => 1,
    }
}

/// Why a pipeline has no schedule.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unschedulable {
    /// No stages, parts or micro-batches.
    #[error("a schedule needs at least one stage, one part and one micro-batch")]
    Nothing,
    /// Beyond what is counted in 16 bits.
    #[error(
        "more than {LARGEST} parts, or {MOST_PASSES} passes over them: choose fewer stages or larger micro-batches"
    )]
    TooLarge,
    /// A list that is not one entry a stage.
    #[error("`{what}` is for {given} stages, the pipeline has {stages}")]
    Length {
        /// The list.
        what: &'static str,
        /// Stages that it is for.
        given: usize,
        /// Stages of the pipeline.
        stages: usize,
    },
    /// Interleaving on one stage.
    #[error("one stage has nothing to interleave: use one part")]
    OneStage,
    /// Megatron's order runs micro-batches in groups of as many as there are stages.
    #[error(
        "the interleaved schedule needs micro-batches ({micro_batches}) in whole multiples of the stages ({stages})"
    )]
    Groups {
        /// Micro-batches.
        micro_batches: usize,
        /// Stages.
        stages: usize,
    },
    /// DualPipe pairs stages.
    #[error("DualPipe needs an even number of stages, not {stages}")]
    OddStages {
        /// Stages.
        stages: usize,
    },
    /// DualPipe feeds both ends.
    #[error(
        "DualPipe needs an even number of micro-batches, at least twice the stages ({stages}), not {micro_batches}"
    )]
    TwoEnds {
        /// Micro-batches.
        micro_batches: usize,
        /// Stages.
        stages: usize,
    },
    /// A time that is none.
    #[error("a time of stage {stage} is negative, infinite or not a number")]
    Time {
        /// The stage.
        stage: usize,
    },
    /// Orders that wait for each other: a defect of this program.
    #[error("the stages of {schedule:?} wait for each other")]
    Deadlock {
        /// The schedule.
        schedule: Schedule,
    },
}
