//! A mesh of ranks with named axes, and where it stands on nodes.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::PlanError;

/// A mesh of ranks. Axes are given outermost first: ranks next to each other differ on the last axis.
///
/// ```
/// use goodput_trace::audit::{Axis, Mesh};
/// let mesh = Mesh { axes: vec![Axis::new("data", 16), Axis::new("model", 8)], devices_per_node: 8, nodes: None };
/// assert_eq!(mesh.group(&["model"], 9), [8, 9, 10, 11, 12, 13, 14, 15]);
/// assert_eq!(mesh.group(&["data"], 9)[..3], [1, 9, 17]);
/// assert_eq!((mesh.nodes_spanned(&["model"]), mesh.nodes_spanned(&["data"])), (1, 16));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mesh {
    /// Axes, outermost first.
    pub axes: Vec<Axis>,
    /// Ranks of one node: ranks `0..n` stand on the first node, and so on.
    pub devices_per_node: u32,
    /// Ranks of each node, when they do not follow one another.
    #[serde(default)]
    pub nodes: Option<Vec<Vec<u32>>>,
}

/// One axis of a mesh.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Name.
    pub name: String,
    /// Ranks along it.
    pub size: u32,
    /// Whether its groups are meant to stay within a node.
    #[serde(default)]
    pub within_node: bool,
}

impl Axis {
    /// An axis that may span nodes.
    pub fn new(name: &str, size: u32) -> Self {
        Self { name: name.to_owned(), size, within_node: false }
    }
}

impl Mesh {
    /// Ranks of the mesh.
    pub fn ranks(&self) -> u32 {
        self.axes.iter().map(|axis| axis.size).product()
    }

    /// Ranks along several axes together.
    pub fn size(&self, axes: &[&str]) -> u32 {
        self.axes.iter().filter(|axis| axes.contains(&axis.name.as_str())).map(|axis| axis.size).product()
    }

    /// A rank's place on an axis; 0 on an axis that the mesh does not have.
    pub fn place(&self, axis: &str, rank: u32) -> u32 {
        self.stride(axis).map_or(0, |(stride, size)| rank / stride % size)
    }

    /// The ranks that differ from `rank` on these axes at most, in ascending order.
    pub fn group(&self, axes: &[&str], rank: u32) -> Vec<u32> {
        let strides: Vec<(u32, u32)> = (self.axes.iter())
            .filter(|axis| axes.contains(&axis.name.as_str()))
            .filter_map(|axis| self.stride(&axis.name))
            .collect();
        let first = strides.iter().fold(rank, |first, (stride, size)| first - rank / stride % size * stride);
        // Outer axes come first, so that the ranks come in order.
        strides.iter().fold(vec![first], |ranks, &(stride, size)| {
            ranks.iter().flat_map(|&rank| (0..size).map(move |place| rank + place * stride)).collect()
        })
    }

    /// Distance in ranks between neighbours on an axis, and its size.
    fn stride(&self, name: &str) -> Option<(u32, u32)> {
        let at = self.axes.iter().position(|axis| axis.name == name)?;
        Some((self.axes[at + 1..].iter().map(|axis| axis.size).product(), self.axes[at].size))
    }

    /// The axes along which exactly these ranks form a group, by name.
    pub fn axes_of(&self, ranks: &[u32]) -> Option<Vec<&str>> {
        let first = *ranks.first()?;
        let varies = |axis: &&Axis| {
            ranks.iter().any(|&rank| self.place(&axis.name, rank) != self.place(&axis.name, first))
        };
        let axes: Vec<&str> = self.axes.iter().filter(varies).map(|axis| axis.name.as_str()).collect();
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        (self.group(&axes, first) == sorted).then_some(axes)
    }

    /// The node of a rank.
    pub fn node(&self, rank: u32) -> u32 {
        let listed = self.nodes.iter().flatten().position(|ranks| ranks.contains(&rank));
        match listed.and_then(|node| u32::try_from(node).ok()) {
            Some(node) => node,
            None => rank / self.devices_per_node.max(1),
        }
    }

