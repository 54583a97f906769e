//! What the stated standard deviation is worth: the share of published runs that lie within one and two of it. Nothing is fitted to it.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs::File;

use goodput_predict::cluster::Clusters;
use goodput_predict::step::Predictor;
use goodput_predict::validate::{Rules, read};

const RUNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/runs/runs.csv");

/// `-- --nocapture` prints the shares by source.
#[test]
fn runs_within_the_stated_deviation() {
    let Ok(file) = File::open(RUNS) else { return };
    let rows = read("runs.csv", file, Rules::built_in(), Clusters::built_in()).unwrap();
    // Rows, those within one and within two deviations, deviations and errors added up.
    let mut by: BTreeMap<String, [f64; 5]> = BTreeMap::new();
    for row in rows.into_iter().flatten() {
        let Ok(prediction) = Predictor::new(&row.run.cluster).unwrap().predict(&row.run) else { continue };
        let error = (prediction.step_ns / row.measured.step_ns as f64 - 1.0).abs();
        let within = |times: f64| f64::from(u8::from(error <= times * prediction.deviation));
        for name in [row.source.clone(), "all".to_owned()] {
            let sum = by.entry(name).or_default();
            for (sum, one) in sum.iter_mut().zip([1.0, within(1.0), within(2.0), prediction.deviation, error])
            {
                *sum += one;
            }
        }
    }
    println!("| source | rows | within 1 | within 2 | mean deviation | mean error |\n|-|-|-|-|-|-|");
    for (source, [rows, one, two, deviation, error]) in &by {
        let percent = |sum: &f64| 100.0 * sum / rows;
        let [one, two, deviation, error] = [one, two, deviation, error].map(percent);
        println!("| {source} | {rows} | {one:.0} | {two:.0} | {deviation:.1} | {error:.1} |");
    }
    let [rows, one, two, ..] = by["all"];
    assert!(rows > 900.0 && one <= two);
}
