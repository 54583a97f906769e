//! What a serving fleet says of itself: events of replicas, samples of their work, samples of pools.

use crate::records::{SourceRef, Symbol, Symbols};
use crate::time::Timestamp;

/// A model as it is served: replicas of one deployment do the same work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Deployment {
    /// Its name; empty when the log gives none.
    pub name: String,
    /// Model name or configuration, as the log names it.
    pub model: Option<String>,
    /// Device name of its replicas, where their placement says none.
    pub device: Option<String>,
    /// dtype of the arithmetic.
    pub dtype: Option<String>,
    /// Bytes of weights that one decode step reads, over all devices of a replica.
    pub weight_bytes: Option<u64>,
    /// Bytes of keys and values that a cached token takes, over all devices of a replica.
    pub kv_bytes_per_token: Option<u64>,
    /// Bits of a weight, where the bytes follow from the model.
    pub weight_bits: Option<u32>,
    /// Bits of a cached value, where the bytes follow from the model.
    pub kv_bits: Option<u32>,
    /// Model FLOPs of a prompt token, where no model gives them.
    pub prefill_flops_per_token: Option<u64>,
    /// Whether the samples leave work out: then ready time outside them is unsettled, not headroom.
    pub partial_samples: bool,
    /// Where it is declared.
    pub source: SourceRef,
}

/// One replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replica {
    /// Its name.
    pub name: Symbol,
    /// Index into [`ServingRecords::deployments`].
    pub deployment: u32,
}

/// What happened to a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReplicaEventKind {
    /// Asked for; it waits for placement.
    Requested,
    /// Its allocation is complete: held from here.
    Placed {
        /// Devices of the replica.
        devices: u64,
    },
    /// Weights are on the devices.
    WeightsLoaded,
    /// Compilation or graph capture is done.
    Compiled,
    /// Warm-up is done.
    Warm,
    /// It takes traffic.
    Ready,
    /// It takes no new traffic.
    Draining,
    /// It failed.
    Failed,
    /// Its process starts again on the same devices.
    Restarting,
    /// Its devices are free.
    Released,
}

impl ReplicaEventKind {
    /// The word in the log.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Placed { .. } => "placed",
            Self::WeightsLoaded => "weights_loaded",
            Self::Compiled => "compiled",
            Self::Warm => "warm",
            Self::Ready => "ready",
            Self::Draining => "draining",
            Self::Failed => "failed",
            Self::Restarting => "restarting",
            Self::Released => "released",
        }
    }
}

/// One event of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaEvent {
    /// Index into [`ServingRecords::replicas`].
    pub replica: u32,
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: ReplicaEventKind,
    /// Pool of a placement.
    pub pool: Symbol,
    /// Device of a placement.
    pub device: Symbol,
    /// The record.
    pub source: SourceRef,
}

/// Phases of inference: they have different ideals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkPhase {
    /// One token a sequence and step, bound by memory bandwidth.
    Decode,
    /// Prompts, bound by arithmetic.
    Prefill,
}

/// Work of one replica over an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkSample {
    /// Index into [`ServingRecords::replicas`].
    pub replica: u32,
    /// Decode or prefill.
    pub phase: WorkPhase,
    /// Start.
    pub from: Timestamp,
    /// End, exclusive.
    pub to: Timestamp,
    /// Nanoseconds of the interval in which the phase ran.
    pub busy_ns: i64,
    /// Decode steps; for prefill, prompts.
    pub steps: u64,
    /// Tokens generated; for prefill, prompt tokens computed.
    pub tokens: u64,
    /// Cached tokens that one decode step reads, over its batch.
    pub kv_tokens: Option<u64>,
    /// Exposed host dispatch of one step in nanoseconds.
    pub dispatch_ns: Option<i64>,
    /// Exposed exchange between the replica's devices of one step in nanoseconds.
    pub exchange_ns: Option<i64>,
    /// Bytes that one step moved to and from memory, as counters say.
    pub traffic_bytes: Option<u64>,
    /// Model FLOPs of the whole sample.
    pub flops: Option<u128>,
    /// Requests that ended in the interval, and those of them within both latency targets.
    pub requests: Option<(u64, u64)>,
    /// The record.
    pub source: SourceRef,
}

impl WorkSample {
    /// Length in nanoseconds, above zero in what a reader hands out.
    pub fn length_ns(&self) -> i64 {
        self.to - self.from
    }
}

/// Free devices of a pool at an instant; it holds until the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServingPoolSample {
    /// The pool.
    pub pool: Symbol,
    /// When.
    pub at: Timestamp,
    /// Devices in service that no allocation holds.
    pub free_devices: u64,
    /// Devices of one replica that waits.
    pub replica_devices: u64,
    /// Complete replicas that the free devices could form where they stand.
    pub placeable_replicas: u64,
    /// Replicas that wait for placement.
    pub waiting_replicas: u64,
    /// The record.
    pub source: SourceRef,
}

/// Everything that was read.
#[derive(Debug, Clone, Default)]
pub struct ServingRecords {
    /// Names of replicas, pools and devices.
    pub symbols: Symbols,
    /// Deployments.
    pub deployments: Vec<Deployment>,
    /// Replicas.
    pub replicas: Vec<Replica>,
    /// Events, in any order.
    pub events: Vec<ReplicaEvent>,
    /// Work, in any order.
    pub samples: Vec<WorkSample>,
    /// Samples of pools, in any order.
    pub pools: Vec<ServingPoolSample>,
}

/// What the ideals of one row rest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowIdeal {
    /// Peak memory bandwidth of one device in bytes/s.
    pub bytes_per_second: Option<u64>,
    /// Dense peak of one device in FLOP/s for the arithmetic's dtype.
    pub flops_per_second: Option<u64>,
    /// Bytes of weights that one decode step must read, over the replica's devices.
    pub weight_bytes: Option<u64>,
    /// Bytes of keys and values a cached token, over the replica's devices.
    pub kv_bytes_per_token: Option<u64>,
}
