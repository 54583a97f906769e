//! The views of `goodput baseline`: what was added to a history, and what its check found.

use std::collections::BTreeMap;

use goodput_decide::baseline::{
    Cause, Check, Curve, CurvePoint, Departure, Finding, History, Kind, MIN_LENGTH, Measure, Metric, Row,
    Settings, SlowHost, Tier,
};
use serde::Serialize;

use super::settings::ViewSettings;

/// What a check found, ready to be printed. Fractions, not percent; times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BaselineView {
    /// `goodput.baseline/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// The history's file.
    pub history: String,
    /// Rows that were looked at.
    pub rows: usize,
    /// Their jobs.
    pub jobs: usize,
    /// Their pools.
    pub pools: usize,
    /// Their canaries, by name and devices.
    pub canaries: usize,
    /// UTC day of the first of them.
    pub from: String,
    /// UTC day of the last.
    pub to: String,
    /// `regressed`, `no_regression` or `not_enough_history`.
    pub verdict: &'static str,
    /// What became worse and still is.
    pub regressions: usize,
    /// What was asked.
    pub settings: BaselineSettingsView,
    /// Tests made, by tier.
    pub tiers: Vec<TierView>,
    /// Largest p-value that counts as a finding; null where none does.
    pub level: Option<f64>,
    /// Changes over time, standing regressions first.
    pub changes: Vec<BaselineChangeView>,
    /// Releases and policies that coincide with changes, those with the most that became worse first.
    pub causes: Vec<CoincidenceView>,
    /// Hosts that are slower than their peers.
    pub slow_hosts: Vec<SlowHost>,
    /// Canaries: the newest runs against the earlier ones.
    pub curves: Vec<CurveView>,
    /// Runs off the baseline of their architecture, software, device and convention.
    pub departures: Vec<Departure>,
    /// What could not be tested.
    pub not_tested: NotTestedView,
    /// Jobs with MFUs of several devices, peaks or conventions: each followed on its own, never compared.
    pub mixed_ideals: Vec<String>,
    /// Lines of the history that are no rows.
    pub refused: Vec<RefusedLineView>,
}

/// What was asked of a check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BaselineSettingsView {
    /// Share of findings that may be false; where nothing changed, the probability of any finding.
    pub false_alarms: f64,
    /// Least size worth reporting.
    pub threshold: f64,
    /// From how much over the typical rank a rank is slow.
    pub slow_rank: f64,
    /// First UTC day of changes that count.
    pub since: Option<String>,
    /// Only this job.
    pub job: Option<String>,
    /// Only this pool.
    pub pool: Option<String>,
}

/// A tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TierView {
    /// Its key.
    pub tier: Tier,
    /// Its name.
    pub label: &'static str,
    /// Tests made.
    pub tests: usize,
    /// What became worse and still is.
    pub regressions: usize,
}

/// A change of one figure of one job or pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BaselineChangeView {
    /// The tier.
    pub tier: Tier,
    /// The figure.
    pub metric: Metric,
    /// The figure in words.
    pub label: &'static str,
    /// `seconds`, `share`, `per_day` or `ratio`.
    pub unit: &'static str,
    /// `job` or `pool`.
    pub kind: Kind,
    /// Its name.
    pub subject: String,
    /// Whether it became worse.
    pub worse: bool,
    /// Whether it has come back since.
    pub recovered: bool,
    /// Level before: a median, of shares and rates a mean.
    pub before: f64,
    /// Level after.
    pub after: f64,
    /// After over before, less one; null from nothing.
    pub relative: Option<f64>,
    /// 95 % interval of that, where the figure is compared by ratio.
    pub relative_interval: Option<(f64, f64)>,
    /// First UTC day after the change.
    pub day: String,
    /// Last day that may still be before it, and the last that may be its first.
    pub between: (String, String),
    /// Probability of such a change where there is none.
    pub p_value: f64,
    /// What else changed then.
    pub causes: Vec<Cause>,
    /// The slow host that causes it and is counted in its place; of a job's slowest over typical rank alone.
    pub slow_host: Option<String>,
    /// The series.
    pub history: Vec<HistoryPointView>,
}

