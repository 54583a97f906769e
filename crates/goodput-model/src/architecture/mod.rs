//! What a model is made of, as far as FLOPs, parameters and bytes depend on it.

mod attention;
mod catalogue;
mod check;
mod diffusion;
mod error;
mod feed_forward;
mod hugging_face;
mod recurrent;
mod text;
mod vision;
mod yaml;

use serde::{Deserialize, Serialize};

use crate::mask::Mask;

pub use attention::{Attention, AttentionBias, LatentAttention, QkNorm};
pub use catalogue::known_architectures;
pub use diffusion::{DiffusionTransformer, DoubleStream, PatchDiffusion};
pub use error::ArchitectureError;
pub use feed_forward::{Dense, Experts, FeedForward};
pub use recurrent::{GatedDeltaNet, Mamba1, Mamba2};
pub use text::{Blocks, Head, Mixer, Norm, TextModel};
pub use vision::{Merger, VisionBlocks, VisionTower};

/// A model: a text model, a vision tower, both, or a diffusion transformer.
///
/// ```
/// use goodput_model::architecture::Architecture;
///
/// let config = r#"{"model_type": "llama", "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
///     "num_hidden_layers": 32, "num_attention_heads": 32, "tie_word_embeddings": false}"#;
/// let llama = Architecture::from_hugging_face(config, "llama2-7b")?;
/// assert_eq!(llama.parameters()?.total, 6_738_415_616);
/// # Ok::<(), goodput_model::architecture::ArchitectureError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    /// What a person calls it.
    pub name: String,
    /// The `model_type` of its Hugging Face configuration: some conventions differ by family.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub family: String,
    /// Embedding, blocks and head over text tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextModel>,
    /// Patch embedding and blocks over images and videos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vision: Option<VisionTower>,
    /// A transformer over latents, conditioned on time and a label or a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diffusion: Option<DiffusionTransformer>,
}

impl Architecture {
    /// The same model with every attention of its decoder under one mask: what a formula counts
    /// that knows no other.
    #[must_use]
    pub fn with_mask(&self, mask: Mask) -> Self {
        let mut architecture = self.clone();
        for group in architecture.text.iter_mut().flat_map(|text| &mut text.decoder) {
            match &mut group.mixer {
                Mixer::Attention(attention) => attention.mask = mask,
                Mixer::LatentAttention(attention) => attention.mask = mask,
                Mixer::None | Mixer::Mamba1(_) | Mixer::Mamba2(_) | Mixer::GatedDeltaNet(_) => {}
            }
        }
        architecture
    }
}
