//! What useful work costs: every factor divides into the price.

use crate::chain::{Chain, Factor};
use crate::factors::Factors;
use crate::range::{OutOfRange, non_negative};

/// What one device-hour of ideal-rate work costs, and how the bill carries it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Price of an offered device-hour.
    pub price_per_device_hour: f64,
    /// Price over MPG.
    pub per_useful_device_hour: f64,
    /// `1/MPG`: offered device-hours paid for a useful one.
    pub multiplier: f64,
    /// `1/(R x P)`: what a bill over held hours charges for a useful one.
    pub chargeback_multiplier: f64,
}

impl Cost {
    /// The cost at the given factors.
    ///
    /// # Errors
    /// [`OutOfRange`] for a negative price, or when nothing becomes useful.
    pub fn of(factors: &Factors, price_per_device_hour: f64) -> Result<Self, OutOfRange> {
        let price_per_device_hour = non_negative("price_per_device_hour", price_per_device_hour)?;
        let mpg = factors.mpg();
        if mpg <= 0.0 {
            return Err(OutOfRange { name: "MPG", value: mpg, expected: "useful work above zero" });
        }
        Ok(Self {
            price_per_device_hour,
            per_useful_device_hour: price_per_device_hour / mpg,
            multiplier: mpg.recip(),
            chargeback_multiplier: factors.job_product().recip(),
        })
    }
}

/// The cost of a useful device-hour as far as the evidence goes: what is unsettled leaves a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostRange {
    /// Price over the settled MPG, with the MPG's coverage.
    pub settled: Option<f64>,
    /// The share on which it rests.
    pub coverage: f64,
    /// If everything unsettled became useful work.
    pub low: Option<f64>,
    /// If everything unsettled were lost; `None` when nothing is known to be useful.
    pub high: Option<f64>,
}

impl CostRange {
    /// The range for a chain.
    ///
    /// # Errors
    /// [`OutOfRange`] for a negative price.
    pub fn of(chain: &Chain, price_per_device_hour: f64) -> Result<Self, OutOfRange> {
        let price = non_negative("price_per_device_hour", price_per_device_hour)?;
        let Factor { settled, coverage, low, high } = chain.mpg();
        let over = |mpg: f64| (mpg > 0.0).then(|| price / mpg);
        Ok(Self { settled: settled.and_then(over), coverage, low: over(high), high: over(low) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CapacityTime, Levels, Open, Timestamp, Window};

    #[test]
    fn an_unsettled_share_leaves_a_range_of_cost() {
        let ns = CapacityTime::from_device_ns;
        let window = Window::new(Timestamp::from_seconds(0), Timestamp::from_seconds(1)).unwrap();
        let levels = Levels { offered: ns(100), held: ns(100), retained: ns(50), ideal: ns(25) };
        let half_known = Chain::with_open(window, levels, Open { runtime: ns(50), ..Open::default() });
        let cost = CostRange::of(&half_known, 2.0).unwrap();
        assert_eq!(cost.coverage, 0.5);
        assert_eq!(cost.settled, Some(4.0));
        assert_eq!((cost.low, cost.high), (Some(2.0 / 0.75), Some(8.0)));
        let nothing_known = Chain::with_open(
            window,
            Levels { ideal: ns(0), ..levels },
            Open { runtime: ns(50), program: ns(50), ..Open::default() },
        );
        assert_eq!(CostRange::of(&nothing_known, 2.0).unwrap().high, None);
    }
}
