//! FLOPs of public models against the operators that their reference implementations issue.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;

use goodput_model::architecture::{DiffusionTransformer, FeedForward};
use goodput_model::flops::Component::{self, *};
use goodput_model::{Architecture, Batch, FlopCounter, Flops, Grid, Mask, Passes, Recompute, Training};

/// A row's key: model, batch and shape.
type Key = (String, u64, String);

/// Forward and backward FLOPs by operator.
type Operators = BTreeMap<String, (u128, Option<u128>)>;

/// The table by key, then by operator: forward and backward FLOPs.
fn oracle() -> Option<BTreeMap<Key, Operators>> {
    let mut table: BTreeMap<Key, Operators> = BTreeMap::new();
    for row in support::rows("oracle.csv")? {
        let key = (row["model"].clone(), row["batch"].parse().unwrap(), row["seq"].clone());
        let flops = (row["forward_flops"].parse().unwrap(), row["backward_flops"].parse().ok());
        table.entry(key).or_default().insert(row["op"].clone(), flops);
    }
    Some(table)
}

fn count(architecture: &Architecture, batch: &Batch) -> Flops {
    let counter = FlopCounter::new(architecture, &Training::full()).unwrap();
    counter.count(batch, Recompute::None).unwrap()
}

fn sum(flops: &Flops, components: &[Component]) -> (u128, u128) {
    let passes = components.iter().map(|&component| flops.component(component).useful);
    let fold = |(forward, backward), passes: Passes| (forward + passes.forward, backward + passes.backward());
    passes.fold((0, 0), fold)
}

/// Everything that the reference issues as a plain matrix product.
const PRODUCTS: [Component; 10] = [
    AttentionProjections,
    Mlp,
    Router,
    SharedExperts,
    LinearAttentionProjections,
    Logits,
    VisionBlocks,
    VisionMerger,
    VisionHead,
    Conditioning,
];

const HYBRIDS: [&str; 4] = ["qwen3-next-80b-a3b", "jamba-v0.1", "nemotron-h-8b", "mamba2-2.7b"];

fn batch(architecture: &Architecture, rows: u64, shape: &str) -> Batch {
    if let Some(DiffusionTransformer::DoubleStream(_)) = architecture.diffusion {
        let mut tokens = shape.split(' ').map(|part| part.split('=').nth(1).unwrap().parse().unwrap());
        let (image, prompt) = (tokens.next().unwrap(), tokens.next().unwrap());
        return Batch::rows(rows, image).unwrap().with_sources(&vec![prompt; rows as usize]).unwrap();
    }
    if architecture.diffusion.is_some() {
        return Batch::rows(rows, shape.split('=').nth(1).unwrap().parse().unwrap()).unwrap();
    }
    if let Some(grids) = shape.split("grid=").nth(1) {
        let grids: Vec<Grid> = grids.split(';').map(grid).collect();
        return Batch::default().with_images(&grids).unwrap();
    }
    let length: u64 = shape.parse().unwrap();
    if architecture.vision.is_some() {
        let side = (length - 1).isqrt();
        return Batch::default().with_images(&vec![Grid::image(side, side); rows as usize]).unwrap();
    }
    let batch = Batch::rows(rows, length).unwrap();
    match architecture.text.as_ref().unwrap().encoder.is_empty() {
        true => batch,
        false => batch.with_sources(&vec![length; rows as usize]).unwrap(),
    }
}

fn grid(text: &str) -> Grid {
    let mut sizes = text.split('x').map(|size| size.parse().unwrap());
    Grid { frames: sizes.next().unwrap(), height: sizes.next().unwrap(), width: sizes.next().unwrap() }
}

/// Every routed expert runs on every token, as transformers does for Llama 4.
fn all_experts(mut architecture: Architecture) -> Architecture {
    for group in architecture.text.iter_mut().flat_map(|text| &mut text.decoder) {
        if let FeedForward::Experts(experts) = &mut group.feed_forward {
            experts.active = experts.experts;
        }
    }
    architecture
}

#[test]
fn attention_models_equal_the_operators_to_the_last_flop() {
    let Some(table) = oracle() else { return };
    let mut equal = 0;
    for ((model, rows, shape), operators) in &table {
        if HYBRIDS.contains(&model.as_str()) {
            continue;
        }
        let architecture = match model.as_str() {
            "llama4-scout-text" => all_experts(support::architecture(model)),
            _ => support::architecture(model),
        };
        let batch = batch(&architecture, *rows, shape);
        let exact = count(&architecture, &batch);
        let square = count(&architecture.with_mask(Mask::Bidirectional), &batch);
        let (attention, patches) = (&[AttentionCore, VisionAttention][..], &[PatchEmbedding][..]);

        let (mut mm, mut bmm, mut attn, mut conv) =
            (sum(&exact, &PRODUCTS), sum(&exact, &[Experts]), sum(&square, attention), sum(&exact, patches));
        // These ran attention as batched products.
        if !operators.contains_key("attn") {
            (bmm, attn) = (add(bmm, attn), (0, 0));
        }
        // Flux embeds its tokens by a plain product.
        if model.starts_with("flux") {
            (mm, conv) = (add(mm, conv), (0, 0));
        }
        let total = [mm, bmm, attn, conv].into_iter().fold((0, 0), add);
        let found = [("mm", mm), ("bmm", bmm), ("attn", attn), ("conv", conv), ("TOTAL", total)];
        for (operator, (forward, backward)) in found {
            let expected =
                operators.get(operator).map_or((0, 0), |&(forward, backward)| (forward, backward.unwrap()));
            assert_eq!((forward, backward), expected, "{model} {rows}x{shape} {operator}");
        }
        if let Some(&(forward, backward)) = operators.get("attn_exact_masked") {
            assert_eq!(sum(&exact, attention), (forward, backward.unwrap()), "{model} {rows}x{shape}");
        }
        equal += 1;
    }
    println!("{equal} of {} shapes", table.len());
    assert!(equal >= 94 + 19);
}

