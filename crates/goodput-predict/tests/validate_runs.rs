//! Predictions against the published runs that the reference collected. Nothing is fitted to them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at what must not be")]

use std::collections::BTreeMap;
use std::fs::File;

use goodput_predict::cluster::Clusters;
use goodput_predict::validate::{Refusal, Rules, RunRow, read};

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
