//! What a person should know before trusting a figure.

use crate::records::SourceRef;

/// Something in the records that the accounting did not take at face value, or could not settle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// A stable word for the kind of warning (`clock_steps_back`, `beyond_capacity`, …).
    pub code: &'static str,
    /// What was seen, why it matters and what settles it.
    pub message: String,
    /// The record, when there is one.
    pub source: Option<SourceRef>,
}
