//! Which ranks: suspects with a healthy peer first, then whatever covers most that no chosen rank has covered.

use std::collections::{BTreeMap, BTreeSet};

use crate::audit::Mesh;

pub(super) const PIPELINE: &str = "pipeline";
pub(super) const TENSOR: &str = "tensor";

/// A rank that made others wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspect {
    /// The rank.
    pub rank: u32,
    /// What it made others wait, in nanoseconds: the worst come first.
    pub blame_ns: i64,
}

/// A rank to trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenRank {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: u32,
    /// Why.
    pub reason: Reason,
}

/// Why a rank is traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It made others wait.
    Suspect,
    /// It does the same work as a suspect, in the same group, and nobody blames it.
    HealthyPeer {
        /// The suspect.
        of: u32,
    },
    /// It completes a group, so that waiting can be told from transfer.
    WholeGroup {
        /// The axis.
        axis: String,
    },
    /// It covers places and nodes that no rank before it did.
    Covers {
        /// Axes on which its place is new, and `node`.
        strata: Vec<String>,
    },
    /// Everything was covered: it makes the sample larger.
    Larger,
}

/// Places on an axis, or nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stratum {
    /// The axis, or `node`.
    pub name: String,
    /// Places on it.
    pub places: u32,
    /// Places of which a rank is traced.
    pub traced: u32,
}

/// Chooses `count` ranks.
pub(super) fn choose(mesh: &Mesh, count: u32, suspects: &[Suspect]) -> Vec<ChosenRank> {
    let mut choice =
        Choice { mesh, count: count as usize, chosen: BTreeMap::new(), covered: BTreeSet::new() };
    let mut suspects = suspects.to_vec();
    suspects.sort_by_key(|suspect| (-suspect.blame_ns, suspect.rank));
    let blamed: BTreeSet<u32> = suspects.iter().map(|suspect| suspect.rank).collect();
    for suspect in &suspects {
        // A suspect without a peer to compare it with tells nothing: both or neither.
        let peer = healthy_peer(mesh, suspect.rank, &blamed);
        let new =
            [Some(suspect.rank), peer].into_iter().flatten().filter(|rank| !choice.chosen.contains_key(rank));
        if choice.room() >= new.count() {
            choice.take(suspect.rank, Reason::Suspect);
            if let Some(peer) = peer {
                choice.take(peer, Reason::HealthyPeer { of: suspect.rank });
            }
        }
    }
    while choice.room() > 0 && choice.chosen.len() < mesh.ranks() as usize {
        choice.next();
    }
    let chosen = choice.chosen.into_iter();
    chosen.map(|(rank, reason)| ChosenRank { rank, node: mesh.node(rank), reason }).collect()
}

/// A rank that does the same work: it differs from the suspect on one axis only, best on the axis of replicas, and on
/// another node, so that a bad node does not slow both.
fn healthy_peer(mesh: &Mesh, suspect: u32, blamed: &BTreeSet<u32>) -> Option<u32> {
    let order = |axis: &str| match axis {
        PIPELINE => 2,
        TENSOR => 1,
        _ => 0,
    };
    let peers = mesh.axes.iter().flat_map(|axis| {
        let group = mesh.group(&[axis.name.as_str()], suspect);
        group.into_iter().map(move |rank| (order(&axis.name), rank))
    });
    peers
        .filter(|(_, rank)| *rank != suspect && !blamed.contains(rank))
        .min_by_key(|&(order, rank)| {
            (order, mesh.node(rank) == mesh.node(suspect), rank.abs_diff(suspect), rank)
        })
        .map(|(_, rank)| rank)
}

struct Choice<'a> {
    mesh: &'a Mesh,
    count: usize,
    chosen: BTreeMap<u32, Reason>,
    /// Places by axis (by its index; one after the last for nodes).
    covered: BTreeSet<(usize, u32)>,
}

