//! Slurm's spellings of instants and durations.
//!
//! The default instant is the caller's local time without an offset, so it means nothing without a
//! zone; `SLURM_TIME_FORMAT=%s` writes epoch seconds and `%FT%T%z` an offset. A local time that
//! occurs twice (autumn) or never (spring) is refused, not resolved by a guess.

use goodput_core::{NS_PER_SECOND, Timestamp};
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};

/// Why a text is no instant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// A local time, and no zone to read it in.
    #[error(
        "{0:?} is a local time without an offset: name its zone with --time-zone \
         (for example --time-zone America/New_York or UTC)"
    )]
    NoZone(String),
    /// A local time that occurs twice.
    #[error(
        "{0:?} occurs twice in {1} (clocks go back): export again with SLURM_TIME_FORMAT=%s to tell them apart"
    )]
    Ambiguous(String, String),
    /// A local time that the zone skips.
    #[error("{0:?} does not exist in {1} (clocks go forward): the file was written in another zone")]
    Skipped(String, String),
    /// A time of day without its date, as `SLURM_TIME_FORMAT=relative` writes it.
    #[error("{0:?} has no full date (SLURM_TIME_FORMAT=relative): export again with SLURM_TIME_FORMAT=%s")]
    Relative(String),
    /// Anything else.
    #[error(
        "{0:?} is no Slurm time: expected 2026-11-29T17:25:23, the same with an offset, or epoch seconds"
    )]
    Malformed(String),
}

impl TimeError {
    /// Whether the whole file has this fault, so that reading on is useless.
    pub fn concerns_whole_file(&self) -> bool {
        matches!(self, Self::NoZone(_) | Self::Relative(_))
    }
}

/// Reads instants, in one zone for those that carry none.
///
/// ```
/// use goodput_core::Timestamp;
/// use goodput_records::scheduler::slurm::times::Times;
/// let mut times = Times::new(Some(jiff::tz::TimeZone::UTC));
/// assert_eq!(times.instant(b"2026-11-29T17:25:23")?, Some(Timestamp::from_seconds(1_795_973_123)));
/// assert_eq!(times.instant(b"2026-11-29T12:25:23-0500")?, Some(Timestamp::from_seconds(1_795_973_123)));
/// assert_eq!(times.instant(b"1795973123")?, Some(Timestamp::from_seconds(1_795_973_123)));
/// assert_eq!(times.instant(b"Unknown")?, None);
/// assert!(Times::new(None).instant(b"2026-11-29T17:25:23").is_err());
/// # Ok::<(), goodput_records::scheduler::slurm::times::TimeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Times {
    zone: Zone,
    /// Offsets of whole local hours without a transition, in a direct-mapped cache.
    hours: Vec<HourOffset>,
    /// Days met, in a direct-mapped cache by the last digit of the date.
    days: [Day; CACHED_DAYS],
}

/// A day as it is written, and its beginning in local seconds since 1970: the rows of a table come day by day.
#[derive(Debug, Clone, Copy)]
struct Day {
    text: [u8; 10],
    seconds: i64,
}

impl Day {
    const FIRST: Self = Self { text: *b"1970-01-01", seconds: 0 };
}

#[derive(Debug, Clone)]
enum Zone {
    Unknown,
    Fixed { offset_seconds: i64 },
    Varying(TimeZone),
}

#[derive(Debug, Clone, Copy)]
struct HourOffset {
    local_hour: i64,
    offset_seconds: i64,
}

const CACHED_HOURS: u16 = 512;
const CACHED_DAYS: usize = 16;
const HOUR_SECONDS: i64 = 3600;
const DAY_SECONDS: i64 = 86_400;

/// Slurm's "no value" for 32-bit fields (`NO_VAL`).
pub const NO_VALUE: u64 = 0xffff_fffe;
/// Slurm's "no limit" for 32-bit fields (`INFINITE`).
pub const INFINITE: u64 = 0xffff_ffff;

/// Epoch seconds below this one (March 1973) are a number, not an instant of a Slurm record.
const FIRST_EPOCH_SECONDS: u64 = 100_000_000;

