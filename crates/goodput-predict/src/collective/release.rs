//! What NCCL's tuner reckons with, by release: `data/collective/nccl_tuner.yaml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::cluster::{Cpu, Generation};

use super::{Algorithm, Protocol};

/// The constants of one release.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The release.
    pub version: String,
    /// The commit of NVIDIA/nccl that the constants were read at.
    pub commit: String,
    base: Latencies,
    nvlink: Latencies,
    pci: Latencies,
    net: Latencies,
    pub(super) rules: Rules,
    pub(super) nvls: NvlsRule,
    #[serde(default)]
    nvls_efficiency: BTreeMap<Generation, f64>,
    ll_max: BTreeMap<Generation, [f64; 3]>,
    ll_max_multi_node: LlMax,
    channel_ring_ll128: BTreeMap<Generation, [f64; 3]>,
    channel_tree_ll128: BTreeMap<Generation, [f64; 3]>,
    channel_tree: BTreeMap<Generation, [f64; 3]>,
    #[serde(default)]
    channel_nvls_tree: BTreeMap<Generation, [f64; 3]>,
    pub(super) tree_most: Option<TreeMost>,
    /// Whether switch reductions work in a domain of several nodes.
    #[serde(default = "yes")]
    pub(super) multicast_domain_nvls: bool,
    /// The last generation that gets LL128.
    #[serde(default = "last")]
    pub(super) ll128_to: Generation,
}

/// How the formulas changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rules {
    /// 2.7.
    First,
    /// 2.20.
    Second,
    /// 2.26 and later.
    Third,
}

/// What switch reductions are reckoned to carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NvlsRule {
    /// The release has none.
    None,
    /// 5/6 of the links for the whole message.
    FiveSixths,
    /// An efficiency by generation, both directions at once.
    Efficiency,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Latencies {
    tree: [f64; 3],
    ring: [f64; 3],
    nvls: [f64; 3],
    nvls_tree: [f64; 3],
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct LlMax {
    amd: [f64; 2],
    other: [f64; 2],
}

/// What the first release's trees carry at most, GB/s by 1, 2 and more nodes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TreeMost {
    pub(super) ll128: [f64; 3],
    pub(super) other: [f64; 3],
}

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    releases: Vec<Release>,
    tree_correction: Correction,
    channel_speeds: BTreeMap<Generation, Speeds>,
}

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Correction {
    ll: Vec<f64>,
    ll128: Vec<f64>,
    simple: Vec<f64>,
}

/// Bandwidths that one channel may have, GB/s, largest first.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Speeds {
    pub(super) intra: Vec<f64>,
    pub(super) inter: Vec<f64>,
}

/// No release of that version is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no constants of NCCL {version} or earlier are known; known are {}", .known.join(", "))]
pub struct UnknownRelease {
    /// The version as given.
    pub version: String,
    /// The versions that are known.
    pub known: Vec<String>,
}

const fn yes() -> bool {
    true
}

const fn last() -> Generation {
    Generation::Blackwell
}

const FILE: &str = include_str!("../../data/collective/nccl_tuner.yaml");

fn file() -> &'static File {
    // A test reads the file, so that the empty one is never seen.
    static BUILT_IN: LazyLock<File> = LazyLock::new(|| serde_saphyr::from_str(FILE).unwrap_or_default());
    &BUILT_IN
}

/// The generation's entry, else the one before it, else the first.
fn of<T: Copy>(entries: &BTreeMap<Generation, T>, generation: Generation) -> Option<T> {
    let known = if generation == Generation::Cdna { Generation::Ampere } else { generation };
    let before = entries.range(..=known).next_back();
    before.or_else(|| entries.iter().next()).map(|(_, value)| *value)
}

/// 0 for one node, 1 for two, 2 for more.
pub(super) fn node_index(nodes: u32) -> usize {
    (nodes.clamp(1, 3) - 1) as usize
}

