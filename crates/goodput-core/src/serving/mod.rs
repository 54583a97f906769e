//! A serving replica crosses the same boundaries: whole replicas held, ready time, ideal-rate time.
//!
//! Its program factor has another ideal than a training job's, so it is a row of its own. [`account`] makes the rows
//! from lifecycle events and samples of work; [`decode`] is the arithmetic of one decode step.

mod account;
pub mod decode;
mod lifecycle;
mod lifetimes;
mod pool;
mod records;
mod work;

pub use account::{DeploymentRow, ServingAccount, ServingError, account, days};
pub use lifecycle::{HeldUse, Life, Stretch, lives};
pub use lifetimes::{LIFETIMES, LifetimeShare, median_ns};
pub use pool::PoolAccount;
pub use records::{
    Deployment, Replica, ReplicaEvent, ReplicaEventKind, RowIdeal, ServingPoolSample, ServingRecords,
    WorkPhase, WorkSample,
};
pub use work::{DecodeTime, Floor, LatencyCount, PrefillTime};

use crate::capacity::CapacityTime;
use crate::range::{OutOfRange, positive};

/// The share of a replica's held time spent becoming ready (weights, load, warm-up): a runtime loss.
/// The sooner the replica is released, the more it weighs. A warm pool does not remove it: ready and
/// idle replicas are headroom, a program loss.
///
/// ```
/// use goodput_core::serving::readiness_share;
/// // 5.7 minutes of one burst hour.
/// assert!((readiness_share(342.0, 3600.0)? - 0.095).abs() < 1e-12);
/// # Ok::<(), goodput_core::OutOfRange>(())
/// ```
///
/// # Errors
/// [`OutOfRange`] when nothing was held, or readiness took longer than that.
pub fn readiness_share(readiness_s: f64, held_s: f64) -> Result<f64, OutOfRange> {
    let held_s = positive("held_s", held_s)?;
    if !(0.0..=held_s).contains(&readiness_s) {
        return Err(OutOfRange {
            name: "readiness_s",
            value: readiness_s,
            expected: "between zero and the held time",
        });
    }
    Ok(readiness_s / held_s)
}

/// One class of replicas over a window: ready time arrives where a training job has retained steps.
///
/// It is no part of a training ledger and has no sum with one, since the ideals measure different resources:
///
/// ```compile_fail,E0308
/// # use goodput_core::{Ledger, Window, serving::ServingRow};
/// fn common(window: Window, training: &Ledger, serving: &ServingRow) -> Ledger {
///     Ledger::merge(window, [training, serving])
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use goodput_core::{Levels, serving::ServingRow};
/// fn common(mut training: Levels, serving: ServingRow) -> Levels {
///     training += serving;
///     training
/// }
/// ```
///
/// Nor do rows add up, whose ideals may differ:
///
/// ```compile_fail,E0369
/// # use goodput_core::serving::ServingRow;
/// fn average(decode: ServingRow, prefill: ServingRow) -> ServingRow {
///     decode + prefill
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServingRow {
    /// Held by whole replicas.
    pub held: CapacityTime,
    /// Able to answer requests.
    pub ready: CapacityTime,
    /// Time that the served tokens take at the named ideal.
    pub ideal: CapacityTime,
}

impl ServingRow {
    /// Ready over held.
    pub fn runtime_goodput(&self) -> Option<f64> {
        self.ready.share_of(self.held)
    }

    /// Ideal over ready: headroom is inside it.
    pub fn program_goodput(&self) -> Option<f64> {
        self.ideal.share_of(self.ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headroom_lowers_the_program_factor_not_the_runtime_factor() {
        let hours = |h: i64| CapacityTime::of(8, h * 3_600_000_000_000);
        let warm_pool = ServingRow { held: hours(24), ready: hours(24), ideal: hours(6) };
        assert_eq!(warm_pool.runtime_goodput(), Some(1.0));
        assert_eq!(warm_pool.program_goodput(), Some(0.25));
    }

    #[test]
    fn a_replica_cannot_warm_up_longer_than_it_lives() {
        assert!(readiness_share(61.0, 60.0).is_err());
        assert!(readiness_share(1.0, 0.0).is_err());
    }
}
