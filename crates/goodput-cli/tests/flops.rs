//! `goodput flops`, by the built binary.
#![allow(clippy::unwrap_used)]

mod command;

use command::{json, run, shared};
use jsonschema::Validator;
use rstest::rstest;
use serde_json::Value;

fn schema(report: &Value) -> Validator {
    let text = match report["schema"].as_str() {
        Some("goodput.flops-self-check/1") => {
            include_str!("../../../schemas/flops-self-check.schema.json")
        }
        _ => include_str!("../../../schemas/flops.schema.json"),
    };
    jsonschema::draft202012::new(&serde_json::from_str(text).unwrap()).unwrap()
}

#[track_caller]
fn valid(report: &Value) {
    let schema = schema(report);
    let errors: Vec<_> =
        schema.iter_errors(report).take(5).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn the_terminal_page() {
    let output = run(&["flops", "llama3.1-8b", "--seq", "8192"]);
    assert!(output.status.success(), "{}", output.stderr);
    insta::assert_snapshot!(output.stdout);
}

#[test]
fn integers_are_exact() {
    let report = json(&["flops", "llama3.1-8b", "--seq", "8192", "--format", "json"]);
    valid(&report);
    assert_eq!(report["flops"]["useful"]["total"], "421651971833856");
    assert_eq!(report["flops"]["executed"], "421651971833856");
    assert_eq!(report["parameters"]["total"], "8030261248");
    assert_eq!(report["bytes"]["cache_bf16_per_token"], "131072");
    let palm = report["conventions"].as_array().unwrap().iter().find(|c| c["name"] == "palm").unwrap();
    assert_eq!(palm["flops_per_sequence"], "474435173744640");
    assert!((palm["ratio_to_exact"].as_f64().unwrap() - 1.125_182).abs() < 1e-6);
}

#[test]
fn documents_are_counted_one_by_one() {
    let packed =
        ["flops", "llama3.1-8b", "--documents", "2979x10,2978", "--row", "32768", "--format", "json"];
    let report = json(&packed);
    assert_eq!(report["batch"]["documents"], 11);
    assert_eq!(report["convention_tokens"], 32_768);
    let core = &report["components"][1];
    assert_eq!(core["component"], "attention_core");
    // 48,822,831 pairs x 2 x 32 heads x 256 channels x 32 layers.
    assert_eq!(core["useful"]["forward"], (48_822_831_u128 * 2 * 32 * 256 * 32).to_string());
    let exact = &report["conventions"][0];
    assert!(exact["ratio_to_batch"].as_f64().unwrap() > 1.2);
}

#[test]
fn padding_stands_apart() {
    let report =
        json(&["flops", "llama3.1-8b", "--documents", "1000x4", "--pad-to", "4096", "--format", "json"]);
    assert_eq!(report["batch"]["executed_tokens"], 16_384);
    let number = |value: &Value| value.as_str().unwrap().parse::<u128>().unwrap();
    let flops = &report["flops"];
    assert_eq!(
        number(&flops["executed"]),
        number(&flops["useful"]["total"]) + number(&flops["padding"]["total"])
    );
}

#[test]
fn towers_read_images() {
    let report = json(&["flops", "qwen2.5-vl-7b", "--images", "46x34x2,t:4x32x32", "--format", "json"]);
    valid(&report);
    assert_eq!(report["batch"]["patches"], 2 * 46 * 34 + 4 * 32 * 32);
    let vit = json(&["flops", "vit-l-16-224", "--images", "14x14", "--format", "json"]);
    valid(&vit);
    assert_eq!(vit["flops"]["useful"]["forward"], "123109425152");
    assert!(vit["conventions"].as_array().unwrap().is_empty());
}

#[test]
fn adapters_and_frozen_modules() {
    let report = json(&["flops", "llama3.1-8b", "--lora", "16", "--format", "json"]);
    assert_eq!(report["parameters"]["trainable"], "41943040");
    let frozen =
        json(&["flops", "qwen3-vl-8b", "--freeze", "vision,merger", "--images", "16x16", "--format", "json"]);
    assert!(frozen["training"].as_str().unwrap().contains("vision, merger"));
    let forward = json(&["flops", "llama3.1-8b", "--forward", "--format", "json"]);
    assert_eq!(forward["flops"]["useful"]["weight_gradient"], "0");
}

#[test]
fn the_self_check_holds() {
    let report = json(&["flops", "--self-check", "--format", "json"]);
    valid(&report);
    assert_eq!(report["holds"], true);
    assert_eq!(report["schema"], "goodput.flops-self-check/1");
    let comparisons = report["comparisons"].as_array().unwrap();
    let models: std::collections::BTreeSet<_> =
        comparisons.iter().map(|comparison| comparison["model"].as_str().unwrap()).collect();
    assert_eq!(models.len(), 5);
    assert!(comparisons.iter().all(|comparison| comparison["remainder"] == "0"));
    let page = run(&["flops", "--self-check"]);
    assert!(page.stdout.contains("accounted for to the last FLOP"), "{}", page.stdout);
}

#[test]
fn files_of_both_forms_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = folder.path().join("tiny.yaml");
    std::fs::write(
        &yaml,
        "name: tiny\ntext: {width: 64, vocabulary: 1000, decoder: [{blocks: 2, \
         feed_forward: {dense: {inner: 256}}}]}\n",
    )
    .unwrap();
    let report = json(&["flops", yaml.to_str().unwrap(), "--format", "json"]);
    assert_eq!(report["model"], "tiny");
    if let Some(shared) = shared() {
        let config = shared.join("flops/configs/mamba2-2.7b.json");
        let report = json(&["flops", config.to_str().unwrap(), "--format", "json"]);
        valid(&report);
        assert_eq!(report["parameters"]["total"], "2702599680");
        assert!(report["recurrence"].is_object());
    }
}

