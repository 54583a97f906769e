//! The measurement contract's conditions, and what each factor's window rests on.

use goodput_core::Boundary;
use goodput_core::runtime::{Cycle, Measured, RuntimeAccount, Samples};
use goodput_decide::adequacy::{self, Adequacy, Evidence};
use goodput_decide::contract::{CONDITIONS, Condition, Contract, ContractError, Gate, Known, Source};
use serde::Serialize;

use super::contract::{ContractView, ideal_condition};
use super::exact::Exact;
use super::runtime::StepTimesView;

/// One known condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConditionView {
    /// Its key (`workload.model`).
    pub field: &'static str,
    /// In words.
    pub label: &'static str,
    /// Its value.
    pub value: String,
    /// `records` or `stated`.
    pub source: &'static str,
}

/// The conditions that are known of a measurement.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct KnownConditions {
    /// In the order of the contract, each with where it is known from.
    pub conditions: Vec<ConditionView>,
    #[serde(skip)]
    measured: Contract,
}

impl KnownConditions {
    /// What the records say; an empty value says nothing.
    pub(crate) fn from_records<'a>(conditions: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        Self::of(Contract::from_records(conditions))
    }

    /// What a person states of something that is not measured; an empty value says nothing.
    pub(crate) fn stated<'a>(conditions: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        Self::of(Contract::stated(conditions))
    }

    fn of(measured: Contract) -> Self {
        let mut known = Self { conditions: Vec::new(), measured };
        known.refresh();
        known
    }

    /// Adds what a YAML file states. `label` names it in errors.
    ///
    /// # Errors
    /// [`ContractError`] for an unknown key, a value of the wrong kind, or one that contradicts the records.
    pub fn state(&mut self, label: &str, yaml: &str) -> Result<(), ContractError> {
        self.measured.state(label, yaml)?;
        self.refresh();
        Ok(())
    }

    fn refresh(&mut self) {
        let view = |(of, known): (&'static Condition, &Known)| ConditionView {
            field: of.key,
            label: of.label,
            value: known.value.clone(),
            source: match known.source {
                Source::Records => "records",
                Source::Stated => "stated",
            },
        };
        self.conditions = self.measured.conditions().map(view).collect();
    }

    /// Conditions that nobody states, in words.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = &'static str> {
        CONDITIONS.iter().filter(|of| self.measured.get(of.key).is_none()).map(|of| of.label)
    }

    /// The quality gate in words.
    pub(crate) fn gate(&self) -> String {
        match self.measured.gate() {
            Gate::Passed { metric } => format!("quality gate on {metric}: passed"),
            Gate::Failed { metric } => format!("quality gate on {metric}: failed"),
            Gate::NotStated => "quality gate: not stated".to_owned(),
        }
    }
}

/// Several values as one, each once, in order.
pub(crate) fn one(mut values: Vec<String>) -> String {
    values.sort();
    values.dedup();
    values.join(", ")
}

/// How one factor was measured, and whether its window is long enough.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactorStatisticsView {
    /// `scheduling`, `runtime` or `program`.
    pub factor: &'static str,
    /// What it divides by.
    pub denominator: &'static str,
    /// What is counted: steady steps, interruptions, days.
    pub unit: &'static str,
    /// How many the window holds; `null` where no record tells.
    pub trials: Option<f64>,
    /// How many are needed.
    pub needed: f64,
    /// Whether the window is long enough.
    pub adequate: bool,
    /// Probability that a window as short as this sees no failure; `null` where no MTBF is known.
    pub no_failure_probability: Option<f64>,
    /// The judgement in a sentence.
    pub sentence: String,
    /// What `centre` and `spread` are of.
    pub of: &'static str,
    /// Median step time in ns, or mean runtime goodput of a cycle.
    pub centre: Option<f64>,
    /// 90th percentile less the median in ns, or standard deviation over cycles.
    pub spread: Option<f64>,
    /// Percentiles of step times.
    pub percentiles: Option<StepTimesView>,
}

impl FactorStatisticsView {
    /// A judged window; centre and spread are of nothing yet.
    pub(crate) fn judged(judged: Adequacy, denominator: &'static str) -> Self {
        Self {
            factor: judged.boundary.key(),
            denominator,
            unit: judged.unit,
            trials: judged.seen,
            needed: judged.needed,
            adequate: judged.adequate,
            no_failure_probability: judged.no_failure,
            sentence: judged.sentence,
            of: "nothing",
            centre: None,
            spread: None,
            percentiles: None,
        }
    }

    /// Mean and standard deviation of samples, where there are enough.
    pub(crate) fn mean(self, of: &'static str, samples: &[f64]) -> Self {
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let square = samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        Self { of, centre: finite(mean), spread: finite(square.sqrt()), ..self }
    }
}

/// What the statistics are made from: kept so that a stated MTBF can be judged with it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measurements {
    evidence: Evidence,
    scheduling_denominator: &'static str,
    step_times: Option<StepTimesView>,
    cycles: Vec<f64>,
}