    /// Nodes that these ranks stand on.
    pub fn nodes_of(&self, ranks: &[u32]) -> usize {
        ranks.iter().map(|&rank| self.node(rank)).collect::<BTreeSet<_>>().len()
    }

    /// The most nodes that a group along these axes spans.
    pub fn nodes_spanned(&self, axes: &[&str]) -> usize {
        (0..self.ranks()).map(|rank| self.nodes_of(&self.group(axes, rank))).max().unwrap_or(0)
    }

    pub(super) fn check(&self) -> Result<(), PlanError> {
        let refuse = |field: String, found: String, expected: &str| {
            Err(PlanError::Field { field, found, expected: expected.to_owned() })
        };
        if self.axes.is_empty() {
            return refuse(
                "mesh.axes".into(),
                "none".into(),
                "the axes, outermost first, as {name: data, size: 16}",
            );
        }
        let mut ranks = 1_u32;
        for (index, axis) in self.axes.iter().enumerate() {
            let field = |name: &str| format!("mesh.axes[{index}].{name}");
            if axis.size == 0 {
                return refuse(field("size"), "0".into(), "at least 1");
            }
            if self.axes[..index].iter().any(|other| other.name == axis.name) {
                return refuse(field("name"), axis.name.clone(), "a name that no other axis has");
            }
            match ranks.checked_mul(axis.size).filter(|&ranks| ranks <= Self::MOST_RANKS) {
                Some(product) => ranks = product,
                None => return refuse(field("size"), axis.size.to_string(), "a mesh of 65536 ranks at most"),
            }
        }
        if self.devices_per_node == 0 {
            return refuse(
                "mesh.devices_per_node".into(),
                "0".into(),
                "the ranks of one node, for example 8",
            );
        }
        if let Some(nodes) = &self.nodes {
            let mut listed: Vec<u32> = nodes.iter().flatten().copied().collect();
            listed.sort_unstable();
            if listed != (0..ranks).collect::<Vec<_>>() {
                let found = format!("{} ranks", listed.len());
                let expected = format!("every rank from 0 to {} once", ranks - 1);
                return refuse("mesh.nodes".into(), found, &expected);
            }
        }
        Ok(())
    }

    /// Ranks that a mesh may have: groups are listed rank by rank, so that it must have an end.
    pub const MOST_RANKS: u32 = 65_536;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mesh() -> Mesh {
        let axes = vec![Axis::new("pipe", 2), Axis::new("data", 3), Axis::new("model", 4)];
        Mesh { axes, devices_per_node: 8, nodes: None }
    }

    #[test]
    fn ranks_tell_their_axes() {
        let mesh = mesh();
        assert_eq!(mesh.ranks(), 24);
        assert_eq!(mesh.axes_of(&[4, 5, 6, 7]), Some(vec!["model"]));
        assert_eq!(mesh.axes_of(&[13, 1]), Some(vec!["pipe"]));
        assert_eq!(mesh.axes_of(&mesh.group(&["data", "model"], 0)), Some(vec!["data", "model"]));
        assert_eq!(mesh.axes_of(&[0, 5]), None, "no axis has these two alone");
        assert_eq!(mesh.axes_of(&[]), None);
    }

    #[test]
    fn nodes_may_be_listed() {
        let scattered = Mesh { nodes: Some(vec![vec![0, 2], vec![1, 3]]), ..small() };
        assert_eq!((small().nodes_spanned(&["model"]), scattered.nodes_spanned(&["model"])), (1, 2));
        assert!(scattered.check().is_ok());
        let missing = Mesh { nodes: Some(vec![vec![0, 2]]), ..small() };
        let error = missing.check().unwrap_err().to_string();
        assert_eq!(error, "mesh.nodes: found 2 ranks; expected every rank from 0 to 3 once");
    }

    fn small() -> Mesh {
        Mesh { axes: vec![Axis::new("data", 2), Axis::new("model", 2)], devices_per_node: 2, nodes: None }
    }
}
