//! Classes of the work in real traces, by names and operators.

use std::path::{Path, PathBuf};

use goodput_trace::class::{Class, embedding_exchanges};
use goodput_trace::read::{ReadOptions, read_file};
use goodput_trace::trace::RankTrace;

fn traces(name: &str) -> Vec<RankTrace> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/traces/", name].concat().into();
    if !Path::new(&path).exists() {
        return Vec::new();
    }
    read_file(&path, &ReadOptions::default()).expect("a readable trace").ranks
}

/// Nanoseconds of the device work that `which` picks.
fn time_ns(trace: &RankTrace, which: impl Fn(Class) -> bool) -> i64 {
    trace.work.iter().filter(|work| which(work.class)).map(|work| work.duration_ns()).sum()
}

#[test]
fn little_time_of_real_traces_stays_without_a_class() {
    for name in [
        "dlrm8_v100/rank-0.json.gz",
        "kineto/a100_ddp_resnet_nccl_meta_ns.json.gz",
        "kineto/v100_resnet_ns_5steps.json.gz",
        "kineto/v100_resnet50_2021_tb_strtid_nw0.json.gz",
        "kineto/dlrm_ws128_rank0_sampled.json.gz",
        "kineto/h100_qwen05b.json.gz",
        "kineto/h100_vit_infer_pyfunc.json.gz",
        "kineto/mi300_qwen05b.json.gz",
        "kineto/mi300_vllm_hipgraph_421kernels_per_launch.json.gz",
        "kineto/mi250_minitoy_stream0.json.gz",
        "nsys/mfu_2gpu_before.sqlite",
        "other/rocprofv3_908_results.json.gz",
    ] {
        for trace in traces(name) {
            let (other, all) = (time_ns(&trace, |class| class == Class::Other), time_ns(&trace, |_| true));
            assert!(all > 0, "{name} has no device work");
            assert!(other as f64 <= 0.03 * all as f64, "{name}: {other} of {all} ns");
        }
    }
}

/// cuDNN runs convolutions of one by one as plain matrix products; the operator tells them from the products of the
/// last layer.
#[test]
fn a_convolution_network_multiplies_matrices_in_its_last_layer_only() {
    for trace in traces("kineto/a100_ddp_resnet_nccl_meta_ns.json.gz") {
        let gemm = time_ns(&trace, |class| class == Class::Gemm);
        let convolution = time_ns(&trace, |class| class == Class::Convolution);
        assert!(gemm > 0 && gemm * 20 < convolution, "{gemm} ns of products, {convolution} of convolutions");
    }
}

#[test]
fn a_recommendation_model_exchanges_embeddings_in_all_its_all_to_alls() {
    for rank in 0..8 {
        for trace in traces(&format!("dlrm8_v100/rank-{rank}.json.gz")) {
            let exchanges = embedding_exchanges(&trace);
            for (work, exchange) in trace.work.iter().zip(exchanges) {
                let all_to_all = trace.name(work.name).contains("SendRecv");
                assert_eq!(exchange, all_to_all, "{}", trace.name(work.name));
            }
        }
    }
}
