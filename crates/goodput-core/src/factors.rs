//! Three factor values, and what allows their product.

use std::fmt;

use crate::boundary::Boundary;
use crate::chain::Chain;
use crate::range::{OutOfRange, factor};
use crate::time::Window;

/// What a set of factors rests on. Every product carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Basis {
    /// All three were measured over one window.
    OneWindow(Window),
    /// One job's runtime and program goodput times its pool's scheduling goodput, as if every job of
    /// the pool ran like this one. Not the fleet's MPG, which sums all jobs.
    AsIfPool(Window),
    /// Modelled, or measured over different windows: an estimate, and the reason.
    Estimate(String),
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneWindow(window) => write!(f, "measured over {window}"),
            Self::AsIfPool(window) => {
                write!(f, "as-if pool product over {window}: every job taken to run like this one")
            }
            Self::Estimate(why) => write!(f, "estimate: {why}"),
        }
    }
}

/// A factor and the window over which it was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Windowed {
    /// The factor.
    pub value: f64,
    /// Where it was measured.
    pub window: Window,
}

/// Why three figures make no product.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoProduct {
    /// The windows differ.
    #[error(
        "{boundary} goodput is of {window}, not of {expected}: factors of different windows have no product; \
         measure them over one window, or ask for an estimate"
    )]
    WindowsDiffer {
        /// The boundary whose window differs.
        boundary: Boundary,
        /// Its window.
        window: Window,
        /// The window of the factors before it.
        expected: Window,
    },
    /// The evidence settles nothing at a boundary.
    #[error("{boundary} goodput is not settled on any share of what arrived")]
    Unsettled {
        /// The boundary.
        boundary: Boundary,
    },
    /// A factor that is none.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

/// The three factors with what they rest on. Only a [`Chain`], figures that carry the same window, or
/// an explicit estimate make one.
///
/// ```
/// use goodput_core::factors::Factors;
/// // Reported over different windows: an estimate, never a chain.
/// let llama = Factors::estimate(1.0, 0.90, 0.41, "runtime of 54 days, program of one configuration")?;
/// assert!((llama.mpg() - 0.369).abs() < 1e-12);
/// assert!(llama.basis().to_string().starts_with("estimate"));
/// # Ok::<(), goodput_core::OutOfRange>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Factors {
    values: [f64; 3],
    basis: Basis,
}

impl Factors {
    /// The settled factors of one chain.
    ///
    /// # Errors
    /// [`NoProduct::Unsettled`] names the boundary at which nothing is settled.
    pub fn of_chain(chain: &Chain) -> Result<Self, NoProduct> {
        let mut values = [0.0; 3];
        for (value, boundary) in values.iter_mut().zip(Boundary::ALL) {
            *value = chain.factor(boundary).settled.ok_or(NoProduct::Unsettled { boundary })?;
        }
        Ok(Self { values, basis: Basis::OneWindow(chain.window()) })
    }

    /// One job's runtime and program goodput on its pool: the as-if pool product.
    ///
    /// # Errors
    /// [`NoProduct`] when the windows differ or a factor is unsettled.
    pub fn as_if_pool(pool: &Chain, job: &Chain) -> Result<Self, NoProduct> {
        let settled = |chain: &Chain, boundary: Boundary| {
            let value = chain.factor(boundary).settled.ok_or(NoProduct::Unsettled { boundary })?;
            Ok::<_, NoProduct>(Windowed { value, window: chain.window() })
        };
        let mut factors = Self::of_one_window(
            settled(pool, Boundary::Scheduling)?,
            settled(job, Boundary::Runtime)?,
            settled(job, Boundary::Program)?,
        )?;
        factors.basis = Basis::AsIfPool(pool.window());
        Ok(factors)
    }

    /// Factors that were measured apart, over the same window.
    ///
    /// # Errors
    /// [`NoProduct`] when a window differs or a value is no factor.
    pub fn of_one_window(
        scheduling: Windowed,
        runtime: Windowed,
        program: Windowed,
    ) -> Result<Self, NoProduct> {
        for (boundary, of) in [(Boundary::Runtime, runtime), (Boundary::Program, program)] {
            if of.window != scheduling.window {
                return Err(NoProduct::WindowsDiffer {
                    boundary,
                    window: of.window,
                    expected: scheduling.window,
                });
            }
        }
        let values = checked([scheduling.value, runtime.value, program.value])?;
        Ok(Self { values, basis: Basis::OneWindow(scheduling.window) })
    }

