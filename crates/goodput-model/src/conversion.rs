//! A quoted MFU under another convention, peak and token scope.

use std::fmt;

use serde::Serialize;

use crate::architecture::Architecture;
use crate::convention::{Convention, ConventionError};

/// What an MFU rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Basis {
    /// How it counts FLOPs.
    pub convention: Convention,
    /// The peak that it divides by, in FLOP/s; `None` for both sides keeps the peak.
    pub peak_flops_per_second: Option<f64>,
    /// Which tokens it counts.
    pub tokens: TokenScope,
}

impl Basis {
    /// A convention over real tokens, at a peak that is not stated.
    #[must_use]
    pub const fn of(convention: Convention) -> Self {
        Self { convention, peak_flops_per_second: None, tokens: TokenScope::Real }
    }
}

/// Which tokens an MFU counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenScope {
    /// Tokens that are no padding, each once.
    Real,
    /// Padding too; holds the share of real tokens.
    Padded(f64),
    /// Summed over this many ranks that hold the same tokens.
    SummedOverRanks(u64),
    /// Divided by this number of ranks although the sequence was split among them.
    DividedByRanks(u64),
}

impl TokenScope {
    /// Tokens counted for each real one.
    fn multiple(self) -> f64 {
        match self {
            Self::Real => 1.0,
            Self::Padded(real_share) => 1.0 / real_share,
            Self::SummedOverRanks(ranks) => ranks as f64,
            Self::DividedByRanks(ranks) => 1.0 / ranks as f64,
        }
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Real => write!(f, "real"),
            Self::Padded(share) => write!(f, "padding too ({:.1}% real)", share * 100.0),
            Self::SummedOverRanks(ranks) => write!(f, "summed over {ranks} ranks"),
            Self::DividedByRanks(ranks) => write!(f, "divided by {ranks} ranks"),
        }
    }
}

/// One factor of a conversion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factor {
    /// The quantity: FLOPs per token, FLOP/s, or tokens counted for each real one.
    pub from: f64,
    /// The same on the other side.
    pub to: f64,
    /// What it multiplies the MFU by.
    pub ratio: f64,
}

/// An MFU on both sides, and what lies between.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversion {
    /// As quoted.
    pub from: f64,
    /// In the other basis.
    pub to: f64,
    /// What it is in exact FLOPs of real tokens, at the peak of the other basis.
    pub exact: f64,
    /// More FLOPs a token, more MFU.
    pub flops_per_token: Factor,
    /// A lower peak, more MFU; `None` when neither peak is stated.
    pub peak: Option<Factor>,
    /// More tokens counted, more MFU.
    pub tokens: Factor,
}

impl Conversion {
    /// All factors together.
    #[must_use]
    pub fn product(&self) -> f64 {
        self.flops_per_token.ratio * self.peak.map_or(1.0, |peak| peak.ratio) * self.tokens.ratio
    }
}

/// An MFU that cannot be converted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConversionError {
    /// The convention does not count this model.
    #[error(transparent)]
    Convention(#[from] ConventionError),
    /// No MFU.
    #[error("the MFU is {0}: expected a fraction above zero, as 0.43")]
    Mfu(f64),
    /// More than the devices can do.
    #[error("an MFU of {quoted:.4} is {exact:.4} in exact FLOPs of real tokens: above 1, so it is wrong")]
    AboveOne {
        /// As quoted.
        quoted: f64,
        /// In exact FLOPs.
        exact: f64,
    },
    /// One peak of two.
    #[error("the peak of one side is stated and that of the other is not: state both, or neither")]
    OnePeak,
    /// A peak that is none.
    #[error("a peak is {0} FLOP/s: expected a number above zero")]
    Peak(f64),
    /// A scope that is none.
    #[error(
        "the token scope `{0}` is not possible: expected a share above 0 and up to 1, or at least 1 rank"
    )]
    Scope(String),
}

