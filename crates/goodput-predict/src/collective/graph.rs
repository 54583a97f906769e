//! Channels: how many, and what each carries. A short form of NCCL's search over the topology (src/graph/search.cc): the
//! channel speed of its list that uses most of the links.

use crate::cluster::{Cluster, Generation};

use super::GroupShape;
use super::release::speeds;

/// Channels that run in parallel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Graph {
    pub(super) channels: u32,
    /// GB/s of a channel inside the node.
    pub(super) intra: f64,
    /// GB/s of a channel between nodes, with the share of the adapters that the group really has.
    pub(super) inter: f64,
}

/// The most channels of one ring before they are doubled.
const MOST_RING_CHANNELS: u32 = 32;
/// The most multiprocessors that one call takes (MAXCHANNELS of the releases up to 2.22; later ones rarely pass it).
const MOST_SMS: u32 = 32;
/// Devices that can head a switch reduction.
const MOST_HEADS: u32 = 32;

/// The speed and number of channels that use most of `total`, each within `largest`, `slots` of them for each whole
/// `largest`. The search takes the fastest that gives the most, and goes down to half of the best found.
fn search(speeds: &[f64], total: f64, largest: f64, slots: u32) -> (f64, u32) {
    let mut best = (0.0, 0);
    for &speed in speeds.iter().filter(|speed| **speed <= largest.min(total)) {
        if best.1 > 0 && speed < 0.49 * best.0 {
            break;
        }
        let by_links = (total / speed).floor().min(f64::from(MOST_RING_CHANNELS)) as u32;
        let by_adapters = slots.saturating_mul((largest / speed).floor().min(64.0) as u32);
        let channels = by_links.min(by_adapters);
        if f64::from(channels) * speed > f64::from(best.1) * best.0 {
            best = (speed, channels);
        }
    }
    if best.1 == 0 {
        // Slower than the list's last: one channel of what there is.
        best = (total.min(largest), 1);
    }
    best
}

/// Fast channels are split in two, so that more multiprocessors move them.
fn split((speed, channels): (f64, u32), generation: Generation) -> (f64, u32) {
    let newer = matches!(generation, Generation::Hopper | Generation::Blackwell);
    if speed < 25.0 || (newer && speed < 50.0 && channels > 4) {
        (speed, channels)
    } else {
        (speed / 2.0, channels * 2)
    }
}

/// Adapters that a group reaches, and the part of their bandwidth that is its own while its like exchange too and the
/// fabric beyond the pod is oversubscribed.
pub(super) fn adapters(cluster: &Cluster, shape: GroupShape) -> (u32, f64) {
    let Some(network) = &cluster.network else { return (0, 0.0) };
    let (all, devices) = (cluster.domain_nics(), cluster.domain_devices());
    // Each device uses the adapters beside it: neighbours that fill a node use all, one device a node its own.
    let near = (u64::from(all) * u64::from(shape.per_node)).div_ceil(u64::from(devices));
    let reached = (near as u32).clamp(1, all);
    let demand = f64::from(reached) * f64::from(shape.concurrent);
    let crowded = (f64::from(all) / demand).min(1.0);
    let beyond_pod = network.pod_nodes.is_some_and(|pod| shape.nodes * cluster.intra.domain_nodes > pod);
    let fabric = if network.pod_nodes.is_none() || beyond_pod { network.oversubscription } else { 1.0 };
    (reached, crowded / fabric)
}

/// The ring, which trees share.
pub(super) fn ring(cluster: &Cluster, shape: GroupShape, generation: Generation) -> Option<Graph> {
    let speeds = speeds(generation)?;
    let links = cluster.ring_gb_per_s(shape.per_node, shape.stride);
    if shape.nodes == 1 && generation == Generation::Cdna {
        // RCCL has rings for its own meshes, which use every link.
        let channels = MOST_RING_CHANNELS / 2;
        let speed = links / f64::from(channels);
        return Some(Graph { channels, intra: speed, inter: speed });
    }
    if shape.nodes == 1 {
        let (speed, channels) = split(search(&speeds.intra, links, links, u32::MAX), generation);
        return Some(Graph { channels, intra: speed, inter: speed });
    }
    let network = cluster.network.as_ref()?;
    let (reached, share) = adapters(cluster, shape);
    // A device alone in its node needs no link but its adapter's.
    let links = if shape.per_node == 1 { network.nic_gb_per_s * f64::from(reached) } else { links };
    let (speed, channels) = split(search(&speeds.inter, links, network.nic_gb_per_s, reached), generation);
    Some(Graph { channels, intra: speed, inter: speed * share })
}

/// The switch reduction: a channel a head. `None` where the switches cannot.
pub(super) fn nvls(cluster: &Cluster, shape: GroupShape, generation: Generation) -> Option<Graph> {
    if !cluster.intra.multicast || shape.per_node < 2 || generation < Generation::Hopper {
        return None;
    }
    let speeds = speeds(generation)?;
    let heads = shape.per_node.min(MOST_HEADS);
    let devices = f64::from(shape.per_node);
    // The head reads its own part without a link.
    let links = cluster.ring_gb_per_s(shape.per_node, shape.stride) * devices / (devices - 1.0);
    if shape.nodes == 1 {
        let mut index = speeds.intra.iter().position(|speed| *speed <= links / f64::from(heads))?;
        let intra = speeds.intra[index];
        let mut inter = intra;
        while inter < 2.0 * intra && index > 0 {
            index -= 1;
            inter = speeds.intra[index];
        }
        return Some(Graph { channels: heads, intra, inter });
    }
    let network = cluster.network.as_ref()?;
    let (reached, share) = adapters(cluster, shape);
    let (inter, channels) = search(&speeds.inter, links, network.nic_gb_per_s, reached.min(heads));
    let intra = (links / f64::from(channels)).min(2.0 * inter);
    Some(Graph { channels, intra, inter: inter * share })
}

/// Multiprocessors that a ring's or tree's call takes at most: its channels are doubled once the rings stand.
pub(super) fn multiprocessors(graph: &Graph) -> u32 {
    (graph.channels * 2).clamp(1, MOST_SMS)
}

/// What an adapter of a rated speed really carries, GB/s: the channel speeds that NCCL counts with, and that rings reach.
pub(super) fn adapter_gb_per_s(rated: f64, generation: Generation) -> f64 {
    let fits = speeds(generation).and_then(|speeds| speeds.inter.iter().find(|speed| **speed <= rated));
    fits.map_or(rated, |speed| speed * (rated / speed).floor())
}
