//! Along which axis of a run an exchange of a trace runs.
//!
//! Told by the members first, then by what the group is called, by its size, by the kind of exchange, and at last by
//! there being one axis only. Ranks count tensor, context, data, stage from the inside out, as Megatron's do and as the
//! prediction takes them; experts are spread over the ranks of a stage, expert-tensor ranks innermost.

use goodput_predict::run::{Layout, Run};
use goodput_trace::trace::{CollectiveArgs, CollectiveKind, RankTrace};

/// An axis along which ranks exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    /// Shares of every matrix.
    Tensor,
    /// Parts of every sequence.
    Context,
    /// Experts.
    Expert,
    /// Replicas: gradients and parameters.
    Data,
    /// Stages.
    Pipeline,
}

impl Axis {
    /// Every axis, innermost first.
    pub const ALL: [Self; 5] = [Self::Tensor, Self::Context, Self::Expert, Self::Data, Self::Pipeline];

    /// A person's word for it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Tensor => "tensor",
            Self::Context => "context",
            Self::Expert => "expert",
            Self::Data => "data",
            Self::Pipeline => "pipeline",
        }
    }
}

/// Where the ranks of a run stand.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    layout: &'a Layout,
    devices: u32,
}

impl<'a> Places<'a> {
    /// Of a run.
    pub const fn of(run: &'a Run) -> Self {
        Self { layout: &run.layout, devices: run.devices }
    }

    /// Ranks of one stage.
    fn stage_ranks(&self) -> u32 {
        (self.devices / self.layout.pipeline.max(1)).max(1)
    }

    /// The stage of a rank; `None` for a rank that the run does not have.
    pub fn stage(&self, rank: u32) -> Option<usize> {
        (rank < self.devices).then(|| (rank / self.stage_ranks()) as usize)
    }

    /// Degree of an axis. Replicas count context ranks, which hold the same parameters.
    pub fn degree(&self, axis: Axis) -> u32 {
        let layout = self.layout;
        match axis {
            Axis::Tensor => layout.tensor,
            Axis::Context => layout.context,
            Axis::Expert => layout.expert,
            Axis::Data => layout.data * layout.context,
            Axis::Pipeline => layout.pipeline,
        }
    }

    /// Distance in ranks between neighbours along an axis.
    pub fn stride(&self, axis: Axis) -> u32 {
        let layout = self.layout;
        match axis {
            Axis::Tensor => 1,
            Axis::Context | Axis::Data => layout.tensor,
            Axis::Expert => layout.expert_tensor,
            Axis::Pipeline => self.stage_ranks(),
        }
    }

    /// The axes along which these ranks may form a group. Those of replicas and experts can be the same ranks.
    pub fn axes_of(&self, ranks: &[u32]) -> Vec<Axis> {
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else { return Vec::new() };
        if sorted.len() < 2 || last >= self.devices {
            return Vec::new();
        }
        let layout = self.layout;
        let coordinates = |rank: u32| {
            let (stage, inside) = (rank / self.stage_ranks(), rank % self.stage_ranks());
            [
                inside % layout.tensor,
                inside / layout.tensor % layout.context,
                inside / layout.tensor / layout.context,
                stage,
            ]
        };
        // Ranks whose coordinates agree but on some axes, and all of them.
        let forms = |free: [bool; 4], size: u32| {
            sorted.len() == size as usize
                && sorted.iter().all(|&rank| {
                    let (own, of_first) = (coordinates(rank), coordinates(first));
                    (0..4).all(|axis| free[axis] || own[axis] == of_first[axis])
                })
        };
        let mut axes = Vec::new();
        if forms([true, false, false, false], layout.tensor) {
            axes.push(Axis::Tensor);
        }
        if layout.context > 1 && forms([false, true, false, false], layout.context) {
            axes.push(Axis::Context);
        }
        if self.is_expert_group(&sorted) {
            axes.push(Axis::Expert);
        }
        if forms([false, false, true, false], layout.data)
            || forms([false, true, true, false], layout.data * layout.context)
            || self.replicates_experts(&sorted)
            || self.is_shard_group(&sorted)
        {
            axes.push(Axis::Data);
        }
        // Norms of gradients are summed over stages and tensor ranks together.
        let [tensor, context] = [layout.tensor, layout.context];
        if layout.pipeline > 1
            && (forms([false, false, false, true], layout.pipeline)
                || forms([true, false, false, true], layout.pipeline * tensor)
                || forms([true, true, false, true], layout.pipeline * tensor * context)
                || self.is_pair_of_stages(&sorted))
        {
            axes.push(Axis::Pipeline);
        }
        axes
    }

