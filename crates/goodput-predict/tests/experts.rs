//! Exchanges of experts beside other work, unequal loads, and modules that are recomputed.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use goodput_predict::layer::Term;
use goodput_predict::run::{Module, Modules, Recompute, Run};
use goodput_predict::step::{Prediction, Predictor};

fn run(model: &str, layout: &str) -> Run {
    let text = format!(
        "model: {model}\ncluster: DGX H100\ndevices: 64\nlayout: {layout}\n\
         batch: {{sequence: 4096, micro: 1, global: 512}}\nframework: megatron-bridge\n"
    );
    Run::from_yaml("run.yaml", &text, Path::new(".")).unwrap()
}

fn predict(run: &Run) -> Prediction {
    let prediction = Predictor::new(&run.cluster).unwrap().predict(run).unwrap();
    assert!((prediction.terms.sum() / prediction.step_ns - 1.0).abs() < 1e-9, "{prediction:?}");
    assert!(prediction.terms.iter().all(|(_, ns)| ns >= 0.0), "{prediction:?}");
    prediction
}

/// Beside another micro-batch's computation the exchange shows less, never less than nothing, and only where one runs beside.
#[rstest::rstest]
#[case("deepseek-v2", "{ep: 8, pp: 1}")]
#[case("deepseek-v2", "{ep: 8, pp: 4}")]
#[case("deepseek-v2", "{ep: 8, pp: 4, vpp: 5}")]
#[case("mixtral-8x7b", "{ep: 8, pp: 4, vpp: 2}")]
fn a_forward_beside_a_backward_hides_exchanges(#[case] model: &str, #[case] layout: &str) {
    let mut run = run(model, layout);
    let alone = predict(&run);
    run.layout.overlap_experts = true;
    let paired = predict(&run);
    let exchange = |prediction: &Prediction| prediction.terms.of(Term::ExpertExchange);
    assert!(exchange(&paired) < 0.7 * exchange(&alone), "{} {}", exchange(&paired), exchange(&alone));
    assert!(paired.step_ns < alone.step_ns);
    // No computation is hidden.
    for term in Term::ALL.into_iter().filter(|term| term.is_compute()) {
        assert!((paired.terms.of(term) - alone.terms.of(term)).abs() <= 1e-9 * alone.step_ns);
    }
    // One more micro-batch is in flight.
    assert!(paired.memory.total() >= alone.memory.total());
}

#[test]
fn dualpipe_hides_exchanges_by_itself_and_the_switch_is_refused_where_nothing_runs_beside() {
    let hidden = |layout: &str| predict(&run("deepseek-v2", layout)).terms.of(Term::ExpertExchange);
    let (dual, plain) =
        (hidden("{ep: 8, pp: 4, schedule: dualpipe}"), hidden("{ep: 8, pp: 4, schedule: 1f1b}"));
    assert!(dual < 0.7 * plain, "{dual} {plain}");
    let text = "model: deepseek-v2\ncluster: DGX H100\ndevices: 64\n\
                layout: {ep: 8, pp: 4, schedule: zb-h1, moe_a2a_overlap: true}\n\
                batch: {sequence: 4096, micro: 1, global: 512}\n";
    let error = Run::from_yaml("run.yaml", text, Path::new(".")).unwrap_err().to_string();
    assert!(error.contains("layout.overlap_experts") && error.contains("dualpipe"), "{error}");
}

#[test]
fn shared_experts_run_beside_the_exchange() {
    let mut run = run("deepseek-v2", "{ep: 8}");
    let after = predict(&run);
    run.layout.overlap_shared_experts = true;
    let beside = predict(&run);
    assert!(beside.terms.of(Term::ExpertExchange) < after.terms.of(Term::ExpertExchange));
    assert_eq!(beside.terms.of(Term::Gemm), after.terms.of(Term::Gemm));
}

#[test]
fn the_busiest_rank_sets_the_pace_and_does_not_change_what_is_useful() {
    let mut run = run("mixtral-8x7b", "{ep: 8}");
    let even = predict(&run);
    run.expert_imbalance = 1.5;
    let uneven = predict(&run);
    assert!(uneven.step_ns > 1.1 * even.step_ns && uneven.terms.of(Term::Gemm) > even.terms.of(Term::Gemm));
    assert!(uneven.memory.activations > even.memory.activations);
    let useful = |prediction: &Prediction| prediction.mfu * prediction.step_ns;
    assert!((useful(&uneven) / useful(&even) - 1.0).abs() < 1e-9);
}

/// Each module that is made again costs time and frees memory, and all of them together no more than the whole block.
#[test]
fn modules_that_are_recomputed_cost_time_and_free_memory() {
    let mut run = run("deepseek-v2", "{ep: 8}");
    let none = predict(&run);
    run.recompute = Recompute::Full;
    let full = predict(&run);
    for (name, module) in Module::NAMED {
        if matches!(module, Module::AttentionCore) {
            continue;
        }
        run.recompute = Recompute::Modules(Modules::NONE.and(module));
        let some = predict(&run);
        assert!(some.step_ns > none.step_ns && some.step_ns < full.step_ns, "{name}");
        assert!(some.memory.activations < none.memory.activations, "{name}");
        assert!(some.memory.activations > full.memory.activations, "{name}");
    }
    let all = Module::NAMED.into_iter().map(|(_, module)| module).collect();
    run.recompute = Recompute::Modules(all);
    let most = predict(&run);
    assert!(most.step_ns < full.step_ns && most.hfu < full.hfu && most.hfu > none.hfu);
}
