//! Published ways to count the FLOPs of a token: one run, many MFUs.

mod catalogue;
mod count;
mod error;
mod flops_per_token;
mod recurrence;
mod stack;

use serde::Serialize;

pub use error::ConventionError;
pub use flops_per_token::FlopsPerToken;
pub use recurrence::{RecurrenceCount, recurrence_counts};

/// A way to count training FLOPs, with what it includes and where it is published.
///
/// ```
/// use goodput_model::{Architecture, Convention};
///
/// let llama = Architecture::known("llama3.1-8b")?;
/// let exact = Convention::named("exact")?.flops_per_token(&llama, 8192)?;
/// let square = Convention::named("palm")?.flops_per_token(&llama, 8192)?;
/// // An MFU in PaLM's convention is an eighth too high.
/// assert_eq!(format!("{:.4}", square.ratio_to(exact)), "1.1252");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Convention {
    /// What it is called here.
    pub name: &'static str,
    /// The function or the formula that it is.
    pub title: &'static str,
    /// File and commit, or paper and equation.
    pub source: &'static str,
    /// What its weights are multiplied by, and which they are.
    pub weights: Weights,
    /// How it counts attention pairs.
    pub attention: AttentionPairs,
    /// How it counts layers with a window or chunks.
    pub windows: Windows,
    /// What it counts a second time.
    pub recompute: Recomputed,
    /// Whether its tokens include padding.
    pub padding: bool,
    /// Whether the formula knows experts.
    pub mixtures: bool,
    /// What else sets it apart.
    pub note: &'static str,
}

/// The weights that a token is charged for, six FLOPs each (two forward, four backward).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// Every matrix that a token passes, the head once.
    Products {
        /// The router's too.
        router: bool,
        /// The input embedding, as if it were a product.
        embedding: bool,
    },
    /// Parameters, with norms and biases; a tied matrix is in them once.
    Parameters {
        /// Only the experts that a token visits.
        active_experts: bool,
        /// Token embeddings. For a tied model that is the head too.
        input_embedding: bool,
        /// Learned positions.
        position_embedding: bool,
        /// A head of its own.
        head: bool,
    },
    /// Products and norms of the blocks, and the head even if it is tied.
    BlocksAndHead,
    /// Products with a feed-forward part of two matrices, gated or not.
    UngatedProducts,
    /// `2 h (3 h + h) + 4 h ffw` for each block and two products with the vocabulary (Hoffmann et
    /// al. 2022, appendix F).
    Chinchilla,
    /// Products; the head's `2 h V` once instead of three times, and `4 h`.
    Cookbook,
    /// `72 L h² (1 + S / 6h + V / 12 h L)`, whatever the heads and the feed-forward part (Narayanan
    /// et al. 2021, eq. 3).
    Megatron2021,
}

/// Attention pairs of a sequence of `S` tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionPairs {
    /// None.
    None,
    /// Those of the mask.
    Exact,
    /// `S² / 2`.
    Half,
    /// `S²`.
    Square,
    /// `S²`, and three FLOPs a pair and head for softmax or masking.
    SquareAndSoftmax,
}

/// Pairs of layers with a window of `W` keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Windows {
    /// As if there were no window.
    Ignored,
    /// Those of the mask.
    Exact,
    /// `S W - W² / 2`.
    Trapezoid,
    /// `S W`.
    Band,
    /// `S W / 2`, in the families for which the framework has a formula of its own.
    HalfBand,
}

/// What a convention counts a second time, as hardware FLOPs do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recomputed {
    /// Nothing: model FLOPs.
    Nothing,
    /// Half of the attention's forward pass: five products backward instead of four.
    Scores,
    /// The blocks' forward pass.
    Blocks,
}

impl AttentionPairs {
    /// A person's word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Exact => "exact",
            Self::Half => "half",
            Self::Square => "square",
            Self::SquareAndSoftmax => "square + softmax",
        }
    }
}

impl Recomputed {
    /// A person's word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "no",
            Self::Scores => "scores",
            Self::Blocks => "blocks",
        }
    }
}

impl Convention {
    /// All conventions, the exact one first.
    pub const ALL: &[Self] = catalogue::CONVENTIONS;

    /// Exact attention pairs, every product once: model FLOPs.
    pub const EXACT: Self = catalogue::EXACT;

    /// The convention of this name.
    ///
    /// # Errors
    /// [`ConventionError::NotKnown`] lists all names.
    pub fn named(name: &str) -> Result<Self, ConventionError> {
        let found = Self::ALL.iter().find(|convention| convention.name.eq_ignore_ascii_case(name));
        found.copied().ok_or_else(|| ConventionError::NotKnown {
            name: name.to_owned(),
            names: Self::ALL.iter().map(|convention| convention.name).collect::<Vec<_>>().join(", "),
        })
    }

    /// Whether and how often the head is counted; `twice` is as if the input embedding were a product.
    pub const fn logits(&self) -> &'static str {
        match self.weights {
            Weights::Products { embedding: true, .. } | Weights::Chinchilla => "twice",
            Weights::Products { .. }
            | Weights::UngatedProducts
            | Weights::BlocksAndHead
            | Weights::Megatron2021 => "once",
            Weights::Cookbook => "forward only",
            Weights::Parameters { input_embedding: true, .. } => "+ embedding",
            Weights::Parameters { head: true, .. } => "unless tied",
            Weights::Parameters { .. } => "no",
        }
    }

    /// Which experts are counted.
    pub const fn experts(&self) -> &'static str {
        match self.weights {
            Weights::Parameters { active_experts: false, .. } => "all",
            _ if self.mixtures => "active",
            _ => "none",
        }
    }
}