impl Times {
    /// A reader whose local times are in `zone`; without one they are refused.
    pub fn new(zone: Option<TimeZone>) -> Self {
        let zone = match zone {
            None => Zone::Unknown,
            Some(zone) => match zone.to_fixed_offset() {
                Ok(offset) => Zone::Fixed { offset_seconds: i64::from(offset.seconds()) },
                Err(_) => Zone::Varying(zone),
            },
        };
        let hours = match zone {
            Zone::Varying(_) => {
                vec![HourOffset { local_hour: i64::MIN, offset_seconds: 0 }; CACHED_HOURS.into()]
            }
            _ => Vec::new(),
        };
        Self { zone, hours, days: [Day::FIRST; CACHED_DAYS] }
    }

    /// The instant that `text` names; `None` for Slurm's words for "not yet" and "never"
    /// (`Unknown`, `None`, `N/A`, `None assigned`, empty, `0`, `NO_VAL`).
    ///
    /// # Errors
    /// [`TimeError`] when the text is no instant, or not a single one.
    pub fn instant(&mut self, text: &[u8]) -> Result<Option<Timestamp>, TimeError> {
        let text = text.trim_ascii();
        if let Some(local) = text.first_chunk().and_then(|text| self.local_seconds(text)) {
            let (fraction_ns, rest) = fraction(&text[19..]).ok_or_else(|| malformed(text))?;
            let offset_seconds = match offset(rest) {
                Some(offset_seconds) => offset_seconds,
                None if rest.is_empty() => self.offset_of(local, text)?,
                None => return Err(malformed(text)),
            };
            return Ok(Some(Timestamp::from_seconds(local - offset_seconds) + fraction_ns));
        }
        match text {
            b"" | b"Unknown" | b"None" | b"N/A" | b"None assigned" => Ok(None),
            _ if text.iter().all(u8::is_ascii_digit) => epoch(text),
            _ if is_relative(text) => Err(TimeError::Relative(quoted(text))),
            _ => Err(malformed(text)),
        }
    }

    /// Seconds since 1970 of `YYYY-MM-DDTHH:MM:SS` as if it were UTC.
    fn local_seconds(&mut self, text: &[u8; 19]) -> Option<i64> {
        let (date, clock) = text.split_first_chunk()?;
        let &[b'T' | b' ', h1, h2, b':', n1, n2, b':', s1, s2] = clock else {
            return None;
        };
        let (hour, minute, second) = (two_digits(h1, h2)?, two_digits(n1, n2)?, two_digits(s1, s2)?);
        let day = &mut self.days[usize::from(date[9]) % CACHED_DAYS];
        if day.text != *date {
            *day = Day { text: *date, seconds: day_seconds(date)? };
        }
        let in_range = hour < 24 && minute < 60 && second < 60;
        in_range.then_some(day.seconds + hour * HOUR_SECONDS + minute * 60 + second)
    }

    fn offset_of(&mut self, local: i64, text: &[u8]) -> Result<i64, TimeError> {
        let zone = match &self.zone {
            Zone::Unknown => return Err(TimeError::NoZone(quoted(text))),
            Zone::Fixed { offset_seconds } => return Ok(*offset_seconds),
            Zone::Varying(zone) => zone,
        };
        let local_hour = local.div_euclid(HOUR_SECONDS);
        let slot = usize::try_from(local_hour.rem_euclid(CACHED_HOURS.into())).unwrap_or(0);
        if self.hours[slot].local_hour == local_hour {
            return Ok(self.hours[slot].offset_seconds);
        }
        let offset_seconds = single_offset(zone, local, text)?;
        // No zone changes its offset and back within one hour, so equal ends mean a constant hour.
        let first = local_hour * HOUR_SECONDS;
        let is_constant = [first, first + HOUR_SECONDS - 1]
            .into_iter()
            .all(|end| single_offset(zone, end, text) == Ok(offset_seconds));
        if is_constant {
            self.hours[slot] = HourOffset { local_hour, offset_seconds };
        }
        Ok(offset_seconds)
    }
}