/// A value of a series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryPointView {
    /// UTC day.
    pub day: String,
    /// The figure.
    pub value: f64,
}

/// Something that changed at the time of changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CoincidenceView {
    /// What.
    #[serde(flatten)]
    pub cause: Cause,
    /// Figures that became worse then and still are.
    pub worse: usize,
    /// Figures that became better then.
    pub better: usize,
    /// Jobs and pools among them.
    pub subjects: usize,
}

/// A canary's curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CurveView {
    /// The canary.
    pub job: String,
    /// `mfu` or `step_time`.
    pub speed: &'static str,
    /// By devices.
    pub points: Vec<CurvePointView>,
}

/// A point of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CurvePointView {
    /// The newest run and its baseline.
    #[serde(flatten)]
    pub point: CurvePoint,
    /// `worse`, `better`, `same` or `not_enough_history`.
    pub verdict: &'static str,
}

/// What a check could not test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NotTestedView {
    /// Series that are too short.
    pub series: usize,
    /// Reports of the longest of them.
    pub longest: usize,
    /// Reports that a series needs.
    pub needed: usize,
    /// Runs with an MFU and too few others of their architecture, software, device and convention.
    pub runs_without_baseline: usize,
    /// Runs whose rows name no architecture.
    pub runs_without_model: usize,
}

/// A line that is no row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedLineView {
    /// One-based.
    pub line: u64,
    /// Why.
    pub why: String,
}

impl BaselineView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.baseline/1";

    /// The view of a check of `rows`, which `history` holds; `asked` is what of the question is not in `settings`.
    #[must_use]
    pub fn new(
        file: &str,
        history: &History,
        rows: &[Row],
        check: Check,
        settings: &Settings,
        asked: BaselineSettingsView,
    ) -> Self {
        let subjects = |kind: Kind| {
            rows.chunk_by(|a, b| a.subject() == b.subject()).filter(|rows| rows[0].kind == kind).count()
        };
        let days = || rows.iter().map(|row| &row.day);
        let curves: Vec<CurveView> =
            check.curves.iter().map(|curve| CurveView::new(curve, &check, settings)).collect();
        let regressions = check.regressions(settings);
        let mut view = Self {
            schema: Self::SCHEMA,
            generated_by: ViewSettings::default().generated_by,
            history: file.to_owned(),
            rows: rows.len(),
            jobs: subjects(Kind::Job),
            pools: subjects(Kind::Pool),
            canaries: subjects(Kind::Canary),
            from: days().min().map(ToString::to_string).unwrap_or_default(),
            to: days().max().map(ToString::to_string).unwrap_or_default(),
            verdict: match regressions {
                0 if check.tested() == 0 => "not_enough_history",
                0 => "no_regression",
                _ => "regressed",
            },
            regressions,
            settings: asked,
            tiers: Vec::new(),
            level: check.level,
            causes: coincidences(&check.changes),
            not_tested: NotTestedView {
                series: check.too_short,
                longest: check.longest_too_short,
                needed: MIN_LENGTH,
                runs_without_baseline: check.without_baseline,
                runs_without_model: check.without_model,
            },
            curves,
            changes: check.changes.into_iter().map(BaselineChangeView::from).collect(),
            slow_hosts: check.slow_hosts,
            departures: check.departures,
            mixed_ideals: check.mixed_ideals,
            refused: history
                .refused
                .iter()
                .map(|refused| RefusedLineView { line: refused.line, why: refused.why.clone() })
                .collect(),
        };
        view.tiers = check
            .tests
            .iter()
            .map(|&(tier, tests)| TierView {
                tier,
                label: tier.label(),
                tests,
                regressions: view.regressed(tier),
            })
            .collect();
        view
    }

    /// What of a tier became worse and still is.
    fn regressed(&self, tier: Tier) -> usize {
        let changes = self.changes.iter().filter(|change| change.tier == tier && change.counts()).count();
        changes
            + match tier {
                Tier::Canary => {
                    self.curves.iter().flat_map(|c| &c.points).filter(|p| p.verdict == "worse").count()
                }
                Tier::Mfu => self.departures.iter().filter(|departure| departure.change < 0.0).count(),
                Tier::GrayFailure => self.slow_hosts.len(),
                Tier::StartupRecovery | Tier::Allocation => 0,
            }
    }
}

