//! A history of reports, and its regressions.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use goodput_decide::baseline::{Check, History, Labels, Row, Settings, Tier, distil};
use goodput_decide::report::Report;
use goodput_report::{BaselineSettingsView, BaselineUpdateView, BaselineView, RefusedLineView, ViewSettings};
use jiff::tz::TimeZone;
use serde::Deserialize;

use crate::Answer;
use crate::error::{Place, VerbError};
use crate::file_kind::{self, FileKind, REPORT, Wanted};
use crate::time_argument::instant;

/// Nanoseconds of a day.
const DAY_NS: i64 = 86_400_000_000_000;

/// `goodput baseline update`: reports that a history shall remember.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BaselineUpdateRequest {
    /// HISTORY.jsonl; made when it is not there.
    pub history: PathBuf,
    /// JSON that `goodput account` and `goodput timeline` wrote.
    pub reports: Vec<PathBuf>,
    /// What no report says of itself.
    pub labels: Labels,
}

/// `goodput baseline check`: a history.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BaselineCheckRequest {
    /// HISTORY.jsonl.
    pub history: PathBuf,
    /// First day of changes that count.
    pub since: Option<String>,
    /// Only this job.
    pub job: Option<String>,
    /// Only this pool and its jobs.
    pub pool: Option<String>,
    /// Tiers to judge; all when empty.
    pub tiers: Vec<Tier>,
    /// Least size worth reporting.
    pub threshold: Option<f64>,
    /// From how much over the typical rank a rank is slow.
    pub slow_rank: Option<f64>,
    /// Share of findings that may be false.
    pub false_alarms: Option<f64>,
}

/// What `update` writes. JSON objects without a schema may be rows that something else wrote: their own reader names them
/// by line.
const HISTORY: Wanted = Wanted {
    what: "a history of reports (HISTORY.jsonl)",
    help: "`goodput baseline update HISTORY.jsonl REPORT.json` makes and extends a history (docs/baseline.md)",
    is: |kind| matches!(kind, FileKind::History | FileKind::JsonLines | FileKind::JsonObject),
};

/// Adds reports to a history. What falls short: a row that overlaps another, a line of the history that is no row.
///
/// # Errors
/// [`VerbError`] when a report or the history cannot be read, or the history cannot be written; nothing is written then.
pub fn baseline_update(request: &BaselineUpdateRequest) -> Result<Answer<BaselineUpdateView>, VerbError> {
    let path = &request.history;
    let label = path.display().to_string();
    let before = match std::fs::exists(path) {
        Ok(false) => Vec::new(),
        _ => file_kind::bytes(path, &HISTORY)?,
    };
    let history = History::read(&before[..]).map_err(|error| VerbError::io(path, &error))?;
    if history.rows.is_empty() && history.lines > 0 {
        return Err(file_kind::instead(path, &HISTORY, no_rows(&label, &history)));
    }
    let mut rows = Vec::new();
    for report in &request.reports {
        let name = report.display().to_string();
        let json = file_kind::bytes(report, &REPORT)?;
        let at = |message: String| {
            let place = Place { path: Some(name.clone()), ..Place::default() };
            file_kind::instead(report, &REPORT, VerbError::new(message).help(REPORT.help).at(place))
        };
        let read = Report::read(&name, &json).map_err(|error| at(error.to_string()))?;
        rows.extend(distil(&name, &json, &read, &request.labels).map_err(|error| at(error.to_string()))?);
    }
    let added = history.add(rows);
    if !added.text.is_empty() {
        append(path, &before, &added.text).map_err(|error| VerbError::io(path, &error))?;
    }
    let view = BaselineUpdateView {
        schema: BaselineUpdateView::SCHEMA,
        generated_by: ViewSettings::default().generated_by,
        history: label,
        reports: request.reports.len(),
        added: added.rows,
        known: added.known,
        refused: added.refused,
        refused_lines: refused(&history),
    };
    let falls_short = !view.refused.is_empty() || !view.refused_lines.is_empty();
    Ok(Answer { view, falls_short })
}

