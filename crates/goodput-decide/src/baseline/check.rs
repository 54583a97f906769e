//! The check: every series tested, every tier judged, under one false-alarm rate.

use rayon::prelude::*;

use super::canary::{Curve, CurvePoint, curves};
use super::cause::{Cause, causes};
use super::change::{Tested, largest_rejected};
use super::departure::{Departure, departures};
use super::gray::{SlowHost, slow_hosts};
use super::metric::{Measure, Metric, Tier};
use super::prepare::median;
use super::row::{Kind, Row};
use super::series::Series;
use super::split::MIN_LENGTH;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Share of findings that may be false; where nothing changed at all, the probability that the check finds anything.
    pub false_alarms: f64,
    /// Least size worth reporting: relative, and for shares of time or capacity absolute.
    pub threshold: f64,
    /// A rank whose median step is this much longer than the typical one is slow.
    pub slow_rank: f64,
    /// Days since 1970: changes before it are left out.
    pub since_day: Option<i64>,
    /// Tiers to judge; all when empty.
    pub tiers: Vec<Tier>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { false_alarms: 0.05, threshold: 0.02, slow_rank: 0.05, since_day: None, tiers: Vec::new() }
    }
}

impl Settings {
    fn judges(&self, tier: Tier) -> bool {
        self.tiers.is_empty() || self.tiers.contains(&tier)
    }

    fn is_recent(&self, epoch_day: i64) -> bool {
        self.since_day.is_none_or(|since| epoch_day >= since)
    }
}

/// The answer of a check.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Check {
    /// Changes, standing regressions first.
    pub changes: Vec<Finding>,
    /// Slow hosts.
    pub slow_hosts: Vec<SlowHost>,
    /// Canaries.
    pub curves: Vec<Curve>,
    /// Runs off the baseline of their group.
    pub departures: Vec<Departure>,
    /// Tests made, by tier.
    pub tests: Vec<(Tier, usize)>,
    /// Series below [`MIN_LENGTH`].
    pub too_short: usize,
    /// Length of the longest of them.
    pub longest_too_short: usize,
    /// Largest p-value that counts as a finding; `None` when none does.
    pub level: Option<f64>,
    /// Runs with an MFU and too few others of their group.
    pub without_baseline: usize,
    /// Runs whose rows name no architecture.
    pub without_model: usize,
    /// Jobs whose rows hold MFUs of several devices, peaks or conventions, which are never compared with each other.
    pub mixed_ideals: Vec<String>,
}

/// A change of one figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The figure.
    pub metric: Metric,
    /// Of a job or a pool.
    pub kind: Kind,
    /// Its name.
    pub subject: String,
    /// Whether it became worse.
    pub worse: bool,
    /// Whether it has since come back to what it was.
    pub recovered: bool,
    /// Level before: median, or mean of shares and rates.
    pub before: f64,
    /// Level after.
    pub after: f64,
    /// After over before, less one; `None` from nothing.
    pub relative: Option<f64>,
    /// 95 % interval of that, for what is compared by ratio.
    pub interval: Option<(f64, f64)>,
    /// First UTC day after the change.
    pub day: String,
    /// Days between which it was: the last that may still be before it, and the last that may be its first.
    pub between: (String, String),
    /// Probability of such a change in a series without one.
    pub p_value: f64,
    /// What else changed at that time.
    pub causes: Vec<Cause>,
    /// The host of [`Check::slow_hosts`] that the job waits for, where the figure is its slowest over its typical rank: one
    /// regression, which the host counts.
    pub slow_host: Option<String>,
    /// Days since 1970 of the change.
    pub epoch_day: i64,
    /// The history: UTC day of each window and its value.
    pub history: Vec<(String, f64)>,
}

impl Finding {
    /// Worse, and not undone.
    #[must_use]
    pub const fn stands(&self) -> bool {
        self.worse && !self.recovered
    }

    /// Whether it is a regression of its own: it stands, and is no consequence of a slow host.
    #[must_use]
    pub const fn counts(&self) -> bool {
        self.stands() && self.slow_host.is_none()
    }

    /// How large it is: relative, or the difference where that is how the figure is compared.
    #[must_use]
    pub fn size(&self) -> f64 {
        match self.metric.measure() {
            Measure::Share => self.after - self.before,
            Measure::Ratio | Measure::Rate => self.relative.unwrap_or(f64::INFINITY),
        }
    }
}

/// A series that may hold a change.
struct Candidate<'a> {
    series: Series<'a>,
    tested: Tested,
}

