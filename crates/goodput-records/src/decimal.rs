//! Decimal text to integers, without a float in between: a stamp of 1.7e9 s in an `f64` is only good to 0.2 µs.

/// `text * 10^scale`, rounded to the nearest integer (halves away from zero). `None` when `text` is no
/// decimal number or the result does not fit.
///
/// Seconds to nanoseconds is scale 9, milliseconds to nanoseconds scale 6.
pub(crate) fn scaled(text: impl AsRef<[u8]>, scale: i32) -> Option<i64> {
    let bytes = text.as_ref().trim_ascii();
    let (negative, mut i) = match bytes.first()? {
        b'-' => (true, 1),
        b'+' => (false, 1),
        _ => (false, 0),
    };
    // Nineteen significant digits; of any result that fits, the next one can only round the last place.
    let (mut mantissa, mut exponent, mut digits, mut next) = (0u64, scale, 0, None);
    let (mut seen, mut in_fraction) = (false, false);
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'0'..=b'9' => {
                seen = true;
                if digits < 19 {
                    mantissa = mantissa * 10 + u64::from(byte - b'0');
                    digits += i32::from(mantissa > 0);
                    exponent -= i32::from(in_fraction);
                } else {
                    next = next.or(Some(byte));
                    exponent += i32::from(!in_fraction);
                }
            }
            b'.' if !in_fraction => in_fraction = true,
            b'e' | b'E' if seen => {
                exponent =
                    exponent.saturating_add(std::str::from_utf8(&bytes[i + 1..]).ok()?.parse::<i32>().ok()?);
                break;
            }
            _ => return None,
        }
        i += 1;
    }
    if !seen {
        return None;
    }
    let magnitude = if mantissa == 0 {
        0
    } else if exponent >= 0 {
        let power = 10u64.checked_pow(exponent.unsigned_abs())?;
        mantissa.checked_mul(power)? + u64::from(next >= Some(b'5'))
    } else {
        match 10u64.checked_pow(exponent.unsigned_abs()) {
            Some(power) => mantissa / power + u64::from(mantissa % power >= power.div_ceil(2)),
            None => 0,
        }
    };
    let magnitude = i64::try_from(magnitude).ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

/// A whole number in plain digits; `8.0`, as data frames write it, is one and `8.5` is not.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let dot = memchr::memchr(b'.', text).unwrap_or(text.len());
    let is_whole =
        text.iter().skip(dot + 1).all(|&b| b == b'0') && text[..dot].iter().all(u8::is_ascii_digit);
    scaled(&text[..dot], 0).filter(|_| is_whole)?.try_into().ok()
}

/// Seconds as nanoseconds.
pub(crate) fn seconds_to_ns(text: &str) -> Option<i64> {
    scaled(text, 9)
}

/// `numerator_ns` as decimal seconds without trailing zeros, so that [`seconds_to_ns`] gives it back.
pub(crate) fn ns_to_seconds(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let magnitude = ns.unsigned_abs();
    let (whole, fraction) = (magnitude / 1_000_000_000, magnitude % 1_000_000_000);
    if fraction == 0 {
        return format!("{sign}{whole}.0");
    }
    format!("{sign}{whole}.{fraction:09}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_digits() {
        let cases = [
            ("1767225600.0", Some(1_767_225_600_000_000_000)),
            ("1767225710.01", Some(1_767_225_710_010_000_000)),
            ("1760000115.0190558434", Some(1_760_000_115_019_055_843)),
            ("1760000115.0190558437", Some(1_760_000_115_019_055_844)),
            ("0.0000000005", Some(1)),
            ("0.00000000049999999999", Some(0)),
            ("-1.5", Some(-1_500_000_000)),
            ("1.76e9", Some(1_760_000_000_000_000_000)),
            ("1e-10", Some(0)),
            ("0.000000000000000000000000000001e30", Some(1_000_000_000)),
            ("0e999999999", Some(0)),
            ("7", Some(7_000_000_000)),
            ("1e40", None),
            ("99999999999999999999999", None),
            ("", None),
            ("-", None),
            (".", None),
            ("1.2.3", None),
            ("NaN", None),
            ("1e", None),
        ];
        for (text, expected) in cases {
            assert_eq!(seconds_to_ns(text), expected, "{text}");
        }
        assert_eq!(scaled("430.0", 6), Some(430_000_000));
        assert_eq!(scaled(b"\xff1", 6), None);
    }

    #[test]
    fn whole_numbers_have_no_part_and_no_power() {
        let cases = [
            ("8", Some(8)),
            (" 8.0 ", Some(8)),
            ("9223372036854775807", Some(9_223_372_036_854_775_807)),
            ("8.5", None),
            ("-8", None),
            ("12e-1", None),
            ("1e3", None),
            ("eight", None),
            ("", None),
            (".0", None),
        ];
        for (text, expected) in cases {
            assert_eq!(whole(text.as_bytes()), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn writing_and_reading_give_the_same_nanosecond(ns in any::<i64>().prop_filter("symmetric", |n| *n != i64::MIN)) {
            prop_assert_eq!(seconds_to_ns(&ns_to_seconds(ns)), Some(ns));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40), scale in -40i32..40) {
            let _ = scaled(&bytes, scale);
            let _ = whole(&bytes);
        }
    }
}
