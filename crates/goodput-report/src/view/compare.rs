//! The view of `goodput compare`: two measurements under one contract.

use goodput_core::Boundary;
use goodput_decide::adequacy::Adequacy;
use goodput_decide::compare::{Comparison, FactorMove, Interval, Options, Ratio, Verdict};
use goodput_decide::contract::{Gate, Known, Source};
use goodput_decide::report::{Report, ServingReport, ServingRow};
use serde::Serialize;

use super::exact::Exact;
use super::settings::ViewSettings;

/// Two measurements compared, ready to be printed. Ratios are after over before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompareView {
    /// `goodput.compare/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// Title, when the user gave one.
    pub title: Option<String>,
    /// The measurement before.
    pub before: MeasuredSideView,
    /// The measurement after.
    pub after: MeasuredSideView,
    /// `accept`, `reject` or `not_decided`.
    pub verdict: &'static str,
    /// Why, the deciding reason first.
    pub reasons: Vec<String>,
    /// Whose product decides: `job` (runtime x program) or `pool` (MPG).
    pub lever: &'static str,
    /// Why that one.
    pub lever_because: String,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Resamples of the bootstrap.
    pub resamples: usize,
    /// Seed of its draws.
    pub seed: u64,
    /// The product of the ratios that decides.
    pub product: RatioView,
    /// Each factor.
    pub factors: Vec<FactorMoveView>,
    /// Time to the result of the first measurement; `null` for fleets and without settled factors.
    pub time_to_result: Option<TimeToResultView>,
    /// Progress of an example, after over before: gates the gain, and is no part of the product.
    pub statistical_efficiency: Option<StatisticalEfficiencyView>,
    /// Conditions that the two do not share.
    pub differences: Vec<DifferenceView>,
    /// Whether each window is long enough for each factor.
    pub adequacy: Vec<AdequacyView>,
    /// Why one factor dips, where the numbers show it.
    pub coupling: Option<CouplingView>,
    /// What a person should know before trusting a figure.
    pub notes: Vec<String>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredSideView {
    /// The report as the user named it.
    pub report: String,
    /// `fleet` or `job`.
    pub scope: String,
    /// The job, where it is one.
    pub job: Option<String>,
    /// The serving deployment and its device.
    pub deployment: Option<String>,
    /// Start of its window, ns since 1970.
    pub from_ns: Exact,
    /// End of its window.
    pub to_ns: Exact,
    /// What its first factor divides by.
    pub denominator: String,
    /// Devices.
    pub devices: u64,
    /// `passed`, `failed` or `not_stated`.
    pub quality_gate: &'static str,
    /// Scheduling goodput where settled.
    pub scheduling: Option<f64>,
    /// Runtime goodput where settled.
    pub runtime: Option<f64>,
    /// Program goodput where settled.
    pub program: Option<f64>,
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RatioView {
    /// After over before.
    pub value: f64,
    /// Lower end; `null` where there is too little to draw from.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// One factor before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactorMoveView {
    /// `scheduling`, `runtime` or `program`.
    pub factor: &'static str,
    /// Which it is, for colours.
    #[serde(skip)]
    pub boundary: Boundary,
    /// Whether the deciding product holds it.
    pub decides: bool,
    /// `factors`, or `step_times` where no ideal is known.
    pub basis: &'static str,
    /// Before, on the settled share.
    pub before: Option<f64>,
    /// After, on the settled share.
    pub after: Option<f64>,
    /// Settled share before.
    pub coverage_before: f64,
    /// Settled share after.
    pub coverage_after: f64,
    /// The ratio.
    pub ratio: RatioView,
    /// What was drawn again.
    pub unit: &'static str,
    /// How many before.
    pub samples_before: usize,
    /// How many after.
    pub samples_after: usize,
    /// Of a block of the bootstrap, before.
    pub block_before: usize,
    /// Of a block of the bootstrap, after.
    pub block_after: usize,
    /// The most that this factor's own levers can multiply the product by from here.
    pub headroom: Option<f64>,
    /// The share of another factor that this one's rise may give up before the product falls.
    pub may_give_up: Option<f64>,
}

/// Time to result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimeToResultView {
    /// Before, seconds.
    pub before_s: f64,
    /// After, seconds.
    pub after_s: f64,
    /// Whether the examples that the result needs are counted.
    pub to_quality: bool,
}

/// Progress of an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StatisticalEfficiencyView {
    /// After over before.
    pub ratio: f64,
    /// What it is taken from.
    pub from: &'static str,
}

/// One condition that the two do not share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DifferenceView {
    /// Its key.
    pub field: &'static str,
    /// In words.
    pub label: &'static str,
    /// Before; `null` where it is not known.
    pub before: Option<String>,
    /// `records` or `stated`.
    pub before_source: Option<Source>,
    /// After; `null` where it is not known.
    pub after: Option<String>,
    /// `records` or `stated`.
    pub after_source: Option<Source>,
    /// What the comparison cannot say because of it.
    pub not_attributable: String,
}

/// Whether a window is long enough for a factor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdequacyView {
    /// `before` or `after`.
    pub side: &'static str,
    /// The factor.
    pub factor: &'static str,
    /// Whether it is.
    pub adequate: bool,
    /// Probability that a window as short as this sees no failure.
    pub no_failure_probability: Option<f64>,
    /// In a sentence.
    pub sentence: String,
}

/// A known coupling of factors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CouplingView {
    /// `device_bound_step`, `host_bound_step`, `runtime_lever` or `scheduling_lever`.
    pub coupling: &'static str,
    /// In sentences.
    pub why: String,
}

