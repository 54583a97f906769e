//! A run against the other runs of its architecture, software, devices and convention.

use std::collections::BTreeMap;

use serde::Serialize;

use super::prepare::median;
use super::row::{Kind, Row};
use super::student::{FEWEST, newest_p_value};

/// Newest reports of a run that make its figure: a week of daily ones.
const NEWEST: usize = 7;
/// Least scale of the logarithm: runs of one architecture differ by 1 % for many reasons.
const FLOOR: f64 = 0.01;

/// A run and the baseline of its group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Departure {
    /// The job.
    pub job: String,
    /// Architecture, device, dtype, convention and software that all runs of the group share.
    pub group: String,
    /// MFU of its retained steps, median of its newest reports.
    pub mfu: f64,
    /// Median of the other runs.
    pub baseline: f64,
    /// Less one: how far it is off.
    pub change: f64,
    /// Other runs.
    pub runs: usize,
    /// Probability of a run as far off as this one.
    pub p_value: f64,
    /// UTC day of its newest report.
    pub day: String,
    /// Days since 1970 of the same.
    #[serde(skip)]
    pub epoch_day: i64,
}

/// Runs that could be compared, and how many could not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Departures {
    /// Every run with a baseline.
    pub compared: Vec<Departure>,
    /// Runs with an MFU and too few others of their group: no baseline for that architecture.
    pub without_baseline: usize,
    /// Runs whose rows do not name an architecture: each is only followed over time.
    pub without_model: usize,
}

/// Compares each run with the others of its group, never across conventions, peaks or versions.
#[must_use]
pub fn departures(rows: &[Row]) -> Departures {
    let mut groups: BTreeMap<String, Vec<(&Row, f64)>> = BTreeMap::new();
    let mut answer = Departures::default();
    for rows in rows.chunk_by(|a, b| a.subject() == b.subject()).filter(|rows| rows[0].kind == Kind::Job) {
        let Some(last) = rows.iter().rev().find(|row| row.program.is_some()) else { continue };
        let Some(group) = group(last) else {
            answer.without_model += 1;
            continue;
        };
        let alike = rows.iter().rev().filter(|row| self::group(row).as_ref() == Some(&group)).take(NEWEST);
        let mut values: Vec<f64> = alike.filter_map(|row| row.program.as_ref()).map(|p| p.mfu).collect();
        groups.entry(group).or_default().push((last, median(&mut values)));
    }
    for (group, runs) in groups {
        if runs.len() <= FEWEST {
            answer.without_baseline += runs.len();
            continue;
        }
        for (i, (row, mfu)) in runs.iter().enumerate() {
            let mut others: Vec<f64> = runs
                .iter()
                .enumerate()
                .filter(|(j, _)| *j != i)
                .map(|(_, (_, mfu))| mfu.max(f64::MIN_POSITIVE))
                .collect();
            let logs: Vec<f64> = others.iter().map(|mfu| mfu.ln()).collect();
            let Some(p_value) = newest_p_value(&logs, mfu.max(f64::MIN_POSITIVE).ln(), FLOOR) else {
                continue;
            };
            let baseline = median(&mut others);
            answer.compared.push(Departure {
                job: row.job.as_deref().unwrap_or_default().to_owned(),
                group: group.clone(),
                mfu: *mfu,
                baseline,
                change: mfu / baseline - 1.0,
                runs: others.len(),
                p_value,
                day: row.day.to_string(),
                epoch_day: row.epoch_day(),
            });
        }
    }
    answer
}

/// What MFUs must share to be compared; `None` without an architecture.
fn group(row: &Row) -> Option<String> {
    let (model, program) = (row.model.as_ref()?, row.program.as_ref()?);
    let software: Vec<_> = row.software.iter().map(|(name, version)| format!("{name} {version}")).collect();
    Some(format!(
        "{model} on {} {} ({:.0} TFLOP/s), {}; {}",
        program.device,
        program.dtype,
        program.peak_flops_per_second / 1e12,
        program.convention,
        if software.is_empty() { "software not stated".to_owned() } else { software.join(", ") }
    ))
}
