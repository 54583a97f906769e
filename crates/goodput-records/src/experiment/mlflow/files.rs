//! The file store: a folder for each experiment, in it one for each run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::super::{ExperimentRun, Experiments, Point, RunStatus, Series, Wanted, io};
use crate::lines::Lines;
use crate::{FileReport, ReadError, Treatment};

/// Longest parameter or tag that MLflow itself takes is 8,000 characters; 64 KiB leave room.
const LONGEST_VALUE: u64 = 64 << 10;
/// Folders inside `metrics` and `params`, one for each slash of a name.
const DEEPEST: usize = 16;
const FORMAT: &str = "mlflow file store";

#[derive(Deserialize)]
struct RunMeta {
    #[serde(alias = "run_uuid")]
    run_id: Option<String>,
    #[serde(alias = "name")]
    run_name: Option<String>,
    status: Option<serde_json::Value>,
    lifecycle_stage: Option<String>,
}

#[derive(Deserialize)]
struct ExperimentMeta {
    name: Option<String>,
    lifecycle_stage: Option<String>,
}

/// Whether the folder is a store, an experiment or a run.
pub(super) fn is_store(path: &Path) -> bool {
    let is_run = |path: &Path| path.join("meta.yaml").is_file();
    let holds = |path: &Path| {
        path.read_dir().is_ok_and(|mut entries| entries.any(|e| e.is_ok_and(|e| is_run(&e.path()))))
    };
    is_run(path) || holds(path)
}

/// The runs of a store, of one experiment, or one run.
pub(super) fn read_store(path: &Path, wanted: Wanted<'_>) -> Result<Experiments, ReadError> {
    let root = path.canonicalize().map_err(|e| io(path, e))?;
    let mut store = Store { root, wanted, found: Experiments::default() };
    store.found.report = FileReport::new(path.display().to_string(), FORMAT);
    if is_run_folder(path) {
        let experiment = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned));
        let name = experiment.as_deref().and_then(experiment_name).unwrap_or_default();
        store.run(path, &name);
    } else if path.join("meta.yaml").is_file() {
        store.experiment(path);
    } else {
        let folders = store.folders(path).map_err(|e| io(path, e))?;
        for folder in folders.iter().filter(|folder| folder.join("meta.yaml").is_file()) {
            store.experiment(folder);
        }
    }
    Ok(store.found)
}

fn is_run_folder(path: &Path) -> bool {
    path.join("meta.yaml").is_file() && (path.join("params").is_dir() || path.join("metrics").is_dir())
}

fn experiment_name(path: &Path) -> Option<String> {
    let text = read_value(&path.join("meta.yaml")).ok()?;
    serde_saphyr::from_str::<ExperimentMeta>(&text).ok()?.name
}

struct Store<'a> {
    /// Nothing outside this folder is read.
    root: PathBuf,
    wanted: Wanted<'a>,
    found: Experiments,
}

