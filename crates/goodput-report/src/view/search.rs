//! The view of `goodput search`: layouts, the best first.

use goodput_predict::run::Run;
use goodput_predict::search::{Answer, Candidate, Found, Outlook, Rank, Refused};
use goodput_predict::step::Prediction;
use serde::Serialize;

use super::calibration::AppliedFactorView;
use super::layout;
use super::predict::{StageTermView, stage_terms};
use super::settings::{Price, ViewSettings};

/// Layouts of a run, ready to be printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchView {
    /// `goodput.search/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// Title, when the user gave one.
    pub title: Option<String>,
    /// The model.
    pub model: String,
    /// The cluster.
    pub cluster: String,
    /// The factors that all times are multiplied by, when the user gave a calibration.
    pub calibration: Option<AppliedFactorView>,
    /// What is best: `step_time`, `device_time` or `time_to_result`.
    pub ranked_by: &'static str,
    /// Currency of the costs, when a price was given.
    pub currency: Option<String>,
    /// The calibration file that the times rest on where it says something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_tables: Option<String>,
    /// Layouts looked at, those that a bound ruled out among them.
    pub candidates: u64,
    /// Layouts predicted.
    pub predicted: u64,
    /// Of those, layouts that can run.
    pub feasible: u64,
    /// What became of the others.
    pub refused: RefusedView,
    /// The best, in order.
    pub best: Vec<LayoutView>,
    /// All that no other beats in time, memory and devices at once, when asked for.
    pub pareto: Vec<LayoutView>,
    /// What a device has.
    #[serde(skip)]
    pub capacity_bytes: Option<f64>,
}

/// What cannot run, and what was not looked at closer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RefusedView {
    /// Combinations of degrees that are no layouts, each at the first rule that it breaks.
    pub combinations: Vec<RuleView>,
    /// Layouts that do not fit in memory.
    pub memory: u64,
    /// Layouts without a kernel or a schedule.
    pub no_time: u64,
    /// Layouts whose lower bound is beyond what was found already; whether they can run was not asked.
    pub beaten: u64,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleView {
    /// In words.
    pub rule: &'static str,
    /// What it left out.
    pub count: u64,
}

/// One layout.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayoutView {
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
    /// Layers that the first and the last part hold less than every other.
    pub uneven_ends: [u32; 2],
    /// Expert-parallel degree.
    pub ep: u32,
    /// Ranks that share an expert.
    pub etp: u32,
    /// Replicas.
    pub dp: u32,
    /// Sequences of a micro-batch.
    pub micro_batch: u64,
    /// Order of the micro-batches.
    pub schedule: String,
    /// What the replicas shard.
    pub sharding: &'static str,
    /// What is computed again.
    pub recompute: String,
    /// Time of a step.
    pub step_ns: f64,
    /// Its relative standard deviation.
    pub deviation: Option<f64>,
    /// Memory of the rank that needs most, the allowance included.
    pub memory_bytes: f64,
    /// Exact model FLOPs over the peak.
    pub mfu: Option<f64>,
    /// Cost of a step, when a price was given.
    pub step_cost: Option<f64>,
    /// Time until the result, when tokens were given: wait, and steps over runtime goodput.
    pub result_ns: Option<f64>,
    /// Cost of the result: its held time. Waiting costs nothing.
    pub result_cost: Option<f64>,
    /// Where the step goes, the mean over all devices.
    pub terms: Vec<StageTermView>,
}

/// What a search was asked and found.
#[derive(Debug, Clone, Copy)]
pub struct SearchInput<'a> {
    /// The run.
    pub run: &'a Run,
    /// What was found.
    pub answer: &'a Answer,
    /// What is best.
    pub rank: &'a Rank,
    /// What lies between a step and a result, when stated.
    pub outlook: Option<&'a Outlook>,
    /// What broke rules.
    pub refused: &'a Refused,
}

impl SearchView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.search/1";

    /// The view of an answer; `predicted` of a candidate is asked for those that are shown.
    pub fn new(
        input: &SearchInput<'_>,
        predicted: &mut dyn FnMut(&Candidate) -> Option<Prediction>,
        settings: &ViewSettings,
    ) -> Self {
        let price = settings.price.as_ref();
        let mut capacity_bytes = None;
        let mut rows = |found: &[Found]| -> Vec<LayoutView> {
            let of = |found: &Found| {
                let prediction = predicted(&found.candidate);
                capacity_bytes = prediction.as_ref().and_then(|of| of.memory.capacity).or(capacity_bytes);
                layout(found, prediction.as_ref(), input.outlook, price)
            };
            found.iter().map(of).collect()
        };
        let (best, pareto) = (rows(&input.answer.best), rows(&input.answer.pareto));
        let progress = &input.answer.progress;
        let known = progress.feasible + progress.too_large + progress.no_time;
        Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            title: settings.title.clone(),
            model: input.run.architecture.name.clone(),
            cluster: input.run.cluster.name.clone(),
            calibration: None,
            measured_tables: input.run.cluster.measured.as_ref().map(|measured| measured.label().to_owned()),
            ranked_by: match input.rank {
                Rank::Time => "step_time",
                Rank::DeviceTime => "device_time",
                Rank::TimeToResult(_) => "time_to_result",
            },
            currency: price.map(|price| price.currency().to_owned()),
            candidates: progress.candidates,
            predicted: progress.predicted,
            feasible: progress.feasible,
            refused: RefusedView {
                combinations: input
                    .refused
                    .iter()
                    .map(|(rule, count)| RuleView { rule: rule.label(), count })
                    .collect(),
                memory: progress.too_large,
                no_time: progress.no_time,
                beaten: progress.candidates.saturating_sub(known),
            },
            best,
            pareto,
            capacity_bytes,
        }
    }
}

fn layout(
    found: &Found,
    prediction: Option<&Prediction>,
    outlook: Option<&Outlook>,
    price: Option<&Price>,
) -> LayoutView {
    const HOUR_NS: f64 = 3.6e12;
    let candidate = &found.candidate;
    let (of, devices) = (&candidate.layout, candidate.devices);
    let step_ns = found.needs.step_ns;
    let cost =
        |held_ns: f64| price.map(|price| held_ns / HOUR_NS * f64::from(devices) * price.per_device_hour());
    LayoutView {
        devices,
        tp: of.tensor,
        sp: of.sequence_parallel,
        cp: of.context,
        pp: of.pipeline,
        vpp: match of.schedule {
            goodput_predict::run::Schedule::Interleaved { parts } => parts,
            _ => 1,
        },
        uneven_ends: of.uneven_ends,
        ep: of.expert,
        etp: of.expert_tensor,
        dp: of.data,
        micro_batch: candidate.micro,
        schedule: layout::schedule(of.schedule).to_owned(),
        sharding: layout::sharding(of.sharding),
        recompute: layout::recompute(candidate.recompute),
        step_ns,
        deviation: prediction.map(|of| of.deviation),
        memory_bytes: found.needs.bytes,
        mfu: prediction.map(|of| of.mfu),
        step_cost: cost(step_ns),
        result_ns: outlook.map(|outlook| outlook.result_ns(step_ns, devices)),
        result_cost: outlook.and_then(|outlook| cost(outlook.held_ns(step_ns, devices))),
        terms: prediction.map(|of| stage_terms(&of.terms)).unwrap_or_default(),
    }
}