impl BaselineChangeView {
    /// Worse, not undone, and no consequence of a slow host, which is counted itself.
    #[must_use]
    pub const fn counts(&self) -> bool {
        self.worse && !self.recovered && self.slow_host.is_none()
    }
}

impl From<Finding> for BaselineChangeView {
    fn from(finding: Finding) -> Self {
        let metric = finding.metric;
        Self {
            tier: metric.tier(),
            metric,
            label: metric.label(),
            unit: match metric.measure() {
                _ if metric.is_time() => "seconds",
                Measure::Share => "share",
                Measure::Rate => "per_day",
                Measure::Ratio if metric == Metric::Mfu => "share",
                Measure::Ratio => "ratio",
            },
            kind: finding.kind,
            worse: finding.worse,
            recovered: finding.recovered,
            subject: finding.subject,
            before: finding.before,
            after: finding.after,
            relative: finding.relative,
            relative_interval: finding.interval,
            day: finding.day,
            between: finding.between,
            p_value: finding.p_value,
            causes: finding.causes,
            slow_host: finding.slow_host,
            history: finding
                .history
                .into_iter()
                .map(|(day, value)| HistoryPointView { day, value })
                .collect(),
        }
    }
}

impl CurveView {
    fn new(curve: &Curve, check: &Check, settings: &Settings) -> Self {
        let verdict = |point: &CurvePoint| match point.change {
            _ if point.p_value.is_none() => "not_enough_history",
            Some(change) if check.is_off(point, settings) => {
                if change < 0.0 {
                    "worse"
                } else {
                    "better"
                }
            }
            _ => "same",
        };
        let points =
            curve.points.iter().map(|point| CurvePointView { verdict: verdict(point), point: point.clone() });
        Self { job: curve.job.clone(), speed: curve.speed, points: points.collect() }
    }
}

fn coincidences(changes: &[Finding]) -> Vec<CoincidenceView> {
    let mut by_cause: BTreeMap<&Cause, Vec<&Finding>> = BTreeMap::new();
    for finding in changes {
        finding.causes.iter().for_each(|cause| by_cause.entry(cause).or_default().push(finding));
    }
    let mut causes: Vec<CoincidenceView> = by_cause
        .into_iter()
        .map(|(cause, findings)| {
            let mut subjects: Vec<&str> = findings.iter().map(|finding| finding.subject.as_str()).collect();
            subjects.sort_unstable();
            subjects.dedup();
            CoincidenceView {
                cause: cause.clone(),
                worse: findings.iter().filter(|finding| finding.stands()).count(),
                better: findings.iter().filter(|finding| !finding.worse).count(),
                subjects: subjects.len(),
            }
        })
        .collect();
    causes.sort_by_key(|cause| std::cmp::Reverse((cause.worse, cause.better)));
    causes
}

/// What was added to a history.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BaselineUpdateView {
    /// `goodput.baseline-update/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// The history's file.
    pub history: String,
    /// Reports read.
    pub reports: usize,
    /// Rows added.
    pub added: u64,
    /// Rows that it had.
    pub known: u64,
    /// Rows that cannot stand beside those it has.
    pub refused: Vec<String>,
    /// Lines of the history that are no rows.
    pub refused_lines: Vec<RefusedLineView>,
}

impl BaselineUpdateView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.baseline-update/1";
}
