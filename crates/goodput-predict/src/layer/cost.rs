//! Parts added up.

use super::{Part, Term, Terms};
use crate::kernel::HostWork;
use crate::{Basis, Estimate};

/// The time of several parts: by term, with its spread, and what the host does for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Nanoseconds by term.
    pub terms: Terms,
    /// Nanoseconds in all.
    pub ns: f64,
    /// One standard deviation, ns; parts are taken as of one cause, so that they add up.
    pub spread_ns: f64,
    /// The weakest basis among the parts.
    pub basis: Basis,
    /// What the host does for it.
    pub host: HostWork,
    /// FLOPs of products and attention.
    pub flops: f64,
}

impl Default for Cost {
    fn default() -> Self {
        Self {
            terms: Terms::default(),
            ns: 0.0,
            spread_ns: 0.0,
            basis: Basis::UserTable,
            host: HostWork::NONE,
            flops: 0.0,
        }
    }
}

impl Cost {
    /// The sum of parts.
    #[must_use]
    pub fn of(parts: &[Part]) -> Self {
        let mut cost = Self::default();
        for part in parts {
            cost.push(part.term, part.estimate);
            cost.host.add_times(&part.host, 1.0);
            cost.flops += part.flops;
        }
        cost
    }

    /// Adds one estimate.
    pub fn push(&mut self, term: Term, estimate: Estimate) {
        self.terms.add(term, estimate.ns);
        self.ns += estimate.ns;
        self.spread_ns += estimate.ns * estimate.deviation;
        self.basis = self.basis.max(estimate.basis);
    }

    /// Adds so many times another's.
    pub fn add_times(&mut self, other: &Self, times: f64) {
        if times == 0.0 {
            return;
        }
        self.terms.add_times(&other.terms, times);
        self.ns += other.ns * times;
        self.spread_ns += other.spread_ns * times;
        self.basis = self.basis.max(other.basis);
        self.host.add_times(&other.host, times);
        self.flops += other.flops * times;
    }
}
