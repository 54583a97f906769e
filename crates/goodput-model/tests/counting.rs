//! Rules of counting: passes, freezing, adapters, padding, recompute.

#![allow(clippy::unwrap_used, clippy::panic)]

use goodput_model::architecture::known_architectures;
use goodput_model::flops::Component;
use goodput_model::{
    Architecture, Batch, BatchError, FlopCounter, Flops, Grid, Mask, Module, Recompute, Training,
};
use proptest::prelude::*;

fn llama() -> Architecture {
    Architecture::known("llama3.1-8b").unwrap()
}

fn count(architecture: &Architecture, training: &Training, batch: &Batch, recompute: Recompute) -> Flops {
    FlopCounter::new(architecture, training).unwrap().count(batch, recompute).unwrap()
}

/// Worked example E15, and the step totals of the reference for 8,192 tokens.
#[test]
fn packing_changes_attention_and_nothing_else() {
    let mut lengths = vec![2979; 10];
    lengths.push(2978);
    let packed = Batch::packed(&lengths, 32_768).unwrap();
    assert_eq!(packed.pairs(Mask::Causal), 48_822_831);
    let share = packed.pairs(Mask::Causal) as f64 / Mask::Causal.pairs(32_768) as f64;
    assert!((share - 0.090_936_8).abs() < 5e-8);

    for (documents, length, tflop) in
        [(1, 8192, 421.652), (8, 1024, 375.472), (32, 256, 370.525), (128, 64, 369.288)]
    {
        let batch = Batch::rows(documents, length).unwrap();
        let total = count(&llama(), &Training::full(), &batch, Recompute::None).useful().total();
        assert!((total as f64 / 1e12 - tflop).abs() < 5e-4, "{documents}x{length}: {total}");
    }
}

#[test]
fn a_trained_model_costs_three_forward_passes() {
    let batch = Batch::documents(&[100, 3000]).unwrap();
    let useful = count(&llama(), &Training::full(), &batch, Recompute::None).useful();
    assert_eq!(useful.total(), 3 * useful.forward);
}

#[test]
fn a_forward_pass_has_no_gradients() {
    let batch = Batch::rows(1, 1000).unwrap();
    let flops = count(&llama(), &Training::none(), &batch, Recompute::Full);
    assert_eq!((flops.useful().backward(), flops.recompute()), (0, 0));
}

/// Frozen weights under adapters: forward and input gradient, but for the first block's
/// projections, whose input nothing trains.
#[test]
fn adapters_save_the_weight_gradient() {
    let llama = llama();
    let batch = Batch::rows(1, 4096).unwrap();
    let rank = 16;
    let training = Training::lora(rank, &[Module::Query, Module::Value]);
    let adapted = count(&llama, &training, &batch, Recompute::None);
    let full = count(&llama, &Training::full(), &batch, Recompute::None);

    let parts = |flops: &Flops, component| flops.component(component).useful;
    let mlp = parts(&adapted, Component::Mlp);
    assert_eq!((mlp.input_gradient, mlp.weight_gradient), (mlp.forward, 0));
    let first_block_inputs = 2 * 4096 * 4096 * (4096 + 2 * 1024);
    let projections = parts(&adapted, Component::AttentionProjections);
    assert_eq!(projections.forward - projections.input_gradient, first_block_inputs);
    assert_eq!(projections.weight_gradient, 0);
    // Activations on both sides of an attention core need gradients either way.
    let core = parts(&adapted, Component::AttentionCore);
    assert_eq!(core, parts(&full, Component::AttentionCore));

    let weights = u128::from(rank) * ((4096 + 4096) + (4096 + 1024)) * 32;
    assert_eq!(llama.parameters_under(&training).unwrap().trainable, weights);
    let lora = parts(&adapted, Component::Lora);
    assert_eq!((lora.forward, lora.weight_gradient), (2 * weights * 4096, 2 * weights * 4096));
    // The first block's adapters have no input gradient at their inner side.
    assert_eq!(lora.forward - lora.input_gradient, 2 * 4096 * u128::from(rank) * 4096 * 2);
}

