//! How long an exchange between devices takes: what NCCL would choose, on the links that the group has.
//!
//! ```
//! use goodput_predict::cluster::Clusters;
//! use goodput_predict::collective::{Collectives, GroupShape, Operation};
//! let dgx = Clusters::built_in().find("DGX H100")?;
//! // Tensor parallelism of 8: neighbours in one node. Data parallelism of 16 outside it: one device a node, eight such groups at once.
//! let tensor = GroupShape::strided(dgx, 8, 1);
//! let data = GroupShape::strided(dgx, 16, 8);
//! assert_eq!((data.nodes, data.per_node, data.concurrent), (16, 1, 8));
//! // Prepared once, evaluated by size.
//! let exchange = Collectives::new(dgx).prepare(Operation::AllReduce, tensor, 2);
//! let time = exchange.time(36.3e6);
//! assert!(time.estimate.ns > 1e5 && time.estimate.ns < 3e5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod contention;
mod exchange;
pub mod expert;

mod fit;
mod graph;
pub mod guide;
mod prepared;
mod release;
mod shape;
mod table;
mod torus;
mod tuner;

use crate::Estimate;

pub use prepared::{Collectives, Prepared};
pub use release::{Release, UnknownRelease};
pub use shape::GroupShape;

/// What is exchanged. `bytes` of it are those of nccl-tests' "size".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Each device ends with the sum; `bytes` of one device's buffer.
    AllReduce,
    /// Each device ends with every device's part; `bytes` of the gathered whole.
    AllGather,
    /// Each device ends with its part of the sum; `bytes` of the whole before scattering.
    ReduceScatter,
    /// Every device sends a part to every other; `bytes` of one device's send buffer.
    AllToAll,
    /// One device's buffer to all.
    Broadcast,
    /// The sum to one device.
    Reduce,
    /// From one device to one other: a pipeline's activations.
    SendReceive,
}

impl Operation {
    /// Steps of a ring over `devices`.
    #[must_use]
    pub fn ring_steps(self, devices: u32) -> f64 {
        let n = f64::from(devices);
        match self {
            Self::AllReduce => 2.0 * (n - 1.0),
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => n - 1.0,
            Self::Broadcast | Self::Reduce => n,
            Self::SendReceive => 1.0,
        }
    }

    /// Bytes over the wire of each device for each byte of the tensor: nccl-tests' factor of bus bandwidth.
    #[must_use]
    pub fn bus_factor(self, devices: u32) -> f64 {
        match self {
            Self::AllReduce | Self::AllGather | Self::ReduceScatter | Self::AllToAll => {
                self.ring_steps(devices) / f64::from(devices)
            }
            Self::Broadcast | Self::Reduce | Self::SendReceive => 1.0,
        }
    }
}

/// How the data move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// From neighbour to neighbour.
    Ring,
    /// Up and down two complementary trees.
    Tree,
    /// Reduced and multicast by the switches of one domain.
    Nvls,
    /// By the switches inside domains, a tree between them.
    NvlsTree,
    /// Every pair by itself.
    Pairwise,
    /// Along the axes of a torus.
    Torus,
}

/// How a byte travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Four bytes of data beside four of flag.
    Ll,
    /// 120 bytes of data in a line of 128.
    Ll128,
    /// Blocks and fences.
    Simple,
}

impl Protocol {
    pub(crate) const ALL: [Self; 3] = [Self::Ll, Self::Ll128, Self::Simple];

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// How long an exchange takes and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CollectiveTime {
    /// The whole.
    pub estimate: Estimate,
    /// What NCCL would choose.
    pub algorithm: Algorithm,
    /// What NCCL would choose.
    pub protocol: Protocol,
    /// Bytes over the wire of each device a nanosecond, GB/s, as nccl-tests prints.
    pub bus_gb_per_s: f64,
    /// Multiprocessors that it occupies at most.
    pub sm_count: u32,
    /// The part that does not grow with the bytes, ns.
    pub latency_ns: f64,
    /// The part that does, ns.
    pub bandwidth_ns: f64,
}