fn single_offset(zone: &TimeZone, local: i64, text: &[u8]) -> Result<i64, TimeError> {
    let name = || zone.iana_name().unwrap_or("the given zone").to_owned();
    let civil = civil(local).ok_or_else(|| malformed(text))?;
    match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => Ok(i64::from(offset.seconds())),
        AmbiguousOffset::Fold { .. } => Err(TimeError::Ambiguous(quoted(text), name())),
        AmbiguousOffset::Gap { .. } => Err(TimeError::Skipped(quoted(text), name())),
    }
}

fn civil(local: i64) -> Option<DateTime> {
    let epoch = Date::new(1970, 1, 1).ok()?.to_datetime(jiff::civil::Time::midnight());
    epoch.checked_add(jiff::SignedDuration::from_secs(local)).ok()
}

/// Seconds since 1970 of the beginning of `YYYY-MM-DD` as if it were UTC.
fn day_seconds(date: &[u8; 10]) -> Option<i64> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = date else {
        return None;
    };
    let year = two_digits(y1, y2)? * 100 + two_digits(y3, y4)?;
    let (month, day) = (two_digits(m1, m2)?, two_digits(d1, d2)?);
    let in_range = (1970..=2261).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in_month(year, month)).contains(&day);
    in_range.then(|| days_since_epoch(year, month, day) * DAY_SECONDS)
}

fn two_digits(tens: u8, ones: u8) -> Option<i64> {
    (tens.is_ascii_digit() && ones.is_ascii_digit())
        .then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01, with years that begin in March so that the leap day comes last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    const MARCH_YEAR_ZERO_TO_EPOCH: i64 = 719_468;
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - MARCH_YEAR_ZERO_TO_EPOCH
}

/// `.123…` in nanoseconds, and what follows it.
fn fraction(rest: &[u8]) -> Option<(i64, &[u8])> {
    let Some((b'.' | b',', digits)) = rest.split_first() else {
        return Some((0, rest));
    };
    let length = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    if length == 0 || length > 9 {
        return None;
    }
    let value = digits[..length].iter().fold(0, |ns, b| ns * 10 + i64::from(b - b'0'));
    let scale = (length..9).fold(1, |scale, _| scale * 10);
    Some((value * scale, &digits[length..]))
}

/// Seconds east of UTC of `Z`, `+HHMM`, `+HH:MM` or `+HH`.
fn offset(text: &[u8]) -> Option<i64> {
    let (sign, digits) = match text.split_first()? {
        (b'Z', []) => return Some(0),
        (b'+', digits) => (1, digits),
        (b'-', digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits {
        [h1, h2] => ([h1, h2], [&b'0', &b'0']),
        [h1, h2, m1, m2] | [h1, h2, b':', m1, m2] => ([h1, h2], [m1, m2]),
        _ => return None,
    };
    let value = |[tens, ones]: [&u8; 2]| {
        (tens.is_ascii_digit() && ones.is_ascii_digit())
            .then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
    };
    let (hours, minutes) = (value(hours)?, value(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * HOUR_SECONDS + minutes * 60))
}

fn epoch(digits: &[u8]) -> Result<Option<Timestamp>, TimeError> {
    let seconds = whole_number(digits).ok_or_else(|| malformed(digits))?;
    epoch_seconds(seconds).map_err(|()| malformed(digits))
}

/// The instant of an epoch stamp in seconds, where `0`, `NO_VAL` and `INFINITE` mean none.
///
/// # Errors
/// When the number is too small or too large to be the time of a Slurm record.
pub(super) fn epoch_seconds(seconds: u64) -> Result<Option<Timestamp>, ()> {
    match seconds {
        0 | NO_VALUE | INFINITE => Ok(None),
        FIRST_EPOCH_SECONDS..NO_VALUE => {
            Ok(Some(Timestamp::from_seconds(i64::try_from(seconds).map_err(drop)?)))
        }
        _ => Err(()),
    }
}

/// `17:25:23`, `28 Nov 17:25`, `Ystday 17:25`, `Mon 17:25`: what `relative` prints.
fn is_relative(text: &[u8]) -> bool {
    text.contains(&b':')
        && text.len() <= 16
        && !text.contains(&b'-')
        && text.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b':' | b' '))
}

