//! Columns that several parameters make together, each by the framework's own definition.

use super::draft::Draft;
use super::parameters::{Conflict, Stated};

/// All of them, those first that others rest on.
pub(super) fn derive(draft: &mut Draft<'_>) -> Result<(), Conflict> {
    model(draft)?;
    experts(draft)?;
    devices(draft)?;
    virtual_stages(draft)?;
    sharding(draft)?;
    batch(draft)?;
    precision(draft)?;
    recompute(draft)?;
    kernels(draft)
}

fn model(draft: &mut Draft<'_>) -> Result<(), Conflict> {
    match (draft.part_switch("swiglu")?, draft.part_switch("squared_relu")?) {
        (Some(true), _) => draft.put("ffn_type", "swiglu", "swiglu")?,
        (_, Some(true)) => draft.put("ffn_type", "squared-relu", "squared_relu")?,
        (Some(false), _) => {
            draft.derive("ffn_type", "gelu", "Megatron-LM's activation without swiglu and squared_relu")
        }
        (None, _) => {}
    }
    if draft.part_switch("latent_attention")? == Some(true) || draft.part_number("kv_lora")?.is_some() {
        latent_attention(draft)?;
    }
    let heads = draft.text("n_heads").to_owned();
    let groups = draft.part("query_groups")?;
    match (draft.part_switch("grouped_query_attention")?, &groups) {
        (Some(false), _) if !heads.is_empty() => {
            draft.derive("n_kv_heads", heads, "group_query_attention is off: as many as n_heads");
        }
        (_, Stated::Value(groups)) => draft.put("n_kv_heads", groups.clone(), "num_query_groups")?,
        (_, Stated::None(_)) if !heads.is_empty() => {
            draft.derive("n_kv_heads", heads, "num_query_groups is none: as many as n_heads");
        }
        _ if !heads.is_empty() && draft.is_none(draft.parameters.column("n_kv_heads")) => {
            draft.derive("n_kv_heads", heads, "no other number is stated: as many as n_heads");
        }
        _ => {}
    }
    if let (Some(hidden), Some(heads)) = (draft.number("hidden"), draft.number("n_heads"))
        && heads > 0
        && hidden.is_multiple_of(heads)
    {
        draft.derive("head_dim", (hidden / heads).to_string(), "hidden / n_heads where no other is stated");
    }
    Ok(())
}

fn latent_attention(draft: &mut Draft<'_>) -> Result<(), Conflict> {
    let mut note = "MLA".to_owned();
    if let Some(rank) = draft.part_number("q_lora")? {
        note += &format!(" q_lora {rank}");
    }
    for (part, word) in
        [("kv_lora", "kv_lora"), ("qk_nope", "qk_nope"), ("qk_rope", "qk_rope"), ("v_head", "v")]
    {
        match draft.part_number(part)? {
            Some(rank) => note += &format!(" {word} {rank}"),
            None => draft.lacks(
                "arch_note",
                "",
                format!("latent attention without {part}: MLA q_lora N kv_lora N qk_nope N qk_rope N v N"),
            ),
        }
    }
    draft.derive("attn_type", "mla", "multi_latent_attention");
    draft.derive("arch_note", note, "the ranks of latent attention");
    Ok(())
}

fn experts(draft: &mut Draft<'_>) -> Result<(), Conflict> {
    if !draft.has("moe_experts") {
        return Ok(());
    }
    if draft.is_none(draft.parameters.column("moe_ffn")) && draft.has("ffn_hidden") {
        let width = draft.text("ffn_hidden").to_owned();
        draft.derive("moe_ffn", width, "moe_ffn_hidden_size is none: ffn_hidden_size");
    }
    if draft.is_none(draft.parameters.column("etp")) && draft.has("tp") {
        let tensor = draft.text("tp").to_owned();
        draft.derive("etp", tensor, "expert_tensor_parallel_size is none: the tensor degree");
    }
    if let (Some(shared), Some(width)) = (draft.part_number("shared_experts")?, draft.number("moe_ffn")) {
        draft.derive("moe_shared_ffn", (shared * width).to_string(), "n_shared_experts x moe_ffn");
    }
    if draft.part_text("moe_layer_freq")?.as_deref() == Some("1") {
        draft.derive("moe_dense_layers", "0", "every layer has experts");
    }
    Ok(())
}

