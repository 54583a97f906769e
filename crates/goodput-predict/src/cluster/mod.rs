//! Where a job runs: devices in nodes, the links between them, the network between nodes, the host.
//!
//! ```
//! use goodput_predict::cluster::{Cluster, Clusters};
//! let dgx = Clusters::built_in().find("dgx h100")?;
//! assert_eq!((dgx.devices_per_node, dgx.domain_devices()), (8, 8));
//! let ours = Cluster::from_yaml("ours.yaml", "
//! name: two GPUs on a desk
//! device: GeForce RTX 4090
//! devices_per_node: 2
//! generation: ampere
//! intra: {link: pcie, gb_per_s: 32, usable_gb_per_s: 22}
//! ")?;
//! assert!(ours.network.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod board;
mod catalogue;
mod yaml;

use std::collections::BTreeMap;
use std::sync::Arc;

use goodput_model::device::{Catalogue, Device, UnknownDevice};
use serde::Deserialize;

use crate::kernel::KernelTables;
use crate::measured::Measured;

pub use board::Board;
pub use catalogue::{Clusters, UnknownCluster};
pub use yaml::ClusterError;

/// Equal nodes of equal devices. Bandwidths are of one direction, in GB/s of 1e9 bytes, which are bytes a nanosecond.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// How it is called.
    pub name: String,
    /// Other names of it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The device, as the device catalogue calls it.
    pub device: String,
    /// How its boards differ from the catalogue's.
    #[serde(default)]
    pub board: Board,
    /// Devices that share one host; of a torus, devices of one slice.
    pub devices_per_node: u32,
    /// What NCCL's tuner takes the device for; none where no such library runs.
    pub generation: Option<Generation>,
    /// The links inside a node.
    pub intra: Intra,
    /// The network between nodes; none for a job that can never leave its node.
    pub network: Option<Network>,
    /// Who made the host's processor: it bounds what NCCL's LL protocol moves between nodes.
    #[serde(default)]
    pub cpu: Cpu,
    /// The host.
    #[serde(default)]
    pub host: Host,
    /// Nodes that there are; any number where it is not stated.
    #[serde(default)]
    pub nodes: Option<u32>,
    /// The device where it is not one of the catalogue's.
    #[serde(skip)]
    pub own_device: Option<Box<Device>>,
    /// Where the figures are from, by part.
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
    /// What its devices and links were measured to do, in front of the shipped tables. Not of the file: see
    /// [`Measured`].
    #[serde(skip)]
    pub measured: Option<Arc<Measured>>,
}

/// What NCCL's tuner tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generation {
    /// Compute capability 7.
    Volta,
    /// Compute capability 8.
    Ampere,
    /// Compute capability 9.
    Hopper,
    /// Compute capability 10 and later.
    Blackwell,
    /// AMD's: RCCL is a fork of NCCL whose constants are taken to be Ampere's, without LL128.
    Cdna,
}

/// The links inside a node.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intra {
    /// What joins the devices.
    pub link: Link,
    /// What all links of one device are rated at, GB/s of one direction.
    pub gb_per_s: f64,
    /// What a collective can use of that, GB/s; the rated figure where it is not stated.
    pub usable_gb_per_s: Option<f64>,
    /// Usable between two devices of a mesh, GB/s.
    pub peer_gb_per_s: Option<f64>,
    /// Usable between two pairs, GB/s.
    pub pcie_gb_per_s: Option<f64>,
    /// Whether the switches reduce and multicast (NVLink SHARP).
    #[serde(default)]
    pub multicast: bool,
    /// Nodes that share one NVLink domain: 18 for NVL72.
    #[serde(default = "one")]
    pub domain_nodes: u32,
    /// Lengths of a torus's axes.
    #[serde(default)]
    pub axes: Vec<u32>,
    /// Time of a hop in a torus, us.
    pub hop_us: Option<f64>,
}

