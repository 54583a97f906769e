//! Every log format, by a line of its own and by the logs that are public.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use goodput_records::ReadError;
use goodput_records::throughput::{Measure, ThroughputLog, read_throughput};
use rstest::rstest;

use Measure::{
    ConsumedTokens, GlobalBatchSamples, GlobalBatchTokens, HardwareTflopsPerDevice, Mfu, RealTokens,
    SamplesPerSecond, Seconds, Step, StepsPerSecond, TflopsPerDevice, TokensPerSecond,
    TokensPerSecondPerDevice,
};

fn read(text: &str) -> ThroughputLog {
    read_throughput("train.log", text.as_bytes()).unwrap()
}

#[rstest]
#[case(
    "megatron",
    " [2026-01-02 03:04:05.678901] iteration       10/     100 | consumed samples:         2560 | \
     elapsed time per iteration (ms): 1234.5 | throughput per GPU (TFLOP/s/GPU): 400.1 | learning rate: 1.0E-05 | \
     global batch size:   256 | lm loss: 7.0E+00 |",
    &[(Step, 10.0), (Seconds, 1.2345), (TflopsPerDevice, 400.1), (GlobalBatchSamples, 256.0)]
)]
#[case(
    "megatron",
    "[default7]: iteration    12/  100 | consumed tokens: 4096 | elapsed time per iteration (s): 105.22 | \
     global batch size:  2048 | samples per second: 19.463 | TFLOPs: 149.02 |",
    &[(Step, 12.0), (Seconds, 105.22), (TflopsPerDevice, 149.02), (SamplesPerSecond, 19.463), (ConsumedTokens, 4096.0)]
)]
#[case(
    "megatron",
    "iteration 7/ 9 | elapsed time per iteration (ms): 900.0/912.5 | TFLOP/s/GPU: 500.5/490.0 | \
     tokens per GPU (tokens/s/GPU): 9000.1/8900.0 |",
    &[(Seconds, 0.9), (TflopsPerDevice, 500.5), (TokensPerSecondPerDevice, 9000.1)]
)]
#[case(
    "torchtitan",
    "\x1b[31mstep: 10 \x1b[32m loss:  7.00000 \x1b[38m grad_norm:  1.2 \x1b[34m memory: 40.00GiB(42.11%) \
     \x1b[36m tps: 5,000 \x1b[36m tflops: 300.00 \x1b[35m mfu: 30.33%\x1b[39m",
    &[(Step, 10.0), (TokensPerSecondPerDevice, 5000.0), (TflopsPerDevice, 300.0), (Mfu, 0.3033)]
)]
#[case(
    "torchtitan",
    "2024-10-03 15:02:06,441 - root - INFO - step: 127  loss:  3.7  memory: 36.20GiB(81.5%)  wps: 1,703  mfu: N/A",
    &[(Step, 127.0), (TokensPerSecondPerDevice, 1703.0)]
)]
#[case(
    "maxtext",
    "I0317 10:00:14 completed step: 2, seconds: 5.658, TFLOP/s/device: 135.158, Tokens/s/device: 8687.815, \
     total_weights: 196608, loss: nan",
    &[(Step, 2.0), (Seconds, 5.658), (TflopsPerDevice, 135.158), (TokensPerSecondPerDevice, 8687.815), (RealTokens, 196608.0)]
)]
#[case(
    "nemo",
    "Training epoch 0, iteration 97/99 | lr: 1.469e-05 | global_batch_size: 128 | global_step: 97 | \
     reduced_train_loss: 6.265 | train_step_timing in s: 12.22 | tokens_per_sec_per_gpu: 1.073e+04 | consumed_samples: 12544",
    &[(Step, 97.0), (Seconds, 12.22), (TokensPerSecondPerDevice, 10730.0), (GlobalBatchSamples, 128.0)]
)]
#[case(
    "nemo",
    "Epoch 0: : 100%|##########| 50/50 [16:26<00:00, v_num=gjbq, reduced_train_loss=11.70, global_step=49.00, \
     consumed_samples=12600.0, train_step_timing in s=12.80]",
    &[(Step, 49.0), (Seconds, 12.8)]
)]
#[case(
    "nemo",
    r#"DLLL {"type": "LOG", "step": 49, "data": {"global_step": 49.0, "train_step_timing in s": 32.5, "epoch": 0}}"#,
    &[(Step, 49.0), (Seconds, 32.5)]
)]
#[case(
    "internevo",
    "2023-07-07 12:29:01 INFO -- tflops=189.8,step=1,loss=11.6,tgs (tokens/gpu/second)=4274.45,lr=6e-06,\
     num_consumed_tokens=262144,fwd_bwd_time=3.67",
    &[(Step, 1.0), (TflopsPerDevice, 189.8), (TokensPerSecondPerDevice, 4274.45), (ConsumedTokens, 262144.0)]
)]
#[case(
    "nanotron",
    "[INFO|DP=0|PP=0|TP=0]: iteration: 10 / 100 | consumed_tokens: 10.5M | time_per_iteration_ms: 1.23K | \
     tokens_per_sec: 853K | tokens_per_sec_per_gpu: 13.3K | global_batch_size: 1.05M | lm_loss: 7 | model_tflops_per_gpu: 400",
    &[(Seconds, 1.23), (TokensPerSecond, 853e3), (GlobalBatchTokens, 1.05e6), (TflopsPerDevice, 400.0)]
)]
#[case(
    "nanotron",
    "iteration: 10 / 100 | elapsed_time_per_iteration_ms: 900 | tokens_per_sec: 853K | hardware_tflops_per_gpu: 430",
    &[(Seconds, 0.9), (HardwareTflopsPerDevice, 430.0)]
)]
#[case("nanogpt", "iter 10: loss 4.3000, time 123.45ms, mfu 12.34%", &[(Step, 10.0), (Seconds, 0.12345), (Mfu, 0.1234)])]
#[case("nanogpt", "iter 1: loss 4.3000, time 123.45ms, mfu -100.00%", &[(Step, 1.0), (Seconds, 0.12345)])]
#[case(
    "nanochat",
    "step 00010/21400 (0.05%) | loss: 5.1 | lrm: 1.00 | dt: 512.00ms | tok/sec: 1,024,000 | mfu: 45.67 | total time: 0.5m",
    &[(Step, 10.0), (Seconds, 0.512), (TokensPerSecond, 1_024_000.0), (Mfu, 0.4567)]
)]
#[case(
    "verl",
    "step:4 - perf/mfu/actor:0.381 - perf/total_num_tokens:512000 - perf/time_per_step:40.5 - perf/throughput:1580.2",
    &[(Step, 4.0), (Mfu, 0.381), (RealTokens, 512000.0), (Seconds, 40.5), (TokensPerSecondPerDevice, 1580.2)]
)]
#[case(
    "hf-trainer",
    "{'train_runtime': 273.01, 'train_samples_per_second': 3.663, 'train_steps_per_second': 0.057, 'epoch': 1.0}",
    &[(SamplesPerSecond, 3.663), (StepsPerSecond, 0.057)]
)]
#[case(
    "deepspeed",
    "[Rank 0] [timer.py:260:stop] epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=110.8, CurrSamplesPerSec=111.3",
    &[(Step, 10.0), (SamplesPerSecond, 111.3)]
)]
#[case(
    "mlperf",
    r#":::MLLOG {"key": "tracked_stats", "value": {"train_step_time": 54.71, "reduced_train_loss": 7.7}, "metadata": {"step": 1152.0}}"#,
    &[(Seconds, 54.71)]
)]
#[case(
    "goodput-meter",
    "{'step': 10, 'perf/tokens_per_second': 8000.0, 'perf/tokens_per_second_per_gpu': 1000.0, \
     'perf/tflops_per_second': 400.5, 'perf/mfu': 40.48}",
    &[(Step, 10.0), (TokensPerSecond, 8000.0), (TokensPerSecondPerDevice, 1000.0), (TflopsPerDevice, 400.5), (Mfu, 0.4048)]
)]
fn a_line_of_each_format(#[case] format: &str, #[case] line: &str, #[case] expected: &[(Measure, f64)]) {
    let log = read(line);
    assert_eq!((log.format, log.steps.len()), (format, 1));
    for (measure, value) in expected {
        let found = log.steps[0].value(*measure);
        let close = found.is_some_and(|found| (found - value).abs() <= 1e-12 * value.abs());
        assert!(close, "{measure:?}: {found:?} against {value}");
    }
    let mfu = expected.iter().any(|(measure, _)| *measure == Mfu);
    assert_eq!(log.steps[0].value(Mfu).is_some(), mfu);
}

