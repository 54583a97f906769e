//! Public architectures, by name.

use std::sync::LazyLock;

use super::{Architecture, ArchitectureError};

/// The catalogue in our own form. A test reads all of it.
const CATALOGUE: &str = include_str!("../../data/architectures.yaml");

static ARCHITECTURES: LazyLock<Result<Vec<Architecture>, ArchitectureError>> = LazyLock::new(|| {
    let read = serde_saphyr::from_str::<Vec<Architecture>>(CATALOGUE);
    read.map_err(|error| ArchitectureError::Syntax {
        name: "architectures.yaml".to_owned(),
        message: error.to_string(),
    })
});

/// All architectures of the catalogue.
///
/// # Errors
/// [`ArchitectureError::Syntax`] when the built-in catalogue cannot be read.
pub fn known_architectures() -> Result<&'static [Architecture], ArchitectureError> {
    match &*ARCHITECTURES {
        Ok(architectures) => Ok(architectures),
        Err(error) => Err(error.clone()),
    }
}

impl Architecture {
    /// An architecture of the catalogue, by its exact name without regard to case.
    ///
    /// # Errors
    /// [`ArchitectureError::NotKnown`] with the names that are near.
    pub fn known(name: &str) -> Result<Self, ArchitectureError> {
        let architectures = known_architectures()?;
        let found = architectures.iter().find(|architecture| architecture.name.eq_ignore_ascii_case(name));
        found.cloned().ok_or_else(|| ArchitectureError::NotKnown {
            name: name.to_owned(),
            near: near(name, architectures).join(", "),
        })
    }
}

/// The names most like `name`, best first.
fn near(name: &str, architectures: &[Architecture]) -> Vec<String> {
    const SHOWN: usize = 3;
    // Apart from case and punctuation, of which no two people use the same.
    let plain = |name: &str| name.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "");
    let likeness = |known: &str| strsim::jaro_winkler(&plain(known), &plain(name));
    let mut names: Vec<&str> = architectures.iter().map(|architecture| architecture.name.as_str()).collect();
    names.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    names.into_iter().take(SHOWN).map(str::to_owned).collect()
}
