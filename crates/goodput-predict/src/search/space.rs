//! All layouts that a model, a batch and devices allow.

use std::ops::RangeInclusive;

use super::degrees::{Splits, divisors};
use super::{Candidate, Refused, Rule};
use crate::run::{ContextMethod, Layout, Recompute, Run, Schedule, Sharding};

/// What to try. Degrees are those that divide; each list holds the settings of one switch, and a setting that changes nothing in a layout (overlap of
/// exchanges that it has not) is tried once.
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    /// Numbers of devices.
    pub devices: Vec<u32>,
    /// Nodes, the last one perhaps in part.
    pub nodes: RangeInclusive<u32>,
    /// Bytes that a rank may need, allowance included; the device's own memory when infinite.
    pub memory_bytes: f64,
    /// Tensor degrees.
    pub tensor: RangeInclusive<u32>,
    /// Whether a tensor group may leave its node.
    pub tensor_across_nodes: bool,
    /// Context degrees.
    pub context: RangeInclusive<u32>,
    /// Pipeline stages. Where layers do not fill them evenly and the run states no uneven ends, every way is tried in which the ends lack some.
    pub pipeline: RangeInclusive<u32>,
    /// Replicas.
    pub data: RangeInclusive<u32>,
    /// Ranks over which experts are spread.
    pub expert: RangeInclusive<u32>,
    /// Ranks that share an expert.
    pub expert_tensor: RangeInclusive<u32>,
    /// Parts of a stage under interleaving.
    pub parts: RangeInclusive<u32>,
    /// Sequences of a micro-batch.
    pub micro: RangeInclusive<u32>,
    /// Orders of the micro-batches; one with any number of parts stands for all that `parts` allows.
    pub schedules: Vec<Schedule>,
    /// How context ranks exchange.
    pub context_methods: Vec<ContextMethod>,
    /// Whether norms are split over tensor ranks.
    pub sequence_parallel: Vec<bool>,
    /// What replicas shard.
    pub sharding: Vec<Sharding>,
    /// Whether gradients are reduced beside the backward pass.
    pub overlap_gradients: Vec<bool>,
    /// Whether parameters are gathered beside the forward pass.
    pub overlap_parameters: Vec<bool>,
    /// Whether tensor exchanges run beside their products.
    pub overlap_tensor: Vec<bool>,
    /// What is computed again.
    pub recompute: Vec<Recompute>,
}

const ANY: RangeInclusive<u32> = 1..=u32::MAX;

/// Layouts of the same degrees, schedule and micro-batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// Devices.
    pub devices: u32,
    /// Degrees and schedule; switches as the run states them.
    pub layout: Layout,
    /// Sequences of a micro-batch.
    pub micro: u64,
    /// Micro-batches of a replica.
    pub micro_batches: u64,
    /// Layers of a stage.
    pub layers: u32,
    /// Tokens of a sequence on a context rank.
    pub tokens: u64,
}

impl Space {
    /// All degrees, the schedules that Megatron has, and the usual switches, on the run's devices.
    pub fn of(run: &Run) -> Self {
        Self {
            devices: vec![run.devices],
            nodes: ANY,
            memory_bytes: f64::INFINITY,
            tensor: ANY,
            tensor_across_nodes: false,
            context: ANY,
            pipeline: ANY,
            data: ANY,
            expert: ANY,
            expert_tensor: ANY,
            parts: ANY,
            micro: ANY,
            schedules: vec![Schedule::OneForwardOneBackward, Schedule::Interleaved { parts: 2 }],
            context_methods: vec![run.layout.context_method],
            sequence_parallel: vec![true],
            sharding: vec![run.layout.sharding],
            overlap_gradients: vec![run.layout.overlap_gradients],
            overlap_parameters: vec![run.layout.overlap_parameters],
            overlap_tensor: vec![run.layout.overlap_tensor],
            recompute: vec![Recompute::None, Recompute::AttentionCore, Recompute::Full],
        }
    }

    /// The families that the run's model and batch allow. None for a model without a text decoder.
    pub fn families(&self, run: &Run) -> Vec<Family> {
        self.families_and_refused(run).0
    }

    /// The same, with what was left out by which rule.
    pub fn families_and_refused(&self, run: &Run) -> (Vec<Family>, Refused) {
        let mut refused = Refused::default();
        let families = self.walk(run, &mut refused);
        (families, refused)
    }

