//! Decisions on goodput. A number is useful only if two of them can be compared and a decision follows.
//!
//! [`report`] reads back what the verbs wrote; everything else of this crate judges such reports, or plans before there
//! are any.

pub mod adequacy;
pub mod compare;
pub mod contract;
pub mod plan;
pub mod report;
