//! Decimal numbers read from their digits, so that no integer passes through a float.

/// `text` times `10^places` as an integer, further decimals cut off; `None` when it is no plain
/// decimal number or out of range.
pub(crate) fn scaled(text: &[u8], places: usize) -> Option<i64> {
    let text = text.trim_ascii();
    let (is_negative, digits) = match text.split_first()? {
        (b'-', digits) => (true, digits),
        _ => (false, text),
    };
    let (whole, decimals) = match memchr::memchr(b'.', digits) {
        Some(dot) => (&digits[..dot], &digits[dot + 1..]),
        None => (digits, &b""[..]),
    };
    if whole.is_empty() || !whole.iter().chain(decimals).all(u8::is_ascii_digit) {
        return None;
    }
    let padding = std::iter::repeat_n(&b'0', places.saturating_sub(decimals.len()));
    let value = whole
        .iter()
        .chain(decimals.iter().take(places))
        .chain(padding)
        .try_fold(0_i64, |n, digit| n.checked_mul(10)?.checked_add(i64::from(digit - b'0')))?;
    Some(if is_negative { -value } else { value })
}

/// A whole number; `8.0`, as data frames write it, is one and `8.5` is not.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let dot = memchr::memchr(b'.', text).unwrap_or(text.len());
    let is_whole = text.iter().skip(dot + 1).all(|&b| b == b'0');
    u64::try_from(scaled(&text[..dot], 0)?).ok().filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("1795974121.2898586", Some(1_795_974_121_289_858_600))]
    #[case("1795974121", Some(1_795_974_121_000_000_000))]
    #[case("-1.5", Some(-1_500_000_000))]
    #[case("0.1234567899", Some(123_456_789))]
    #[case("1e9", None)]
    #[case(".5", None)]
    #[case("", None)]
    #[case("9223372037", None)]
    fn seconds_to_nanoseconds(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(scaled(text.as_bytes(), 9), expected);
    }

    #[rstest]
    #[case("8", Some(8))]
    #[case("8.0", Some(8))]
    #[case("8.5", None)]
    #[case("-8", None)]
    #[case("eight", None)]
    fn whole_numbers(#[case] text: &str, #[case] expected: Option<u64>) {
        assert_eq!(whole(text.as_bytes()), expected);
    }

    proptest! {
        #[test]
        fn integers_survive(n in i64::MIN / 1000 + 1..i64::MAX / 1000) {
            prop_assert_eq!(scaled(n.to_string().as_bytes(), 3), Some(n * 1000));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40), places in 0_usize..30) {
            let _ = scaled(&bytes, places);
            let _ = whole(&bytes);
        }
    }
}
