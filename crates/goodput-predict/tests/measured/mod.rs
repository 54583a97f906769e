//! Measured kernel times that are compared with and not shipped. Absent outside the project's own workplace.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;

use goodput_model::device::Catalogue;
use goodput_predict::kernel::KernelTables;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

/// A row's columns by name.
#[derive(Debug, Clone)]
pub struct Row(HashMap<String, String>);

impl Row {
    pub fn text(&self, column: &str) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }

    pub fn number(&self, column: &str) -> f64 {
        self.text(column).parse().unwrap_or_else(|_| panic!("{column} of {self:?}"))
    }

    pub fn count(&self, column: &str) -> u64 {
        self.number(column) as u64
    }
}

fn file(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/kernels")).join(name);
    path.exists().then_some(path)
}

/// The rows of a Parquet file whose column `column` is `value`; none if the file is absent.
pub fn parquet(name: &str, column: &str, value: &str) -> Vec<Row> {
    let Some(path) = file(name) else { return Vec::new() };
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        Row(row.get_column_iter().map(|(name, field)| (name.clone(), spell(field))).collect())
    });
    rows.filter(|row| row.text(column) == value).collect()
}

fn spell(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The rows of a CSV file; none if it is absent.
pub fn csv(name: &str) -> Vec<Row> {
    let Some(path) = file(name) else { return Vec::new() };
    csv::Reader::from_path(path).unwrap().deserialize().map(|row| Row(row.unwrap())).collect()
}

pub fn tables(device: &str) -> KernelTables {
    KernelTables::new(Catalogue::built_in().find(device).unwrap())
}

/// How predicted times compare with measured ones.
#[derive(Debug)]
pub struct Errors {
    pub rows: usize,
    /// Median of predicted / measured.
    pub bias: f64,
    /// Median and 90th percentile of |predicted / measured - 1|, in percent.
    pub median: f64,
    pub p90: f64,
    /// Median of the same after the bias is divided out.
    pub median_unbiased: f64,
}

/// From pairs of a predicted and a measured time.
pub fn errors(pairs: &[(f64, f64)]) -> Errors {
    let middle = |mut values: Vec<f64>, at: usize| {
        values.sort_by(f64::total_cmp);
        values[values.len() * at / 10]
    };
    let ratios: Vec<f64> = pairs.iter().map(|(predicted, measured)| predicted / measured).collect();
    let bias = middle(ratios.clone(), 5);
    let off = |scale: f64| ratios.iter().map(|ratio| (ratio / scale - 1.0).abs() * 100.0).collect::<Vec<_>>();
    Errors {
        rows: pairs.len(),
        bias,
        median: middle(off(1.0), 5),
        p90: middle(off(1.0), 9),
        median_unbiased: middle(off(bias), 5),
    }
}

impl std::fmt::Display for Errors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rows, bias, median, p90, median_unbiased } = self;
        write!(f, "| {rows} | {bias:.3} | {median:.1} | {p90:.1} | {median_unbiased:.1} |")
    }
}
