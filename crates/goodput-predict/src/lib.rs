//! Step time, MFU and memory of a parallel layout, term by term.

mod estimate;
pub mod kernel;

pub use estimate::{Basis, Estimate};
