//! Each input of RUN.yaml: what it does to time and memory, in the direction that physics gives it.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use goodput_predict::layer::Term;
use goodput_predict::run::Run;
use goodput_predict::step::{Prediction, Predictor};

/// A base, whose lines are replaced one at a time. 64 devices unless the layout says otherwise.
fn text(model: &str, changes: &[(&str, &str)]) -> String {
    let mut lines = vec![
        ("model", model),
        ("cluster", "DGX H100"),
        ("devices", "64"),
        ("layout", "{tp: 2, sp: true, pp: 2, zero: 1}"),
        ("batch", "{sequence: 8192, micro: 1, global: 256}"),
    ];
    for (key, value) in changes {
        lines.retain(|(known, _)| known != key);
        lines.push((key, value));
    }
    lines.iter().map(|(key, value)| format!("{key}: {value}\n")).collect()
}

fn predict(model: &str, changes: &[(&str, &str)]) -> Prediction {
    let run = Run::from_yaml("run.yaml", &text(model, changes), Path::new(".")).unwrap();
    let prediction = Predictor::new(&run.cluster).unwrap().predict(&run).unwrap();
    let step = prediction.step_ns;
    assert!(step.is_finite() && (prediction.terms.sum() / step - 1.0).abs() < 1e-9, "{changes:?}");
    prediction
}

/// The first takes less time than the second.
#[rstest::rstest]
// Schedules: fewer idle devices.
#[case::interleaved("layout", "{pp: 4, vpp: 4}", "layout", "{pp: 4}")]
#[case::zero_bubble("layout", "{pp: 4, schedule: zb-h1}", "layout", "{pp: 4}")]
#[case::more_memory_fewer_bubbles("layout", "{pp: 4, schedule: zb-2p}", "layout", "{pp: 4, schedule: zb-h1}")]
#[case::dualpipe("layout", "{pp: 4, schedule: dualpipe}", "layout", "{pp: 4}")]
// Overlap.
#[case::gradients("layout", "{zero: 1, overlap_gradients: true}", "layout", "{zero: 1}")]
#[case::parameters("layout", "{zero: 1, overlap_parameters: true}", "layout", "{zero: 1}")]
#[case::tensor("layout", "{tp: 8, sp: true, overlap_tensor: true}", "layout", "{tp: 8, sp: true}")]
#[case::fsdp_overlap(
    "layout",
    "{zero: 3, overlap_gradients: true, overlap_parameters: true}",
    "layout",
    "{zero: 3}"
)]
#[case::fsdp_keeps("layout", "{zero: 3, reshard_after_forward: false}", "layout", "{zero: 3}")]
// A large bucket starts late: its reduction shows.
#[case::buckets(
    "layout",
    "{overlap_gradients: true, bucket_mb: 100}",
    "layout",
    "{overlap_gradients: true, bucket_mb: 100000}"
)]
// Recomputation.
#[case::core("recompute", "selective", "recompute", "full")]
#[case::modules("recompute", "{modules: [layernorm]}", "recompute", "{modules: [layernorm, mlp]}")]
#[case::some_layers("recompute", "{layers: 2}", "recompute", "{layers: 8}")]
#[case::op("recompute", "every-other-product", "recompute", "full")]
// Formats.
#[case::fp8("precision", "fp8", "precision", "bf16")]
#[case::gradients_of_two_bytes("precision", "{recipe: bf16, gradient_bytes: 2}", "precision", "bf16")]
// Optimizers: Muon multiplies matrices.
#[case::sgd("optimizer", "sgd", "optimizer", "adam")]
#[case::adam("optimizer", "adam", "optimizer", "muon")]
// Frameworks.
#[case::fused("framework", "megatron-lm", "framework", "{like: megatron-lm, fused_attention: false}")]
#[case::fused_kernels(
    "framework",
    "megatron-lm",
    "framework",
    "{fusion: eager, fused_norm: false, fused_loss: false}"
)]
#[case::flash3("framework", "{attention_kernel: flash3}", "framework", "{attention_kernel: flash2}")]
#[case::no_dropout("framework", "megatron-lm", "framework", "{dropout: true}")]
// Clusters.
#[case::full_fabric(
    "cluster",
    "DGX H100",
    "cluster",
    "{like: DGX H100, network: {oversubscription: 8, pod_nodes: 2}}"
)]
#[case::adapters("cluster", "DGX H100", "cluster", "{like: DGX H100, network: {nics_per_node: 1}}")]
#[case::links(
    "cluster",
    "DGX H100",
    "cluster",
    "{like: DGX H100, intra: {gb_per_s: 50, usable_gb_per_s: 40}}"
)]
// Documents: fewer pairs.
#[case::packed(
    "batch",
    "{sequence: 8192, micro: 1, global: 256, packing: {mean_length: 512}}",
    "batch",
    "{sequence: 8192, micro: 1, global: 256}"
)]
fn faster(#[case] key: &str, #[case] fast: &str, #[case] slow_key: &str, #[case] slow: &str) {
    let (fast, slow) = (predict("llama3.1-8b", &[(key, fast)]), predict("llama3.1-8b", &[(slow_key, slow)]));
    assert!(fast.step_ns < slow.step_ns, "{} {}", fast.step_ns, slow.step_ns);
}