fn devices(draft: &mut Draft<'_>) -> Result<(), Conflict> {
    if let (Some(nodes), Some(devices)) =
        (draft.part_number("nodes")?, draft.part_number("devices_of_a_node")?)
        && let Some(all) = nodes.checked_mul(devices)
    {
        draft.derive("n_devices", all.to_string(), "devices of a node x nodes");
    }
    if let (Some(replicas), Some(shards)) = (draft.part_number("replicate_degree")?, shard_degree(draft)?)
        && let Some(all) = replicas.checked_mul(shards)
    {
        draft.derive("dp", all.to_string(), "data_parallel_replicate_degree x data_parallel_shard_degree");
    }
    // What the other three leave of the devices.
    const DEGREES: [&str; 4] = ["tp", "cp", "pp", "dp"];
    let empty: Vec<&'static str> = DEGREES.into_iter().filter(|degree| !draft.has(degree)).collect();
    if let ([degree], Some(all)) = (empty.as_slice(), draft.number("n_devices")) {
        let known: u64 = DEGREES.iter().filter_map(|degree| draft.number(degree)).product();
        if known > 0 && all.is_multiple_of(known) {
            draft.derive(degree, (all / known).to_string(), "what the other degrees leave of n_devices");
        }
    }
    Ok(())
}

/// -1 stands for the rest of the devices.
fn shard_degree(draft: &Draft<'_>) -> Result<Option<u64>, Conflict> {
    Ok(draft.part_text("shard_degree")?.and_then(|text| text.parse().ok()))
}

fn virtual_stages(draft: &mut Draft<'_>) -> Result<(), Conflict> {
    if let (Some(each), Some(layers), Some(stages)) =
        (draft.part_number("layers_per_virtual_stage")?, draft.number("n_layers"), draft.number("pp"))
        && each > 0
        && stages > 0
        && layers.is_multiple_of(each * stages)
    {
        let parts = (layers / each / stages).to_string();
        draft.derive("vpp", parts, "n_layers / (pp x num_layers_per_virtual_pipeline_stage)");
    }
    let none = draft.is_none(draft.parameters.column("vpp"))
        || draft.is_none(draft.part("layers_per_virtual_stage"));
    if none {
        draft.derive("vpp", "1", "no virtual stages are stated");
    }
    Ok(())
}

fn sharding(draft: &mut Draft<'_>) -> Result<(), Conflict> {
    let fsdp = draft.part_text("fsdp")?.unwrap_or_default().to_ascii_lowercase();
    let is_fsdp = !matches!(fsdp.as_str(), "" | "false" | "no" | "0" | "[]");
    if is_fsdp && fsdp.contains("shard_grad_op") {
        draft.derive("zero_or_sharding", "SHARD_GRAD_OP", format!("fsdp {fsdp}"));
    } else if is_fsdp && !fsdp.contains("hybrid") {
        draft.derive("zero_or_sharding", "FSDP", format!("fsdp {fsdp}"));
    }
    match draft.part_text("zero_stage")?.as_deref() {
        Some(stage @ ("0" | "1" | "2" | "3")) => {
            draft.derive("zero_or_sharding", format!("ZeRO-{stage}"), "zero_stage");
        }
        _ => match draft.part_switch("distributed_optimizer")? {
            Some(true) => {
                draft.derive("zero_or_sharding", "distributed optimizer", "use_distributed_optimizer")
            }
            Some(false) => draft.derive("zero_or_sharding", "none", "use_distributed_optimizer is off"),
            None => {
                let name = draft.part_text("optimizer_name")?.unwrap_or_default();
                if name.to_ascii_lowercase().contains("distributed") {
                    draft.derive("zero_or_sharding", "distributed optimizer", format!("optimizer {name}"));
                }
            }
        },
    }
    let replicas = draft.part_number("replicate_degree")?;
    match draft.part_text("shard_degree")?.as_deref() {
        Some("1") => draft.derive("zero_or_sharding", "none", "data_parallel_shard_degree is 1"),
        Some(_) => {
            draft.derive("zero_or_sharding", "FSDP", "data_parallel_shard_degree");
            if let (Some(replicas @ 2..), Some(all)) = (replicas, draft.number("dp")) {
                draft.derive(
                    "shard_size",
                    (all / replicas).to_string(),
                    "dp / data_parallel_replicate_degree",
                );
            }
        }
        None => {}
    }
    Ok(())
}