impl Check {
    /// Checks rows as [`super::History`] orders them.
    #[must_use]
    pub fn new(rows: &[Row], settings: &Settings) -> Self {
        let mut check = Self::default();
        let subjects: Vec<&[Row]> = rows.chunk_by(|a, b| a.subject() == b.subject()).collect();
        let series: Vec<SubjectTests<'_>> =
            subjects.par_iter().map(|rows| SubjectTests::new(rows, settings)).collect();
        let mut p_values = Vec::new();
        let mut counts = [0_usize; 5];
        let mut candidates = Vec::new();
        for subject in series {
            check.too_short += subject.too_short;
            check.longest_too_short = check.longest_too_short.max(subject.longest_too_short);
            check.mixed_ideals.extend(subject.mixed_ideals);
            for (tier, p_value) in subject.tests {
                counts[tier as usize] += 1;
                p_values.push(p_value);
            }
            candidates.extend(subject.candidates);
        }
        if settings.judges(Tier::Canary) {
            check.curves = curves(rows);
            let tests: Vec<f64> = check
                .curves
                .iter()
                .flat_map(|curve| &curve.points)
                .filter_map(|point| point.p_value)
                .collect();
            counts[Tier::Canary as usize] += tests.len();
            p_values.extend(tests);
        }
        let mut compared = Vec::new();
        if settings.judges(Tier::Mfu) {
            let departures = departures(rows);
            counts[Tier::Mfu as usize] += departures.compared.len();
            p_values.extend(departures.compared.iter().map(|departure| departure.p_value));
            (check.without_baseline, check.without_model) =
                (departures.without_baseline, departures.without_model);
            compared = departures.compared;
        }
        if settings.judges(Tier::GrayFailure) {
            check.slow_hosts = slow_hosts(rows, settings.slow_rank);
            check.slow_hosts.retain(|host| host.jobs.iter().any(|job| settings.is_recent(job.epoch_day)));
        }
        check.tests = Tier::ALL
            .into_iter()
            .filter(|tier| settings.judges(*tier))
            .map(|tier| (tier, counts[tier as usize]))
            .collect();
        check.level = largest_rejected(&p_values, settings.false_alarms);
        if let Some(level) = check.level {
            let found = |candidate: &Candidate<'_>| candidate.tested.p_value <= level;
            check.changes = candidates
                .par_iter()
                .filter(|candidate| found(candidate))
                .flat_map_iter(|candidate| candidate.findings(level, settings))
                .collect();
            compared.retain(|one| {
                one.p_value <= level
                    && one.change.abs() >= settings.threshold
                    && settings.is_recent(one.epoch_day)
            });
            compared.sort_by(|a, b| a.change.total_cmp(&b.change));
            check.departures = compared;
        }
        check.changes.iter_mut().for_each(|finding| finding.slow_host = behind(finding, &check.slow_hosts));
        check.changes.sort_by(|a, b| {
            b.stands()
                .cmp(&a.stands())
                .then(a.p_value.total_cmp(&b.p_value))
                .then(b.size().abs().total_cmp(&a.size().abs()))
        });
        check
    }

    /// Whether a point of a canary's curve is a finding.
    #[must_use]
    pub fn is_off(&self, point: &CurvePoint, settings: &Settings) -> bool {
        point.p_value.zip(self.level).is_some_and(|(p, level)| p <= level)
            && point.change.is_some_and(|change| change.abs() >= settings.threshold)
            && settings.is_recent(point.epoch_day)
    }

    /// What became worse and still is.
    #[must_use]
    pub fn regressions(&self, settings: &Settings) -> usize {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let bent = points
            .filter(|point| self.is_off(point, settings) && point.change.is_some_and(|c| c < 0.0))
            .count();
        let changes = self.changes.iter().filter(|finding| finding.counts()).count();
        let below = self.departures.iter().filter(|departure| departure.change < 0.0).count();
        changes + below + bent + self.slow_hosts.len()
    }

    /// Tests of all tiers.
    #[must_use]
    pub fn tested(&self) -> usize {
        self.tests.iter().map(|(_, tests)| tests).sum()
    }
}

/// The slow host that a job's ranks wait for, where that is what the finding measures.
fn behind(finding: &Finding, slow: &[SlowHost]) -> Option<String> {
    let is_wait = finding.metric == Metric::SlowestRank && finding.kind == Kind::Job && finding.stands();
    let of_job = |host: &&SlowHost| host.jobs.iter().any(|slow| slow.job == finding.subject);
    slow.iter().filter(|_| is_wait).find(of_job).map(|host| host.host.clone())
}

/// All series of one subject.
#[derive(Default)]
struct SubjectTests<'a> {
    tests: Vec<(Tier, f64)>,
    candidates: Vec<Candidate<'a>>,
    too_short: usize,
    longest_too_short: usize,
    mixed_ideals: Option<String>,
}

