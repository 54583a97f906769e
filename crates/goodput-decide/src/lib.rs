//! Decisions on goodput. A number is useful only if two of them can be compared and a decision follows.
//!
//! [`levers`] says what kernel-level changes do to a step. [`lint`] checks planning sheets and reports for known mistakes.
//!
//! [`report`] reads back what the verbs wrote; everything else of this crate judges such reports, or plans before there
//! are any.

pub mod adequacy;
pub mod baseline;
pub mod compare;
pub mod contract;
pub mod levers;
pub mod lint;
mod nearest;
pub mod plan;
pub mod report;
mod serde_words;
mod yaml;
