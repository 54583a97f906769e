//! Step traces: where the device-time of a step went, over all ranks.
//!
//! A reader of one foreign format fills a [`trace::RankTrace`]; everything else knows traces and nothing of files.

pub mod analysis;
pub mod audit;
pub mod chrome;
pub mod class;
pub mod contention;
pub mod diagnosis;
pub mod flops;
mod json;
pub mod nearest_rank;
pub mod nsight;
pub mod partition;
pub mod peers;
pub mod phase;
pub mod read;
pub mod reading;
pub mod repair;
pub mod rocprof;
pub mod roofline;
pub mod sampling;
pub mod steps;
pub mod tables;
pub mod trace;
pub mod untraced;
pub mod write;
pub mod xplane;
