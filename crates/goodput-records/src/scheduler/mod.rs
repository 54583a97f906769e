//! Records of schedulers, as [`goodput_core::records::FleetRecords`].

pub mod slurm;
