//! Paths to files: directories are walked.

use std::fs;
use std::path::{Path, PathBuf};

use crate::reading::ReadError;

/// A file that may hold a trace.
pub(super) struct Found {
    pub path: PathBuf,
    /// Named by the user, and not found in a directory.
    pub is_stated: bool,
}

/// Endings that traces have, looked for in directories only: a file that the user names may be called anything.
const ENDINGS: [&str; 9] =
    [".json", ".json.gz", ".json.zst", ".sqlite", ".db", ".pb", ".pb.gz", ".pb.zst", ".trace"];

/// Directories within directories; deeper ones are links in a circle, or no traces.
const MAX_DEPTH: usize = 16;

/// The files of `paths`, those in directories by name.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Found>, ReadError> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = found.len();
            walk(path, 0, &mut found)?;
            if found.len() == before {
                return Err(ReadError::Format {
                    path: path.clone(),
                    problem: format!("no trace in this directory (looked for {})", ENDINGS.join(", ")),
                });
            }
        } else {
            found.push(Found { path: path.clone(), is_stated: true });
        }
    }
    Ok(found)
}

fn walk(directory: &Path, depth: usize, found: &mut Vec<Found>) -> Result<(), ReadError> {
    let io = |source| ReadError::Io { path: directory.to_owned(), source };
    let mut entries = fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>())
        .map_err(io)?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if depth < MAX_DEPTH {
                walk(&path, depth + 1, found)?;
            }
        } else if is_candidate(&path) {
            found.push(Found { path, is_stated: false });
        }
    }
    Ok(())
}

fn is_candidate(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    !name.starts_with('.') && ENDINGS.iter().any(|ending| name.ends_with(ending))
}
