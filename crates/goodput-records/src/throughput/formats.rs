//! One table a log format: which lines print a speed, and under which keys.

use super::Measure::{
    ConsumedSamples, ConsumedTokens, GlobalBatchSamples, GlobalBatchTokens, HardwareTflopsPerDevice, Mfu,
    RealTokens, SamplesPerSecond, Seconds, Step, StepsPerSecond, TflopsPerDevice, TokensPerSecond,
    TokensPerSecondPerDevice,
};
use super::table::{Column, Format, Line, Setup, What, Whole, column, human, scaled};

/// Every format that can be read.
pub(super) const FORMATS: &[Format] = &[
    MEGATRON,
    TORCHTITAN,
    MAXTEXT,
    NEMO,
    INTERNEVO,
    NANOTRON,
    NANOGPT,
    NANOCHAT,
    VERL,
    HF_TRAINER,
    DEEPSPEED,
    MLPERF,
    GOODPUT_METER,
];

/// Megatron-LM training.py, and its forks Megatron-DeepSpeed (seconds, TFLOPs) and Primus (instant/average).
const MEGATRON: Format = Format {
    name: "megatron",
    convention: "Megatron-LM num_floating_point_operations: causal half, padded vocabulary (forks differ)",
    lines: &[Line {
        marks: &["iteration", "elapsed time per iteration"],
        columns: &[
            column("iteration", Step),
            scaled("elapsed time per iteration (ms):", Seconds, 1e-3),
            column("elapsed time per iteration (s):", Seconds),
            column("throughput per GPU (TFLOP/s/GPU):", TflopsPerDevice),
            column("TFLOP/s/GPU:", TflopsPerDevice),
            column("TFLOPs:", TflopsPerDevice),
            column("tokens per GPU (tokens/s/GPU):", TokensPerSecondPerDevice),
            column("samples per second:", SamplesPerSecond),
            column("global batch size:", GlobalBatchSamples),
            column("consumed samples:", ConsumedSamples),
            column("consumed tokens:", ConsumedTokens),
        ],
    }],
    setup: &[
        Setup { mark: "....", what: What::Numbers(MEGATRON_ARGUMENTS) },
        Setup { mark: "using world size:", what: What::Numbers(MEGATRON_SIZES) },
    ],
};

const MEGATRON_ARGUMENTS: &[Whole] = &[
    ("seq_length", |run| &mut run.sequence_length),
    ("world_size", |run| &mut run.devices),
    ("global_batch_size", |run| &mut run.global_batch_samples),
    ("tensor_model_parallel_size", |run| &mut run.tensor_parallel),
    ("pipeline_model_parallel_size", |run| &mut run.pipeline_parallel),
    ("context_parallel_size", |run| &mut run.context_parallel),
];

const MEGATRON_SIZES: &[Whole] = &[
    ("using world size:", |run| &mut run.devices),
    ("tensor-model-parallel size:", |run| &mut run.tensor_parallel),
    ("pipeline-model-parallel size:", |run| &mut run.pipeline_parallel),
    ("context-parallel size:", |run| &mut run.context_parallel),
];

/// torchtitan components/metrics.py; `wps` until 2024-10. Tokens/s are per device of the whole job.
const TORCHTITAN: Format = Format {
    name: "torchtitan",
    convention: "torchtitan: PaLM's 6 N + 12 L H Q T, square attention, no input embedding",
    lines: &[
        Line { marks: &["step:", "loss:", "tps:"], columns: TORCHTITAN_COLUMNS },
        Line { marks: &["step:", "loss:", "wps:"], columns: TORCHTITAN_COLUMNS },
    ],
    setup: &[
        Setup { mark: "CUDA capacity:", what: What::DeviceUntil(" with ") },
        Setup { mark: "HIP capacity:", what: What::DeviceUntil(" with ") },
        Setup { mark: "XPU capacity:", what: What::DeviceUntil(" with ") },
        Setup {
            mark: "Peak FLOPS used for computing MFU",
            what: What::Peak("Peak FLOPS used for computing MFU:"),
        },
        Setup { mark: "device mesh with", what: What::Mesh },
        Setup {
            mark: "sequence length",
            what: What::Numbers(&[
                ("sequence length", |run| &mut run.sequence_length),
                ("global batch size", |run| &mut run.global_batch_samples),
                ("gradient accumulation steps", |run| &mut run.gradient_accumulation),
            ]),
        },
    ],
};

