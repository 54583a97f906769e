//! What frameworks count for the recurrence of linear-attention and state-space layers. No two agree.

use crate::architecture::{Architecture, GatedDeltaNet, Mamba2, Mixer};

/// One framework's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecurrenceCount {
    /// Who counts so.
    pub framework: &'static str,
    /// The formula of one layer and token.
    pub formula: &'static str,
    /// Forward FLOPs of one token, all layers.
    pub forward_per_token: u128,
}

/// A framework's count of a gated delta rule.
type DeltaRule = (&'static str, &'static str, fn(&GatedDeltaNet) -> u128);
/// A framework's count of a state-space scan.
type Scan = (&'static str, &'static str, fn(&Mamba2) -> u128);

const DELTA_RULES: [DeltaRule; 4] = [
    ("goodput", "6 nv dk dv", |net| 6 * state(net)),
    ("megatron-lm, maxtext", "8 nv dv^2", |net| {
        8 * u128::from(net.values()) * u128::from(net.value_head_dim)
    }),
    ("veomni", "5 nv dk dv", |net| 5 * state(net)),
    ("torchtitan", "6 nv dk dv", |net| 6 * state(net)),
];

const SCANS: [Scan; 3] = [
    ("goodput", "4 d_in N", |mamba| 4 * scanned(mamba)),
    ("megatron-lm", "7 d_in N", |mamba| 7 * scanned(mamba)),
    ("nemo", "2 d_in N", |mamba| 2 * scanned(mamba)),
];

fn state(net: &GatedDeltaNet) -> u128 {
    u128::from(net.values()) * u128::from(net.key_head_dim)
}

fn scanned(mamba: &Mamba2) -> u128 {
    u128::from(mamba.inner()) * u128::from(mamba.state)
}

/// Every framework's count of the recurrences of a model; empty for a model without any.
pub fn recurrence_counts(architecture: &Architecture) -> Vec<RecurrenceCount> {
    let mut counts: Vec<RecurrenceCount> = Vec::new();
    let mut add = |framework, formula, forward: u128| match counts
        .iter_mut()
        .find(|count| count.framework == framework && count.formula == formula)
    {
        Some(count) => count.forward_per_token += forward,
        None => counts.push(RecurrenceCount { framework, formula, forward_per_token: forward }),
    };
    for group in architecture.text.iter().flat_map(|text| &text.decoder) {
        let blocks = u128::from(group.blocks);
        match &group.mixer {
            Mixer::GatedDeltaNet(net) => {
                for (framework, formula, count) in DELTA_RULES {
                    add(framework, formula, blocks * count(net));
                }
            }
            Mixer::Mamba2(mamba) => {
                for (framework, formula, count) in SCANS {
                    add(framework, formula, blocks * count(mamba));
                }
            }
            Mixer::None | Mixer::Attention(_) | Mixer::LatentAttention(_) | Mixer::Mamba1(_) => {}
        }
    }
    counts
}