#[test]
fn a_slow_host_or_eager_launches_cost_time_where_kernels_are_short() {
    let small = |changes: &[(&str, &str)]| {
        let mut all =
            vec![("layout", "{tp: 8}"), ("devices", "8"), ("batch", "{sequence: 512, micro: 1, global: 8}")];
        all.extend(changes);
        predict("llama3.2-1b", &all).step_ns
    };
    let graph = small(&[("framework", "{dispatch: graph}")]);
    let eager = small(&[]);
    let slow = small(&[("cluster", "{like: DGX H100, host: {dispatch_us: 20}}")]);
    assert!(graph < eager && eager < slow, "{graph} {eager} {slow}");
}

/// Less memory in the first.
#[rstest::rstest]
#[case("layout", "{zero: 1}", "layout", "{zero: 0}")]
#[case("layout", "{zero: 2}", "layout", "{zero: 1}")]
#[case("layout", "{zero: 3}", "layout", "{zero: 2}")]
#[case("layout", "{zero: 3}", "layout", "{zero: 3, shard_size: 8}")]
#[case("layout", "{tp: 4}", "layout", "{tp: 2}")]
#[case("layout", "{tp: 4, sp: true}", "layout", "{tp: 4}")]
#[case("layout", "{pp: 4}", "layout", "{pp: 2}")]
#[case("layout", "{cp: 2}", "layout", "{cp: 1}")]
#[case("layout", "{pp: 4}", "layout", "{pp: 4, vpp: 4}")]
#[case("layout", "{pp: 4}", "layout", "{pp: 4, schedule: gpipe}")]
#[case("layout", "{pp: 4, schedule: zb-h1}", "layout", "{pp: 4, schedule: zb-2p}")]
#[case("layout", "{pp: 4}", "layout", "{pp: 4, schedule: dualpipe}")]
#[case("recompute", "{modules: [layernorm]}", "recompute", "none")]
#[case("recompute", "{layers: 8}", "recompute", "{layers: 2}")]
#[case("recompute", "full", "recompute", "{layers: 8}")]
#[case("recompute", "full", "recompute", "every-other-product")]
#[case("optimizer", "muon", "optimizer", "adam")]
#[case("optimizer", "sgd", "optimizer", "muon")]
#[case("offload", "{activations: 0.5}", "offload", "{activations: 0}")]
#[case("offload", "{optimizer: true}", "offload", "{optimizer: false}")]
#[case("framework", "megatron-lm", "framework", "{fused_attention: false}")]
#[case("framework", "megatron-lm", "framework", "{fused_loss: false}")]
fn smaller(#[case] key: &str, #[case] small: &str, #[case] large_key: &str, #[case] large: &str) {
    let memory = |key, value| predict("llama3.1-8b", &[("layout", "{zero: 1}"), (key, value)]).memory.total();
    let (small, large) = (memory(key, small), memory(large_key, large));
    assert!(small < large, "{small} {large}");
}

#[test]
fn offloaded_activations_show_only_where_the_link_is_slower_than_the_layer() {
    let fast = predict(
        "llama3.1-8b",
        &[
            ("cluster", "GB200 NVL72"),
            ("devices", "4"),
            ("layout", "{dp: 4, zero: 1}"),
            ("offload", "{activations: 1}"),
        ],
    );
    let slow = predict("llama3.1-8b", &[("offload", "{activations: 1}")]);
    let none = predict("llama3.1-8b", &[]);
    assert!(fast.terms.of(Term::HostExchange) < 0.2 * fast.step_ns);
    assert!(slow.terms.of(Term::HostExchange) > 0.0 && slow.step_ns > none.step_ns);
    let states = predict("llama3.1-8b", &[("offload", "{optimizer: true}")]);
    assert!(states.terms.of(Term::Optimizer) > none.terms.of(Term::Optimizer));
}

