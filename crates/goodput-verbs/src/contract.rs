//! The contract file that a person states beside the records.

use std::path::Path;

use goodput_decide::contract::ContractError;

use crate::error::{Place, VerbError};
use crate::file_kind::{self, FileKind, Wanted};
use crate::inputs::label;

/// Sections of conditions; a file without any states nothing, and a key that is none is named by the contract's own reader.
const WANTED: Wanted = Wanted {
    what: "a measurement contract: YAML with workload, quality, system, timing, statistics",
    help: "examples/contract.yaml names every condition (docs/compare.md)",
    is: |kind| {
        matches!(kind, FileKind::Contract | FileKind::Empty | FileKind::YamlKeys(_) | FileKind::JsonObject)
    },
};

/// Gives what the file states, with the file's name, to the contract of a report.
pub(crate) fn state(
    file: Option<&Path>,
    add: impl FnOnce(&str, &str) -> Result<(), ContractError>,
) -> Result<(), VerbError> {
    let Some(file) = file else { return Ok(()) };
    let yaml = file_kind::text(file, &WANTED)?;
    add(&label(file), &yaml).map_err(|why| {
        let place = Place { path: Some(label(file)), ..Place::default() };
        file_kind::instead(file, &WANTED, VerbError::new(why.to_string()).help(WANTED.help).at(place))
    })
}
