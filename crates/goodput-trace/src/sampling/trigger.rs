//! Traces on demand: step timers that are always on say when a rank lags, and which peer to trace beside it.

use std::collections::BTreeMap;

use crate::audit::Mesh;
use crate::nearest_rank::median;

/// When a step is slow: above the median of the job's own steps by a multiple of their median absolute deviation.
///
/// ```
/// use goodput_trace::sampling::trigger::Threshold;
/// let steps: Vec<i64> = (0..100).map(|i| 1_000 + i % 10).collect();
/// let threshold = Threshold::of(&steps, 6).ok_or("too few steps")?;
/// assert!(!threshold.is_slow(1_020) && threshold.is_slow(1_100));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// Median in nanoseconds, the lower one of two.
    pub median_ns: i64,
    /// Median absolute deviation from it, in nanoseconds.
    pub deviation_ns: i64,
    /// What is longer is slow, in nanoseconds.
    pub slow_above_ns: i64,
}

impl Threshold {
    /// Fewer steps give no threshold.
    pub const LEAST_STEPS: usize = 20;
    /// A step is not slow below this share of the median above it, however regular the steps are: 1 in so many.
    pub const LEAST_EXCESS: i64 = 50;

    /// The threshold of a job's steady steps, `multiple` deviations above their median. `None` for too few.
    pub fn of(durations_ns: &[i64], multiple: u32) -> Option<Self> {
        if durations_ns.len() < Self::LEAST_STEPS {
            return None;
        }
        let median_ns = median(&mut durations_ns.to_vec())?;
        let mut deviations: Vec<i64> =
            durations_ns.iter().map(|ns| ns.saturating_sub(median_ns).saturating_abs()).collect();
        let deviation_ns = median(&mut deviations)?;
        let excess_ns = deviation_ns.saturating_mul(i64::from(multiple)).max(median_ns / Self::LEAST_EXCESS);
        Some(Self { median_ns, deviation_ns, slow_above_ns: median_ns.saturating_add(excess_ns) })
    }

    /// Whether a step is slow.
    pub fn is_slow(&self, duration_ns: i64) -> bool {
        duration_ns > self.slow_above_ns
    }
}

/// What one rank's timers say of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankTimer {
    /// The rank.
    pub rank: u32,
    /// Time in which it did not wait for others, in nanoseconds. The whole step is as long on every rank: the last one
    /// shows only in its own work.
    pub own_ns: i64,
}

/// When to dump a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DumpRule {
    /// When a step is slow.
    pub threshold: Threshold,
    /// Slow steps in a row before a trace is worth its price.
    pub slow_in_a_row: u32,
    /// Steps after a dump in which there is no other.
    pub rests: u32,
}

/// A trace to take now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dump {
    /// The step that set it off.
    pub step: i64,
    /// The rank that lags.
    pub lagging: u32,
    /// A rank that does the same work and does not lag.
    pub healthy: u32,
    /// Own work of the lagging rank less that of the healthy one, in nanoseconds.
    pub excess_ns: i64,
}

/// Watches the steps of a job and says when to dump a trace, and where.
#[derive(Debug, Clone)]
pub struct Watch {
    mesh: Mesh,
    rule: DumpRule,
    slow: u32,
    resting: u32,
}

impl Watch {
    /// Watches a job.
    pub fn new(mesh: Mesh, rule: DumpRule) -> Self {
        Self { mesh, rule, slow: 0, resting: 0 }
    }

    /// One step: its length, and the timers of the ranks.
    pub fn step(&mut self, step: i64, duration_ns: i64, timers: &[RankTimer]) -> Option<Dump> {
        self.resting = self.resting.saturating_sub(1);
        self.slow = if self.rule.threshold.is_slow(duration_ns) { self.slow + 1 } else { 0 };
        if self.slow < self.rule.slow_in_a_row.max(1) || self.resting > 0 {
            return None;
        }
        let dump = dump(&self.mesh, step, timers)?;
        (self.slow, self.resting) = (0, self.rule.rests);
        Some(dump)
    }
}

/// The rank whose own work most exceeds the median of the ranks that do the same work, and of those the one nearest to
/// that median, on another node if there is one. `None` when no rank has a peer, or none exceeds its peers.
pub fn dump(mesh: &Mesh, step: i64, timers: &[RankTimer]) -> Option<Dump> {
    let stage = |rank: u32| mesh.place(super::ranks::PIPELINE, rank);
    let mut stages: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    for timer in timers {
        stages.entry(stage(timer.rank)).or_default().push(timer.own_ns);
    }
    let medians: BTreeMap<u32, i64> =
        stages.into_iter().filter_map(|(stage, mut own)| Some((stage, median(&mut own)?))).collect();
    let excess = |timer: &&RankTimer| {
        medians.get(&stage(timer.rank)).map_or(0, |median_ns| timer.own_ns.saturating_sub(*median_ns))
    };
    let lagging = timers.iter().max_by_key(|timer| (excess(timer), std::cmp::Reverse(timer.rank)))?;
    if excess(&lagging) <= 0 {
        return None;
    }
    let peers = timers.iter().filter(|timer| {
        timer.rank != lagging.rank
            && stage(timer.rank) == stage(lagging.rank)
            && timer.own_ns < lagging.own_ns
    });
    let healthy = peers.min_by_key(|timer| {
        let is_neighbour = mesh.node(timer.rank) == mesh.node(lagging.rank);
        (is_neighbour, excess(timer).saturating_abs(), timer.rank)
    })?;
    let excess_ns = lagging.own_ns.saturating_sub(healthy.own_ns);
    Some(Dump { step, lagging: lagging.rank, healthy: healthy.rank, excess_ns })
}