impl Measurements {
    /// Of the jobs with a log. `pool` is what scheduling goodput divides by, and the window's length in ns.
    pub(crate) fn new<'a>(
        jobs: impl Iterator<Item = &'a RuntimeAccount>,
        pool: Option<(&'static str, f64)>,
    ) -> Self {
        let mut measurements = Self {
            scheduling_denominator: pool.map_or("", |(denominator, _)| denominator),
            evidence: Evidence { pool_window_ns: pool.map(|(_, ns)| ns), ..Evidence::default() },
            ..Self::default()
        };
        let mut only = None;
        for (i, job) in jobs.enumerate() {
            let Measured { failures, preemptions, held_ns, .. } = job.measured;
            let evidence = &mut measurements.evidence;
            *evidence.steady_steps.get_or_insert(0) += job.step_times.count;
            *evidence.interruptions.get_or_insert(0) += failures + preemptions;
            evidence.failures += failures;
            evidence.held_ns += held_ns as f64;
            let goodput = |cycle: &Cycle| cycle.retained_ns as f64 / cycle.held_ns as f64;
            measurements.cycles.extend(job.samples.cycles.iter().map(goodput));
            only = (i == 0).then_some(job);
        }
        // Percentiles of several jobs' steps are of no job.
        measurements.step_times = only.filter(|j| j.step_times.count > 0).map(|j| j.step_times.into());
        measurements
    }

    fn view(&self, contract: &Contract) -> Vec<FactorStatisticsView> {
        let mtbf_hours = contract.number("statistics.mtbf_hours");
        let judged = adequacy::judge(&Evidence { mtbf_hours, ..self.evidence });
        judged.into_iter().map(|judged| self.factor(judged)).collect()
    }

    fn factor(&self, judged: Adequacy) -> FactorStatisticsView {
        let boundary = judged.boundary;
        let mut view = FactorStatisticsView::judged(judged, self.scheduling_denominator);
        match boundary {
            Boundary::Scheduling => {}
            Boundary::Runtime => {
                view.denominator = "held";
                view = view.mean("runtime goodput of a cycle between interruptions", &self.cycles);
            }
            Boundary::Program => {
                view.denominator = "retained";
                view.of = "step time, ns";
                view.centre = self.step_times.map(|t| t.p50_ns.0 as f64);
                view.spread = self.step_times.map(|t| (t.p90_ns.0 - t.p50_ns.0) as f64);
                view.percentiles = self.step_times;
            }
        }
        view
    }
}

/// What a job's confidence intervals are made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SamplesView {
    /// From one launch or interruption to the next.
    pub cycles: Vec<CycleView>,
    /// Consecutive retained steady steps.
    pub step_blocks: Vec<StepBlockView>,
}

/// One cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CycleView {
    /// Its start.
    pub from_ns: Exact,
    /// Held in it.
    pub held_ns: Exact,
    /// Retained of it.
    pub retained_ns: Exact,
}

/// One block of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StepBlockView {
    /// Steps.
    pub steps: u64,
    /// Their durations without input wait.
    pub productive_ns: Exact,
}

impl From<&Samples> for SamplesView {
    fn from(samples: &Samples) -> Self {
        let cycle = |c: &Cycle| CycleView {
            from_ns: c.from.into(),
            held_ns: Exact(c.held_ns),
            retained_ns: Exact(c.retained_ns),
        };
        let block = |b: &goodput_core::runtime::StepBlock| StepBlockView {
            steps: b.steps,
            productive_ns: b.productive_ns.into(),
        };
        Self {
            cycles: samples.cycles.iter().map(cycle).collect(),
            step_blocks: samples.step_blocks.iter().map(block).collect(),
        }
    }
}

/// One day of a fleet, or the part of it inside the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DayView {
    /// Its start.
    pub from_ns: Exact,
    /// Offered.
    pub offered_ns: Exact,
    /// Held.
    pub held_ns: Exact,
    /// Retained.
    pub retained_ns: Exact,
    /// Ideal.
    pub ideal_ns: Exact,
}

impl ContractView {
    /// Fills in what the records say. `pools` are named for fleets; `devices_known` is false where nobody says how many.
    pub(crate) fn recorded(mut self, measured: Measurements, pools: &[String], devices_known: bool) -> Self {
        let ideal = |i: &super::contract::IdealView| {
            ideal_condition(i.ideal, &i.device, &i.dtype, i.peak_flops_per_second)
        };
        let devices = if devices_known { self.devices.to_string() } else { String::new() };
        self.known = KnownConditions::from_records(
            [
                ("system.devices", devices),
                ("system.device_types", one(self.device_types.clone())),
                ("system.ideal", one(self.ideals.iter().map(ideal).collect())),
                ("system.precision", one(self.ideals.iter().map(|i| i.dtype.clone()).collect())),
                (
                    "system.software",
                    one(self.software.iter().map(|s| format!("{} {}", s.name, s.version)).collect()),
                ),
                ("system.pool", one(pools.to_vec())),
                ("statistics.denominator", self.denominator.to_owned()),
            ]
            .into_iter()
            .chain(self.timing_boundary.conditions()),
        );
        self.statistics = measured.view(&self.known.measured);
        self.measurements = measured;
        self
    }

    /// Adds what a YAML file states. `label` names it in errors.
    ///
    /// # Errors
    /// [`ContractError`] for an unknown key, a value of the wrong kind, or one that contradicts the records.
    pub fn state(&mut self, label: &str, yaml: &str) -> Result<(), ContractError> {
        self.known.state(label, yaml)?;
        self.statistics = self.measurements.view(&self.known.measured);
        Ok(())
    }
}
