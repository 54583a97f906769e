//! The view of `goodput trace`: every nanosecond of the traced steps over all ranks, and what to shorten first.

mod audit;
mod build;
mod contract;
mod overlap;
mod roofline;
mod sampling;
mod timeline;

pub use audit::{AuditExtraView, AuditLineView, AuditView, MisplacedAxisView};
pub use build::TraceBeside;
pub use contract::TraceContractView;
pub use overlap::{ContendedKernelView, OverlapView, RankOverlapView};
pub use roofline::{CeilingsView, NotPlacedView, RegimeView, RooflineKernelView, RooflineView};
pub use sampling::{SampledRankView, SampledWindowView, SamplingView, StratumView, TriggerView};
pub use timeline::{ChargedSegmentView, StepLaneView, StepTimelineView};

use std::collections::BTreeMap;

use goodput_trace::partition::Charge;
use serde::Serialize;

use super::exact::Exact;

/// A step trace, ready to be printed. Durations are JSON numbers of integer nanoseconds; stamps, which may count from
/// 1970, are [`Exact`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceView {
    /// `goodput.trace/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// Title, when the user gave one.
    pub title: Option<String>,
    /// What was traced.
    pub scope: TraceScopeView,
    /// What every figure is measured over.
    pub contract: TraceContractView,
    /// All judged steps of all ranks: every nanosecond charged once.
    pub total: AmountsView,
    /// The same by charge, the largest first.
    pub charges: Vec<ChargeView>,
    /// Kernels that compute over step time, input waits left out: no program goodput can be above it.
    pub program_goodput_upper_bound: Option<f64>,
    /// The loss by term of the step, the largest first.
    pub terms: Vec<TermView>,
    /// The triage flow.
    pub triage: Option<TriageView>,
    /// Trace patterns found, the largest first.
    pub findings: Vec<FindingRowView>,
    /// One entry a rank.
    pub ranks: Vec<TraceRankView>,
    /// Which step of one rank is which of another.
    pub steps_across: StepsAcrossView,
    /// The longest judged step over time.
    pub timeline: Option<StepTimelineView>,
    /// What overlap hides and costs; `None` without communication.
    pub overlap: Option<OverlapView>,
    /// Kernels between bandwidth and peak; `None` without known FLOPs and bytes.
    pub roofline: Option<RooflineView>,
    /// Kernels by what they do.
    pub classes: Vec<KernelRowView>,
    /// Kernels by name, the most time first.
    pub kernels: Vec<KernelRowView>,
    /// Kernels by the operator that launched them, the most time first.
    pub operators: Vec<KernelRowView>,
    /// Communication by kind of exchange, the most time first.
    pub collectives: Vec<KernelRowView>,
    /// The ranks together; `None` for one rank.
    pub peers: Option<PeersView>,
    /// Traced steps beside the untraced ones of the job's timeline, when one was given.
    pub untraced: Option<UntracedView>,
    /// The traced steps against the work that the model requires, when a model was given.
    pub model: Option<TraceModelView>,
    /// What the step communicates against what its mesh and sharding ask for, when a mesh was given.
    pub audit: Option<AuditView>,
    /// What to trace next, when asked for.
    pub sampling: Option<SamplingView>,
    /// What became of every event.
    pub files: Vec<TraceFileView>,
    /// What a person should know before trusting a figure.
    pub warnings: Vec<String>,
}

/// What was traced.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceScopeView {
    /// Ranks with a trace.
    pub ranks: u64,
    /// Ranks of the job, when a trace says.
    pub world_size: Option<u64>,
    /// Devices by name.
    pub devices: Vec<String>,
    /// Steps judged, over all ranks.
    pub rank_steps: u64,
    /// Steps in the traces, over all ranks.
    pub rank_steps_traced: u64,
    /// How the steps were found.
    pub step_evidence: &'static str,
    /// The same in words.
    pub step_evidence_label: &'static str,
}

/// Nanoseconds by charge; they sum to the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct AmountsView {
    /// Length of the window.
    pub window_ns: i64,
    /// Kernels that compute.
    pub compute_ns: i64,
    /// Communication that computation does not hide.
    pub exposed_comm_ns: i64,
    /// Copies and fills beside neither.
    pub exposed_mem_ns: i64,
    /// The rest.
    pub idle_ns: i64,
    /// Time in communication.
    pub comm_total_ns: i64,
    /// Communication that computation hides.
    pub overlap_ns: i64,
    /// Idle with nothing queued.
    pub idle_host_late_ns: i64,
    /// Idle with work queued.
    pub idle_launch_lat_ns: i64,
    /// Idle before work whose launch is not known.
    pub idle_unattributed_ns: i64,
    /// Every charge, as `<class>_ns`.
    pub charges: BTreeMap<String, i64>,
}

