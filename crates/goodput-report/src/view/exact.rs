//! Integers that JSON numbers cannot hold: written as strings, so that no reader rounds them.

use goodput_core::{CapacityTime, Timestamp};
use serde::{Serialize, Serializer};

/// An exact integer (nanoseconds, device-nanoseconds, FLOPs); in JSON a string of digits.
///
/// ```
/// use goodput_report::Exact;
/// let offered = Exact(460_800_000_000_000_000_000);
/// assert_eq!(serde_json::to_string(&offered)?, "\"460800000000000000000\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Exact(pub i128);

impl Exact {
    /// The value as a nanosecond count, saturating at the ends of `i64`.
    pub fn as_i64(self) -> i64 {
        i64::try_from(self.0).unwrap_or(if self.0 < 0 { i64::MIN } else { i64::MAX })
    }

    /// The value as capacity-time.
    pub fn capacity(self) -> CapacityTime {
        CapacityTime::from_device_ns(self.0)
    }
}

impl From<CapacityTime> for Exact {
    fn from(amount: CapacityTime) -> Self {
        Self(amount.device_ns())
    }
}

impl From<Timestamp> for Exact {
    fn from(at: Timestamp) -> Self {
        Self(i128::from(at.as_nanos()))
    }
}

impl From<i64> for Exact {
    fn from(value: i64) -> Self {
        Self(i128::from(value))
    }
}

impl From<u128> for Exact {
    fn from(value: u128) -> Self {
        Self(i128::try_from(value).unwrap_or(i128::MAX))
    }
}

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}