fn add(a: (u128, u128), b: (u128, u128)) -> (u128, u128) {
    (a.0 + b.0, a.1 + b.1)
}

#[test]
fn components_equal_the_modules_that_issue_them() {
    let Some(table) = oracle() else { return };
    let modules = [
        ("component:attn_proj", AttentionProjections),
        ("component:mlp", Mlp),
        ("component:router", Router),
        ("component:experts", Experts),
        ("component:shared_expert", SharedExperts),
        ("component:lm_head", Logits),
    ];
    let mut equal = 0;
    for ((model, rows, shape), operators) in &table {
        // Name patterns put other things under these names for vision, and the projections of
        // Qwen3-Next's linear attention under attention.
        if HYBRIDS.contains(&model.as_str()) || model.starts_with("vit") {
            continue;
        }
        let architecture = match model.as_str() {
            "llama4-scout-text" => all_experts(support::architecture(model)),
            _ => support::architecture(model),
        };
        let batch = batch(&architecture, *rows, shape);
        let flops = count(&architecture, &batch);
        let square = count(&architecture.with_mask(Mask::Bidirectional), &batch).component(AttentionCore);
        for (module, component) in modules {
            if let Some(&(forward, _)) = operators.get(module) {
                // Attention that ran as batched products belongs to the module around it.
                let is_inside = component == AttentionProjections && !operators.contains_key("attn");
                let inside = if is_inside { square.useful.forward } else { 0 };
                let ours = flops.component(component).useful.forward + inside;
                assert_eq!(ours, forward, "{model} {rows}x{shape} {module}");
                equal += 1;
            }
        }
    }
    assert!(equal > 300, "{equal}");
}

/// Chunked delta rules, scans and padded convolutions are not model FLOPs; the rest is.
#[test]
fn hybrids_equal_where_the_reference_counts_model_flops() {
    let Some(table) = oracle() else { return };
    for ((model, rows, shape), operators) in &table {
        if !HYBRIDS.contains(&model.as_str()) {
            continue;
        }
        let architecture = support::architecture(model);
        let batch = batch(&architecture, *rows, shape);
        let flops = count(&architecture, &batch);
        let (forward, backward) = operators["mm"];
        assert_eq!(sum(&flops, &PRODUCTS), (forward, backward.unwrap()), "{model} {shape} mm");
        if let Some(&(forward, backward)) = operators.get("attn_exact_masked") {
            assert_eq!(
                sum(&flops, &[AttentionCore]),
                (forward, backward.unwrap()),
                "{model} {shape} attention"
            );
        }
        // The convolution pads: kernel 4 runs on three tokens more.
        let (conv, _) = operators["conv"];
        let tokens = u128::from(batch.tokens());
        let (ours, _) = sum(&flops, &[Convolution]);
        assert_eq!(ours / tokens * (tokens + 3), conv, "{model} {shape} conv");
        if let Some(&(forward, _)) = operators.get("component:experts") {
            assert_eq!(flops.component(Experts).useful.forward, forward);
        }
        assert!(flops.recurrence().useful.forward > 0);
    }
}

/// The delta rule that transformers runs in chunks as batched products is what is left over.
#[test]
fn qwen3_next_misses_the_chunked_delta_rule_alone() {
    let Some(table) = oracle() else { return };
    for (shape, percent) in [("4096", 2.10), ("8192", 1.91)] {
        let operators = &table[&("qwen3-next-80b-a3b".to_owned(), 1, shape.to_owned())];
        let architecture = support::architecture("qwen3-next-80b-a3b");
        let batch = Batch::rows(1, shape.parse().unwrap()).unwrap();
        let flops = count(&architecture.with_mask(Mask::Bidirectional), &batch);
        let (ours, _) = sum(&flops, &[&PRODUCTS[..], &[Experts, AttentionCore]].concat());
        let theirs = operators["mm"].0 + operators["bmm"].0 + operators["attn"].0;
        let missing = operators["bmm"].0 - operators["component:experts"].0;
        assert_eq!(theirs - ours, missing);
        assert!(
            (missing as f64 / theirs as f64 * 100.0 - percent).abs() < 0.01,
            "{}",
            missing as f64 / theirs as f64
        );
    }
}

/// Traps that the rows were made to show.
#[test]
fn what_ran_is_not_what_the_model_needs() {
    let Some(table) = oracle() else { return };
    let scout = support::architecture("llama4-scout-text");
    let needed = count(&scout, &Batch::rows(1, 4096).unwrap()).useful().forward;
    let ran = table[&("llama4-scout-text".to_owned(), 1, "4096".to_owned())]["TOTAL"].0;
    assert!((ran as f64 / needed as f64 - 6.3).abs() < 0.05, "{}", ran as f64 / needed as f64);

    // A patch embedding has no input gradient, so a ViT is not quite three times its forward pass.
    let vit = support::architecture("vit-l-16-224");
    let image = Batch::default().with_images(&[Grid::image(14, 14)]).unwrap();
    let useful = count(&vit, &image).useful();
    let over = (3 * useful.forward) as f64 / useful.total() as f64 - 1.0;
    assert!((0.0008..0.0013).contains(&over), "{over}");

    // Windows at the edge are smaller than the rest.
    let tower = support::architecture("qwen2.5-vl-7b-vision");
    let flops = count(&tower, &Batch::default().with_images(&[Grid::image(46, 34)]).unwrap());
    assert_eq!(flops.component(VisionAttention).useful.forward, 63_365_447_680);
}