fn batch(draft: &mut Draft<'_>) -> Result<(), Conflict> {
    // torchtitan splits a local batch into micro-batches only for pipeline stages.
    if let Some(local) = draft.part_number("local_batch")? {
        match (draft.number("pp"), draft.part_number("pipeline_microbatch")?) {
            (Some(1), _) => {
                draft.derive("mbs", local.to_string(), "local_batch_size without pipeline stages")
            }
            (_, Some(micro)) => draft.derive("mbs", micro.to_string(), "pipeline_parallel_microbatch_size"),
            _ => {}
        }
        if let Some(replicas) = draft.number("dp")
            && draft.is_none(draft.parameters.column("gbs"))
            && let Some(all) = local.checked_mul(replicas)
        {
            draft.derive("gbs", all.to_string(), "local_batch_size x dp");
        }
    }
    if let (Some(micro), Some(steps), Some(replicas)) =
        (draft.number("mbs"), draft.number("grad_accum"), draft.number("dp"))
        && let Some(all) = micro.checked_mul(steps).and_then(|all| all.checked_mul(replicas))
    {
        draft.derive("gbs", all.to_string(), "mbs x grad_accum x dp");
    }
    Ok(())
}

fn precision(draft: &mut Draft<'_>) -> Result<(), Conflict> {
    let off = |text: &str| matches!(text, "false" | "no" | "0" | "off");
    let fp8 = draft.part_text("fp8")?.map(|text| text.to_ascii_lowercase()).filter(|text| !off(text));
    if let Some(format) = fp8 {
        let recipe = draft.part_text("fp8_recipe")?.unwrap_or_default().to_ascii_lowercase();
        let class = if recipe.contains("block") {
            "fp8-block"
        } else if recipe.contains("mx") {
            "mxfp8"
        } else {
            "fp8"
        };
        draft.derive("precision_class", class, format!("fp8 {format} {recipe}").trim_end().to_owned());
        return Ok(());
    }
    if let Some(format) = draft.part_text("fp4")?.filter(|text| !off(&text.to_ascii_lowercase())) {
        draft.derive("precision_class", "nvfp4", format!("fp4 {format}"));
        return Ok(());
    }
    let (bf16, fp16) = (draft.part_switch("bf16")?, draft.part_switch("fp16")?);
    match (bf16, fp16) {
        (Some(true), Some(true)) => {
            let values = vec![("bf16".to_owned(), "yes".to_owned()), ("fp16".to_owned(), "yes".to_owned())];
            return Err(Conflict { column: "precision_class".to_owned(), values });
        }
        (Some(true), _) => draft.derive("precision_class", "bf16", "bf16"),
        (_, Some(true)) => draft.derive("precision_class", "fp16", "fp16"),
        _ => {}
    }
    if let Some(text) = draft.part_text("precision")? {
        let lower = text.to_ascii_lowercase().replace("torch.", "");
        let class = match lower.as_str() {
            _ if lower.starts_with("bf16") || lower.starts_with("bfloat16") => Some("bf16"),
            "16" | "16-mixed" | "16-true" | "fp16" | "float16" => Some("fp16"),
            _ => None,
        };
        match class {
            Some(class) => draft.derive("precision_class", class, format!("precision {text}")),
            None if !draft.has("precision_class") => {
                draft.lacks("precision_class", text, "bf16, fp16, fp8, fp8-block, mxfp8, nvfp4, tf32 or fp32")
            }
            None => {}
        }
    }
    Ok(())
}

