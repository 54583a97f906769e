//! FLOPs of one token, exactly.

use serde::{Serialize, Serializer};

/// Training FLOPs of one token of a sequence: a fraction, since pairs divide among tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlopsPerToken {
    /// Twice the FLOPs of the sequence: half pairs are whole here.
    twice_sequence: u128,
    length: u64,
}

impl FlopsPerToken {
    pub(super) const fn new(twice_sequence: u128, length: u64) -> Self {
        Self { twice_sequence, length }
    }

    /// Numerator and denominator, not reduced.
    pub const fn fraction(self) -> (u128, u128) {
        (self.twice_sequence, 2 * self.length as u128)
    }

    /// The nearest double.
    pub fn value(self) -> f64 {
        let (numerator, denominator) = self.fraction();
        let (whole, rest) = (numerator / denominator, numerator % denominator);
        whole as f64 + rest as f64 / denominator as f64
    }

    /// FLOPs of the whole sequence, rounded to the nearest integer, half up.
    pub const fn sequence(self) -> u128 {
        self.twice_sequence.div_ceil(2)
    }

    /// How many times `other` this is: by this factor an MFU in this convention is the higher.
    pub fn ratio_to(self, other: Self) -> f64 {
        self.value() / other.value()
    }
}

impl Serialize for FlopsPerToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}
