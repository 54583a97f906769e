//! Wall-clock stamps that carry no zone.

use goodput_core::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::Source;
use crate::ReadError;

/// An instant as printed: it lies in `[at, at + resolution_ns)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub at: Timestamp,
    pub resolution_ns: i64,
}

/// Reads stamps in one zone.
#[derive(Debug)]
pub(crate) struct WallClock {
    zone: TimeZone,
    last: Option<jiff::Timestamp>,
}

impl WallClock {
    /// The clock of the user's zone.
    ///
    /// # Errors
    /// [`ReadError`] when the user has named none: an offset must not be guessed.
    pub(crate) fn new(source: &Source<'_>) -> Result<Self, ReadError> {
        let zone = source.options.time_zone.clone().ok_or_else(|| {
            source.refused(
                0,
                "the log's stamps carry no time zone",
                "name the zone that the job's hosts print in, such as UTC",
            )
        })?;
        Ok(Self { zone, last: None })
    }

    /// `YYYY-MM-DD HH:MM:SS`, with a fraction or without. Of the two instants that an hour set back gives,
    /// the first that is not before the stamp read last.
    pub(crate) fn read(&mut self, text: &str) -> Option<Stamp> {
        let civil: DateTime = text.trim().parse().ok()?;
        let ambiguous = self.zone.to_ambiguous_timestamp(civil);
        let earlier = ambiguous.earlier().ok()?;
        let at = if self.last.is_some_and(|last| earlier < last) { ambiguous.later().ok()? } else { earlier };
        self.last = Some(at);
        let digits = text.trim().split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let resolution_ns = 10i64.checked_pow(9u32.checked_sub(u32::try_from(digits).ok()?)?)?;
        let at = Timestamp::from_nanos(i64::try_from(at.as_nanosecond()).ok()?);
        Some(Stamp { at, resolution_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(zone: &str) -> WallClock {
        WallClock { zone: TimeZone::get(zone).unwrap(), last: None }
    }

    #[test]
    fn whole_seconds_and_fractions() {
        let mut utc = clock("UTC");
        let whole = utc.read("2025-04-13 23:41:12").unwrap();
        assert_eq!(whole, Stamp { at: Timestamp::from_seconds(1_744_587_672), resolution_ns: 1_000_000_000 });
        let fine = utc.read(" 2025-04-13 23:41:12.250000 ").unwrap();
        assert_eq!((fine.at - whole.at, fine.resolution_ns), (250_000_000, 1_000));
        for text in ["2025-04-31 00:00:00", "23:41:12", "", "2025-04-13 23:41:12.1234567890123"] {
            assert_eq!(utc.read(text), None, "{text}");
        }
    }

    #[test]
    fn the_hour_that_comes_twice_goes_forward() {
        let mut berlin = clock("Europe/Berlin");
        let before = berlin.read("2025-10-26 02:59:59").unwrap();
        let after = berlin.read("2025-10-26 02:00:01").unwrap();
        assert_eq!(after.at - before.at, 2_000_000_000);
    }
}
