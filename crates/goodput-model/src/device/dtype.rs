//! The arithmetic that a peak is of.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The type of a matrix multiplication's operands. Accumulation is fp32 (int32 for int8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// bfloat16.
    Bf16,
    /// IEEE half precision.
    Fp16,
    /// 8-bit floating point: E4M3, E5M2, MXFP8.
    Fp8,
    /// 4-bit floating point: NVFP4, MXFP4.
    Fp4,
    /// TensorFloat-32.
    Tf32,
    /// 8-bit integers; the rate is in operations.
    Int8,
    /// IEEE single precision, on the vector units.
    Fp32,
}

/// Text that names no [`Dtype`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("dtype {0:?} is not known: expected bf16, fp16, fp8, fp4, tf32, int8 or fp32")]
pub struct UnknownDtype(pub String);

impl Dtype {
    /// Every dtype.
    pub const ALL: [Self; 7] =
        [Self::Bf16, Self::Fp16, Self::Fp8, Self::Fp4, Self::Tf32, Self::Int8, Self::Fp32];

    /// Its name, as parsed and printed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
            Self::Fp8 => "fp8",
            Self::Fp4 => "fp4",
            Self::Tf32 => "tf32",
            Self::Int8 => "int8",
            Self::Fp32 => "fp32",
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dtype {
    type Err = UnknownDtype;

    /// The short name, or the name that torch, JAX and the MX formats give it; case does not matter.
    fn from_str(text: &str) -> Result<Self, UnknownDtype> {
        let lower = text.trim().to_ascii_lowercase();
        Ok(match lower.strip_prefix("torch.").unwrap_or(&lower) {
            "bf16" | "bfloat16" => Self::Bf16,
            "fp16" | "f16" | "float16" | "half" => Self::Fp16,
            "fp8" | "float8" | "mxfp8" | "float8_e4m3fn" | "float8_e5m2" => Self::Fp8,
            "fp4" | "float4" | "nvfp4" | "mxfp4" => Self::Fp4,
            "tf32" | "tensorfloat32" => Self::Tf32,
            "int8" | "i8" => Self::Int8,
            "fp32" | "f32" | "float32" | "float" => Self::Fp32,
            _ => return Err(UnknownDtype(text.to_owned())),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_name_comes_back() {
        for dtype in Dtype::ALL {
            assert_eq!(dtype.to_string().parse::<Dtype>().unwrap(), dtype);
        }
        assert_eq!("torch.bfloat16".parse::<Dtype>().unwrap(), Dtype::Bf16);
        assert!("16".parse::<Dtype>().is_err());
    }
}