const TORCHTITAN_COLUMNS: &[Column] = &[
    column("step:", Step),
    column("tps:", TokensPerSecondPerDevice),
    column("wps:", TokensPerSecondPerDevice),
    column("tflops:", TflopsPerDevice),
    scaled("mfu:", Mfu, 0.01),
];

/// MaxText metric_logger.py. Step 0 compiles, step 1 is dispatched and not waited for: its time is none.
const MAXTEXT: Format = Format {
    name: "maxtext",
    convention: "MaxText calculate_tflops_training_per_device: causal half since PR #1988 (2025-07), square before",
    lines: &[Line {
        marks: &["completed step:", "seconds:"],
        columns: &[
            column("completed step:", Step),
            column("seconds:", Seconds),
            column("TFLOP/s/device:", TflopsPerDevice),
            column("TFLOP/s:", TflopsPerDevice),
            column("Tokens/s/device:", TokensPerSecondPerDevice),
            column("total_weights:", RealTokens),
        ],
    }],
    setup: &[],
};

/// NeMo on Lightning: progress lines and bars, and DLLogger's `DLLL {json}`.
const NEMO: Format = Format {
    name: "nemo",
    convention: "NeMo flops_formulas: causal half, per family",
    lines: &[Line {
        marks: &["train_step_timing in s"],
        columns: &[
            column("global_step", Step),
            column("train_step_timing in s", Seconds),
            column("tokens_per_sec_per_gpu", TokensPerSecondPerDevice),
            column("TFLOPS_per_GPU", TflopsPerDevice),
            column("global_batch_size", GlobalBatchSamples),
            column("consumed_samples", ConsumedSamples),
        ],
    }],
    setup: &[Setup {
        mark: "cfg/global_batch_size",
        what: What::Numbers(&[
            ("cfg/global_batch_size", |run| &mut run.global_batch_samples),
            ("cfg/tensor_model_parallel_size", |run| &mut run.tensor_parallel),
            ("cfg/pipeline_model_parallel_size", |run| &mut run.pipeline_parallel),
            ("cfg/context_parallel_size", |run| &mut run.context_parallel),
            ("cfg/data/seq_length", |run| &mut run.sequence_length),
            ("cfg/encoder_seq_length", |run| &mut run.sequence_length),
        ]),
    }],
};

/// InternEvo, both generations.
const INTERNEVO: Format = Format {
    name: "internevo",
    convention: "InternEvo get_tflops_func: Megatron 2021, square attention",
    lines: &[Line {
        marks: &["tflops=", "tgs (tokens/gpu/second)="],
        columns: &[
            column("step=", Step),
            column("tflops=", TflopsPerDevice),
            column("tgs (tokens/gpu/second)=", TokensPerSecondPerDevice),
            column("num_consumed_tokens=", ConsumedTokens),
        ],
    }],
    setup: &[],
};

/// nanotron trainer.py. Three significant digits; the batch is in tokens.
const NANOTRON: Format = Format {
    name: "nanotron",
    convention: "nanotron: square attention, no input embedding",
    lines: &[Line {
        marks: &["iteration:", "time_per_iteration_ms:"],
        columns: &[
            human("iteration:", Step, 1.0),
            human("time_per_iteration_ms:", Seconds, 1e-3),
            human("elapsed_time_per_iteration_ms:", Seconds, 1e-3),
            human("tokens_per_sec:", TokensPerSecond, 1.0),
            human("tokens_per_sec_per_gpu:", TokensPerSecondPerDevice, 1.0),
            human("global_batch_size:", GlobalBatchTokens, 1.0),
            human("model_tflops_per_gpu:", TflopsPerDevice, 1.0),
            human("hardware_tflops_per_gpu:", HardwareTflopsPerDevice, 1.0),
            human("consumed_tokens:", ConsumedTokens, 1.0),
        ],
    }],
    setup: &[],
};

/// nanoGPT train.py. The MFU is a running average, over the peak of an A100.
const NANOGPT: Format = Format {
    name: "nanogpt",
    convention: "nanoGPT estimate_mfu: 6 N + 12 L H Q T, square attention, all parameters, over 312 TFLOP/s",
    lines: &[Line {
        marks: &["iter ", ": loss ", ", time ", "ms"],
        columns: &[column("iter", Step), scaled(", time", Seconds, 1e-3), scaled("mfu", Mfu, 0.01)],
    }],
    setup: &[],
};

