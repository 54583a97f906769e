//! The model that a user names.

use std::path::Path;

use goodput_model::{Architecture, ArchitectureError};

use crate::error::VerbError;

/// A file if there is one of that name, a known architecture otherwise.
pub fn architecture(model: &str) -> Result<Architecture, VerbError> {
    let path = Path::new(model);
    let read = if path.is_file() {
        let text = std::fs::read_to_string(path).map_err(|e| VerbError::io(path, &e))?;
        // A configuration of Hugging Face is JSON, our own form YAML.
        if text.trim_start().starts_with('{') {
            Architecture::from_hugging_face(&text, model)
        } else {
            Architecture::from_yaml(&text, model)
        }
    } else {
        Architecture::known(model)
    };
    read.map_err(|error| {
        let refusal = VerbError::new(error.to_string());
        match error {
            ArchitectureError::NotKnown { .. } => {
                refusal.help("name a known model, a config.json, or a file in our YAML (docs/flops.md)")
            }
            _ => refusal,
        }
    })
}