impl Release {
    /// The newest that is known.
    #[must_use]
    pub fn newest() -> Option<&'static Self> {
        file().releases.last()
    }

    /// All that are known, oldest first.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &file().releases
    }

    /// The newest known release that is not newer than a version such as `2.26.2`.
    ///
    /// # Errors
    /// [`UnknownRelease`] for a version before the first.
    pub fn of_version(version: &str) -> Result<&'static Self, UnknownRelease> {
        let parts =
            |text: &str| text.split('.').map(|part| part.parse::<u32>().unwrap_or(0)).collect::<Vec<_>>();
        let wanted = parts(version);
        let known = || file().releases.iter().map(|release| release.version.clone()).collect();
        let mut older = file().releases.iter().rev();
        older
            .find(|release| parts(&release.version) <= wanted)
            .ok_or_else(|| UnknownRelease { version: version.to_owned(), known: known() })
    }

    fn latency(table: &Latencies, algorithm: Algorithm, protocol: Protocol) -> f64 {
        let row = match algorithm {
            Algorithm::Tree => &table.tree,
            Algorithm::Nvls => &table.nvls,
            Algorithm::NvlsTree => &table.nvls_tree,
            Algorithm::Ring | Algorithm::Pairwise | Algorithm::Torus => &table.ring,
        };
        row[protocol.index()]
    }

    /// Start of a call, us.
    pub(super) fn base(&self, algorithm: Algorithm, protocol: Protocol) -> f64 {
        Self::latency(&self.base, algorithm, protocol)
    }

    /// A hop inside the node, us.
    pub(super) fn hop(&self, direct: bool, algorithm: Algorithm, protocol: Protocol) -> f64 {
        Self::latency(if direct { &self.nvlink } else { &self.pci }, algorithm, protocol)
    }

    /// A hop between nodes, us, without what the network itself adds.
    pub(super) fn net(&self, algorithm: Algorithm, protocol: Protocol) -> f64 {
        Self::latency(&self.net, algorithm, protocol)
    }

    /// What LL moves at most, GB/s: of the device inside one node, of the host's processor beyond.
    pub(super) fn ll_max(&self, generation: Generation, cpu: Cpu, nodes: u32) -> f64 {
        let hosts = if cpu == Cpu::Amd { self.ll_max_multi_node.amd } else { self.ll_max_multi_node.other };
        match node_index(nodes) {
            0 => of(&self.ll_max, generation).map_or(f64::INFINITY, |caps| caps[0]),
            index => hosts[index - 1],
        }
    }

    pub(super) fn channel_ring_ll128(&self, generation: Generation, nodes: u32) -> f64 {
        of(&self.channel_ring_ll128, generation).map_or(f64::INFINITY, |caps| caps[node_index(nodes)])
    }

    pub(super) fn channel_tree_ll128(&self, generation: Generation, nodes: u32) -> f64 {
        of(&self.channel_tree_ll128, generation).map_or(f64::INFINITY, |caps| caps[node_index(nodes)])
    }

    pub(super) fn channel_tree(&self, generation: Generation, nodes: u32) -> f64 {
        of(&self.channel_tree, generation).map_or(f64::INFINITY, |caps| caps[node_index(nodes)])
    }

    pub(super) fn channel_nvls_tree(&self, generation: Generation, nodes: u32) -> f64 {
        of(&self.channel_nvls_tree, generation).map_or(f64::INFINITY, |caps| caps[node_index(nodes)])
    }

    pub(super) fn nvls_efficiency(&self, generation: Generation) -> f64 {
        of(&self.nvls_efficiency, generation).unwrap_or(0.0)
    }
}

/// Factor on a tree's bandwidth. NCCL steps from one power of two to the next; the line between them keeps a larger
/// message from being faster than a smaller one.
pub(super) fn tree_correction(protocol: Protocol, bytes: f64) -> f64 {
    let correction = &file().tree_correction;
    let steps = match protocol {
        Protocol::Ll => &correction.ll,
        Protocol::Ll128 => &correction.ll128,
        Protocol::Simple => &correction.simple,
    };
    let position = (bytes / 64.0).log2().max(0.0);
    let at = |index: usize| steps.get(index).copied().unwrap_or(1.0);
    let below = position.floor();
    let index = below as usize;
    at(index) + (at(index + 1) - at(index)) * (position - below)
}

/// Bandwidths that a channel of a generation may have.
pub(super) fn speeds(generation: Generation) -> Option<&'static Speeds> {
    let known = match generation {
        Generation::Volta | Generation::Cdna => Generation::Ampere,
        other => other,
    };
    file().channel_speeds.get(&known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_holds_four_releases() {
        let read: File = serde_saphyr::from_str(FILE).unwrap();
        assert_eq!(read.releases.len(), 4);
        assert_eq!(read.tree_correction.ll.len(), 23);
        assert_eq!(Release::newest().unwrap().version, "2.30.7");
    }

    #[rstest::rstest]
    #[case("2.30.7", "2.30.7")]
    #[case("2.29.2", "2.26.2")]
    #[case("2.27.7", "2.26.2")]
    #[case("2.21", "2.20.3")]
    fn a_version_takes_the_constants_before_it(#[case] version: &str, #[case] known: &str) {
        assert_eq!(Release::of_version(version).unwrap().version, known);
    }

    #[test]
    fn a_version_before_the_first_says_what_is_known() {
        assert!(Release::of_version("2.4").unwrap_err().to_string().contains("2.7.5"));
    }
}
