//! Numbers from their digits: epoch microseconds in a double are good to a quarter of a microsecond only.

/// A whole number, also when written `7.0`; `None` for anything else.
#[inline]
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    match digits(text) {
        Some(value) => i64::try_from(value).ok(),
        None => scaled(text, 0).filter(|_| is_whole(text)),
    }
}

/// Decimal microseconds as nanoseconds, rounded beyond the third decimal.
#[inline]
pub(crate) fn micros_to_ns(text: &[u8]) -> Option<i64> {
    plain_micros_to_ns(text).or_else(|| scaled(text, 3))
}

/// Kineto's own form: up to sixteen digits, a point, up to three digits.
#[inline]
fn plain_micros_to_ns(text: &[u8]) -> Option<i64> {
    if text.len() > 20 {
        return None;
    }
    let (mut value, mut point) = (0u64, text.len());
    for (index, &byte) in text.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        } else if byte == b'.' && point == text.len() {
            point = index;
        } else {
            return None;
        }
    }
    let decimals = text.len().saturating_sub(point + 1);
    let scale = [1000, 100, 10, 1].get(decimals).filter(|_| (1..=16).contains(&point))?;
    i64::try_from(value.checked_mul(*scale)?).ok()
}

/// Whether a bare value is one of the ways to write that a figure is no number.
pub(crate) fn is_not_finite(bare: &[u8]) -> bool {
    let word = bare.strip_prefix(b"-").or(bare.strip_prefix(b"+")).unwrap_or(bare);
    word.first().is_some_and(u8::is_ascii_alphabetic) && !matches!(word, b"true" | b"false" | b"null")
}

/// Up to eighteen digits and nothing else.
#[inline]
fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0u64, |value, &byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit <= 9).then(|| value * 10 + u64::from(digit))
    })
}

/// Whether nothing but zeros follows the point; a number with an exponent is not whole.
fn is_whole(text: &[u8]) -> bool {
    let point = memchr::memchr(b'.', text).unwrap_or(text.len());
    text[..point].iter().all(|byte| !byte.is_ascii_alphabetic())
        && text.iter().skip(point + 1).all(|&byte| byte == b'0')
}

/// `text * 10^scale`, rounded to the nearest integer, halves away from zero.
fn scaled(text: &[u8], scale: i32) -> Option<i64> {
    let text = text.trim_ascii();
    let (negative, unsigned) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    let mark = unsigned.iter().position(|&byte| matches!(byte, b'e' | b'E'));
    let mut exponent = scale;
    if let Some(mark) = mark {
        let written: i32 = std::str::from_utf8(&unsigned[mark + 1..]).ok()?.parse().ok()?;
        exponent = exponent.saturating_add(written);
    }
    let number = &unsigned[..mark.unwrap_or(unsigned.len())];
    let point = memchr::memchr(b'.', number).unwrap_or(number.len());
    let fraction = number.get(point + 1..).unwrap_or_default();
    if point == 0 && fraction.is_empty() {
        return None;
    }
    let mut mantissa = 0u128;
    let mut dropped = 0i32;
    for &byte in number[..point].iter().chain(fraction) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // Thirty digits are more than any result needs; the rest can only round what rounds away.
        if mantissa < 10u128.pow(30) {
            mantissa = mantissa * 10 + u128::from(digit);
        } else {
            dropped = dropped.checked_add(1)?;
        }
    }
    exponent = exponent.saturating_sub(i32::try_from(fraction.len()).ok()?).saturating_add(dropped);
    let magnitude = if mantissa == 0 {
        0
    } else if exponent >= 0 {
        mantissa.checked_mul(10u128.checked_pow(exponent.unsigned_abs())?)?
    } else {
        match 10u128.checked_pow(exponent.unsigned_abs()) {
            Some(power) => mantissa / power + u128::from(mantissa % power >= power.div_ceil(2)),
            None => 0,
        }
    };
    let magnitude = i64::try_from(magnitude).ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("1712195495519761.132", Some(1_712_195_495_519_761_132))]
    #[case("1778650000000000.123", Some(1_778_650_000_000_000_123))]
    #[case("4458676522690.655", Some(4_458_676_522_690_655))]
    #[case("1661203462598738", Some(1_661_203_462_598_738_000))]
    #[case("68.0", Some(68_000))]
    #[case("4.96", Some(4_960))]
    #[case("0", Some(0))]
    #[case("0.0005", Some(1))]
    #[case("0.0004999", Some(0))]
    #[case("-1", Some(-1_000))]
    #[case("-0.25", Some(-250))]
    #[case("1.5e3", Some(1_500_000))]
    #[case("15E-1", Some(1_500))]
    #[case("1e-40", Some(0))]
    #[case("9223372036854775.807", Some(i64::MAX))]
    #[case("9223372036854775.808", None)]
    #[case("99999999999999999999999999999999999999999", None)]
    #[case("", None)]
    #[case("-", None)]
    #[case(".", None)]
    #[case("1.2.3", None)]
    #[case("1e", None)]
    #[case("inf", None)]
    #[case("NaN", None)]
    #[case("12a.123", None)]
    fn microseconds_are_read_from_the_digits(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(micros_to_ns(text.as_bytes()), expected);
    }

    #[rstest]
    #[case("7", Some(7))]
    #[case("-1", Some(-1))]
    #[case("7.0", Some(7))]
    #[case("7.5", None)]
    #[case("9223372036854775807", Some(i64::MAX))]
    #[case("15514734831341844875", None)]
    #[case("null", None)]
    #[case("", None)]
    fn whole_numbers_are_whole(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(integer(text.as_bytes()), expected);
    }

    #[test]
    fn figures_that_are_no_numbers_are_told() {
        for text in ["inf", "-inf", "Infinity", "NaN", "nan", "-nan"] {
            assert!(is_not_finite(text.as_bytes()), "{text}");
        }
        for text in ["1", "-1.5e3", "true", "false", "null"] {
            assert!(!is_not_finite(text.as_bytes()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_kineto_prints_is_read_back(ns in 0..i64::MAX) {
            let text = format!("{}.{:03}", ns / 1000, ns % 1000);
            prop_assert_eq!(micros_to_ns(text.as_bytes()), Some(ns));
            let signed = format!("-{text}");
            prop_assert_eq!(micros_to_ns(signed.as_bytes()), Some(-ns));
        }

        #[test]
        fn any_bytes_are_a_number_or_none(bytes: Vec<u8>) {
            let _ = (micros_to_ns(&bytes), integer(&bytes), is_not_finite(&bytes));
        }
    }
}
