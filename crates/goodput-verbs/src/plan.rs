//! A planning sheet answered.

use std::path::{Component, Path, PathBuf};

use goodput_decide::plan::{PlanError, Sheet};
use goodput_report::{PlanView, ViewSettings};
use serde::Deserialize;

use crate::error::{Place, VerbError};

/// `goodput plan`: a sheet of inputs and questions.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanRequest {
    /// The sheet (`examples/plan.yaml`).
    pub plan: PathBuf,
    /// Answer with this seed instead of the sheet's.
    pub seed: Option<u64>,
}

/// Answers the questions of a plan.
///
/// # Errors
/// [`VerbError`] names the field, what was found and what is needed.
pub fn plan(request: &PlanRequest) -> Result<PlanView, VerbError> {
    let path = &request.plan;
    let yaml = std::fs::read_to_string(path).map_err(|e| VerbError::io(path, &e))?;
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let refused = |error: PlanError| {
        let place =
            Place { path: Some(path.display().to_string()), line: None, field: Some(error.field.clone()) };
        VerbError::new(format!("{}: {error}", path.display()))
            .help("docs/plan.md lists the questions and their fields; examples/plan.yaml asks most of them")
            .at(place)
    };
    let mut sheet = Sheet::read(&yaml, &mut |file| report(folder, file)).map_err(refused)?;
    if let Some(seed) = request.seed {
        sheet.seed = seed;
    }
    let answers = sheet.answers().map_err(refused)?;
    Ok(PlanView::new(&sheet, answers, &ViewSettings::default()))
}

/// A report that the sheet names, which must stay below the sheet's own folder: a sheet may come from someone else.
fn report(folder: &Path, file: &str) -> Result<Vec<u8>, String> {
    let inside =
        Path::new(file).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !inside {
        return Err(format!("{file}: a plan names only files below its own folder"));
    }
    std::fs::read(folder.join(file)).map_err(|error| format!("{}: {error}", folder.join(file).display()))
}