fn recompute(draft: &mut Draft<'_>) -> Result<(), Conflict> {
    let remedy = "none; full; full, N layers; selective (core attention); selective AC per op; selective modules: NAMES";
    match draft.part("recompute_granularity")? {
        Stated::None(name) => draft.derive("recompute", "none", format!("{name} is none")),
        Stated::Value(text) if text == "full" => full(draft, remedy)?,
        Stated::Value(text) if text == "selective" => {
            let modules = draft.part_text("recompute_modules")?.unwrap_or_default();
            let names: Vec<&str> = modules
                .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .filter(|name| !name.is_empty())
                .collect();
            let text = if names.is_empty() || names == ["core_attn"] {
                "selective (core attention)".to_owned()
            } else {
                format!("selective modules: {}", names.join("+"))
            };
            draft.derive("recompute", text, "recompute_granularity selective");
        }
        Stated::Value(text) => draft.lacks("recompute", text, remedy),
        Stated::Unknown { value, .. } => draft.lacks("recompute", value, remedy),
        Stated::Nothing => {}
    }
    match draft.part_text("checkpoint_mode")?.as_deref() {
        Some("none") => draft.derive("recompute", "none", "activation_checkpoint.mode"),
        Some("full") => draft.derive("recompute", "full", "activation_checkpoint.mode"),
        Some("selective") => match draft.part_text("checkpoint_option")?.as_deref() {
            Some("op") => draft.derive(
                "recompute",
                "selective AC (op-level)",
                "activation_checkpoint.selective_ac_option",
            ),
            other => draft.lacks("recompute", format!("selective {}", other.unwrap_or_default()), remedy),
        },
        Some(other) => draft.lacks("recompute", other, remedy),
        None if draft.is_none(draft.part("checkpoint_mode")) => {
            draft.derive("recompute", "none", "activation_checkpoint.mode");
        }
        None => {}
    }
    match draft.part_switch("gradient_checkpointing")? {
        Some(true) => draft.derive("recompute", "full", "gradient_checkpointing"),
        Some(false) => draft.derive("recompute", "none", "gradient_checkpointing is off"),
        None => {}
    }
    Ok(())
}

/// Megatron's `uniform` recomputes every layer; `block` so many of each stage.
fn full(draft: &mut Draft<'_>, remedy: &str) -> Result<(), Conflict> {
    let layers = draft.part_number("recompute_layers")?;
    match (draft.part_text("recompute_method")?.as_deref(), layers) {
        (Some("uniform") | None, _) => draft.derive("recompute", "full", "recompute_granularity full"),
        (Some("block"), Some(layers)) => {
            draft.derive("recompute", format!("full, {layers} layers"), "recompute_method block");
        }
        (method, _) => draft.lacks("recompute", format!("full, {}", method.unwrap_or_default()), remedy),
    }
    Ok(())
}

fn kernels(draft: &mut Draft<'_>) -> Result<(), Conflict> {
    match draft.part_switch("gradients_in_fp32")? {
        Some(true) => draft.derive("gradient_bytes", "4", "gradients are accumulated and reduced in fp32"),
        Some(false) => {
            draft.derive("gradient_bytes", "2", "gradients are reduced in the format of the parameters")
        }
        None => {}
    }
    let share = |text: Option<String>| text.and_then(|text| text.parse::<f64>().ok());
    let dropouts = [share(draft.part_text("hidden_dropout")?), share(draft.part_text("attention_dropout")?)];
    if dropouts.iter().flatten().any(|share| *share > 0.0) {
        draft.derive("dropout", "yes", "a dropout above 0");
    } else if dropouts.iter().all(Option::is_some) {
        draft.derive("dropout", "no", "dropouts of 0");
    }
    if draft.part_switch("cuda_graph")? == Some(true) {
        draft.derive("dispatch", "graph", "CUDA graphs");
    } else if draft.part_switch("compile")? == Some(true) {
        draft.derive("dispatch", "compiled", "compile");
    }
    Ok(())
}
