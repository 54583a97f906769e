//! The collectives that one step of one rank should contain.

mod data;

use goodput_model::Architecture;

use super::sizes::{Decoder, Layer};
use super::{ContextMethod, Plan, PlanError};
use crate::peers::bus_factor;
use crate::trace::CollectiveKind;

/// Exchanges of one kind along one axis that a step should contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Which exchange.
    pub operation: CollectiveKind,
    /// Axes of the mesh that the group runs along, outermost first.
    pub axes: Vec<String>,
    /// Ranks of the group; for sends and receives the two that talk.
    pub group_size: u32,
    /// Nodes that the group spans, at most.
    pub nodes: usize,
    /// How many a step has.
    pub count_per_step: u64,
    /// Bytes of the whole message of one exchange: what comes out of an all-gather, what goes into any other.
    pub bytes_each: u64,
    /// How far number and size are settled by the plan.
    pub settled: Settled,
    /// Why.
    pub why: String,
}

/// How far a plan settles an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Settled {
    /// Number and size.
    Fully,
    /// The bytes of all together: into how many messages they are cut is the framework's choice.
    Total,
    /// The number: sizes depend on the router.
    Count,
}

impl Expected {
    /// Bytes of all exchanges of a step.
    pub fn bytes_per_step(&self) -> u64 {
        self.bytes_each.saturating_mul(self.count_per_step)
    }

    /// Seconds that the exchanges of a step take at least when each rank's links move `bytes_per_second` one way, were
    /// none of them hidden: latency and contention come on top.
    pub fn floor_seconds(&self, bytes_per_second: f64) -> f64 {
        bus_factor(self.operation, self.group_size) * self.bytes_per_step() as f64 / bytes_per_second
    }

    /// The axes as a report names them.
    pub fn axis(&self) -> String {
        self.axes.join("+")
    }
}

impl Plan {
    /// The collectives that one step of `rank` should contain, by the strategies' published forms.
    ///
    /// # Errors
    /// [`PlanError`] for a plan that contradicts itself, and for a model that is no decoder of text.
    pub fn expected(&self, architecture: &Architecture, rank: u32) -> Result<Vec<Expected>, PlanError> {
        self.check()?;
        let decoder = Decoder::of(architecture)?;
        let (stage, stages) = self.stage(rank);
        let layers = decoder.layers_of(self, stage, stages)?;
        let mut rules =
            Rules { plan: self, decoder: &decoder, layers, rank, stage, stages, found: Vec::new() };
        rules.tensor();
        rules.pipeline();
        rules.experts();
        rules.context();
        rules.data();
        Ok(rules.found)
    }
}

impl Plan {
    /// Layers that a rank holds.
    ///
    /// # Errors
    /// [`PlanError`] as for [`Plan::expected`].
    pub fn layers(&self, architecture: &Architecture, rank: u32) -> Result<usize, PlanError> {
        let (stage, stages) = self.stage(rank);
        Ok(Decoder::of(architecture)?.layers_of(self, stage, stages)?.len())
    }

    /// The stage of a rank, and how many there are.
    fn stage(&self, rank: u32) -> (u32, u32) {
        self.sharding.pipeline.as_ref().map_or((0, 1), |pipeline| {
            (self.mesh.place(&pipeline.axis, rank), self.mesh.size(&[&pipeline.axis]))
        })
    }
}

struct Rules<'a> {
    plan: &'a Plan,
    decoder: &'a Decoder,
    /// Layers of the rank.
    layers: Vec<Layer>,
    rank: u32,
    stage: u32,
    stages: u32,
    found: Vec<Expected>,
}

