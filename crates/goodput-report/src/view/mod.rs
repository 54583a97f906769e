//! Views: one a verb, serialisable, and all that a renderer knows.

mod account;
mod baseline;
mod calibrate;
mod calibration;
mod classes;
mod collect;
mod compare;
mod composed;
mod conditions;
mod contract;
mod exact;
mod explain;
mod flops;
mod jobs;
mod lanes;
mod layout;
mod ledger;
mod lint;
mod measured_here;
mod mfu;
mod plan;
mod pools;
mod predict;
mod read;
mod runtime;
mod search;
mod serving;
mod settings;
mod timeline;
mod trace;
mod validate;
mod value;

pub use account::{AccountView, TiersView};
pub use baseline::{
    BaselineChangeView, BaselineSettingsView, BaselineUpdateView, BaselineView, CoincidenceView,
    CurvePointView, CurveView, HistoryPointView, NotTestedView, RefusedLineView, TierView,
};
pub use calibrate::{
    CalibratedDeviceView, CalibratedFile, CalibratedKindView, MeasuredTablesView, SustainedView,
};
pub use calibration::{AppliedFactorView, CalibrationView};
pub use classes::WorkloadClassView;
pub use collect::{CollectedRunView, CollectionView, RefusedRunView, RefusedSourceView, StatedValueView};
pub use compare::{
    AdequacyView, CompareView, ComparedReport, CouplingView, DifferenceView, FactorMoveView,
    MeasuredSideView, RatioView, StatisticalEfficiencyView, TimeToResultView,
};
#[cfg(test)]
pub(crate) use composed::modelled_curve;
pub use composed::{ComposedTermView, ComposedView, EttrView, SizePointView};
pub use conditions::{
    ConditionView, CycleView, DayView, FactorStatisticsView, KnownConditions, SamplesView, StepBlockView,
};
pub use contract::{
    CommitsView, ContractView, CoverageView, IdealView, SoftwareView, TimingBoundaryView, WindowView,
};
pub use exact::Exact;
pub use explain::{
    ExchangeView, ExplainFindingView, ExplainView, ExplainedRankView, ExplainedStageView, ExplainedTermView,
    PairView, PartView, ProductRateView, RecomputeView, SameJobView, TracedStepsView,
};
pub use flops::{
    BatchView, BytesView, ComparisonView, ComponentView, ConventionView, DepartureView, FlopsInput,
    FlopsTotalsView, FlopsView, ParametersView, PassesView, RecurrenceCountView, RecurrenceView,
    SelfCheckView,
};
pub use jobs::{JobView, JobWaitsView, NextView, OmittedJobsView, ProgramBasisView};
pub use lanes::{LaneView, LanesView, SegmentView};
pub use ledger::{
    AllBoundsView, CapacityTimeView, DeviceHoursView, FactorBoundsView, FactorsView, Keyed, LedgerView,
    LossSharesView, LossView, MarginalValuesView,
};
pub use lint::{CorrectedView, LintFindingView, LintView};
pub use measured_here::{MeasuredHereView, MeasuredTermView};
pub use mfu::{
    AuditedLogView, AuditedRunView, ConversionView, ExplanationView, FactorView, FaultView, FigureView,
    MfuAuditView, MfuView,
};
pub use plan::{
    PlanAnswerView, PlanColumnView, PlanFigureView, PlanInputView, PlanRowView, PlanRowsView, PlanView,
};
pub use pools::{CohortView, DiagnosticsView, PointView, PoolView, SeriesView, WaitView};
pub use predict::{
    BeyondTableView, ClosedFormView, DrawnRowView, DrawnSpanView, EfficiencyView, GuideView, PictureView,
    PictureWindowView, PredictedConventionView, PredictedMemoryView, PredictedRunView, PredictedStageView,
    PredictedTermView, PredictionContractView, PredictionView, StageTermView,
};
pub use read::{FileView, FindingView, ReadReportView, WarningView};
pub use runtime::{MeasuredView, RanksView, StepTimesView, StepsView};
pub use search::{LayoutView, RefusedView, RuleView, SearchInput, SearchView};
pub use serving::{
    DecodeModelView, DecodeTermView, LifetimeView, PlacementWaitView, ReadinessCurveView, ReadinessPointView,
    ReplicaLaneView, ReplicaLanesView, ReplicaStretchView, ServingBasis, ServingContractView, ServingDayView,
    ServingLeverView, ServingLossView, ServingMeasureView, ServingPoolView, ServingRowView, ServingView,
    ServingWorkView, TracedDecodeView,
};
pub use settings::{Price, ViewSettings};
pub use timeline::{HeldAttemptView, HeldView, TimelineView, WorkView};
pub use trace::{
    AmountsView, AuditExtraView, AuditLineView, AuditView, BandwidthView, BlameView, CeilingsView,
    ChargeView, ChargedSegmentView, ContendedKernelView, FindingRowView, KernelRowView, MisplacedAxisView,
    NotPlacedView, NotSplitView, OverlapView, PeerRankView, PeersView, QuestionView, RankOverlapView,
    RegimeView, RooflineKernelView, RooflineView, SampledRankView, SampledWindowView, SamplingView,
    StepLaneView, StepRowView, StepTimelineView, StepsAcrossView, StratumView, TermView, TraceBeside,
    TraceContractView, TraceFileView, TraceFindingView, TraceModelView, TraceRankView, TraceScopeView,
    TraceStepView, TraceView, TriageView, TriggerView, UntracedView,
};
pub use validate::{
    AssumedView, FailedRunView, RefusedRowView, RegressionView, ValidatedRowView, ValidationView, WorseView,
};
pub use value::{CostView, LeverView};
