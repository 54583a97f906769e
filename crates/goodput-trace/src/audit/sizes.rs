//! What of a decoder is split over the mesh, layer by layer, in parameters and elements.

use goodput_model::architecture::{FeedForward, Mixer, TextModel};
use goodput_model::{Architecture, Parameters};

use super::{Plan, PlanError};

/// A decoder of text.
#[derive(Debug, Clone)]
pub(super) struct Decoder {
    /// Channels of the residual stream.
    pub width: u64,
    /// Layers in order.
    pub layers: Vec<Layer>,
    /// Parameters before the first layer.
    pub embedding: u128,
    /// Parameters after the last layer, the head's matrix among them unless it is the embedding's.
    pub head: u128,
    /// Whether the head's matrix is the embedding's.
    pub tied: bool,
}

/// One layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layer {
    /// Parameters of matrices that are no routed expert's.
    pub matrices: u128,
    /// Parameters of normalisations, which tensor parallelism does not split.
    pub vectors: u128,
    /// Parameters of all routed experts.
    pub experts: u128,
    /// Blocks that end in a sum over shares of a matrix: attention or another mixer, feed-forward.
    pub blocks: u64,
    /// Experts that a token visits.
    pub experts_per_token: u64,
    /// Elements of a token's queries, and of its keys and values together; zero without attention.
    pub query: u64,
    pub key_value: u64,
}

impl Decoder {
    pub(super) fn of(architecture: &Architecture) -> Result<Self, PlanError> {
        let refuse = |problem: String| PlanError::Model { name: architecture.name.clone(), problem };
        let only_text = architecture.vision.is_none() && architecture.diffusion.is_none();
        let text = architecture.text.as_ref().filter(|text| only_text && text.encoder.is_empty());
        let Some(text) = text.filter(|text| !text.decoder.is_empty()) else {
            return Err(refuse(
                "the audit knows decoders of text; leave the audit out for this one".to_owned(),
            ));
        };
        let parameters = |text: TextModel| {
            let model = Architecture { text: Some(text), ..architecture.clone() };
            model.parameters().map_err(|error| refuse(error.to_string()))
        };
        let mut layers = Vec::new();
        for blocks in &text.decoder {
            let of = |count: u64| {
                let mut blocks = blocks.clone();
                blocks.blocks = count;
                parameters(TextModel { decoder: vec![blocks], multi_token_prediction: 0, ..text.clone() })
            };
            let layer = layer(&of(1)?, &of(2)?, &blocks.mixer, &blocks.feed_forward);
            layers.extend((0..blocks.blocks).map(|_| layer));
        }
        let all = parameters(TextModel { multi_token_prediction: 0, ..text.clone() })?;
        let inside: u128 = layers.iter().map(|l| l.matrices + l.vectors + l.experts).sum();
        let embedding = all.input_embedding + all.position_embedding;
        let head = all.total.saturating_sub(inside + embedding);
        Ok(Self { width: text.width, layers, embedding, head, tied: text.tied })
    }

    /// Layers of one rank of a pipeline: stage `stage` of `stages`, each holding `parts` parts of the model.
    pub(super) fn layers_of(&self, plan: &Plan, stage: u32, stages: u32) -> Result<Vec<Layer>, PlanError> {
        let parts = plan.sharding.pipeline.as_ref().map_or(1, |pipeline| pipeline.parts_per_rank);
        let pieces = stages as usize * parts as usize;
        if !self.layers.len().is_multiple_of(pieces) {
            return Err(PlanError::Field {
                field: "sharding.pipeline".to_owned(),
                found: format!("{stages} stages of {parts} parts for {} layers", self.layers.len()),
                expected: "a number of parts that divides the layers".to_owned(),
            });
        }
        let chunks = self.layers.chunks(self.layers.len() / pieces);
        Ok(chunks.skip(stage as usize).step_by(stages as usize).flatten().copied().collect())
    }
}

/// What a second block of a kind adds to the first.
fn layer(one: &Parameters, two: &Parameters, mixer: &Mixer, feed_forward: &FeedForward) -> Layer {
    let (vectors, experts) = (two.vectors - one.vectors, two.routed_experts - one.routed_experts);
    let (query, key_value) = match mixer {
        Mixer::Attention(attention) => {
            (attention.heads * attention.head_dim, 2 * attention.kv_heads * attention.head_dim)
        }
        Mixer::LatentAttention(attention) => {
            let each = attention.heads * attention.qk_head_dim();
            (each, each + attention.heads * attention.v_head_dim)
        }
        _ => (0, 0),
    };
    let has_mixer = !matches!(mixer, Mixer::None);
    let has_feed_forward = !matches!(feed_forward, FeedForward::None);
    Layer {
        matrices: two.total - one.total - vectors - experts,
        vectors,
        experts,
        blocks: u64::from(has_mixer) + u64::from(has_feed_forward),
        experts_per_token: match feed_forward {
            FeedForward::Experts(experts) => experts.active,
            _ => 0,
        },
        query,
        key_value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_and_what_is_around_them_are_the_whole_model() {
        for name in ["llama3.1-70b", "mixtral-8x7b"] {
            let architecture = Architecture::known(name).unwrap();
            let decoder = Decoder::of(&architecture).unwrap();
            let inside: u128 = decoder.layers.iter().map(|l| l.matrices + l.vectors + l.experts).sum();
            let total = architecture.parameters().unwrap().total;
            assert_eq!(inside + decoder.embedding + decoder.head, total, "{name}");
            assert!(decoder.layers.iter().all(|layer| layer.blocks == 2));
        }
        let experts = Decoder::of(&Architecture::known("mixtral-8x7b").unwrap()).unwrap().layers[0];
        assert_eq!((experts.experts, experts.experts_per_token), (8 * 3 * 4096 * 14336, 2));
    }
}
