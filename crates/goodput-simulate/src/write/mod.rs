//! The records of a world: one file a record, each in the format of the tool that would write it.

mod events;
mod ml_goodput;
mod names;
mod nodes;
mod reservations;
mod sacct;
mod sacct_json;
mod snapshots;
mod timeline;
mod truth;

use std::io;
use std::path::{Path, PathBuf};

use crate::scenario::LogFormat;
use crate::world::World;

impl World {
    /// Every record, as path (relative, with `/`) and content.
    ///
    /// `sacct.txt` and `sacct.json` say the same; give a reader one of them.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = vec![
            ("sacct.txt".to_owned(), sacct::write(self)),
            ("sacct.json".to_owned(), sacct_json::write(self)),
            ("events.txt".to_owned(), events::write(self)),
            ("reservations.txt".to_owned(), reservations::write(self)),
            ("nodes.txt".to_owned(), nodes::write(self)),
            ("snapshots.jsonl".to_owned(), snapshots::write(self)),
        ];
        for job in &self.jobs {
            let content = match self.scenario.jobs[job.class].log {
                LogFormat::None => continue,
                LogFormat::Goodput => timeline::write(self, job),
                LogFormat::MlGoodput => ml_goodput::write(self, job),
            };
            if !content.is_empty() {
                files.push((format!("timelines/{}.jsonl", job.id), content));
            }
        }
        files.push(("truth.json".to_owned(), truth::write(self)));
        files
    }

    /// Writes [`World::files`] below `dir`, which is created, and returns their paths.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn write(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for (name, content) in self.files() {
            let path = dir.join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&path, content)?;
            paths.push(path);
        }
        Ok(paths)
    }
}
