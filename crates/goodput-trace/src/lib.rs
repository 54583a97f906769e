//! Step traces: where the device-time of a step went, over all ranks.
//!
//! A reader of one foreign format fills a [`trace::RankTrace`]; everything else knows traces and nothing of files.

pub mod class;
pub mod partition;
pub mod reading;
pub mod trace;
