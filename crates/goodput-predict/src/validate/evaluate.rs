//! Every row predicted, and what came of it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;

use rayon::prelude::*;
use serde::Serialize;

use super::dimension::Dimension;
use super::host_response::HostResponse;
use super::ranking::Ranking;
use super::row::RunRow;
use super::statistics::{Errors, MemoryErrors};
use crate::layer::Terms;
use crate::run::Run;
use crate::step::{PredictError, Predictor, TimeFactors};

/// What of a prediction is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// Time of a step, in nanoseconds.
    pub step_ns: f64,
    /// The same with a faster or a slower host.
    pub host: HostResponse,
    /// Memory of the device that needs most, in bytes.
    pub memory_bytes: Option<f64>,
    /// Where the time goes.
    pub terms: Option<Terms>,
}

impl Predicted {
    /// Of a run, by a predictor, whose factors are set anew.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn new(predictor: &mut Predictor, run: &Run) -> Result<Self, PredictError> {
        predictor.set_factors(TimeFactors::NONE);
        let prediction = predictor.predict(run)?;
        let mut step_ns = |host_time| {
            predictor.set_factors(TimeFactors { host_time, ..TimeFactors::NONE });
            predictor.predict(run).map(|prediction| prediction.step_ns)
        };
        let [least, most] = [step_ns(HostResponse::LEAST)?, step_ns(HostResponse::MOST)?];
        let mut host = HostResponse::through([least, prediction.step_ns, most]);
        // Most devices are far ahead of what any host costs.
        if host.is_felt() {
            let mut steps_ns = [0.0; HostResponse::FACTORS.len()];
            for (known, host_time) in steps_ns.iter_mut().zip(HostResponse::FACTORS) {
                *known = step_ns(host_time)?;
            }
            host = HostResponse::new(steps_ns);
        }
        predictor.set_factors(TimeFactors::NONE);
        Ok(Self {
            step_ns: prediction.step_ns,
            host,
            memory_bytes: Some(prediction.memory.total()),
            terms: Some(prediction.terms),
        })
    }
}

/// A row and what is predicted for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome<'a> {
    /// The row.
    pub row: &'a RunRow,
    /// The prediction.
    pub predicted: Predicted,
}

impl Outcome<'_> {
    /// Measured and predicted time, in nanoseconds.
    #[must_use]
    pub fn pair(&self) -> (f64, f64) {
        (self.row.measured.step_ns as f64, self.predicted.step_ns)
    }

    /// (predicted - measured) / measured.
    #[must_use]
    pub fn relative_error(&self) -> f64 {
        let (measured, predicted) = self.pair();
        predicted / measured - 1.0
    }
}

/// A row that cannot be predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure<'a> {
    /// The row.
    pub row: &'a RunRow,
    /// Why.
    pub reason: String,
}

/// All rows, predicted or not, in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evaluation<'a> {
    /// Those that could be predicted.
    pub outcomes: Vec<Outcome<'a>>,
    /// Those that could not.
    pub failures: Vec<Failure<'a>>,
}

/// Predicts every row with the shipped tables, on all cores.
#[must_use]
pub fn evaluate(rows: &[RunRow]) -> Evaluation<'_> {
    evaluate_with(rows, HashMap::new, |predictors, run| {
        let predictor: &mut Predictor = match predictors.entry(run.cluster.name.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Predictor::new(&run.cluster)?),
        };
        Predicted::new(predictor, run)
    })
}

/// Predicts every row with `predict`, on all cores; `state` is made once for some of the rows.
pub fn evaluate_with<S, E: Display>(
    rows: &[RunRow],
    state: impl Fn() -> S + Sync + Send,
    predict: impl Fn(&mut S, &Run) -> Result<Predicted, E> + Sync + Send,
) -> Evaluation<'_> {
    let predicted: Vec<Result<Predicted, String>> = rows
        .par_iter()
        .map_init(state, |state, row| match predict(state, &row.run) {
            Ok(predicted) if predicted.step_ns.is_finite() && predicted.step_ns > 0.0 => Ok(predicted),
            Ok(predicted) => Err(format!("a step of {} ns", predicted.step_ns)),
            Err(error) => Err(error.to_string()),
        })
        .collect();
    let mut evaluation = Evaluation::default();
    for (row, predicted) in rows.iter().zip(predicted) {
        match predicted {
            Ok(predicted) => evaluation.outcomes.push(Outcome { row, predicted }),
            Err(reason) => evaluation.failures.push(Failure { row, reason }),
        }
    }
    evaluation
}

/// Errors of all rows and of groups of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Over all rows. A source with many rows weighs much: see `sources_mean`.
    #[serde(flatten)]
    pub all: Errors,
    /// Mean over sources of [`Errors::mape`]: every source weighs the same.
    pub sources_mean: f64,
    /// Rows that could not be predicted.
    pub failed: usize,
    /// By dimension and group.
    pub by: BTreeMap<Dimension, BTreeMap<String, Errors>>,
    /// Of memory, by source; where a source states it.
    pub memory: BTreeMap<String, MemoryErrors>,
    /// Whether the fastest layout is found.
    pub ranking: Ranking,
}

impl Evaluation<'_> {
    /// Its errors; none where no row could be predicted.
    #[must_use]
    pub fn report(&self) -> Option<Report> {
        let all = Errors::of(self.outcomes.iter().map(Outcome::pair))?;
        let by: BTreeMap<_, _> =
            Dimension::ALL.into_iter().map(|dimension| (dimension, self.errors_by(dimension))).collect();
        let sources = by[&Dimension::Source].values().map(|errors| errors.mape);
        let sources_mean = sources.clone().sum::<f64>() / sources.count().max(1) as f64;
        let ranking = Ranking::of(&self.outcomes);
        Some(Report { all, sources_mean, failed: self.failures.len(), by, memory: self.memory(), ranking })
    }

    fn memory(&self) -> BTreeMap<String, MemoryErrors> {
        let mut sources: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        for outcome in &self.outcomes {
            if let (Some(measured), Some(predicted)) =
                (outcome.row.measured.memory_bytes, outcome.predicted.memory_bytes)
            {
                sources.entry(outcome.row.source.clone()).or_default().push((measured, predicted));
            }
        }
        sources.into_iter().filter_map(|(source, pairs)| Some((source, Errors::of(pairs)?.into()))).collect()
    }

    /// Errors of each group.
    #[must_use]
    pub fn errors_by(&self, dimension: Dimension) -> BTreeMap<String, Errors> {
        let mut groups: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        for outcome in &self.outcomes {
            groups.entry(dimension.of(outcome.row)).or_default().push(outcome.pair());
        }
        groups.into_iter().filter_map(|(group, pairs)| Some((group, Errors::of(pairs)?))).collect()
    }
}
