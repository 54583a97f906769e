//! The list of kernels does the FLOPs that the exact counter counts, however the model is split.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use goodput_model::device::Catalogue;
use goodput_model::{Batch, Component, FlopCounter, Recompute, Training};
use goodput_predict::kernel::KernelTables;
use goodput_predict::layer::{Layers, Part, Passes, Term};
use goodput_predict::run::Run;

fn read(model: &str, devices: u32, layout: &str, sequence: u64, recompute: &str) -> Run {
    let text = format!(
        "model: {model}\ncluster: DGX H100\ndevices: {devices}\nlayout: {layout}\nframework: torchtitan\n\
         recompute: {recompute}\nbatch: {{sequence: {sequence}, micro: 1, global: 64}}\n"
    );
    Run::from_yaml("run.yaml", &text, Path::new(".")).unwrap()
}

/// All passes of all layers of one rank, embedding and head among them.
fn passes(run: &Run) -> Vec<(u64, Passes)> {
    let tables = KernelTables::new(Catalogue::built_in().find(&run.cluster.device).unwrap());
    let layers = Layers::new(run, &tables);
    let text = run.architecture.text.as_ref().unwrap();
    let mut all = vec![(1, layers.embedding(text).unwrap()), (1, layers.head(text).unwrap())];
    all.extend(text.decoder.iter().map(|blocks| (blocks.blocks, layers.block(text, blocks, true).unwrap())));
    all
}

fn flops(passes: &[(u64, Passes)], pick: impl Fn(&Passes) -> Vec<Part>, attention: bool) -> f64 {
    let of = |passes: &Passes| {
        let parts = pick(passes).into_iter().filter(|part| (part.term == Term::Attention) == attention);
        parts.map(|part| part.flops).sum::<f64>()
    };
    passes.iter().map(|(times, passes)| *times as f64 * of(passes)).sum()
}

#[rstest::rstest]
#[case("llama3.1-8b", 1, "{tp: 1}", 8192)]
#[case("llama3.1-70b", 8, "{tp: 8, sp: true}", 4096)]
#[case("llama3.1-8b", 8, "{tp: 2, cp: 4}", 8192)]
#[case("llama3.1-8b", 8, "{tp: 2, cp: 4, cp_method: ulysses}", 8192)]
#[case("gpt3-175b", 8, "{tp: 8}", 2048)]
#[case("mixtral-8x7b", 8, "{ep: 8}", 4096)]
#[case("mixtral-8x7b", 8, "{tp: 4, sp: true, ep: 2, etp: 2}", 4096)]
#[case("deepseek-v2", 8, "{ep: 8}", 4096)]
#[case("gemma2-9b", 2, "{tp: 2}", 8192)]
fn a_rank_does_its_share_of_the_exact_count(
    #[case] model: &str,
    #[case] devices: u32,
    #[case] layout: &str,
    #[case] sequence: u64,
) {
    let run = read(model, devices, layout, sequence, "full");
    let all = passes(&run);
    let counter = FlopCounter::new(&run.architecture, &Training::full()).unwrap();
    let exact = counter.count(&Batch::rows(1, sequence).unwrap(), Recompute::None).unwrap();
    let split = f64::from(run.layout.tensor * run.layout.context);
    let core = exact.component(Component::AttentionCore).useful;
    let useful = exact.useful();
    for (ours, products, core) in [
        (
            (|passes: &Passes| passes.forward.clone()) as fn(&Passes) -> Vec<Part>,
            useful.forward - core.forward,
            core.forward,
        ),
        (
            |passes| [passes.input_gradient.clone(), passes.weight_gradient.clone()].concat(),
            useful.backward() - core.backward(),
            core.backward(),
        ),
    ] {
        let ratio = flops(&all, ours, false) * split / products as f64;
        // Rows of an expert are rounded up.
        assert!((ratio - 1.0).abs() < 1e-3, "{model} products: {ratio}");
        // The kernels count half a diagonal, the exact count a whole one. A gathered rank does not do the mean.
        let ratio = flops(&all, ours, true) * split / core as f64;
        assert!((ratio - 1.0).abs() < 3.0 / sequence as f64 * split, "{model} attention: {ratio}");
    }
    // Full recomputation runs the blocks' forward pass again, not the head's.
    let again = flops(&all, |passes| passes.recompute.clone(), false);
    let forward = flops(&all[2..], |passes| passes.forward.clone(), false);
    assert_eq!(again, forward);
}

#[test]
fn selective_recomputation_runs_the_attention_core_again_and_none_nothing() {
    let times = |recompute: &str| {
        let all = passes(&read("llama3.1-8b", 1, "{tp: 1}", 8192, recompute));
        let ns: f64 = all[2].1.recompute.iter().map(|part| part.estimate.ns).sum();
        ns / all[2].1.forward.iter().map(|part| part.estimate.ns).sum::<f64>()
    };
    assert_eq!((times("none"), times("full")), (0.0, 1.0));
    assert!((0.02..0.5).contains(&times("selective")), "{}", times("selective"));
    assert!((0.0..0.3).contains(&times("cheap")));
}

#[test]
fn sequence_parallelism_moves_the_same_bytes_and_splits_the_norms() {
    let term = |layout: &str, term: Term| {
        let all = passes(&read("llama3.1-70b", 8, layout, 4096, "none"));
        all[2].1.forward.iter().filter(|part| part.term == term).map(|part| part.estimate.ns).sum::<f64>()
    };
    let (with, without) = ("{tp: 8, sp: true}", "{tp: 8}");
    assert!(term(with, Term::Norm) < 0.3 * term(without, Term::Norm));
    let ratio = term(with, Term::TensorExchange) / term(without, Term::TensorExchange);
    assert!((0.7..1.4).contains(&ratio), "{ratio}");
    assert_eq!(term("{tp: 1}", Term::TensorExchange), 0.0);
}

#[test]
fn a_multi_token_prediction_module_does_the_exact_counts_flops() {
    let mut run = read("deepseek-v2", 8, "{tp: 2, sp: true, ep: 4}", 4096, "none");
    let forward = |run: &Run| {
        let counter = FlopCounter::new(&run.architecture, &Training::full()).unwrap();
        let counted = counter.count(&Batch::rows(1, 4096).unwrap(), Recompute::None).unwrap();
        counted.useful().forward as f64
    };
    let without = forward(&run);
    run.architecture.text.as_mut().unwrap().multi_token_prediction = 1;
    let exact = forward(&run) - without;
    let tables = KernelTables::new(Catalogue::built_in().find(&run.cluster.device).unwrap());
    let text = run.architecture.text.as_ref().unwrap();
    let last = text.decoder.last().unwrap();
    let passes = Layers::new(&run, &tables).multi_token_prediction(text, last, false).unwrap();
    let ours = passes.forward.iter().map(|part| part.flops).sum::<f64>() * 2.0;
    assert!((ours / exact - 1.0).abs() < 1e-3, "{}", ours / exact);
}
