//! `ask: straggler`: replace a slow node, or wait until it recovers by itself.

use super::answer::{Answer, Row, Rows, Unit};
use super::error::PlanError;
use super::fields::Fields;
use super::monte_carlo::Draws;
use super::quantity::Quantity;
use super::run::JobRun;
use super::words::{percent, time};

/// How long a slowdown lasts, seen from now.
enum Persistence {
    Fixed(f64),
    Exponential(f64),
    Seen(Vec<f64>),
}

/// Draws of a log-normal persistence.
const DRAWS: usize = 10_000;

pub(super) fn answer(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&[
        "ask",
        "name",
        "pace",
        "persistence",
        "restart",
        "replay",
        "spare_wait",
        "while_waiting",
    ])?;
    // A synchronous job runs at the pace of its slowest node.
    let pace = fields.need("pace", Quantity::Factor)?;
    let mut answer = Answer::default();
    answer.figure("program_loss", "program goodput lost while it lasts", 1.0 - pace, Unit::Share);
    if let Some(program) = fields.get("factors.program", Quantity::Factor)? {
        answer
            .figure("program_goodput_slow", "program goodput while it lasts", program * pace, Unit::Factor)
            .figure("program_goodput", "program goodput without it", program, Unit::Factor);
    }
    let (cost_s, wait_s) = cost(fields)?;
    if pace >= 1.0 {
        answer.verdict = "The node is not slow: nothing to recover.".to_owned();
        return Ok(answer);
    }
    // Replacing costs held time without progress; what it recovers is the lost pace of the time after the spare is there.
    let even_s = wait_s + cost_s / (1.0 - pace);
    answer.figure("replacement_s", "held time that a replacement costs", cost_s, Unit::Seconds).figure(
        "break_even_persistence_s",
        "persistence that repays it",
        even_s,
        Unit::Seconds,
    );
    answer.verdict = format!(
        "While it lasts the job loses {} of its pace. A replacement costs {}: it pays if the slowdown lasts longer \
         than {}.",
        percent(1.0 - pace),
        time(cost_s),
        time(even_s)
    );
    let Some(persistence) = persistence(fields)? else { return Ok(answer) };
    let beyond_wait = |lasts_s: f64| (lasts_s - wait_s).max(0.0) * (1.0 - pace);
    let value_s = match &persistence {
        Persistence::Fixed(lasts_s) => beyond_wait(*lasts_s),
        Persistence::Exponential(mean_s) => mean_s * (-wait_s / mean_s).exp() * (1.0 - pace),
        Persistence::Seen(seen) => mean(seen.iter().map(|lasts_s| beyond_wait(*lasts_s))),
    } - cost_s;
    answer.figure("expected_value_s", "expected work gained by replacing now", value_s, Unit::Seconds);
    answer.verdict += &if value_s > 0.0 {
        format!(" Replace: {} of work is gained on average.", time(value_s))
    } else {
        format!(" Leave it: a replacement loses {} of work on average.", time(-value_s))
    };
    if let Persistence::Seen(seen) = &persistence {
        patience(&mut answer, seen, pace, cost_s, wait_s);
    }
    Ok(answer)
}

/// Held time without progress, and the wait in which the job runs on at the slow pace.
fn cost(fields: &Fields<'_>) -> Result<(f64, f64), PlanError> {
    let restart_s = match fields.get("restart", Quantity::Duration)? {
        Some(restart_s) => restart_s,
        None => fields.get("reliability.recovery", Quantity::Duration)?.ok_or_else(|| {
            fields.missing(
                "restart",
                "a duration (or reliability.recovery): reload and warm-up on the new node",
            )
        })?,
    };
    let replay_s = match fields.get("replay", Quantity::Duration)? {
        Some(replay_s) => replay_s,
        None => {
            let run = JobRun::read(fields)?;
            let interval_s = run.interval_s(fields)?.ok_or_else(|| {
                fields.missing("replay", "the steps lost by the restart as a duration, or checkpoint.every")
            })?;
            interval_s / 2.0 + run.durable_after_s
        }
    };
    let wait_s = fields.or("spare_wait", Quantity::Duration, 0.0)?;
    Ok(match fields.word("while_waiting", &["runs", "halts"], "runs")? {
        "halts" => (restart_s + replay_s + wait_s, 0.0),
        _ => (restart_s + replay_s, wait_s),
    })
}

