//! Durations as people write them: `9.8s`, `77min`, `12h`.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A duration in whole milliseconds, written with its unit: `ms`, `s`, `min`, `h` or `d`.
///
/// ```
/// use goodput_simulate::Span;
/// let pause: Span = "9.8s".parse()?;
/// assert_eq!(pause.as_millis(), 9_800);
/// assert_eq!(Span::from_millis(4_620_000).to_string(), "77min");
/// # Ok::<(), goodput_simulate::SpanError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(i64);

/// A text that is no [`Span`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no duration: write a number of whole milliseconds or more with its unit (ms, s, min, h, d), such as 9.8s or 77min"
)]
pub struct SpanError(String);

const UNITS: [(&str, i64); 5] =
    [("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl Span {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// The longest that can be written: ten years.
    pub const LONGEST: Self = Self(3_660 * 86_400_000);

    /// `millis` milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Seconds, rounded up: what a scheduler that counts whole seconds would see.
    pub const fn as_seconds(self) -> i64 {
        (self.0 + 999).div_euclid(1_000)
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let error = || SpanError(text.to_owned());
        let text = text.trim();
        let at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(error)?;
        let (number, unit) = text.split_at(at);
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?;
        let (whole, fraction) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
        if fraction.len() > 9 || ![whole, fraction].iter().all(|d| d.bytes().all(|b| b.is_ascii_digit())) {
            return Err(error());
        }
        let digits: i64 = format!("{whole}{fraction}").parse().map_err(|_| error())?;
        let denominator = 10_i64.pow(u32::try_from(fraction.len()).map_err(|_| error())?);
        let scaled = digits.checked_mul(*scale).ok_or_else(error)?;
        let span = Self(scaled / denominator);
        if scaled % denominator == 0 && span <= Self::LONGEST { Ok(span) } else { Err(error()) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = UNITS.iter().rev().find(|(_, scale)| self.0 % scale == 0 && self.0 != 0);
        let (unit, scale) = whole.unwrap_or(&UNITS[1]);
        write!(f, "{}{unit}", self.0 / scale)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FromText;
        impl Visitor<'_> for FromText {
            type Value = Span;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration with its unit, such as 9.8s or 77min")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(FromText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_durations() {
        for (text, millis) in [
            ("245ms", 245),
            ("9.8s", 9_800),
            ("5.2min", 312_000),
            ("1.5h", 5_400_000),
            ("7d", 604_800_000),
            ("0s", 0),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.as_millis(), millis, "{text}");
            assert_eq!(span.to_string().parse::<Span>().unwrap(), span, "{text}");
        }
        assert_eq!(Span::from_millis(1).as_seconds(), 1);
    }

    #[test]
    fn refuses_what_is_no_duration() {
        for text in ["", "5", "s", "5 weeks", "-3s", "1e3s", "0.5ms", "1.2.3s", "99999999999999999d", "3661d"]
        {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }
}