    fn is_expert_group(&self, sorted: &[u32]) -> bool {
        let (expert, shared) = (self.layout.expert, self.layout.expert_tensor);
        let place = |rank: u32| {
            let inside = rank % self.stage_ranks();
            (rank / self.stage_ranks(), inside % shared, inside / shared / expert)
        };
        expert > 1
            && sorted.len() == expert as usize
            && sorted.iter().all(|&rank| place(rank) == place(sorted[0]))
    }

    /// Ranks that hold the same experts.
    fn replicates_experts(&self, sorted: &[u32]) -> bool {
        let block = self.layout.expert * self.layout.expert_tensor;
        let place = |rank: u32| (rank / self.stage_ranks(), rank % self.stage_ranks() % block);
        let copies = self.stage_ranks() / block.max(1);
        self.layout.expert > 1
            && sorted.len() == copies as usize
            && sorted.iter().all(|&rank| place(rank) == place(sorted[0]))
    }

    /// Part of the replicas: those that share states (HSDP), or those that hold the same share.
    fn is_shard_group(&self, sorted: &[u32]) -> bool {
        let Some(shard) = self.layout.shard_size.filter(|&shard| shard > 0) else { return false };
        let layout = self.layout;
        let replica = |rank: u32| rank % self.stage_ranks() / layout.tensor;
        let outside = |rank: u32| (rank / self.stage_ranks(), rank % layout.tensor);
        let alike = |place: &dyn Fn(u32) -> u32| sorted.iter().all(|&rank| place(rank) == place(sorted[0]));
        let copies = layout.data * layout.context / shard;
        sorted.iter().all(|&rank| outside(rank) == outside(sorted[0]))
            && ((sorted.len() == shard as usize && alike(&|rank| replica(rank) / shard))
                || (sorted.len() == copies as usize && alike(&|rank| replica(rank) % shard)))
    }

    fn is_pair_of_stages(&self, sorted: &[u32]) -> bool {
        let &[one, other] = sorted else { return false };
        one % self.stage_ranks() == other % self.stage_ranks()
    }

    /// The axis of an exchange; `None` where nothing tells.
    pub fn axis_of(
        &self,
        trace: &RankTrace,
        kind: CollectiveKind,
        args: Option<&CollectiveArgs>,
    ) -> Option<Axis> {
        let name = args.and_then(|args| args.group).map(|name| trace.name(name));
        let listed = trace.identity.groups.iter().find(|group| Some(group.name.as_str()) == name);
        let ranks = args
            .and_then(|args| args.ranks.as_deref())
            .or_else(|| listed.map(|group| group.ranks.as_slice()).filter(|ranks| !ranks.is_empty()));
        let peer = args.and_then(|args| args.source_rank.zip(args.destination_rank));
        let by_ranks = match (ranks, peer) {
            (_, Some((from, to))) if from != to => self.axes_of(&[from, to]),
            (Some(ranks), _) => self.axes_of(ranks),
            (None, _) => Vec::new(),
        };
        if let Some(axis) = one_of(&by_ranks, kind) {
            // The gradient of an embedding that the first and the last stage share is one between replicas of it.
            return Some(if axis == Axis::Pipeline && sums_the_tied_embedding(kind, ranks) {
                Axis::Data
            } else {
                axis
            });
        }
        let described = args
            .and_then(|args| args.description)
            .map(|text| trace.name(text))
            .or_else(|| listed.map(|group| group.description.as_str()));
        let by_name = described.and_then(named).or_else(|| name.and_then(named));
        by_name.filter(|axis| self.degree(*axis) > 1).or_else(|| {
            let size = args.and_then(|args| args.group_size).or_else(|| listed.and_then(|group| group.size));
            let fits =
                |axis: &Axis| self.degree(*axis) > 1 && size.is_none_or(|size| size == self.degree(*axis));
            let axes: Vec<Axis> = Axis::ALL.into_iter().filter(fits).collect();
            one_of(&axes, kind)
        })
    }
}