fn persistence(fields: &Fields<'_>) -> Result<Option<Persistence>, PlanError> {
    if !fields.has("persistence") {
        return Ok(None);
    }
    if fields.is_mapping_with("persistence", "samples") {
        let seen = fields.many("persistence.samples", Quantity::Duration)?.unwrap_or_default();
        if seen.is_empty() {
            return Err(PlanError::new(fields.at("persistence.samples"), "expected at least one duration"));
        }
        return Ok(Some(Persistence::Seen(seen)));
    }
    if fields.is_mapping_with("persistence", "mean") {
        return Ok(Some(Persistence::Exponential(fields.need("persistence.mean", Quantity::Span)?)));
    }
    if ["median", "p90"].iter().any(|key| fields.is_mapping_with("persistence", key)) {
        let (median_s, sigma) = log_normal(fields, "persistence")?;
        let mut draws = Draws::new(fields.seed());
        let seen = (0..DRAWS).map(|_| median_s * (sigma * draws.normal()).exp()).collect();
        return Ok(Some(Persistence::Seen(seen)));
    }
    Ok(Some(Persistence::Fixed(fields.need("persistence", Quantity::Duration)?)))
}

/// Median and standard deviation of the logarithm, from `{median, p90}`.
pub(super) fn log_normal(fields: &Fields<'_>, key: &str) -> Result<(f64, f64), PlanError> {
    /// The 90th percentile of the standard normal.
    const P90: f64 = 1.281_551_565_544_600_4;
    let median_s = fields.need(&format!("{key}.median"), Quantity::Span)?;
    let p90_s = fields.need(&format!("{key}.p90"), Quantity::Span)?;
    if p90_s < median_s {
        let message =
            format!("{p90_s} s lies below the median of {median_s} s: expected no less than the median");
        return Err(fields.refuse(&format!("{key}.p90"), message));
    }
    Ok((median_s, (p90_s / median_s).ln() / P90))
}

/// How long to watch before replacing: the wait with the least expected loss over what was seen.
fn patience(answer: &mut Answer, seen: &[f64], pace: f64, cost_s: f64, wait_s: f64) {
    let loss = |patience_s: f64| {
        mean(seen.iter().map(|&lasts_s| {
            let slow_s = if lasts_s <= patience_s { lasts_s } else { lasts_s.min(patience_s + wait_s) };
            slow_s * (1.0 - pace) + if lasts_s > patience_s { cost_s } else { 0.0 }
        }))
    };
    let mut sorted = seen.to_vec();
    sorted.sort_by(f64::total_cmp);
    let stride = (sorted.len() / 200).max(1);
    let tried = std::iter::once(0.0).chain(sorted.into_iter().step_by(stride)).chain([f64::INFINITY]);
    let best = tried.map(|s| (s, loss(s))).min_by(|one, other| one.1.total_cmp(&other.1));
    let Some((best_s, least_s)) = best else { return };
    answer.figure("patience_s", "watch this long before replacing", best_s, Unit::Seconds);
    let row = |name: &str, patience_s: f64| Row {
        name: name.to_owned(),
        cells: vec![Some(patience_s).filter(|s| s.is_finite()), Some(loss(patience_s))],
        mark: (patience_s == best_s).then(|| "least loss".to_owned()),
    };
    answer.rows.push(Rows {
        title: "When to replace",
        columns: vec![
            ("patience_s", "watched first", Unit::Seconds),
            ("loss_s", "expected loss of work", Unit::Seconds),
        ],
        rows: vec![row("at once", 0.0), row("after the best wait", best_s), row("never", f64::INFINITY)],
    });
    let when = if best_s == 0.0 {
        "replacing at once".to_owned()
    } else if best_s.is_finite() {
        format!("watching it for {} before replacing", time(best_s))
    } else {
        "never replacing".to_owned()
    };
    answer.verdict +=
        &format!(" Over the stated persistences {when} loses least ({} of work).", time(least_s));
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}
