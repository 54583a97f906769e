//! Why a description gives no architecture.

/// A configuration that cannot be counted, with the field that is why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchitectureError {
    /// Not JSON, or not YAML of our form.
    #[error("{name}: {message}")]
    Syntax {
        /// The model.
        name: String,
        /// What the parser says, with its place.
        message: String,
    },
    /// A field that must be there is not.
    #[error("{name}: field `{field}` is missing; expected {expected}")]
    Missing {
        /// The model.
        name: String,
        /// The field, or its alternatives.
        field: String,
        /// What it says.
        expected: &'static str,
    },
    /// A field has a value that it cannot have.
    #[error("{name}: field `{field}` is {value}; expected {expected}")]
    Invalid {
        /// The model.
        name: String,
        /// The field.
        field: String,
        /// Its value.
        value: String,
        /// What it may be.
        expected: String,
    },
    /// A field that changes FLOPs, in a way that is not counted here.
    #[error("{name}: field `{field}` is {value}, which changes FLOPs and is not supported; {remedy}")]
    Unsupported {
        /// The model.
        name: String,
        /// The field.
        field: String,
        /// Its value.
        value: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// A field of an unknown model type of which nobody knows whether it changes FLOPs.
    #[error(
        "{name}: model type `{model_type}` is not known, and its field `{field}` may change FLOPs; describe the model in \
         YAML, or use one of the supported types: {supported}"
    )]
    UnknownField {
        /// The model.
        name: String,
        /// Its type.
        model_type: String,
        /// The field.
        field: String,
        /// The types that are supported.
        supported: String,
    },
    /// A configuration of another kind of model.
    #[error("{name}: {found}; supported are the model types {supported}")]
    OtherKind {
        /// The model.
        name: String,
        /// What it seems to be.
        found: String,
        /// The types that are supported.
        supported: String,
    },
    /// A name that is not in the catalogue.
    #[error(
        "`{name}` is no known architecture; near names: {near}. Give a config.json, or describe it in YAML"
    )]
    NotKnown {
        /// The name.
        name: String,
        /// Names like it.
        near: String,
    },
    /// Sizes whose products do not fit exact integers.
    #[error("{name}: {what} is beyond what can be counted exactly; check the sizes")]
    TooLarge {
        /// The model.
        name: String,
        /// Which quantity.
        what: &'static str,
    },
}
