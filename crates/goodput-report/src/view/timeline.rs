//! The view of `goodput timeline`: one job from its own log.

use goodput_core::fleet::ProgramBasis;
use goodput_core::records::Timeline;
use goodput_core::runtime::RuntimeAccount;
use goodput_core::{Interval, Ledger};
use goodput_records::ReadReport;
use serde::Serialize;

use super::composed::{ComposedView, EttrView};
use super::conditions::{KnownConditions, Measurements, SamplesView};
use super::contract::{CommitsView, ContractView, CoverageView, IdealView, SoftwareView, TimingBoundaryView};
use super::exact::Exact;
use super::jobs::ProgramBasisView;
use super::lanes::LanesView;
use super::ledger::{LedgerView, LossView, Scope};
use super::read::{ReadReportView, Sources, WarningView};
use super::runtime::{MeasuredView, RanksView, StepTimesView, StepsView, commits_key};
use super::settings::ViewSettings;
use super::value::LeverView;
use crate::number::rfc3339;

/// One job's account, ready to be printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineView {
    /// `goodput.timeline/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// Title, when the user gave one.
    pub title: Option<String>,
    /// The job's id, when the log or the user says so.
    pub job: Option<String>,
    /// What the figures are measured over.
    pub contract: ContractView,
    /// The job's ledger, from held on.
    #[serde(flatten)]
    pub ledger: LedgerView,
    /// Its losses, the largest first.
    pub losses: Vec<LossView>,
    /// What removing each loss is worth, the largest gain first.
    pub levers: Vec<LeverView>,
    /// The held intervals inside the window.
    pub held: HeldView,
    /// Fault-free step time; `None` without a steady step.
    pub fault_free_step_ns: Option<Exact>,
    /// Steps by fate.
    pub steps: StepsView,
    /// Durations of retained steady steps.
    pub step_times: StepTimesView,
    /// Step times by rank, when ranks logged.
    pub ranks: Option<RanksView>,
    /// Time between held intervals: beside the product.
    pub queue_wait_ns: Exact,
    /// `recorded` or `unknown`.
    pub commits: &'static str,
    /// Events as counted and timed.
    pub measured: MeasuredView,
    /// What confidence intervals are made from.
    pub samples: SamplesView,
    /// The composed first-order model beside the measured shares.
    pub composed: Option<ComposedView>,
    /// Effective training time ratio, under its own definition.
    pub ettr: Option<EttrView>,
    /// Work of the retained steps.
    pub work: WorkView,
    /// What the program factor rests on.
    pub program_basis: Option<ProgramBasisView>,
    /// The attempts over time.
    pub lanes: LanesView,
    /// What became of every input row.
    pub read_report: ReadReportView,
    /// What a person should know before trusting a figure.
    pub warnings: Vec<WarningView>,
}

/// When and on how many devices the job held its allocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldView {
    /// Whether scheduler records give it; otherwise it is taken from the log.
    pub recorded: bool,
    /// Devices at the start; 1 (job time) when nobody says.
    pub devices: u64,
    /// Whether anybody said how many.
    pub devices_known: bool,
    /// One entry an attempt.
    pub attempts: Vec<HeldAttemptView>,
}

/// One held interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldAttemptView {
    /// RFC 3339, UTC.
    pub from: String,
    /// RFC 3339, UTC.
    pub to: String,
    /// Nanoseconds since the Unix epoch.
    pub from_ns: Exact,
    /// Nanoseconds since the Unix epoch.
    pub to_ns: Exact,
}

/// Work of the retained steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WorkView {
    /// Real tokens.
    pub tokens: Exact,
    /// Model FLOPs.
    pub model_flops: Exact,
    /// Productive capacity-time of the steps whose work the log gives.
    pub covered_ns: Exact,
}

impl TimelineView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.timeline/1";

    /// The view of one job's account. `ledger` runs from held to ideal.
    pub fn new(
        runtime: &RuntimeAccount,
        program: Option<&ProgramBasis>,
        ledger: &Ledger,
        timeline: &Timeline,
        read: &ReadReport,
        settings: &ViewSettings,
    ) -> Self {
        let sources = Sources(read);
        let job = timeline.job.clone();
        let mut lanes = LanesView::new(runtime.window);
        lanes.push_job(job.as_deref().unwrap_or("job"), &runtime.lanes);
        Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            title: settings.title.clone(),
            contract: contract(runtime, program, ledger, timeline),
            ledger: LedgerView::new(ledger, Scope::Job),
            losses: LossView::of(ledger, ledger.chain().levels().held, &sources),
            levers: LeverView::ranked(ledger, settings.price.as_ref()),
            held: held(runtime),
            fault_free_step_ns: runtime.fault_free_step_ns.map(Into::into),
            steps: StepsView::new(runtime.steps, timeline.planned_steps),
            step_times: runtime.step_times.into(),
            ranks: runtime.ranks.as_ref().map(Into::into),
            queue_wait_ns: runtime.queue_wait_ns.into(),
            commits: commits_key(runtime.commits),
            measured: runtime.measured.into(),
            samples: (&runtime.samples).into(),
            composed: ComposedView::new(runtime),
            ettr: EttrView::new(runtime),
            work: WorkView {
                tokens: runtime.work.tokens.into(),
                model_flops: runtime.work.model_flops.into(),
                covered_ns: runtime.work.covered.into(),
            },
            program_basis: program.map(Into::into),
            lanes,
            read_report: ReadReportView::new(read),
            warnings: WarningView::all(runtime.warnings.iter().map(|w| (None, w)), &sources),
            job,
        }
    }
}

fn held(runtime: &RuntimeAccount) -> HeldView {
    let extent = |lane: &Vec<goodput_core::runtime::Segment>| {
        Some(Interval::new(lane.first()?.interval.start, lane.last()?.interval.end))
    };
    let attempts = runtime
        .lanes
        .iter()
        .filter_map(extent)
        .map(|Interval { start, end }| HeldAttemptView {
            from: rfc3339(start),
            to: rfc3339(end),
            from_ns: start.into(),
            to_ns: end.into(),
        })
        .collect();
    HeldView {
        recorded: runtime.recorded_allocation,
        devices: runtime.devices,
        devices_known: runtime.devices_known,
        attempts,
    }
}

fn contract(
    runtime: &RuntimeAccount,
    program: Option<&ProgramBasis>,
    ledger: &Ledger,
    timeline: &Timeline,
) -> ContractView {
    let resolution = Some(timeline.stamp_resolution_ns);
    let mut commits = CommitsView::default();
    commits.count(Some(runtime.commits));
    let ideal = |p: &ProgramBasis| IdealView {
        ideal: p.ideal,
        device: p.device.clone(),
        peak_flops_per_second: p.peak_flops_per_second,
        dtype: p.dtype.clone(),
        convention: p.convention.clone(),
        jobs: 1,
    };
    ContractView {
        scope: "job",
        window: runtime.window.into(),
        denominator: "held",
        devices: runtime.devices,
        device_types: timeline.ideal.device.iter().cloned().collect(),
        ideals: program.map(ideal).into_iter().collect(),
        software: SoftwareView::all(&timeline.software),
        timing_boundary: if runtime.recorded_allocation {
            TimingBoundaryView::recorded(resolution)
        } else {
            TimingBoundaryView::from_log(resolution)
        },
        coverage: CoverageView { timelines: Some(1.0), ..CoverageView::of(ledger.chain()) },
        commits,
        known: KnownConditions::default(),
        statistics: Vec::new(),
        measurements: Measurements::default(),
    }
    .recorded(Measurements::new(std::iter::once(runtime), None), &[], runtime.devices_known)
}