#[test]
fn a_frozen_tower_runs_forward_alone() {
    let model = qwen_vl();
    let batch = Batch::rows(1, 512).unwrap().with_images(&[Grid::image(32, 32)]).unwrap();
    let frozen = count(&model, &Training::frozen(&[Module::Vision]), &batch, Recompute::Full);
    for component in [Component::PatchEmbedding, Component::VisionBlocks, Component::VisionAttention] {
        let part = frozen.component(component);
        assert_eq!((part.useful.backward(), part.recompute), (0, 0), "{component:?}");
        assert!(part.useful.forward > 0);
    }
    // The merger behind it is trained: weights, and its second projection's input.
    let merger = frozen.component(Component::VisionMerger).useful;
    assert_eq!(merger.weight_gradient, merger.forward);
    assert!(merger.input_gradient > 0 && merger.input_gradient <= merger.forward);

    // A trained tower below a frozen text model needs the text model's input gradients.
    let text: Vec<Module> =
        Module::ALL.into_iter().filter(|module| !matches!(module, Module::Vision | Module::Merger)).collect();
    let below = count(&model, &Training::frozen(&text), &batch, Recompute::None);
    let mlp = below.component(Component::Mlp).useful;
    assert_eq!((mlp.input_gradient, mlp.weight_gradient), (mlp.forward, 0));
}

#[test]
fn padding_and_recompute_are_executed_and_not_useful() {
    let llama = llama();
    let padded = Batch::padded_rows(&[1000, 4096, 3000], 4096).unwrap();
    let real = Batch::documents(&[1000, 4096, 3000]).unwrap();
    let rows = Batch::rows(3, 4096).unwrap();
    let full = Training::full();
    let flops = count(&llama, &full, &padded, Recompute::None);
    assert_eq!(flops.useful(), count(&llama, &full, &real, Recompute::None).useful());
    assert_eq!(flops.executed(), count(&llama, &full, &rows, Recompute::None).executed());

    let again = |recompute| count(&llama, &full, &rows, recompute);
    let core = again(Recompute::None).component(Component::AttentionCore).useful.forward;
    // Scores are half of a core whose heads have one size.
    assert_eq!(again(Recompute::FusedAttention).recompute(), core / 2);
    assert_eq!(again(Recompute::Attention).recompute(), core + core / 2);
    let logits = again(Recompute::None).component(Component::Logits).useful.forward;
    let forward = again(Recompute::None).useful().forward;
    assert_eq!(again(Recompute::Full).recompute(), forward - logits + core / 2);
    for recompute in [Recompute::FusedAttention, Recompute::Attention, Recompute::Full] {
        assert_eq!(again(recompute).useful(), again(Recompute::None).useful());
    }
}

#[test]
fn places_of_context_parallelism_cost_projections_alone() {
    let llama = llama();
    let padded = Batch::from_padded_cu_seqlens(&[0, 1000, 3000], &[0, 1024, 3072]).unwrap();
    let flops = count(&llama, &Training::full(), &padded, Recompute::None);
    assert_eq!(flops.component(Component::AttentionCore).padding.total(), 0);
    let mlp = flops.component(Component::Mlp);
    assert_eq!(mlp.padding.forward * 3000, mlp.useful.forward * 72);
}

#[test]
fn prediction_modules_run_one_block_and_the_head_again() {
    let mut model = Architecture::known("deepseek-v3").unwrap();
    let without = count(&model, &Training::full(), &Batch::rows(1, 4096).unwrap(), Recompute::None);
    model.text.as_mut().unwrap().multi_token_prediction = 1;
    let with = count(&model, &Training::full(), &Batch::rows(1, 4096).unwrap(), Recompute::None);
    let part = with.component(Component::MultiTokenPrediction).useful.forward;
    assert_eq!(with.useful().forward, without.useful().forward + part);
    let blocks = 58;
    let each = |component| without.component(component).useful.forward;
    let block = (each(Component::Experts) + each(Component::Router) + each(Component::SharedExperts))
        / blocks
        + (each(Component::AttentionProjections) + each(Component::AttentionCore)) / 61;
    assert_eq!(part, block + each(Component::Logits) + 2 * 4096 * (2 * 7168 * 7168));
    // The published size with its prediction module: 14.7 billion more, embedding and head shared.
    let more = model.parameters().unwrap().total - 671_026_404_352;
    assert!((11_400_000_000..11_700_000_000).contains(&more), "{more}");
}

#[test]
fn the_recurrence_is_beside_the_total() {
    let model = Architecture::known("nemotron-h-8b").unwrap();
    let flops = count(&model, &Training::full(), &Batch::rows(1, 4096).unwrap(), Recompute::None);
    let others: u128 = flops
        .components()
        .iter()
        .filter(|part| part.component != Component::RecurrenceCore)
        .map(|part| part.useful.total())
        .sum();
    assert_eq!(flops.useful().total(), others);
    // 24 layers, update and readout of 8192 channels x 128 states.
    assert_eq!(flops.recurrence().useful.forward, 24 * 4096 * 4 * 8192 * 128);
}