    fn walk(&self, run: &Run, refused: &mut Refused) -> Vec<Family> {
        let Some(text) = &run.architecture.text else { return Vec::new() };
        let splits = Splits::of(text);
        let mut families = Vec::new();
        for &devices in self.devices.iter().filter(|&&devices| devices > 0) {
            let in_a_node = run.cluster.devices_per_node;
            if !self.nodes.contains(&devices.div_ceil(in_a_node.max(1))) {
                continue;
            }
            if devices > in_a_node && run.cluster.network.is_none() {
                refused.add(Rule::Network);
                continue;
            }
            for tensor in divisors(devices.into(), &self.tensor) {
                if !splits.tensor(tensor) {
                    refused.add(Rule::Tensor);
                    continue;
                }
                if !(self.tensor_across_nodes || in_a_node.is_multiple_of(tensor)) {
                    refused.add(Rule::AcrossNodes);
                    continue;
                }
                for context in divisors((devices / tensor).into(), &self.context) {
                    for pipeline in divisors((devices / tensor / context).into(), &self.pipeline) {
                        let data = devices / tensor / context / pipeline;
                        if !self.data.contains(&data) {
                            continue;
                        }
                        let degrees = Layout { tensor, context, pipeline, data, ..run.layout.clone() };
                        self.of_degrees(run, &splits, devices, &degrees, &mut families, refused);
                    }
                }
            }
        }
        families
    }

    fn of_degrees(
        &self,
        run: &Run,
        splits: &Splits,
        devices: u32,
        degrees: &Layout,
        families: &mut Vec<Family>,
        refused: &mut Refused,
    ) {
        let Layout { tensor, context, pipeline, data, .. } = *degrees;
        let chunks = if context == 1 { 1 } else { 2 * u64::from(context) };
        if !run.batch.sequence.is_multiple_of(chunks) {
            return refused.add(Rule::Sequence);
        }
        if !run.batch.global.is_multiple_of(data.into()) {
            return refused.add(Rule::Batch);
        }
        if let Some(size) = degrees.shard_size
            && !(data * context).is_multiple_of(size)
        {
            return refused.add(Rule::ShardSize);
        }
        let in_a_stage = u64::from(tensor) * u64::from(context) * u64::from(data);
        let experts: Vec<(u32, u32)> = divisors(in_a_stage, &self.expert)
            .into_iter()
            .flat_map(|expert| {
                divisors(in_a_stage / u64::from(expert), &self.expert_tensor)
                    .into_iter()
                    .map(move |expert_tensor| (expert, expert_tensor))
            })
            .filter(|&(expert, expert_tensor)| {
                let split = splits.experts(expert, expert_tensor);
                // Without experts there is nothing to split.
                if !split && splits.has_experts() {
                    refused.add(Rule::Experts);
                }
                split
            })
            .collect();
        let of_a_replica = run.batch.global / u64::from(data);
        let micros = divisors(of_a_replica, &self.micro);
        let schedules = self.schedules(splits, degrees);
        if schedules.is_empty() {
            refused.add(Rule::Layers);
        }
        for (schedule, uneven_ends) in schedules {
            let layers = splits.layers + uneven_ends.map(u64::from).iter().sum::<u64>();
            for &micro in &micros {
                let micro_batches = of_a_replica / u64::from(micro);
                if !runs(schedule, pipeline, micro_batches) {
                    refused.add(Rule::MicroBatches);
                    continue;
                }
                for &(expert, expert_tensor) in &experts {
                    for &context_method in once_if(context == 1, &self.context_methods) {
                        let ulysses = context_method == ContextMethod::Ulysses;
                        if ulysses && !splits.heads(u64::from(tensor) * u64::from(context)) {
                            refused.add(Rule::Heads);
                            continue;
                        }
                        families.push(Family {
                            devices,
                            layout: Layout {
                                schedule,
                                uneven_ends,
                                expert,
                                expert_tensor,
                                context_method,
                                ..degrees.clone()
                            },
                            micro: micro.into(),
                            micro_batches,
                            layers: (layers / u64::from(pipeline)) as u32,
                            tokens: run.batch.sequence / u64::from(context),
                        });
                    }
                }
            }
        }
    }

