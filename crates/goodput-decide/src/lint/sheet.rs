//! A planning sheet in YAML (docs/lint.md): figures, one budget of overheads, charged losses, wholes with their parts,
//! formulas and claims.

use std::collections::BTreeMap;

use goodput_core::{Boundary, Pattern};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::formula::{self, Formula};
use super::{known_loss, plan};
use crate::nearest::nearest;
use crate::serde_words::in_words;

/// A planning sheet.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sheet {
    /// Title.
    pub title: Option<String>,
    /// Mean time between failures of the job, hours.
    pub mtbf_hours: Option<f64>,
    /// The quality that a run must reach for its steps to count.
    pub quality_gate: Option<String>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Overheads that one sum subtracts.
    pub budget: Vec<Overhead>,
    /// Losses and the factor that the sheet charges them to.
    pub losses: Vec<ChargedLoss>,
    /// Wholes and their parts.
    pub wholes: Vec<Whole>,
    /// Formulas over the figures.
    pub formulas: Vec<Formula>,
    /// What the sheet concludes.
    pub claims: Vec<Claim>,
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its name, by which formulas call it.
    pub name: String,
    /// Its value: a share in 0 to 1, or in the unit that its kind has.
    pub value: f64,
    /// What it is.
    pub kind: FigureKind,
    /// What it is measured on.
    pub scope: Option<Scope>,
    /// The window that it was measured over, hours.
    pub window_hours: Option<f64>,
    /// Steady steps in the window.
    pub steps: Option<u64>,
    /// Failures in the window.
    pub failures: Option<u64>,
    /// Runs or profiles that it rests on.
    pub runs: Option<u64>,
    /// Mean or median, for a step time.
    pub statistic: Option<Statistic>,
    /// 99th percentile of what the value is the centre of.
    pub p99: Option<f64>,
    /// Counting convention.
    pub convention: Option<String>,
    /// Software that it was measured with: name and version.
    pub software: Option<String>,
}

/// What a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// Held over offered.
    SchedulingGoodput,
    /// Retained over held.
    RuntimeGoodput,
    /// Ideal over retained.
    ProgramGoodput,
    /// Ideal over offered.
    Mpg,
    /// Model FLOPs utilization.
    Mfu,
    /// Hardware FLOPs utilization: recomputation counted.
    Hfu,
    /// Model bandwidth utilization.
    Mbu,
    /// Rate at scale over the rate of one node, at the same work a device.
    ScalingEfficiency,
    /// Devices assigned to jobs over devices.
    Occupancy,
    /// Time in which a device's engines are active.
    DutyCycle,
    /// Devices that are up, or free, over devices.
    Availability,
    /// A probability.
    Probability,
    /// A step time, seconds.
    StepTime,
    /// Anything else.
    #[default]
    Other,
}

impl FigureKind {
    /// The word of the sheet.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::SchedulingGoodput => "scheduling_goodput",
            Self::RuntimeGoodput => "runtime_goodput",
            Self::ProgramGoodput => "program_goodput",
            Self::Mpg => "mpg",
            Self::Mfu => "mfu",
            Self::Hfu => "hfu",
            Self::Mbu => "mbu",
            Self::ScalingEfficiency => "scaling_efficiency",
            Self::Occupancy => "occupancy",
            Self::DutyCycle => "duty_cycle",
            Self::Availability => "availability",
            Self::Probability => "probability",
            Self::StepTime => "step_time",
            Self::Other => "other",
        }
    }

    /// Whether it lies in 0 to 1.
    #[must_use]
    pub const fn is_share(self) -> bool {
        !matches!(self, Self::StepTime | Self::Other)
    }

    /// Whether it counts that hardware seems busy, and no progress.
    #[must_use]
    pub const fn is_activity(self) -> bool {
        matches!(self, Self::Occupancy | Self::DutyCycle | Self::Availability)
    }

    /// Whether it is a goodput.
    #[must_use]
    pub const fn is_goodput(self) -> bool {
        matches!(self, Self::SchedulingGoodput | Self::RuntimeGoodput | Self::ProgramGoodput | Self::Mpg)
    }
}

