//! Measures of fragmentation: how much of the free capacity no gang or task could use.
//!
//! Two families: pools of whole-node gangs ([`whole_node_fragments`]) and nodes shared by small tasks
//! ([`task_fragments`], the measure of Weng et al., "Beware of Fragmentation", USENIX ATC 2023).

/// Free devices that gangs of whole nodes could not use, averaged over gang sizes.
///
/// `free` devices are free on schedulable nodes of `node_devices` devices each; `whole_by_block` counts the
/// wholly free nodes of each topology block. A gang of `k` nodes can use `k * node_devices` devices for every
/// `k` whole nodes of one block. `gangs` gives the nodes and the weight of each size; `None` when no size weighs.
///
/// ```
/// use goodput_core::scheduling::whole_node_fragments;
/// // Three 8-device nodes with 7, 6 and 7 devices used: 4 are free and no whole node is.
/// assert_eq!(whole_node_fragments(4, 8, &[0], [(1, 1)]), Some(4.0));
/// // Three whole nodes hold one gang of two nodes.
/// assert_eq!(whole_node_fragments(24, 8, &[3], [(2, 1)]), Some(8.0));
/// ```
pub fn whole_node_fragments(
    free: u64,
    node_devices: u32,
    whole_by_block: &[u32],
    gangs: impl IntoIterator<Item = (u32, i64)>,
) -> Option<f64> {
    let (mut weighted, mut weights) = (0.0, 0.0);
    for (nodes, weight) in gangs {
        if nodes == 0 || weight <= 0 {
            continue;
        }
        let gangs: u64 = whole_by_block.iter().map(|&whole| u64::from(whole / nodes)).sum();
        let usable = u64::from(node_devices) * u64::from(nodes) * gangs;
        let weight = weight as f64;
        weighted += weight * free.saturating_sub(usable) as f64;
        weights += weight;
    }
    (weights > 0.0).then(|| weighted / weights)
}

/// A node with shared devices, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedNode<'a> {
    /// CPU left, in milli-CPU.
    pub cpu_milli: u64,
    /// What is left of each device, in milli-devices.
    pub devices_milli: &'a [u32],
    /// Device type.
    pub device_type: &'a str,
}

/// A class of tasks and how often it arrives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TaskClass<'a> {
    /// CPU asked for, in milli-CPU.
    pub cpu_milli: u64,
    /// Share of each device, in milli-devices; zero for a task without devices.
    pub share_milli: u32,
    /// Devices.
    pub devices: u32,
    /// Required device type; empty for any.
    pub device_type: &'a str,
    /// Probability. The probabilities of a mix are used as given.
    pub probability: f64,
}

/// Free device capacity of `node` that tasks of `mix` are expected not to be able to use, in milli-devices.
///
/// All of it for a task that does not fit, wants another type or wants no device; otherwise the devices with less
/// left than the task's share.
///
/// ```
/// use goodput_core::scheduling::{SharedNode, TaskClass, task_fragments};
/// let node = SharedNode { cpu_milli: 1000, devices_milli: &[200, 1000, 1000, 500], device_type: "1080" };
/// let one = TaskClass { cpu_milli: 500, share_milli: 1000, devices: 1, device_type: "", probability: 1.0 };
/// assert_eq!(task_fragments(&node, &[one]), 700.0);
/// ```
pub fn task_fragments(node: &SharedNode<'_>, mix: &[TaskClass<'_>]) -> f64 {
    let free: u64 = node.devices_milli.iter().map(|&left| u64::from(left)).sum();
    let fragment = |task: &TaskClass<'_>| {
        let of_type = task.device_type.is_empty() || task.device_type == node.device_type;
        let roomy = node.devices_milli.iter().filter(|&&left| left >= task.share_milli).count() as u64;
        let fits = roomy >= u64::from(task.devices) && node.cpu_milli >= task.cpu_milli;
        if task.share_milli == 0 || !of_type || !fits {
            return free;
        }
        node.devices_milli.iter().filter(|&&left| left < task.share_milli).map(|&left| u64::from(left)).sum()
    };
    mix.iter().map(|task| task.probability * fragment(task) as f64).sum()
}
