//! What is wrong with a reported MFU: every printed figure recomputed, and a difference explained by known faults.
//!
//! Tokens/s, TFLOP/s and MFU follow from each other: step time and tokens give tokens/s, FLOPs per token give TFLOP/s,
//! the peak gives the MFU. A printed figure that differs from the right one is therefore held against the right value and
//! against what follows from the printed figure before it, so that a fault is named where it enters.
//!
//! ```
//! use goodput_model::architecture::Architecture;
//! use goodput_model::audit::{Claim, Claims, Figure, Run, Verdict, audit};
//! use goodput_model::device::{Catalogue, Dtype};
//!
//! let mut run = Run::new(Architecture::known("llama3.1-8b")?, 8192, 8)?;
//! run.set_device(Catalogue::built_in().find("H100 SXM5")?, Dtype::Bf16)?;
//! // 7,000 tokens/s a device are 36.4 %; the log divides by the sparse peak.
//! let claims = Claims {
//!     tokens_per_second_per_device: Some(Claim::exact(7_000.0)),
//!     mfu: Some(Claim { value: 0.1821, rounding: 0.00005 }),
//!     ..Claims::default()
//! };
//! let audit = audit(&run, &claims, 0.01)?;
//! let mfu = audit.row(Figure::Mfu).ok_or("not printed")?;
//! assert!((mfu.right.unwrap_or(0.0) - 0.3642).abs() < 1e-4);
//! let is_sparse_peak = |verdict: &Verdict| match verdict {
//!     Verdict::Explained(explanations) => explanations.iter().any(|e| e.faults[0].name == "sparse-peak"),
//!     _ => false,
//! };
//! assert!(is_sparse_peak(&mfu.verdict));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod count;
mod explain;
mod fault;
mod run;

pub use explain::{Explanation, causes_above_one};
pub use fault::{FAULTS, Fault, Kind};
pub use run::{AuditError, Run};

use explain::Search;
use fault::Kind::{Flops, Peak, Tokens};

/// A printed number and what rounding may have taken or added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// The number.
    pub value: f64,
    /// Half of its last printed digit.
    pub rounding: f64,
}

impl Claim {
    /// A number that was not rounded.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { value, rounding: 0.0 }
    }

    fn relative_rounding(self) -> f64 {
        if self.value == 0.0 { 0.0 } else { (self.rounding / self.value).abs() }
    }
}

/// What one line of a log, or one report, states.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Claims {
    /// Seconds of one optimizer step.
    pub seconds: Option<Claim>,
    /// Tokens of one optimizer step over the whole job, padding excluded.
    pub tokens_per_step: Option<f64>,
    /// Tokens a second of the whole job.
    pub tokens_per_second: Option<Claim>,
    /// Tokens a second and device.
    pub tokens_per_second_per_device: Option<Claim>,
    /// TFLOP/s of one device.
    pub tflops_per_device: Option<Claim>,
    /// The peak that the MFU divides by, in FLOP/s.
    pub peak_flops_per_second: Option<Claim>,
    /// MFU, as a fraction.
    pub mfu: Option<Claim>,
}

/// A figure of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Tokens a second of the whole job.
    TokensPerSecond,
    /// Tokens a second and device.
    TokensPerSecondPerDevice,
    /// TFLOP/s of one device.
    TflopsPerDevice,
    /// The peak in TFLOP/s.
    PeakTflops,
    /// MFU, as a fraction.
    Mfu,
}

impl Figure {
    /// A person's word for it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::TokensPerSecond => "tokens/s",
            Self::TokensPerSecondPerDevice => "tokens/s per device",
            Self::TflopsPerDevice => "TFLOP/s per device",
            Self::PeakTflops => "peak TFLOP/s",
            Self::Mfu => "MFU",
        }
    }

    /// Its key in JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::TokensPerSecond => "tokens_per_second",
            Self::TokensPerSecondPerDevice => "tokens_per_second_per_device",
            Self::TflopsPerDevice => "tflops_per_device",
            Self::PeakTflops => "peak_tflops",
            Self::Mfu => "mfu",
        }
    }
}

/// What an audit says of one figure.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It is right, within the tolerance.
    Agrees,
    /// It is wrong only because this printed figure before it is.
    Follows(Figure),
    /// Known faults make it; the first is the closest.
    Explained(Vec<Explanation>),
    /// No known fault, and no pair of them, makes it.
    NotExplained,
    /// What it would be held against is not known.
    NothingToCompare,
}