/// A device and a cluster that nobody has listed are ordinary: with a peak and a bandwidth they have times.
#[test]
fn a_device_of_ones_own_needs_no_catalogue() {
    let cluster = "{device: {name: Falcon-1, dense_peaks: {bf16_tflops: 400}, memory_gb: 96, memory_tb_per_s: 2.5}, \
                   devices_per_node: 4, generation: ampere, \
                   intra: {link: pcie, gb_per_s: 64, usable_gb_per_s: 48}, \
                   network: {nics_per_node: 1, nic_gb_per_s: 50}}";
    let ours =
        predict("llama3.1-8b", &[("cluster", cluster), ("devices", "16"), ("layout", "{tp: 2, zero: 1}")]);
    assert!((0.05..0.9).contains(&ours.mfu), "{}", ours.mfu);
    assert_eq!(ours.memory.capacity, Some(96.0 * 1_073_741_824.0));
    let half = cluster.replace("400", "200");
    let slower =
        predict("llama3.1-8b", &[("cluster", &half), ("devices", "16"), ("layout", "{tp: 2, zero: 1}")]);
    assert!(slower.step_ns > 1.3 * ours.step_ns);
}

/// Padding is executed and not useful; documents are counted one by one.
#[test]
fn documents_are_counted_one_by_one_and_padding_is_not_useful() {
    let whole = predict("llama3.1-8b", &[]);
    let listed = "{sequence: 8192, micro: 1, global: 256, documents: [4096, 2048, 1024]}";
    let packed = predict("llama3.1-8b", &[("batch", listed)]);
    assert!(packed.terms.of(Term::Attention) < 0.5 * whole.terms.of(Term::Attention));
    assert_eq!(packed.terms.of(Term::Gemm), whole.terms.of(Term::Gemm));
    let rate = packed.tokens_per_second_per_device * packed.step_ns;
    let all = whole.tokens_per_second_per_device * whole.step_ns;
    assert!((rate / all - 7168.0 / 8192.0).abs() < 1e-12);
    assert!(packed.hfu > packed.mfu * 1.05);
    let equal = "{sequence: 8192, micro: 1, global: 256, packing: {mean_length: 1024}}";
    let spread =
        "{sequence: 8192, micro: 1, global: 256, packing: {mean_length: 1024, distribution: exponential}}";
    let [equal, spread] = [equal, spread].map(|batch| predict("llama3.1-8b", &[("batch", batch)]));
    assert!(spread.terms.of(Term::Attention) > 1.2 * equal.terms.of(Term::Attention));
    let split = predict("llama3.1-8b", &[("batch", listed), ("layout", "{cp: 4}")]);
    assert!(split.terms.of(Term::Attention) > 0.0);
}

/// Over nodes and with long sequences the ring hides behind attention; gathered keys and values and exchanged heads do not.
#[test]
fn ways_of_context_parallelism() {
    let time = |method: &str| {
        let layout = format!("{{cp: 8, tp: 4, sp: true, cp_method: {method}}}");
        let batch = "{sequence: 262144, micro: 1, global: 8}";
        let changes = [("layout", layout.as_str()), ("batch", batch), ("recompute", "full")];
        predict("llama3.1-70b", &changes).terms.of(Term::ContextExchange)
    };
    let [ring, gathered, ulysses] = ["ring", "all-gather", "ulysses"].map(time);
    assert!(ring < 0.1 * gathered && ring < 0.1 * ulysses, "{ring} {gathered} {ulysses}");
}

/// Where the network is slower than the links, shards inside a node gather over the links; what crosses is a sum of shards.
#[test]
fn shards_inside_a_node_leave_the_network_to_gradients() {
    let time = |layout: &str| {
        let precision = "{recipe: bf16, gradient_bytes: 2}";
        let changes = [("layout", layout), ("cluster", "p4d.24xlarge"), ("precision", precision)];
        predict("llama3.1-8b", &changes).terms.of(Term::DataExchange)
    };
    let (inside, across) = (time("{zero: 3, shard_size: 8}"), time("{zero: 3}"));
    assert!(inside < across, "{inside} {across}");
}
