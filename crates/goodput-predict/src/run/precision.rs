//! Formats of the arithmetic and of what is kept: recipes by name.

use crate::kernel::Format;

/// Formats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// Of the matrix products of the layers. The head and the router stay in 16 bits.
    pub products: Format,
    /// Bytes of an element of activations on the wire and in memory.
    pub activation_bytes: u32,
    /// Bytes of a parameter as it is used.
    pub parameter_bytes: u32,
    /// Bytes of a gradient as it is accumulated and reduced.
    pub gradient_bytes: u32,
    /// Whether the attention runs in the products' format.
    pub low_precision_attention: bool,
}

/// No recipe has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("precision {0:?} is not known: expected bf16, fp16, fp8, fp8_block, mxfp8 or nvfp4")]
pub struct UnknownPrecision(pub String);

impl Precision {
    /// A mixed-precision recipe: products in its format, activations and parameters in 16 bits, gradients added up and
    /// reduced in fp32, attention in 16 bits.
    ///
    /// # Errors
    /// [`UnknownPrecision`] lists the recipes.
    pub fn named(name: &str) -> Result<Self, UnknownPrecision> {
        let products = match name.trim().to_ascii_lowercase().as_str() {
            "bf16" => Format::Bf16,
            "fp16" => Format::Fp16,
            // One scale a tensor, or a scale for each 32 values: MXFP8's own products were not measured.
            "fp8" | "mxfp8" => Format::Fp8,
            "fp8_block" => Format::Fp8Block,
            "nvfp4" => Format::Nvfp4,
            _ => return Err(UnknownPrecision(name.to_owned())),
        };
        Ok(Self {
            products,
            activation_bytes: 2,
            parameter_bytes: 2,
            gradient_bytes: 4,
            low_precision_attention: false,
        })
    }

    /// The 16-bit format of what is not quantised.
    #[must_use]
    pub const fn wide(&self) -> Format {
        match self.products {
            Format::Fp16 => Format::Fp16,
            Format::Tf32 | Format::Fp32 => self.products,
            _ => Format::Bf16,
        }
    }
}
