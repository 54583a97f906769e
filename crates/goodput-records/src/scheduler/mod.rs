//! Records of schedulers, as [`goodput_core::records::FleetRecords`].

pub mod import;
pub mod slurm;

mod completeness;

pub use completeness::completeness;