fn malformed(text: &[u8]) -> TimeError {
    TimeError::Malformed(quoted(text))
}

/// A short, printable form of a field for a message.
pub(super) fn quoted(text: &[u8]) -> String {
    const SHOWN: usize = 60;
    let shown = String::from_utf8_lossy(text.get(..SHOWN).unwrap_or(text)).into_owned();
    if text.len() > SHOWN { shown + "…" } else { shown }
}

/// A decimal number of at most 18 digits.
pub(super) fn whole_number(digits: &[u8]) -> Option<u64> {
    if !(1..=18).contains(&digits.len()) {
        return None;
    }
    digits
        .iter()
        .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u64::from(byte - b'0')))
}

/// Nanoseconds of `[DD-[HH:]]MM:SS[.mmm]` (elapsed, suspended and limit columns); `None` when the
/// text is no duration (`UNLIMITED`, `Partition_Limit`, `INVALID`, empty).
///
/// ```
/// use goodput_records::scheduler::slurm::times::duration_ns;
/// assert_eq!(duration_ns(b"01:22"), Some(82_000_000_000));
/// assert_eq!(duration_ns(b"2-00:00:01"), Some(172_801_000_000_000));
/// assert_eq!(duration_ns(b"UNLIMITED"), None);
/// ```
pub fn duration_ns(text: &[u8]) -> Option<i64> {
    // The shape of almost every row.
    if let Some((days, &[h1, h2, b':', m1, m2, b':', s1, s2])) = text.split_last_chunk()
        && let (Some(hours), Some(minutes), Some(seconds)) =
            (two_digits(h1, h2), two_digits(m1, m2), two_digits(s1, s2))
        && let Some(days) = match days {
            [] => Some(0),
            [days @ .., b'-'] => short_number(days),
            _ => None,
        }
    {
        let seconds = days * DAY_SECONDS + hours * HOUR_SECONDS + minutes * 60 + seconds;
        return seconds.checked_mul(NS_PER_SECOND);
    }
    let text = text.trim_ascii();
    let (days, clock) = match text.iter().position(|&b| b == b'-') {
        Some(dash) => (Some(short_number(&text[..dash])?), &text[dash + 1..]),
        None => (None, text),
    };
    let (clock, fraction_ns) = match clock.iter().position(|&b| b == b'.') {
        Some(dot) => {
            let (ns, rest) = fraction(&clock[dot..])?;
            (&clock[..dot], rest.is_empty().then_some(ns)?)
        }
        None => (clock, 0),
    };
    let mut parts = [0; 3];
    let mut count = 0;
    for part in clock.split(|&b| b == b':') {
        *parts.get_mut(count)? = short_number(part)?;
        count += 1;
    }
    let [first, second, third] = parts;
    let seconds = match (count, days) {
        (3, _) => first * HOUR_SECONDS + second * 60 + third,
        (2, None) => first * 60 + second,
        (2, Some(_)) => first * HOUR_SECONDS + second * 60,
        _ => return None,
    };
    (days.unwrap_or(0) * DAY_SECONDS + seconds).checked_mul(NS_PER_SECOND)?.checked_add(fraction_ns)
}

