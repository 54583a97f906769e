//! The built-in catalogue.

#![allow(clippy::unwrap_used)]

mod support;

use goodput_model::architecture::known_architectures;
use goodput_model::{Architecture, ArchitectureError, Batch, FlopCounter, Grid, Recompute, Training};

#[test]
fn every_known_architecture_can_be_counted() {
    let known = known_architectures().unwrap();
    assert!(known.len() >= 60);
    for architecture in known {
        assert_eq!(&Architecture::known(&architecture.name).unwrap(), architecture);
        assert!(architecture.parameters().unwrap().total > 100_000_000, "{}", architecture.name);
        FlopCounter::new(architecture, &Training::full()).unwrap();
    }
}

/// The catalogue groups blocks that a configuration has in turn; nothing else may differ.
#[test]
fn the_catalogue_counts_what_the_published_configurations_count() {
    let Some(rows) = support::rows("params.csv") else { return };
    let mut equal = 0;
    for row in &rows {
        let model = row["model"].as_str();
        let Ok(known) = Architecture::known(model.trim_end_matches("-text")) else { continue };
        let read = support::architecture(model);
        assert_eq!(known.parameters().unwrap(), read.parameters().unwrap(), "{model}");
        assert_eq!(known.family, read.family);
        let mut batch = Batch::documents(&[17, 5000, 12_345]).unwrap();
        let counter = FlopCounter::new(&read, &Training::full()).unwrap();
        if known.vision.is_some() {
            batch = Batch::default().with_images(&[Grid { frames: 3, height: 14, width: 20 }]).unwrap();
        }
        if counter.count(&batch, Recompute::None).is_err() {
            batch = batch.with_sources(&[100, 0, 512]).unwrap();
        }
        let ours =
            FlopCounter::new(&known, &Training::full()).unwrap().count(&batch, Recompute::Full).unwrap();
        let theirs = counter.count(&batch, Recompute::Full).unwrap();
        assert_eq!(ours, theirs, "{model}");
        equal += 1;
    }
    assert_eq!(equal, 60);
}

#[test]
fn a_wrong_name_lists_the_near_ones() {
    let error = Architecture::known("Llama-3.1-9B").unwrap_err();
    let ArchitectureError::NotKnown { near, .. } = &error else { panic!("{error}") };
    assert!(near.starts_with("llama3.1-8b, "), "{near}");
    assert!(Architecture::known("LLAMA3.1-8B").is_ok());
}

/// Parameters in the files that the authors publish: half their bytes.
#[test]
fn vision_language_models_have_the_parameters_of_their_checkpoints() {
    for (name, total) in [
        ("qwen2.5-vl-3b", 3_754_622_976),
        ("qwen2.5-vl-7b", 8_292_166_656),
        ("qwen2.5-vl-32b", 33_452_718_336),
        ("qwen2.5-vl-72b", 73_410_777_344),
        ("qwen3-vl-8b", 8_767_123_696),
    ] {
        assert_eq!(Architecture::known(name).unwrap().parameters().unwrap().total, total, "{name}");
    }
}
