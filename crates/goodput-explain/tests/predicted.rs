//! A prediction in the terms of the comparison: nothing is dropped, and the kernels listed are those of the prediction.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use goodput_explain::predicted::{Predicted, predict};
use goodput_explain::term::Term;
use goodput_predict::layer::Term as Layer;
use goodput_predict::run::Run;

const RUNS: [&str; 6] = [
    "model: llama3.1-8b\ncluster: DGX H100\ndevices: 8\nlayout: {dp: 8, zero: 3, overlap_gradients: true}\n\
     batch: {sequence: 8192, micro: 1, global: 8}\nrecompute: full\nframework: torchtitan\n",
    "model: gpt3-175b\ncluster: DGX A100\ndevices: 64\nlayout: {tp: 8, sp: true, pp: 8, vpp: 3}\n\
     batch: {sequence: 2048, micro: 1, global: 64}\nprecision: fp16\nrecompute: selective\nframework: megatron-lm-2022\n",
    "model: mixtral-8x7b\ncluster: DGX H100\ndevices: 32\nlayout: {ep: 8, dp: 8, pp: 4, zero: 1}\n\
     batch: {sequence: 4096, micro: 1, global: 64}\n",
    "model: llama3.1-8b\ncluster: DGX H100\ndevices: 8\nlayout: {pp: 2, cp: 2, dp: 2}\n\
     batch: {sequence: 8192, micro: 1, global: 16}\nrecompute: {layers: 4}\n",
    "model: llama3.1-8b\ncluster: DGX H100\ndevices: 4\nlayout: {pp: 4, schedule: dualpipe}\n\
     batch: {sequence: 4096, micro: 1, global: 16}\n",
    "model: llama3.1-8b\ncluster: DGX H100\ndevices: 1\nbatch: {sequence: 512, micro: 1, global: 1}\n",
];

#[test]
fn terms_sum_to_the_step_on_all_devices_and_on_each_stage() {
    for text in RUNS {
        let run = Run::from_yaml("run.yaml", text, Path::new(".")).unwrap();
        let (prediction, evidence) = predict(&run, 0.01).unwrap();
        let mut choices: Vec<Vec<usize>> = (0..prediction.stages.len()).map(|stage| vec![stage]).collect();
        choices.push(Vec::new());
        choices.push((0..prediction.stages.len()).collect());
        for stages in choices {
            let predicted = Predicted::new(&prediction, &evidence, &stages);
            let sum: f64 = predicted.iter().map(|(_, term)| term.ns).sum();
            assert!((sum / prediction.step_ns - 1.0).abs() < 1e-9, "{text} {stages:?}");
            for (term, of) in predicted.iter() {
                let parts: f64 = of.parts.iter().map(|(_, ns)| ns).sum();
                assert!((parts - of.ns).abs() < 1e-3, "{text} {term:?}");
                assert!(of.deviation.is_finite() && of.deviation >= 0.0, "{text} {term:?}");
            }
        }
    }
}

#[test]
fn the_kernels_listed_take_the_time_predicted() {
    for text in RUNS {
        let run = Run::from_yaml("run.yaml", text, Path::new(".")).unwrap();
        let (prediction, evidence) = predict(&run, 0.0).unwrap();
        for layer in Layer::ALL.into_iter().filter(|layer| layer.is_compute()) {
            let listed = evidence.iter().find(|of| of.term == layer).map_or(0.0, |of| of.listed_ns);
            let (ours, theirs) = (listed, prediction.terms.of(layer));
            assert!((ours - theirs).abs() <= 1e-6 * theirs, "{text} {layer:?}: {ours} {theirs}");
        }
        let products = Predicted::new(&prediction, &evidence, &[]).term(Term::Products).clone();
        assert!(products.kernels > 0.0 && products.flops > 0.0 && products.deviation > 0.0, "{text}");
    }
}