impl Figure {
    /// The boundary whose factor it is, if it is one. An MFU over a whole run is none: it holds runtime losses too.
    #[must_use]
    pub fn boundary(&self) -> Option<Boundary> {
        match self.kind {
            FigureKind::SchedulingGoodput => Some(Boundary::Scheduling),
            FigureKind::RuntimeGoodput => Some(Boundary::Runtime),
            FigureKind::ProgramGoodput | FigureKind::Mbu => Some(Boundary::Program),
            FigureKind::Mfu => {
                (!matches!(self.scope, Some(Scope::WholeRun | Scope::Node))).then_some(Boundary::Program)
            }
            _ => None,
        }
    }
}

/// What a figure is measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Retained steps of the whole job.
    RetainedSteps,
    /// The whole job at its full size, over retained steps.
    Fleet,
    /// The wall clock of a whole run, restarts and pauses included.
    WholeRun,
    /// One node alone.
    Node,
    /// One profile or benchmark.
    Benchmark,
}

/// The centre of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// Mean.
    Mean,
    /// Median.
    Median,
}

/// An overhead of the budget.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overhead {
    /// Its name.
    pub overhead: String,
    /// The share that it takes.
    pub share: f64,
    /// The loss that it is (`pipeline_bubble`, …), where the name does not say.
    pub pattern: Option<String>,
    /// What the share is of; what arrives at the loss's own boundary, unless stated.
    pub share_of: Option<Level>,
}

/// What a share is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// In-service capacity-time.
    Offered,
    /// Time held by complete allocations.
    Held,
    /// Time on retained steps.
    Retained,
}

/// A loss, and the factor that the sheet charges it to.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargedLoss {
    /// Its name.
    pub loss: String,
    /// The factor.
    pub charged_to: ChargedTo,
    /// The share that it takes of what arrives at its own boundary.
    pub share: Option<f64>,
    /// The loss that it is, where the name does not say.
    pub pattern: Option<String>,
}

/// A factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChargedTo {
    /// Scheduling goodput.
    Scheduling,
    /// Runtime goodput.
    #[serde(alias = "reliability")]
    Runtime,
    /// Program goodput.
    Program,
}

impl From<ChargedTo> for Boundary {
    fn from(factor: ChargedTo) -> Self {
        match factor {
            ChargedTo::Scheduling => Self::Scheduling,
            ChargedTo::Runtime => Self::Runtime,
            ChargedTo::Program => Self::Program,
        }
    }
}

/// A whole and the parts that it is said to have.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Whole {
    /// Its name.
    pub whole: String,
    /// Its size; one, for shares.
    #[serde(default = "one")]
    pub total: f64,
    /// Its parts.
    pub parts: BTreeMap<String, f64>,
}

const fn one() -> f64 {
    1.0
}

/// One kernel of a step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Its name.
    pub kernel: String,
    /// Of the step.
    pub share: f64,
    /// What it reaches of its own ceiling (arithmetic or bandwidth), 0 to 1. An exposed exchange that could be hidden has 0.
    pub of_ceiling: f64,
}

