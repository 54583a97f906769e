//! The SQLite store, `mlflow.db`. Opened to read only.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, Row};

use super::super::{ExperimentRun, Experiments, Point, RunStatus, Series, Wanted, refused};
use crate::{FileReport, ReadError, Treatment};

const MAGIC: &[u8] = b"SQLite format 3\0";

/// Whether the file is a SQLite database with the tables of MLflow.
pub(super) fn is_store(path: &Path) -> bool {
    let mut head = [0; 16];
    let is_sqlite = File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == MAGIC;
    is_sqlite && open(path).and_then(|db| has_tables(&db)).unwrap_or(false)
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

fn has_tables(db: &Connection) -> rusqlite::Result<bool> {
    let tables: i64 = db.query_row(
        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('runs', 'params', 'metrics', 'experiments')",
        [],
        |row| row.get(0),
    )?;
    Ok(tables == 4)
}

/// Every run that is not deleted.
pub(super) fn read_store(path: &Path, wanted: Wanted<'_>) -> Result<Experiments, ReadError> {
    let broken = |error: rusqlite::Error| {
        refused(
            path,
            format!("the database cannot be read: {error}"),
            "copy it again while nothing writes to it",
        )
    };
    let db = open(path).map_err(broken)?;
    let mut found = Experiments::default();
    found.report = FileReport::new(path.display().to_string(), "mlflow database");
    found.runs = runs(&db, path, &mut found.report).map_err(broken)?;
    for run in &mut found.runs {
        run.params =
            pairs(&db, "SELECT key, value FROM params WHERE run_uuid = ?1", &run.id).map_err(broken)?;
        run.tags = pairs(&db, "SELECT key, value FROM tags WHERE run_uuid = ?1", &run.id).map_err(broken)?;
        for name in metric_names(&db, &run.id).map_err(broken)? {
            if wanted(&name) {
                let series = series(&db, &run.id, &name, &mut found.report).map_err(broken)?;
                run.metrics.insert(name, series);
            } else {
                run.other_metrics.push(name);
            }
        }
    }
    Ok(found)
}

fn runs(db: &Connection, path: &Path, report: &mut FileReport) -> rusqlite::Result<Vec<ExperimentRun>> {
    let mut query = db.prepare(
        "SELECT r.run_uuid, r.name, r.status, r.lifecycle_stage, e.name FROM runs r \
         LEFT JOIN experiments e ON e.experiment_id = r.experiment_id",
    )?;
    let mut rows = query.query([])?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        report.rows += 1;
        let text = |column| -> rusqlite::Result<String> {
            Ok(row.get::<_, Option<String>>(column)?.unwrap_or_default())
        };
        if text(3)? == "deleted" {
            *report.skipped.entry("deleted run").or_default() += 1;
            continue;
        }
        report.used += 1;
        runs.push(ExperimentRun {
            id: text(0)?,
            name: text(1)?,
            status: RunStatus::of(&text(2)?),
            experiment: text(4)?,
            place: path.to_owned(),
            ..ExperimentRun::default()
        });
    }
    Ok(runs)
}

fn pairs(db: &Connection, query: &str, run: &str) -> rusqlite::Result<BTreeMap<String, String>> {
    let mut query = db.prepare(query)?;
    let pair = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, Option<String>>(1)?.unwrap_or_default()));
    query.query_map([run], pair)?.collect()
}

/// The latest values name every metric and are few; a store without them is asked for its history.
fn metric_names(db: &Connection, run: &str) -> rusqlite::Result<Vec<String>> {
    let names = |table: &str| {
        let mut query =
            db.prepare(&format!("SELECT DISTINCT key FROM {table} WHERE run_uuid = ?1 ORDER BY key"))?;
        query.query_map([run], |row| row.get(0))?.collect()
    };
    match names("latest_metrics") {
        Ok(found) if !Vec::<String>::is_empty(&found) => Ok(found),
        _ => names("metrics"),
    }
}

/// NaN is stored as 0 with a mark.
fn series(db: &Connection, run: &str, name: &str, report: &mut FileReport) -> rusqlite::Result<Series> {
    let mut query = db.prepare(
        "SELECT timestamp, value, step, is_nan FROM metrics WHERE run_uuid = ?1 AND key = ?2 ORDER BY timestamp, step",
    )?;
    let mut rows = query.query([run, name])?;
    let mut series = Series::default();
    while let Some(row) = rows.next()? {
        let point = || -> rusqlite::Result<Point> {
            let value: f64 = row.get(1)?;
            let is_nan: Option<bool> = row.get(3)?;
            let value = if is_nan == Some(true) { f64::NAN } else { value };
            Ok(Point { at_ms: row.get(0)?, value, step: row.get(2)? })
        };
        match point() {
            Ok(point) => series.points.push(point),
            Err(error) => {
                report.find(Treatment::Refused, "bad_metric_row", 0, "", || {
                    format!("{name} of run {run}: {error}")
                });
            }
        }
    }
    Ok(series)
}
