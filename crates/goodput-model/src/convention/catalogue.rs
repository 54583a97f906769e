//! The conventions, as data.

use super::AttentionPairs::{Exact, Half, None, Square, SquareAndSoftmax};
use super::Recomputed::{Blocks, Nothing, Scores};
use super::{Convention, Weights, Windows};

const PRODUCTS: Weights = Weights::Products { router: true, embedding: false };
const PRODUCTS_WITHOUT_ROUTER: Weights = Weights::Products { router: false, embedding: false };
const ALL_PARAMETERS: Weights =
    Weights::Parameters { active_experts: true, input_embedding: true, position_embedding: true, head: true };
const WITHOUT_INPUT_EMBEDDING: Weights = Weights::Parameters {
    active_experts: true,
    input_embedding: false,
    position_embedding: false,
    head: true,
};

/// What most of them share.
const BASE: Convention = Convention {
    name: "",
    title: "",
    source: "",
    weights: PRODUCTS,
    attention: Square,
    windows: Windows::Ignored,
    recompute: Nothing,
    padding: false,
    mixtures: true,
    note: "",
};

pub(super) const EXACT: Convention = Convention {
    name: "exact",
    title: "exact pairs of each layer's mask, every product once",
    source: "goodput, docs/flops.md",
    attention: Exact,
    windows: Windows::Exact,
    note: "model FLOPs; the one that the others are compared with",
    ..BASE
};