impl Store<'_> {
    fn experiment(&mut self, path: &Path) {
        let meta = read_value(&path.join("meta.yaml"))
            .map_err(|e| e.to_string())
            .and_then(|text| serde_saphyr::from_str::<ExperimentMeta>(&text).map_err(|e| e.to_string()));
        let name = match meta {
            Ok(meta) if meta.lifecycle_stage.as_deref() == Some("deleted") => {
                *self.found.report.skipped.entry("deleted experiment").or_default() += 1;
                return;
            }
            Ok(meta) => meta.name,
            Err(error) => {
                self.refuse("bad_meta", 0, &path.join("meta.yaml"), &error);
                None
            }
        };
        let name = name.unwrap_or_else(|| file_name(path));
        match self.folders(path) {
            Ok(folders) => {
                folders.iter().filter(|folder| is_run_folder(folder)).for_each(|run| self.run(run, &name))
            }
            Err(error) => self.refuse("unreadable", 0, path, &error.to_string()),
        }
    }

    fn run(&mut self, path: &Path, experiment: &str) {
        self.found.report.rows += 1;
        let meta_path = path.join("meta.yaml");
        if !self.is_inside(&meta_path) {
            return;
        }
        let meta = read_value(&meta_path)
            .map_err(|e| e.to_string())
            .and_then(|text| serde_saphyr::from_str::<RunMeta>(&text).map_err(|e| e.to_string()));
        let meta = match meta {
            Ok(meta) => meta,
            Err(error) => return self.refuse("bad_meta", 0, &meta_path, &error),
        };
        if meta.lifecycle_stage.as_deref() == Some("deleted") {
            *self.found.report.skipped.entry("deleted run").or_default() += 1;
            return;
        }
        let status = meta.status.map_or(RunStatus::Unknown, |status| RunStatus::of(&status.to_string()));
        let mut run = ExperimentRun {
            id: meta.run_id.unwrap_or_else(|| file_name(path)),
            name: meta.run_name.unwrap_or_default(),
            experiment: experiment.to_owned(),
            status,
            place: path.to_owned(),
            ..ExperimentRun::default()
        };
        run.params = self.values(&path.join("params"));
        run.tags = self.values(&path.join("tags"));
        for (name, file) in self.named_files(&path.join("metrics")) {
            if !(self.wanted)(&name) {
                run.other_metrics.push(name);
            } else if let Some(series) = self.series(&file) {
                run.metrics.insert(name, series);
            }
        }
        self.found.report.used += 1;
        self.found.runs.push(run);
    }

    fn values(&mut self, folder: &Path) -> BTreeMap<String, String> {
        let mut values = BTreeMap::new();
        for (name, file) in self.named_files(folder) {
            match read_value(&file) {
                Ok(text) => {
                    values.insert(name, text.trim_end_matches(['\n', '\r']).to_owned());
                }
                Err(error) => self.refuse("unreadable", 0, &file, &error.to_string()),
            }
        }
        values
    }

    fn series(&mut self, path: &Path) -> Option<Series> {
        match File::open(path) {
            Ok(file) => {
                let label = path.display().to_string();
                let mut reader = BufReader::with_capacity(256 << 10, file);
                match metric_lines(&label, &mut reader, &mut self.found.report) {
                    Ok(series) => return Some(series),
                    Err(error) => self.refuse("unreadable", 0, path, &error.to_string()),
                }
            }
            Err(error) => self.refuse("unreadable", 0, path, &error.to_string()),
        }
        None
    }

    /// Files below a folder with their names in MLflow, in which slashes are folders.
    fn named_files(&mut self, folder: &Path) -> Vec<(String, PathBuf)> {
        let mut files = Vec::new();
        if !self.is_inside(folder) {
            return files;
        }
        let mut open = vec![(folder.to_owned(), String::new(), 0)];
        while let Some((folder, prefix, depth)) = open.pop() {
            let Ok(entries) = folder.read_dir() else { continue };
            for entry in entries.flatten() {
                let path = entry.path();
                if !self.is_inside(&path) {
                    continue;
                }
                let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
                // A link to a folder of the store could lead in a circle.
                match (path.is_dir(), path.is_symlink()) {
                    (true, false) if depth < DEEPEST => open.push((path, format!("{name}/"), depth + 1)),
                    (true, _) => {}
                    (false, _) => files.push((name, path)),
                }
            }
        }
        files.sort();
        files
    }

    fn folders(&mut self, path: &Path) -> std::io::Result<Vec<PathBuf>> {
        let mut folders = Vec::new();
        for entry in path.read_dir()? {
            let path = entry?.path();
            if path.is_dir() && self.is_inside(&path) {
                folders.push(path);
            }
        }
        folders.sort();
        Ok(folders)
    }

    /// A link that leads out of the named folder is refused: a store from elsewhere could name any file of this machine.
    fn is_inside(&mut self, path: &Path) -> bool {
        if !path.is_symlink() {
            return true;
        }
        let inside = path.canonicalize().is_ok_and(|target| target.starts_with(&self.root));
        if !inside {
            self.refuse("link_out", 0, path, "the link leads out of the store, or nowhere");
        }
        inside
    }

    fn refuse(&mut self, code: &'static str, line: u32, path: &Path, message: &str) {
        let message = format!("{}: {message}", path.display());
        self.found.report.find(Treatment::Refused, code, line, "", || message);
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A small file as text.
fn read_value(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(LONGEST_VALUE + 1).read_to_string(&mut text)? as u64;
    if read > LONGEST_VALUE {
        return Err(std::io::Error::other("longer than 64 KiB"));
    }
    Ok(text)
}

/// Lines `timestamp_ms value step`; a line that is none is refused in the report. Older stores leave out the step.
///
/// # Errors
/// [`ReadError::Io`] when the file cannot be read.
pub fn metric_lines(
    label: &str,
    reader: &mut dyn BufRead,
    report: &mut FileReport,
) -> Result<Series, ReadError> {
    let mut lines = Lines::new(reader, label);
    let mut series = Series::default();
    while let Some(line) = lines.next()? {
        let point = line.text.and_then(|text| point(text).ok_or("not `timestamp value step`"));
        match point {
            Ok(point) => series.points.push(point),
            // A run that is being written ends in half a line.
            Err(_) if !line.terminated => *report.skipped.entry("unfinished line").or_default() += 1,
            Err(why) => {
                report.find(Treatment::Refused, "bad_metric_line", line.number, "", || {
                    format!("{label}: {why}")
                });
            }
        }
    }
    series.sort();
    Ok(series)
}

fn point(text: &str) -> Option<Point> {
    let mut words = text.split_ascii_whitespace();
    let at_ms = words.next()?.parse().ok()?;
    let value = words.next()?.parse().ok()?;
    let step = match words.next() {
        Some(step) => step.parse().ok()?,
        None => 0,
    };
    // mlflow 3 may write a dataset's name and digest behind them.
    Some(Point { at_ms, value, step })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_metric() {
        let text = "1760000002006 2.5 0\n1760000004019 nan 1\nbroken\n1760000003000 -inf 7 data abc\n17600";
        let mut report = FileReport::default();
        let series = metric_lines("m", &mut text.as_bytes(), &mut report).unwrap();
        let steps: Vec<i64> = series.points.iter().map(|point| point.step).collect();
        assert_eq!(steps, [0, 7, 1]);
        assert!(series.points[2].value.is_nan());
        assert_eq!((report.refused, report.findings[0].line), (1, 3));
        assert_eq!(report.skipped["unfinished line"], 1);
    }
}
