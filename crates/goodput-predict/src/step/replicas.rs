//! What replicas exchange: gradients, and parameters where they are sharded.

use crate::Estimate;
use crate::collective::{GroupShape, Operation, Prepared};
use crate::layer::{Exchanges, collectives};
use crate::memory::RankParameters;
use crate::run::{Run, Sharding};
use crate::schedule::{Bucket, Exchange};

/// Exchanges of the replicas of dense parameters and of experts.
#[derive(Debug, Clone)]
pub(crate) struct Replicas {
    dense: Group,
    experts: Group,
}

#[derive(Debug, Clone)]
struct Group {
    reduce: Option<Prepared>,
    /// Between shard groups (HSDP), of the shard.
    across: Option<Prepared>,
    gather: Option<Prepared>,
    shard: u64,
}

/// Megatron's default: at least 40 million gradients a bucket, a million for each replica (`DistributedDataParallelConfig`).
fn bucket_bytes(run: &Run, replicas: u64) -> f64 {
    let default = 40_000_000.max(1_000_000 * replicas) * u64::from(run.precision.gradient_bytes);
    run.layout.bucket_bytes.unwrap_or(default) as f64
}

/// Buckets of a part, at most: more, and smaller ones, change nothing that is seen.
const MOST_BUCKETS: f64 = 1024.0;

impl Replicas {
    pub fn new(run: &Run) -> Self {
        let layout = &run.layout;
        // Context ranks hold the same parameters and see other tokens.
        let dense = layout.data * layout.context;
        let of_experts = layout.expert * layout.expert_tensor;
        let experts = (run.devices / layout.pipeline / of_experts).max(1);
        Self {
            dense: Group::new(run, dense, layout.tensor),
            experts: if layout.expert == 1 && layout.expert_tensor == layout.tensor {
                Group::new(run, dense, layout.tensor)
            } else {
                Group::new(run, experts, of_experts)
            },
        }
    }

    /// Ranks that share the optimizer's states of dense parameters and of experts.
    pub fn shards(&self) -> [u64; 2] {
        [self.dense.shard, self.experts.shard]
    }

    /// Of one stage whose parts hold so many parameters, in the order of its parts.
    pub fn exchange(&self, run: &Run, parts: &[RankParameters], tied: Option<f64>) -> Exchange {
        let mut exchange = Exchange::default();
        let layout = &run.layout;
        let replicas = u64::from(layout.data) * u64::from(layout.context);
        // Sharded parameters travel block by block, inside the passes.
        let parts = if shards_parameters(run) { &[] } else { parts };
        for (part, held) in parts.iter().enumerate() {
            for (group, parameters) in [(&self.dense, held.dense), (&self.experts, held.experts)] {
                let gradients = parameters as f64 * f64::from(run.precision.gradient_bytes);
                let whole = bucket_bytes(run, replicas);
                let all = (gradients / whole).ceil().clamp(1.0, MOST_BUCKETS);
                let buckets = if layout.overlap_gradients { all } else { 1.0 };
                if let Some(ns) = group.reduce_ns(gradients / buckets) {
                    for bucket in 1..=buckets as usize {
                        let share = if layout.overlap_gradients { bucket as f64 / buckets } else { 1.0 };
                        // Without overlap all wait for the last backward pass, which is that of the first part.
                        let part = if layout.overlap_gradients { part } else { 0 };
                        exchange.reductions.push(Bucket { part, share, ns });
                    }
                }
                let values = parameters as f64 * f64::from(run.precision.parameter_bytes);
                let Some(gather) = group.gather.as_ref().filter(|_| parameters > 0) else {
                    continue;
                };
                let buckets = if layout.overlap_parameters { all } else { 1.0 };
                let ns = gather.time(values / buckets).estimate.ns;
                for bucket in 0..buckets as usize {
                    let share = if layout.overlap_parameters { bucket as f64 / buckets } else { 0.0 };
                    let part = if layout.overlap_parameters { part } else { 0 };
                    exchange.gathers.push(Bucket { part, share, ns });
                }
            }
        }
        if let Some(ns) = tied {
            exchange.reductions.push(Bucket { part: 0, share: 1.0, ns });
        }
        exchange
    }