/// Converts the MFU of a model on sequences of `sequence_length` tokens.
///
/// ```
/// use goodput_model::conversion::{Basis, convert};
/// use goodput_model::{Architecture, Convention};
///
/// let llama = Architecture::known("llama3.1-8b")?;
/// let palm = Basis::of(Convention::named("palm")?);
/// let exact = Basis::of(Convention::EXACT);
/// let conversion = convert(0.43, &palm, &exact, &llama, 8192)?;
/// assert_eq!(format!("{:.4}", conversion.to), "0.3822");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ConversionError`] when a convention does not count the model, a number cannot be, or the MFU is above 1 in exact
/// FLOPs, which no device reaches. Above 1 in a convention that counts more than runs is possible.
pub fn convert(
    mfu: f64,
    from: &Basis,
    to: &Basis,
    architecture: &Architecture,
    sequence_length: u64,
) -> Result<Conversion, ConversionError> {
    if !(mfu.is_finite() && mfu > 0.0) {
        return Err(ConversionError::Mfu(mfu));
    }
    let flops = |convention: Convention| {
        convention.flops_per_token(architecture, sequence_length).map(|flops| flops.value())
    };
    let (flops_from, flops_to, flops_exact) =
        (flops(from.convention)?, flops(to.convention)?, flops(Convention::EXACT)?);
    let flops_per_token = Factor { from: flops_from, to: flops_to, ratio: flops_to / flops_from };
    let peak = match (from.peak_flops_per_second, to.peak_flops_per_second) {
        (None, None) => None,
        (Some(from), Some(to)) => Some(Factor { from: peak(from)?, to: peak(to)?, ratio: from / to }),
        _ => return Err(ConversionError::OnePeak),
    };
    let (tokens_from, tokens_to) = (tokens(from.tokens)?, tokens(to.tokens)?);
    let tokens = Factor { from: tokens_from, to: tokens_to, ratio: tokens_to / tokens_from };
    let exact = mfu * flops_exact / flops_from * peak.map_or(1.0, |peak| peak.ratio) / tokens_from;
    if exact > 1.0 {
        return Err(ConversionError::AboveOne { quoted: mfu, exact });
    }
    let mut conversion = Conversion { from: mfu, to: mfu, exact, flops_per_token, peak, tokens };
    conversion.to = mfu * conversion.product();
    Ok(conversion)
}

fn peak(flops_per_second: f64) -> Result<f64, ConversionError> {
    let is_peak = flops_per_second.is_finite() && flops_per_second > 0.0;
    if is_peak { Ok(flops_per_second) } else { Err(ConversionError::Peak(flops_per_second)) }
}

fn tokens(scope: TokenScope) -> Result<f64, ConversionError> {
    let possible = match scope {
        TokenScope::Real => true,
        TokenScope::Padded(share) => share > 0.0 && share <= 1.0,
        TokenScope::SummedOverRanks(ranks) | TokenScope::DividedByRanks(ranks) => ranks > 0,
    };
    if possible { Ok(scope.multiple()) } else { Err(ConversionError::Scope(scope.to_string())) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn llama() -> Architecture {
        Architecture::known("llama3.1-8b").unwrap()
    }

    fn basis(index: usize, peak: f64, tokens: TokenScope) -> Basis {
        Basis { convention: Convention::ALL[index], peak_flops_per_second: Some(peak), tokens }
    }

    #[test]
    fn each_factor_stands_alone() {
        let from = basis(0, 1979e12, TokenScope::SummedOverRanks(2));
        let to = basis(0, 989.5e12, TokenScope::Real);
        let conversion = convert(0.4, &from, &to, &llama(), 8192).unwrap();
        assert_eq!(conversion.flops_per_token.ratio, 1.0);
        assert_eq!(conversion.peak.unwrap().ratio, 2.0);
        assert_eq!(conversion.tokens.ratio, 0.5);
        assert!((conversion.to - 0.4).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let exact = Basis::of(Convention::EXACT);
        let palm = Basis::of(Convention::named("palm").unwrap());
        for mfu in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(convert(mfu, &exact, &palm, &llama(), 8192), Err(ConversionError::Mfu(_))));
        }
        let above = convert(43.0, &exact, &palm, &llama(), 8192);
        assert!(matches!(above, Err(ConversionError::AboveOne { .. })));
        // A square count may pass 1 while the device does not.
        assert!((convert(1.05, &palm, &exact, &llama(), 8192).unwrap().to - 0.9332).abs() < 1e-3);
        assert!(convert(1.2, &palm, &exact, &llama(), 8192).is_err());
        let one = Basis { peak_flops_per_second: Some(1e15), ..Basis::of(Convention::EXACT) };
        assert_eq!(convert(0.4, &one, &palm, &llama(), 8192), Err(ConversionError::OnePeak));
        for tokens in [TokenScope::Padded(0.0), TokenScope::Padded(1.5), TokenScope::SummedOverRanks(0)] {
            let scope = Basis { tokens, ..Basis::of(Convention::EXACT) };
            assert!(matches!(convert(0.4, &scope, &exact, &llama(), 8192), Err(ConversionError::Scope(_))));
        }
    }

    proptest! {
        /// There and back is where it was, and the factors make the whole.
        #[test]
        fn a_conversion_can_be_undone(
            mfu in 0.01..0.3_f64,
            from in 0..Convention::ALL.len(),
            to in 0..Convention::ALL.len(),
            peaks in (300e12..1000e12_f64, 300e12..1000e12_f64),
            share in 0.5..1.0_f64,
        ) {
            let from = basis(from, peaks.0, TokenScope::Padded(share));
            let to = basis(to, peaks.1, TokenScope::Real);
            let Ok(there) = convert(mfu, &from, &to, &llama(), 4096) else { return Ok(()) };
            prop_assert!((there.to / (mfu * there.product()) - 1.0).abs() < 1e-12);
            if let Ok(back) = convert(there.to, &to, &from, &llama(), 4096) {
                prop_assert!((back.to / mfu - 1.0).abs() < 1e-12);
            }
        }
    }
}
