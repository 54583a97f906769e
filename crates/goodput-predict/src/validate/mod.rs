//! How far predictions are from measured runs.

mod fields;
mod layout;
mod model;
mod read;
mod row;
mod rules;
mod settings;

pub use fields::{Assumption, Refusal};
pub use read::{ReadError, read};
pub use row::{Measured, RunRow, StepTimeSource};
pub use rules::{RuleError, Rules};
