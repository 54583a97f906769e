//! What a training step computes, exactly, and what a device could: the two sides of MFU.

pub mod architecture;
pub mod audit;
pub mod convention;
pub mod conversion;
pub mod device;
pub mod flops;
pub mod meter;
pub mod self_check;

mod batch;
mod mask;
mod operations;
mod parameters;
mod training;

pub use architecture::{Architecture, ArchitectureError};
pub use batch::{Batch, BatchError, Grid};
pub use convention::{Convention, ConventionError, FlopsPerToken};
pub use flops::{Component, FlopCounter, Flops, Passes, Recompute};
pub use mask::{Mask, bottom_right_causal_pairs};
pub use parameters::{Cache, Parameters};
pub use training::{Module, Training};