/// nanochat base_train.py; `bf16_mfu` in later versions.
const NANOCHAT: Format = Format {
    name: "nanochat",
    convention: "nanochat estimate_flops: 6 N + 12 L H Q T, no input embedding",
    lines: &[Line {
        marks: &["step", "dt:", "tok/sec:"],
        columns: &[
            column("step", Step),
            scaled("dt:", Seconds, 1e-3),
            column("tok/sec:", TokensPerSecond),
            scaled("mfu:", Mfu, 0.01),
            scaled("bf16_mfu:", Mfu, 0.01),
        ],
    }],
    setup: &[
        Setup { mark: "GPU:", what: What::DeviceUntil("|") },
        Setup { mark: "Peak FLOPS (BF16):", what: What::Peak("Peak FLOPS (BF16):") },
        Setup {
            mark: "radient accumulation steps:",
            what: What::Numbers(&[("accumulation steps:", |run| &mut run.gradient_accumulation)]),
        },
    ],
};

/// verl's console logger.
const VERL: Format = Format {
    name: "verl",
    convention: "verl flops_counter: causal half since PR #4959, logits counted twice",
    lines: &[Line {
        marks: &["step:", "perf/throughput:"],
        columns: &[
            column("step:", Step),
            column("perf/time_per_step:", Seconds),
            column("perf/throughput:", TokensPerSecondPerDevice),
            column("perf/total_num_tokens:", RealTokens),
            column("perf/mfu/actor:", Mfu),
        ],
    }],
    setup: &[],
};

/// Hugging Face Trainer: the dict at the end of training.
const HF_TRAINER: Format = Format {
    name: "hf-trainer",
    convention: "",
    lines: &[Line {
        marks: &["train_runtime", "train_steps_per_second"],
        columns: &[
            column("train_steps_per_second", StepsPerSecond),
            column("train_samples_per_second", SamplesPerSecond),
            column("train_tokens_per_second", TokensPerSecond),
        ],
    }],
    setup: &[Setup {
        mark: "gradient_accumulation_steps",
        what: What::Numbers(&[("gradient_accumulation_steps", |run| &mut run.gradient_accumulation)]),
    }],
};

/// DeepSpeed's throughput timer.
const DEEPSPEED: Format = Format {
    name: "deepspeed",
    convention: "",
    lines: &[Line {
        marks: &["CurrSamplesPerSec="],
        columns: &[column("global_step=", Step), column("CurrSamplesPerSec=", SamplesPerSecond)],
    }],
    setup: &[Setup {
        mark: "train_batch_size",
        what: What::Numbers(&[("train_batch_size", |run| &mut run.global_batch_samples)]),
    }],
};

/// MLPerf training logs with the time of each step. `throughput` is tokens/s or samples/s by benchmark: not read.
const MLPERF: Format = Format {
    name: "mlperf",
    convention: "",
    lines: &[Line {
        marks: &[":::MLLOG", "\"train_step_time\""],
        columns: &[column("train_step_time", Seconds)],
    }],
    setup: &[
        Setup {
            mark: "\"global_batch_size\"",
            what: What::Numbers(&[("\"global_batch_size\", \"value\"", |run| &mut run.global_batch_samples)]),
        },
        Setup {
            mark: "\"max_sequence_length\"",
            what: What::Numbers(&[("\"max_sequence_length\", \"value\"", |run| &mut run.sequence_length)]),
        },
        Setup {
            mark: "\"gradient_accumulation_steps\"",
            what: What::Numbers(&[("\"gradient_accumulation_steps\", \"value\"", |run| {
                &mut run.gradient_accumulation
            })]),
        },
    ],
};

/// The metrics that `goodput`'s meter is specified to emit, as a dict or JSON. The step time is of a micro-batch.
const GOODPUT_METER: Format = Format {
    name: "goodput-meter",
    convention: "exact attention pairs; padding counted in FLOPs, not in tokens",
    lines: &[Line {
        marks: &["perf/tokens_per_second", "perf/mfu"],
        columns: &[
            column("step", Step),
            column("perf/tokens_per_second", TokensPerSecond),
            column("perf/tokens_per_second_per_gpu", TokensPerSecondPerDevice),
            column("perf/tflops_per_second", TflopsPerDevice),
            scaled("perf/mfu", Mfu, 0.01),
        ],
    }],
    setup: &[],
};
