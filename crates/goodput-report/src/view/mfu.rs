//! The views of `goodput mfu`: a quoted MFU in another basis, and the audit of a log.

use goodput_model::audit::{Audit, Explanation, Fault, Figure, Row, Verdict};
use goodput_model::conversion::{Basis, Conversion};
use goodput_records::ReadReport;
use serde::Serialize;

use super::read::ReadReportView;
use super::settings::ViewSettings;
use crate::number::{significant, two_decimal_percent};

/// A converted MFU, ready to be printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConversionView {
    /// `goodput.mfu_convert/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// The model.
    pub model: String,
    /// Tokens of a sequence.
    pub sequence_length: u64,
    /// As quoted.
    pub from: MfuView,
    /// In the other basis.
    pub to: MfuView,
    /// MFU in exact FLOPs of real tokens at the peak of `to`.
    pub exact_mfu: f64,
    /// What lies between, one row a factor.
    pub factors: Vec<FactorView>,
    /// All factors together.
    pub product: f64,
    /// What to know before the figure is used.
    pub warnings: Vec<String>,
}

/// An MFU and all that it rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MfuView {
    /// MFU, as a fraction.
    pub mfu: f64,
    /// Name of the convention.
    pub convention: &'static str,
    /// Where the convention is published.
    pub convention_source: &'static str,
    /// FLOPs of a token.
    pub flops_per_token: f64,
    /// The peak that it divides by.
    pub peak_flops_per_second: Option<f64>,
    /// Whose peak that is.
    pub peak_source: Option<String>,
    /// Which tokens it counts.
    pub tokens: String,
}

/// One factor of a conversion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactorView {
    /// `flops_per_token`, `peak` or `tokens`.
    pub factor: &'static str,
    /// On the quoted side.
    pub from: f64,
    /// On the other side.
    pub to: f64,
    /// What it multiplies the MFU by.
    pub ratio: f64,
}

impl ConversionView {
    /// The view of a conversion between two bases, each with the source of its peak.
    #[must_use]
    pub fn new(
        model: &str,
        sequence_length: u64,
        conversion: &Conversion,
        from: (&Basis, Option<String>),
        to: (&Basis, Option<String>),
    ) -> Self {
        let side = |mfu: f64, flops_per_token: f64, (basis, peak_source): (&Basis, Option<String>)| MfuView {
            mfu,
            convention: basis.convention.name,
            convention_source: basis.convention.source,
            flops_per_token,
            peak_flops_per_second: basis.peak_flops_per_second,
            peak_source,
            tokens: basis.tokens.to_string(),
        };
        let factors = [
            ("flops_per_token", Some(conversion.flops_per_token)),
            ("peak", conversion.peak),
            ("tokens", Some(conversion.tokens)),
        ];
        let factors = factors.into_iter().filter_map(|(factor, found)| {
            let found = found?;
            Some(FactorView { factor, from: found.from, to: found.to, ratio: found.ratio })
        });
        let mut warnings = Vec::new();
        for (basis, mfu) in [(from.0, conversion.from), (to.0, conversion.to)] {
            if mfu > 1.0 {
                warnings.push(format!(
                    "{} is above 100% because {} counts more than runs: in exact FLOPs of real tokens it is {}",
                    two_decimal_percent(mfu),
                    basis.convention.name,
                    two_decimal_percent(conversion.exact)
                ));
            }
        }
        Self {
            schema: "goodput.mfu_convert/1",
            generated_by: generated_by(),
            model: model.to_owned(),
            sequence_length,
            from: side(conversion.from, conversion.flops_per_token.from, from),
            to: side(conversion.to, conversion.flops_per_token.to, to),
            exact_mfu: conversion.exact,
            factors: factors.collect(),
            product: conversion.product(),
            warnings,
        }
    }
}

/// The audit of a log, ready to be printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MfuAuditView {
    /// `goodput.mfu_audit/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// The log.
    pub log: AuditedLogView,
    /// The run as audited.
    pub run: AuditedRunView,
    /// Differences up to this fraction, and rounding, are none.
    pub tolerance: f64,
    /// Exact model FLOPs of a token.
    pub flops_per_token: f64,
    /// Whether tokens/s come from step time and tokens; otherwise they are taken as printed.
    pub tokens_are_recomputed: bool,
    /// Tokens a second of the whole job.
    pub tokens_per_second: Option<f64>,
    /// TFLOP/s of one device.
    pub tflops_per_device: Option<f64>,
    /// MFU.
    pub mfu: Option<f64>,
    /// Every printed figure.
    pub figures: Vec<FigureView>,
    /// What became of the log's lines.
    pub read_report: ReadReportView,
    /// What to know before a figure is used.
    pub warnings: Vec<String>,
}

