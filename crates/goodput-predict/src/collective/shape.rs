//! Where the members of a group sit.

use crate::cluster::Cluster;

/// A group of devices and those like it beside it. A "node" is an NVLink domain, as NCCL counts: 72 devices of an NVL72.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GroupShape {
    /// Members.
    pub size: u32,
    /// Nodes that the group touches.
    pub nodes: u32,
    /// Members in one node.
    pub per_node: u32,
    /// Distance of a member from the next, in devices of the node: 1 for neighbours.
    pub stride: u32,
    /// Groups like this that exchange at the same time in one node, itself included.
    pub concurrent: u32,
}

impl GroupShape {
    /// Members `stride` apart in the order of ranks, as every group of one axis of a layout is: `stride` is the product
    /// of the degrees inside the axis. All devices of the node take part, each in its own group.
    #[must_use]
    pub fn strided(cluster: &Cluster, size: u32, stride: u32) -> Self {
        let (size, stride, domain) = (size.max(1), stride.max(1), cluster.domain_devices());
        let per_node = (domain / stride).clamp(1, size);
        let nodes = size.div_ceil(per_node);
        let occupied = u64::from(size) * u64::from(stride);
        let in_node = u64::from(domain).min(occupied);
        let concurrent = (in_node / u64::from(per_node)).max(1) as u32;
        Self { size, nodes, per_node, stride: stride.min(domain), concurrent }
    }

    /// Neighbours, alone in their nodes.
    #[must_use]
    pub fn alone(cluster: &Cluster, size: u32) -> Self {
        Self { concurrent: 1, ..Self::strided(cluster, size, 1) }
    }

    /// The same group with `concurrent` like it at once in a node.
    #[must_use]
    pub fn with_concurrent(self, concurrent: u32) -> Self {
        Self { concurrent: concurrent.max(1), ..self }
    }
}

#[cfg(test)]
mod tests {
    use crate::cluster::Clusters;

    use super::*;

    #[rstest::rstest]
    #[case("DGX H100", 8, 1, 1, 8, 1)]
    #[case("DGX H100", 4, 1, 1, 4, 1)]
    #[case("DGX H100", 4, 2, 1, 4, 2)]
    #[case("DGX H100", 16, 1, 2, 8, 1)]
    #[case("DGX H100", 16, 2, 4, 4, 2)]
    #[case("DGX H100", 64, 8, 64, 1, 8)]
    #[case("DGX H100", 64, 64, 64, 1, 8)]
    #[case("DGX H100", 1, 1, 1, 1, 1)]
    #[case("GB200 NVL72", 72, 1, 1, 72, 1)]
    #[case("GB200 NVL72", 144, 1, 2, 72, 1)]
    #[case("GB200 NVL72", 8, 8, 1, 8, 8)]
    fn a_stride_says_where_members_sit(
        #[case] cluster: &str,
        #[case] size: u32,
        #[case] stride: u32,
        #[case] nodes: u32,
        #[case] per_node: u32,
        #[case] concurrent: u32,
    ) {
        let shape = GroupShape::strided(Clusters::built_in().find(cluster).unwrap(), size, stride);
        assert_eq!((shape.nodes, shape.per_node, shape.concurrent), (nodes, per_node, concurrent));
    }
}
