//! The view of `goodput predict`: the step of a layout, term by term.

mod closed_forms;
mod contract;
mod efficiency;
mod picture;

use goodput_predict::Basis;
use goodput_predict::layer::{Term, Terms};
use goodput_predict::run::Run;
use goodput_predict::schedule::Picture;
use goodput_predict::step::{Evidence, Prediction};
use serde::Serialize;

use super::calibration::AppliedFactorView;
use super::layout;
use super::measured_here::MeasuredHereView;
use super::settings::ViewSettings;

pub use closed_forms::ClosedFormView;
pub use contract::PredictionContractView;
pub use efficiency::{EfficiencyView, PredictedConventionView};
pub use picture::{DrawnRowView, DrawnSpanView, PictureView, PictureWindowView};

/// A predicted step, ready to be printed. Times are in nanoseconds, memory in bytes, of the device that needs most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictionView {
    /// `goodput.predict/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// Title, when the user gave one.
    pub title: Option<String>,
    /// The factors that all times are multiplied by, when the user gave a calibration.
    pub calibration: Option<AppliedFactorView>,
    /// What was asked.
    pub run: PredictedRunView,
    /// What the predicted step is of.
    pub contract: PredictionContractView,
    /// Time of a step.
    pub step_ns: f64,
    /// Its relative standard deviation, from the noise of the tables and what lies beyond them.
    pub deviation: f64,
    /// The weakest thing that the time rests on: `user_table`, `table`, `extrapolated` or `analytic`.
    pub basis: &'static str,
    /// What rests on tables that the user measured, when some are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_here: Option<MeasuredHereView>,
    /// Exact model FLOPs of real tokens over the dense peak of the products' format.
    pub mfu: f64,
    /// The same with what is computed again.
    pub hfu: f64,
    /// Tokens a second of one device.
    pub tokens_per_second_per_device: f64,
    /// What MFU and HFU are of, and what they are in other conventions; `None` where the device has no peak for the products' format.
    pub efficiency: Option<EfficiencyView>,
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
    /// Closed forms beside what the simulation says, and why they differ.
    pub closed_forms: Vec<ClosedFormView>,
    /// What every stage does when, for a page.
    #[serde(skip)]
    pub picture: Option<PictureView>,
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
    /// Order of the micro-batches.
    pub schedule: &'static str,
    /// What the replicas shard.
    pub sharding: &'static str,
    /// What is computed again.
    pub recompute: String,
    /// Format of the products.
    pub dtype: String,
    /// The recipe that the run states: how the format is scaled.
    pub precision: &'static str,
    /// The framework's profile.
    pub framework: String,
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
    /// Its relative standard deviation; `None` for what is assumed.
    pub deviation: Option<f64>,
    /// The weakest thing that it rests on, as for the step; `None` for what is assumed.
    pub basis: Option<&'static str>,
    /// Its parts beyond a table's range or without a table, the longest first.
    pub beyond_tables: Vec<BeyondTableView>,
}

/// A part of a term that no table holds as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BeyondTableView {
    /// Its name.
    pub part: &'static str,
    /// `extrapolated` or `analytic`.
    pub basis: &'static str,
    /// Its time, where it is a part of the term's; of an exchange that something hides, its time alone.
    pub time_ns: f64,
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
    /// Each term's time.
    pub terms: Vec<StageTermView>,
}

/// One term of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StageTermView {
    /// In words.
    pub term: &'static str,
    /// Its time.
    pub time_ns: f64,
    /// The term.
    #[serde(skip)]
    pub of: Term,
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

impl PredictedMemoryView {
    /// Each part of the total.
    pub(crate) fn parts(&self) -> [(&'static str, f64); 6] {
        [
            ("weights", self.weights_bytes),
            ("gradients", self.gradients_bytes),
            ("optimizer", self.optimizer_bytes),
            ("activations", self.activations_bytes),
            ("working space", self.working_bytes),
            ("logits", self.logits_bytes),
        ]
    }
}

impl PredictionView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.predict/1";

    /// The view of a prediction and of what its terms rest on.
    pub fn new(run: &Run, prediction: &Prediction, evidence: &[Evidence], settings: &ViewSettings) -> Self {
        let step_ns = prediction.step_ns;
        let share = |ns: f64| if step_ns > 0.0 { ns / step_ns } else { 0.0 };
        let memory = &prediction.memory;
        let efficiency = EfficiencyView::new(run, prediction);
        Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            title: settings.title.clone(),
            calibration: None,
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
                schedule: layout::schedule(run.layout.schedule),
                sharding: layout::sharding(run.layout.sharding),
                recompute: layout::recompute(run.recompute),
                dtype: run.precision.products.dtype().name().to_owned(),
                precision: run.precision.recipe,
                framework: run.framework.name.clone(),
                sequence_length: run.batch.sequence,
                micro_batch: run.batch.micro,
                global_batch: run.batch.global,
            },
            contract: PredictionContractView::new(run, efficiency.as_ref()),
            step_ns,
            deviation: prediction.deviation,
            basis: basis(prediction.basis),
            measured_here: None,
            mfu: prediction.mfu,
            hfu: prediction.hfu,
            tokens_per_second_per_device: prediction.tokens_per_second_per_device,
            efficiency,
            terms: prediction
                .terms
                .iter()
                .filter(|(_, ns)| *ns != 0.0)
                .map(|(term, ns)| {
                    let evidence = evidence.iter().find(|evidence| evidence.term == term);
                    PredictedTermView {
                        term: term.label(),
                        kind: kind(term),
                        time_ns: ns,
                        share: share(ns),
                        deviation: evidence.and_then(|evidence| evidence.deviation),
                        basis: evidence.and_then(|evidence| evidence.basis).map(basis),
                        beyond_tables: evidence.map(beyond_tables).unwrap_or_default(),
                    }
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
                        terms: stage_terms(&predicted.terms),
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
            closed_forms: closed_forms::of(run, prediction),
            picture: None,
        }
    }

    /// The terms of the mean device.
    pub(crate) fn mean_terms(&self) -> Vec<StageTermView> {
        let of = |term: &PredictedTermView| {
            let of = Term::ALL.into_iter().find(|of| of.label() == term.term)?;
            Some(StageTermView { term: term.term, time_ns: term.time_ns, of })
        };
        self.terms.iter().filter_map(of).collect()
    }

    /// With the picture that a page draws.
    #[must_use]
    pub fn with_picture(self, picture: &Picture) -> Self {
        Self { picture: Some(PictureView::new(picture)), ..self }
    }
}

/// Every term that takes time.
pub(in crate::view) fn stage_terms(terms: &Terms) -> Vec<StageTermView> {
    let taken = terms.iter().filter(|(_, ns)| *ns != 0.0);
    taken.map(|(of, time_ns)| StageTermView { term: of.label(), time_ns, of }).collect()
}

fn beyond_tables(evidence: &Evidence) -> Vec<BeyondTableView> {
    let view = |part: &goodput_predict::step::BeyondTable| BeyondTableView {
        part: part.name,
        basis: basis(part.basis),
        time_ns: part.ns,
    };
    evidence.beyond_tables.iter().map(view).collect()
}

fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::UserTable => "user_table",
        Basis::Table => "table",
        Basis::Extrapolated => "extrapolated",
        Basis::Analytic => "analytic",
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