    /// What the exchanges of a stage that holds so many parameters rest on, each with its time alone.
    pub fn estimates(&self, run: &Run, held: RankParameters) -> Vec<(&'static str, Estimate)> {
        let (gradient_bytes, parameter_bytes) =
            (f64::from(run.precision.gradient_bytes), f64::from(run.precision.parameter_bytes));
        let mut all = Vec::new();
        for (group, parameters) in [(&self.dense, held.dense as f64), (&self.experts, held.experts as f64)] {
            let mut push = |name, exchange: &Option<Prepared>, bytes: f64| {
                let exchange = exchange.as_ref().filter(|_| bytes > 0.0);
                all.extend(exchange.map(|exchange| (name, exchange.time(bytes).estimate)));
            };
            push("gradients reduced", &group.reduce, parameters * gradient_bytes);
            push(
                "reduced across shard groups",
                &group.across,
                parameters * gradient_bytes / group.shard as f64,
            );
            push("parameters gathered", &group.gather, parameters * parameter_bytes);
        }
        all
    }

    /// FSDP: gather of one block's parameters, and reduction of its gradients; ns of each and multiprocessors held.
    pub fn of_a_block(&self, run: &Run, held: RankParameters) -> Option<[f64; 2]> {
        if !shards_parameters(run) {
            return None;
        }
        let groups = [(&self.dense, held.dense), (&self.experts, held.experts)];
        let sum = |time: &dyn Fn(&Group, f64) -> Option<f64>| {
            groups.iter().filter_map(|(group, held)| time(group, *held as f64)).sum::<f64>()
        };
        let parameter_bytes = f64::from(run.precision.parameter_bytes);
        let gradient_bytes = f64::from(run.precision.gradient_bytes);
        let gather =
            sum(&|group, held| Some(group.gather.as_ref()?.time(held * parameter_bytes).estimate.ns));
        let reduce = sum(&|group, held| group.reduce_ns(held * gradient_bytes));
        (gather > 0.0 || reduce > 0.0).then_some([gather, reduce])
    }
}

/// ZeRO 3.
pub(crate) fn shards_parameters(run: &Run) -> bool {
    matches!(run.layout.sharding, Sharding::Parameters { .. })
}

impl Group {
    fn new(run: &Run, size: u32, stride: u32) -> Self {
        let alone = Self { reduce: None, across: None, gather: None, shard: 1 };
        if size <= 1 {
            return alone;
        }
        let all = collectives(run);
        let group = |size, stride| GroupShape::strided(&run.cluster, size, stride);
        let (gradients, parameters) = (run.precision.gradient_bytes, run.precision.parameter_bytes);
        if run.layout.sharding == Sharding::None {
            let reduce = Some(all.prepare(Operation::AllReduce, group(size, stride), gradients));
            return Self { reduce, ..alone };
        }
        let shard = run.layout.shard_size.unwrap_or(size).min(size).max(1);
        let across = (shard < size).then(|| {
            all.prepare(Operation::AllReduce, group(size / shard, stride.saturating_mul(shard)), gradients)
        });
        let within = (shard > 1).then(|| group(shard, stride));
        Self {
            reduce: within.map(|within| all.prepare(Operation::ReduceScatter, within, gradients)),
            across,
            gather: within.map(|within| all.prepare(Operation::AllGather, within, parameters)),
            shard: shard.into(),
        }
    }

    fn reduce_ns(&self, bytes: f64) -> Option<f64> {
        if bytes == 0.0 || (self.reduce.is_none() && self.across.is_none()) {
            return None;
        }
        let within = self.reduce.as_ref().map_or(0.0, |reduce| reduce.time(bytes).estimate.ns);
        let across =
            self.across.as_ref().map_or(0.0, |across| across.time(bytes / self.shard as f64).estimate.ns);
        Some(within + across)
    }
}

/// The gradient of a tied embedding, summed over the first and the last stage.
pub(crate) fn tied(run: &Run, exchanges: &Exchanges, width: u64, vocabulary: u64) -> Option<Estimate> {
    let rows = run.framework.padded_vocabulary(vocabulary, run.layout.tensor) / u64::from(run.layout.tensor);
    let bytes = (rows * width) as f64 * f64::from(run.precision.gradient_bytes);
    exchanges.tied.as_ref().map(|sum| sum.time(bytes).estimate)
}
