//! What a lever is worth: the relative gain of the product at the lever's ceiling.
//!
//! A lever multiplies MPG by its factor's relative gain, whatever the other factors are. A ranking
//! by loss share differs: each later boundary's loss is measured on what the earlier ones passed.

use std::cmp::Ordering;

use crate::boundary::{Boundary, Owner};
use crate::capacity::CapacityTime;
use crate::chain::Factor;
use crate::factors::Factors;
use crate::ledger::{Ledger, Loss};
use crate::pattern::Pattern;
use crate::range::OutOfRange;

/// What a scheduling gain presupposes.
const ONLY_IF_REFILLED: &str = "only if other jobs take the freed devices";

/// The condition under which a gain at `boundary` reaches the product, if there is one.
pub const fn condition(boundary: Boundary) -> Option<&'static str> {
    match boundary {
        Boundary::Scheduling => Some(ONLY_IF_REFILLED),
        Boundary::Runtime | Boundary::Program => None,
    }
}

/// A lever that somebody proposes: how far it could raise one factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    /// The lever.
    pub name: String,
    /// The factor it raises.
    pub boundary: Boundary,
    /// The factor's value if the lever did all it could.
    pub value: f64,
}

/// What a lever at its ceiling does.
#[derive(Debug, Clone, PartialEq)]
pub struct CeilingGain {
    /// The lever.
    pub name: String,
    /// The factor it raises.
    pub boundary: Boundary,
    /// The factor before.
    pub from: f64,
    /// The factor at the ceiling.
    pub to: f64,
    /// MPG at the ceiling, the other factors unchanged.
    pub mpg: f64,
    /// `to/from - 1`: the relative gain of MPG.
    pub relative_gain: f64,
    /// `1 - from/to`: by how much the cost of useful work falls.
    pub cost_reduction: f64,
    /// What the gain presupposes.
    pub condition: Option<&'static str>,
}