#[test]
fn batch_and_model_must_fit() {
    let counter = FlopCounter::new(&llama(), &Training::full()).unwrap();
    let images = Batch::default().with_images(&[Grid::image(4, 4)]).unwrap();
    assert!(matches!(counter.count(&images, Recompute::None), Err(BatchError::NotRead { .. })));
    let sources = Batch::rows(1, 10).unwrap().with_sources(&[5]).unwrap();
    assert!(matches!(counter.count(&sources, Recompute::None), Err(BatchError::NotRead { .. })));
    let t5 = FlopCounter::new(&Architecture::known("t5-large").unwrap(), &Training::full()).unwrap();
    assert!(matches!(
        t5.count(&Batch::rows(1, 10).unwrap(), Recompute::None),
        Err(BatchError::NotGiven { .. })
    ));
    let tower = FlopCounter::new(&qwen_vl(), &Training::full()).unwrap();
    let odd = Batch::default().with_images(&[Grid::image(4, 4), Grid::image(3, 4)]).unwrap();
    assert!(matches!(tower.count(&odd, Recompute::None), Err(BatchError::Grid { index: 1, .. })));
    assert!(matches!(
        Batch::default().with_images(&[Grid::image(0, 4)]),
        Err(BatchError::EmptyImage { index: 0 })
    ));
}

proptest! {
    /// Counting is linear: a batch costs what its documents cost one by one.
    #[test]
    fn a_batch_is_the_sum_of_its_documents(lengths in prop::collection::vec(0_u64..10_000, 1..8)) {
        let counter = FlopCounter::new(&Architecture::known("gemma3-27b").unwrap(), &Training::full()).unwrap();
        let total = |lengths: &[u64]| {
            counter.count(&Batch::documents(lengths).unwrap(), Recompute::Full).unwrap().executed()
        };
        let one_by_one: u128 = lengths.iter().map(|&length| total(&[length])).sum();
        prop_assert_eq!(total(&lengths), one_by_one);
    }

    /// The largest batch of the largest model stays exact.
    #[test]
    fn nothing_overflows(length in 1_u64..=(1 << 47)) {
        let counter = FlopCounter::new(&Architecture::known("megatron-1t").unwrap(), &Training::full()).unwrap();
        let flops = counter.count(&Batch::rows(1, length).unwrap(), Recompute::Full).unwrap();
        prop_assert!(flops.executed() > flops.useful().total());
    }
}

fn qwen_vl() -> Architecture {
    Architecture::from_yaml(
        "
name: tiny-vl
text:
  width: 64
  vocabulary: 1000
  decoder:
    - blocks: 2
      mixer: {attention: {heads: 4, kv_heads: 2, head_dim: 16}}
      feed_forward: {dense: {inner: 256}}
vision:
  width: 32
  channels: 3
  patch_size: 14
  temporal_patch_size: 2
  blocks:
    - {blocks: 2, heads: 2, inner: 64, gated: true, window: 4}
    - {blocks: 1, heads: 2, inner: 64, gated: true}
  merger: {side: 2, outputs: 64}
",
        "tiny-vl",
    )
    .unwrap()
}

/// No rank makes a count overflow, and no target is passed over.
#[test]
fn adapters_that_cannot_be_are_refused() {
    let batch = Batch::documents(&[1 << 47]).unwrap();
    for model in known_architectures().unwrap() {
        for module in Module::ALL {
            for rank in [1, 1 << 20, (1 << 20) + 1, u64::MAX] {
                let training = Training::lora(rank, &[module]);
                let Ok(counter) = FlopCounter::new(model, &training) else { continue };
                assert!(rank <= 1 << 20, "{} {rank}", model.name);
                assert!(model.parameters_under(&training).unwrap().adapters > 0, "{} {module:?}", model.name);
                let _ = counter.count(&batch, Recompute::Full);
            }
        }
        // The usual targets are taken as far as a model has them; these have none.
        let usual = Training::lora(16, &Module::BLOCK_PROJECTIONS);
        let none = model.text.is_none() || model.name == "mamba2-2.7b";
        assert_eq!(FlopCounter::new(model, &usual).is_err(), none, "{}", model.name);
    }
}
