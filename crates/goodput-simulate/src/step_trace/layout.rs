//! Where a rank stands in the job, and the groups it shares with others.

/// How the ranks are laid out. Tensor is the innermost axis, then expert, data, pipeline.
///
/// Experts are spread over the expert axis; what is not an expert is replicated over expert and data together, so
/// that its gradients are summed over [`Axis::Data`] groups of `expert x data` ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Ranks that share every matrix.
    pub tensor: u32,
    /// Ranks over which experts are spread.
    pub expert: u32,
    /// Replicas.
    pub data: u32,
    /// Stages.
    pub pipeline: u32,
    /// Ranks on one node.
    pub devices_per_node: u32,
}

/// An axis of the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    /// Shares of every matrix.
    Tensor,
    /// Experts.
    Expert,
    /// Replicas of all that is not an expert.
    Data,
    /// Stages.
    Pipeline,
}

impl Axis {
    /// Every axis.
    pub const ALL: [Self; 4] = [Self::Tensor, Self::Expert, Self::Data, Self::Pipeline];

    /// What a process group along the axis is for, as a trace would describe it.
    pub fn description(self) -> &'static str {
        match self {
            Self::Tensor => "tensor_parallel",
            Self::Expert => "expert_parallel",
            Self::Data => "data_parallel",
            Self::Pipeline => "pipeline_parallel",
        }
    }
}

/// A rank's place on each axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Share of every matrix.
    pub tensor: u32,
    /// Place on the expert axis.
    pub expert: u32,
    /// Replica.
    pub data: u32,
    /// Stage.
    pub stage: u32,
}

/// Ranks that communicate with each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The axis.
    pub axis: Axis,
    /// Members in the order of the axis.
    pub ranks: Vec<u32>,
}

impl Layout {
    /// One axis of `data` replicas, eight ranks a node.
    pub fn replicas(data: u32) -> Self {
        Self { tensor: 1, expert: 1, data, pipeline: 1, devices_per_node: 8 }
    }

    /// Ranks of the job.
    pub fn ranks(&self) -> u32 {
        self.tensor * self.expert * self.data * self.pipeline
    }

    /// Where a rank stands.
    pub fn place(&self, rank: u32) -> Place {
        let within_expert = rank / self.tensor;
        let within_data = within_expert / self.expert;
        Place {
            tensor: rank % self.tensor,
            expert: within_expert % self.expert,
            data: within_data % self.data,
            stage: within_data / self.data,
        }
    }

    /// The rank at a place.
    pub fn rank(&self, place: Place) -> u32 {
        ((place.stage * self.data + place.data) * self.expert + place.expert) * self.tensor + place.tensor
    }

    /// Every group of more than one rank, axis by axis.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for axis in Axis::ALL {
            for first in 0..self.ranks() {
                let ranks: Vec<u32> =
                    (0..self.ranks()).filter(|&rank| self.is_together(axis, first, rank)).collect();
                if ranks.len() > 1 && ranks.first() == Some(&first) {
                    groups.push(Group { axis, ranks });
                }
            }
        }
        groups
    }

    /// Whether two ranks differ along the axis at most.
    fn is_together(&self, axis: Axis, one: u32, other: u32) -> bool {
        let (one, other) = (self.place(one), self.place(other));
        (axis == Axis::Tensor || one.tensor == other.tensor)
            && (matches!(axis, Axis::Expert | Axis::Data) || one.expert == other.expert)
            && (axis == Axis::Data || one.data == other.data)
            && (axis == Axis::Pipeline || one.stage == other.stage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_and_its_place_are_one_to_one() {
        let layout = Layout { tensor: 2, expert: 3, data: 2, pipeline: 4, devices_per_node: 8 };
        for rank in 0..layout.ranks() {
            assert_eq!(layout.rank(layout.place(rank)), rank);
        }
        assert_eq!(layout.place(13), Place { tensor: 1, expert: 0, data: 0, stage: 1 });
    }

    #[test]
    fn each_axis_splits_the_job_into_groups() {
        let layout = Layout { tensor: 2, expert: 2, data: 2, pipeline: 2, devices_per_node: 8 };
        let groups = layout.groups();
        let of = |axis| groups.iter().filter(|group| group.axis == axis).collect::<Vec<_>>();
        assert_eq!(of(Axis::Tensor).len(), 8);
        assert_eq!(of(Axis::Expert)[0].ranks, [0, 2]);
        assert_eq!(of(Axis::Data)[0].ranks, [0, 2, 4, 6], "gradients are summed over expert and data");
        assert_eq!(of(Axis::Pipeline)[0].ranks, [0, 8]);
        assert_eq!(Layout::replicas(1).groups(), []);
    }
}
