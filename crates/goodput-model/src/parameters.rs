//! Parameters, and the bytes that weights and caches take.

use serde::Serialize;

use crate::architecture::{Architecture, ArchitectureError, Blocks, Mixer};
use crate::mask::Mask;
use crate::operations::Operations;
use crate::training::Training;

/// Parameters of a model. A matrix that two modules share counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Parameters {
    /// All of them, adapters left out.
    pub total: u128,
    /// Those that one token passes: all but the routed experts that it does not visit. The input
    /// embedding is among them.
    pub active: u128,
    /// Token and token-type embeddings.
    pub input_embedding: u128,
    /// Learned position embeddings.
    pub position_embedding: u128,
    /// Routed experts.
    pub routed_experts: u128,
    /// Normalisations and whatever else multiplies no matrix; biases of projections are not among them.
    pub vectors: u128,
    /// Those that training updates, adapters included.
    pub trainable: u128,
    /// Low-rank adapters.
    pub adapters: u128,
    /// Whether the head's matrix is the input embedding.
    pub tied: bool,
}

impl Parameters {
    /// Bytes of all weights at `bits` a parameter, rounded up: 16 for bf16, 8 for fp8, 4 for fp4
    /// without its scales.
    ///
    /// ```
    /// use goodput_model::Parameters;
    /// let model = Parameters { total: 8_030_261_248, ..Parameters::default() };
    /// assert_eq!(model.weight_bytes(16), 16_060_522_496);
    /// ```
    pub const fn weight_bytes(&self, bits: u32) -> u128 {
        (self.total * bits as u128).div_ceil(8)
    }

    pub(crate) fn add(&mut self, other: &Self, times: u128) {
        self.total += other.total * times;
        self.active += other.active * times;
        self.input_embedding += other.input_embedding * times;
        self.position_embedding += other.position_embedding * times;
        self.routed_experts += other.routed_experts * times;
        self.vectors += other.vectors * times;
        self.trainable += other.trainable * times;
        self.adapters += other.adapters * times;
    }
}

/// What decoding keeps of a document, in elements of the cache's dtype.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// Elements that every token adds for good.
    pub per_token: u128,
    /// Elements a token, in layers that keep only this many tokens: (tokens, elements).
    pub windowed: Vec<(u64, u128)>,
    /// Elements that a document keeps whatever its length: states and convolution windows.
    pub per_document: u128,
}

impl Cache {
    /// Elements after `length` tokens.
    pub fn elements(&self, length: u64) -> u128 {
        let windowed = self.windowed.iter().map(|&(tokens, each)| u128::from(length.min(tokens)) * each);
        self.per_token * u128::from(length) + windowed.sum::<u128>() + self.per_document
    }

    /// Bytes that one more token adds at `bits` an element, while every window still fills.
    pub fn bytes_per_token(&self, bits: u32) -> u128 {
        let windowed: u128 = self.windowed.iter().map(|&(_, each)| each).sum();
        ((self.per_token + windowed) * u128::from(bits)).div_ceil(8)
    }

    fn keep(&mut self, mask: Mask, elements: u128) {
        match mask {
            Mask::SlidingWindow(tokens) | Mask::Chunked(tokens) => {
                match self.windowed.iter_mut().find(|(kept, _)| *kept == tokens) {
                    Some((_, each)) => *each += elements,
                    None => self.windowed.push((tokens, elements)),
                }
            }
            Mask::Causal | Mask::Bidirectional | Mask::Prefix => self.per_token += elements,
        }
    }
}

impl Architecture {
    /// Parameters when every weight is trained.
    ///
    /// # Errors
    /// [`ArchitectureError`] names a size that cannot be.
    pub fn parameters(&self) -> Result<Parameters, ArchitectureError> {
        self.parameters_under(&Training::full())
    }

    /// Parameters, adapters and trained ones among them.
    ///
    /// # Errors
    /// [`ArchitectureError`] names a size that cannot be, or an adapter that has no matrix to stand beside.
    pub fn parameters_under(&self, training: &Training) -> Result<Parameters, ArchitectureError> {
        self.check_under(training)?;
        Ok(Operations::of(self, training).parameters)
    }

    /// What decoding keeps of each document. Latent attention keeps the compressed form. A sliding
    /// or chunked layer keeps its window.
    ///
    /// # Errors
    /// [`ArchitectureError`] names a size that cannot be.
    pub fn cache(&self) -> Result<Cache, ArchitectureError> {
        self.check()?;
        let mut cache = Cache::default();
        for group in self.text.iter().flat_map(|text| &text.decoder) {
            keep(&mut cache, group);
        }
        Ok(cache)
    }
}

fn keep(cache: &mut Cache, group: &Blocks) {
    let blocks = u128::from(group.blocks);
    match &group.mixer {
        Mixer::None => {}
        Mixer::Attention(attention) => {
            let elements = 2 * u128::from(attention.kv_heads) * u128::from(attention.head_dim);
            cache.keep(attention.mask, blocks * elements);
        }
        Mixer::LatentAttention(attention) => {
            let elements = u128::from(attention.kv_rank) + u128::from(attention.rope_head_dim);
            cache.keep(attention.mask, blocks * elements);
        }
        Mixer::Mamba1(mamba) => {
            cache.per_document += blocks * u128::from(mamba.inner) * u128::from(mamba.state + mamba.kernel);
        }
        Mixer::Mamba2(mamba) => {
            let state = u128::from(mamba.inner()) * u128::from(mamba.state);
            let window = u128::from(mamba.convolved()) * u128::from(mamba.kernel);
            cache.per_document += blocks * (state + window);
        }
        Mixer::GatedDeltaNet(net) => {
            let state = u128::from(net.values()) * u128::from(net.key_head_dim);
            let window = u128::from(2 * net.keys() + net.values()) * u128::from(net.kernel);
            cache.per_document += blocks * (state + window);
        }
    }
}