#[test]
fn what_the_log_says_about_the_run() {
    let titan = read(
        "[titan] - INFO - CUDA capacity: NVIDIA H200 with 139.81GiB memory\n\
         [titan] - INFO - Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]\n\
         [titan] - INFO - Peak FLOPS used for computing MFU: 9.890e+14\n\
         [titan] - INFO - Trainer is initialized with local batch size 8, global batch size 64, \
         gradient accumulation steps 2, sequence length 2048, total steps 10 (warmup 2)\n\
         [titan] - INFO - step:  1  loss: 8.0  memory: 1.2GiB(0.9%)  tps: 5,756  tflops: 0.41  mfu: 0.04%\n",
    );
    assert_eq!(titan.run.device.as_deref(), Some("NVIDIA H200"));
    assert_eq!(titan.run.peak_flops_per_second, Some(989e12));
    assert_eq!((titan.run.devices, titan.run.tensor_parallel), (Some(8), Some(2)));
    assert_eq!((titan.run.global_batch_samples, titan.run.sequence_length), (Some(64), Some(2048)));
    assert_eq!(titan.run.gradient_accumulation, Some(2));
    let megatron = read(
        "  seq_length ...................................... 4096\n  world_size ................ 64\n\
         tensor_model_parallel_size ............ 4\n iteration 1/ 2 | elapsed time per iteration (ms): 5.0 |\n",
    );
    assert_eq!((megatron.run.sequence_length, megatron.run.devices), (Some(4096), Some(64)));
    assert_eq!(megatron.run.tensor_parallel, Some(4));
    let nanochat = read(
        "GPU: NVIDIA H100 80GB HBM3 | Peak FLOPS (BF16): 9.89e+14\n\
         Total batch size 524,288 => gradient accumulation steps: 4\n\
         step 00001 | loss: 5 | dt: 5.00ms | tok/sec: 10 | mfu: 1.00\n",
    );
    assert_eq!(nanochat.run.device.as_deref(), Some("NVIDIA H100 80GB HBM3"));
    assert_eq!(nanochat.run.gradient_accumulation, Some(4));
}

