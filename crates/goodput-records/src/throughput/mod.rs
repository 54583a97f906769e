//! What a training log prints about its own speed: step time, tokens/s, TFLOP/s, MFU, as printed.
//!
//! The format is found from the content; a new one is one table in `formats.rs`.
//!
//! ```
//! use goodput_records::throughput::{Measure, read_throughput};
//!
//! let log = b"[titan] 2026-01-02 03:04:05,678 - root - INFO - step: 10  loss:  7.0  memory: 40.00GiB(42.11%)  \
//!     tps: 5,000  tflops: 300.00  mfu: 30.33%\n";
//! let read = read_throughput("train.log", &log[..])?;
//! assert_eq!(read.format, "torchtitan");
//! let step = &read.steps[0];
//! assert_eq!(step.value(Measure::TokensPerSecondPerDevice), Some(5000.0));
//! assert!((step.value(Measure::Mfu).unwrap_or(0.0) - 0.3033).abs() < 1e-12);
//! # Ok::<(), goodput_records::ReadError>(())
//! ```

mod field;
mod formats;
mod table;

use std::collections::BTreeMap;
use std::io::{BufReader, Read};

use crate::gzip::inflated;
use crate::lines::Lines;
use crate::{FileReport, ReadError, Treatment};

use formats::FORMATS;
use table::{Format, Line};

/// A quantity that a line of steps prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// Number of the step.
    Step,
    /// Seconds of one step.
    Seconds,
    /// Steps a second.
    StepsPerSecond,
    /// Tokens a second, of the whole job.
    TokensPerSecond,
    /// Tokens a second and device.
    TokensPerSecondPerDevice,
    /// Samples a second, of the whole job.
    SamplesPerSecond,
    /// TFLOP/s of one device.
    TflopsPerDevice,
    /// TFLOP/s of one device under the name of hardware FLOPs.
    HardwareTflopsPerDevice,
    /// Model FLOPs utilization, as a fraction.
    Mfu,
    /// Samples in a step, of the whole job.
    GlobalBatchSamples,
    /// Tokens in a step, of the whole job.
    GlobalBatchTokens,
    /// Tokens in a step that are no padding, of the whole job.
    RealTokens,
    /// Samples since the start.
    ConsumedSamples,
    /// Tokens since the start.
    ConsumedTokens,
}

impl Measure {
    /// Its name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Seconds => "step time",
            Self::StepsPerSecond => "steps/s",
            Self::TokensPerSecond => "tokens/s",
            Self::TokensPerSecondPerDevice => "tokens/s per device",
            Self::SamplesPerSecond => "samples/s",
            Self::TflopsPerDevice => "TFLOP/s per device",
            Self::HardwareTflopsPerDevice => "hardware TFLOP/s per device",
            Self::Mfu => "MFU",
            Self::GlobalBatchSamples => "global batch size",
            Self::GlobalBatchTokens => "global batch tokens",
            Self::RealTokens => "real tokens",
            Self::ConsumedSamples => "consumed samples",
            Self::ConsumedTokens => "consumed tokens",
        }
    }
}

/// A number as printed, in the unit of its [`Measure`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Printed {
    /// The number.
    pub value: f64,
    /// Half of its last printed digit: what rounding may have taken or added.
    pub rounding: f64,
}

/// The quantities of one line.
#[derive(Debug, Clone, PartialEq)]
pub struct PrintedStep {
    /// One-based line.
    pub line: u32,
    /// What it prints.
    pub printed: BTreeMap<Measure, Printed>,
}

impl PrintedStep {
    /// A quantity, if the line prints it.
    #[must_use]
    pub fn value(&self, measure: Measure) -> Option<f64> {
        self.printed.get(&measure).map(|printed| printed.value)
    }
}

/// What the log says about the run before its steps.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrintedRun {
    /// Name of the device.
    pub device: Option<String>,
    /// Peak that its MFU divides by, in FLOP/s.
    pub peak_flops_per_second: Option<f64>,
    /// Devices.
    pub devices: Option<u64>,
    /// Tokens of a sample.
    pub sequence_length: Option<u64>,
    /// Samples of a step.
    pub global_batch_samples: Option<u64>,
    /// Micro-batches of a step.
    pub gradient_accumulation: Option<u64>,
    /// Ranks over which a layer's matrices are split.
    pub tensor_parallel: Option<u64>,
    /// Ranks over which a sequence is split.
    pub context_parallel: Option<u64>,
    /// Pipeline stages.
    pub pipeline_parallel: Option<u64>,
}

/// One log.
#[derive(Debug, Clone, PartialEq)]
pub struct ThroughputLog {
    /// The format as found.
    pub format: &'static str,
    /// What its MFU and TFLOP/s count, where the format always counts the same.
    pub convention: &'static str,
    /// About the run.
    pub run: PrintedRun,
    /// Every line that prints a speed, in the log's order.
    pub steps: Vec<PrintedStep>,
    /// What became of the lines.
    pub report: FileReport,
}

impl ThroughputLog {
    /// The line to judge the run by: of those that print the most quantities, the median by speed, so that neither
    /// compilation nor a step that was dispatched and not waited for is taken. With `step`, the last line of that step.
    #[must_use]
    pub fn typical(&self, step: Option<u64>) -> Option<&PrintedStep> {
        if let Some(step) = step {
            return self.steps.iter().rev().find(|line| line.value(Measure::Step) == Some(step as f64));
        }
        let most = self.steps.iter().map(|line| line.printed.len()).max()?;
        let mut fullest: Vec<&PrintedStep> =
            self.steps.iter().filter(|line| line.printed.len() == most).collect();
        fullest.sort_by(|one, other| one.slowness().total_cmp(&other.slowness()));
        fullest.get(fullest.len() / 2).copied()
    }
}

