//! MLflow: a folder of files (`mlruns`), a SQLite database (`mlflow.db`), or what its REST interface returned.
//!
//! Formats as mlflow 2 and 3 write them: file store `<experiment>/<run>/{meta.yaml,params,metrics,tags}`, tables `runs`, `params`,
//! `metrics` and `tags`, and the answers of `runs/search`, `runs/get` and `metrics/get-history`.

mod database;
mod files;
mod rest;

use std::path::Path;

use super::{Experiments, Wanted, refused};
use crate::ReadError;

pub use files::metric_lines as mlflow_metric_lines;
pub use rest::read as mlflow_rest;

/// Whether a path looks like an MLflow store or export.
#[must_use]
pub fn is_mlflow(path: &Path) -> bool {
    if path.is_dir() { files::is_store(path) } else { database::is_store(path) || rest::is_export(path) }
}

/// Reads every run of a store or an export, with the metrics that are `wanted`.
///
/// # Errors
/// [`ReadError`] when it is no store of MLflow, holds no run, or cannot be read. A broken run or line is refused in the report.
pub fn read_mlflow(path: &Path, wanted: Wanted<'_>) -> Result<Experiments, ReadError> {
    let mut found = if path.is_dir() {
        files::read_store(path, wanted)?
    } else if database::is_store(path) {
        database::read_store(path, wanted)?
    } else {
        rest::read_file(path, wanted)?
    };
    if found.runs.is_empty() {
        let refusals = found.report.findings.first().map(|finding| format!(": {}", finding.message));
        return Err(refused(
            path,
            format!("the store holds no run{}", refusals.unwrap_or_default()),
            "name the folder that holds the experiments (mlruns), one experiment, one run, mlflow.db or a REST export",
        ));
    }
    found.runs.sort_by(|a, b| (&a.experiment, &a.id).cmp(&(&b.experiment, &b.id)));
    Ok(found)
}
