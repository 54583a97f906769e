//! Columns that a row needs, and what fills each.

use std::collections::BTreeMap;

use super::draft::Draft;
use crate::cluster::Clusters;
use crate::validate::fields::Fields;
use crate::validate::row::convert;
use crate::validate::rules::Rules;

/// What would fill a column.
pub(super) fn remedy(column: &str) -> &'static str {
    match column {
        "n_layers" | "hidden" | "n_heads" | "n_kv_heads" | "head_dim" | "ffn_hidden" | "ffn_type"
        | "vocab" | "tied_embeddings" | "moe_topk" | "moe_ffn" | "moe_dense_layers" => {
            "log the model's configuration, or name the model: --model NAME or config.json"
        }
        "cluster" | "device_class" => {
            "--cluster NAME (docs/collectives.md), or `set: {device_class: h100}` in --map"
        }
        "n_devices" => "log world_size",
        "tp" => "log tensor_model_parallel_size",
        "pp" => "log pipeline_model_parallel_size",
        "cp" => "log context_parallel_size",
        "dp" => "log data_parallel_size",
        "vpp" => "log virtual_pipeline_model_parallel_size; 1 where stages have one part",
        "ep" => "log expert_model_parallel_size",
        "etp" => "log expert_tensor_parallel_size",
        "sp" => "log sequence_parallel: yes or no",
        "mbs" => "log micro_batch_size",
        "gbs" => "log global_batch_size",
        "seq_len" => "log seq_length",
        "precision_class" => "log bf16, fp16 or fp8",
        "recompute" => "log recompute_granularity; none, full or selective",
        "zero_or_sharding" => "log use_distributed_optimizer, or the stage of ZeRO, or FSDP",
        _ => "log it, or state it under `set` or `columns` in --map (docs/validation.md)",
    }
}

/// Names every column that the row lacks.
pub(super) fn check(draft: &mut Draft<'_>) {
    let experts = draft.has("moe_experts");
    let latent = draft.text("attn_type").starts_with("mla");
    let above_one = |draft: &Draft<'_>, column: &str| draft.number(column).is_some_and(|degree| degree > 1);
    let needed: [(&'static str, bool); 24] = [
        ("n_layers", true),
        ("hidden", true),
        ("n_heads", true),
        ("n_kv_heads", !latent),
        ("head_dim", !latent),
        ("ffn_hidden", !experts || draft.number("moe_dense_layers").is_some_and(|layers| layers > 0)),
        ("ffn_type", true),
        ("vocab", true),
        ("tied_embeddings", true),
        ("moe_topk", experts),
        ("moe_ffn", experts),
        ("moe_dense_layers", experts),
        ("seq_len", true),
        ("n_devices", true),
        ("tp", true),
        ("cp", true),
        ("pp", true),
        ("vpp", above_one(draft, "pp") && !draft.has("schedule")),
        ("sp", above_one(draft, "tp")),
        ("ep", experts),
        ("etp", experts && above_one(draft, "tp")),
        ("mbs", true),
        ("gbs", true),
        ("zero_or_sharding", draft.number("dp") != Some(1)),
    ];
    let more = [("precision_class", true), ("recompute", true), ("cluster", !draft.has("device_class"))];
    for (column, is_needed) in needed.into_iter().chain(more) {
        if is_needed && !draft.has(column) {
            draft.lacks(column, "", remedy(column));
        }
    }
    if draft.missing.is_empty() {
        converts(draft);
    }
}

/// A row that lacks nothing becomes a run; what keeps it from being one is named too.
fn converts(draft: &mut Draft<'_>) {
    let columns: BTreeMap<String, String> =
        draft.columns.iter().map(|(column, value)| ((*column).to_owned(), value.clone())).collect();
    if let Err(refusal) = convert(Fields::new(0, columns), Rules::built_in(), Clusters::built_in()) {
        // What stands in the column is not taken away: the row says why it is no run.
        draft.refused = Some((refusal.field.to_owned(), refusal.found, refusal.expected));
    }
}