    /// Modelled figures, or figures of different windows. `why` says so wherever the product is shown.
    ///
    /// # Errors
    /// [`OutOfRange`] names the value that is no factor.
    pub fn estimate(
        scheduling: f64,
        runtime: f64,
        program: f64,
        why: impl Into<String>,
    ) -> Result<Self, OutOfRange> {
        Ok(Self { values: checked([scheduling, runtime, program])?, basis: Basis::Estimate(why.into()) })
    }

    /// What the factors rest on.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// The factor of `boundary`.
    pub fn get(&self, boundary: Boundary) -> f64 {
        self.values[boundary as usize]
    }

    /// The same factors with one moved to `value`, as an estimate of what a change would give.
    ///
    /// # Errors
    /// [`OutOfRange`] when `value` is no factor.
    pub fn with(&self, boundary: Boundary, value: f64) -> Result<Self, OutOfRange> {
        let mut values = self.values;
        values[boundary as usize] = factor(name(boundary), value)?;
        Ok(Self { values, basis: Basis::Estimate(format!("{boundary} goodput moved to {value}")) })
    }

    /// Scheduling x runtime x program: the share of offered capacity that becomes ideal-rate work.
    pub fn mpg(&self) -> f64 {
        self.values.iter().product()
    }

    /// Runtime x program: what the team of a job can improve inside its own allocation.
    pub fn job_product(&self) -> f64 {
        self.get(Boundary::Runtime) * self.get(Boundary::Program)
    }

    /// The share of offered capacity lost at `boundary`. With [`Self::mpg`] the three add to one.
    pub fn loss_share(&self, boundary: Boundary) -> f64 {
        let arrived: f64 = self.values[..boundary as usize].iter().product();
        arrived * (1.0 - self.get(boundary))
    }

    /// What one point of the factor of `boundary` adds to MPG: the product of the other two.
    pub fn marginal_value(&self, boundary: Boundary) -> f64 {
        Boundary::ALL.into_iter().filter(|&other| other != boundary).map(|other| self.get(other)).product()
    }

    /// What a perfect factor at `boundary` would add to MPG, the others unchanged.
    pub fn gain_of_perfect(&self, boundary: Boundary) -> f64 {
        (1.0 - self.get(boundary)) * self.marginal_value(boundary)
    }
}

const fn name(boundary: Boundary) -> &'static str {
    match boundary {
        Boundary::Scheduling => "scheduling goodput",
        Boundary::Runtime => "runtime goodput",
        Boundary::Program => "program goodput",
    }
}

fn checked(values: [f64; 3]) -> Result<[f64; 3], OutOfRange> {
    for (boundary, value) in Boundary::ALL.into_iter().zip(values) {
        factor(name(boundary), value)?;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CapacityTime, Levels, Timestamp};
    use proptest::prelude::*;

    fn window(to_s: i64) -> Window {
        Window::new(Timestamp::from_seconds(0), Timestamp::from_seconds(to_s)).unwrap()
    }

    fn chain(window: Window) -> Chain {
        let ns = CapacityTime::from_device_ns;
        Chain::settled(window, Levels { offered: ns(100), held: ns(80), retained: ns(60), ideal: ns(30) })
    }

    #[test]
    fn factors_of_different_windows_have_no_product() {
        let of = |value, to_s| Windowed { value, window: window(to_s) };
        let refused = Factors::of_one_window(of(0.9, 7), of(0.9, 7), of(0.4, 1)).unwrap_err();
        assert!(matches!(refused, NoProduct::WindowsDiffer { boundary: Boundary::Program, .. }));
        assert!(Factors::as_if_pool(&chain(window(7)), &chain(window(1))).is_err());
    }

    #[test]
    fn the_as_if_pool_product_says_so() {
        let product = Factors::as_if_pool(&chain(window(7)), &chain(window(7))).unwrap();
        assert!(product.basis().to_string().contains("as-if pool product"));
        assert!((product.mpg() - 0.30).abs() < 1e-15);
    }

    #[test]
    fn a_factor_above_one_is_refused() {
        assert!(Factors::estimate(1.0, 1.01, 0.5, "").is_err());
        assert!(Factors::estimate(1.0, f64::NAN, 0.5, "").is_err());
    }

    proptest! {
        #[test]
        fn the_parts_add_to_one(s in 0.001..=1.0, r in 0.001..=1.0, p in 0.001..=1.0) {
            let factors = Factors::estimate(s, r, p, "drawn").unwrap();
            let lost: f64 = Boundary::ALL.into_iter().map(|b| factors.loss_share(b)).sum();
            prop_assert!((lost + factors.mpg() - 1.0).abs() < 1e-12);
        }
    }
}
