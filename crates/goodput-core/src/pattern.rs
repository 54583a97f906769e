//! Every way that capacity-time fails to cross a boundary.

use crate::boundary::{Boundary, Owner};

/// What a pattern is called, where it is charged, and who can recover it.
struct Facts {
    key: &'static str,
    label: &'static str,
    boundary: Boundary,
    owners: &'static [Owner],
    lever: &'static str,
}

macro_rules! patterns {
    ($( $(#[$doc:meta])* $name:ident => $key:literal, $label:literal, $boundary:ident, [$($owner:ident),+], $lever:literal; )+) => {
        /// A loss pattern: the first boundary missed and the owner who can recover it.
        ///
        /// ```
        /// use goodput_core::{Boundary, Owner, Pattern};
        /// // A preemption is triggered by the scheduler, yet its hours were held: a runtime loss.
        /// assert_eq!(Pattern::Preemption.boundary(), Boundary::Runtime);
        /// assert_eq!(Pattern::Preemption.owner(), Owner::Orchestration);
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Pattern { $( $(#[$doc])* $name, )+ }

        impl Pattern {
            /// Every pattern, in boundary order and in the order of charging within a boundary.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            fn facts(self) -> Facts {
                match self {
                    $( Self::$name => Facts {
                        key: $key, label: $label, boundary: Boundary::$boundary,
                        owners: &[$(Owner::$owner),+], lever: $lever,
                    }, )+
                }
            }
        }
    };
}

patterns! {
    /// Free while no eligible job of the named scope waits.
    NoDemand => "no_demand", "no eligible demand", Scheduling, [CapacityPlanning], "lend the quota, or size the pool to its demand";
    /// Free while the only waiting demand is blocked by a quota or a limit.
    QuotaBlocked => "quota_blocked", "blocked by quota or limit", Scheduling, [Orchestration], "raise or lend the quota";
    /// Free devices that would do by count and are scattered so that no waiting gang fits.
    Fragmentation => "fragmentation", "fragmentation", Scheduling, [Orchestration], "bin packing, defragmentation";
    /// Free devices of a type that no waiting job asks for.
    CapabilityMismatch => "capability_mismatch", "capability mismatch", Scheduling, [Orchestration, CapacityPlanning], "capability matching";
    /// Free, and fewer than any waiting gang needs.
    TooFewFree => "too_few_free", "too few free for any waiting gang", Scheduling, [Orchestration], "backfill with smaller jobs";
    /// Freed devices kept idle so that a waiting gang can assemble.
    GangReservation => "gang_reservation", "kept free for a waiting gang", Scheduling, [Orchestration], "backfill under enforced run-time limits";
    /// Assigned to a job that still waits for members, from the first device assigned.
    PartialGangHold => "partial_gang_hold", "partial gang hold", Scheduling, [Orchestration], "atomic group admission";
    /// Held free while a compact placement assembles.
    TopologyWait => "topology_wait", "waiting for a compact placement", Scheduling, [Orchestration], "placement policy";
    /// A waiting job fits and was not started.
    SchedulerDelay => "scheduler_delay", "fits and was not started", Scheduling, [Orchestration], "scheduler cycle time";
    /// Serving: devices that cannot form a complete replica.
    IncompleteReplica => "incomplete_replica", "devices short of a complete replica", Scheduling, [Orchestration], "whole-node packing";
    /// Serving: a replica that waits for placement while capacity is free.
    ReplicaPlacementWait => "replica_placement_wait", "replica waiting for placement", Scheduling, [Orchestration], "placement policy";
    /// Down, drained or in maintenance. A loss only when the denominator is installed capacity.
    OutOfService => "out_of_service", "out of service", Scheduling, [Operations], "repair time, maintenance windows";
    /// Not held, for a reason that the records cannot tell.
    UnheldUnsettled => "unsettled", "unheld, cause unsettled", Scheduling, [Evidence], "record node and queue snapshots";
    /// Offered while no record tells whether it was held.
    Unrecorded => "unrecorded", "held or not, unrecorded", Scheduling, [Evidence], "export the job records of the whole window";

    /// Gang complete to first step, warm-up of a first launch included.
    Startup => "startup", "startup", Runtime, [FaultTolerance, Workload], "faster launch, load and compilation";
    /// A retained step waiting for its next batch.
    InputWait => "input_wait", "input wait", Runtime, [DataStorage], "input pipeline";
    /// Training halted while a checkpoint is written.
    CheckpointPause => "checkpoint_pause", "synchronous checkpoint pause", Runtime, [FaultTolerance, DataStorage], "asynchronous saves, faster checkpoint storage";
    /// Steps executed and later discarded.
    Rework => "rework", "rework", Runtime, [FaultTolerance], "checkpoint cadence";
    /// Fault to first new step, warm-up included.
    Recovery => "recovery", "failure recovery", Runtime, [FaultTolerance], "detection, relaunch and reload time";
    /// Lost work, reload and warm-up after an eviction.
    Preemption => "preemption", "preemption", Runtime, [Orchestration, FaultTolerance], "preemption budget, checkpoint on notice";
    /// A planned change of the allocation: drain, elastic resize.
    Reconfiguration => "reconfiguration", "reconfiguration", Runtime, [Orchestration], "fewer or cheaper resizes";
    /// Evaluation inside the allocation.
    Evaluation => "evaluation", "evaluation", Runtime, [Workload], "evaluate on other devices, or less often";
    /// Other work that the job declares and that is no step.
    DeclaredWork => "declared_work", "other declared work", Runtime, [Workload], "move it off the allocation";
    /// Suspended by the scheduler with its devices kept.
    Suspension => "suspension", "suspension", Runtime, [Orchestration], "requeue instead of suspend";
    /// Hot spares inside the allocation.
    Standby => "standby", "hot standby", Runtime, [FaultTolerance], "share spares between jobs";
    /// End of execution to release.
    Teardown => "teardown", "teardown", Runtime, [Orchestration, Workload], "release on exit";
    /// Allocation kept long after execution is known to have ended.
    Zombie => "zombie", "zombie allocation", Runtime, [FaultTolerance, Orchestration], "failure propagation, leases";
    /// Silence without evidence that execution ended.
    Hang => "hang", "hang", Runtime, [FaultTolerance], "progress monitoring";
    /// A reserved block held while no job runs on it.
    IdleReservation => "idle_reservation", "idle reservation", Runtime, [Orchestration], "reclaim and lend the reservation";
    /// Serving: weight loading, warm-up and compilation of a replica.
    ReplicaColdStart => "replica_cold_start", "replica cold start", Runtime, [Serving, FaultTolerance], "faster load, warm pools";
    /// Serving: restart of a replica after a failure.
    ReplicaRestart => "replica_restart", "replica restart", Runtime, [FaultTolerance], "restart time";
    /// Serving: draining a replica before an update.
    ReplicaDrain => "replica_drain", "replica drain", Runtime, [Serving], "rolling updates";
    /// Steps since the last commit at an open end: neither retained nor lost yet.
    Pending => "pending", "pending, not yet committed", Runtime, [Evidence], "close the window at a commit";
    /// Held time that no record settles.
    RuntimeUnsettled => "unsettled", "held, use unsettled", Runtime, [Evidence], "add the job's timeline";

    /// Kernels at the bandwidth ceiling.
    MemoryStall => "memory_stall", "memory stalls", Program, [PerformanceEngineering], "fusion, tiling, smaller representations";
    /// Kernels far below both ceilings.
    ArithmeticBelowPeak => "arithmetic_below_peak", "arithmetic below peak", Program, [PerformanceEngineering], "kernel selection, compilation";
    /// Operations executed beyond the model's required work.
    Recomputation => "recomputation", "recomputation", Program, [DistributedTraining], "memory feasibility";
    /// Arithmetic over padding.
    Padding => "padding", "padding", Program, [Workload], "packing, bucketing";
    /// Gaps between kernels while the host launches.
    HostDispatch => "host_dispatch", "host dispatch", Program, [PerformanceEngineering], "graph replay, compilation";
    /// Collectives that computation does not hide, and traffic of co-located jobs.
    ExposedCommunication => "exposed_communication", "exposed communication", Program, [CollectiveCommunication, DistributedTraining], "overlap, layout";
    /// Neighbours, asynchronous checkpoint writes, overlapped collectives.
    Contention => "contention", "contention", Program, [Orchestration, CollectiveCommunication], "isolation, staging of writes";
    /// All ranks but one waiting for a slow peer.
    Straggler => "straggler", "stragglers", Program, [FaultTolerance], "replace the slow node";
    /// Stages idle at the start and the end of a step.
    PipelineBubble => "pipeline_bubble", "pipeline bubbles", Program, [DistributedTraining], "more micro-batches, interleaving";
    /// Compilation inside the training loop.
    Recompilation => "recompilation", "in-loop recompilation", Program, [PerformanceEngineering, Workload], "stable shapes";
    /// Running across slower links than a compact placement would use.
    TopologyRunning => "topology", "topology of the placement", Program, [CollectiveCommunication, Orchestration], "placement policy, layout";
    /// Serving: decode below its named ideal.
    DecodeBelowIdeal => "decode_below_ideal", "decode below its ideal", Program, [PerformanceEngineering], "bandwidth of the decode step";
    /// Serving: capacity held ready for bursts.
    Headroom => "headroom", "serving headroom", Program, [Serving], "latency target, autoscaling";
    /// Serving: a fragmented cache admits fewer requests than the node could serve.
    CacheFragmentation => "cache_fragmentation", "cache fragmentation", Program, [Serving], "paged cache allocation";
    /// Below the ideal rate, and no trace tells by which term.
    TermUnsettled => "term_unsettled", "below ideal, term unsettled", Program, [Evidence], "take a step trace";
    /// Retained step time whose ideal is not known.
    ProgramUnsettled => "unsettled", "retained, ideal unsettled", Program, [Evidence], "state FLOPs, device and peak";
}

impl Pattern {
    /// The category word used in JSON (`<key>_ns`) and metrics. Unique within a boundary.
    pub fn key(self) -> &'static str {
        self.facts().key
    }

    /// The name that a report shows.
    pub fn label(self) -> &'static str {
        self.facts().label
    }

    /// The first boundary that the capacity-time fails to cross: where the loss is counted.
    pub fn boundary(self) -> Boundary {
        self.facts().boundary
    }

    /// The first layer that can recover the loss.
    pub fn owner(self) -> Owner {
        self.facts().owners[0]
    }

    /// Every layer that can recover the loss, the first one first.
    pub fn owners(self) -> &'static [Owner] {
        self.facts().owners
    }

    /// The lever that recovers it, in a few words.
    pub fn lever(self) -> &'static str {
        self.facts().lever
    }

    /// Whether the capacity-time may still cross: the evidence does not say. Open amounts lower a
    /// factor's coverage, not its settled value.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Unrecorded | Self::Pending | Self::RuntimeUnsettled | Self::ProgramUnsettled)
    }

    /// The patterns charged at `boundary`, in charging order.
    pub fn at(boundary: Boundary) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |p| p.boundary() == boundary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_within_a_boundary() {
        for boundary in Boundary::ALL {
            let mut keys: Vec<_> = Pattern::at(boundary).map(Pattern::key).collect();
            keys.sort_unstable();
            let before = keys.len();
            keys.dedup();
            assert_eq!(keys.len(), before, "{boundary}");
        }
    }
}
