//! `ask: levers`: what kernel-level levers do to a step, each alone and one after another (docs/levers.md).

use std::collections::BTreeMap;

use serde_json::Value;

use super::answer::{Answer, Row, Rows, Unit};
use super::error::PlanError;
use super::fields::Fields;
use super::quantity::Quantity;
use super::words::time;
use crate::levers::step::{Step, Term};
use crate::levers::{Inputs, Lever, LeverError, Levers, Outcome};

pub(super) fn answer(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&[
        "ask",
        "name",
        "step",
        "trace",
        "shares",
        "chains",
        "hidden_communication",
        "overlap_window",
        "host",
        "levers",
    ])?;
    let levers = fields.list("levers")?.iter().map(lever).collect::<Result<Vec<_>, _>>()?;
    let judged = match fields.trace("trace")? {
        Some(report) => {
            let step = Step::from_trace(report).map_err(|why| PlanError::new(fields.at("trace"), why))?;
            Inputs { levers, ..Inputs::default() }.judge(step)
        }
        None => stated(fields, levers)?.answer(),
    };
    Ok(show(&judged.map_err(|error| at(fields, error))?))
}

fn lever(fields: &Fields<'_>) -> Result<Lever, PlanError> {
    // All but its names are numbers.
    let is_number = |value: &Value| value.as_f64().is_some_and(f64::is_finite);
    let wrong = fields
        .own()
        .iter()
        .find(|(key, value)| !matches!(key.as_str(), "lever" | "chain") && !is_number(value));
    if let Some((key, value)) = wrong {
        return Err(fields.refuse(key, format!("found {value}, expected a finite number")));
    }
    let value = Value::Object(fields.own().clone());
    serde_json::from_value(value).map_err(|error| PlanError::new(fields.path(), error.to_string()))
}

/// The step that the question states.
fn stated(fields: &Fields<'_>, levers: Vec<Lever>) -> Result<Inputs, PlanError> {
    let step_s = match fields.get("step", Quantity::Span)? {
        Some(step_s) => step_s,
        None => fields.get("job.step", Quantity::Span)?.ok_or_else(|| {
            fields.missing("step", "the time of one step, such as 245 ms, or trace: REPORT.json")
        })?,
    };
    let shares = |key: &str| -> Result<BTreeMap<String, f64>, PlanError> {
        let Some(parts) = fields.under(key)? else { return Ok(BTreeMap::new()) };
        parts.own_keys().map(|name| Ok((name.to_owned(), parts.need(name, Quantity::Share)?))).collect()
    };
    Ok(Inputs {
        step_ms: Some(step_s * 1e3),
        shares: shares("shares")?,
        chains: shares("chains")?,
        hidden_communication: fields.or("hidden_communication", Quantity::Share, 0.0)?,
        overlap_window: fields.get("overlap_window", Quantity::Share)?,
        host_ms: fields.or("host", Quantity::Duration, 0.0)? * 1e3,
        levers,
    })
}

/// The keys of the step are those of the question, with the unit in the value; a lever's own stay as they are.
fn at(fields: &Fields<'_>, LeverError { key, why }: LeverError) -> PlanError {
    let key = match key.strip_suffix("_ms") {
        Some(of_the_step) if !key.starts_with("levers[") => of_the_step,
        _ => &key,
    };
    PlanError::new(fields.at(key), why)
}

fn show(levers: &Levers) -> Answer {
    let saving_s = (levers.before_ns - levers.after_ns) / 1e9;
    let mut answer = Answer::default();
    answer
        .figure("step_before_s", "step before", levers.before_ns / 1e9, Unit::Seconds)
        .figure("step_after_s", "step after all levers", levers.after_ns / 1e9, Unit::Seconds)
        .figure("speedup", "speedup", levers.speedup(), Unit::Number)
        .figure("saving_s", "saved together", saving_s, Unit::Seconds)
        .figure(
            "sum_of_savings_s",
            "sum of what each saves alone",
            levers.sum_of_savings_ns / 1e9,
            Unit::Seconds,
        );
    answer.rows = vec![
        outcomes("Each lever alone", &levers.alone, levers),
        outcomes("One after another", &levers.in_order, levers),
    ];
    if !levers.interactions.is_empty() {
        answer.rows.push(Rows {
            title: "Pairs",
            columns: vec![("sum_s", "sum of each alone", Unit::Seconds), ("both_s", "both", Unit::Seconds)],
            rows: levers
                .interactions
                .iter()
                .map(|pair| Row {
                    name: format!("{} and {}", pair.first, pair.second),
                    cells: vec![Some(pair.sum_ns / 1e9), Some(pair.both_ns / 1e9)],
                    mark: Some(format!("{}: {}", pair.kind.key(), pair.kind.why())),
                })
                .collect(),
        });
    }
    let (before, after) = (time(levers.before_ns / 1e9), time(levers.after_ns / 1e9));
    // A precision may cost more traffic than it saves arithmetic: such a step is not said to gain.
    answer.verdict = if saving_s > 0.0 {
        format!(
            "The step goes from {before} to {after}, {:.4} times faster. Added up, the levers alone would promise {} less; \
             together they save {}.",
            levers.speedup(),
            time(levers.sum_of_savings_ns / 1e9),
            time(saving_s)
        )
    } else if saving_s < 0.0 {
        let longer = levers.after_ns / levers.before_ns;
        format!(
            "The step goes from {before} to {after}, {longer:.4} times as long: together the levers cost more than they save."
        )
    } else {
        format!("The step stays at {before}: together the levers save nothing.")
    };
    answer.warnings = levers.why_no_sum().split_off(1);
    answer
}