/// A number of at most six digits: no part of a real duration is longer, and none overflows.
fn short_number(digits: &[u8]) -> Option<i64> {
    let is_number = (1..=6).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |n, b| n * 10 + i64::from(b - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    fn new_york() -> Times {
        Times::new(Some(TimeZone::get("America/New_York").unwrap()))
    }

    fn seconds(times: &mut Times, text: &str) -> Option<i64> {
        times.instant(text.as_bytes()).unwrap().map(|t| t.as_nanos() / NS_PER_SECOND)
    }

    #[rstest]
    #[case("2026-11-29T17:25:23Z")]
    #[case("2026-11-29T17:25:23+0000")]
    #[case("2026-11-29T17:25:23+00:00")]
    #[case("2026-11-29T12:25:23-0500")]
    #[case("2026-11-29T22:55:23+05:30")]
    #[case("1795973123")]
    fn instants_that_carry_their_own_offset_need_no_zone(#[case] text: &str) {
        assert_eq!(seconds(&mut Times::new(None), text), Some(1_795_973_123));
    }

    #[rstest]
    #[case("")]
    #[case("Unknown")]
    #[case("None")]
    #[case("N/A")]
    #[case("None assigned")]
    #[case("0")]
    #[case("4294967294")]
    fn words_for_no_instant(#[case] text: &str) {
        assert_eq!(seconds(&mut Times::new(None), text), None);
    }

    #[test]
    fn local_times_follow_daylight_saving() {
        let mut times = new_york();
        assert_eq!(seconds(&mut times, "2026-11-29T12:25:23"), Some(1_795_973_123));
        assert_eq!(seconds(&mut times, "2026-11-01T00:59:59"), Some(1_793_509_199));
        assert_eq!(seconds(&mut times, "2026-11-01T02:00:00"), Some(1_793_516_400));
    }

    #[test]
    fn a_local_time_that_occurs_twice_or_never_is_refused() {
        let mut times = new_york();
        assert!(matches!(times.instant(b"2026-11-01T01:30:00"), Err(TimeError::Ambiguous(..))));
        assert!(matches!(times.instant(b"2026-03-08T02:30:00"), Err(TimeError::Skipped(..))));
    }

    #[test]
    fn a_local_time_without_a_zone_is_refused_with_the_remedy() {
        let error = Times::new(None).instant(b"2026-11-29T17:25:23").unwrap_err();
        assert!(error.to_string().contains("--time-zone"), "{error}");
    }

    #[rstest]
    #[case("17:25:23")]
    #[case("28 Nov 17:25")]
    #[case("Ystday 09:00")]
    fn relative_times_are_refused(#[case] text: &str) {
        assert!(matches!(new_york().instant(text.as_bytes()), Err(TimeError::Relative(_))));
    }

    #[rstest]
    #[case("2026-02-29T00:00:00Z")]
    #[case("2026-13-01T00:00:00Z")]
    #[case("2026-11-29T24:00:00Z")]
    #[case("2026-11-29T17:25:23+9900")]
    #[case("20261129")]
    #[case("99999999999999999999")]
    fn what_is_no_instant_is_refused(#[case] text: &str) {
        assert!(matches!(new_york().instant(text.as_bytes()), Err(TimeError::Malformed(_))));
    }

    #[rstest]
    #[case("00:00:35", Some(35))]
    #[case("01:22", Some(82))]
    #[case("1-02:03:04", Some(93_784))]
    #[case("1-02:03", Some(93_780))]
    #[case("UNLIMITED", None)]
    #[case("Partition_Limit", None)]
    #[case("", None)]
    fn durations(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(duration_ns(text.as_bytes()), expected.map(|s| s * NS_PER_SECOND));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = new_york().instant(&bytes);
            let _ = duration_ns(&bytes);
        }

        #[test]
        fn the_calendar_agrees_with_jiff(seconds in 0_i64..9_000_000_000) {
            let civil = civil(seconds).unwrap();
            let text = civil.to_string();
            let read = Times::new(None).local_seconds(text.as_bytes().first_chunk().unwrap());
            prop_assert_eq!(read, Some(seconds));
        }

        #[test]
        fn cached_offsets_agree_with_jiff(hours in proptest::collection::vec(0_i64..200_000, 1..50), minute in 0_i64..3600) {
            let zone = TimeZone::get("Australia/Lord_Howe").unwrap();
            let mut times = Times::new(Some(zone.clone()));
            for hour in hours {
                let civil = civil(1_000_000_000 + hour * HOUR_SECONDS + minute).unwrap();
                let read = times.instant(civil.to_string().as_bytes()).ok().flatten();
                let expected = zone.to_ambiguous_timestamp(civil).unambiguous().ok();
                prop_assert_eq!(read.map(Timestamp::as_nanos), expected.map(|t| t.as_second() * NS_PER_SECOND));
            }
        }
    }
}
