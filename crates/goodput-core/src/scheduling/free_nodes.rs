//! Nodes of a pool counted by how many devices they have free.

/// A Fenwick tree: change and query cost the logarithm of the largest node, which matters where devices are
/// counted in thousandths.
#[derive(Debug, Default)]
pub(super) struct FreeNodes {
    tree: Vec<u32>,
    nodes: u32,
}

impl FreeNodes {
    /// For nodes of at most `largest` devices.
    pub fn new(largest: u32) -> Self {
        Self { tree: vec![0; largest as usize + 2], nodes: 0 }
    }

    /// `nodes` nodes with `free` devices free come; they go when negative.
    pub fn add(&mut self, free: u32, nodes: i32) {
        self.nodes = self.nodes.saturating_add_signed(nodes);
        let mut i = free as usize + 1;
        while let Some(count) = self.tree.get_mut(i) {
            *count = count.saturating_add_signed(nodes);
            i += i & i.wrapping_neg();
        }
    }

    /// How many nodes have at least `free` devices free.
    pub fn at_least(&self, free: u64) -> u32 {
        let mut i = usize::try_from(free).unwrap_or(usize::MAX).min(self.tree.len().saturating_sub(1));
        let mut fewer = 0;
        while i > 0 {
            fewer += self.tree[i];
            i &= i - 1;
        }
        self.nodes.saturating_sub(fewer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_nodes_with_enough_free_devices() {
        let mut nodes = FreeNodes::new(8);
        for (free, count) in [(0, 1), (3, 1), (8, 2), (5, 1), (5, -1)] {
            nodes.add(free, count);
        }
        let counts: Vec<_> = [0, 1, 3, 4, 8, 9, u64::MAX].iter().map(|&free| nodes.at_least(free)).collect();
        assert_eq!(counts, [4, 3, 3, 2, 2, 0, 0]);
    }
}
