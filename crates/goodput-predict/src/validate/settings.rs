//! How a row's framework runs the step: recompute, formats, kernels, optimizer.

use super::fields::{Fields, Refusal};
use crate::collective::Release;
use crate::kernel::{AttentionKernel, Dispatch, Format, Fusion};
use crate::run::{Framework, Module, Modules, Optimizer, Precision, Recompute};

/// What is said under `recompute`, by its first words.
pub(super) fn recompute(row: &Fields) -> Result<Recompute, Refusal> {
    let text = row.text("recompute").to_ascii_lowercase();
    let starts = |word: &str| text.starts_with(word);
    if let Some(layers) = text.strip_prefix("full, ").and_then(|rest| rest.strip_suffix(" layers")) {
        let layers = layers.parse().map_err(|_| row.refuse("recompute", "full, N layers"))?;
        return Ok(Recompute::Layers(layers));
    }
    // torchtitan's selection "op" keeps attention and every other product.
    match text.as_str() {
        "none" => Ok(Recompute::None),
        _ if starts("none ") => Ok(Recompute::None),
        "full" => Ok(Recompute::Full),
        _ if starts("full (") => Ok(Recompute::Full),
        _ if starts("selective (core attention)") || text == "selective modules: core_attn" => {
            Ok(Recompute::AttentionCore)
        }
        _ if starts("selective ac") => Ok(Recompute::EveryOtherProduct),
        _ => {
            let named =
                text.strip_prefix("selective modules: ").map(|names| names.split('+').map(Module::named));
            if let Some(modules) = named.and_then(Iterator::collect::<Option<Modules>>) {
                return Ok(Recompute::Modules(modules));
            }
            let expected = "none, full, full, N layers, selective (core attention), selective AC per op or \
                            selective modules: NAMES";
            Err(row.refuse("recompute", expected))
        }
    }
}

/// `precision_class`, and `precision` where it says how fp8 is scaled.
pub(super) fn precision(row: &Fields) -> Result<Precision, Refusal> {
    let as_published = row.text("precision").to_ascii_lowercase();
    let class = row.text("precision_class").to_ascii_lowercase();
    let products = match class.as_str() {
        // 16-bit formats take the same time.
        "bf16" | "bf16-or-fp16" => Format::Bf16,
        "fp16" => Format::Fp16,
        "fp8" if as_published.contains("fp8-sc") || as_published.contains("block") => Format::Fp8Block,
        "fp8-block" => Format::Fp8Block,
        "fp8" | "mxfp8" => Format::Fp8,
        "nvfp4" => Format::Nvfp4,
        "tf32" => Format::Tf32,
        "fp32" => Format::Fp32,
        _ => {
            return Err(
                row.refuse("precision_class", "bf16, fp16, fp8, fp8-block, mxfp8, nvfp4, tf32 or fp32")
            );
        }
    };
    let recipe = if class == "mxfp8" { "mxfp8" } else { products.name() };
    Ok(Precision {
        recipe,
        products,
        activation_bytes: row.count("activation_bytes")?,
        parameter_bytes: row.count("parameter_bytes")?,
        gradient_bytes: row.count("gradient_bytes")?,
        low_precision_attention: row.optional_switch("low_precision_attention")?.unwrap_or(false),
    })
}

/// The profile of a name, and what the row states otherwise.
pub(super) fn framework(row: &Fields) -> Result<Framework, Refusal> {
    let mut framework =
        Framework::named(row.text("profile")).map_err(|error| row.refuse("profile", error.to_string()))?;
    match row.text("dispatch") {
        "" => {}
        "eager" => framework.dispatch = Dispatch::Eager,
        "compiled" => framework.dispatch = Dispatch::Compiled,
        "graph" => framework.dispatch = Dispatch::Graph,
        "blocking" => framework.dispatch = Dispatch::Blocking,
        _ => return Err(row.refuse("dispatch", "eager, compiled, graph or blocking")),
    }
    match row.text("fusion") {
        "" => {}
        "eager" => framework.fusion = Fusion::Eager,
        "joined" => framework.fusion = Fusion::Joined,
        "fused" => framework.fusion = Fusion::Fused,
        _ => return Err(row.refuse("fusion", "eager, joined or fused")),
    }
    match row.text("attention_kernel") {
        "" => {}
        "flash1" => framework.attention = Some(AttentionKernel::Flash1),
        "flash2" => framework.attention = Some(AttentionKernel::Flash2),
        "flash3" => framework.attention = Some(AttentionKernel::Flash3),
        "flash4" => framework.attention = Some(AttentionKernel::Flash4),
        _ => {
            return Err(row.refuse(
                "attention_kernel",
                "flash1, flash2, flash3 or flash4; fused_attention no for none",
            ));
        }
    }
    let stated = |column, default| Ok(row.optional_switch(column)?.unwrap_or(default));
    framework.fused_attention = stated("fused_attention", framework.fused_attention)?;
    framework.fused_loss = stated("fused_loss", framework.fused_loss)?;
    framework.token_once_a_node = stated("token_once_a_node", framework.token_once_a_node)?;
    framework.dropout = stated("dropout", framework.dropout)?;
    if !row.is_empty("nccl") {
        let release =
            Release::of_version(row.text("nccl")).map_err(|_| row.refuse("nccl", "a release, as 2.26.2"))?;
        framework.nccl = Some(release);
    }
    Ok(framework)
}

pub(super) fn optimizer(row: &Fields) -> Result<Optimizer, Refusal> {
    match row.text("optimizer").to_ascii_lowercase().as_str() {
        "adam" | "adamw" => Ok(Optimizer::Adam),
        "muon" => Ok(Optimizer::Muon),
        "sgd" => Ok(Optimizer::Sgd),
        _ => Err(row.refuse("optimizer", "adam, muon or sgd")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(column: &str, text: &str) -> Fields {
        Fields::new(1, [(column.to_owned(), text.to_owned())].into())
    }

    #[rstest::rstest]
    #[case("none (--recompute-num-layers 0)", Recompute::None)]
    #[case("full (activation checkpointing)", Recompute::Full)]
    #[case("full, 5 layers", Recompute::Layers(5))]
    #[case("selective (core attention) + sequence parallel", Recompute::AttentionCore)]
    #[case("selective AC (op-level)", Recompute::EveryOtherProduct)]
    #[case(
        "selective modules: layernorm+moe_act",
        Recompute::Modules(Modules::NONE.and(Module::Norms).and(Module::ExpertActivation))
    )]
    fn texts_of_recompute(#[case] text: &str, #[case] expected: Recompute) {
        assert_eq!(recompute(&row("recompute", text)).unwrap(), expected);
    }

    #[rstest::rstest]
    #[case("")]
    #[case("fullish")]
    #[case("remat_policy=minimal")]
    fn what_is_not_known_is_not_guessed(#[case] text: &str) {
        assert_eq!(recompute(&row("recompute", text)).unwrap_err().found, text);
    }
}
