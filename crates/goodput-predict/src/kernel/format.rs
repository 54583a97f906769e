//! In what arithmetic a product is done.

use goodput_model::device::Dtype;

/// The operands of a matrix product, and how they are scaled. Accumulation is fp32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// bfloat16.
    Bf16,
    /// IEEE half precision: the times of bfloat16, on the same units.
    Fp16,
    /// fp8 with one scale a tensor or a row. MXFP8 comes closest to it: its own products were not measured.
    Fp8,
    /// fp8 with a scale for each 128 x 128 block of weights and 1 x 128 of activations.
    Fp8Block,
    /// fp4 with a scale for each 16 values.
    Nvfp4,
    /// TensorFloat-32.
    Tf32,
    /// IEEE single precision on the vector units.
    Fp32,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 7] =
        [Self::Bf16, Self::Fp16, Self::Fp8, Self::Fp8Block, Self::Nvfp4, Self::Tf32, Self::Fp32];

    /// Its name in data files and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
            Self::Fp8 => "fp8",
            Self::Fp8Block => "fp8_block",
            Self::Nvfp4 => "nvfp4",
            Self::Tf32 => "tf32",
            Self::Fp32 => "fp32",
        }
    }

    /// Whose peak it runs against.
    #[must_use]
    pub const fn dtype(self) -> Dtype {
        match self {
            Self::Bf16 => Dtype::Bf16,
            Self::Fp16 => Dtype::Fp16,
            Self::Fp8 | Self::Fp8Block => Dtype::Fp8,
            Self::Nvfp4 => Dtype::Fp4,
            Self::Tf32 => Dtype::Tf32,
            Self::Fp32 => Dtype::Fp32,
        }
    }

    /// Bytes of one operand value.
    #[must_use]
    pub const fn operand_bytes(self) -> f64 {
        match self {
            Self::Bf16 | Self::Fp16 => 2.0,
            Self::Fp8 | Self::Fp8Block => 1.0,
            Self::Nvfp4 => 0.5,
            Self::Tf32 | Self::Fp32 => 4.0,
        }
    }

    /// Bytes of one result value.
    #[must_use]
    pub const fn result_bytes(self) -> f64 {
        match self {
            Self::Tf32 | Self::Fp32 => 4.0,
            _ => 2.0,
        }
    }

    /// Its operands are made from bf16 by a cast.
    #[must_use]
    pub const fn is_quantised(self) -> bool {
        matches!(self, Self::Fp8 | Self::Fp8Block | Self::Nvfp4)
    }

    /// The shipped grid of its products.
    pub(super) const fn grid(self) -> Option<&'static str> {
        match self {
            Self::Bf16 | Self::Fp16 => Some("bfloat16"),
            Self::Fp8 => Some("fp8"),
            Self::Fp8Block => Some("fp8_block"),
            Self::Nvfp4 => Some("nvfp4"),
            Self::Tf32 | Self::Fp32 => None,
        }
    }
}
