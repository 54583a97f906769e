//! The contract of a step trace's report.

use std::borrow::Cow;

use goodput_core::{Timestamp, Window};
use goodput_decide::adequacy::judge_trace;
use goodput_trace::analysis::Analysis;
use goodput_trace::nearest_rank::percentile;
use goodput_trace::steps::{Evidence, Step};
use goodput_trace::trace::Epoch;
use serde::Serialize;

use super::{StepRowView, TraceBeside, TraceModelView, TraceScopeView};
use crate::view::conditions::{FactorStatisticsView, KnownConditions, one};
use crate::view::contract::{ideal_condition, resolution_ns};
use crate::view::exact::Exact;
use crate::view::{StepTimesView, TimingBoundaryView, WindowView};

/// What every figure of the report is measured over: the captured steps of the traced ranks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceContractView {
    /// `trace`.
    pub scope: &'static str,
    /// First start to last end of the judged steps; `None` where the stamps count from an instant of the trace's own.
    pub window: Option<WindowView>,
    /// The same on the rank where it is longest, which needs no common clock; `None` without a judged step.
    pub duration_ns: Option<Exact>,
    /// What the shares divide by: `traced`, the time of the judged steps.
    pub denominator: &'static str,
    /// Ranks with a trace, a device each.
    pub devices: u64,
    /// Device types that the traces name, or the one given over them.
    pub device_types: Vec<String>,
    /// Where the timed stretches begin and end.
    pub timing_boundary: TimingBoundaryView,
    /// The conditions that are known, and where from.
    #[serde(flatten)]
    pub known: KnownConditions,
    /// How the program factor was measured, and whether the steps are enough.
    pub statistics: Vec<FactorStatisticsView>,
}

impl TraceContractView {
    pub(super) fn new(
        analysis: &Analysis,
        scope: &TraceScopeView,
        rows: &[StepRowView],
        beside: &TraceBeside,
    ) -> Self {
        let work = analysis.ranks.iter().flat_map(|rank| &rank.trace.work);
        let stamps_ns = work.flat_map(|work| [work.start_ns, work.end_ns]);
        let timing_boundary = TimingBoundaryView {
            held: Cow::Owned(format!(
                "the judged steps on the device, by the profiler's stamps; boundaries: {}",
                scope.step_evidence_label
            )),
            productive: "kernels that compute; other device work and idle time are left out",
            stamp_resolution_ns: resolution_ns(stamps_ns).map(Into::into),
        };
        let denominator = "traced";
        let device_types =
            beside.device.as_ref().map_or_else(|| scope.devices.clone(), |of| vec![of.clone()]);
        let model = beside.model.as_ref();
        let of_model = |text: fn(&TraceModelView) -> String| model.map(text).unwrap_or_default();
        // Traced ranks may be a few of the job's: only who names the whole job says how many devices it has.
        let job_devices = model.map(|of| of.devices).or(scope.world_size);
        let stated = analysis.ranks.iter().flat_map(|rank| &rank.trace.software);
        let software = stated.map(|(name, version)| format!("{name} {version}"));
        let known = KnownConditions::from_records(
            [
                ("workload.model", of_model(|of| of.model.clone())),
                ("workload.sequence_tokens", of_model(|of| of.sequence_length.to_string())),
                ("workload.global_batch", of_model(|of| of.global_batch.to_string())),
                ("system.devices", job_devices.map(|devices| devices.to_string()).unwrap_or_default()),
                ("system.device_types", device_types.join(", ")),
                (
                    "system.ideal",
                    of_model(|of| {
                        ideal_condition("compute", &of.device, &of.dtype, of.peak_flops_per_second)
                    }),
                ),
                ("system.software", one(software.collect())),
                ("system.precision", of_model(|of| of.dtype.clone())),
                ("statistics.denominator", denominator.to_owned()),
            ]
            .into_iter()
            .chain(timing_boundary.conditions()),
        );
        Self {
            scope: "trace",
            window: window(analysis),
            duration_ns: spans(analysis).map(|(from_ns, to_ns)| to_ns - from_ns).max().map(Into::into),
            denominator,
            devices: scope.ranks,
            device_types,
            timing_boundary,
            known,
            statistics: vec![statistics(analysis, rows)],
        }
    }
}

/// First start to last end of each rank's judged steps, in nanoseconds of its own clock.
fn spans(analysis: &Analysis) -> impl Iterator<Item = (i64, i64)> + '_ {
    analysis.ranks.iter().filter_map(|rank| {
        let judged = rank.steps.steps.iter().zip(&rank.windows).filter(|(_, windows)| windows.judged);
        let mut on_device = judged.filter_map(|(step, _)| step.device);
        let first = on_device.next()?;
        Some(on_device.fold(first, |(from_ns, to_ns), (from, to)| (from_ns.min(from), to_ns.max(to))))
    })
}

fn window(analysis: &Analysis) -> Option<WindowView> {
    if analysis.ranks.iter().any(|rank| rank.trace.epoch != Epoch::Unix) {
        return None;
    }
    let from_ns = spans(analysis).map(|(from_ns, _)| from_ns).min()?;
    let to_ns = spans(analysis).map(|(_, to_ns)| to_ns).max()?;
    Window::new(Timestamp::from_nanos(from_ns), Timestamp::from_nanos(to_ns)).ok().map(WindowView::from)
}

fn statistics(analysis: &Analysis, rows: &[StepRowView]) -> FactorStatisticsView {
    let told_apart = analysis.ranks.iter().all(|rank| rank.steps.evidence != Evidence::WholeTrace);
    let steady = |rank: usize, step: u32| {
        let step: &Step = &analysis.ranks[rank].steps.steps[step as usize];
        step.device.filter(|_| !step.warm_up && !step.incomplete)
    };
    // A step is one trial however many ranks are traced: they wait for each other.
    let any_steady = |row: &&StepRowView| {
        let of_rank = row.of_rank.iter().enumerate();
        of_rank
            .filter_map(|(rank, step)| Some((rank, (*step)?)))
            .any(|(rank, step)| steady(rank, step).is_some())
    };
    let trials = told_apart.then(|| rows.iter().filter(any_steady).count() as u64);
    let mut lengths: Vec<i64> = analysis
        .ranks
        .iter()
        .enumerate()
        .filter(|_| told_apart)
        .flat_map(|(rank, of)| (0..of.steps.steps.len() as u32).filter_map(move |step| steady(rank, step)))
        .map(|(from_ns, to_ns)| to_ns - from_ns)
        .collect();
    let mut view = FactorStatisticsView::judged(judge_trace(trials), "traced");
    let mut at = |percent| percentile(&mut lengths, percent).map(Exact::from);
    if let (Some(p50_ns), Some(p90_ns), Some(p99_ns), Some(max_ns)) = (at(50), at(90), at(99), at(100)) {
        view.of = "step time on a rank's device, ns";
        view.centre = Some(p50_ns.0 as f64);
        view.spread = Some((p90_ns.0 - p50_ns.0) as f64);
        view.percentiles =
            Some(StepTimesView { count: lengths.len() as u64, p50_ns, p90_ns, p99_ns, max_ns });
    }
    view
}
