//! Pairs of levers: whether both together save more or less than the sum of each alone.

use super::Outcome;
use super::lever::Lever;
use super::step::Step;

/// How two levers go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InteractionKind {
    /// Both save more than their sum.
    Reinforcing,
    /// One did what the other would do.
    Redundant,
    /// One exposes or lengthens what the other hides or shortens.
    Conflicting,
    /// Both save their sum.
    Independent,
}

impl InteractionKind {
    /// The word in JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Reinforcing => "reinforcing",
            Self::Redundant => "redundant",
            Self::Conflicting => "conflicting",
            Self::Independent => "independent",
        }
    }

    /// Why, in a sentence.
    #[must_use]
    pub const fn why(self) -> &'static str {
        match self {
            Self::Reinforcing => "one removes what kept the other's saving from showing",
            Self::Redundant => "both shorten the same term: what one removed, the other cannot",
            Self::Conflicting => "one shrinks the window behind which the other's exchanges hide",
            Self::Independent => "they shorten different terms",
        }
    }
}

/// Two levers together.
#[derive(Debug, Clone, PartialEq)]
pub struct Interaction {
    /// The first, as the order has it.
    pub first: String,
    /// The second.
    pub second: String,
    /// How they go together.
    pub kind: InteractionKind,
    /// What each saves alone, summed, ns.
    pub sum_ns: f64,
    /// What both save in their order, ns.
    pub both_ns: f64,
}

/// A difference below this share of the step is none.
const NONE: f64 = 1e-6;

/// Every pair, the largest difference from its sum first.
pub(super) fn pairs(levers: &[Lever], alone: &[Outcome], before: &Step) -> Vec<Interaction> {
    let mut pairs = Vec::new();
    for (i, first) in levers.iter().enumerate() {
        for (j, second) in levers.iter().enumerate().skip(i + 1) {
            let mut step = before.clone();
            let applied = [first.apply(&mut step), second.apply(&mut step)];
            let both_ns = applied.iter().map(|a| a.saving_ns).sum::<f64>();
            let sum_ns = alone[i].applied.saving_ns + alone[j].applied.saving_ns;
            let noise_ns = NONE * before.step_ns();
            let share_a_term = first.terms().iter().any(|term| second.terms().contains(term));
            let kind = if both_ns > sum_ns + noise_ns {
                InteractionKind::Reinforcing
            } else if both_ns >= sum_ns - noise_ns {
                InteractionKind::Independent
            } else if applied[1].was_done || share_a_term {
                InteractionKind::Redundant
            } else {
                InteractionKind::Conflicting
            };
            pairs.push(Interaction { first: first.name(), second: second.name(), kind, sum_ns, both_ns });
        }
    }
    pairs.sort_by(|a, b| (b.both_ns - b.sum_ns).abs().total_cmp(&(a.both_ns - a.sum_ns).abs()));
    pairs
}
