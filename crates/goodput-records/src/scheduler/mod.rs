//! Records of schedulers, as [`goodput_core::records::FleetRecords`].

pub mod import;
pub mod slurm;

mod all_or_nothing;
mod completeness;
mod duplicates;

pub use completeness::completeness;
pub use duplicates::merge_duplicates;
