//! Exact integers, which reports write as strings of digits.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Nanoseconds or device-nanoseconds, exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Exact(pub i128);

impl Exact {
    /// The nearest float, for ratios.
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits;
        impl de::Visitor<'_> for Digits {
            type Value = Exact;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an integer as a string of digits")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Exact, E> {
                text.parse().map(Exact).map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Exact, E> {
                Ok(Exact(value.into()))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Exact, E> {
                Ok(Exact(value.into()))
            }
        }
        deserializer.deserialize_any(Digits)
    }
}

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}
