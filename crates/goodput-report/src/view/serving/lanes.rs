//! What each replica did over time.

use std::collections::BTreeMap;

use goodput_core::serving::{HeldUse, ServingAccount, ServingRecords};
use serde::Serialize;

use crate::view::Exact;

/// Lanes of the replicas that were placed first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplicaLanesView {
    /// Replicas that are not drawn.
    pub omitted: u64,
    /// One lane a replica.
    pub lanes: Vec<ReplicaLaneView>,
}

/// One replica.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplicaLaneView {
    /// The replica.
    pub replica: String,
    /// In time order; a hole is time in which it held nothing.
    pub stretches: Vec<ReplicaStretchView>,
}

/// A stretch with one use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReplicaStretchView {
    /// Nanoseconds since the Unix epoch.
    pub from_ns: Exact,
    /// Nanoseconds since the Unix epoch.
    pub to_ns: Exact,
    /// What for.
    pub used_for: &'static str,
    /// The same, for renderers.
    #[serde(skip)]
    pub used: HeldUse,
}

impl ReplicaLanesView {
    pub(super) fn new(account: &ServingAccount, records: &ServingRecords, limit: usize) -> Self {
        let mut order: Vec<u32> = Vec::new();
        let mut by_replica: BTreeMap<u32, Vec<ReplicaStretchView>> = BTreeMap::new();
        for (replica, life) in &account.lives {
            let stretches = life.stretches.iter().map(|s| (account.window.clip(s.interval), s.used_for));
            let mut drawn = stretches
                .filter(|(interval, _)| !interval.is_empty())
                .map(|(interval, used)| ReplicaStretchView {
                    from_ns: interval.start.into(),
                    to_ns: interval.end.into(),
                    used_for: used.key(),
                    used,
                })
                .peekable();
            if drawn.peek().is_none() {
                continue;
            }
            let lane = by_replica.entry(*replica).or_insert_with(|| {
                order.push(*replica);
                Vec::new()
            });
            lane.extend(drawn);
        }
        let lanes = order.iter().take(limit).filter_map(|replica| {
            let name = records.symbols.get(records.replicas.get(*replica as usize)?.name);
            Some(ReplicaLaneView { replica: name.to_owned(), stretches: by_replica.remove(replica)? })
        });
        Self { lanes: lanes.collect(), omitted: order.len().saturating_sub(limit) as u64 }
    }
}
