//! Configurations that are refused, and why.

#![allow(clippy::unwrap_used, clippy::panic)]

use goodput_model::{
    Architecture, ArchitectureError, Batch, Convention, FlopCounter, Grid, Recompute, Training,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn llama() -> Value {
    json!({
        "model_type": "llama", "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32,
    })
}

fn with(mut config: Value, fields: &[(&str, Value)]) -> Value {
    for (field, value) in fields {
        config[*field] = value.clone();
    }
    config
}

fn refused(config: &Value) -> ArchitectureError {
    Architecture::from_hugging_face(&config.to_string(), "config.json").unwrap_err()
}

#[test]
fn an_error_names_the_field() {
    let cases = [
        (with(llama(), &[("num_key_value_heads", json!(5))]), "num_key_value_heads"),
        (with(llama(), &[("hidden_size", json!(4097))]), "hidden_size"),
        (with(llama(), &[("hidden_size", json!(-1))]), "hidden_size"),
        (with(llama(), &[("hidden_size", json!("4096"))]), "hidden_size"),
        (with(llama(), &[("hidden_size", json!(1_u64 << 60))]), "hidden_size"),
        (with(llama(), &[("num_hidden_layers", json!(4_000_000_000_u64))]), "num_hidden_layers"),
        (with(llama(), &[("num_hidden_layers", json!(0))]), "num_hidden_layers"),
        (with(llama(), &[("layer_types", json!(["full_attention"]))]), "layer_types"),
        (with(llama(), &[("intermediate_size", Value::Null)]), "intermediate_size"),
        (with(llama(), &[("use_bidirectional_attention", json!(true))]), "use_bidirectional_attention"),
        (with(llama(), &[("layer_types", json!(vec!["conv"; 32]))]), "layer_types"),
        (
            with(llama(), &[("model_type", json!("mixtral")), ("num_local_experts", json!(8))]),
            "num_experts_per_tok",
        ),
        (
            with(
                llama(),
                &[
                    ("model_type", json!("mixtral")),
                    ("num_local_experts", json!(8)),
                    ("num_experts_per_tok", json!(9)),
                ],
            ),
            "active",
        ),
    ];
    for (config, field) in cases {
        let error = refused(&config).to_string();
        assert!(error.contains(field), "{field}: {error}");
    }
}

#[test]
fn another_kind_of_model_lists_the_kinds_that_are_supported() {
    for config in [
        json!({"model_type": "whisper", "d_model": 384, "encoder_layers": 4, "vocab_size": 51865}),
        json!({"model_type": "clip", "projection_dim": 512}),
        json!({"hidden_size": 4096}),
        json!({"_class_name": "UNet2DConditionModel", "in_channels": 4}),
    ] {
        let error = refused(&config);
        assert!(matches!(error, ArchitectureError::OtherKind { .. }), "{error}");
        assert!(error.to_string().contains("deepseek_v3"), "{error}");
    }
}

/// Files that lie beside the one that is wanted.
#[test]
fn a_neighbour_of_the_configuration_says_which_to_take() {
    let adapter = json!({"peft_type": "LORA", "base_model_name_or_path": "llama", "r": 8});
    assert!(refused(&adapter).to_string().contains("base model"));
    let whole = json!({"model_type": "gemma9", "text_config": llama(), "vision_config": {}});
    assert!(refused(&whole).to_string().contains("`text_config` can be counted alone"));
}

#[test]
fn an_unknown_decoder_is_read_only_if_every_field_is_understood() {
    let unknown = with(llama(), &[("model_type", json!("newllama")), ("rope_theta", json!(1e6))]);
    for (activation, names) in [(Value::Null, "hidden_act"), (json!("gelu"), "hidden_act")] {
        let error = refused(&with(unknown.clone(), &[("hidden_act", activation)])).to_string();
        assert!(error.contains(names), "{error}");
    }
    let rotary = json!([1, 1, 1, 0]);
    let plain = with(unknown, &[("hidden_act", json!("silu")), ("no_rope_layers", rotary)]);
    for switch in ["is_encoder_decoder", "add_cross_attention"] {
        assert!(refused(&with(plain.clone(), &[(switch, json!(true))])).to_string().contains(switch));
    }
    let read = Architecture::from_hugging_face(&plain.to_string(), "config.json").unwrap();
    assert_eq!(read.parameters().unwrap().total, 6_738_415_616);
    assert_eq!(read.family, "newllama");

    let odd = with(plain.clone(), &[("num_experts", json!(64))]);
    let error = refused(&odd);
    assert!(
        matches!(&error, ArchitectureError::UnknownField { field, .. } if field == "num_experts"),
        "{error}"
    );

    // Which layers slide is a family's own rule.
    let sliding = with(plain, &[("sliding_window", json!(4096))]);
    let error = refused(&sliding);
    assert!(
        matches!(&error, ArchitectureError::Unsupported { field, .. } if field == "sliding_window"),
        "{error}"
    );
}

#[test]
fn a_field_that_changes_flops_and_is_not_counted_is_named() {
    let deepseek = with(
        llama(),
        &[
            ("model_type", json!("deepseek_v3")),
            ("kv_lora_rank", json!(512)),
            ("qk_nope_head_dim", json!(128)),
            ("qk_rope_head_dim", json!(64)),
            ("v_head_dim", json!(128)),
            ("index_topk", json!(2048)),
        ],
    );
    let error = refused(&deepseek);
    assert!(
        matches!(&error, ArchitectureError::Unsupported { field, .. } if field == "index_topk"),
        "{error}"
    );
}

#[test]
fn what_is_no_json_says_where() {
    for text in ["", "[]", "{\"model_type\": ", "3", "{\"a\": Infinity"] {
        let error = Architecture::from_hugging_face(text, "config.json").unwrap_err();
        assert!(matches!(error, ArchitectureError::Syntax { .. }), "{error}");
        assert!(error.to_string().starts_with("config.json: "), "{error}");
    }
}

#[test]
fn our_own_form_names_what_it_does_not_know() {
    let error = Architecture::from_yaml("name: x\ntext: {width: 64, heads: 3}", "x.yaml").unwrap_err();
    assert!(error.to_string().contains("heads"), "{error}");
    let error = Architecture::from_yaml("name: x", "x.yaml").unwrap_err();
    assert!(matches!(error, ArchitectureError::Missing { .. }), "{error}");
    let cross = "
name: x
text:
  width: 64
  vocabulary: 100
  decoder: [{blocks: 1, cross_attention: {heads: 1, kv_heads: 1, head_dim: 64}}]
";
    let error = Architecture::from_yaml(cross, "x.yaml").unwrap_err();
    assert!(error.to_string().contains("text.encoder"), "{error}");
}

/// Fields of both halves of a multimodal configuration, in the older and the newer layout.
/// The text part as the 27B checkpoint has it: its class fills in the rest.
#[test]
fn a_gemma_text_part_leaves_out_what_its_class_takes() {
    let text = json!({
        "head_dim": 128, "hidden_size": 5376, "intermediate_size": 21504, "model_type": "gemma3_text",
        "num_attention_heads": 32, "num_hidden_layers": 62, "num_key_value_heads": 16,
        "query_pre_attn_scalar": 168, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 1024,
    });
    let read = Architecture::from_hugging_face(&text.to_string(), "config.json").unwrap();
    assert_eq!(read.parameters().unwrap().total, 27_009_346_304);
}

#[test]
fn a_multimodal_configuration_has_text_and_tower() {
    let vision = json!({
        "depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 4096,
        "window_size": 112, "fullatt_block_indexes": [7, 15, 23, 31],
    });
    let old = with(llama(), &[("model_type", json!("qwen2_5_vl")), ("vision_config", vision.clone())]);
    let new = json!({"model_type": "qwen2_5_vl", "text_config": llama(), "vision_config": vision});
    let read = |config: &Value| Architecture::from_hugging_face(&config.to_string(), "vl").unwrap();
    let (old, new) = (read(&old), read(&new));
    assert_eq!(old, new);
    assert!(old.text.is_some() && old.vision.is_some());
    // A tower whose tokens are not as wide as the text model's cannot be joined to it.
    let narrow = with(llama(), &[("model_type", json!("qwen2_5_vl")), ("vision_config", narrow_tower())]);
    let error = refused(&narrow).to_string();
    assert!(error.contains("`vision.merger.outputs` is 99"), "{error}");
}

fn narrow_tower() -> Value {
    json!({
        "depth": 2, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 99,
        "window_size": 112, "fullatt_block_indexes": [1],
    })
}

/// Configurations of every kind, for fields to be replaced in.
fn seeds() -> Vec<Value> {
    let moe = json!({
        "model_type": "deepseek_v3", "vocab_size": 1000, "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 4, "num_attention_heads": 4, "kv_lora_rank": 16, "q_lora_rank": 8,
        "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8, "n_routed_experts": 8,
        "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_shared_experts": 1, "first_k_dense_replace": 1,
    });
    let hybrid = json!({
        "model_type": "nemotron_h", "vocab_size": 1000, "hidden_size": 64, "intermediate_size": 128,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "mamba_num_heads": 4,
        "mamba_head_dim": 16, "ssm_state_size": 16, "n_groups": 2, "conv_kernel": 4,
        "hybrid_override_pattern": "M-*-",
    });
    let t5 = json!({
        "model_type": "t5", "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4,
        "vocab_size": 1000,
    });
    let tower = json!({
        "model_type": "qwen2_5_vl_vision", "depth": 4, "hidden_size": 64, "intermediate_size": 128, "num_heads": 4,
        "out_hidden_size": 64, "window_size": 112, "fullatt_block_indexes": [1, 3], "patch_size": 14,
        "spatial_merge_size": 2, "temporal_patch_size": 2,
    });
    let flux = json!({
        "num_layers": 2, "num_single_layers": 2, "num_attention_heads": 4, "attention_head_dim": 16,
        "in_channels": 8, "joint_attention_dim": 32, "pooled_projection_dim": 16,
    });
    vec![llama(), moe, hybrid, t5, tower, flux]
}

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!(0)),
        Just(json!(-1)),
        Just(json!(1_u64 << 20)),
        Just(json!(1_u64 << 26)),
        Just(json!(u64::MAX)),
        Just(json!(1.5)),
        Just(json!("words")),
        Just(json!([1, 2, 3])),
        Just(json!({})),
        Just(json!(true)),
        (1_u64..1000).prop_map(|number| json!(number)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// No configuration panics, and what is accepted can be counted on the largest batch there is.
    #[test]
    fn hostile_fields_are_refused_or_counted(
        seed in 0_usize..6,
        replaced in prop::collection::vec((any::<prop::sample::Index>(), values()), 0..4),
    ) {
        let mut config = seeds()[seed].clone();
        let fields: Vec<String> = config.as_object().unwrap().keys().cloned().collect();
        for (index, value) in replaced {
            config[index.get(&fields)] = value;
        }
        if let Ok(architecture) = Architecture::from_hugging_face(&config.to_string(), "config.json") {
            let parameters = architecture.parameters().unwrap();
            prop_assert!(parameters.active <= parameters.total);
            architecture.cache().unwrap();
            let counter = FlopCounter::new(&architecture, &Training::full()).unwrap();
            let images = [Grid::image(1 << 20, 1 << 20)];
            let batch = Batch::rows(1, 1 << 46).unwrap();
            for batch in [batch.clone(), batch.clone().with_images(&images).unwrap(), batch.with_sources(&[1 << 46]).unwrap()] {
                if let Ok(flops) = counter.count(&batch, Recompute::Full) {
                    prop_assert!(flops.executed() >= flops.useful().total());
                }
            }
            for convention in Convention::ALL {
                let _ = convention.flops_per_token(&architecture, 1 << 47);
            }
        }
    }

    #[test]
    fn hostile_text_is_refused(text in "\\PC*") {
        prop_assert!(Architecture::from_hugging_face(&text, "config.json").is_err());
        prop_assert!(Architecture::from_yaml(&text, "model.yaml").is_err());
    }
}
