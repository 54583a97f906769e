//! Two measurements under one contract: whether a change is worth keeping. Judged by the product of the ratios of the
//! factors, with an interval, and never by one factor alone.

pub mod bootstrap;
pub mod coupling;

mod blocks;
mod judge;
mod refused;
mod result;
mod serving;
mod statistical;

pub use bootstrap::Interval;
pub use judge::{FactorMove, Lever, Ratio, Verdict, compare};
pub use refused::Refused;
pub use result::TimeToResult;
pub use serving::compare_serving;
pub use statistical::StatisticalEfficiency;

use goodput_core::OutOfRange;

use crate::adequacy::Adequacy;
use crate::contract::{Difference, Gate};
use coupling::Coupling;

/// How to compare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Whose product decides; found from the reports where nobody says.
    pub lever: Option<Lever>,
    /// Confidence of the intervals, above 0 and below 1.
    pub confidence: f64,
    /// Resamples of the bootstrap.
    pub resamples: usize,
    /// Seed of its draws.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { lever: None, confidence: 0.95, resamples: 2000, seed: 1 }
    }
}

impl Options {
    fn check(&self) -> Result<(), OutOfRange> {
        let refused = |name, value, expected| Err(OutOfRange { name, value, expected });
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return refused("confidence", self.confidence, "a share above 0 and below 1, such as 0.95");
        }
        if !(100..=1_000_000).contains(&self.resamples) {
            return refused("resamples", self.resamples as f64, "100 to 1,000,000");
        }
        Ok(())
    }
}

/// Two measurements compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What follows.
    pub verdict: Verdict,
    /// Why, the deciding reason first.
    pub reasons: Vec<String>,
    /// Whose product decides.
    pub lever: Lever,
    /// Why that one.
    pub lever_because: String,
    /// The quality gates, before and after.
    pub gates: [Gate; 2],
    /// Progress of an example, after over before, where both sides state it. Never part of the product.
    pub statistical: Option<StatisticalEfficiency>,
    /// The factors in the order in which capacity-time meets them; those outside the deciding product too.
    pub factors: Vec<FactorMove>,
    /// The product of the ratios that decides.
    pub product: Ratio,
    /// Conditions that the two do not share.
    pub differences: Vec<Difference>,
    /// Whether each window is long enough for each factor, before and after.
    pub adequacy: [Vec<Adequacy>; 2],
    /// Time to the result of the first measurement.
    pub time_to_result: Option<TimeToResult>,
    /// Why one factor dips, where the numbers show it.
    pub coupling: Option<(Coupling, String)>,
    /// What a person should know before trusting a figure.
    pub notes: Vec<String>,
}
