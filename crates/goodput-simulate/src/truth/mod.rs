//! The true ledger: what the accounting must find wherever the records determine it.

mod ledger;
mod runtime;
mod scheduling;

use crate::scenario::LogFormat;
use crate::world::World;

pub use ledger::{Knowledge, TrueLedger};
pub use runtime::{JobTime, StepCounts};
pub(crate) use scheduling::Demand;
pub use scheduling::PoolTime;

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

    /// The true ledger of each pool, in the order of the scenario. What has no demand is judged
    /// within the pool; the sum of the ledgers is the fleet's.
    pub fn ledgers(&self, truth: &Truth, knowledge: Knowledge) -> Vec<TrueLedger> {
        let mut ledgers = vec![TrueLedger::default(); truth.pools.len()];
        for (ledger, pool) in ledgers.iter_mut().zip(&truth.pools) {
            ledger.add_pool(pool);
        }
        for (job, time) in self.jobs.iter().zip(&truth.jobs) {
            let logged = self.scenario.jobs[job.class].log != LogFormat::None;
            ledgers[job.pool].add_job(time, logged || knowledge == Knowledge::Everything);
        }
        ledgers
    }
}
