//! What must hold of every prediction.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use goodput_model::Architecture;
use goodput_predict::layer::Term;
use goodput_predict::memory::RankParameters;
use goodput_predict::run::Run;
use goodput_predict::step::{Prediction, Predictor, TimeFactors};

fn run(model: &str, cluster: &str, devices: u32, layout: &str, rest: &str) -> Run {
    let text = format!("model: {model}\ncluster: {cluster}\ndevices: {devices}\nlayout: {layout}\n{rest}");
    Run::from_yaml("run.yaml", &text, Path::new(".")).unwrap()
}

fn predict(run: &Run) -> Prediction {
    Predictor::new(&run.cluster).unwrap().predict(run).unwrap()
}

const BATCH: &str = "batch: {sequence: 4096, micro: 1, global: 64}";

#[rstest::rstest]
#[case("llama3.1-8b", 1, "{tp: 1}")]
#[case("llama3.1-8b", 2, "{tp: 2, sp: true}")]
#[case("llama3.1-8b", 4, "{pp: 2, dp: 2, zero: 1}")]
#[case("llama3.1-8b", 64, "{tp: 4, pp: 4, vpp: 2, overlap_gradients: true}")]
#[case("llama3.1-8b", 64, "{pp: 4, schedule: zb-h1}")]
#[case("llama3.1-8b", 16, "{pp: 4, schedule: zb-2p}")]
#[case("llama3.1-8b", 16, "{pp: 4, schedule: dualpipe}")]
#[case("llama3.1-8b", 64, "{zero: 3, shard_size: 8, overlap_gradients: true, overlap_parameters: true}")]
#[case("mixtral-8x7b", 64, "{tp: 2, sp: true, ep: 8, pp: 2}")]
#[case("deepseek-v2", 64, "{ep: 32, zero: 1}")]
#[case("gpt2-xl", 8, "{tp: 5, dp: 1}")]
fn terms_sum_to_the_step_on_every_stage(#[case] model: &str, #[case] devices: u32, #[case] layout: &str) {
    if model == "gpt2-xl" {
        // 25 heads: five ranks.
        let run = run(model, "DGX H100", 5, "{tp: 5}", BATCH);
        assert!(predict(&run).step_ns > 0.0);
        return;
    }
    let prediction = predict(&run(model, "DGX H100", devices, layout, BATCH));
    let step = prediction.step_ns;
    assert!((prediction.terms.sum() / step - 1.0).abs() < 1e-9, "{prediction:?}");
    for stage in &prediction.stages {
        assert!((stage.terms.sum() / step - 1.0).abs() < 1e-9, "{stage:?}");
    }
    assert!(prediction.terms.iter().all(|(_, ns)| ns >= 0.0), "{prediction:?}");
    assert!((0.02..0.9).contains(&prediction.mfu) && prediction.hfu >= prediction.mfu);
    assert!(prediction.deviation > 0.0 && prediction.deviation < 0.5);
}

#[test]
fn a_hundred_thousand_devices_and_a_spread_of_their_speeds() {
    let run = run(
        "llama3.1-405b",
        "DGX H100",
        98_304,
        "{tp: 8, sp: true, pp: 16, dp: 768, zero: 1, overlap_gradients: true, uneven_ends: [1, 1]}",
        "batch: {sequence: 8192, micro: 1, global: 12288}",
    );
    let even = predict(&run);
    let spread = Predictor::new(&run.cluster).unwrap().with_stragglers(0.02).predict(&run).unwrap();
    assert_eq!(even.terms.of(Term::Straggler), 0.0);
    // The slowest of a hundred thousand is 4.3 deviations away.
    let wait = spread.step_ns / even.step_ns - 1.0;
    assert!((wait / 0.02 - 4.27).abs() < 0.1, "{wait}");
}

