//! Predictions against the published runs that the reference collected. Nothing is fitted to them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at what must not be")]

use std::collections::BTreeMap;
use std::fs::File;

use goodput_predict::cluster::Clusters;
use goodput_predict::layer::Term;
use goodput_predict::validate::{
    Calibration, Dimension, Errors, Outcome, Refusal, Regression, Rules, RunRow, evaluate, read,
};

const RUNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/runs/runs.csv");

fn rows() -> Option<Vec<Result<RunRow, Refusal>>> {
    let file = File::open(RUNS).ok()?;
    Some(read("runs.csv", file, Rules::built_in(), Clusters::built_in()).unwrap())
}

#[test]
fn complete_rows_convert_and_others_are_refused_with_their_column() {
    let Some(rows) = rows() else { return };
    let mut converted: BTreeMap<&str, u32> = BTreeMap::new();
    let mut refused: BTreeMap<(&str, &str, &str), u32> = BTreeMap::new();
    for row in &rows {
        match row {
            Ok(row) => *converted.entry(&row.source).or_default() += 1,
            Err(refusal) => {
                *refused.entry((&refusal.origin, refusal.field, &refusal.found)).or_default() += 1
            }
        }
    }
    println!("| source | rows that convert |\n|-|-|");
    for (source, count) in &converted {
        println!("| {source} | {count} |");
    }
    println!("\n| source | refused for | found | rows |\n|-|-|-|-|");
    for ((source, field, found), count) in &refused {
        println!("| {source} | {field} | {} | {count} |", found.chars().take(60).collect::<String>());
    }
    // 1,039 complete rows and 36 of zero-bubble's. What is left of them: adapters and fine-tuning, slices of TPUs without a
    // step time, and two rows without a word on recompute.
    let of = |source: &str| converted.get(source).copied().unwrap_or_default();
    assert_eq!(converted.values().sum::<u32>(), 1_013);
    assert_eq!([of("vtrain-single"), of("mosaic-llm-foundry"), of("megatron-bridge")], [390, 156, 125]);
    assert_eq!([of("dgxc-benchmarking"), of("bloom-prequel"), of("paper-zerobubble")], [96, 66, 36]);
    assert_eq!(of("maxtext-tpu"), 0);
}

fn line(name: &str, errors: &Errors) {
    let percent = |share: f64| 100.0 * share;
    println!(
        "| {name} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:+.1} |",
        errors.rows,
        percent(errors.mape),
        percent(errors.median_ape),
        percent(errors.p90_ape),
        percent(errors.max_ape),
        percent(errors.bias)
    );
}

/// One row: sizes, layout, times, and the largest terms as shares of the measured time.
fn detail(outcome: &Outcome<'_>) {
    let (row, run) = (outcome.row, &outcome.row.run);
    let (layout, (measured, predicted)) = (&run.layout, outcome.pair());
    let mut terms: Vec<(Term, f64)> = outcome
        .predicted
        .terms
        .iter()
        .flat_map(|terms| Term::ALL.map(|term| (term, terms.of(term) / measured)))
        .filter(|(_, share)| *share > 0.005)
        .collect();
    terms.sort_by(|one, other| other.1.total_cmp(&one.1));
    let terms: Vec<String> =
        terms.iter().map(|(term, share)| format!("{term:?} {:.1}", 100.0 * share)).collect();
    println!(
        "{:+6.1} % {} {} {} x{} tp{} cp{} pp{} v{} dp{} ep{} mbs{} gbs{} s{} {} {:?} {:.3} s, memory {:.1}/{:.1} GiB: {}",
        100.0 * outcome.relative_error(),
        row.id,
        row.model,
        row.device,
        run.devices,
        layout.tensor,
        layout.context,
        layout.pipeline,
        run.parts(),
        layout.data,
        layout.expert,
        run.batch.micro,
        run.batch.global,
        run.batch.sequence,
        run.precision.products.name(),
        run.recompute,
        predicted / 1e9,
        outcome.predicted.memory_bytes.unwrap_or_default() / 1_073_741_824.0,
        row.measured.memory_bytes.unwrap_or_default() / 1_073_741_824.0,
        terms.join(", ")
    );
}

/// `SOURCE=korthikanti-2022` prints each row of a source, `BY=1` every dimension.
#[test]
fn errors_by_source() {
    let Some(rows) = rows() else { return };
    let rows: Vec<RunRow> = rows.into_iter().flatten().collect();
    let evaluation = evaluate(&rows);
    let report = evaluation.report().unwrap();
    if let Ok(source) = std::env::var("SOURCE") {
        for outcome in evaluation.outcomes.iter().filter(|outcome| outcome.row.source == source) {
            detail(outcome);
        }
    }
    println!("| | rows | MAPE | median | p90 | max | bias |\n|-|-|-|-|-|-|-|");
    for (dimension, groups) in &report.by {
        if *dimension == Dimension::Source || std::env::var("BY").is_ok() {
            for (group, errors) in groups {
                line(&format!("{dimension:?} {group}"), errors);
            }
        }
    }
    line("all", &report.all);
    println!("mean of sources: {:.1} %", 100.0 * report.sources_mean);
    for (source, errors) in &report.memory {
        println!(
            "memory, {source}: {} rows, MAPE {:.1}, bias {:+.1}",
            errors.rows,
            100.0 * errors.mape,
            100.0 * errors.bias
        );
    }
    for group in &report.ranking.each {
        println!(
            "{} rows, Spearman {:?}, regret {:.3}: {}",
            group.rows, group.spearman, group.regret, group.group
        );
    }
    println!("Spearman {:?}, regret {:?}", report.ranking.spearman, report.ranking.mean_regret);
    let mut reasons: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for failure in &evaluation.failures {
        *reasons.entry((&failure.row.source, &failure.reason)).or_default() += 1;
    }
    println!("not predicted: {reasons:#?}");
    let (fitting, test) = evaluation.halves();
    let calibration = Calibration::fit(&fitting);
    for factor in &calibration.factors {
        println!(
            "{} | {}: devices x {:.3}, host x {:.3}, from {} rows, {} of them felt the host",
            factor.device,
            factor.software,
            factor.times.device_time,
            factor.times.host_time,
            factor.rows.len(),
            factor.rows_that_feel_the_host
        );
    }
    let calibrated = test.calibrated(&calibration).report().unwrap();
    println!("calibrated, on the other half:");
    for (group, errors) in &calibrated.by[&Dimension::Source] {
        line(group, errors);
    }
}

/// What was reached, so that a loss of accuracy fails. `RECORD=1` writes it anew.
#[test]
fn no_source_became_worse() {
    const REACHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/validate_runs.json");
    let Some(rows) = rows() else { return };
    let rows: Vec<RunRow> = rows.into_iter().flatten().collect();
    let report = evaluate(&rows).report().unwrap();
    if std::env::var("RECORD").is_ok() {
        std::fs::write(REACHED, Regression::record(&report, 0.01).to_json().unwrap()).unwrap();
    }
    let reached = Regression::from_json(REACHED, &std::fs::read_to_string(REACHED).unwrap()).unwrap();
    let worse: Vec<String> = reached.check(&report).iter().map(ToString::to_string).collect();
    assert!(worse.is_empty(), "{worse:#?}; RECORD=1 accepts it");
}