/// The axis among several that such an exchange runs along.
fn one_of(axes: &[Axis], kind: CollectiveKind) -> Option<Axis> {
    use CollectiveKind as K;
    let usual: &[Axis] = match kind {
        K::Send | K::Receive => &[Axis::Pipeline, Axis::Context],
        K::SendReceive => &[Axis::Pipeline, Axis::Expert, Axis::Context],
        K::AllToAll => &[Axis::Expert, Axis::Context],
        _ => &[],
    };
    usual.iter().find(|axis| axes.contains(axis)).copied().or_else(|| match axes {
        [] => None,
        [only] => Some(*only),
        // Sums over ranks that are replicas and expert ranks at once are gradients.
        several if several.contains(&Axis::Data) && !several.contains(&Axis::Tensor) => Some(Axis::Data),
        _ => None,
    })
}

fn sums_the_tied_embedding(kind: CollectiveKind, ranks: Option<&[u32]>) -> bool {
    kind == CollectiveKind::AllReduce && ranks.is_some_and(|ranks| ranks.len() == 2)
}

/// What a group's name says: Megatron's, DeepSpeed's and PyTorch's device meshes.
fn named(text: &str) -> Option<Axis> {
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    // Groups of gradients name the ranks whose tokens or experts they hold, so that data comes first.
    if has(&["data", "dp", "fsdp", "hsdp", "ddp", "replicate", "shard"]) {
        Some(Axis::Data)
    } else if has(&["expert", "ep", "moe"]) {
        Some(Axis::Expert)
    } else if has(&["context", "cp", "ulysses"]) {
        Some(Axis::Context)
    } else if has(&["pipeline", "pp", "pipe"]) {
        Some(Axis::Pipeline)
    } else if has(&["tensor", "tp", "mp"]) {
        Some(Axis::Tensor)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(tensor: u32, context: u32, data: u32, pipeline: u32, expert: u32) -> Layout {
        Layout { tensor, context, data, pipeline, expert, ..Layout::default() }
    }

    fn places(layout: &Layout) -> Places<'_> {
        Places { layout, devices: layout.tensor * layout.context * layout.data * layout.pipeline }
    }

    #[test]
    fn members_tell_the_axis() {
        let layout = layout(2, 2, 2, 2, 1);
        let places = places(&layout);
        assert_eq!(places.axes_of(&[2, 3]), [Axis::Tensor]);
        assert_eq!(places.axes_of(&[0, 2]), [Axis::Context]);
        assert_eq!(places.axes_of(&[1, 5]), [Axis::Data]);
        assert_eq!(places.axes_of(&[0, 2, 4, 6]), [Axis::Data], "context ranks hold the same parameters");
        assert_eq!(places.axes_of(&[3, 11]), [Axis::Pipeline]);
        assert_eq!(places.axes_of(&[0, 1, 8, 9]), [Axis::Pipeline], "a norm over stages and tensor ranks");
        assert_eq!(places.axes_of(&[0, 3]), []);
        assert_eq!(places.axes_of(&[0, 99]), []);
        assert_eq!(places.stage(9), Some(1));
        assert_eq!(places.stage(16), None);
    }

    #[test]
    fn experts_and_replicas_may_be_the_same_ranks() {
        let layout = layout(1, 1, 4, 1, 4);
        let places = places(&layout);
        let axes = places.axes_of(&[0, 1, 2, 3]);
        assert_eq!(axes, [Axis::Expert, Axis::Data]);
        assert_eq!(one_of(&axes, CollectiveKind::AllToAll), Some(Axis::Expert));
        assert_eq!(one_of(&axes, CollectiveKind::ReduceScatter), Some(Axis::Data));
    }

    #[test]
    fn names_tell_the_axis() {
        assert_eq!(named("TENSOR_MODEL_PARALLEL_GROUP"), Some(Axis::Tensor));
        assert_eq!(named("DATA_PARALLEL_GROUP_WITH_CP"), Some(Axis::Data));
        assert_eq!(named("EXPERT_DATA_PARALLEL_GROUP"), Some(Axis::Data));
        assert_eq!(named("mesh_dp_shard"), Some(Axis::Data));
        assert_eq!(named("pipeline_parallel"), Some(Axis::Pipeline));
        assert_eq!(named("default_pg"), None);
    }
}
