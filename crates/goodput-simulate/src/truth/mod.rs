//! The true ledger: what the accounting must find wherever the records determine it.

mod runtime;
mod scheduling;

pub use runtime::{JobTime, StepCounts};
pub(crate) use scheduling::Demand;
pub use scheduling::PoolTime;

use crate::world::World;

/// The true accounts of a world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth {
    /// A pool, in the order of the scenario.
    pub pools: Vec<PoolTime>,
    /// A job, in the order of [`World::jobs`].
    pub jobs: Vec<JobTime>,
}

impl World {
    /// The true accounts, added up from what happened and not from any record of it.
    pub fn truth(&self) -> Truth {
        Truth {
            pools: self.pools.clone(),
            jobs: self.jobs.iter().map(|job| JobTime::of(&self.scenario, job, self.end())).collect(),
        }
    }
}
