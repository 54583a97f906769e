//! What a training step computes, exactly, and what a device could: the two sides of MFU.

pub mod device;
pub mod meter;
