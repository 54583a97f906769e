//! Sentences of `goodput baseline`.

use goodput_decide::baseline::{Cause, Kind, Metric};

use crate::number::{count, counted, duration, gain, percent, significant};
use crate::view::{BaselineChangeView, BaselineUpdateView, BaselineView, CoincidenceView};

pub(crate) fn baseline_title(view: &BaselineView) -> String {
    match view.verdict {
        "regressed" => format!("{} since the baseline", counted(view.regressions as u64, "regression")),
        "no_regression" => "No regression".to_owned(),
        _ => "Not enough history".to_owned(),
    }
}

pub(crate) fn baseline_scope(view: &BaselineView) -> String {
    let parts = [(view.jobs, "job"), (view.pools, "pool")].map(|(n, noun)| counted(n as u64, noun));
    let canaries = match view.canaries {
        0 => String::new(),
        1 => ", 1 canary".to_owned(),
        n => format!(", {} canaries", count(n as u64)),
    };
    format!(
        "{}: {} of {}{canaries}, {} to {}",
        view.history,
        counted(view.rows as u64, "report row"),
        parts.join(", "),
        view.from,
        view.to
    )
}

/// How the findings are to be read.
pub(crate) fn baseline_method(view: &BaselineView) -> String {
    let tests: usize = view.tiers.iter().map(|tier| tier.tests).sum();
    let false_alarms = percent(Some(view.settings.false_alarms));
    format!(
        "{}; of the findings at most {false_alarms} are false on average, and where nothing changed a check finds anything with \
         probability {false_alarms}. Changes below {} are left out.",
        counted(tests as u64, "test"),
        percent(Some(view.settings.threshold)),
    )
}

/// What was not tested; nothing when all was.
pub(crate) fn baseline_not_tested(view: &BaselineView) -> Vec<String> {
    let not = &view.not_tested;
    let mut lines = Vec::new();
    if not.series > 0 {
        lines.push(format!(
            "{} not tested: the longest has {} of the {} reports that a change point needs",
            counted_series(not.series),
            not.longest,
            not.needed
        ));
    }
    if not.runs_without_baseline > 0 {
        lines.push(format!(
            "{} without a baseline: fewer than 8 others of its architecture, software, device and convention",
            counted(not.runs_without_baseline as u64, "run")
        ));
    }
    if not.runs_without_model > 0 {
        lines.push(format!(
            "{} not compared with others: name the architecture with `goodput baseline update --model NAME`",
            counted(not.runs_without_model as u64, "run")
        ));
    }
    if !view.mixed_ideals.is_empty() {
        lines.push(format!(
            "MFUs of several devices, peaks or conventions, each followed on its own: {}",
            listed(&view.mixed_ideals)
        ));
    }
    lines
}

fn counted_series(n: usize) -> String {
    format!("{} series", count(n as u64))
}

fn listed(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len().min(SHOWN)].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// Lines of the history that were refused, the first of them in full.
pub(crate) fn baseline_refused(view: &BaselineView) -> Vec<String> {
    const SHOWN: usize = 10;
    let mut lines: Vec<_> = view
        .refused
        .iter()
        .take(SHOWN)
        .map(|refused| format!("line {}: {}", refused.line, refused.why))
        .collect();
    let more = view.refused.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!("{} more lines refused", count(more as u64)));
    }
    lines
}

/// A level of a change.
pub(crate) fn baseline_value(change: &BaselineChangeView, value: f64) -> String {
    match change.unit {
        "seconds" => duration((value * 1e9) as i64),
        "share" => percent(Some(value)),
        _ => {
            let text = significant((value * 1e3).round() / 1e3);
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        }
    }
}

/// How large a change is: by ratio, with its interval on lines of its own, or in percentage points.
pub(crate) fn baseline_size(change: &BaselineChangeView, with_interval: bool) -> String {
    if change.unit == "share" && change.metric != Metric::Mfu {
        let points = (change.after - change.before) * 100.0;
        return format!("{points:+.1} points");
    }
    match (change.relative, change.relative_interval.filter(|_| with_interval)) {
        (Some(relative), Some((low, high))) => {
            format!("{}\n({} to\n{})", gain(relative), gain(low), gain(high))
        }
        (Some(relative), None) => gain(relative),
        (None, _) => "from nothing".to_owned(),
    }
}

/// A probability.
pub(crate) fn p_value(p: f64) -> String {
    match p {
        p if p <= 1e-6 => "<1e-6".to_owned(),
        p if p < 0.001 => format!("{p:.0e}"),
        p => format!("{p:.3}"),
    }
}

pub(crate) fn cause(cause: &Cause) -> String {
    format!("{} {} -> {} on {}", cause.what, cause.before, cause.after, cause.day)
}

/// What else changed when a figure did, the slow host behind it first.
pub(crate) fn baseline_causes(change: &BaselineChangeView) -> String {
    const SHOWN: usize = 3;
    let host = change.slow_host.iter().map(|host| format!("slow host {host}, counted once"));
    let more = change.causes.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("{more} more"));
    let said: Vec<_> = host.chain(change.causes.iter().take(SHOWN).map(cause)).chain(more).collect();
    if said.is_empty() { "no version or policy that is recorded".to_owned() } else { said.join("; ") }
}

pub(crate) fn baseline_subject(change: &BaselineChangeView) -> String {
    match change.kind {
        Kind::Pool => format!("pool {}", change.subject),
        _ => change.subject.clone(),
    }
}

pub(crate) fn baseline_state(change: &BaselineChangeView) -> &'static str {
    match (change.worse, change.recovered) {
        (true, false) => "worse",
        (true, true) => "worse, since undone",
        (false, _) => "better",
    }
}

/// A release or policy and the figures that changed with it.
pub(crate) fn coincidence(one: &CoincidenceView) -> String {
    format!(
        "{}: {} worse, {} better, over {}",
        cause(&one.cause),
        counted(one.worse as u64, "figure"),
        one.better,
        counted(one.subjects as u64, "job or pool").replace("job or pools", "jobs and pools")
    )
}

pub(crate) fn baseline_update(view: &BaselineUpdateView) -> Vec<String> {
    let mut lines = vec![format!(
        "{}: {} added from {}, {} already there",
        view.history,
        counted(view.added, "row"),
        counted(view.reports as u64, "report"),
        count(view.known)
    )];
    lines.extend(view.refused.iter().map(|why| format!("refused: {why}")));
    lines.extend(
        view.refused_lines.iter().map(|refused| format!("line {} is no row: {}", refused.line, refused.why)),
    );
    lines
}