/// What joins the devices of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    /// All to all at full bandwidth through switches.
    Nvswitch,
    /// Direct links from each device to the others: DGX-1, xGMI.
    Mesh,
    /// NVLink bridges between devices 0-1, 2-3, …; PCIe between the pairs.
    Pairs,
    /// PCIe alone.
    Pcie,
    /// A torus: neighbours along axes that wrap around.
    Torus,
}

/// The network between nodes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Adapters of one node.
    pub nics_per_node: u32,
    /// One adapter, GB/s of one direction.
    pub nic_gb_per_s: f64,
    /// Latency that the network plugin reports beyond NCCL's own constants, us: 75 for EFA.
    #[serde(default)]
    pub latency_us: f64,
    /// How many times less than all adapters together the fabric carries beyond a pod, at least 1.
    #[serde(default = "unit")]
    pub oversubscription: f64,
    /// Nodes that talk without oversubscription; all where it is not stated.
    pub pod_nodes: Option<u32>,
}

/// Who made the host's processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cpu {
    /// Intel.
    #[default]
    Intel,
    /// AMD.
    Amd,
    /// Arm: Grace, Graviton.
    Arm,
}

/// The host.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Time to enqueue one kernel, us.
    pub dispatch_us: f64,
    /// The link between a device and the host's memory, GB/s of one direction.
    #[serde(default)]
    pub link_gb_per_s: Option<f64>,
}

impl Default for Host {
    /// The guide's figure for H100 and later.
    fn default() -> Self {
        Self { dispatch_us: 5.0, link_gb_per_s: None }
    }
}

const fn one() -> u32 {
    1
}

const fn unit() -> f64 {
    1.0
}

impl Cluster {
    /// The kernels of its device, with what was measured on it in front.
    #[must_use]
    pub fn kernels(&self, device: &Device) -> KernelTables {
        let tables = KernelTables::new(device);
        match &self.measured {
            Some(measured) => measured.on(tables),
            None => tables,
        }
    }

    /// The device: the run's own, or the catalogue's.
    ///
    /// # Errors
    /// [`UnknownDevice`] with near names.
    pub fn find_device(&self) -> Result<&Device, UnknownDevice> {
        match &self.own_device {
            Some(own) => Ok(own),
            None => Catalogue::built_in().find(&self.device),
        }
    }

    /// Devices of one NVLink domain: NCCL counts the domain as one node.
    #[must_use]
    pub const fn domain_devices(&self) -> u32 {
        self.devices_per_node.saturating_mul(self.intra.domain_nodes)
    }

    /// Adapters of one NVLink domain.
    #[must_use]
    pub fn domain_nics(&self) -> u32 {
        self.network
            .as_ref()
            .map_or(0, |network| network.nics_per_node.saturating_mul(self.intra.domain_nodes))
    }

    /// GB/s that each of `devices` of one domain, `stride` apart, sends inside it in a ring.
    #[must_use]
    pub fn ring_gb_per_s(&self, devices: u32, stride: u32) -> f64 {
        let all = self.intra.usable_gb_per_s.unwrap_or(self.intra.gb_per_s);
        match self.intra.link {
            Link::Nvswitch | Link::Pcie | Link::Torus => all,
            Link::Mesh => {
                let peers = f64::from(devices.saturating_sub(1).max(1));
                self.intra.peer_gb_per_s.map_or(all, |peer| all.min(peer * peers))
            }
            Link::Pairs if !self.is_direct(devices, stride) => self.intra.pcie_gb_per_s.unwrap_or(all),
            Link::Pairs => all,
        }
    }

    /// Whether `devices` of one domain, `stride` apart, reach each other without PCIe.
    #[must_use]
    pub fn is_direct(&self, devices: u32, stride: u32) -> bool {
        match self.intra.link {
            Link::Nvswitch | Link::Mesh | Link::Torus => true,
            Link::Pairs => devices.saturating_mul(stride) <= 2,
            Link::Pcie => false,
        }
    }
}
