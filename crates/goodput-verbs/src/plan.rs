//! A planning sheet answered.

use std::path::{Component, Path, PathBuf};

use goodput_decide::plan::{PlanError, Sheet};
use goodput_report::{PlanView, ViewSettings};
use serde::Deserialize;

use crate::error::{Place, VerbError};
use crate::file_kind::{self, FileKind, REPORT, Wanted};

/// `goodput plan`: a sheet of inputs and questions.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanRequest {
    /// The sheet (`examples/plan.yaml`).
    pub plan: PathBuf,
    /// Answer with this seed instead of the sheet's.
    pub seed: Option<u64>,
}

/// Inputs and questions; a key that is none, or questions that are missing, are named by the plan's own reader.
const WANTED: Wanted = Wanted {
    what: "a plan: YAML with `questions`",
    help: "docs/plan.md lists the questions and their fields; examples/plan.yaml asks most of them",
    is: |kind| matches!(kind, FileKind::Plan | FileKind::YamlKeys(_) | FileKind::JsonObject),
};

/// Answers the questions of a plan.
///
/// # Errors
/// [`VerbError`] names the field, what was found and what is needed.
pub fn plan(request: &PlanRequest) -> Result<PlanView, VerbError> {
    let path = &request.plan;
    let yaml = file_kind::text(path, &WANTED)?;
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let refused = |error: PlanError| {
        let place =
            Place { path: Some(path.display().to_string()), line: None, field: Some(error.field.clone()) };
        let error = VerbError::new(format!("{}: {error}", path.display())).help(WANTED.help).at(place);
        file_kind::instead(path, &WANTED, error)
    };
    let mut sheet = Sheet::read(&yaml, &mut |file| report(folder, file)).map_err(refused)?;
    if let Some(seed) = request.seed {
        sheet.seed = seed;
    }
    let answers = sheet.answers().map_err(refused)?;
    Ok(PlanView::new(&sheet, answers, &ViewSettings::default()))
}

/// Bytes of a report in which its schema stands.
const HEAD: usize = 4096;

/// A report that the sheet names, which must stay below the sheet's own folder: a sheet may come from someone else.
fn report(folder: &Path, file: &str) -> Result<Vec<u8>, String> {
    let inside =
        Path::new(file).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !inside {
        return Err(format!("{file}: a plan names only files below its own folder"));
    }
    let path = folder.join(file);
    let bytes = file_kind::bytes(&path, &REPORT).map_err(|error| error.to_string())?;
    // A report begins with its schema, which its own reader judges; any other file is told here.
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]);
    if head.contains("\"schema\"") {
        return Ok(bytes);
    }
    file_kind::other(&path, &bytes, &REPORT).map_or(Ok(bytes), |other| Err(other.to_string()))
}