impl CompareView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.compare/1";

    /// The view of a comparison. `sides` are the reports with their names.
    pub fn new(
        found: &Comparison,
        sides: [(&str, ComparedReport<'_>); 2],
        options: &Options,
        settings: &ViewSettings,
    ) -> Self {
        let [before, after] = sides;
        let adequacy = ["before", "after"].into_iter().zip(&found.adequacy);
        Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            title: settings.title.clone(),
            before: side(before, &found.gates[0]),
            after: side(after, &found.gates[1]),
            verdict: found.verdict.key(),
            reasons: found.reasons.clone(),
            lever: found.lever.key(),
            lever_because: found.lever_because.clone(),
            confidence: options.confidence,
            resamples: options.resamples,
            seed: options.seed,
            product: found.product.into(),
            factors: found.factors.iter().map(Into::into).collect(),
            time_to_result: found.time_to_result.map(|t| TimeToResultView {
                before_s: t.before_s,
                after_s: t.after_s,
                to_quality: t.to_quality,
            }),
            statistical_efficiency: found
                .statistical
                .as_ref()
                .map(|s| StatisticalEfficiencyView { ratio: s.ratio, from: s.from }),
            differences: found.differences.iter().map(difference).collect(),
            adequacy: adequacy
                .flat_map(|(side, all)| all.iter().map(move |a| adequacy_view(side, a)))
                .collect(),
            coupling: found
                .coupling
                .as_ref()
                .map(|(coupling, why)| CouplingView { coupling: coupling.key(), why: why.clone() }),
            notes: found.notes.clone(),
        }
    }

    /// Whether the change is to be kept.
    pub fn is_accepted(&self) -> bool {
        self.verdict == Verdict::Accept.key()
    }
}

/// A report that was compared.
#[derive(Debug, Clone, Copy)]
pub enum ComparedReport<'a> {
    /// A training job or a fleet of them.
    Training(&'a Report),
    /// A serving fleet.
    Serving(&'a ServingReport),
}

fn side((label, measured): (&str, ComparedReport<'_>), gate: &Gate) -> MeasuredSideView {
    let quality_gate = match gate {
        Gate::Passed { .. } => "passed",
        Gate::Failed { .. } => "failed",
        Gate::NotStated => "not_stated",
    };
    let report = match measured {
        ComparedReport::Training(report) => report,
        ComparedReport::Serving(report) => return serving_side(label, report, quality_gate),
    };
    let contract = report.contract();
    let settled = |boundary| report.factors().get(boundary).and_then(|f| f.settled);
    MeasuredSideView {
        report: label.to_owned(),
        scope: contract.scope.clone(),
        job: match report {
            Report::Timeline(job) => job.job.clone(),
            Report::Account(_) => None,
        },
        deployment: None,
        from_ns: Exact(contract.window.from_ns.0),
        to_ns: Exact(contract.window.to_ns.0),
        denominator: contract.denominator.clone(),
        devices: contract.devices,
        quality_gate,
        scheduling: settled(Boundary::Scheduling),
        runtime: settled(Boundary::Runtime),
        program: settled(Boundary::Program),
    }
}

fn serving_side(label: &str, report: &ServingReport, quality_gate: &'static str) -> MeasuredSideView {
    let contract = &report.contract;
    let row = report.rows.first();
    let measure = |key| row.and_then(|row| row.measure(key));
    MeasuredSideView {
        report: label.to_owned(),
        scope: "serving".to_owned(),
        job: None,
        deployment: row.map(ServingRow::name),
        from_ns: Exact(contract.window.from_ns.0),
        to_ns: Exact(contract.window.to_ns.0),
        denominator: contract.denominator.clone(),
        devices: contract.devices,
        quality_gate,
        scheduling: measure("scheduling"),
        runtime: measure("runtime"),
        program: measure("program_decode_weights").or_else(|| measure("program_prefill")),
    }
}

impl From<Ratio> for RatioView {
    fn from(ratio: Ratio) -> Self {
        let Ratio { value, interval } = ratio;
        let (low, high) = interval.map(|Interval { low, high }| (low, high)).unzip();
        Self { value, low, high }
    }
}

impl From<&FactorMove> for FactorMoveView {
    fn from(moved: &FactorMove) -> Self {
        let (before, after) = moved.values.map(|[before, after]| (before, after)).unzip();
        Self {
            factor: moved.boundary.key(),
            boundary: moved.boundary,
            decides: moved.decides,
            basis: if moved.values.is_some() { "factors" } else { "step_times" },
            before,
            after,
            coverage_before: moved.coverage[0],
            coverage_after: moved.coverage[1],
            ratio: moved.ratio.into(),
            unit: moved.unit,
            samples_before: moved.samples[0],
            samples_after: moved.samples[1],
            block_before: moved.block[0],
            block_after: moved.block[1],
            headroom: moved.headroom,
            may_give_up: moved.may_give_up,
        }
    }
}

fn difference(found: &goodput_decide::contract::Difference) -> DifferenceView {
    let value = |known: &Option<Known>| known.as_ref().map(|k| k.value.clone());
    let source = |known: &Option<Known>| known.as_ref().map(|k| k.source);
    DifferenceView {
        field: found.condition.key,
        label: found.condition.label,
        before: value(&found.before),
        before_source: source(&found.before),
        after: value(&found.after),
        after_source: source(&found.after),
        not_attributable: found.condition.not_attributable(),
    }
}

fn adequacy_view(side: &'static str, judged: &Adequacy) -> AdequacyView {
    AdequacyView {
        side,
        factor: judged.boundary.key(),
        adequate: judged.adequate,
        no_failure_probability: judged.no_failure,
        sentence: judged.sentence.clone(),
    }
}
