//! What a table of a log format is made of.

use super::field::{after, number};
use super::{Measure, Printed, PrintedRun};

/// One log format.
pub(super) struct Format {
    pub name: &'static str,
    /// What its TFLOP/s and MFU count; empty where the log prints neither.
    pub convention: &'static str,
    pub lines: &'static [Line],
    pub setup: &'static [Setup],
}

/// A kind of line: it holds all of `marks`.
pub(super) struct Line {
    pub marks: &'static [&'static str],
    pub columns: &'static [Column],
}

impl Line {
    pub(super) fn is(&self, text: &str) -> bool {
        self.marks.iter().all(|mark| text.contains(mark))
    }
}

/// A quantity and its key.
pub(super) struct Column {
    key: &'static str,
    pub measure: Measure,
    /// What turns the printed unit into that of the measure.
    scale: f64,
    /// Numbers such as 13.3K.
    human: bool,
}

impl Column {
    /// The figure; `Err` with what is printed where no positive number can be.
    pub(super) fn read(&self, text: &str) -> Option<Result<Printed, String>> {
        let printed = match number(after(text, self.key)?, self.human)? {
            Ok(printed) => printed,
            Err(found) => return Some(Err(found)),
        };
        // nanoGPT prints -100 % until it has an average; a metric that stands still prints 0.
        let waits = self.measure == Measure::Mfu && printed.value < 0.0;
        if waits {
            return None;
        }
        let needs_positive = matches!(self.measure, Measure::Seconds | Measure::StepsPerSecond);
        if printed.value < 0.0 || (needs_positive && printed.value == 0.0) {
            return Some(Err(printed.value.to_string()));
        }
        Some(Ok(Printed { value: printed.value * self.scale, rounding: printed.rounding * self.scale }))
    }
}

/// A line about the run: it holds `mark`.
pub(super) struct Setup {
    pub mark: &'static str,
    pub what: What,
}

pub(super) enum What {
    /// Whole numbers, each with its key.
    Numbers(&'static [Whole]),
    /// The device's name, between the mark and this text or the line's end.
    DeviceUntil(&'static str),
    /// The peak in FLOP/s, after the key.
    Peak(&'static str),
    /// torchtitan's device mesh: names and sizes of its dimensions.
    Mesh,
}

/// A key, and what its number says about the run.
pub(super) type Whole = (&'static str, fn(&mut PrintedRun) -> &mut Option<u64>);

impl Setup {
    pub(super) fn is(&self, text: &str) -> bool {
        text.contains(self.mark)
    }

    pub(super) fn apply(&self, text: &str, run: &mut PrintedRun) {
        match self.what {
            What::Numbers(keys) => {
                for (key, slot) in keys {
                    let value = after(text, key).and_then(|rest| number(rest, false)?.ok());
                    if let Some(whole) = value.and_then(|printed| whole(printed.value)) {
                        *slot(run) = Some(whole);
                    }
                }
            }
            What::DeviceUntil(end) => {
                let name = after(text, self.mark).map(|rest| rest.split(end).next().unwrap_or(rest).trim());
                run.device = name.filter(|name| !name.is_empty()).map(str::to_owned).or(run.device.take());
            }
            What::Peak(key) => {
                let peak = after(text, key).and_then(|rest| number(rest, false)?.ok());
                run.peak_flops_per_second = peak
                    .map(|printed| printed.value)
                    .filter(|peak| *peak > 0.0)
                    .or(run.peak_flops_per_second);
            }
            What::Mesh => mesh(text, run),
        }
    }
}

fn whole(value: f64) -> Option<u64> {
    (value >= 1.0 && value.fract() == 0.0 && value < 1e15).then_some(value as u64)
}

/// `Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]`.
fn mesh(text: &str, run: &mut PrintedRun) {
    let mut lists = text.split('[').rev().filter_map(|part| part.split_once(']')).map(|(list, _)| list);
    let (Some(sizes), Some(names)) = (lists.next(), lists.next()) else { return };
    let sizes: Option<Vec<u64>> = sizes.split(',').map(|size| size.trim().parse().ok()).collect();
    let Some(sizes) = sizes else { return };
    run.devices = sizes.iter().try_fold(1_u64, |product, size| product.checked_mul(*size));
    for (name, size) in names.split(',').zip(sizes) {
        match name.trim().trim_matches(['\'', '"']) {
            "tp" => run.tensor_parallel = Some(size),
            "cp" => run.context_parallel = Some(size),
            "pp" => run.pipeline_parallel = Some(size),
            _ => {}
        }
    }
}

pub(super) const fn column(key: &'static str, measure: Measure) -> Column {
    Column { key, measure, scale: 1.0, human: false }
}

pub(super) const fn scaled(key: &'static str, measure: Measure, scale: f64) -> Column {
    Column { key, measure, scale, human: false }
}

pub(super) const fn human(key: &'static str, measure: Measure, scale: f64) -> Column {
    Column { key, measure, scale, human: true }
}
