//! Parameters of public models against the totals of their reference implementations.

#![allow(clippy::unwrap_used)]

mod support;

use goodput_model::Architecture;

#[test]
fn every_model_has_the_parameters_of_its_reference_implementation() {
    let Some(rows) = support::rows("params.csv") else { return };
    let mut wrong = Vec::new();
    for row in &rows {
        let model = row["model"].as_str();
        let found = support::architecture(model).parameters().unwrap();
        // The table counts BERT's positions inside its input embedding.
        let (input, positions) = match model {
            "bert-large" => (found.input_embedding + found.position_embedding, 0),
            _ => (found.input_embedding, found.position_embedding),
        };
        let columns = [
            ("total_params", found.total),
            ("active_params", found.active),
            ("input_embedding_params", input),
            ("position_embedding_params", positions),
            ("routed_expert_params", found.routed_experts),
            ("tied_embeddings", u128::from(found.tied)),
        ];
        for (column, value) in columns {
            if row[column] != value.to_string() {
                wrong.push(format!("{model} {column}: {value} instead of {}", row[column]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(rows.len(), 63);
}

#[test]
fn a_cache_keeps_what_decoding_reads_again() {
    if support::shared().is_none() {
        return;
    }
    let bytes = |model: &str| support::architecture(model).cache().unwrap().bytes_per_token(16);
    // 2 x 8 heads x 128 channels x 32 layers x 2 bytes.
    assert_eq!(bytes("llama3.1-8b"), 131_072);
    // (512 + 64) x 61 layers x 2 bytes.
    assert_eq!(bytes("deepseek-v3"), 70_272);
    // Sliding layers stop growing at their window.
    let gemma = support::architecture("gemma3-27b-text").cache().unwrap();
    let each = 2 * 16 * 128;
    assert_eq!(gemma.elements(10_000), 10 * each * 10_000 + 52 * each * 1024);
    assert_eq!(gemma.elements(100), 62 * each * 100);
}

#[test]
fn a_file_and_our_own_form_say_the_same() {
    let Some(rows) = support::rows("params.csv") else { return };
    for row in &rows {
        let architecture = support::architecture(&row["model"]);
        let yaml = serde_saphyr::to_string(&architecture).unwrap();
        assert_eq!(Architecture::from_yaml(&yaml, "yaml").unwrap(), architecture, "{yaml}");
    }
}
