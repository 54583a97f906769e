//! Formats of the arithmetic and of what is kept: recipes by name.

use goodput_model::device::{Device, Dtype};

use crate::kernel::Format;

/// Formats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// Its name: one of [`Precision::RECIPES`], or the format of the products where no recipe has one.
    pub recipe: &'static str,
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

/// fp8 with a scale for each 32 values.
const MXFP8: &str = "mxfp8";

/// No recipe has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("precision {0:?} is not known: expected one of {known}", known = Precision::RECIPES.join(", "))]
pub struct UnknownPrecision(pub String);

impl Precision {
    /// Every recipe.
    pub const RECIPES: [&'static str; 6] = ["bf16", "fp16", "fp8", "fp8_block", MXFP8, "nvfp4"];

    /// A mixed-precision recipe: products in its format, activations and parameters in 16 bits, gradients added up and
    /// reduced in fp32, attention in 16 bits.
    ///
    /// # Errors
    /// [`UnknownPrecision`] lists the recipes.
    pub fn named(name: &str) -> Result<Self, UnknownPrecision> {
        let lower = name.trim().to_ascii_lowercase();
        let recipe = Self::RECIPES.into_iter().find(|known| *known == lower);
        let recipe = recipe.ok_or_else(|| UnknownPrecision(name.to_owned()))?;
        let products = match recipe {
            "fp16" => Format::Fp16,
            // One scale a tensor, or a scale for each 32 values: MXFP8's own products were not measured.
            "fp8" | MXFP8 => Format::Fp8,
            "fp8_block" => Format::Fp8Block,
            "nvfp4" => Format::Nvfp4,
            _ => Format::Bf16,
        };
        Ok(Self {
            recipe,
            products,
            activation_bytes: 2,
            parameter_bytes: 2,
            gradient_bytes: 4,
            low_precision_attention: false,
        })
    }

    /// Whether a device's tensor cores do its products, as far as is known.
    #[must_use]
    pub fn runs_on(&self, device: &Device) -> bool {
        // A scale for each 32 values came into tensor cores together with fp4 (OCP Microscaling Formats v1.0).
        let scales_blocks = || device.unit_peaks().any(|(dtype, _)| dtype == Dtype::Fp4);
        device.peak(self.products.dtype()).is_ok() && (self.recipe != MXFP8 || scales_blocks())
    }

    /// The recipes whose products a device's tensor cores do.
    pub fn recipes_of(device: &Device) -> impl Iterator<Item = &'static str> {
        Self::RECIPES.into_iter().filter(|name| Self::named(name).is_ok_and(|recipe| recipe.runs_on(device)))
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