impl Choice<'_> {
    fn room(&self) -> usize {
        self.count.saturating_sub(self.chosen.len())
    }

    fn take(&mut self, rank: u32, reason: Reason) {
        self.covered.extend(places(self.mesh, rank));
        self.chosen.entry(rank).or_insert(reason);
    }

    /// The rank that covers most, and, once every stage has a rank, its innermost group if there is room for it.
    fn next(&mut self) {
        let free = (0..self.mesh.ranks()).filter(|rank| !self.chosen.contains_key(rank));
        let new = |rank: u32| {
            let new: Vec<usize> = places(self.mesh, rank)
                .filter(|place| !self.covered.contains(place))
                .map(|(at, _)| at)
                .collect();
            let is_new_stage = new.iter().any(|&at| self.name(at) == PIPELINE);
            (is_new_stage, new)
        };
        // Rank 0 also logs and saves: of equals it comes last.
        let best = free.map(|rank| (new(rank), rank)).max_by_key(|((is_new_stage, new), rank)| {
            (*is_new_stage, new.len(), *rank != 0, std::cmp::Reverse(*rank))
        });
        let Some(((_, new), rank)) = best else { return };
        let strata: Vec<String> = new.iter().map(|&at| self.name(at).to_owned()).collect();
        self.take(rank, if strata.is_empty() { Reason::Larger } else { Reason::Covers { strata } });
        let stages_left = self.uncovered(PIPELINE);
        let group = self.mesh.group(&[TENSOR], rank);
        let missing: Vec<u32> = group.into_iter().filter(|rank| !self.chosen.contains_key(rank)).collect();
        if self.room() >= missing.len() + stages_left {
            for rank in missing {
                self.take(rank, Reason::WholeGroup { axis: TENSOR.to_owned() });
            }
        }
    }

    /// Places on an axis that no rank covers.
    fn uncovered(&self, axis: &str) -> usize {
        let Some(at) = self.mesh.axes.iter().position(|own| own.name == axis) else { return 0 };
        self.mesh.axes[at].size as usize - self.covered.range((at, 0)..=(at, u32::MAX)).count()
    }

    fn name(&self, at: usize) -> &str {
        self.mesh.axes.get(at).map_or("node", |axis| &axis.name)
    }
}

/// A rank's place on each axis, and its node.
fn places(mesh: &Mesh, rank: u32) -> impl Iterator<Item = (usize, u32)> + '_ {
    let axes = mesh.axes.iter().enumerate().map(move |(at, axis)| (at, mesh.place(&axis.name, rank)));
    axes.chain([(mesh.axes.len(), mesh.node(rank))])
}

/// How much of each axis, and of the nodes, the ranks cover.
pub(super) fn strata(mesh: &Mesh, traced: &[u32]) -> Vec<Stratum> {
    let covered: BTreeSet<(usize, u32)> = traced.iter().flat_map(|&rank| places(mesh, rank)).collect();
    let traced_of =
        |at: usize| u32::try_from(covered.range((at, 0)..=(at, u32::MAX)).count()).unwrap_or(u32::MAX);
    let axes = mesh.axes.iter().enumerate().map(|(at, axis)| Stratum {
        name: axis.name.clone(),
        places: axis.size,
        traced: traced_of(at),
    });
    let all: Vec<u32> = (0..mesh.ranks()).collect();
    let nodes = Stratum {
        name: "node".to_owned(),
        places: u32::try_from(mesh.nodes_of(&all)).unwrap_or(u32::MAX),
        traced: traced_of(mesh.axes.len()),
    };
    axes.chain([nodes]).collect()
}

/// Axes of which at least one group is traced whole.
pub(super) fn whole_axes(mesh: &Mesh, traced: &[u32]) -> Vec<String> {
    let traced: BTreeSet<u32> = traced.iter().copied().collect();
    let is_whole = |axis: &str| {
        traced.iter().any(|&rank| mesh.group(&[axis], rank).iter().all(|member| traced.contains(member)))
    };
    mesh.axes.iter().filter(|axis| is_whole(&axis.name)).map(|axis| axis.name.clone()).collect()
}