/// What a sheet concludes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "claim", rename_all = "snake_case", deny_unknown_fields)]
pub enum Claim {
    /// A fix of one factor adds this much to the fleet's useful share.
    Gain {
        /// The factor.
        factor: ChargedTo,
        /// Points of MPG that the sheet expects, 0 to 1.
        gain: f64,
        /// The factor's value if the fix did all it could; one, unless stated.
        #[serde(default = "one")]
        ceiling: f64,
    },
    /// Factors in the order in which to work on them.
    Order {
        /// The order.
        order: Vec<ChargedTo>,
        /// Each factor's reachable value.
        #[serde(default)]
        ceilings: BTreeMap<String, f64>,
    },
    /// A term of the step becomes faster, and the step by `expected`.
    Speedup {
        /// The term of `shares`.
        term: String,
        /// How many times faster the term becomes.
        times: f64,
        /// Shares of the step; where they sum to less than one, the rest is time that the claim does not change.
        shares: BTreeMap<String, f64>,
        /// Speedup of the step that the sheet expects.
        expected: f64,
    },
    /// Gains of several changes that are summed.
    SummedGains {
        /// What each shortens the step by, alone, as a share.
        savings: Vec<f64>,
        /// What the sheet expects of all.
        expected: f64,
    },
    /// How long a run takes.
    Duration {
        /// Days.
        days: f64,
        /// Where the rate comes from.
        rate_from: RateFrom,
        /// How far below the planned rate such runs stay: a share, or a low and a high one.
        #[serde(default)]
        shortfall: Vec<f64>,
    },
    /// The kernel to work on first.
    FirstKernel {
        /// The kernel.
        kernel: String,
        /// The kernels of the step.
        kernels: Vec<Kernel>,
    },
    /// A program is well optimised.
    Optimised {
        /// What shows it.
        evidence: OptimisedEvidence,
        /// Collectives that the layout asks for, a step.
        collectives_expected: Option<u64>,
        /// Collectives that the trace shows, a step.
        collectives_seen: Option<u64>,
        /// Recompilations inside the loop.
        recompilations: Option<u64>,
    },
}

impl Claim {
    /// The shares that it states: key inside the claim, name, value. Gains may be losses, so they are none of them.
    #[must_use]
    pub fn shares(&self) -> Vec<(String, &str, f64)> {
        match self {
            Self::Speedup { shares, .. } => {
                shares.iter().map(|(name, share)| (format!("shares.{name}"), name.as_str(), *share)).collect()
            }
            Self::FirstKernel { kernels, .. } => {
                let of = |(i, k): (usize, &'_ Kernel)| {
                    [("share", k.share), ("of_ceiling", k.of_ceiling)].map(|(key, v)| (i, key, v))
                };
                let name = |i: usize| kernels.get(i).map_or("", |kernel| kernel.kernel.as_str());
                kernels
                    .iter()
                    .enumerate()
                    .flat_map(of)
                    .map(|(i, key, value)| (format!("kernels[{i}].{key}"), name(i), value))
                    .collect()
            }
            Self::SummedGains { savings, .. } => savings
                .iter()
                .enumerate()
                .map(|(i, saving)| (format!("savings[{i}]"), "saving", *saving))
                .collect(),
            Self::Order { ceilings, .. } => ceilings
                .iter()
                .map(|(name, value)| (format!("ceilings.{name}"), name.as_str(), *value))
                .collect(),
            Self::Gain { .. } | Self::Duration { .. } | Self::Optimised { .. } => Vec::new(),
        }
    }
}

/// Where a rate comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateFrom {
    /// A benchmark or a short warmed run.
    Benchmark,
    /// The fleet's own records.
    Measured,
}

/// What shows that a program is well optimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptimisedEvidence {
    /// The build succeeded.
    Compiled,
    /// Traces and step times before and after.
    Measured,
}

/// Why a sheet cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SheetError {
    /// No YAML.
    #[error("{label}: {why}")]
    Yaml {
        /// The file.
        label: String,
        /// What the parser says.
        why: String,
    },
    /// A key or a value.
    #[error("{label}: {key}: {why}")]
    Key {
        /// The file.
        label: String,
        /// Where.
        key: String,
        /// What is wrong, and what to write.
        why: String,
    },
}

const KEYS: [&str; 9] =
    ["title", "mtbf_hours", "quality_gate", "figures", "budget", "losses", "wholes", "formula", "claims"];

