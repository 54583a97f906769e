//! Judging a change that moves several factors: by the product of their ratios, never by one alone.

use crate::boundary::Boundary;
use crate::factors::{Factors, NoProduct, Windowed};
use crate::range::{OutOfRange, factor, positive};

/// One factor before and after a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The factor.
    pub boundary: Boundary,
    /// After over before, on the same boundary and over the same window length.
    pub value: f64,
}

/// Whether a change raises the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The product rises.
    Accept,
    /// The product stays.
    Even,
    /// The product falls.
    Reject,
}

/// A change judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Trade {
    /// The factors that moved.
    pub ratios: Vec<Ratio>,
    /// Product of the ratios: MPG after over before.
    pub product: f64,
    /// Whether it is above one.
    pub verdict: Verdict,
}

impl Trade {
    /// Judges a change by the ratios of the factors that it moves; a factor not named stays. A lever
    /// inside one allocation is judged on the job's factors, one that moves capacity between jobs on
    /// the pool's.
    ///
    /// ```
    /// use goodput_core::Boundary;
    /// use goodput_core::trade::{Ratio, Trade, Verdict};
    /// let faster_but_less_steady = Trade::judge(&[
    ///     Ratio { boundary: Boundary::Program, value: 1.10 },
    ///     Ratio { boundary: Boundary::Runtime, value: 11.0 / 12.0 },
    /// ])?;
    /// assert_eq!(faster_but_less_steady.verdict, Verdict::Accept);
    /// # Ok::<(), goodput_core::OutOfRange>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfRange`] for a ratio that is not positive, or a boundary named twice: its loss would be
    /// counted twice.
    pub fn judge(ratios: &[Ratio]) -> Result<Self, OutOfRange> {
        for boundary in Boundary::ALL {
            let named = ratios.iter().filter(|r| r.boundary == boundary).count();
            if named > 1 {
                return Err(OutOfRange {
                    name: "ratios of one boundary",
                    value: named as f64,
                    expected: "each boundary once",
                });
            }
        }
        let mut product = 1.0;
        for ratio in ratios {
            product *= positive("ratio", ratio.value)?;
        }
        let verdict = if product > 1.0 {
            Verdict::Accept
        } else if product < 1.0 {
            Verdict::Reject
        } else {
            Verdict::Even
        };
        Ok(Self { ratios: ratios.to_vec(), product, verdict })
    }

    /// Judges measured factors before and after a change. The windows of both must be equally long:
    /// a one-time cost is repaid over time, so ratios over an hour and over a week can fall on
    /// opposite sides of one.
    ///
    /// # Errors
    /// [`NoProduct`] when the factors of one side have different windows.
    /// [`NoProduct::OutOfRange`] when the two windows differ in length.
    pub fn between(before: [Windowed; 3], after: [Windowed; 3]) -> Result<Self, NoProduct> {
        let length = |side: &[Windowed; 3]| side[0].window.duration_ns();
        if length(&before) != length(&after) {
            return Err(NoProduct::OutOfRange(OutOfRange {
                name: "length of the window after over before",
                value: length(&after) as f64 / length(&before) as f64,
                expected: "windows of the same length",
            }));
        }
        let of = |[s, r, p]: [Windowed; 3]| Factors::of_one_window(s, r, p);
        let (before, after) = (of(before)?, of(after)?);
        let ratios = Boundary::ALL
            .map(|boundary| Ratio { boundary, value: after.get(boundary) / before.get(boundary) });
        Ok(Self::judge(&ratios)?)
    }
}

/// How much of another factor a change from `from` to `to` may give up, as a share of its value,
/// before the product falls: `1 - from/to`.
///
/// # Errors
/// [`OutOfRange`] when either is no factor, or the change raises nothing.
pub fn may_give_up(from: f64, to: f64) -> Result<f64, OutOfRange> {
    factor("from", from)?;
    factor("to", to)?;
    if to < from {
        return Err(OutOfRange { name: "to", value: to, expected: "a value not below from" });
    }
    Ok(1.0 - from / to)
}

/// The most that a factor's own levers can multiply the product by: all of its loss removed.
///
/// # Errors
/// [`OutOfRange`] when `value` is no factor.
pub fn headroom(value: f64) -> Result<f64, OutOfRange> {
    Ok(factor("factor", value)?.recip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Timestamp, Window};

    #[test]
    fn a_boundary_named_twice_is_refused() {
        let twice = [Ratio { boundary: Boundary::Program, value: 1.1 }; 2];
        assert!(Trade::judge(&twice).is_err());
    }

    #[test]
    fn an_hour_is_not_compared_with_a_week() {
        let side = |hours: i64| {
            let window =
                Window::new(Timestamp::from_seconds(0), Timestamp::from_seconds(hours * 3600)).unwrap();
            [0.65, 0.90, 0.48].map(|value| Windowed { value, window })
        };
        assert_eq!(Trade::between(side(168), side(168)).unwrap().verdict, Verdict::Even);
        assert!(matches!(Trade::between(side(168), side(1)), Err(NoProduct::OutOfRange(_))));
    }
}
