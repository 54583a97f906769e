//! Names of kernels from real traces against the class that each was labelled with by hand.

use std::fs;

use goodput_trace::class::Class;

const NAMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/traces/kernel_names.tsv");

struct Row {
    class: String,
    total_us: f64,
    name: String,
}

/// Rows labelled with high confidence: another answer to one of the others is no error.
fn certain_rows() -> Vec<Row> {
    let Ok(text) = fs::read_to_string(NAMES) else { return Vec::new() };
    let rows: Vec<_> = text
        .lines()
        .skip(1)
        .filter_map(|line| {
            let [class, confidence, _, total_us, _, name] =
                <[&str; 6]>::try_from(line.split('\t').collect::<Vec<_>>()).ok()?;
            let row =
                Row { class: class.to_owned(), total_us: total_us.parse().ok()?, name: name.to_owned() };
            (confidence == "high").then_some(row)
        })
        .collect();
    assert_eq!(rows.len(), 598, "rows of high confidence");
    rows
}

/// Shares of rows and of device time that are classed as labelled, and the names that are not.
fn agreement<'a>(rows: impl Iterator<Item = &'a Row>) -> (f64, f64, Vec<String>) {
    let (mut all, mut right, mut wrong) = ((0.0, 0.0), (0.0, 0.0), Vec::new());
    for row in rows {
        all = (all.0 + 1.0, all.1 + row.total_us);
        let class = Class::of_kernel(&row.name).key();
        if class == row.class {
            right = (right.0 + 1.0, right.1 + row.total_us);
        } else {
            wrong.push(format!("{class} is not {}: {}", row.class, row.name));
        }
    }
    (right.0 / all.0, right.1 / all.1, wrong)
}

/// FNV-1a: divides the names the same way on every machine.
fn hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn nearly_all_names_and_time_are_classed_as_labelled() {
    let rows = certain_rows();
    if rows.is_empty() {
        return;
    }
    let (of_rows, of_time, wrong) = agreement(rows.iter());
    assert!(of_rows >= 0.99, "{of_rows} of the rows: {wrong:#?}");
    assert!(of_time >= 0.995, "{of_time} of the time: {wrong:#?}");
}

/// Rules that memorise one part of the names would fail on another.
#[test]
fn every_fifth_of_the_names_is_classed_alike() {
    let rows = certain_rows();
    for part in 0..5 {
        let mut rows = rows.iter().filter(|row| hash(&row.name) % 5 == part).peekable();
        if rows.peek().is_none() {
            return;
        }
        let (of_rows, _, wrong) = agreement(rows);
        assert!(of_rows >= 0.98, "{of_rows} of part {part}: {wrong:#?}");
    }
}
