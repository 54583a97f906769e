//! The three boundaries that capacity-time crosses, in the order a job meets them.

use std::fmt;

/// A boundary of the accounting. The factor of the same name is what crossed over what arrived.
///
/// `offered --scheduling--> held --runtime--> retained --program--> ideal`
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Boundary {
    /// Capacity becomes time held by complete allocations.
    Scheduling,
    /// Held time becomes productive time on retained steps.
    Runtime,
    /// Retained step time becomes ideal-rate time.
    Program,
}

impl Boundary {
    /// Every boundary, in the order that capacity meets them.
    pub const ALL: [Self; 3] = [Self::Scheduling, Self::Runtime, Self::Program];

    /// The word used in JSON, on the command line and in metrics.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Scheduling => "scheduling",
            Self::Runtime => "runtime",
            Self::Program => "program",
        }
    }
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

/// The layer whose owner can recover a loss. Where a loss is counted ([`Boundary`]) and who can
/// recover it are two columns, never one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// Sizing the fleet against its demand.
    CapacityPlanning,
    /// The scheduler and its policy: admission, packing, quota, preemption.
    Orchestration,
    /// Failure detection, checkpoint cadence, restart, node replacement.
    FaultTolerance,
    /// The input pipeline and checkpoint storage.
    DataStorage,
    /// Collectives and the network they run on.
    CollectiveCommunication,
    /// The parallel layout and the pipeline schedule.
    DistributedTraining,
    /// Kernels, fusion, graph capture and compilation.
    PerformanceEngineering,
    /// Serving: cold start, cache, headroom.
    Serving,
    /// Whoever runs the job.
    Workload,
    /// Hardware operations: repair and maintenance.
    Operations,
    /// Nobody yet: a record is missing.
    Evidence,
}

impl Owner {
    /// The word used in JSON and metrics.
    pub const fn key(self) -> &'static str {
        match self {
            Self::CapacityPlanning => "capacity_planning",
            Self::Orchestration => "orchestration",
            Self::FaultTolerance => "fault_tolerance",
            Self::DataStorage => "data_storage",
            Self::CollectiveCommunication => "collective_communication",
            Self::DistributedTraining => "distributed_training",
            Self::PerformanceEngineering => "performance_engineering",
            Self::Serving => "serving",
            Self::Workload => "workload",
            Self::Operations => "operations",
            Self::Evidence => "evidence",
        }
    }

    /// The name that a report shows.
    pub const fn label(self) -> &'static str {
        match self {
            Self::CapacityPlanning => "capacity planning",
            Self::Orchestration => "orchestration",
            Self::FaultTolerance => "fault tolerance",
            Self::DataStorage => "data storage",
            Self::CollectiveCommunication => "collective communication",
            Self::DistributedTraining => "distributed training",
            Self::PerformanceEngineering => "performance engineering",
            Self::Serving => "serving",
            Self::Workload => "workload team",
            Self::Operations => "hardware operations",
            Self::Evidence => "missing record",
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}
