//! One factor for a device and its software, fitted on one half of the rows and tested on the other. Off unless asked for.
//!
//! Which half a row belongs to follows from its `id` alone, so that no other row and no error can move it. The halves are types
//! of their own: a [`Calibration`] is fitted on a [`CalibrationHalf`] and corrects a [`TestHalf`], and neither can be made
//! from the other.

use std::collections::BTreeMap;

use serde::Serialize;

use super::evaluate::{Evaluation, Outcome, Predicted};

/// Rows that factors may be fitted on.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationHalf<'a>(Vec<Outcome<'a>>);

/// Rows that factors are tested on.
#[derive(Debug, Clone, PartialEq)]
pub struct TestHalf<'a>(Evaluation<'a>);

/// Factors by device and software.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Calibration {
    /// Each of them.
    pub factors: Vec<Factor>,
}

/// What a device with its software takes of the predicted time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Factor {
    /// The device.
    pub device: String,
    /// Software and version.
    pub software: String,
    /// Median of measured over predicted time.
    pub factor: f64,
    /// The rows it was fitted on.
    pub rows: Vec<String>,
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
}

/// FNV-1a's lowest bit alone is the parity of the bytes; all bits are folded together.
fn is_for_calibration(id: &str) -> bool {
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash.count_ones().is_multiple_of(2)
}

impl Calibration {
    /// The factors of every device and software with at least 3 rows in the half.
    #[must_use]
    pub fn fit(half: &CalibrationHalf<'_>) -> Self {
        let mut groups: BTreeMap<(&str, &str), Vec<&Outcome<'_>>> = BTreeMap::new();
        for outcome in &half.0 {
            groups.entry((&outcome.row.device, &outcome.row.software)).or_default().push(outcome);
        }
        groups.retain(|_, outcomes| outcomes.len() >= LEAST_ROWS);
        let factors = groups.into_iter().map(|((device, software), outcomes)| Factor {
            device: device.to_owned(),
            software: software.to_owned(),
            factor: median(outcomes.iter().map(|outcome| 1.0 / (1.0 + outcome.relative_error()))),
            rows: outcomes.iter().map(|outcome| outcome.row.id.clone()).collect(),
        });
        Self { factors: factors.collect() }
    }

    /// The factor of a device with its software; none where nothing was fitted.
    #[must_use]
    pub fn factor(&self, device: &str, software: &str) -> Option<f64> {
        let of = |factor: &&Factor| factor.device == device && factor.software == software;
        self.factors.iter().find(of).map(|factor| factor.factor)
    }
}

impl<'a> TestHalf<'a> {
    /// As predicted, without factors.
    #[must_use]
    pub const fn uncalibrated(&self) -> &Evaluation<'a> {
        &self.0
    }

    /// With the factor of each row's device and software. Rows without a factor are left out, so that what is compared is
    /// what was calibrated.
    #[must_use]
    pub fn calibrated(&self, calibration: &Calibration) -> Evaluation<'a> {
        let outcomes = self.0.outcomes.iter().filter_map(|outcome| {
            let factor = calibration.factor(&outcome.row.device, &outcome.row.software)?;
            let step_ns = outcome.predicted.step_ns * factor;
            let predicted = Predicted { step_ns, terms: None, ..outcome.predicted };
            Some(Outcome { row: outcome.row, predicted })
        });
        Evaluation { outcomes: outcomes.collect(), failures: self.0.failures.clone() }
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.as_slice() {
        [] => 1.0,
        values if values.len() % 2 == 1 => values[middle],
        values => f64::midpoint(values[middle - 1], values[middle]),
    }
}
