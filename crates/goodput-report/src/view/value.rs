//! What removing each loss is worth, and what useful work costs.

use goodput_core::cost::{Cost, CostRange};
use goodput_core::factors::Factors;
use goodput_core::value::{Lever, rank_levers};
use goodput_core::{Boundary, Ledger, Pattern};
use serde::Serialize;

use super::exact::Exact;
use super::settings::Price;

/// A loss as a lever: what removing it entirely would do to the product. Gains are ceilings one at a
/// time: they do not add.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeverView {
    /// The pattern itself, for renderers.
    #[serde(skip)]
    pub kind: Pattern,
    /// From one, the largest gain first.
    pub rank: u64,
    /// The lever in a few words.
    pub lever: &'static str,
    /// The factor that it raises.
    pub boundary: &'static str,
    /// The loss that it removes.
    pub pattern: &'static str,
    /// The loss for people.
    pub label: &'static str,
    /// Who can recover it first.
    pub owner: &'static str,
    /// The owner for people.
    pub owner_label: &'static str,
    /// How much is lost.
    pub loss_ns: Exact,
    /// How much is lost, in device-hours.
    pub loss_device_hours: f64,
    /// The settled factor now.
    pub factor: Option<f64>,
    /// The factor if this loss were removed; `None` for an open amount, which is no loss yet.
    pub ceiling: Option<f64>,
    /// Relative gain of the product at the ceiling; `None` for an open amount, or when it is unbounded.
    pub relative_gain: Option<f64>,
    /// The least that the gain can be, whatever the unsettled rest turns out to be.
    pub relative_gain_low: Option<f64>,
    /// Price of the lost capacity-time.
    pub paid: Option<f64>,
    /// Price of the capacity that would have to be added to gain as much.
    pub worth: Option<f64>,
    /// What the gain presupposes.
    pub condition: Option<&'static str>,
    /// Whether a record, not an engineer, moves it.
    pub open: bool,
}

impl LeverView {
    pub(crate) fn ranked(ledger: &Ledger, price: Option<&Price>) -> Vec<Self> {
        let levers = rank_levers(ledger, price.map(Price::per_device_hour));
        levers.iter().zip(1..).map(|(lever, rank)| Self::new(lever, rank)).collect()
    }

    /// Takes back a gain at the program boundary.
    pub(super) fn withhold_program(&mut self) {
        if self.kind.boundary() == Boundary::Program {
            (self.factor, self.ceiling) = (None, None);
            (self.relative_gain, self.relative_gain_low, self.worth) = (None, None, None);
            self.condition = Some("only within one workload class: the jobs divide by different ideals");
        }
    }

    fn new(lever: &Lever, rank: u64) -> Self {
        Self {
            kind: lever.pattern,
            rank,
            lever: lever.text(),
            boundary: lever.boundary().key(),
            pattern: lever.pattern.key(),
            label: lever.pattern.label(),
            owner: lever.owner().key(),
            owner_label: lever.owner().label(),
            loss_ns: lever.loss.into(),
            loss_device_hours: lever.loss.device_hours(),
            factor: lever.factor.settled,
            ceiling: lever.ceiling,
            relative_gain: lever.relative_gain,
            relative_gain_low: lever.relative_gain_low,
            paid: lever.paid,
            worth: lever.worth,
            condition: lever.condition,
            open: lever.is_open(),
        }
    }
}

/// What a useful device-hour costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostView {
    /// Currency, as the user wrote it.
    pub currency: String,
    /// Price of an offered device-hour.
    pub price_per_device_hour: f64,
    /// Price of everything offered in the window.
    pub offered: f64,
    /// Price over the settled MPG.
    pub per_useful_device_hour: Option<f64>,
    /// The share of the capacity on which that rests.
    pub coverage: f64,
    /// If everything unsettled became useful work.
    pub low: Option<f64>,
    /// If everything unsettled were lost; `None` when nothing is known to be useful.
    pub high: Option<f64>,
    /// `1/MPG`: offered device-hours paid for a useful one.
    pub multiplier: Option<f64>,
    /// `1/(R x P)`: what a bill over held hours charges for a useful one.
    pub chargeback_multiplier: Option<f64>,
}

impl CostView {
    /// `None` only for a price that [`Price`] does not admit.
    pub(crate) fn new(ledger: &Ledger, price: &Price) -> Option<Self> {
        let (chain, per_device_hour) = (ledger.chain(), price.per_device_hour());
        let range = CostRange::of(chain, per_device_hour).ok()?;
        let cost = Factors::of_chain(chain).ok().and_then(|f| Cost::of(&f, per_device_hour).ok());
        Some(Self {
            currency: price.currency().to_owned(),
            price_per_device_hour: per_device_hour,
            offered: per_device_hour * chain.levels().offered.device_hours(),
            per_useful_device_hour: range.settled,
            coverage: range.coverage,
            low: range.low,
            high: range.high,
            multiplier: cost.map(|c| c.multiplier),
            chargeback_multiplier: cost.map(|c| c.chargeback_multiplier),
        })
    }
}
