//! Replicas: sums of gradients, and parameters that are shared.

use super::super::Shards;
use super::{Rules, Settled};
use crate::trace::CollectiveKind;

impl Rules<'_> {
    /// Gradients are summed over everything that holds the same parameters.
    pub(super) fn data(&mut self) {
        let Some(data) = self.plan.sharding.data.clone() else { return };
        let context = self.plan.sharding.context.as_ref().map(|context| context.axis.clone());
        let expert = self.plan.sharding.expert.as_ref().map(|expert| expert.axis.clone());
        let of_experts: Vec<String> = [Some(data.axis.clone()), context].into_iter().flatten().collect();
        let of_others: Vec<String> = of_experts.iter().cloned().chain(expert.clone()).collect();
        let tensor = self.tensor_ways();
        let expert_ways = tensor * self.split(expert.as_deref());

        let layers: Vec<(u128, u128)> = (self.layers.iter())
            .map(|layer| (layer.matrices / tensor + layer.vectors, layer.experts / expert_ways))
            .collect();
        let splits_vocabulary = self.plan.sharding.tensor.as_ref().is_some_and(|tensor| tensor.vocabulary);
        let around_ways = if splits_vocabulary { tensor } else { 1 };
        let mut around = 0;
        if self.is_first() || (self.is_last() && self.decoder.tied) {
            around += self.decoder.embedding / around_ways;
        }
        if self.is_last() {
            around += self.decoder.head / around_ways;
        }
        let others: Vec<&str> = of_others.iter().map(String::as_str).collect();
        let experts: Vec<&str> = of_experts.iter().map(String::as_str).collect();
        let replicate = data.replicate_axis.as_deref();
        if data.shards == Shards::Parameters {
            let units: Vec<(u64, u128)> =
                layers.iter().map(|layer| (1, layer.0)).chain([(0, around)]).collect();
            self.fully_sharded(&others, replicate, &units, "");
            let units: Vec<(u64, u128)> = layers.iter().map(|layer| (1, layer.1)).collect();
            self.fully_sharded(&experts, replicate, &units, "experts of ");
        } else {
            let dense = layers.iter().map(|layer| layer.0).sum::<u128>() + around;
            self.replicated(&others, data.shards, dense, "parameters that are no expert's");
            let routed = layers.iter().map(|layer| layer.1).sum();
            self.replicated(&experts, data.shards, routed, "parameters of experts");
        }
    }

    /// Parameters whole on every rank (ZeRO 0 to 2).
    fn replicated(&mut self, axes: &[&str], shards: Shards, parameters: u128, of: &str) {
        let gradient = parameters * u128::from(self.plan.element_bytes.gradient);
        if shards == Shards::None {
            let why = format!("gradients of {parameters} {of}");
            self.settled(CollectiveKind::AllReduce, axes, 1, gradient, Settled::Total, why);
            return;
        }
        let times = if shards == Shards::Gradients { self.micro_batches() } else { 1 };
        let why = format!("gradients of {parameters} {of}, {times} times");
        self.settled(CollectiveKind::ReduceScatter, axes, times, gradient, Settled::Total, why);
        let gathered = parameters * u128::from(self.plan.element_bytes.parameter);
        let why = format!("{parameters} updated {of}");
        self.settled(CollectiveKind::AllGather, axes, 1, gathered, Settled::Total, why);
    }

    /// Parameters shared (ZeRO 3, FSDP, HSDP) in units: 1 for a layer's, 0 for what is around the layers, which is kept
    /// after the forward pass. Units of one size are one line.
    fn fully_sharded(&mut self, axes: &[&str], replicate: Option<&str>, units: &[(u64, u128)], of: &str) {
        let reshards = self.plan.sharding.data.as_ref().is_some_and(|data| data.reshards_after_forward);
        let (micro_batches, bytes) = (self.micro_batches(), self.plan.element_bytes);
        let mut sizes: Vec<(u64, u128)> = units.to_vec();
        sizes.sort_unstable();
        sizes.dedup();
        for unit in sizes {
            let same = units.iter().filter(|other| **other == unit).count() as u64;
            let (is_layer, parameters) = unit;
            let name =
                if is_layer == 1 { format!("{of}{same} layers") } else { "embedding and head".to_owned() };
            let gathers = same * micro_batches * if is_layer == 1 && reshards { 2 } else { 1 };
            let gathered = parameters * u128::from(bytes.parameter);
            let why = format!("parameters of {name} x {micro_batches} micro-batches");
            self.add(CollectiveKind::AllGather, axes, gathers, gathered, why);
            let gradient = parameters * u128::from(bytes.gradient);
            let why = format!("gradients of {name} x {micro_batches} micro-batches");
            self.add(CollectiveKind::ReduceScatter, axes, same * micro_batches, gradient, why);
            if let Some(replicate) = replicate {
                let shard = gradient / u128::from(self.plan.mesh.size(axes).max(1));
                let why = format!("gradient shards of {name} over the replicas");
                self.add(CollectiveKind::AllReduce, &[replicate], same * micro_batches, shard, why);
            }
        }
    }
}
