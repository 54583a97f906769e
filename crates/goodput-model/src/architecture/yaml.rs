//! Our own explicit form: the architecture as it stands here, in YAML.

use super::{Architecture, ArchitectureError};

impl Architecture {
    /// Reads an architecture in YAML. Every field of [`Architecture`] is a key; what has a natural
    /// default may be left out, and an unknown key is an error.
    ///
    /// ```
    /// use goodput_model::Architecture;
    /// let tiny = Architecture::from_yaml("
    /// name: tiny
    /// text:
    ///   width: 64
    ///   vocabulary: 1000
    ///   decoder:
    ///     - blocks: 2
    ///       mixer: {attention: {heads: 4, kv_heads: 2, head_dim: 16, mask: {sliding_window: 128}}}
    ///       feed_forward: {dense: {inner: 256}}
    /// ", "tiny.yaml")?;
    /// assert_eq!(tiny.parameters()?.total, 251_200);
    /// # Ok::<(), goodput_model::ArchitectureError>(())
    /// ```
    ///
    /// # Errors
    /// [`ArchitectureError`] names `source` and the field.
    pub fn from_yaml(yaml: &str, source: &str) -> Result<Self, ArchitectureError> {
        let architecture: Self = serde_saphyr::from_str(yaml).map_err(|error| ArchitectureError::Syntax {
            name: source.to_owned(),
            message: error.to_string(),
        })?;
        architecture.check()?;
        Ok(architecture)
    }
}