/// The line that is audited.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedLogView {
    /// The file as the user named it.
    pub file: String,
    /// One-based line.
    pub line: u32,
    /// Its step, if it says so.
    pub step: Option<u64>,
    /// Lines that print a speed; the audited one is the median of them by speed unless a step was named.
    pub lines: usize,
    /// The format as found.
    pub format: &'static str,
    /// What its TFLOP/s and MFU count.
    pub convention: &'static str,
}

/// The run that is audited, each figure as stated or as the log says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedRunView {
    /// The model.
    pub model: String,
    /// Tokens of a sequence.
    pub sequence_length: u64,
    /// Devices.
    pub devices: u64,
    /// Tokens of an optimizer step that are no padding.
    pub tokens_per_step: Option<f64>,
    /// Name of the device.
    pub device: Option<String>,
    /// The dtype of the peak.
    pub dtype: Option<&'static str>,
    /// The right peak.
    pub peak_flops_per_second: Option<f64>,
    /// Ranks over which matrices are split.
    pub tensor_parallel: u64,
    /// Ranks over which a sequence is split.
    pub context_parallel: u64,
    /// Pipeline stages.
    pub pipeline_parallel: u64,
    /// Micro-batches of an optimizer step.
    pub gradient_accumulation: Option<u64>,
}

/// One printed figure against the right one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigureView {
    /// Its key.
    pub figure: &'static str,
    /// A person's word for it.
    #[serde(skip)]
    pub label: &'static str,
    /// As printed.
    pub printed: f64,
    /// Recomputed.
    pub right: Option<f64>,
    /// Printed over right.
    pub ratio: Option<f64>,
    /// `agrees`, `follows`, `explained`, `not_explained` or `nothing_to_compare`.
    pub verdict: &'static str,
    /// The printed figure from which it follows.
    pub follows: Option<&'static str>,
    /// Faults that make the difference, the closest first.
    pub explanations: Vec<ExplanationView>,
}

/// Faults that make a difference together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplanationView {
    /// One, or two.
    pub faults: Vec<FaultView>,
    /// What they multiply the figure by.
    pub factor: f64,
    /// What they leave unexplained, as a fraction.
    pub left_over: f64,
    /// The printed figure from which the difference is taken; the right value otherwise.
    pub after: Option<&'static str>,
}

/// One known fault.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FaultView {
    /// Its name.
    pub name: &'static str,
    /// What goes wrong.
    pub title: &'static str,
    /// Where it was reported.
    pub citation: &'static str,
}

impl MfuAuditView {
    /// The view of an audit.
    #[must_use]
    pub fn new(
        log: AuditedLogView,
        run: AuditedRunView,
        audit: &Audit,
        tolerance: f64,
        read: &ReadReport,
        warnings: Vec<String>,
    ) -> Self {
        Self {
            schema: "goodput.mfu_audit/1",
            generated_by: generated_by(),
            log,
            run,
            tolerance,
            flops_per_token: audit.flops_per_token,
            tokens_are_recomputed: audit.tokens_are_recomputed,
            tokens_per_second: audit.tokens_per_second,
            tflops_per_device: audit.tflops_per_device,
            mfu: audit.mfu,
            figures: audit.rows.iter().map(FigureView::new).collect(),
            read_report: ReadReportView::new(read),
            warnings,
        }
    }
}

impl FigureView {
    fn new(row: &Row) -> Self {
        let (verdict, follows, explanations) = match &row.verdict {
            Verdict::Agrees => ("agrees", None, &[][..]),
            Verdict::Follows(figure) => ("follows", Some(figure.key()), &[][..]),
            Verdict::Explained(explanations) => ("explained", None, explanations.as_slice()),
            Verdict::NotExplained => ("not_explained", None, &[][..]),
            Verdict::NothingToCompare => ("nothing_to_compare", None, &[][..]),
        };
        Self {
            figure: row.figure.key(),
            label: row.figure.label(),
            printed: row.printed,
            right: row.right,
            ratio: row.ratio(),
            verdict,
            follows,
            explanations: explanations.iter().map(ExplanationView::new).collect(),
        }
    }

    /// A value of this figure with the digits that it carries.
    pub(crate) fn text(&self, value: f64) -> String {
        if self.figure == "mfu" { two_decimal_percent(value) } else { significant(value) }
    }
}

impl ExplanationView {
    fn new(explanation: &Explanation) -> Self {
        let fault =
            |fault: &&Fault| FaultView { name: fault.name, title: fault.title, citation: fault.citation };
        Self {
            faults: explanation.faults.iter().map(fault).collect(),
            factor: explanation.factor,
            left_over: explanation.left_over,
            after: explanation.after.map(Figure::key),
        }
    }
}

fn generated_by() -> String {
    ViewSettings::default().generated_by
}