/// Checks a history. What falls short: a line that is no row, or a history too short to test anything. Regressions are in the view
/// ([`BaselineView::regressions`]).
///
/// # Errors
/// [`VerbError`] when the history cannot be read or holds no row that is asked for.
pub fn baseline_check(request: &BaselineCheckRequest) -> Result<Answer<BaselineView>, VerbError> {
    let path = &request.history;
    let label = path.display().to_string();
    let since_day = request.since.as_deref().map(day).transpose()?;
    let file = file_kind::open(path, &HISTORY)?;
    let mut history = History::read(file).map_err(|error| VerbError::io(path, &error).help(HISTORY.help))?;
    if history.rows.is_empty() {
        return Err(file_kind::instead(path, &HISTORY, no_rows(&label, &history)));
    }
    let asked = |row: &Row| {
        request.job.as_ref().is_none_or(|job| row.job.as_deref() == Some(job))
            && request.pool.as_ref().is_none_or(|pool| row.pool.as_deref() == Some(pool))
    };
    if !history.rows.iter().any(asked) {
        let of: Vec<_> = [("--job", &request.job), ("--pool", &request.pool)]
            .into_iter()
            .filter_map(|(option, name)| name.as_ref().map(|name| format!("{option} {name}")))
            .collect();
        return Err(VerbError::new(format!("{label}: no row of {}", of.join(" and ")))
            .help(names(&history.rows, request.job.is_some())));
    }
    let mut rows = std::mem::take(&mut history.rows);
    rows.retain(asked);
    if let Some(rate) = request.false_alarms.filter(|rate| *rate >= 1.0) {
        return Err(VerbError::new(format!(
            "--false-alarms {rate}: expected a share below one, such as 5% or 0.05"
        )));
    }
    let settings = Settings::default();
    let settings = Settings {
        false_alarms: request.false_alarms.unwrap_or(settings.false_alarms),
        threshold: request.threshold.unwrap_or(settings.threshold),
        slow_rank: request.slow_rank.unwrap_or(settings.slow_rank),
        since_day,
        tiers: request.tiers.clone(),
    };
    let check = Check::new(&rows, &settings);
    let asked = BaselineSettingsView {
        false_alarms: settings.false_alarms,
        threshold: settings.threshold,
        slow_rank: settings.slow_rank,
        since: request.since.clone(),
        job: request.job.clone(),
        pool: request.pool.clone(),
    };
    let view = BaselineView::new(&label, &history, &rows, check, &settings, asked);
    let falls_short = !view.refused.is_empty() || view.verdict == "not_enough_history";
    Ok(Answer { view, falls_short })
}

/// Appends in one write; a torn last line stays a line of its own.
fn append(path: &Path, before: &[u8], text: &str) -> std::io::Result<()> {
    let torn = before.last().is_some_and(|last| *last != b'\n');
    let text = if torn { format!("\n{text}") } else { text.to_owned() };
    OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())
}

fn refused(history: &History) -> Vec<RefusedLineView> {
    history.refused.iter().map(|one| RefusedLineView { line: one.line, why: one.why.clone() }).collect()
}

fn no_rows(label: &str, history: &History) -> VerbError {
    let error = match history.refused.first() {
        Some(first) => {
            let line = u32::try_from(first.line).ok();
            VerbError::new(format!(
                "{label}: none of its {} lines is a row; line {}: {}",
                history.lines, first.line, first.why
            ))
            .at(Place { path: Some(label.to_owned()), line, ..Place::default() })
        }
        None => VerbError::new(format!("{label}: the history is empty")),
    };
    error.help(HISTORY.help)
}

/// What may be asked for, the first names of it.
fn names(rows: &[Row], jobs: bool) -> String {
    let of = |row: &Row| if jobs { row.job.clone() } else { row.pool.clone() };
    let names: BTreeSet<_> = rows.iter().filter_map(of).collect();
    let more = names.len().saturating_sub(8);
    let shown: Vec<_> = names.iter().map(|name| &**name).take(8).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("it has {}{more}", if shown.is_empty() { "none".to_owned() } else { shown.join(", ") })
}

fn day(text: &str) -> Result<i64, VerbError> {
    let at = instant(text, Some(&TimeZone::UTC))
        .map_err(|why| VerbError::new(format!("--since {text}: {why}")))?;
    Ok(at.as_nanos().div_euclid(DAY_NS))
}
