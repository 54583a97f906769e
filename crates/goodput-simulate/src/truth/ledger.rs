//! The true ledger of a pool or a fleet.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use goodput_core::Pattern;

use super::{JobTime, PoolTime};

/// Nanoseconds in a second.
const NS: i128 = 1_000_000_000;

/// Levels and losses in device-nanoseconds. At each boundary the losses sum to the gap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrueLedger {
    /// In service.
    pub offered: i128,
    /// Held by jobs and by standing reservations.
    pub held: i128,
    /// Productive time of retained steps.
    pub retained: i128,
    /// The time that those steps take at the devices' peak.
    pub ideal: i128,
    /// Free on nodes out of service, beside the levels.
    pub out_of_service: i128,
    /// Everything that did not cross.
    pub losses: BTreeMap<Pattern, i128>,
}

/// How much of the truth a ledger holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knowledge {
    /// Everything that happened.
    Everything,
    /// What the records settle: the use of what a job without a log held is unsettled.
    Records,
}

impl TrueLedger {
    fn lose(&mut self, pattern: Pattern, amount: i128) {
        if amount != 0 {
            *self.losses.entry(pattern).or_default() += amount;
        }
    }

    /// What a pool offered and what nobody used.
    pub(super) fn add_pool(&mut self, pool: &PoolTime) {
        self.offered += pool.offered() * NS;
        self.held += pool.idle_reservation * NS;
        self.out_of_service += pool.out_of_service * NS;
        self.lose(Pattern::IdleReservation, pool.idle_reservation * NS);
        for (pattern, seconds) in pool.unheld() {
            self.lose(pattern, seconds * NS);
        }
    }

    /// What a job held, and what it was used for.
    pub(super) fn add_job(&mut self, job: &JobTime, settled: bool) {
        self.held += job.held;
        if !settled {
            // That it was suspended stands in the scheduler's records.
            let suspended = job.lost.get(&Pattern::Suspension).copied().unwrap_or(0);
            self.lose(Pattern::Suspension, suspended);
            self.lose(Pattern::RuntimeUnsettled, job.held - suspended);
            return;
        }
        self.retained += job.retained;
        self.ideal += job.ideal.unwrap_or(0);
        for (&pattern, &amount) in &job.lost {
            self.lose(pattern, amount);
        }
        // No trace says by which term, and without FLOPs or a peak there is no ideal.
        let program = if job.ideal.is_some() { Pattern::TermUnsettled } else { Pattern::ProgramUnsettled };
        self.lose(program, job.retained - job.ideal.unwrap_or(0));
    }
}

impl AddAssign<&TrueLedger> for TrueLedger {
    fn add_assign(&mut self, rhs: &TrueLedger) {
        self.offered += rhs.offered;
        self.held += rhs.held;
        self.retained += rhs.retained;
        self.ideal += rhs.ideal;
        self.out_of_service += rhs.out_of_service;
        for (&pattern, &amount) in &rhs.losses {
            self.lose(pattern, amount);
        }
    }
}
