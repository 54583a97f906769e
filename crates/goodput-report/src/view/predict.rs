//! The view of `goodput predict`: the step of a layout, term by term.

use goodput_predict::Basis;
use goodput_predict::layer::Term;
use goodput_predict::run::Run;
use goodput_predict::step::Prediction;
use serde::Serialize;

use super::settings::ViewSettings;

/// A predicted step, ready to be printed. Times are in nanoseconds, memory in bytes, of the device that needs most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictionView {
    /// `goodput.predict/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// Title, when the user gave one.
    pub title: Option<String>,
    /// What was asked.
    pub run: PredictedRunView,
    /// Time of a step.
    pub step_ns: f64,
    /// Its relative standard deviation, from the noise of the tables and what lies beyond them.
    pub deviation: f64,
    /// The weakest thing that the time rests on: `user_table`, `table`, `extrapolated` or `analytic`.
    pub basis: &'static str,
    /// Exact model FLOPs of real tokens over the dense peak of the products' format.
    pub mfu: f64,
    /// The same with what is computed again.
    pub hfu: f64,
    /// Tokens a second of one device.
    pub tokens_per_second_per_device: f64,
    /// Where the time goes, the mean over all devices: sums to the step.
    pub terms: Vec<PredictedTermView>,
    /// Of the terms, what is computed again.
    pub recompute_ns: f64,
    /// The same for each pipeline stage.
    pub stages: Vec<PredictedStageView>,
    /// Memory of the rank that needs most.
    pub memory: PredictedMemoryView,
    /// The closed forms of the MFU guide, for comparison only.
    pub guide: GuideView,
}

/// What was asked, in short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictedRunView {
    /// The model.
    pub model: String,
    /// The cluster.
    pub cluster: String,
    /// The device.
    pub device: String,
    /// Devices.
    pub devices: u32,
    /// Tensor-parallel degree.
    pub tp: u32,
    /// Whether norms and residuals are split over the tensor ranks.
    pub sp: bool,
    /// Context-parallel degree.
    pub cp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Parts of each stage.
    pub vpp: u32,
    /// Expert-parallel degree.
    pub ep: u32,
    /// Replicas.
    pub dp: u32,
    /// Tokens of a sequence.
    pub sequence_length: u64,
    /// Sequences of a micro-batch.
    pub micro_batch: u64,
    /// Sequences of a step.
    pub global_batch: u64,
}

/// One term.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictedTermView {
    /// In words.
    pub term: &'static str,
    /// `compute`, `exchange`, `bubble`, `launch`, `optimizer` or `straggler`.
    pub kind: &'static str,
    /// Its time.
    pub time_ns: f64,
    /// Of the step.
    pub share: f64,
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictedStageView {
    /// Its number.
    pub stage: usize,
    /// Kernels that compute.
    pub compute_ns: f64,
    /// Exchanges that nothing hides.
    pub exchange_ns: f64,
    /// Waiting for other stages.
    pub bubble_ns: f64,
    /// The rest: launch, optimizer, stragglers.
    pub other_ns: f64,
    /// Activations that it holds at most.
    pub activation_bytes: f64,
}

/// Memory of one rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictedMemoryView {
    /// The stage that needs most.
    pub stage: usize,
    /// Parameters as they are used.
    pub weights_bytes: f64,
    /// Gradients.
    pub gradients_bytes: f64,
    /// Master copies and moments.
    pub optimizer_bytes: f64,
    /// What micro-batches in flight leave for their backward passes.
    pub activations_bytes: f64,
    /// Working space at the fullest moment.
    pub working_bytes: f64,
    /// Logits and their loss at that moment.
    pub logits_bytes: f64,
    /// All of these.
    pub total_bytes: f64,
    /// Allowed beside it for fragments, the device's context and buffers of collectives: an assumption.
    pub allowance_bytes: f64,
    /// What the device has.
    pub capacity_bytes: Option<f64>,
    /// Whether it fits with the allowance.
    pub fits: Option<bool>,
}

/// The closed forms of the guide.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GuideView {
    /// Time of a step.
    pub step_ns: f64,
    /// Idle time by its three phases, which count it twice.
    pub bubble_ns: f64,
    /// Idle time by (p - 1) / (v m), which counts it once.
    pub exact_bubble_ns: f64,
}

impl PredictionView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.predict/1";

    /// The view of a prediction.
    pub fn new(run: &Run, prediction: &Prediction, settings: &ViewSettings) -> Self {
        let step_ns = prediction.step_ns;
        let share = |ns: f64| if step_ns > 0.0 { ns / step_ns } else { 0.0 };
        let memory = &prediction.memory;
        Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            title: settings.title.clone(),
            run: PredictedRunView {
                model: run.architecture.name.clone(),
                cluster: run.cluster.name.clone(),
                device: run.cluster.device.clone(),
                devices: run.devices,
                tp: run.layout.tensor,
                sp: run.layout.sequence_parallel,
                cp: run.layout.context,
                pp: run.layout.pipeline,
                vpp: run.parts(),
                ep: run.layout.expert,
                dp: run.layout.data,
                sequence_length: run.batch.sequence,
                micro_batch: run.batch.micro,
                global_batch: run.batch.global,
            },
            step_ns,
            deviation: prediction.deviation,
            basis: match prediction.basis {
                Basis::UserTable => "user_table",
                Basis::Table => "table",
                Basis::Extrapolated => "extrapolated",
                Basis::Analytic => "analytic",
            },
            mfu: prediction.mfu,
            hfu: prediction.hfu,
            tokens_per_second_per_device: prediction.tokens_per_second_per_device,
            terms: prediction
                .terms
                .iter()
                .filter(|(_, ns)| *ns != 0.0)
                .map(|(term, ns)| PredictedTermView {
                    term: term.label(),
                    kind: kind(term),
                    time_ns: ns,
                    share: share(ns),
                })
                .collect(),
            recompute_ns: prediction.recompute_ns,
            stages: prediction
                .stages
                .iter()
                .enumerate()
                .map(|(stage, predicted)| {
                    let of = |wanted: &str| -> f64 {
                        predicted
                            .terms
                            .iter()
                            .filter(|(term, _)| kind(*term) == wanted)
                            .map(|(_, ns)| ns)
                            .sum()
                    };
                    let (compute_ns, exchange_ns, bubble_ns) = (of("compute"), of("exchange"), of("bubble"));
                    PredictedStageView {
                        stage,
                        compute_ns,
                        exchange_ns,
                        bubble_ns,
                        other_ns: predicted.terms.sum() - compute_ns - exchange_ns - bubble_ns,
                        activation_bytes: predicted.activation_bytes,
                    }
                })
                .collect(),
            memory: PredictedMemoryView {
                stage: memory.stage,
                weights_bytes: memory.weights,
                gradients_bytes: memory.gradients,
                optimizer_bytes: memory.optimizer,
                activations_bytes: memory.activations,
                working_bytes: memory.working,
                logits_bytes: memory.logits,
                total_bytes: memory.total(),
                allowance_bytes: memory.allowance,
                capacity_bytes: memory.capacity,
                fits: memory.fits(),
            },
            guide: GuideView {
                step_ns: prediction.guide.step_ns(),
                bubble_ns: prediction.guide.bubble_ns,
                exact_bubble_ns: prediction.guide.exact_bubble_ns,
            },
        }
    }
}

fn kind(term: Term) -> &'static str {
    match term {
        term if term.is_compute() => "compute",
        term if term.is_exchange() => "exchange",
        Term::Bubble => "bubble",
        Term::Launch => "launch",
        Term::Optimizer => "optimizer",
        _ => "straggler",
    }
}
