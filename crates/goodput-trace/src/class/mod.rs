//! What a kernel does, told by its name and by the operator that launched it.

mod collective;
mod exchange;
mod name;
mod operator;
mod rules;
#[cfg(test)]
mod tests;

pub use exchange::embedding_exchanges;
pub use operator::refine;

use name::Words;

macro_rules! classes {
    ($( $(#[$doc:meta])* $name:ident => $key:literal, $label:literal; )+) => {
        /// The operation of a piece of device work, not the library that wrote it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Class { $( $(#[$doc])* $name, )+ }

        impl Class {
            /// Every class.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The word used in JSON.
            pub fn key(self) -> &'static str {
                match self { $( Self::$name => $key, )+ }
            }

            /// The name that a report shows.
            pub fn label(self) -> &'static str {
                match self { $( Self::$name => $label, )+ }
            }
        }
    };
}

classes! {
    /// Matrix and matrix-vector products, their split-K reductions.
    Gemm => "gemm", "matrix products";
    /// Fused or paged attention and its reduce step.
    Attention => "attention", "attention";
    /// Convolution engines, their filter transforms and offset tables.
    Convolution => "conv", "convolution";
    /// Routing, expert products and finalisation of a mixture of experts.
    MixtureOfExperts => "moe", "mixture of experts";
    /// Table look-ups, their backward, and optimizers fused into it.
    Embedding => "embedding", "embedding";
    /// Batch, layer, group and RMS normalisation.
    Normalisation => "norm", "normalisation";
    /// Softmax, log-softmax and losses.
    SoftmaxLoss => "softmax_loss", "softmax and loss";
    /// Rotary position embedding.
    Rope => "rope", "rotary embedding";
    /// Multi-tensor optimizer updates and gradient clipping.
    Optimizer => "optimizer", "optimizer";
    /// Conversion to and from scaled eight-bit and smaller formats.
    Quantise => "quant", "quantise";
    /// Sort, scan, compaction.
    SortScan => "sort_scan", "sort and scan";
    /// Sums, maxima and other reductions.
    Reduce => "reduce", "reduction";
    /// Concatenation, transpose, gather, scatter, change of layout.
    CopyLayout => "copy_layout", "copy and layout";
    /// Pointwise work.
    Elementwise => "elementwise", "elementwise";
    /// Anything else that computes.
    Other => "other", "other kernels";
    /// Collectives and point-to-point exchanges.
    Communication => "comm", "communication";
    /// Copies and fills by the driver.
    Memory => "memcpy", "copies and fills";
}

/// The three kinds of device work that the charge-once order tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coarse {
    /// Any kernel that computes.
    Compute,
    /// Collectives and point-to-point exchanges.
    Communication,
    /// Copies and fills by the driver.
    Memory,
}

impl Class {
    /// Which of the three kinds of the charge-once order this is.
    pub fn coarse(self) -> Coarse {
        match self {
            Self::Communication => Coarse::Communication,
            Self::Memory => Coarse::Memory,
            _ => Coarse::Compute,
        }
    }

    /// Whether it multiplies matrices, where the arithmetic of a model is. The rest sits on the bandwidth slope.
    pub fn is_matrix_work(self) -> bool {
        matches!(self, Self::Gemm | Self::Attention | Self::Convolution | Self::MixtureOfExperts)
    }

    /// The class of a kernel by its name alone: mangled or demangled, of any library.
    ///
    /// ```
    /// use goodput_trace::class::Class;
    /// assert_eq!(Class::of_kernel("sm80_xmma_fprop_implicit_gemm_indexed_f32"), Class::Convolution);
    /// assert_eq!(Class::of_kernel("triton_poi_fused_addmm_gelu_3"), Class::Elementwise);
    /// ```
    pub fn of_kernel(name: &str) -> Self {
        rules::class_of(&Words::of(name))
    }
}
