//! Capacity-time: devices multiplied by time, in exact integers.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

/// Device-nanoseconds. Exact: an equality between sums of capacity-time is an equality of integers.
///
/// ```
/// use goodput_core::CapacityTime;
/// let held = CapacityTime::of(128, 3_600_000_000_000);
/// assert_eq!(held.device_hours(), 128.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CapacityTime(i128);

impl CapacityTime {
    /// No capacity-time.
    pub const ZERO: Self = Self(0);

    /// `device_ns` device-nanoseconds.
    pub const fn from_device_ns(device_ns: i128) -> Self {
        Self(device_ns)
    }

    /// `devices` devices for `duration_ns` nanoseconds.
    pub fn of(devices: u64, duration_ns: i64) -> Self {
        Self(i128::from(devices) * i128::from(duration_ns))
    }

    /// Device-nanoseconds.
    pub const fn device_ns(self) -> i128 {
        self.0
    }

    /// Device-seconds, for people. The cast rounds: compute shares last.
    pub fn device_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Device-hours, for people. The cast rounds: compute shares last.
    pub fn device_hours(self) -> f64 {
        self.0 as f64 / 3.6e12
    }

    /// `self / whole` as a share, `None` when `whole` is zero.
    pub fn share_of(self, whole: Self) -> Option<f64> {
        (whole.0 != 0).then(|| self.0 as f64 / whole.0 as f64)
    }

    /// Whether the amount is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for CapacityTime {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for CapacityTime {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for CapacityTime {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl SubAssign for CapacityTime {
    fn sub_assign(&mut self, rhs: Self) {
        self.0 -= rhs.0;
    }
}

impl Neg for CapacityTime {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Sum for CapacityTime {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        Self(iter.map(|c| c.0).sum())
    }
}

impl fmt::Display for CapacityTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} device-ns", self.0)
    }
}