impl<'a> SubjectTests<'a> {
    fn new(rows: &'a [Row], settings: &Settings) -> Self {
        let mut tests = Self::default();
        for metric in Metric::of(rows[0].kind).iter().filter(|metric| settings.judges(metric.tier())) {
            let series = Series::of(*metric, rows);
            if *metric == Metric::Mfu {
                let ideals: std::collections::BTreeSet<_> = rows
                    .iter()
                    .filter_map(|row| row.program.as_ref())
                    .map(|p| (&p.convention, &p.device, &p.dtype, p.peak_flops_per_second.to_bits()))
                    .collect();
                tests.mixed_ideals = (ideals.len() > 1).then(|| name(&rows[0]).to_owned());
            }
            for series in series {
                if series.values.len() < MIN_LENGTH {
                    tests.too_short += 1;
                    tests.longest_too_short = tests.longest_too_short.max(series.values.len());
                    continue;
                }
                let Some(tested) = Tested::new(&series.tested(), series.weekdays().as_deref()) else {
                    continue;
                };
                tests.tests.push((metric.tier(), tested.p_value));
                if tested.p_value <= settings.false_alarms {
                    tests.candidates.push(Candidate { series, tested });
                }
            }
        }
        tests
    }
}

fn name(row: &Row) -> &str {
    row.job.as_deref().or(row.pool.as_deref()).unwrap_or_default()
}

impl Candidate<'_> {
    fn findings(&self, level: f64, settings: &Settings) -> Vec<Finding> {
        let Series { metric, rows, values } = &self.series;
        let changes = self.tested.changes(level);
        let ends: Vec<usize> = changes.iter().map(|change| change.split.at).chain([values.len()]).collect();
        let starts = std::iter::once(0).chain(changes.iter().map(|change| change.split.at));
        let levels: Vec<f64> = starts.zip(&ends).map(|(from, to)| metric.level(&values[from..*to])).collect();
        let newest = levels.last().copied().unwrap_or_default();
        let history: Vec<(String, f64)> =
            rows.iter().map(|row| row.day.to_string()).zip(values.iter().copied()).collect();
        let finding = |(i, change): (usize, &super::change::Change)| {
            let (before, after) = (levels[i], levels[i + 1]);
            if !metric.differ(before, after, settings.threshold) {
                return None;
            }
            let first = rows[change.split.at];
            let worse = metric.is_worse(before, after);
            let still = metric.differ(before, newest, settings.threshold) && metric.is_worse(before, newest);
            let relative = (before > 0.0).then(|| after / before - 1.0);
            let interval = relative.filter(|_| metric.measure() == Measure::Ratio).map(|relative| {
                let log = relative.ln_1p();
                let half = 1.96 * log.abs() / change.split.statistic;
                ((log - half).exp_m1(), (log + half).exp_m1())
            });
            Some(Finding {
                metric: *metric,
                kind: first.kind,
                subject: name(first).to_owned(),
                worse,
                recovered: worse && !still,
                before,
                after,
                relative,
                interval,
                day: first.day.to_string(),
                between: (rows[change.split.from - 1].day.to_string(), rows[change.split.to].day.to_string()),
                p_value: change.p_value,
                causes: causes(&rows[change.split.from - 1..=change.split.to]),
                slow_host: None,
                epoch_day: first.epoch_day(),
                history: history.clone(),
            })
        };
        let found = changes.iter().enumerate().filter_map(finding);
        found.filter(|finding| settings.is_recent(finding.epoch_day)).collect()
    }
}

impl Metric {
    /// The level of a stretch.
    fn level(self, values: &[f64]) -> f64 {
        match self.measure() {
            Measure::Ratio => median(&mut values.to_vec()),
            Measure::Share | Measure::Rate => values.iter().sum::<f64>() / values.len().max(1) as f64,
        }
    }

    /// Whether two levels are far enough apart to be worth a word.
    fn differ(self, one: f64, other: f64, threshold: f64) -> bool {
        match self.measure() {
            Measure::Share => (other - one).abs() >= threshold,
            Measure::Ratio | Measure::Rate => {
                (self.tested_level(other) - self.tested_level(one)).abs() >= threshold.ln_1p()
            }
        }
    }

    fn tested_level(self, level: f64) -> f64 {
        match self.measure() {
            Measure::Ratio => self.tested(level),
            Measure::Share | Measure::Rate => level.max(f64::MIN_POSITIVE).ln(),
        }
    }

    fn is_worse(self, before: f64, after: f64) -> bool {
        if self.more_is_better() { after < before } else { after > before }
    }
}
