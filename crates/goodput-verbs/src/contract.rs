//! The contract file that a person states beside the records.

use std::path::Path;

use goodput_report::ContractView;

use crate::error::{Place, VerbError};
use crate::inputs::label;

/// Adds what the file states to the contract of a report.
pub(crate) fn state(contract: &mut ContractView, file: Option<&Path>) -> Result<(), VerbError> {
    let Some(file) = file else { return Ok(()) };
    let yaml = std::fs::read_to_string(file).map_err(|e| VerbError::io(file, &e))?;
    contract.state(&label(file), &yaml).map_err(|why| {
        VerbError::new(why.to_string())
            .help("examples/contract.yaml names every condition (docs/compare.md)")
            .at(Place { path: Some(label(file)), ..Place::default() })
    })
}