/// One figure of the audit.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The figure.
    pub figure: Figure,
    /// As printed.
    pub printed: f64,
    /// Recomputed.
    pub right: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
}

impl Row {
    /// Printed over right.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        self.right.filter(|right| *right > 0.0).map(|right| self.printed / right)
    }
}

/// The figures of a report, recomputed.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// Model FLOPs of one token: exact attention pairs, forward and backward, nothing recomputed.
    pub flops_per_token: f64,
    /// Whether tokens/s are recomputed from step time and tokens; otherwise the printed ones are taken as they are.
    pub tokens_are_recomputed: bool,
    /// Tokens a second of the whole job.
    pub tokens_per_second: Option<f64>,
    /// TFLOP/s of one device.
    pub tflops_per_device: Option<f64>,
    /// MFU.
    pub mfu: Option<f64>,
    /// One row a printed figure.
    pub rows: Vec<Row>,
}

impl Audit {
    /// The row of a figure.
    #[must_use]
    pub fn row(&self, figure: Figure) -> Option<&Row> {
        self.rows.iter().find(|row| row.figure == figure)
    }

    /// Whether a printed figure is wrong.
    #[must_use]
    pub fn finds_a_fault(&self) -> bool {
        self.rows.iter().any(|row| !matches!(row.verdict, Verdict::Agrees | Verdict::NothingToCompare))
    }
}

/// Recomputes every printed figure and explains what differs by more than `tolerance` (0.01 for 1 %) and its rounding.
///
/// # Errors
/// [`AuditError`] when the run cannot be counted, or a claim is no positive number.
pub fn audit(run: &Run, claims: &Claims, tolerance: f64) -> Result<Audit, AuditError> {
    claims.check()?;
    if !(tolerance > 0.0 && tolerance < 0.5) {
        return Err(AuditError::Share { name: "tolerance", value: tolerance, range: "between 0 and 0.5" });
    }
    let search = Search::new(run, tolerance)?;
    let devices = run.devices() as f64;
    let recomputed = claims.seconds.zip(claims.tokens_per_step).map(|(s, tokens)| tokens / s.value);
    let printed_rate = claims.tokens_per_second.map(|claim| claim.value);
    let printed_each = claims.tokens_per_second_per_device.map(|claim| claim.value * devices);
    let tokens_per_second = recomputed.or(printed_rate).or(printed_each);
    let tflops = tokens_per_second.map(|rate| rate * search.flops_per_token() / devices / 1e12);
    let peak = run.peak_flops_per_second().map(|peak| peak / 1e12);
    let mfu = tflops.zip(peak).map(|(tflops, peak)| tflops / peak);
    let timing = claims.seconds.map_or(0.0, Claim::relative_rounding);

    let mut rows = Vec::new();
    let row = |rows: &mut Vec<Row>, figure, claim: Option<Claim>, right: Option<f64>, bases: &[Base]| {
        let Some(claim) = claim else { return };
        let verdict = search.judge(claim, timing, right, bases);
        rows.push(Row { figure, printed: claim.value, right, verdict });
    };
    let right = |value: Option<f64>, kinds: &'static [Kind]| Base { figure: None, value, kinds };
    let after =
        |figure, value: Option<f64>, kinds: &'static [Kind]| Base { figure: Some(figure), value, kinds };

    let each = recomputed.or(printed_rate).map(|rate| rate / devices);
    row(
        &mut rows,
        Figure::TokensPerSecond,
        claims.tokens_per_second,
        recomputed,
        &[right(recomputed, &[Tokens])],
    );
    row(
        &mut rows,
        Figure::TokensPerSecondPerDevice,
        claims.tokens_per_second_per_device,
        each,
        &[right(each, &[Tokens])],
    );
    // The printed rate on which the next figures may rest.
    let rate = printed_each.map(|rate| (Figure::TokensPerSecondPerDevice, rate));
    let rate = rate.or(printed_rate.map(|rate| (Figure::TokensPerSecond, rate)));
    let rate_tflops = rate.map(|(figure, rate)| (figure, rate * search.flops_per_token() / devices / 1e12));

    let mut bases = vec![right(tflops, &[Tokens, Flops])];
    bases.extend(rate_tflops.map(|(figure, tflops)| after(figure, Some(tflops), &[Flops])));
    row(&mut rows, Figure::TflopsPerDevice, claims.tflops_per_device, tflops, &bases);

    let printed_peak = claims
        .peak_flops_per_second
        .map(|claim| Claim { value: claim.value / 1e12, rounding: claim.rounding / 1e12 });
    if let Some(claim) = printed_peak {
        // An MFU falls as its peak rises, and faults are factors of the MFU.
        let inverse = |peak: f64| 1.0 / peak;
        let rounding = claim.rounding / claim.value.powi(2);
        let inverted = Claim { value: inverse(claim.value), rounding };
        let verdict = search.judge(inverted, 0.0, peak.map(inverse), &[right(peak.map(inverse), &[Peak])]);
        rows.push(Row { figure: Figure::PeakTflops, printed: claim.value, right: peak, verdict });
    }

    let over = |tflops: Option<f64>, peak: Option<f64>| tflops.zip(peak).map(|(tflops, peak)| tflops / peak);
    let printed_tflops = claims.tflops_per_device.map(|claim| claim.value);
    let stated_peak = printed_peak.map(|claim| claim.value);
    let mut bases = vec![right(mfu, &[Tokens, Flops, Peak])];
    bases.push(after(Figure::PeakTflops, over(tflops, stated_peak), &[Tokens, Flops]));
    if let Some((figure, tflops)) = rate_tflops {
        bases.push(after(figure, over(Some(tflops), peak), &[Flops, Peak]));
    }
    bases.push(after(Figure::TflopsPerDevice, over(printed_tflops, peak), &[Peak]));
    bases.push(after(Figure::TflopsPerDevice, over(printed_tflops, stated_peak), &[]));
    row(&mut rows, Figure::Mfu, claims.mfu, mfu.or(over(printed_tflops, peak)), &bases);

    Ok(Audit {
        flops_per_token: search.flops_per_token(),
        tokens_are_recomputed: recomputed.is_some(),
        tokens_per_second,
        tflops_per_device: tflops,
        mfu,
        rows,
    })
}

