//! The view of `goodput search`: layouts, the best first.

use goodput_predict::run::{Recompute, Run, Schedule, Sharding};
use goodput_predict::search::{Answer, Candidate, Found};
use serde::Serialize;

use super::calibration::AppliedFactorView;
use super::settings::ViewSettings;

/// Layouts of a run, ready to be printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchView {
    /// `goodput.search/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// The model.
    pub model: String,
    /// The cluster.
    pub cluster: String,
    /// The factors that all times are multiplied by, when the user gave a calibration.
    pub calibration: Option<AppliedFactorView>,
    /// Layouts looked at, those that a bound ruled out among them.
    pub candidates: u64,
    /// Layouts predicted.
    pub predicted: u64,
    /// Of those, layouts that can run.
    pub feasible: u64,
    /// The best, in order.
    pub best: Vec<LayoutView>,
    /// All that no other beats in time, memory and devices at once, when asked for.
    pub pareto: Vec<LayoutView>,
}

/// One layout.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayoutView {
    /// Devices.
    pub devices: u32,
    /// Tensor-parallel degree.
    pub tp: u32,
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
    /// Memory of the rank that needs most, the allowance included.
    pub memory_bytes: f64,
    /// Exact model FLOPs over the peak.
    pub mfu: Option<f64>,
}

impl SearchView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.search/1";

    /// The view of an answer; `mfu` of a candidate is asked for those that are shown.
    pub fn new(
        run: &Run,
        answer: &Answer,
        mfu: &mut dyn FnMut(&Candidate) -> Option<f64>,
        settings: &ViewSettings,
    ) -> Self {
        let mut rows =
            |found: &[Found]| found.iter().map(|found| layout(found, mfu(&found.candidate))).collect();
        Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            model: run.architecture.name.clone(),
            cluster: run.cluster.name.clone(),
            calibration: None,
            candidates: answer.progress.candidates,
            predicted: answer.progress.predicted,
            feasible: answer.progress.feasible,
            best: rows(&answer.best),
            pareto: rows(&answer.pareto),
        }
    }
}

fn layout(found: &Found, mfu: Option<f64>) -> LayoutView {
    let candidate = &found.candidate;
    let layout = &candidate.layout;
    let (schedule, vpp) = match layout.schedule {
        Schedule::GPipe => ("gpipe", 1),
        Schedule::OneForwardOneBackward => ("1f1b", 1),
        Schedule::Interleaved { parts } => ("interleaved", parts),
        Schedule::ZeroBubbleH1 => ("zb-h1", 1),
        Schedule::ZeroBubble2p => ("zb-2p", 1),
        Schedule::DualPipe => ("dualpipe", 1),
    };
    LayoutView {
        devices: candidate.devices,
        tp: layout.tensor,
        cp: layout.context,
        pp: layout.pipeline,
        vpp,
        ep: layout.expert,
        dp: layout.data,
        micro_batch: candidate.micro,
        schedule: schedule.to_owned(),
        sharding: match layout.sharding {
            Sharding::None => "none",
            Sharding::Optimizer => "optimizer",
            Sharding::Gradients => "gradients",
            Sharding::Parameters { .. } => "parameters",
        },
        recompute: match candidate.recompute {
            Recompute::None => "none".to_owned(),
            Recompute::AttentionCore => "attention core".to_owned(),
            Recompute::Cheap => "cheap modules".to_owned(),
            Recompute::Modules(modules) => modules.names().collect::<Vec<_>>().join(" + "),
            Recompute::EveryOtherProduct => "every other product".to_owned(),
            Recompute::Full => "full".to_owned(),
            Recompute::Layers(count) => format!("{count} layers a stage"),
        },
        step_ns: found.needs.step_ns,
        memory_bytes: found.needs.bytes,
        mfu,
    }
}