#[test]
fn a_byte_order_mark_is_no_field() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.json");
    let text = "\u{feff}{\"model_type\": \"llama\", \"vocab_size\": 100, \"hidden_size\": 64, \
                \"intermediate_size\": 128, \"num_hidden_layers\": 2, \"num_attention_heads\": 4}";
    std::fs::write(&config, text).unwrap();
    assert_eq!(json(&["flops", config.to_str().unwrap(), "--format", "json"])["family"], "llama");
}

#[test]
fn conventions_beside_images_say_what_they_leave_out() {
    let page = run(&["flops", "qwen2.5-vl-7b", "--seq", "4096", "--images", "46x34"]);
    assert!(page.stdout.contains("the text model alone"), "{}", page.stdout);
}

#[test]
fn known_names_are_listed() {
    let output = run(&["flops", "--list"]);
    assert!(output.stdout.lines().any(|line| line == "deepseek-v3"), "{}", output.stdout);
}

#[rstest]
#[case::name(&["flops", "lama-3"], "no known architecture")]
#[case::file(&["flops", "missing.json"], "missing.json")]
#[case::row(&["flops", "llama3.1-8b", "--documents", "10,20", "--row", "32"], "add up to 30")]
#[case::longer(&["flops", "llama3.1-8b", "--documents", "100", "--pad-to", "64"], "lengths[0]")]
#[case::list(&["flops", "llama3.1-8b", "--documents", "10y3"], "10y3")]
#[case::negative(&["flops", "llama3.1-8b", "--documents=-5"], "-5")]
#[case::overflow(&["flops", "llama3.1-8b", "--documents", "9999999999999999"], "larger than")]
#[case::images(&["flops", "llama3.1-8b", "--images", "4x4"], "no vision tower")]
#[case::no_images(&["flops", "vit-l-16-224"], "nothing to count")]
#[case::grid(&["flops", "qwen3-vl-8b", "--images", "3x4"], "images[0]")]
#[case::sources(&["flops", "t5-large"], "source")]
#[case::module(&["flops", "llama3.1-8b", "--freeze", "tower"], "`tower`")]
#[case::nothing(&["flops"], "MODEL")]
#[case::no_documents(&["flops", "llama3.1-8b", "--documents", "10x0"], "10x0")]
#[case::no_tokens(&["flops", "llama3.1-8b", "--documents", "10,0"], "each at least 1")]
#[case::no_grids(&["flops", "qwen3-vl-8b", "--images", "4x4x0"], "4x4x0")]
#[case::image_tokens(&["flops", "qwen2.5-vl-7b", "--documents", "10", "--images", "46x34"], "become 391 tokens")]
#[case::rank(&["flops", "llama3.1-8b", "--lora", "18446744073709551615"], "`adapter.rank` is 18446744073709551615")]
#[case::tower_adapter(&["flops", "llama3.1-8b", "--lora", "8", "--lora-targets", "vision"], "`adapter.targets` is vision")]
#[case::looked_up(&["flops", "llama3.1-8b", "--lora", "8", "--lora-targets", "embedding"], "adapter.targets")]
#[case::self_check(&["flops", "--self-check", "--seq", "10"], "cannot be used with")]
fn what_cannot_be_answered_says_why(#[case] args: &[&str], #[case] says: &str) {
    let output = run(args);
    assert_eq!(output.status.code(), Some(2), "{}", output.stdout);
    assert!(output.stdout.is_empty());
    let flat = output.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(says), "{}", output.stderr);
}
