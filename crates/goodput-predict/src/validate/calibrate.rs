//! Two factors for a device and its software, on the devices' time and on the host's, fitted on one half of the rows and tested on
//! the other. Off unless asked for.
//!
//! Which half a row belongs to follows from its `id` alone, so that no other row and no error can move it. The halves are types
//! of their own: a [`Calibration`] is fitted on a [`CalibrationHalf`] and corrects a [`TestHalf`], and neither can be made
//! from the other.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::evaluate::{Evaluation, Outcome, Predicted};
use crate::step::TimeFactors;

/// Rows that factors may be fitted on.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationHalf<'a>(Vec<Outcome<'a>>);

/// Rows that factors are tested on.
#[derive(Debug, Clone, PartialEq)]
pub struct TestHalf<'a>(Evaluation<'a>);

/// Factors by device and software.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Each of them.
    pub factors: Vec<Factor>,
}

/// What a device and its host take, with one software, of the predicted times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// The device.
    pub device: String,
    /// Software and version.
    pub software: String,
    /// The factors.
    pub times: TimeFactors,
    /// The rows they were fitted on.
    pub rows: Vec<String>,
    /// How many of the rows feel their host; below 3 the host's factor is 1.
    pub rows_that_feel_the_host: usize,
}

/// Rows that a factor needs: fewer say more of themselves than of the software.
const LEAST_ROWS: usize = 3;

impl<'a> Evaluation<'a> {
    /// The two halves: rows whose `id` has an even FNV-1a hash (64 bits), folded to its lowest bit, are for calibration.
    #[must_use]
    pub fn halves(self) -> (CalibrationHalf<'a>, TestHalf<'a>) {
        let (calibration, test) =
            self.outcomes.into_iter().partition(|outcome| is_for_calibration(&outcome.row.id));
        (CalibrationHalf(calibration), TestHalf(Self { outcomes: test, failures: self.failures }))
    }

    /// The rows that a calibration was not fitted on, and how many it was: a row that made a factor says nothing of it.
    #[must_use]
    pub fn unseen_by(self, calibration: &Calibration) -> (TestHalf<'a>, usize) {
        let seen: BTreeSet<&str> =
            calibration.factors.iter().flat_map(|factor| &factor.rows).map(String::as_str).collect();
        let rows = self.outcomes.len();
        let outcomes: Vec<_> =
            self.outcomes.into_iter().filter(|outcome| !seen.contains(outcome.row.id.as_str())).collect();
        let left_out = rows - outcomes.len();
        (TestHalf(Self { outcomes, failures: self.failures }), left_out)
    }
}

/// FNV-1a's lowest bit alone is the parity of the bytes; all bits are folded together.
fn is_for_calibration(id: &str) -> bool {
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash.count_ones().is_multiple_of(2)
}

impl Calibration {
    /// The factors of every device and software with at least 3 rows in the half: those with the least mean of abs(ln(p / t)).
    #[must_use]
    pub fn fit(half: &CalibrationHalf<'_>) -> Self {
        let mut groups: BTreeMap<(&str, &str), Vec<&Outcome<'_>>> = BTreeMap::new();
        for outcome in &half.0 {
            groups.entry((&outcome.row.device, &outcome.row.software)).or_default().push(outcome);
        }
        groups.retain(|_, outcomes| outcomes.len() >= LEAST_ROWS);
        let factors = groups.into_iter().map(|((device, software), outcomes)| {
            let felt = outcomes.iter().filter(|outcome| outcome.predicted.host.is_felt()).count();
            Factor {
                device: device.to_owned(),
                software: software.to_owned(),
                times: fit(&outcomes, felt >= LEAST_ROWS),
                rows: outcomes.iter().map(|outcome| outcome.row.id.clone()).collect(),
                rows_that_feel_the_host: felt,
            }
        });
        Self { factors: factors.collect() }
    }

    /// The factors of a device with its software; none where nothing was fitted.
    #[must_use]
    pub fn factors(&self, device: &str, software: &str) -> Option<TimeFactors> {
        let of = |factor: &&Factor| factor.device == device && factor.software == software;
        self.factors.iter().find(of).map(|factor| factor.times)
    }
}

impl<'a> TestHalf<'a> {
    /// As predicted, without factors.
    #[must_use]
    pub const fn uncalibrated(&self) -> &Evaluation<'a> {
        &self.0
    }

    /// With the factors of each row's device and software. Rows without are left out, so that what is compared is what was
    /// calibrated.
    #[must_use]
    pub fn calibrated(&self, calibration: &Calibration) -> Evaluation<'a> {
        let outcomes = self.0.outcomes.iter().filter_map(|outcome| {
            let TimeFactors { device_time, host_time } =
                calibration.factors(&outcome.row.device, &outcome.row.software)?;
            let step_ns = device_time * outcome.predicted.host.step_ns(host_time / device_time);
            let predicted = Predicted { step_ns, terms: None, ..outcome.predicted };
            Some(Outcome { row: outcome.row, predicted })
        });
        Evaluation { outcomes: outcomes.collect(), failures: self.0.failures.clone() }
    }
}

/// With the host's factor over the devices' given, what is left is one factor on the whole step, whose best value is the median. So
/// the ratio alone is searched, from a quarter to four times in steps of 2^(1/64); of equal ones that with the host nearest
/// to what was predicted counts.
fn fit(outcomes: &[&Outcome<'_>], host: bool) -> TimeFactors {
    let logs = |ratio: f64| {
        let log =
            move |outcome: &&Outcome<'_>| (outcome.pair().0 / outcome.predicted.host.step_ns(ratio)).ln();
        outcomes.iter().map(log)
    };
    if !host {
        return TimeFactors { device_time: rounded(median(logs(1.0)).exp()), host_time: 1.0 };
    }
    let mut best = (f64::INFINITY, TimeFactors::NONE);
    for step in -128..=128 {
        let ratio = (f64::from(step) / 64.0).exp2();
        let log = median(logs(ratio));
        let loss = logs(ratio).map(|each| (each - log).abs()).sum::<f64>();
        let times = TimeFactors { device_time: log.exp(), host_time: log.exp() * ratio };
        let nearer = times.host_time.ln().abs() < best.1.host_time.ln().abs();
        if loss < best.0 - 1e-9 || (loss < best.0 + 1e-9 && nearer) {
            best = (loss, times);
        }
    }
    TimeFactors { device_time: rounded(best.1.device_time), host_time: rounded(best.1.host_time) }
}

/// To what any reader of a file gets back.
fn rounded(factor: f64) -> f64 {
    (factor * 1e6).round() / 1e6
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.as_slice() {
        [] => 0.0,
        values if values.len() % 2 == 1 => values[middle],
        values => f64::midpoint(values[middle - 1], values[middle]),
    }
}
