//! Instants and half-open intervals, in integer nanoseconds since the Unix epoch (UTC).

use std::fmt;
use std::ops::{Add, Sub};

/// Nanoseconds in one second.
pub const NS_PER_SECOND: i64 = 1_000_000_000;

/// An instant: nanoseconds since 1970-01-01T00:00:00 UTC.
///
/// ```
/// use goodput_core::Timestamp;
/// let submit = Timestamp::from_seconds(1_795_973_123);
/// let start = Timestamp::from_seconds(1_795_973_124);
/// assert_eq!(start - submit, 1_000_000_000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The instant `ns` nanoseconds after the Unix epoch.
    pub const fn from_nanos(ns: i64) -> Self {
        Self(ns)
    }

    /// The instant `seconds` whole seconds after the Unix epoch. Saturates at the ends of the range (year 2262).
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(NS_PER_SECOND))
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }
}

impl Sub for Timestamp {
    /// Nanoseconds from `rhs` to `self`; negative when `self` is earlier.
    type Output = i64;
    fn sub(self, rhs: Self) -> i64 {
        self.0.saturating_sub(rhs.0)
    }
}

impl Add<i64> for Timestamp {
    type Output = Self;
    fn add(self, ns: i64) -> Self {
        Self(self.0.saturating_add(ns))
    }
}

impl Sub<i64> for Timestamp {
    type Output = Self;
    fn sub(self, ns: i64) -> Self {
        Self(self.0.saturating_sub(ns))
    }
}

/// A half-open stretch of time `[start, end)`. Empty when `end <= start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interval {
    /// First instant inside.
    pub start: Timestamp,
    /// First instant after.
    pub end: Timestamp,
}

impl Interval {
    /// The interval `[start, end)`.
    pub const fn new(start: Timestamp, end: Timestamp) -> Self {
        Self { start, end }
    }

    /// Length in nanoseconds, zero for an empty interval.
    pub fn duration_ns(self) -> i64 {
        (self.end - self.start).max(0)
    }

    /// Whether no instant lies inside.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Whether `at` lies inside.
    pub fn contains(self, at: Timestamp) -> bool {
        self.start <= at && at < self.end
    }

    /// The part that both intervals share (possibly empty).
    pub fn intersect(self, other: Interval) -> Interval {
        Interval::new(self.start.max(other.start), self.end.min(other.end))
    }
}

/// The accounting window `[from, to)`, never empty. All factors of one product carry the same window.
///
/// ```
/// use goodput_core::{Timestamp, Window};
/// let week = Window::new(Timestamp::from_seconds(0), Timestamp::from_seconds(604_800))?;
/// assert_eq!(week.duration_ns(), 604_800_000_000_000);
/// assert!(Window::new(Timestamp::from_seconds(1), Timestamp::from_seconds(1)).is_err());
/// # Ok::<(), goodput_core::EmptyWindow>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window(Interval);

/// A window must hold at least one nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the window ends at {} ns, which is not after its start at {} ns", to.as_nanos(), from.as_nanos())]
pub struct EmptyWindow {
    /// Requested first instant.
    pub from: Timestamp,
    /// Requested first instant after the window.
    pub to: Timestamp,
}

impl Window {
    /// The window `[from, to)`.
    ///
    /// # Errors
    /// [`EmptyWindow`] when `to` is not after `from`.
    pub fn new(from: Timestamp, to: Timestamp) -> Result<Self, EmptyWindow> {
        if from < to { Ok(Self(Interval::new(from, to))) } else { Err(EmptyWindow { from, to }) }
    }

    /// First instant inside.
    pub fn from(self) -> Timestamp {
        self.0.start
    }

    /// First instant after.
    pub fn to(self) -> Timestamp {
        self.0.end
    }

    /// Length in nanoseconds.
    pub fn duration_ns(self) -> i64 {
        self.0.duration_ns()
    }

    /// The window as an interval.
    pub fn interval(self) -> Interval {
        self.0
    }

    /// The part of `interval` inside the window (possibly empty).
    pub fn clip(self, interval: Interval) -> Interval {
        self.0.intersect(interval)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}) ns", self.from().as_nanos(), self.to().as_nanos())
    }
}