/// One charge of the total.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChargeView {
    /// Word.
    pub charge: &'static str,
    /// In words; exchanges by kind.
    pub label: String,
    /// The term that it lengthens, in words.
    pub term: &'static str,
    /// Who can shorten it; `None` for kernels that compute.
    pub owner: Option<&'static str>,
    /// Device-time.
    pub time_ns: i64,
    /// Of the traced device-time.
    pub share: f64,
    /// The charge itself, for renderers.
    #[serde(skip)]
    pub kind: Charge,
}

/// A loss by the term that it lengthens.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TermView {
    /// Word.
    pub term: &'static str,
    /// In words.
    pub label: &'static str,
    /// Who can shorten it.
    pub owner: &'static str,
    /// Device-time.
    pub time_ns: i64,
    /// Of the traced device-time.
    pub share: f64,
}

/// The triage flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TriageView {
    /// Questions in the order asked.
    pub questions: Vec<QuestionView>,
    /// The level of evidence at which it stopped.
    pub level: &'static str,
    /// The same in words.
    pub level_label: &'static str,
    /// The term named.
    pub term: Option<&'static str>,
    /// The same in words.
    pub term_label: Option<&'static str>,
    /// What to collect next, when no term could be named.
    pub next: Option<&'static str>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionView {
    /// In words.
    pub question: &'static str,
    /// The answer.
    pub yes: bool,
    /// The figure behind it.
    pub figure: String,
}

/// A trace pattern with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingRowView {
    /// Word.
    pub symptom: &'static str,
    /// What the trace shows.
    pub label: &'static str,
    /// The likely cause.
    pub cause: &'static str,
    /// The factor that it lowers.
    pub factor: &'static str,
    /// The loss of the ledger.
    pub pattern: &'static str,
    /// The term to shorten.
    pub term: &'static str,
    /// The same in words.
    pub term_label: &'static str,
    /// Who can shorten it.
    pub owner: &'static str,
    /// Who, as a report shows it.
    pub owner_label: &'static str,
    /// What to try first.
    pub lever: &'static str,
    /// What to check before.
    pub trade_off: &'static str,
    /// Device-time.
    pub time_ns: i64,
    /// Of the traced device-time.
    pub share: f64,
    /// What speaks for it.
    pub evidence: Vec<String>,
}

/// One rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceRankView {
    /// The rank; `None` for a single trace that does not tell.
    pub rank: Option<u32>,
    /// How it is known.
    pub rank_evidence: &'static str,
    /// The file.
    pub file: String,
    /// The part of the file, when it holds several ranks.
    pub part: Option<String>,
    /// First to last device work: the whole trace.
    pub gpu_window: AmountsView,
    /// The judged steps together, in device windows.
    pub total: AmountsView,
    /// Steps in order.
    pub steps: Vec<TraceStepView>,
}

/// One step of one rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceStepView {
    /// As the trace calls it.
    pub name: String,
    /// Its number.
    pub number: Option<i64>,
    /// Start of the host window.
    pub host_from_ns: Option<Exact>,
    /// The host's window, device work cut by time; `None` when the boundaries are known on the device only.
    pub host_window: Option<AmountsView>,
    /// Start of the device window.
    pub device_from_ns: Option<Exact>,
    /// The device's window: end of the previous step's work to the end of its own. `None` without device work.
    pub device_window: Option<AmountsView>,
    /// Pieces of device work launched in it.
    pub device_events: u64,
    /// Why it is left out of the judged steps, or to be read with care.
    pub flags: Vec<&'static str>,
    /// Whether it counts in the totals.
    pub judged: bool,
}

/// Steps of all ranks, matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepsAcrossView {
    /// `number`, `exchanges` or `order`.
    pub matched_by: &'static str,
    /// In order.
    pub rows: Vec<StepRowView>,
}

/// One step on all ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepRowView {
    /// Its number, when steps are known by number.
    pub number: Option<i64>,
    /// For each entry of `ranks`, the index of its step; `None` where its trace lacks it.
    pub of_rank: Vec<Option<u32>>,
}

/// Device work that shares a class, a name or an operator.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelRowView {
    /// Name.
    pub name: String,
    /// Class of kernels that share a name.
    pub class: Option<&'static str>,
    /// How many.
    pub count: u64,
    /// Sum of durations.
    pub total_ns: i64,
    /// Time charged to them, each nanosecond once.
    pub charged_ns: i64,
    /// Median duration.
    pub median_ns: i64,
    /// 99th percentile.
    pub p99_ns: i64,
    /// Longest.
    pub max_ns: i64,
}

