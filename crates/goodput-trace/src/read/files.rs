//! Paths to files: directories are walked.

use std::fs;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;

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

/// Directories within directories; deeper ones hold no traces.
const MAX_DEPTH: usize = 16;

/// The files of `paths`, those in directories by name.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Found>, ReadError> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = found.len();
            walk(path, 0, &mut FxHashSet::default(), &mut found)?;
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
    // A file may be named, and found in its directory: it is read once.
    let mut seen = FxHashSet::default();
    found.retain(|file| seen.insert(file.path.canonicalize().unwrap_or_else(|_| file.path.clone())));
    Ok(found)
}

/// Links may lead in a circle, and several to one directory: `visited` has each directory once.
fn walk(
    directory: &Path,
    depth: usize,
    visited: &mut FxHashSet<PathBuf>,
    found: &mut Vec<Found>,
) -> Result<(), ReadError> {
    let io = |source| ReadError::Io { path: directory.to_owned(), source };
    if !visited.insert(directory.canonicalize().map_err(io)?) {
        return Ok(());
    }
    let mut entries = fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>())
        .map_err(io)?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if depth < MAX_DEPTH {
                walk(&path, depth + 1, visited, found)?;
            }
        } else if is_candidate(&path) {
            found.push(Found { path, is_stated: false });
        }
    }
    Ok(())
}

/// By its name, and a regular file: a named pipe would wait for a writer. A link that leads nowhere stays, to be an
/// error.
fn is_candidate(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let is_regular = path.metadata().map_or(true, |file| file.is_file());
    is_regular && !name.starts_with('.') && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_walked_for_traces() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join("node1")).unwrap();
        for name in ["b.json", "a.JSON.gz", "notes.txt", ".hidden.json", "node1/c.pt.trace.json.zst"] {
            fs::write(root.join(name), "").unwrap();
        }
        let named = root.join("notes.txt");
        let found = find(&[root.to_owned(), named.clone(), root.join("b.json")]).unwrap();
        let paths: Vec<_> =
            found.iter().map(|file| file.path.strip_prefix(root).unwrap().to_owned()).collect();
        assert_eq!(
            paths,
            ["a.JSON.gz", "b.json", "node1/c.pt.trace.json.zst", "notes.txt"].map(PathBuf::from)
        );
        assert_eq!(found.iter().map(|file| file.is_stated).collect::<Vec<_>>(), [false, false, false, true]);
    }

    #[cfg(unix)]
    #[test]
    fn links_in_a_circle_are_walked_once_and_sockets_are_passed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join("a")).unwrap();
        fs::write(root.join("a/rank0.json"), "").unwrap();
        for link in ["a/up", "a/again", "b", "c"] {
            std::os::unix::fs::symlink(root, root.join(link)).unwrap();
        }
        let _socket = std::os::unix::net::UnixListener::bind(root.join("a/rank1.json")).unwrap();
        let found = find(&[root.to_owned()]).unwrap();
        assert_eq!(found.iter().map(|file| &file.path).collect::<Vec<_>>(), [&root.join("a/rank0.json")]);
    }

    #[test]
    fn a_directory_without_traces_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert!(find(&[directory.path().to_owned()]).is_err());
    }
}
