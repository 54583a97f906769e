//! The known faults: each with its factor as a function of the run, and where it was reported.

use crate::architecture::{FeedForward, Mixer};
use crate::device::{Catalogue, Dtype};
use crate::flops::Recompute;
use crate::mask::Mask;

use super::Run;
use super::count::Count;

/// Where a fault enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Into the number of tokens, or the time that they took.
    Tokens,
    /// Into FLOPs per token, or the share of them that one device counts.
    Flops,
    /// Into the peak.
    Peak,
}

/// One known fault.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// A stable name.
    pub name: &'static str,
    /// Where it enters.
    pub kind: Kind,
    /// What goes wrong.
    pub title: &'static str,
    /// Where it was reported.
    pub citation: &'static str,
    /// Whether it is a fault of the unit, so far from any other that a pair with it would explain anything.
    pub stands_alone: bool,
    pub(super) effect: Effect,
}

impl PartialEq for Fault {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// How a fault changes a figure.
#[derive(Debug, Clone, Copy)]
pub(super) enum Effect {
    /// It multiplies it; `None` where the run cannot have it.
    Times(fn(&Run) -> Option<f64>),
    /// It changes the way FLOPs are counted; `false` where the run cannot have it.
    Counts(fn(&mut Count) -> bool),
}

use Effect::{Counts, Times};

const fn fault(
    name: &'static str,
    kind: Kind,
    title: &'static str,
    citation: &'static str,
    effect: Effect,
) -> Fault {
    Fault { name, kind, title, citation, stands_alone: false, effect }
}

const fn alone(fault: Fault) -> Fault {
    Fault { stands_alone: true, ..fault }
}

/// Every known fault; where several make the same factor, the earlier is the likelier.
pub const FAULTS: &[Fault] = &[
    fault(
        "tokens-summed-over-tp",
        Kind::Tokens,
        "tokens are summed over tensor-parallel ranks, which hold the same ones",
        "TRL #7100; Modalities #409",
        Times(|run| Some(run.tensor_parallel as f64)),
    ),
    fault(
        "tokens-summed-over-cp",
        Kind::Tokens,
        "context-parallel ranks count the whole sequence before it is split, and the counts are summed",
        "torchtitan #2983; NeMo-RL #1015",
        Times(|run| Some(run.context_parallel as f64)),
    ),
    fault(
        "tokens-summed-over-pp",
        Kind::Tokens,
        "tokens are summed over pipeline stages, which see the same ones",
        "Modalities #409",
        Times(|run| Some(run.pipeline_parallel as f64)),
    ),
    fault(
        "divided-by-cp-though-split",
        Kind::Tokens,
        "tokens of a sequence that is already split are divided by the context- or sequence-parallel size again",
        "prime-rl #2424; lmms-engine #158",
        Times(|run| Some(1.0 / run.context_parallel as f64)),
    ),
    fault(
        "gradient-accumulation-missing",
        Kind::Tokens,
        "the tokens of one micro-batch over the time of an optimizer step, or a micro-batch's time taken for a step's",
        "nanochat #177",
        Times(|run| run.gradient_accumulation.map(|micro_batches| 1.0 / micro_batches as f64)),
    ),
    fault(
        "micro-batch-time-for-the-step",
        Kind::Tokens,
        "the tokens of an optimizer step over the time of one micro-batch",
        "trap of perf/step_time, which is per micro-batch",
        Times(|run| run.gradient_accumulation.map(|micro_batches| micro_batches as f64)),
    ),
    fault(
        "cumulative-tokens-over-one-step",
        Kind::Tokens,
        "all tokens since the start over the time of the last step",
        "open-instruct #1032; transformers #40560",
        Times(|run| run.step.map(|step| step as f64)),
    ),
    fault(
        "padding-counted",
        Kind::Tokens,
        "padding is counted as tokens",
        "transformers #29889",
        Times(|run| run.real_share.map(|share| 1.0 / share)),
    ),
    fault(
        "causal-as-square",
        Kind::Flops,
        "causal attention is counted as a full square (12 L H Q T)",
        "Megatron-LM #831; torchtitan #341; MaxText #1972",
        Counts(|count| {
            count.masks(|mask| match mask {
                Mask::Causal => Mask::Bidirectional,
                other => other,
            })
        }),
    ),
    fault(
        "window-as-full",
        Kind::Flops,
        "sliding-window and chunked layers are counted as full causal attention",
        "torchtitan #4300",
        Counts(|count| {
            count.masks(|mask| match mask {
                Mask::SlidingWindow(_) | Mask::Chunked(_) => Mask::Causal,
                other => other,
            })
        }),
    ),
    fault(
        "embedding-counted",
        Kind::Flops,
        "the input embedding is counted as a matrix multiplication (6 N with all N, or the head twice)",
        "torchtitan #280, #452; verl #6944",
        Counts(|count| {
            count.extra_weights += vocabulary_weights(count);
            count.extra_weights > 0.0
        }),
    ),
    fault(
        "logits-missing",
        Kind::Flops,
        "the map to the vocabulary is not counted (6 N without embeddings)",
        "Kaplan et al. 2020",
        Counts(|count| {
            count.extra_weights -= vocabulary_weights(count);
            count.extra_weights < 0.0
        }),
    ),
    fault(
        "attention-missing",
        Kind::Flops,
        "attention scores are not counted (6 N alone, or a fused kernel that a counter does not see)",
        "Hugging Face Trainer floating_point_ops; DeepSpeed #4723, #2565; pytorch #195801",
        Counts(|count| scale_attention(count, 0.0)),
    ),
    fault(
        "attention-halved",
        Kind::Flops,
        "one of the two products of attention is counted, or causal halving is applied twice",
        "torchtitan #4366",
        Counts(|count| scale_attention(count, 0.5)),
    ),
    fault(
        "attention-twice",
        Kind::Flops,
        "fused attention is counted twice",
        "pytorch #134804",
        Counts(|count| scale_attention(count, 2.0)),
    ),
    fault(
        "attention-backward-as-flash",
        Kind::Flops,
        "the backward pass of attention counts the scores that a fused kernel computes again",
        "torch FlopCounterMode on a GPU; torchtitan #280",
        Counts(|count| recompute(count, Recompute::FusedAttention)),
    ),
    fault(
        "attention-recompute-counted",
        Kind::Flops,
        "selective recomputation of attention is counted: hardware FLOPs under the name of model FLOPs",
        "Korthikanti et al. 2022",
        Counts(|count| recompute(count, Recompute::Attention)),
    ),
    fault(
        "recompute-counted",
        Kind::Flops,
        "full recomputation is counted: hardware FLOPs (4/3) under the name of model FLOPs",
        "Narayanan et al. 2021, eq. 3; BigScience Megatron-DeepSpeed",
        Counts(|count| recompute(count, Recompute::Full)),
    ),
    fault(
        "inactive-experts-counted",
        Kind::Flops,
        "all experts are counted, not those that a token passes",
        "Hugging Face Trainer; torchtitan #4300",
        Counts(|count| {
            count.feed_forwards(|network| {
                if let FeedForward::Experts(experts) = network {
                    experts.active = experts.experts;
                }
            })
        }),
    ),
    fault(
        "experts-of-dense-width",
        Kind::Flops,
        "experts are counted with the inner width of the dense layers",
        "Pai-Megatron-Patch #485",
        Counts(|count| {
            let dense = count.text().and_then(|text| {
                text.decoder.iter().find_map(|group| match group.feed_forward {
                    FeedForward::Dense(dense) => Some(dense.inner),
                    _ => None,
                })
            });
            dense.is_some_and(|inner| {
                count.feed_forwards(|network| {
                    if let FeedForward::Experts(experts) = network {
                        experts.inner = inner;
                    }
                })
            })
        }),
    ),
    fault(
        "grouped-query-ignored",
        Kind::Flops,
        "key and value projections are counted with all query heads",
        "Megatron-DeepSpeed #350, #371; NVIDIA/dgxc-benchmarking v24.11.1, Nemotron",
        Counts(|count| count.attentions(|attention| attention.kv_heads = attention.heads)),
    ),
    fault(
        "head-dim-from-width",
        Kind::Flops,
        "attention is counted with head_dim = width / heads where the model states another",
        "torchtitan #1920",
        Counts(|count| {
            let Some(width) = count.text().map(|text| text.width) else { return false };
            let head_dims =
                count.text().into_iter().flat_map(|text| &text.decoder).find_map(|group| match group.mixer {
                    Mixer::Attention(attention) => Some((attention.head_dim, width / attention.heads.max(1))),
                    _ => None,
                });
            // The formula takes parameters from the model, so the projections are right.
            head_dims.is_some_and(|(right, wrong)| {
                right != wrong && scale_attention(count, wrong as f64 / right as f64)
            })
        }),
    ),
    fault(
        "feed-forward-as-4h",
        Kind::Flops,
        "the feed-forward network is counted as two matrices of inner width 4 h",
        "Megatron-LM #682",
        Counts(|count| {
            let Some(width) = count.text().map(|text| text.width) else { return false };
            count.feed_forwards(|network| {
                if let FeedForward::Dense(dense) = network {
                    (dense.inner, dense.gated) = (4 * width, false);
                }
            })
        }),
    ),
    fault(
        "gate-missing",
        Kind::Flops,
        "the third matrix of a gated feed-forward network is not counted",
        "NeMo flops_formulas, generic transformer",
        Counts(|count| {
            count.feed_forwards(|network| match network {
                FeedForward::Dense(dense) => dense.gated = false,
                FeedForward::Experts(experts) => experts.gated = false,
                FeedForward::None => {}
            })
        }),
    ),
    fault(
        "documents-as-one",
        Kind::Flops,
        "packed documents are counted as one of the sequence's length",
        "Megatron-Bridge #3498, #3529, #3839; BioNeMo #1548",
        Counts(|count| {
            let whole = vec![count.sequence_length];
            std::mem::replace(&mut count.documents, whole.clone()) != whole
        }),
    ),
    fault(
        "whole-model-on-each-tp-rank",
        Kind::Flops,
        "each tensor-parallel rank counts the whole model, and the counts are taken for shares",
        "lm-engine #47",
        Times(|run| Some(run.tensor_parallel as f64)),
    ),
    fault(
        "tp-share-not-put-back",
        Kind::Flops,
        "each rank counts its share of the model, and the sum over data-parallel ranks is not multiplied by tp",
        "lm-engine #47",
        Times(|run| Some(1.0 / run.tensor_parallel as f64)),
    ),
    fault(
        "pp-share-not-put-back",
        Kind::Flops,
        "each rank counts its pipeline stage, and the sum over data-parallel ranks is not multiplied by pp",
        "lm-engine #47",
        Times(|run| Some(1.0 / run.pipeline_parallel as f64)),
    ),
    fault(
        "job-for-device",
        Kind::Flops,
        "the FLOPs of the whole job over one device (its time, or its peak)",
        "Hugging Face blog #1649; Megatron-DeepSpeed #98",
        Times(|run| Some(run.devices() as f64)),
    ),
    fault(
        "sparse-peak",
        Kind::Peak,
        "the peak is the sparse headline, twice the dense one",
        "torchtitan #1393; Lightning #21677, #21743; Megatron-LM #1276, #1565; fms-fsdp #89",
        Times(|_| Some(0.5)),
    ),
    fault(
        "fp8-peak",
        Kind::Peak,
        "16-bit arithmetic over the peak of fp8",
        "Automodel reference_mfu 1979",
        Times(|run| {
            let (device, dtype) = run.device.as_ref()?;
            matches!(dtype, Dtype::Bf16 | Dtype::Fp16).then_some(())?;
            Some(run.peak_flops_per_second()? / device.peak(Dtype::Fp8).ok()?)
        }),
    ),
    fault(
        "a100-peak",
        Kind::Peak,
        "the peak of an A100 (312) for a device that the framework does not know",
        "Primus #772; nanoGPT #464",
        Times(|run| Some(run.peak_flops_per_second()? / 312e12)),
    ),
    fault(
        "h100-peak",
        Kind::Peak,
        "the peak of an H100 (989.4) for another device",
        "nanochat #147",
        Times(|run| Some(run.peak_flops_per_second()? / 989.4e12)),
    ),
    fault(
        "dense-peak-halved",
        Kind::Peak,
        "a dense peak is halved once more as if it were sparse",
        "OLMo-core #614",
        Times(|_| Some(2.0)),
    ),
    fault(
        "name-inside-name",
        Kind::Peak,
        "the peak of a device whose name is part of this one's (L40 in L40S, B200 in GB200)",
        "VeOmni count_flops",
        Times(|run| {
            let (device, dtype) = run.device.as_ref()?;
            let model = |name: &str| name.split(' ').next().unwrap_or(name).to_owned();
            let inside = Catalogue::built_in().devices().iter().find(|other| {
                let (own, other) = (model(&device.name), model(&other.name));
                own != other && own.contains(&other)
            })?;
            Some(run.peak_flops_per_second()? / inside.peak(*dtype).ok()?)
        }),
    ),
    fault(
        "vector-peak",
        Kind::Peak,
        "the peak of the fp32 vector units",
        "Lightning throughput table, RTX 4090",
        Times(|run| {
            let (device, _) = run.device.as_ref()?;
            Some(run.peak_flops_per_second()? / device.peak(Dtype::Fp32).ok()?)
        }),
    ),
    fault(
        "module-peak",
        Kind::Peak,
        "the peak of a module or chip for one of the devices that the framework counts in it",
        "Lightning (TPU v3: 123); levanter halves",
        Times(|run| run.device.as_ref().map(|(device, _)| 1.0 / f64::from(device.devices_per_unit))),
    ),
    fault(
        "superchip-peak",
        Kind::Peak,
        "the peak of a superchip for one of its GPUs",
        "GB200 and GB300 data sheets",
        Times(|run| {
            let package = run.device.as_ref()?.0.package.as_ref()?;
            Some(1.0 / f64::from(package.units))
        }),
    ),
    fault(
        "largest-clock-peak",
        Kind::Peak,
        "a peak computed from the largest clock that the driver reports",
        "VeOmni (B200: 2382, GB200: 2565); H100 SXM5 at 1980 MHz",
        Times(|run| {
            let (device, _) = run.device.as_ref()?;
            let engines = device.engines.as_ref()?;
            let largest_mhz = match device.name.as_str() {
                "B200" => 1965.0,
                "GB200" => 2062.0,
                "H100 SXM5" | "H200 SXM" => 1980.0,
                _ => return None,
            };
            Some(engines.clock_mhz? / largest_mhz)
        }),
    ),
    alone(fault(
        "multiply-adds-for-flops",
        Kind::Flops,
        "a multiply-add is counted as one FLOP",
        "DiT and ViT papers",
        Times(|_| Some(0.5)),
    )),
    alone(fault(
        "forward-only",
        Kind::Flops,
        "only the forward pass is counted",
        "DeepSpeed FLOPs profiler",
        Times(|_| Some(1.0 / 3.0)),
    )),
    alone(fault(
        "gflops-for-tflops",
        Kind::Flops,
        "GFLOP/s under the name of TFLOP/s",
        "BigScience Megatron-DeepSpeed #221",
        Times(|_| Some(1000.0)),
    )),
];

fn vocabulary_weights(count: &Count) -> f64 {
    count.text().map_or(0.0, |text| text.vocabulary as f64 * text.width as f64)
}

fn scale_attention(count: &mut Count, factor: f64) -> bool {
    count.attention *= factor;
    true
}

fn recompute(count: &mut Count, recompute: Recompute) -> bool {
    // One of them: two would count the scores twice.
    std::mem::replace(&mut count.recompute, recompute) == Recompute::None
}
