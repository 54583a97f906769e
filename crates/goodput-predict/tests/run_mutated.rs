//! RUN.yaml with values and keys changed at random: an error or a prediction, never a panic or a hang. `CASES=20000` tries more.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::{Duration, Instant};

use goodput_predict::run::Run;
use goodput_predict::step::Predictor;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const BASES: [&str; 3] = [
    include_str!("../../../examples/run.yaml"),
    "model: deepseek-v2\ncluster: DGX H100\ndevices: 64\nlayout: {tp: 1, pp: 4, vpp: 5, ep: 8, zero: 1, moe_a2a_overlap: true}\n\
     batch: {sequence: 4096, micro: 1, global: 512, packing: {mean_length: 700, distribution: exponential}}\n\
     recompute: {modules: [mla_up_proj]}\nexpert_imbalance: 1.2\nframework: {like: megatron-bridge, dropout: true}\n",
    "model: {name: ours, family: llama, text: {width: 512, vocabulary: 32000, decoder: [{blocks: 8, mixer: {attention: {heads: 8, \
     kv_heads: 4, head_dim: 64}}, feed_forward: {dense: {inner: 2048, gated: true}}}]}}\n\
     cluster: {like: DGX A100, network: {oversubscription: 2}, host: {dispatch_us: 3}}\ndevices: 16\n\
     layout: {tp: 2, cp: 2, zero: 3, shard_size: 4, overlap_gradients: true, bucket_mb: 25}\n\
     batch: {sequence: 1024, micro: 2, global: 64}\noffload: {activations: 0.5, optimizer: true}\noptimizer: muon\n",
];

const VALUES: [&str; 24] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "16",
    "64",
    "1000",
    "1048576",
    "4294967295",
    "4294967296",
    "1000000000000",
    "18446744073709551615",
    "1e300",
    "-1",
    "0.5",
    "null",
    "true",
    "gpipe",
    "[]",
    "{}",
    "dualpipe",
];

/// Numbers and words of a text, by place.
fn tokens(text: &str) -> Vec<(usize, usize)> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let (bytes, mut tokens, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let end = (at..bytes.len()).find(|&end| !is_part(bytes[end])).unwrap_or(bytes.len());
        if end > at {
            tokens.push((at, end));
        }
        at = end.max(at + 1);
    }
    tokens
}

#[test]
fn what_is_changed_can_be_predicted() {
    for text in BASES {
        let run = Run::from_yaml("run.yaml", text, Path::new(".")).unwrap();
        Predictor::new(&run.cluster).unwrap().predict(&run).unwrap();
    }
}

#[test]
fn what_can_be_read_is_predicted_or_refused() {
    let cases = std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400);
    let change = (any::<prop::sample::Index>(), 0..VALUES.len());
    let input = (0..BASES.len(), prop::collection::vec(change, 1..4));
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
        .run(&input, |(base, changes)| {
            let mut text: String = BASES[base]
                .lines()
                .filter(|line| !line.starts_with('#'))
                .map(|line| format!("{line}\n"))
                .collect();
            for (place, value) in changes {
                let all = tokens(&text);
                let (from, to) = all[place.index(all.len())];
                text.replace_range(from..to, VALUES[value]);
            }
            let start = Instant::now();
            if let Ok(run) = Run::from_yaml("run.yaml", &text, Path::new("."))
                && let Ok(mut predictor) = Predictor::new(&run.cluster)
                && let Ok(prediction) = predictor.predict(&run)
            {
                prop_assert!(prediction.step_ns.is_finite() && prediction.step_ns > 0.0, "{text}");
                prop_assert!(prediction.memory.total().is_finite(), "{text}");
            }
            prop_assert!(start.elapsed() < Duration::from_secs(20), "{text}");
            Ok(())
        })
        .unwrap();
}
