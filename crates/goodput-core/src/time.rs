//! Instants and half-open intervals, in integer nanoseconds since the Unix epoch (UTC).

use std::fmt;
use std::num::NonZeroU64;
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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(
    /// Nanoseconds with the sign bit turned over, so that order is kept and the value that is left out
    /// makes an optional instant no larger than an instant: records of a million jobs hold many.
    NonZeroU64,
);

const SIGN_BIT: u64 = 1 << 63;

impl Timestamp {
    /// The instant `ns` nanoseconds after the Unix epoch. `i64::MIN` reads as the nanosecond after it.
    pub const fn from_nanos(ns: i64) -> Self {
        match NonZeroU64::new(ns.cast_unsigned() ^ SIGN_BIT) {
            Some(biased) => Self(biased),
            None => Self(NonZeroU64::MIN),
        }
    }

    /// The instant `seconds` whole seconds after the Unix epoch. Saturates at the ends of the range (year 2262).
    pub const fn from_seconds(seconds: i64) -> Self {
        Self::from_nanos(seconds.saturating_mul(NS_PER_SECOND))
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn as_nanos(self) -> i64 {
        (self.0.get() ^ SIGN_BIT).cast_signed()
    }
}

impl Default for Timestamp {
    /// The Unix epoch.
    fn default() -> Self {
        Self::from_nanos(0)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Timestamp").field(&self.as_nanos()).finish()
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC, with the fraction of a second where there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECONDS_PER_DAY: i64 = 86_400;
        let (seconds, fraction) =
            (self.as_nanos().div_euclid(NS_PER_SECOND), self.as_nanos().rem_euclid(NS_PER_SECOND));
        let (day, second) = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
        let (year, month, day) = civil_date(day);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        match fraction {
            0 => f.write_str("Z"),
            _ => write!(f, ".{}Z", format!("{fraction:09}").trim_end_matches('0')),
        }
    }
}

/// Year, month and day of the Gregorian calendar, `days` after 1970-01-01.
fn civil_date(days: i64) -> (i64, i64, i64) {
    // Years begin in March, so that the leap day is the last of its year; an era is 400 years.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (400 * era + year_of_era + i64::from(month <= 2), month, day)
}

impl Sub for Timestamp {
    /// Nanoseconds from `rhs` to `self`; negative when `self` is earlier.
    type Output = i64;
    fn sub(self, rhs: Self) -> i64 {
        self.as_nanos().saturating_sub(rhs.as_nanos())
    }
}

impl Add<i64> for Timestamp {
    type Output = Self;
    fn add(self, ns: i64) -> Self {
        Self::from_nanos(self.as_nanos().saturating_add(ns))
    }
}

impl Sub<i64> for Timestamp {
    type Output = Self;
    fn sub(self, ns: i64) -> Self {
        Self::from_nanos(self.as_nanos().saturating_sub(ns))
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
#[error("the window ends at {to}, which is not after its start at {from}")]
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
        write!(f, "[{}, {})", self.from(), self.to())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_read_as_rfc_3339() {
        for (ns, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59.999999999Z"),
            (1_795_974_121_351_000_000, "2026-11-29T17:42:01.351Z"),
            (951_782_400_000_000_000, "2000-02-29T00:00:00Z"),
            (i64::MIN + 1, "1677-09-21T00:12:43.145224193Z"),
            (i64::MAX, "2262-04-11T23:47:16.854775807Z"),
        ] {
            assert_eq!(Timestamp::from_nanos(ns).to_string(), text);
        }
    }

    #[test]
    fn instants_keep_their_order_and_their_nanoseconds() {
        let ns = [i64::MIN + 1, -1, 0, 1, i64::MAX];
        assert!(ns.iter().all(|&ns| Timestamp::from_nanos(ns).as_nanos() == ns));
        assert!(ns.map(Timestamp::from_nanos).is_sorted());
        assert_eq!(Timestamp::from_nanos(i64::MIN), Timestamp::from_nanos(i64::MIN + 1));
        assert_eq!(size_of::<Option<Timestamp>>(), 8);
    }
}
