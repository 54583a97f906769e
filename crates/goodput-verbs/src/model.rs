//! The model that a user names.

use std::path::Path;

use goodput_model::{Architecture, ArchitectureError};

use crate::error::{Place, VerbError};

/// A model from a file, if `model` names one, else from the catalogue.
///
/// # Errors
/// [`VerbError`] names file and field, or the known names that are near.
pub fn architecture(model: &str) -> Result<Architecture, VerbError> {
    let path = Path::new(model);
    let is_file_name = path.extension().is_some_and(|extension| {
        ["json", "yaml", "yml"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    });
    if !path.is_file() && !is_file_name {
        return Ok(Architecture::known(model)?);
    }
    let text = std::fs::read_to_string(path).map_err(|error| VerbError::io(path, &error))?;
    // Editors on Windows write a byte order mark.
    let text = text.trim_start_matches('\u{feff}');
    // A configuration of Hugging Face is JSON, our own form YAML.
    Ok(match text.trim_start().starts_with('{') {
        true => Architecture::from_hugging_face(text, model)?,
        false => Architecture::from_yaml(text, model)?,
    })
}

/// What a count by tokens leaves out.
pub fn text_alone(architecture: &Architecture) -> Option<String> {
    let name = &architecture.name;
    let warning = || {
        format!("Tokens of the text model alone are counted: the images that {name} reads are in no figure.")
    };
    architecture.vision.is_some().then(warning)
}

impl From<ArchitectureError> for VerbError {
    fn from(error: ArchitectureError) -> Self {
        let refusal = Self::new(error.to_string());
        match error {
            ArchitectureError::Missing { name, field, .. }
            | ArchitectureError::Invalid { name, field, .. }
            | ArchitectureError::Unsupported { name, field, .. }
            | ArchitectureError::UnknownField { name, field, .. } => {
                refusal.at(Place { path: Some(name), field: Some(field), ..Place::default() })
            }
            ArchitectureError::NotKnown { .. } => {
                refusal.help("goodput flops --list prints all known names; docs/flops.md has our YAML")
            }
            ArchitectureError::Syntax { .. }
            | ArchitectureError::OtherKind { .. }
            | ArchitectureError::TooLarge { .. } => refusal,
        }
    }
}