pub(super) const CONVENTIONS: &[Convention] = &[
    EXACT,
    Convention {
        name: "hfu-fused",
        title: "exact, with the scores that fused attention computes again",
        source: "goodput, docs/flops.md; Dao 2023, section 4",
        recompute: Scores,
        note: "hardware FLOPs: 3.5 x the attention's forward pass instead of 3 x",
        ..EXACT
    },
    Convention {
        name: "hfu-full",
        title: "exact, with every block's forward pass again",
        source: "goodput, docs/flops.md; Chen et al. 2016",
        recompute: Blocks,
        note: "hardware FLOPs under full activation checkpointing with fused attention; logits are not run again",
        ..EXACT
    },
    Convention {
        name: "megatron-lm",
        title: "num_floating_point_operations",
        source: "NVIDIA/Megatron-LM megatron/training/training.py:802 (d98e8a64)",
        weights: PRODUCTS_WITHOUT_ROUTER,
        attention: Half,
        note: "vocabulary as padded; latent attention adds its two norms; every layer full causal",
        ..BASE
    },
    Convention {
        name: "nemo-llama3",
        title: "flops_formulas.llama3",
        source: "NVIDIA-NeMo/NeMo nemo/utils/flops_formulas.py (8cfedd72)",
        weights: PRODUCTS_WITHOUT_ROUTER,
        attention: Half,
        mixtures: false,
        note: "vocabulary written into the code: 51200, 32000 or 128256",
        ..BASE
    },
    Convention {
        name: "nemo-transformer",
        title: "flops_formulas.transformer",
        source: "NVIDIA-NeMo/NeMo nemo/utils/flops_formulas.py (8cfedd72)",
        weights: Weights::UngatedProducts,
        attention: Half,
        mixtures: false,
        note: "misses the third matrix of a gated feed-forward part; takes half of a mixture's layers for dense",
        ..BASE
    },
    Convention {
        name: "maxtext",
        title: "calculate_tflops_training_per_device",
        source: "AI-Hypercomputer/maxtext MaxText/maxtext_utils.py:1149 (e591f30c)",
        attention: Half,
        windows: Windows::Trapezoid,
        note: "causal since PR #1988 (2025-07); no remat",
        ..BASE
    },
    Convention {
        name: "maxtext-square",
        title: "calculate_tflops_training_per_device, before PR #1988",
        source: "AI-Hypercomputer/maxtext issue #1972",
        note: "every MFU that MaxText printed before 2025-07",
        ..BASE
    },
    Convention {
        name: "torchtitan",
        title: "get_dense_model_nparams_and_flops",
        source: "pytorch/torchtitan torchtitan/models/utils.py (b5bcd76c)",
        weights: WITHOUT_INPUT_EMBEDDING,
        note: "norms counted; windows ignored until PR #4300",
        ..BASE
    },
    Convention {
        name: "palm",
        title: "6 N + 12 L H Q T, N without the input embedding",
        source: "Chowdhery et al. 2022, appendix B",
        weights: WITHOUT_INPUT_EMBEDDING,
        note: "",
        ..BASE
    },
    Convention {
        name: "palm-all",
        title: "6 N + 12 L H Q T, N all parameters",
        source: "Chowdhery et al. 2022, appendix B",
        weights: ALL_PARAMETERS,
        note: "the paper's formula with N as most people read it",
        ..BASE
    },
    Convention {
        name: "olmo-core",
        title: "num_flops_per_token",
        source: "allenai/OLMo-core src/olmo_core/nn/transformer/model.py (fa6c5014)",
        weights: Weights::BlocksAndHead,
        windows: Windows::Band,
        note: "norms counted",
        ..BASE
    },
    Convention {
        name: "nanogpt",
        title: "estimate_mfu",
        source: "karpathy/nanoGPT model.py (3adf61e1)",
        weights: Weights::Parameters {
            active_experts: true,
            input_embedding: true,
            position_embedding: false,
            head: true,
        },
        mixtures: false,
        note: "an untied model's input embedding is counted as a product",
        ..BASE
    },
    Convention {
        name: "llm-foundry",
        title: "MPT flops_per_batch: (2 N + 4 L S d) x 3",
        source: "mosaicml/llm-foundry llmfoundry/models/mpt/modeling_mpt.py (8c8dd48f)",
        weights: ALL_PARAMETERS,
        padding: true,
        note: "",
        ..BASE
    },
    Convention {
        name: "nanotron",
        title: "get_flops",
        source: "huggingface/nanotron src/nanotron/models/llama.py (2411b022)",
        weights: PRODUCTS_WITHOUT_ROUTER,
        mixtures: false,
        note: "",
        ..BASE
    },
    Convention {
        name: "veomni",
        title: "VeomniFlopsCounter",
        source: "ByteDance-Seed/VeOmni veomni/utils/count_flops.py (d9774494)",
        note: "a frozen base under adapters counts 4 instead of 6, a frozen tower 2",
        ..BASE
    },
    Convention {
        name: "verl",
        title: "FlopsCounter._estimate_*_flops",
        source: "volcengine/verl verl/utils/flops_counter.py (b178a3cd)",
        weights: Weights::Products { router: true, embedding: true },
        attention: Half,
        windows: Windows::HalfBand,
        note: "causal since PR #4959; windows in its Gemma 3 and gpt-oss formulas alone, at half their pairs",
        ..BASE
    },
    Convention {
        name: "verl-square",
        title: "FlopsCounter._estimate_*_flops, before PR #4959",
        source: "volcengine/verl PR #4959",
        weights: Weights::Products { router: true, embedding: true },
        note: "",
        ..BASE
    },
    Convention {
        name: "hf-trainer",
        title: "floating_point_ops",
        source: "huggingface/transformers src/transformers/modeling_utils.py (5.24.0)",
        weights: Weights::Parameters {
            active_experts: false,
            input_embedding: false,
            position_embedding: false,
            head: true,
        },
        attention: None,
        padding: true,
        note: "all experts counted",
        ..BASE
    },
    Convention {
        name: "kaplan",
        title: "6 N, N without embeddings and head",
        source: "Kaplan et al. 2020, section 2.1",
        weights: Weights::Parameters {
            active_experts: true,
            input_embedding: false,
            position_embedding: false,
            head: false,
        },
        attention: None,
        note: "experts as visited; the paper has none",
        ..BASE
    },
    Convention {
        name: "kaplan-all",
        title: "6 N, N all parameters",
        source: "Kaplan et al. 2020, section 2.1, with N as most people read it",
        weights: ALL_PARAMETERS,
        attention: None,
        note: "experts as visited; the paper has none",
        ..BASE
    },
    Convention {
        name: "chinchilla",
        title: "appendix F, term by term",
        source: "Hoffmann et al. 2022, appendix F",
        weights: Weights::Chinchilla,
        attention: SquareAndSoftmax,
        mixtures: false,
        note: "multi-head attention and a feed-forward part of two matrices, whatever the model",
        ..BASE
    },
    Convention {
        name: "levanter",
        title: "lm_flops_per_token x 3",
        source: "stanford-crfm/levanter src/levanter/utils/flop_utils.py (9263f81e)",
        attention: SquareAndSoftmax,
        note: "",
        ..BASE
    },
    Convention {
        name: "cookbook",
        title: "calc_transformer_flops",
        source: "EleutherAI/cookbook calc/calc_transformer_flops.py (827ee3b2)",
        weights: Weights::Cookbook,
        mixtures: false,
        note: "without activation checkpointing, which its default includes",
        ..BASE
    },
    Convention {
        name: "megatron-2021",
        title: "eq. 3 without recompute",
        source: "Narayanan et al. 2021, eq. 3",
        weights: Weights::Megatron2021,
        mixtures: false,
        note: "multi-head attention and a feed-forward part of 4 h, whatever the model",
        ..BASE
    },
    Convention {
        name: "megatron-2021-hfu",
        title: "eq. 3: 96 L h² (…), every block's forward pass again",
        source: "Narayanan et al. 2021, eq. 3",
        weights: Weights::Megatron2021,
        recompute: Blocks,
        mixtures: false,
        note: "hardware FLOPs under the name of model FLOPs",
        ..BASE
    },
    Convention {
        name: "flopcounter",
        title: "FlopCounterMode on eager or math attention",
        source: "pytorch/pytorch torch/utils/flop_counter.py (2.15.0)",
        note: "never a causal discount; grouped products of experts are not counted at all",
        ..BASE
    },
    Convention {
        name: "flopcounter-flash",
        title: "FlopCounterMode on fused CUDA attention",
        source: "pytorch/pytorch torch/utils/flop_counter.py (2.15.0)",
        recompute: Scores,
        note: "five products backward; never a causal discount",
        ..BASE
    },
];