impl Sheet {
    /// Reads a sheet, or of a plan of `goodput plan` (which has `questions`) its factors. `label` names it in errors.
    ///
    /// # Errors
    /// [`SheetError`] with the key, what is wrong and the nearest known name.
    pub fn from_yaml(label: &str, yaml: &str) -> Result<Self, SheetError> {
        let malformed = |why: String| SheetError::Yaml { label: label.to_owned(), why };
        let root = crate::yaml::read(yaml).map_err(malformed)?;
        let Value::Object(mut root) = root else {
            return Err(malformed(format!("expected keys of a sheet: {}", KEYS.join(", "))));
        };
        if root.contains_key("questions") {
            return Ok(plan::sheet(&root));
        }
        let at =
            |key: &str, why: String| SheetError::Key { label: label.to_owned(), key: key.to_owned(), why };
        if let Some(unknown) = root.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let nearest = nearest(unknown, KEYS).unwrap_or_default();
            return Err(at(
                unknown,
                format!("no key of a sheet; the nearest is `{nearest}` (docs/lint.md has all)"),
            ));
        }
        let mut take = |key: &str| root.remove(key).unwrap_or(Value::Null);
        let mut sheet = Self {
            title: one_of(take("title")).map_err(|why| at("title", why))?,
            mtbf_hours: one_of(take("mtbf_hours")).map_err(|why| at("mtbf_hours", why))?,
            quality_gate: one_of(take("quality_gate")).map_err(|why| at("quality_gate", why))?,
            figures: list("figures", take("figures")).map_err(|(key, why)| at(&key, why))?,
            budget: list("budget", take("budget")).map_err(|(key, why)| at(&key, why))?,
            losses: list("losses", take("losses")).map_err(|(key, why)| at(&key, why))?,
            wholes: list("wholes", take("wholes")).map_err(|(key, why)| at(&key, why))?,
            formulas: Vec::new(),
            claims: list("claims", take("claims")).map_err(|(key, why)| at(&key, why))?,
        };
        let texts = match take("formula") {
            Value::String(text) => vec![text],
            other => list("formula", other).map_err(|(key, why)| at(&key, why))?,
        };
        for (i, text) in texts.iter().enumerate() {
            let formula = formula::read(text, &sheet.figures, &sheet.formulas)
                .map_err(|why| at(&format!("formula[{i}]"), why))?;
            if !formula.expression.value(&sheet.figures, sheet.budget_sum()).is_finite() {
                let why = format!("`{}` divides by zero, or its value is no finite number", formula.text);
                return Err(at(&format!("formula[{i}]"), why));
            }
            sheet.formulas.push(formula);
        }
        sheet.check_names().map_err(|(key, why)| at(&key, why))?;
        Ok(sheet)
    }

    /// Names that must be known, and numbers that no sheet can mean.
    fn check_names(&self) -> Result<(), (String, String)> {
        let negative = |key: String, value: f64| {
            if value >= 0.0 { Ok(()) } else { Err((key, format!("{value} is below zero or no number"))) }
        };
        for (i, figure) in self.figures.iter().enumerate() {
            negative(format!("figures[{i}].value"), figure.value)?;
            if self.figures[..i].iter().any(|other| slug(&other.name) == slug(&figure.name)) {
                return Err((
                    format!("figures[{i}].name"),
                    format!("`{}` is the name of a figure before it", figure.name),
                ));
            }
        }
        if let Some(mtbf_hours) = self.mtbf_hours.filter(|&hours| hours.is_nan() || hours <= 0.0) {
            return Err(("mtbf_hours".to_owned(), format!("{mtbf_hours}: expected a number above zero")));
        }
        for (i, overhead) in self.budget.iter().enumerate() {
            negative(format!("budget[{i}].share"), overhead.share)?;
            known_pattern(overhead.pattern.as_deref())
                .map_err(|why| (format!("budget[{i}].pattern"), why))?;
        }
        for (i, loss) in self.losses.iter().enumerate() {
            known_pattern(loss.pattern.as_deref()).map_err(|why| (format!("losses[{i}].pattern"), why))?;
        }
        for (i, claim) in self.claims.iter().enumerate() {
            for (key, _, share) in claim.shares() {
                negative(format!("claims[{i}].{key}"), share)?;
            }
            let unknown = |name: &str, known: &mut dyn Iterator<Item = &str>| {
                let nearest =
                    nearest(name, known).map(|n| format!("; the nearest is `{n}`")).unwrap_or_default();
                format!("`{name}` is not among those of the claim{nearest}")
            };
            match claim {
                Claim::Speedup { term, times, shares, .. } => {
                    if !shares.contains_key(term) {
                        return Err((
                            format!("claims[{i}].term"),
                            unknown(term, &mut shares.keys().map(String::as_str)),
                        ));
                    }
                    if times.is_nan() || *times <= 0.0 {
                        return Err((
                            format!("claims[{i}].times"),
                            format!("{times}: expected a number above zero"),
                        ));
                    }
                }
                Claim::FirstKernel { kernel, kernels } if !kernels.iter().any(|k| k.kernel == *kernel) => {
                    let mut names = kernels.iter().map(|k| k.kernel.as_str());
                    return Err((format!("claims[{i}].kernel"), unknown(kernel, &mut names)));
                }
                Claim::Order { ceilings, .. } => {
                    let keys = Boundary::ALL.map(Boundary::key);
                    if let Some(name) = ceilings.keys().find(|name| !keys.contains(&name.as_str())) {
                        return Err((format!("claims[{i}].ceilings"), unknown(name, &mut keys.into_iter())));
                    }
                }
                Claim::Duration { shortfall, .. } if shortfall.iter().any(|s| !(0.0..1.0).contains(s)) => {
                    return Err((
                        format!("claims[{i}].shortfall"),
                        "expected shares from 0 to below 1".to_owned(),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The sum of the budget.
    #[must_use]
    pub fn budget_sum(&self) -> f64 {
        self.budget.iter().map(|overhead| overhead.share).sum()
    }

    /// The value of a factor, where the sheet has exactly one figure of it.
    #[must_use]
    pub fn factor(&self, boundary: Boundary) -> Option<f64> {
        let mut of =
            self.figures.iter().filter(|f| f.boundary() == Some(boundary) && f.kind != FigureKind::Mbu);
        match (of.next(), of.next()) {
            (Some(figure), None) if figure.value <= 1.0 => Some(figure.value),
            _ => None,
        }
    }

    /// All three factors, where the sheet has each once.
    #[must_use]
    pub fn all_factors(&self) -> Option<[f64; 3]> {
        let [s, r, p] = Boundary::ALL.map(|boundary| self.factor(boundary));
        Some([s?, r?, p?])
    }
}

impl Overhead {
    /// The loss that it is.
    #[must_use]
    pub fn known(&self) -> Option<Pattern> {
        known_loss::find(self.pattern.as_deref().unwrap_or(&self.overhead))
    }
}

impl ChargedLoss {
    /// The loss that it is.
    #[must_use]
    pub fn known(&self) -> Option<Pattern> {
        known_loss::find(self.pattern.as_deref().unwrap_or(&self.loss))
    }
}

fn known_pattern(stated: Option<&str>) -> Result<(), String> {
    let Some(stated) = stated.filter(|word| known_loss::by_key(word).is_none()) else { return Ok(()) };
    let nearest = nearest(stated, Pattern::ALL.iter().map(|p| p.key())).unwrap_or_default();
    Err(format!("`{stated}` is no loss; the nearest is `{nearest}`"))
}

/// A name as formulas write it: `fleet MFU` is `fleet_mfu`.
#[must_use]
pub fn slug(name: &str) -> String {
    let plain: String =
        name.trim().chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    plain.split('_').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

fn one_of<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|e| with_nearest(&in_words(&e.to_string())))
}

/// The key of a mapping that the message is about: its value is what was found, and without it the message is another
/// one.
fn key_at_fault<T: DeserializeOwned>(item: &Value, message: &str) -> Option<String> {
    let keys = item.as_object()?;
    let found = |value: &Value| match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
        Value::Null => "nothing".to_owned(),
        plain => plain.to_string(),
    };
    let is_at_fault = |(key, value): &(&String, &Value)| {
        let mut without = keys.clone();
        without.remove(*key);
        message.starts_with(&format!("found {},", found(value)))
            && one_of::<T>(Value::Object(without)).err().is_none_or(|other| other != message)
    };
    keys.iter().find(is_at_fault).map(|(key, _)| key.clone())
}

/// Items one by one, so that an error names its place.
fn list<T: DeserializeOwned>(key: &str, value: Value) -> Result<Vec<T>, (String, String)> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => {
            let read = |(i, item): (usize, Value)| {
                one_of(item.clone()).map_err(|why| {
                    let at = format!("{key}[{i}]");
                    // A key that is none is named in the message itself.
                    let field = key_at_fault::<T>(&item, &why);
                    (field.map_or_else(|| at.clone(), |field| format!("{at}.{field}")), why)
                })
            };
            items.into_iter().enumerate().map(read).collect()
        }
        other => Err((key.to_owned(), format!("found {other}, expected a list"))),
    }
}

/// Serde names the unknown word first and the known ones after it, each in backticks.
fn with_nearest(message: &str) -> String {
    if !message.starts_with("unknown") {
        return message.to_owned();
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let Some(unknown) = quoted.next() else { return message.to_owned() };
    match nearest(unknown, quoted) {
        Some(nearest) => format!("{message}; the nearest is `{nearest}`"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(yaml: &str) -> String {
        Sheet::from_yaml("s.yaml", yaml).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named_with_the_nearest_word() {
        assert!(why("figure: []").contains("nearest is `figures`"));
        assert!(
            why("figures:\n  - {name: a, valu: 1, kind: mfu}")
                .starts_with("s.yaml: figures[0]: unknown field `valu`")
        );
        assert!(why("figures:\n  - {name: a, valu: 1, kind: mfu}").ends_with("nearest is `value`"));
        assert!(why("figures:\n  - {name: a, value: 1, kind: mfus}").ends_with("nearest is `mfu`"));
        assert!(why("figures:\n  - {name: a, value: -1, kind: mfu}").contains("figures[0].value"));
        assert!(why("budget:\n  - {overhead: x, share: 0.1, pattern: buble}").contains("nearest is"));
        assert!(why("formula: goodput = mfu").contains("formula[0]"));
        assert!(why("formula: goodput = 1 / (1 - 1)").contains("divides by zero"));
        assert!(why("claims:\n  - {claim: gains, factor: runtime, gain: 1}").contains("nearest is `gain`"));
        assert!(
            why("claims:\n  - {claim: speedup, term: math, times: 2, shares: {compute: 1}, expected: 2}")
                .contains("claims[0].term")
        );
        for (yaml, message) in [
            (
                "figures:\n  - {name: a, value: 1, kind: mfu, steps: -3}",
                "figures[0].steps: found -3, expected a whole number of zero or more",
            ),
            (
                "figures:\n  - {name: a, value: high, kind: mfu}",
                "figures[0].value: found \"high\", expected a number",
            ),
            (
                "figures:\n  - {name: a, value: .nan, kind: mfu}",
                "figures[0].value: found \".nan\", expected a number",
            ),
            ("figures: {name: a}", "figures: found {\"name\":\"a\"}, expected a list"),
            ("figures: [3]", "figures[0]: found 3, expected a mapping of its keys"),
            ("mtbf_hours: soon", "mtbf_hours: found \"soon\", expected a number"),
            ("title: [1]", "title: found a list, expected text"),
            ("budget: [{overhead: x, share: [1]}]", "budget[0].share: found a list, expected a number"),
            ("wholes: [{whole: x, parts: 3}]", "wholes[0].parts: found 3, expected a mapping"),
            (
                "claims: [{claim: gain, factor: runtime, gain: lots}]",
                "claims[0].gain: found \"lots\", expected a number",
            ),
            (
                "claims: [{claim: summed_gains, savings: 0.3, expected: 1}]",
                "claims[0].savings: found 0.3, expected a list",
            ),
        ] {
            assert_eq!(why(yaml), format!("s.yaml: {message}"));
        }
        assert!(why("- a").contains("expected keys"));
        assert!(why("a: [").starts_with("s.yaml: "));
    }
}