/// A value that a printed figure may rest on, and the kinds of faults that may stand between.
#[derive(Debug, Clone, Copy)]
struct Base {
    /// The printed figure that it follows from; `None` for the right value.
    figure: Option<Figure>,
    value: Option<f64>,
    kinds: &'static [Kind],
}

impl Search<'_> {
    fn judge(&self, claim: Claim, timing: f64, right: Option<f64>, bases: &[Base]) -> Verdict {
        let rounding = claim.relative_rounding() + timing;
        let ratio = |base: f64| claim.value / base;
        if right.is_some_and(|right| self.is_one(ratio(right), rounding)) {
            return Verdict::Agrees;
        }
        let known = || bases.iter().filter_map(|base| base.value.map(|value| (base, value)));
        let followed = known().filter_map(|(base, value)| base.figure.map(|figure| (figure, value)));
        for (figure, value) in followed {
            if self.is_one(ratio(value), rounding) {
                return if right.is_none() { Verdict::Agrees } else { Verdict::Follows(figure) };
            }
        }
        // Later bases are nearer: they leave fewer faults between.
        let mut best: Vec<Explanation> = Vec::new();
        for (base, value) in known() {
            let found = self.explain(ratio(value), rounding, base.kinds, base.figure);
            let faults = |explanations: &[Explanation]| explanations.first().map(|e| e.faults.len());
            let fewer = faults(&best).is_none_or(|best| faults(&found).is_some_and(|found| found <= best));
            if !found.is_empty() && fewer {
                best = found;
            }
        }
        match (best.is_empty(), known().next()) {
            (false, _) => Verdict::Explained(best),
            (true, Some(_)) => Verdict::NotExplained,
            (true, None) => Verdict::NothingToCompare,
        }
    }
}

impl Claims {
    fn check(&self) -> Result<(), AuditError> {
        let claims = [
            ("step time", self.seconds),
            ("tokens/s", self.tokens_per_second),
            ("tokens/s per device", self.tokens_per_second_per_device),
            ("TFLOP/s per device", self.tflops_per_device),
            ("peak", self.peak_flops_per_second),
            ("MFU", self.mfu),
            ("tokens per step", self.tokens_per_step.map(Claim::exact)),
        ];
        for (name, claim) in claims {
            if let Some(Claim { value, .. }) = claim
                && !(value.is_finite() && value > 0.0)
            {
                return Err(AuditError::Number { name, value });
            }
        }
        Ok(())
    }
}