#[rstest]
#[case("iteration 1/ 2 | elapsed time per iteration (ms): nan |", "step time")]
#[case("iteration 1/ 2 | elapsed time per iteration (ms): -5.0 |", "step time")]
#[case("iteration 1/ 2 | elapsed time per iteration (ms): 0.0 |", "step time")]
#[case("step: 1  loss: 8.0  tps: inf  mfu: 3%", "tokens/s per device")]
fn a_figure_that_is_no_number_names_the_field(#[case] line: &str, #[case] field: &str) {
    let error = read_throughput("train.log", line.as_bytes()).unwrap_err();
    let ReadError::Format { line: 1, field: found, .. } = &error else { panic!("{error}") };
    assert_eq!(found, field);
    // Beside a good line it is refused, and the report says so.
    let log = read(&format!("{line}\niteration 2/ 2 | elapsed time per iteration (ms): 4.0 |\n{line}"));
    assert_eq!((log.format, log.steps.len()), ("megatron", 1));
}

#[test]
fn a_file_without_a_speed_lists_the_formats() {
    let error = read_throughput("train.log", &b"hello\nworld\n"[..]).unwrap_err();
    assert!(error.remedy().unwrap().contains("torchtitan"));
}

#[rstest]
#[case("runs/logs/megatron_2021_meg_gpt2_perf_n16.out", "megatron", 3)]
#[case("runs/logs/bloom_prequel_iterations.log", "megatron", 6)]
#[case("runs/logs/maxtext_understand_logs.log", "maxtext", 13)]
#[case("runs/logs/maxtext_tpu_recipes_lines.log", "maxtext", 24)]
#[case("runs/logs/internevo_20B_demo.log", "internevo", 6)]
#[case("runs/logs/internevo_2023-07_7B.log", "internevo", 6)]
#[case("runs/logs/nemo_progressbar_lines.log", "nemo", 7)]
#[case("runs/logs/nemo_dllogger_example.json", "nemo", 50)]
#[case("runs/logs/hf_deepspeed_gpt2_perf_n16_bs4-mbs8.out", "hf-trainer", 16)]
#[case("runs/logs/mlperf_v5.0_nvidia_eos-dfw_n64_llama31_405b_result_0.txt", "mlperf", 246)]
#[case("timelines/torchtitan/h200_debug_2025-11.log", "torchtitan", 6)]
#[case("timelines/torchtitan/variants.log", "torchtitan", 11)]
#[case("timelines/maxtext/tpu_v5e_gemma_2026-03.log", "maxtext", 10)]
#[case("timelines/nemo/nemo2_variants.log", "nemo", 7)]
#[case("timelines/deepspeed/zero2_2023-12.log", "deepspeed", 4)]
fn public_logs_are_read(#[case] path: &str, #[case] format: &str, #[case] steps: usize) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    if !root.exists() {
        println!("skipped: ../shared is not there");
        return;
    }
    let file = std::fs::File::open(root.join("data").join(path)).unwrap();
    let log = read_throughput(path, file).unwrap();
    assert_eq!(log.format, format);
    assert_eq!((log.steps.len(), log.report.refused), (steps, 0));
}

#[test]
fn the_typical_line_is_neither_compilation_nor_dispatch() {
    let lines = [(0, 44.9), (1, 0.3), (2, 5.6), (3, 5.7), (4, 5.5)].map(|(step, seconds)| {
        format!("completed step: {step}, seconds: {seconds}, TFLOP/s/device: {}\n", 800.0 / seconds)
    });
    let log = read(&lines.concat());
    assert_eq!(log.typical(None).unwrap().value(Step), Some(2.0));
    assert_eq!(log.typical(Some(1)).unwrap().value(Seconds), Some(0.3));
    assert!(log.typical(Some(9)).is_none());
}