fn outcomes(title: &'static str, outcomes: &[Outcome], levers: &Levers) -> Rows {
    // A term that no lever's step has is none of this step's: its column stays empty.
    let has = Term::ALL.map(|term| outcomes.iter().any(|outcome| outcome.step.term_ns(term) > 0.0));
    let row = |outcome: &Outcome| {
        let step_ns = outcome.step.step_ns();
        let figures = [outcome.applied.saving_ns / 1e9, step_ns / 1e9, levers.before_ns / step_ns];
        let terms = Term::ALL.into_iter().zip(has);
        let terms = terms.map(|(term, has)| has.then(|| outcome.step.term_ns(term) / 1e9));
        Row {
            name: outcome.name.clone(),
            cells: figures.into_iter().map(Some).chain([outcome.traffic_ratio]).chain(terms).collect(),
            mark: outcome.applied.was_done.then(|| "done by levers before it".to_owned()),
        }
    };
    Rows {
        title,
        columns: vec![
            ("saving_s", "saved", Unit::Seconds),
            ("step_s", "step", Unit::Seconds),
            ("speedup", "of the first step", Unit::Number),
            ("traffic_ratio", "traffic", Unit::Number),
            ("compute_s", "compute", Unit::Seconds),
            ("memory_s", "memory", Unit::Seconds),
            ("dispatch_s", "dispatch", Unit::Seconds),
            ("communication_s", "communication", Unit::Seconds),
            ("synchronization_s", "synchronization", Unit::Seconds),
            ("other_s", "other", Unit::Seconds),
        ],
        rows: outcomes.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::Sheet;

    const TRACE: &str = r#"{"schema": "goodput.trace/1", "scope": {"rank_steps": 1}, "overlap": null, "charges": [
        {"charge": "gemm", "time_ns": 60000000}, {"charge": "norm", "time_ns": 30000000}, {"charge": "host_dispatch", "time_ns": 10000000}]}"#;

    fn read(yaml: &str) -> Result<Sheet, crate::plan::PlanError> {
        Sheet::read(yaml, &mut |_| Ok(TRACE.as_bytes().to_vec()))
    }

    /// Worked example E9, and a lever on a traced step.
    #[test]
    fn stated_and_traced_steps() {
        let levers = "levers: [{lever: compilation, memory_removed: 0.70, dispatch_removed: 0.80}]";
        let plan = format!(
            "questions:\n  - {{ask: levers, step: 8.333333333333334 ms, shares: {{compute: 0.50, memory: 35 %, dispatch: 0.15}}, {levers}}}\n  \
             - {{ask: levers, trace: trace.json, {levers}}}"
        );
        let answers = read(&plan).unwrap().answers().unwrap();
        let remains =
            |i: usize| answers[i].get("step_after_s").unwrap() / answers[i].get("step_before_s").unwrap();
        assert!((remains(0) - 0.635).abs() < 1e-9);
        assert!((remains(1) - (0.6 + 0.3 * 0.3 + 0.1 * 0.2)).abs() < 1e-9);
        assert!(answers[0].inputs.len() >= 4);
    }

    #[test]
    fn a_step_that_grows_is_not_called_faster() {
        let verdict = |times: f64, bytes: f64| {
            let sheet = read(&format!(
                "questions: [{{ask: levers, step: 1 ms, shares: {{compute: 0.5, memory: 0.5}}, \
                 levers: [{{lever: precision, times: {times}, memory_bytes: {bytes}}}]}}]"
            ));
            sheet.unwrap().answers().unwrap().remove(0).verdict
        };
        assert!(verdict(2.0, 0.5).contains("2.0000 times faster"), "{}", verdict(2.0, 0.5));
        assert!(verdict(2.0, 2.0).contains("1.2500 times as long"), "{}", verdict(2.0, 2.0));
        assert!(verdict(2.0, 1.5).contains("stays at 1 ms"), "{}", verdict(2.0, 1.5));
    }

    #[test]
    fn a_term_that_the_step_has_not_leaves_its_column_empty() {
        let sheet = read(
            "questions: [{ask: levers, step: 1 ms, shares: {compute: 0.6, dispatch: 0.4}, levers: [{lever: graph_replay}]}]",
        );
        let answer = sheet.unwrap().answers().unwrap().remove(0);
        for rows in answer.rows.iter().filter(|rows| rows.title != "Pairs") {
            let of = |key: &str| {
                let at = rows.columns.iter().position(|column| column.0 == key).unwrap();
                rows.rows[0].cells[at]
            };
            assert!(of("compute_s").is_some(), "{}", rows.title);
            assert_eq!((of("memory_s"), of("communication_s"), of("traffic_ratio")), (None, None, None));
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let why = |question: &str| {
            let sheet = read(&format!("questions:\n  - {question}")).unwrap();
            sheet.answers().unwrap_err().to_string()
        };
        assert!(why("{ask: levers, shares: {compute: 1}}").contains("step"));
        assert!(
            why("{ask: levers, step: 1 ms, shares: {compute: 0.5}, levers: [{lever: precision, times: 2}]}")
                .contains("shares")
        );
        assert!(
            why("{ask: levers, step: 1 ms, shares: {compute: 1}, levers: [{lever: fusing}]}")
                .contains("levers[0]")
        );
    }
}
