//! Known mistakes in a planning sheet or a report.

use std::path::{Path, PathBuf};

use goodput_decide::lint::Subject;
use goodput_decide::lint::sheet::Sheet;
use goodput_decide::report::Report;
use goodput_report::{LintView, ViewSettings};
use serde::Deserialize;

use crate::Answer;
use crate::error::{Place, VerbError};
use crate::file_kind::{self, FileKind, Wanted};

/// `goodput lint`: a planning sheet (YAML) or a report (JSON).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LintRequest {
    /// The file.
    pub file: PathBuf,
}

/// Checks a sheet or a report. The answer falls short where a finding is an error.
///
/// # Errors
/// [`VerbError`] names the key of the sheet and the nearest known one, or the place in the report.
pub fn lint(request: &LintRequest) -> Result<Answer<LintView>, VerbError> {
    let path = &request.file;
    let label = path.display().to_string();
    let text = file_kind::bytes(path, &WANTED)?;
    let place = || Place { path: Some(label.clone()), ..Place::default() };
    let subject =
        read(path, &label, &text).map_err(|error| file_kind::instead(path, &WANTED, error.at(place())))?;
    let view = LintView::new(&label, &subject, &ViewSettings::default());
    let falls_short = view.errors > 0;
    Ok(Answer { view, falls_short })
}

/// A sheet, a plan, or a report of account or timeline.
const WANTED: Wanted = Wanted {
    what: "a planning sheet (YAML), a plan, or a report of account or timeline (JSON)",
    help: "examples/sheet.yaml and docs/lint.md have every key of a sheet; account and timeline write reports with \
           `--format json -o FILE`",
    is: |kind| {
        // A key that is none is named by the sheet's own reader.
        matches!(kind, FileKind::Plan | FileKind::Sheet | FileKind::YamlKeys(_)) || file_kind::is_report(kind)
    },
};

/// A report is JSON, a sheet is YAML; a file whose ending does not say is told by its first character.
fn read(path: &Path, label: &str, text: &[u8]) -> Result<Subject, VerbError> {
    let ending = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let is_json = match ending.as_deref() {
        Some("json") => true,
        Some("yaml" | "yml") => false,
        _ => text.trim_ascii_start().starts_with(b"{"),
    };
    if is_json {
        return Report::read(label, text).map(Subject::Report).map_err(|e| {
            VerbError::new(e.to_string())
                .help("lint reads reports of account and timeline, and sheets in YAML")
        });
    }
    let text = std::str::from_utf8(text).map_err(|e| VerbError::new(format!("{label}: no UTF-8: {e}")))?;
    Sheet::from_yaml(label, text).map(Subject::Sheet).map_err(|e| {
        VerbError::new(e.to_string()).help("examples/sheet.yaml and docs/lint.md have every key")
    })
}