impl PrintedStep {
    /// Something that grows with the time of a step.
    fn slowness(&self) -> f64 {
        let inverse = |measure| self.value(measure).map(|rate| 1.0 / rate.max(f64::MIN_POSITIVE));
        self.value(Measure::Seconds)
            .or_else(|| inverse(Measure::TokensPerSecondPerDevice))
            .or_else(|| inverse(Measure::TokensPerSecond))
            .or_else(|| inverse(Measure::SamplesPerSecond))
            .or_else(|| inverse(Measure::StepsPerSecond))
            .or_else(|| inverse(Measure::TflopsPerDevice))
            .or_else(|| inverse(Measure::Mfu))
            .unwrap_or(0.0)
    }
}

/// Reads one training log, gzipped or not.
///
/// # Errors
/// [`ReadError`] when the file cannot be read, no line prints a speed in a known format, or every such line holds
/// a figure that is no positive number.
pub fn read_throughput(label: &str, source: impl Read) -> Result<ThroughputLog, ReadError> {
    let io = |source| ReadError::Io { path: label.to_owned(), source };
    let mut input = inflated(BufReader::new(source)).map_err(io)?;
    let mut lines = Lines::new(&mut *input, label);
    let mut drafts: Vec<Draft> = FORMATS.iter().map(|format| Draft::new(label, format)).collect();
    let mut rows = 0;
    while let Some(line) = lines.next()? {
        rows += 1;
        let Ok(text) = line.text else { continue };
        let text = field::without_colour(text);
        for draft in &mut drafts {
            draft.take(&text, line.number);
        }
    }
    // Ties go to the format that comes first in the table.
    let best = drafts.into_iter().rev().max_by_key(|draft| (draft.log.steps.len(), draft.seen));
    let Some(mut draft) = best.filter(|draft| draft.seen > 0) else {
        let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
        return Err(refused(
            label,
            "no line prints a speed in a known format",
            format!("formats that can be read: {}", names.join(", ")),
        ));
    };
    if draft.log.steps.is_empty() {
        let first = draft.log.report.findings.first().cloned();
        let (line, field, message) =
            first.map_or((0, String::new(), String::new()), |f| (f.line, f.field, f.message));
        let remedy = "give a part of the log in which the figures are numbers".to_owned();
        return Err(ReadError::Format { path: label.to_owned(), line, field, message, remedy });
    }
    draft.log.report.rows = rows;
    draft.log.report.used = draft.log.steps.len() as u64;
    draft.log.report.skipped.insert("line without a speed", rows.saturating_sub(draft.seen));
    Ok(draft.log)
}

fn refused(label: &str, message: &str, remedy: String) -> ReadError {
    ReadError::Format {
        path: label.to_owned(),
        line: 0,
        field: String::new(),
        message: message.to_owned(),
        remedy,
    }
}

/// The log as one format reads it.
struct Draft {
    format: &'static Format,
    log: ThroughputLog,
    /// Lines that look like steps of this format.
    seen: u64,
}

impl Draft {
    fn new(label: &str, format: &'static Format) -> Self {
        let log = ThroughputLog {
            format: format.name,
            convention: format.convention,
            run: PrintedRun::default(),
            steps: Vec::new(),
            report: FileReport::new(label, format.name),
        };
        Self { format, log, seen: 0 }
    }

    fn take(&mut self, text: &str, number: u32) {
        if let Some(line) = self.format.lines.iter().find(|line| line.is(text)) {
            self.step(line, text, number);
        } else {
            for setup in self.format.setup.iter().filter(|setup| setup.is(text)) {
                setup.apply(text, &mut self.log.run);
            }
        }
    }

    fn step(&mut self, line: &Line, text: &str, number: u32) {
        let mut printed = BTreeMap::new();
        for column in line.columns {
            match column.read(text) {
                Some(Ok(value)) => drop(printed.entry(column.measure).or_insert(value)),
                Some(Err(found)) => {
                    self.seen += 1;
                    let name = column.measure.name();
                    let message = || format!("{found} is no positive number; the line is not used");
                    self.log.report.find(Treatment::Refused, "bad_value", number, name, message);
                    return;
                }
                None => {}
            }
        }
        // A line that names its step and no speed is cut off, or of another kind.
        let speaks = printed.keys().any(|measure| *measure != Measure::Step);
        if speaks {
            self.seen += 1;
            self.log.steps.push(PrintedStep { line: number, printed });
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = read_throughput("any", bytes.as_slice());
        }

        #[test]
        fn any_figure_is_answered(figure in "[0-9.,eE+naif%KMGT-]{0,12}") {
            for line in [
                format!("iteration 10/ 100 | elapsed time per iteration (ms): {figure} | global batch size: {figure} |"),
                format!("step: {figure}  loss: 1  tps: {figure}  tflops: {figure}  mfu: {figure}%"),
                format!("completed step: 3, seconds: {figure}, TFLOP/s/device: {figure}"),
                format!("iteration: 10 / 100 | time_per_iteration_ms: {figure} | tokens_per_sec: {figure}"),
            ] {
                if let Ok(log) = read_throughput("any", line.as_bytes()) {
                    prop_assert!(log.steps.iter().flat_map(|step| step.printed.values()).all(|p| p.value.is_finite()));
                }
            }
        }
    }
}
