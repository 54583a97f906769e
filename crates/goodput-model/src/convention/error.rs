//! Why a convention gives no number for a model.

use crate::architecture::ArchitectureError;

/// A convention that is none, or that says nothing about a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConventionError {
    /// No such name.
    #[error("`{name}` is no convention; there are {names}")]
    NotKnown {
        /// The name.
        name: String,
        /// All of them.
        names: String,
    },
    /// The formula does not say what to do with a part of the model.
    #[error("the convention `{convention}` is not defined for {model}: {why}")]
    NotDefined {
        /// The convention.
        convention: &'static str,
        /// The model.
        model: String,
        /// The part.
        why: &'static str,
    },
    /// A sequence without tokens, or with more than any batch has.
    #[error("sequence length is {length}; expected 1 to {most}")]
    Length {
        /// The length.
        length: u64,
        /// The longest.
        most: u64,
    },
    /// Sizes that no model has.
    #[error(transparent)]
    Architecture(#[from] ArchitectureError),
}