/// The traced steps against the work that the model requires.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceModelView {
    /// The model.
    pub model: String,
    /// Tokens of a sequence.
    pub sequence_length: u64,
    /// Sequences of a step of the job.
    pub global_batch: u64,
    /// Devices of the job.
    pub devices: u64,
    /// Device.
    pub device: String,
    /// dtype of the arithmetic.
    pub dtype: String,
    /// Dense peak of one device.
    pub peak_flops_per_second: f64,
    /// Useful model FLOPs of one device in a step.
    pub model_flops_per_device: Exact,
    /// Their time at the peak.
    pub ideal_step_ns: i64,
    /// Median length of the judged steps on the device.
    pub traced_step_ns: i64,
    /// Ideal over traced step time: MFU in exact FLOPs of the traced steps.
    pub program_goodput: f64,
    /// FLOPs that the recorded shapes give a device in a step; `None` without shapes.
    pub executed_flops_per_device: Option<Exact>,
    /// Share of the compute time that the shapes cover.
    pub executed_coverage: Option<f64>,
    /// Executed over model FLOPs: above 1 more is executed than the model needs, as far as shapes tell.
    pub executed_over_model: Option<f64>,
}

/// Traced steps beside untraced ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UntracedView {
    /// Median length of the judged steps.
    pub traced_step_ns: i64,
    /// Fault-free step time of the job, from its timeline.
    pub untraced_step_ns: i64,
    /// Traced over untraced.
    pub ratio: f64,
    /// Judged rank-steps in time which the timeline does not count as productive; `None` when the clocks cannot be
    /// compared.
    pub outside_productive: Option<u64>,
}

/// The ranks together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PeersView {
    /// How clocks were compared.
    pub clock_estimator: &'static str,
    /// Largest difference of the ends of a collective after the correction.
    pub clock_residual_ns: Option<i64>,
    /// Collectives matched over their groups.
    pub matched: u64,
    /// Communication kernels split into waiting and transfer.
    pub split: u64,
    /// Communication kernels that were not, by reason.
    pub not_split: Vec<NotSplitView>,
    /// One entry a rank.
    pub ranks: Vec<PeerRankView>,
    /// Skew by the rank that started last, the largest first.
    pub blame: Vec<BlameView>,
    /// Collectives by kind, group and size.
    pub bandwidth: Vec<BandwidthView>,
}

/// Communication that was not split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotSplitView {
    /// Why.
    pub reason: &'static str,
    /// In words.
    pub label: &'static str,
    /// Kernels.
    pub count: u64,
    /// Their time.
    pub time_ns: i64,
}

/// One rank among its peers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PeerRankView {
    /// The rank.
    pub rank: u32,
    /// Its clock less the common one.
    pub clock_offset_ns: Option<i64>,
    /// Waiting for peers in communication kernels.
    pub wait_ns: i64,
    /// Waiting for a sender.
    pub bubble_ns: i64,
    /// Moving data.
    pub transfer_ns: i64,
    /// Communication kernels that were not split.
    pub not_split_ns: i64,
}

/// Skew charged to a rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlameView {
    /// The rank.
    pub rank: u32,
    /// Latest start less earliest start of the collectives that it started last.
    pub skew_ns: i64,
    /// Of all skew.
    pub share: f64,
    /// How often it was last.
    pub times_last: u64,
    /// What it did meanwhile.
    pub doing: String,
}

/// Collectives of one kind, group size and message size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BandwidthView {
    /// Kind.
    pub collective: &'static str,
    /// The same in words.
    pub label: &'static str,
    /// Process group.
    pub group: String,
    /// Members.
    pub group_size: u32,
    /// How many.
    pub count: u64,
    /// Bytes of each.
    pub bytes: u64,
    /// Median time of the transfer.
    pub median_transfer_ns: i64,
    /// Median bus bandwidth in GB/s.
    pub median_bus_gb_per_s: f64,
    /// Best bus bandwidth in GB/s.
    pub best_bus_gb_per_s: f64,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceFileView {
    /// Path.
    pub file: String,
    /// What wrote it.
    pub format: &'static str,
    /// Bytes, inflated.
    pub bytes: u64,
    /// Events.
    pub events: u64,
    /// Events of no concern.
    pub ignored: u64,
    /// Device events used.
    pub device_events: u64,
    /// Device events lost.
    pub lost_device_events: u64,
    /// Used device events of all device events.
    pub device_coverage: Option<f64>,
    /// Used kernels of all kernels, where the format tells kernels from copies when one is lost.
    pub kernel_coverage: Option<f64>,
    /// Cut short.
    pub truncated: bool,
    /// Whether something that the answer needs was lost.
    pub degraded: bool,
    /// Repairs and refusals by cause.
    pub findings: Vec<TraceFindingView>,
}

/// Repairs or refusals of one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TraceFindingView {
    /// Why.
    pub cause: &'static str,
    /// In words.
    pub label: &'static str,
    /// How often.
    pub count: u64,
    /// Nanoseconds taken from durations.
    pub removed_ns: i64,
    /// Byte or row of the first.
    pub first_at: u64,
    /// What the first says.
    pub example: String,
}