#[test]
fn factors_on_devices_and_host_scale_their_own_clocks() {
    let slow_host = "framework: megatron-lm-2022\nbatch: {sequence: 512, micro: 1, global: 64}";
    let bound = run("gpt2-124m", "DGX A100", 8, "{pp: 2}", slow_host);
    let free = run("llama3.1-8b", "DGX H100", 8, "{tp: 8, sp: true}", BATCH);
    for (run, host_bound) in [(&bound, true), (&free, false)] {
        let step = |device_time, host_time| {
            let factors = TimeFactors { device_time, host_time };
            Predictor::new(&run.cluster).unwrap().with_factors(factors).predict(run).unwrap()
        };
        let plain = predict(run);
        let both = step(1.5, 1.5);
        assert!((both.step_ns / plain.step_ns - 1.5).abs() < 1e-6);
        assert!((both.terms.sum() / both.step_ns - 1.0).abs() < 1e-9);
        assert!((both.mfu * 1.5 / plain.mfu - 1.0).abs() < 1e-6);
        assert_eq!(step(1.0, 1.2).step_ns > 1.1 * plain.step_ns, host_bound);
        assert_eq!(step(1.2, 1.0).step_ns > 1.1 * plain.step_ns, !host_bound);
    }
}

#[test]
fn parameters_of_all_ranks_are_those_of_the_model() {
    for name in
        ["llama3.1-8b", "mixtral-8x7b", "deepseek-v2", "gemma2-9b", "qwen3-8b", "gpt-oss-20b", "qwen2.5-7b"]
    {
        let run = run(name, "DGX H100", 1, "{tp: 1}", &format!("{BATCH}\nframework: torchtitan"));
        let text = run.architecture.text.as_ref().unwrap();
        let mut held = RankParameters::of_embedding(&run, text);
        held.add_times(RankParameters::of_head(&run, text, true), 1);
        for blocks in &text.decoder {
            held.add_times(RankParameters::of_block(&run, text, blocks), blocks.blocks);
        }
        let exact = Architecture::known(name).unwrap().parameters().unwrap();
        assert_eq!(u128::from(held.total()), exact.total, "{name}");
        assert_eq!(u128::from(held.experts), exact.routed_experts, "{name}");
    }
    let mut run = run("deepseek-v2", "DGX H100", 1, "{tp: 1}", BATCH);
    let without = run.architecture.parameters().unwrap().total;
    run.architecture.text.as_mut().unwrap().multi_token_prediction = 1;
    let module = run.architecture.parameters().unwrap().total - without;
    let text = run.architecture.text.as_ref().unwrap();
    assert_eq!(u128::from(RankParameters::of_prediction_module(&run, text).total()), module);
}

#[test]
fn more_bandwidth_or_fewer_stages_never_cost_time() {
    let mut slow = run("llama3.1-70b", "DGX H100", 64, "{tp: 8, sp: true, pp: 2}", BATCH);
    let before = predict(&slow);
    slow.cluster.network.as_mut().unwrap().nic_gb_per_s /= 4.0;
    assert!(predict(&slow).step_ns > before.step_ns);
    let full =
        run("llama3.1-70b", "DGX H100", 64, "{tp: 8, sp: true, pp: 2}", &format!("{BATCH}\nrecompute: full"));
    let recomputed = predict(&full);
    assert!(recomputed.step_ns > before.step_ns && recomputed.memory.total() < before.memory.total());
    assert!((recomputed.mfu - before.mfu).abs() > 0.01 && recomputed.hfu > recomputed.mfu * 1.25);
}

#[test]
fn only_the_first_stages_gradients_lengthen_the_step() {
    let mut run = run(
        "llama3.1-70b",
        "DGX H100",
        64,
        "{tp: 2, sp: true, pp: 4, overlap_gradients: true}",
        "batch: {sequence: 8192, micro: 1, global: 64}",
    );
    let prediction = predict(&run);
    let exposed =
        |prediction: &Prediction, stage: usize| prediction.stages[stage].terms.of(Term::DataExchange);
    run.layout.overlap_gradients = false;
    let late = predict(&run);
    assert!(exposed(&late, 0) > 2.0 * exposed(&prediction, 0), "buckets run beside the backward pass");
    // The first stage's backward pass ends last: what it exposes is the step's, what the last one does lies in its wait.
    let longer = late.step_ns - prediction.step_ns;
    let of_first = exposed(&late, 0) - exposed(&prediction, 0);
    assert!((longer / of_first - 1.0).abs() < 0.05, "{longer} {of_first}");
}
