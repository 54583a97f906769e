//! Step time, MFU and memory of a parallel layout, term by term.

pub mod cluster;
pub mod collective;
mod estimate;
pub mod kernel;
pub mod layer;
pub mod measured;
pub mod memory;
pub mod run;
pub mod schedule;
pub mod search;
pub mod step;
pub mod validate;

pub use estimate::{Basis, Estimate};
