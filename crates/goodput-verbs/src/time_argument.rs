//! Instants on the command line.

use goodput_core::{NS_PER_SECOND, Timestamp, Window};
use jiff::tz::TimeZone;
use jiff::{Timestamp as Instant, civil};

use crate::error::VerbError;
use crate::request::WindowRequest;

/// The zone of `--time-zone`.
pub fn zone(args: &WindowRequest) -> Result<Option<TimeZone>, VerbError> {
    let Some(name) = &args.time_zone else { return Ok(None) };
    TimeZone::get(name).map(Some).map_err(|_| {
        VerbError::new(format!("--time-zone {name}: no such zone"))
            .help("use an IANA name such as UTC or Europe/Zurich")
    })
}

/// The stated window: both ends, one, or none.
pub fn bounds(
    args: &WindowRequest,
    zone: Option<&TimeZone>,
) -> Result<(Option<Timestamp>, Option<Timestamp>), VerbError> {
    let parse = |name: &str, text: &Option<String>| {
        text.as_deref()
            .map(|t| instant(t, zone).map_err(|e| VerbError::new(format!("{name} {t}: {e}"))))
            .transpose()
    };
    Ok((parse("--from", &args.from)?, parse("--to", &args.to)?))
}

/// A window from its two ends.
pub fn window(from: Timestamp, to: Timestamp) -> Result<Window, VerbError> {
    Window::new(from, to)
        .map_err(|e| VerbError::new(e.to_string()).help("the window is half-open: --to must be after --from"))
}

/// Seconds since the epoch (with up to nine decimals), RFC 3339, or a civil date or date-time in `zone`.
pub fn instant(text: &str, zone: Option<&TimeZone>) -> Result<Timestamp, String> {
    let digits = text.strip_prefix('@').unwrap_or(text);
    if let Some(ns) = epoch_ns(digits) {
        return Ok(Timestamp::from_nanos(ns));
    }
    let in_range = |at: Instant| i64::try_from(at.as_nanosecond()).map_err(|_| "out of range".to_owned());
    if let Ok(at) = text.parse::<Instant>() {
        return in_range(at).map(Timestamp::from_nanos);
    }
    let civil: civil::DateTime = text.parse().map_err(|_| {
        "expected RFC 3339 (2026-11-29T17:25:23Z), a date (2026-11-29), or seconds since the epoch".to_owned()
    })?;
    let zone = zone.cloned().unwrap_or(TimeZone::UTC);
    let at = zone
        .to_ambiguous_timestamp(civil)
        .unambiguous()
        .map_err(|_| "this local time occurs twice or never; give it with an offset".to_owned())?;
    in_range(at).map(Timestamp::from_nanos)
}

/// Decimal seconds to integer nanoseconds, from the digits.
fn epoch_ns(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    // Eight digits or fewer are a date or a mistake, never an instant of the last decades.
    if whole.len() < 9 || !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let nanos: i64 = format!("{fraction:0<9}").parse().ok()?;
    whole.parse::<i64>().ok()?.checked_mul(NS_PER_SECOND)?.checked_add(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_instant_in_every_form() {
        let expected = Timestamp::from_seconds(1_795_973_123);
        for text in [
            "1795973123",
            "@1795973123.000",
            "2026-11-29T17:25:23Z",
            "2026-11-29T12:25:23-05:00",
            "2026-11-29T17:25:23",
        ] {
            assert_eq!(instant(text, None), Ok(expected), "{text}");
        }
        let new_york = TimeZone::get("America/New_York").unwrap();
        assert_eq!(instant("2026-11-29T12:25:23", Some(&new_york)), Ok(expected));
    }

    #[test]
    fn the_autumn_hour_is_refused_without_an_offset() {
        let new_york = TimeZone::get("America/New_York").unwrap();
        assert!(instant("2026-11-01T01:30:00", Some(&new_york)).is_err());
    }
}
