//! Where the shared reference data is.

// Each test file uses its own part of this module.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use goodput_model::Architecture;

/// The folder of FLOPs data; `None`, with a word about it, where it is missing.
pub fn shared() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/flops");
    if !root.exists() {
        println!("skipped: ../shared is not there");
        return None;
    }
    Some(root)
}

/// Rows of a table by column name.
pub fn rows(file: &str) -> Option<Vec<BTreeMap<String, String>>> {
    table(&format!("flops/{file}"))
}

/// Rows of any table of the shared data.
pub fn table(file: &str) -> Option<Vec<BTreeMap<String, String>>> {
    let mut reader = csv::Reader::from_path(shared()?.join("..").join(file)).unwrap();
    Some(reader.deserialize().map(Result::unwrap).collect())
}

/// The configuration of a model of the tables.
pub fn architecture(model: &str) -> Architecture {
    let path = shared().unwrap().join("configs").join(format!("{model}.json"));
    let json = std::fs::read_to_string(path).unwrap();
    Architecture::from_hugging_face(&json, model).unwrap()
}
