//! The ledger: every device-nanosecond that does not cross a boundary, charged exactly once.

use crate::boundary::Boundary;
use crate::capacity::CapacityTime;
use crate::chain::{Chain, Levels, Open};
use crate::pattern::Pattern;
use crate::records::SourceRef;
use crate::time::Window;

/// One entry: an amount of capacity-time lost by one pattern, and the records that show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// How it was lost; fixes the boundary and the owners.
    pub pattern: Pattern,
    /// How much. Never negative, except where clocks that step back make an interval negative by its stamps.
    pub amount: CapacityTime,
    /// Where to look: the records this amount came from (a sample, the largest first).
    pub evidence: Vec<SourceRef>,
}

impl Loss {
    /// A loss without evidence attached.
    pub fn new(pattern: Pattern, amount: CapacityTime) -> Self {
        Self { pattern, amount, evidence: Vec::new() }
    }
}

/// Levels and entries that do not add up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {boundary} losses sum to {entries} but the gap is {gap}")]
pub struct Unbalanced {
    /// The boundary at which the sum fails.
    pub boundary: Boundary,
    /// What arrived less what crossed.
    pub gap: CapacityTime,
    /// What the entries sum to.
    pub entries: CapacityTime,
}

/// A balanced set of losses: at each boundary the entries sum, in integers, to what arrived less
/// what crossed. A ledger that does not balance cannot be built.
///
/// ```
/// use goodput_core::{CapacityTime, Ledger, Levels, Loss, Pattern, Timestamp, Window};
/// let window = Window::new(Timestamp::from_seconds(0), Timestamp::from_seconds(1))?;
/// let ns = CapacityTime::from_device_ns;
/// let levels = Levels { offered: ns(100), held: ns(65), retained: ns(60), ideal: ns(30) };
/// let losses = vec![
///     Loss::new(Pattern::NoDemand, ns(35)),
///     Loss::new(Pattern::InputWait, ns(5)),
///     Loss::new(Pattern::TermUnsettled, ns(30)),
/// ];
/// let ledger = Ledger::new(window, levels, losses)?;
/// assert_eq!(ledger.chain().mpg().settled, Some(0.30));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    chain: Chain,
    losses: Vec<Loss>,
}

impl Ledger {
    /// Builds the ledger. Entries of one pattern are merged, zero entries dropped.
    ///
    /// # Errors
    /// [`Unbalanced`] names the first boundary whose entries do not sum to its gap.
    pub fn new(window: Window, levels: Levels, losses: Vec<Loss>) -> Result<Self, Unbalanced> {
        let mut merged: Vec<Loss> = Vec::new();
        for loss in losses {
            match merged.iter_mut().find(|l| l.pattern == loss.pattern) {
                Some(same) => {
                    same.amount += loss.amount;
                    same.evidence.extend(loss.evidence);
                }
                None => merged.push(loss),
            }
        }
        merged.retain(|l| !l.amount.is_zero());
        merged.sort_by_key(|l| l.pattern);
        for boundary in Boundary::ALL {
            let gap = levels.arrived(boundary) - levels.crossed(boundary);
            let entries = merged.iter().filter(|l| l.pattern.boundary() == boundary).map(|l| l.amount).sum();
            if entries != gap {
                return Err(Unbalanced { boundary, gap, entries });
            }
        }
        let open = |boundary| {
            merged
                .iter()
                .filter(|l| l.pattern.is_open() && l.pattern.boundary() == boundary)
                .map(|l| l.amount)
                .sum()
        };
        let open = Open {
            scheduling: open(Boundary::Scheduling),
            runtime: open(Boundary::Runtime),
            program: open(Boundary::Program),
        };
        let chain = Chain::with_open(window, levels, open);
        Ok(Self { chain, losses: merged })
    }

    /// Levels, factors and loss shares.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The entries, in boundary order, at most one a pattern.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// The amount charged to `pattern`.
    pub fn amount(&self, pattern: Pattern) -> CapacityTime {
        self.losses.iter().find(|l| l.pattern == pattern).map_or(CapacityTime::ZERO, |l| l.amount)
    }

    /// The sum of ledgers over the same window (pools of a fleet, jobs of a pool).
    pub fn merge<'a>(window: Window, parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut levels = Levels::default();
        let mut losses = Vec::new();
        for part in parts {
            levels += part.chain.levels();
            losses.extend(part.losses.iter().cloned());
        }
        // Sums of balanced ledgers balance, so the check cannot fail here.
        Self::new(window, levels, losses)
            .unwrap_or_else(|_| unreachable!("balanced parts sum to a balanced whole"))
    }
}