/// The levers at their ceilings, the largest relative gain first.
///
/// # Errors
/// [`OutOfRange`] when a ceiling is no factor.
pub fn rank_ceilings(factors: &Factors, ceilings: &[Ceiling]) -> Result<Vec<CeilingGain>, OutOfRange> {
    let mut gains = ceilings
        .iter()
        .map(|ceiling| {
            let (from, to) = (factors.get(ceiling.boundary), ceiling.value);
            Ok(CeilingGain {
                name: ceiling.name.clone(),
                boundary: ceiling.boundary,
                from,
                to,
                mpg: factors.with(ceiling.boundary, to)?.mpg(),
                relative_gain: to / from - 1.0,
                cost_reduction: 1.0 - from / to,
                condition: condition(ceiling.boundary),
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    gains.sort_by(|a, b| b.relative_gain.total_cmp(&a.relative_gain));
    Ok(gains)
}

/// One loss of a ledger as a lever: what removing it entirely would do to the product.
#[derive(Debug, Clone, PartialEq)]
pub struct Lever {
    /// The loss.
    pub pattern: Pattern,
    /// How much is lost.
    pub loss: CapacityTime,
    /// The factor of the loss's boundary now, with its coverage and bounds.
    pub factor: Factor,
    /// The settled factor if this loss were removed; `None` for an open amount, which is no loss yet.
    pub ceiling: Option<f64>,
    /// Relative gain of the product at the ceiling, on the settled share. `None` for an open amount,
    /// or when nothing crosses the boundary (the ratio is then unbounded).
    pub relative_gain: Option<f64>,
    /// The relative gain if everything unsettled at this boundary crossed: the least it can be.
    pub relative_gain_low: Option<f64>,
    /// Price of the lost capacity-time: what was paid for it.
    pub paid: Option<f64>,
    /// Price of the capacity that would have to be added to gain as much at the present factors:
    /// relative gain x offered.
    pub worth: Option<f64>,
    /// What the gain presupposes.
    pub condition: Option<&'static str>,
}

impl Lever {
    /// The boundary at which the loss is counted.
    pub fn boundary(&self) -> Boundary {
        self.pattern.boundary()
    }

    /// Who can recover it first.
    pub fn owner(&self) -> Owner {
        self.pattern.owner()
    }

    /// The lever in a few words.
    pub fn text(&self) -> &'static str {
        self.pattern.lever()
    }

    /// Whether the amount is open: a record, not an engineer, moves it.
    pub fn is_open(&self) -> bool {
        self.pattern.is_open()
    }
}

/// The losses of a ledger ranked by what removing each entirely would add to the product, open
/// amounts last and by size. Gains are ceilings one at a time: they do not add, and they take the
/// recovered time to run like the rest of what crosses its boundary.
///
/// ```
/// # use goodput_core::{CapacityTime, Ledger, Levels, Loss, Pattern, Timestamp, Window};
/// use goodput_core::value::rank_levers;
/// # let window = Window::new(Timestamp::from_seconds(0), Timestamp::from_seconds(1))?;
/// # let ns = CapacityTime::from_device_ns;
/// # let levels = Levels { offered: ns(100), held: ns(65), retained: ns(60), ideal: ns(30) };
/// # let losses = vec![
/// #     Loss::new(Pattern::NoDemand, ns(20)),
/// #     Loss::new(Pattern::PartialGangHold, ns(15)),
/// #     Loss::new(Pattern::InputWait, ns(5)),
/// #     Loss::new(Pattern::TermUnsettled, ns(30)),
/// # ];
/// # let ledger = Ledger::new(window, levels, losses)?;
/// let levers = rank_levers(&ledger, Some(2.0));
/// assert_eq!(levers[0].pattern, Pattern::TermUnsettled);
/// assert_eq!(levers[0].relative_gain, Some(1.0));
/// assert_eq!(levers[1].condition, Some("only if other jobs take the freed devices"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rank_levers(ledger: &Ledger, price_per_device_hour: Option<f64>) -> Vec<Lever> {
    let mut levers: Vec<Lever> = ledger
        .losses()
        .iter()
        .filter(|loss| loss.amount > CapacityTime::ZERO)
        .map(|loss| lever(ledger, loss, price_per_device_hour))
        .collect();
    levers.sort_by(|a, b| {
        (a.is_open().cmp(&b.is_open()))
            .then_with(|| descending(a.relative_gain, b.relative_gain))
            .then_with(|| b.loss.cmp(&a.loss))
    });
    levers
}

/// Unbounded gains (`None`) before every number.
fn descending(a: Option<f64>, b: Option<f64>) -> Ordering {
    b.unwrap_or(f64::INFINITY).total_cmp(&a.unwrap_or(f64::INFINITY))
}

fn lever(ledger: &Ledger, loss: &Loss, price: Option<f64>) -> Lever {
    let boundary = loss.pattern.boundary();
    let levels = ledger.chain().levels();
    let (arrived, crossed) = (levels.arrived(boundary), levels.crossed(boundary));
    let open: CapacityTime = ledger
        .losses()
        .iter()
        .filter(|l| l.pattern.is_open() && l.pattern.boundary() == boundary)
        .map(|l| l.amount)
        .sum();
    let settled = |share: Option<f64>| share.filter(|_| !loss.pattern.is_open());
    let relative_gain = settled(loss.amount.share_of(crossed));
    Lever {
        pattern: loss.pattern,
        loss: loss.amount,
        factor: ledger.chain().factor(boundary),
        ceiling: settled((crossed + loss.amount).share_of(arrived - open)),
        relative_gain,
        relative_gain_low: settled(loss.amount.share_of(crossed + open)),
        paid: price.map(|price| price * loss.amount.device_hours()),
        worth: price.zip(relative_gain).map(|(price, gain)| price * gain * levels.offered.device_hours()),
        condition: condition(boundary),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Levels, Timestamp, Window};
    use proptest::prelude::*;

    fn ns(amount: i128) -> CapacityTime {
        CapacityTime::from_device_ns(amount)
    }

    fn ledger(levels: Levels, losses: &[(Pattern, i128)]) -> Ledger {
        let window = Window::new(Timestamp::from_seconds(0), Timestamp::from_seconds(1)).unwrap();
        Ledger::new(window, levels, losses.iter().map(|&(p, a)| Loss::new(p, ns(a))).collect()).unwrap()
    }

    #[test]
    fn an_unsettled_half_leaves_the_gain_on_the_settled_half_and_its_least_value() {
        let half_known = ledger(
            Levels { offered: ns(100), held: ns(100), retained: ns(45), ideal: ns(0) },
            &[(Pattern::InputWait, 5), (Pattern::RuntimeUnsettled, 50), (Pattern::ProgramUnsettled, 45)],
        );
        let levers = rank_levers(&half_known, None);
        assert_eq!(levers[0].pattern, Pattern::InputWait);
        assert_eq!(levers[0].ceiling, Some(1.0));
        assert_eq!(levers[0].relative_gain, Some(5.0 / 45.0));
        assert_eq!(levers[0].relative_gain_low, Some(5.0 / 95.0));
        assert_eq!(levers[0].factor.coverage, 0.5);
        // Open amounts come last, the largest first, and claim no gain.
        let open: Vec<_> = levers[1..].iter().map(|l| (l.pattern, l.relative_gain)).collect();
        assert_eq!(open, [(Pattern::RuntimeUnsettled, None), (Pattern::ProgramUnsettled, None)]);
    }

    #[test]
    fn a_boundary_that_nothing_crosses_comes_first_with_an_unbounded_gain() {
        let hung = ledger(
            Levels { offered: ns(10), held: ns(8), retained: ns(0), ideal: ns(0) },
            &[(Pattern::NoDemand, 2), (Pattern::Hang, 8)],
        );
        let levers = rank_levers(&hung, Some(1.0));
        assert_eq!((levers[0].pattern, levers[0].relative_gain), (Pattern::Hang, None));
        assert_eq!((levers[0].ceiling, levers[0].worth), (Some(1.0), None));
    }

    #[test]
    fn money_is_price_times_capacity() {
        let hour = 3_600_000_000_000;
        let pool = ledger(
            Levels {
                offered: ns(100 * hour),
                held: ns(50 * hour),
                retained: ns(50 * hour),
                ideal: ns(50 * hour),
            },
            &[(Pattern::Fragmentation, 50 * hour)],
        );
        let lever = &rank_levers(&pool, Some(2.0))[0];
        // 50 lost device-hours; as many devices again would do what removing the loss does.
        assert_eq!((lever.paid, lever.worth), (Some(100.0), Some(200.0)));
        assert_eq!((lever.owner(), lever.text()), (Owner::Orchestration, "bin packing, defragmentation"));
    }

    proptest! {
        #[test]
        fn a_ceiling_is_the_settled_factor_times_its_gain(
            retained in 1i128..1000, input in 1i128..1000, rework in 1i128..1000, open in 0i128..1000,
        ) {
            let held = retained + input + rework + open;
            let job = ledger(
                Levels { offered: ns(held), held: ns(held), retained: ns(retained), ideal: ns(retained) },
                &[(Pattern::InputWait, input), (Pattern::Rework, rework), (Pattern::RuntimeUnsettled, open)],
            );
            for lever in rank_levers(&job, None).iter().filter(|l| !l.is_open()) {
                let (gain, least) = (lever.relative_gain.unwrap(), lever.relative_gain_low.unwrap());
                let raised = lever.factor.settled.unwrap() * (1.0 + gain);
                prop_assert!((raised - lever.ceiling.unwrap()).abs() < 1e-12);
                prop_assert!(lever.ceiling.unwrap() <= 1.0 && least <= gain);
            }
        }
    }
}