    /// Schedules whose parts the layers fill, with what the ends lack.
    fn schedules(&self, splits: &Splits, degrees: &Layout) -> Vec<(Schedule, [u32; 2])> {
        let stages = u64::from(degrees.pipeline);
        let ends = |parts: u32| ends(splits.layers, stages, parts, degrees.uneven_ends);
        let with = |schedule: Schedule| move |ends: [u32; 2]| (schedule, ends);
        if stages == 1 {
            let one = !self.schedules.is_empty() && self.parts.contains(&1);
            let schedule = Schedule::OneForwardOneBackward;
            return if one { ends(1).into_iter().map(with(schedule)).collect() } else { Vec::new() };
        }
        let mut schedules = Vec::new();
        for &schedule in &self.schedules {
            if let Schedule::Interleaved { .. } = schedule {
                let most = (splits.layers.div_ceil(stages) as u32).min(*self.parts.end());
                for parts in (*self.parts.start()).max(2)..=most {
                    schedules.extend(ends(parts).into_iter().map(with(Schedule::Interleaved { parts })));
                }
            } else if self.parts.contains(&1) {
                schedules.extend(ends(1).into_iter().map(with(schedule)));
            }
        }
        schedules
    }

    /// The candidates of a family, always in the same order.
    pub fn candidates<'a>(&'a self, family: &'a Family) -> impl Iterator<Item = Candidate> + 'a {
        let layout = &family.layout;
        let replicas = layout.data * layout.context;
        let tensor = layout.tensor > 1;
        let norms_split = family.tokens.is_multiple_of(layout.tensor.into());
        let sequence_parallel = if tensor { &self.sequence_parallel[..] } else { &[false] };
        let sharding = if replicas > 1 { &self.sharding[..] } else { &[Sharding::None] };
        let overlap_tensor = if tensor { &self.overlap_tensor[..] } else { &[false] };
        let overlap_gradients = if replicas > 1 { &self.overlap_gradients[..] } else { &[false] };
        let recompute = self.recompute.iter().filter(|recompute| match recompute {
            Recompute::Layers(count) => *count > 0 && *count < family.layers,
            _ => true,
        });
        recompute.flat_map(move |&recompute| {
            sharding.iter().flat_map(move |&sharding| {
                let overlap_parameters =
                    if sharding == Sharding::None { &[false] } else { &self.overlap_parameters[..] };
                overlap_parameters.iter().flat_map(move |&overlap_parameters| {
                    overlap_gradients.iter().flat_map(move |&overlap_gradients| {
                        overlap_tensor.iter().flat_map(move |&overlap_tensor| {
                            let whole = move |split: &&bool| norms_split || !**split;
                            sequence_parallel.iter().filter(whole).map(move |&sequence_parallel| Candidate {
                                devices: family.devices,
                                layout: Layout {
                                    sharding,
                                    overlap_parameters,
                                    overlap_gradients,
                                    overlap_tensor,
                                    sequence_parallel,
                                    ..layout.clone()
                                },
                                recompute,
                                micro: family.micro,
                            })
                        })
                    })
                })
            })
        })
    }
}

/// What the first and the last part may lack so that `layers` fill `stages` of `parts` each. As `stated`, if anything is; otherwise nothing
/// where the stages split evenly, and where they do not every way that leaves both ends a layer.
fn ends(layers: u64, stages: u64, parts: u32, stated: [u32; 2]) -> Vec<[u32; 2]> {
    let all = stages * u64::from(parts);
    let each = |lack: u64| (layers + lack) / all;
    let is_stated = stated != [0, 0];
    if is_stated || layers.is_multiple_of(stages) {
        let [first, last] = stated.map(u64::from);
        let fits = (layers + first + last).is_multiple_of(all)
            && each(first + last) > 0
            && first.max(last) <= each(first + last)
            && (all > 1 || !is_stated);
        return fits.then_some(stated).into_iter().collect();
    }
    let lack = layers.next_multiple_of(all) - layers;
    (0..=lack)
        .map(|first| [first, lack - first])
        .filter(|[first, last]| *first.max(last) < each(lack))
        .map(|ends| ends.map(|lacks| lacks as u32))
        .collect()
}

/// Whether a schedule can run so many micro-batches.
fn runs(schedule: Schedule, stages: u32, micro_batches: u64) -> bool {
    let stages = u64::from(stages);
    match schedule {
        Schedule::Interleaved { .. } => micro_batches.is_multiple_of(stages),
        Schedule::DualPipe => {
            stages.is_multiple_of(2) && micro_batches.is_multiple_of(2) && micro_batches >= 2 * stages
        }
        _ => true,
    }
}

/// Only the first setting where it makes no difference.
fn once_if<T>(same: bool, settings: &[T]) -> &[T] {
    if same { settings.get(..1).unwrap_or(settings) } else { settings }
}