impl Rules<'_> {
    fn add(&mut self, operation: CollectiveKind, axes: &[&str], count: u64, bytes: u128, why: String) {
        self.settled(operation, axes, count, bytes, Settled::Fully, why);
    }

    fn settled(
        &mut self,
        operation: CollectiveKind,
        axes: &[&str],
        count: u64,
        bytes: u128,
        settled: Settled,
        why: String,
    ) {
        let mesh = &self.plan.mesh;
        let own = mesh.axes.iter().map(|axis| axis.name.as_str()).filter(|axis| axes.contains(axis));
        let own: Vec<&str> = own.filter(|axis| mesh.size(&[axis]) > 1).collect();
        if own.is_empty() || count == 0 || bytes == 0 {
            return;
        }
        self.found.push(Expected {
            operation,
            group_size: mesh.size(&own),
            nodes: mesh.nodes_of(&mesh.group(&own, self.rank)),
            axes: own.into_iter().map(str::to_owned).collect(),
            count_per_step: count,
            bytes_each: u64::try_from(bytes).unwrap_or(u64::MAX),
            settled,
            why,
        });
    }

    fn micro_batches(&self) -> u64 {
        u64::from(self.plan.batch.micro_batches)
    }

    /// Forward passes of a layer in a micro-batch.
    fn forwards(&self) -> u64 {
        1 + u64::from(self.plan.batch.recomputes)
    }

    fn passes(&self) -> &'static str {
        if self.plan.batch.recomputes { "forward, again, backward" } else { "forward and backward" }
    }

    fn is_first(&self) -> bool {
        self.stage == 0
    }

    fn is_last(&self) -> bool {
        self.stage + 1 == self.stages
    }

    fn split(&self, axis: Option<&str>) -> u128 {
        u128::from(axis.map_or(1, |axis| self.plan.mesh.size(&[axis])).max(1))
    }

    fn tensor_ways(&self) -> u128 {
        self.split(self.plan.sharding.tensor.as_ref().map(|tensor| tensor.axis.as_str()))
    }

    /// Tokens of a micro-batch on this rank, before tensor parallelism with sequence parallelism splits them.
    fn tokens(&self) -> u128 {
        let context = self.plan.sharding.context.as_ref().map(|context| context.axis.as_str());
        u128::from(self.plan.batch.tokens) / self.split(context)
    }

    /// Bytes of the residual stream of a micro-batch.
    fn activation(&self) -> u128 {
        self.tokens() * u128::from(self.decoder.width) * u128::from(self.plan.element_bytes.activation)
    }

    /// Every block ends in a sum over the shares of its last matrix, and so does its gradient at the first.
    fn tensor(&mut self) {
        let Some(tensor) = self.plan.sharding.tensor.clone() else { return };
        let axes = [tensor.axis.as_str()];
        let blocks: u64 = self.layers.iter().map(|layer| layer.blocks).sum();
        let (micro_batches, forwards, bytes) = (self.micro_batches(), self.forwards(), self.activation());
        let each = blocks * micro_batches;
        let of = format!(
            "{blocks} blocks of {} layers x {micro_batches} micro-batches, {}",
            self.layers.len(),
            self.passes()
        );
        if tensor.sequence_parallel {
            let again = u64::from(tensor.gathers_again);
            let gathers = each * (forwards + 1 + again);
            self.add(
                CollectiveKind::AllGather,
                &axes,
                gathers,
                bytes,
                format!("tokens before products: {of}"),
            );
            let scatters = each * (forwards + 1);
            self.add(
                CollectiveKind::ReduceScatter,
                &axes,
                scatters,
                bytes,
                format!("sums after products: {of}"),
            );
        } else {
            let count = each * (forwards + 1);
            self.add(CollectiveKind::AllReduce, &axes, count, bytes, format!("sums after products: {of}"));
        }
        if tensor.vocabulary {
            self.vocabulary(&axes, bytes, tensor.sequence_parallel);
        }
    }

    /// Rows of the vocabulary on every rank: look-ups are summed, and so is the gradient of the head's input.
    fn vocabulary(&mut self, axes: &[&str], bytes: u128, sequence_parallel: bool) {
        let count = self.micro_batches();
        let (gather, scatter) = (CollectiveKind::AllGather, CollectiveKind::ReduceScatter);
        if self.is_first() {
            let why = "look-up in a split embedding".to_owned();
            match sequence_parallel {
                true => {
                    self.add(scatter, axes, count, bytes, why.clone());
                    self.add(gather, axes, count, bytes, format!("gradient of a {why}"));
                }
                false => self.add(CollectiveKind::AllReduce, axes, count, bytes, why),
            }
        }
        if self.is_last() {
            let why = "input of a split head".to_owned();
            match sequence_parallel {
                true => {
                    self.add(gather, axes, count, bytes, why.clone());
                    self.add(scatter, axes, count, bytes, format!("gradient of the {why}"));
                }
                false => {
                    self.add(CollectiveKind::AllReduce, axes, count, bytes, format!("gradient of the {why}"))
                }
            }
            let why = "maximum, sum and target of a split softmax, in fp32".to_owned();
            self.add(CollectiveKind::AllReduce, axes, 3 * count, self.tokens() * 4, why);
        }
    }

    /// Activations go to the next stage, their gradients come back.
    fn pipeline(&mut self) {
        let Some(pipeline) = self.plan.sharding.pipeline.clone() else { return };
        let axes = [pipeline.axis.as_str()];
        let sequence_parallel = self.plan.sharding.tensor.as_ref().is_some_and(|t| t.sequence_parallel);
        let bytes = self.activation() / if sequence_parallel { self.tensor_ways() } else { 1 };
        let micro_batches = self.micro_batches();
        let all = micro_batches * u64::from(pipeline.parts_per_rank);
        // The first part of the model has nothing before it, the last nothing after it.
        let before = all - if self.is_first() { micro_batches } else { 0 };
        let after = all - if self.is_last() { micro_batches } else { 0 };
        if self.stages > 1 {
            let why = format!("{micro_batches} micro-batches x {} parts", pipeline.parts_per_rank);
            let receives = format!("activations from before, gradients from after: {why}");
            self.add(CollectiveKind::Receive, &axes, before + after, bytes, receives);
            let sends = format!("activations to after, gradients to before: {why}");
            self.add(CollectiveKind::Send, &axes, before + after, bytes, sends);
            for row in self.found.iter_mut().rev().take(2) {
                row.group_size = 2;
            }
        }
        if self.stages > 1 && self.decoder.tied && (self.is_first() || self.is_last()) {
            let bytes =
                self.decoder.embedding / self.tensor_ways() * u128::from(self.plan.element_bytes.gradient);
            let why = "gradient of the embedding that first and last stage share".to_owned();
            self.add(CollectiveKind::AllReduce, &axes, 1, bytes, why);
            if let Some(row) = self.found.last_mut() {
                row.group_size = 2;
            }
        }
    }

    /// Tokens go to their experts and come back, and so do gradients.
    fn experts(&mut self) {
        let Some(expert) = self.plan.sharding.expert.clone() else { return };
        let (tensor, micro_batches) = (self.plan.sharding.tensor.as_ref(), self.micro_batches());
        let tokens =
            self.tokens() / if tensor.is_some_and(|t| t.sequence_parallel) { self.tensor_ways() } else { 1 };
        let element = u128::from(self.decoder.width) * u128::from(self.plan.element_bytes.activation);
        let layers: Vec<u64> =
            self.layers.iter().map(|layer| layer.experts_per_token).filter(|&visited| visited > 0).collect();
        let Some(&visited) = layers.first() else { return };
        let count = 2 * layers.len() as u64 * micro_batches * (self.forwards() + 1);
        let why = format!(
            "{} layers of experts x 2 (there and back) x {micro_batches} micro-batches, {}; {visited} experts a token, \
             if the router is even",
            layers.len(),
            self.passes()
        );
        let bytes = tokens * u128::from(visited) * element;
        let axes = [expert.axis.as_str()];
        self.settled(CollectiveKind::AllToAll, &axes, count, bytes, Settled::Count, why);
    }

    /// Attention sees the tokens of other ranks.
    fn context(&mut self) {
        let Some(context) = self.plan.sharding.context.clone() else { return };
        let axes = [context.axis.as_str()];
        let ways = self.split(Some(&context.axis));
        let attention: Vec<Layer> = self.layers.iter().copied().filter(|layer| layer.query > 0).collect();
        let Some(layer) = attention.first().copied() else { return };
        let (layers, micro_batches, forwards) =
            (attention.len() as u64, self.micro_batches(), self.forwards());
        let of = format!("{layers} layers x {micro_batches} micro-batches, {}", self.passes());
        let element = self.tokens() * u128::from(self.plan.element_bytes.activation) / self.tensor_ways();
        let (query, key_value) = (u128::from(layer.query) * element, u128::from(layer.key_value) * element);
        let each = layers * micro_batches;
        match context.method {
            ContextMethod::Ring => {
                // Backward, the gradients of keys and values travel beside them.
                let hops = u64::try_from(ways).unwrap_or(1).saturating_sub(1);
                let count = each * hops * (forwards + 2);
                for operation in [CollectiveKind::Send, CollectiveKind::Receive] {
                    let why = format!("keys and values around the ring, {hops} hops: {of}");
                    self.settled(operation, &axes, count, key_value, Settled::Total, why);
                }
            }
            ContextMethod::AllGather => {
                let why = format!("keys and values of all tokens: {of}");
                let gathers = each * (forwards + 1);
                self.settled(
                    CollectiveKind::AllGather,
                    &axes,
                    gathers,
                    key_value * ways,
                    Settled::Total,
                    why,
                );
                let why = format!("gradients of keys and values: {of}");
                self.settled(
                    CollectiveKind::ReduceScatter,
                    &axes,
                    each,
                    key_value * ways,
                    Settled::Total,
                    why,
                );
            }
            ContextMethod::Ulysses => {
                let count = each * (forwards + 1);
                let why = format!("queries, keys, values and outputs change heads for tokens: {of}");
                let bytes = 2 * query + key_value;
                self.settled(CollectiveKind::AllToAll, &axes, count, bytes, Settled::Total, why);
            }
        }
    }
}
