//! How a table writes instants.

use goodput_core::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;

use crate::decimal::scaled;
use crate::scheduler::slurm::times::Times;

/// How instants are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeFormat {
    /// Seconds since an epoch (or since the trace's own zero), decimals allowed.
    EpochSeconds,
    /// Milliseconds since an epoch.
    EpochMilliseconds,
    /// Microseconds since an epoch.
    EpochMicroseconds,
    /// Nanoseconds since an epoch.
    EpochNanoseconds,
    /// `2020-05-01 00:00:00` or `2020-05-01T00:00:00`, with an offset or in the map's zone.
    Iso,
}

/// Reads the instants of one table.
pub(super) struct Instants {
    format: TimeFormat,
    iso: Times,
}

impl Instants {
    pub(super) fn new(format: TimeFormat, zone: Option<TimeZone>) -> Self {
        Self { format, iso: Times::new(zone) }
    }

    /// The instant in a cell that is not missing; why there is none, otherwise.
    pub(super) fn read(&mut self, cell: &str) -> Result<Timestamp, String> {
        let decimals = match self.format {
            TimeFormat::EpochSeconds => 9,
            TimeFormat::EpochMilliseconds => 6,
            TimeFormat::EpochMicroseconds => 3,
            TimeFormat::EpochNanoseconds => 0,
            TimeFormat::Iso => return self.iso(cell),
        };
        if let Some(ns) = scaled(cell.as_bytes(), decimals) {
            return Ok(Timestamp::from_nanos(ns));
        }
        // Parquet's own timestamps arrive as ISO text with an offset: they need no format.
        let instant = Times::new(None).instant(cell.as_bytes());
        instant.ok().flatten().filter(|_| cell.ends_with('Z')).ok_or_else(|| self.expected(cell))
    }

    fn iso(&mut self, cell: &str) -> Result<Timestamp, String> {
        if !cell.contains('-') {
            return Err(self.expected(cell));
        }
        match self.iso.instant(cell.as_bytes()) {
            Ok(Some(instant)) => Ok(instant),
            Ok(None) => Err(self.expected(cell)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn expected(&self, cell: &str) -> String {
        let expected = match self.format {
            TimeFormat::EpochSeconds => "seconds",
            TimeFormat::EpochMilliseconds => "milliseconds",
            TimeFormat::EpochMicroseconds => "microseconds",
            TimeFormat::EpochNanoseconds => "nanoseconds",
            TimeFormat::Iso => "an instant such as 2020-05-01 00:00:00",
        };
        format!("{cell:?} is no time: the map says {expected}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(TimeFormat::EpochSeconds, "1588291200", 1_588_291_200_000_000_000)]
    #[case(TimeFormat::EpochSeconds, "1588291200.5", 1_588_291_200_500_000_000)]
    #[case(TimeFormat::EpochSeconds, "0", 0)]
    #[case(TimeFormat::EpochMilliseconds, "1588291200500", 1_588_291_200_500_000_000)]
    #[case(TimeFormat::EpochMilliseconds, "2020-05-01T00:00:00.5Z", 1_588_291_200_500_000_000)]
    #[case(TimeFormat::Iso, "2020-05-01 00:00:00", 1_588_291_200_000_000_000)]
    #[case(TimeFormat::Iso, "2020-05-01T08:00:00+08:00", 1_588_291_200_000_000_000)]
    fn instants(#[case] format: TimeFormat, #[case] cell: &str, #[case] ns: i64) {
        assert_eq!(Instants::new(format, Some(TimeZone::UTC)).read(cell), Ok(Timestamp::from_nanos(ns)));
    }

    #[rstest]
    #[case(TimeFormat::EpochSeconds, "2020-05-01 00:00:00")]
    #[case(TimeFormat::Iso, "1588291200")]
    #[case(TimeFormat::Iso, "yester-day")]
    fn other_formats_are_refused(#[case] format: TimeFormat, #[case] cell: &str) {
        assert!(Instants::new(format, Some(TimeZone::UTC)).read(cell).is_err());
    }

    #[test]
    fn a_local_time_needs_a_zone() {
        assert!(Instants::new(TimeFormat::Iso, None).read("2020-05-01 00:00:00").is_err());
    }
}
