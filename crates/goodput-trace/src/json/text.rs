//! The text of a string.

use std::borrow::Cow;

use memchr::memchr;

/// A decoded string, and what had to be forgiven.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded<'a> {
    pub text: Cow<'a, str>,
    /// It held bytes that are no UTF-8 (or half of a surrogate pair), now replacement characters.
    pub had_bad_utf8: bool,
    /// It holds raw control bytes.
    pub has_control_bytes: bool,
}

/// The text that `raw`, the bytes between two quotes, spells.
pub(crate) fn decode(raw: &[u8]) -> Decoded<'_> {
    let has_control_bytes = raw.iter().any(|&byte| byte < 0x20);
    let mut had_bad_utf8 = false;
    let text = if memchr(b'\\', raw).is_none() {
        let text = String::from_utf8_lossy(raw);
        had_bad_utf8 = matches!(text, Cow::Owned(_));
        text
    } else {
        Cow::Owned(unescape(raw, &mut had_bad_utf8))
    };
    Decoded { text, had_bad_utf8, has_control_bytes }
}

fn unescape(raw: &[u8], had_bad_utf8: &mut bool) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut push_lossy = |bytes: &[u8], text: &mut String| {
        let piece = String::from_utf8_lossy(bytes);
        *had_bad_utf8 |= matches!(piece, Cow::Owned(_));
        text.push_str(&piece);
    };
    let mut rest = raw;
    while let Some(backslash) = memchr(b'\\', rest) {
        push_lossy(&rest[..backslash], &mut text);
        let escape = &rest[backslash + 1..];
        rest = escape.get(1..).unwrap_or_default();
        match escape.first() {
            Some(b'n') => text.push('\n'),
            Some(b't') => text.push('\t'),
            Some(b'r') => text.push('\r'),
            Some(b'b') => text.push('\u{8}'),
            Some(b'f') => text.push('\u{c}'),
            Some(b'u') => match code_point(rest) {
                Some((character, length)) => {
                    text.push(character);
                    rest = &rest[length..];
                }
                None => push_lossy(b"\xff", &mut text),
            },
            // The escaped character itself; an unknown escape (a path of Windows) keeps its backslash.
            Some(&byte @ (b'"' | b'\\' | b'/')) => text.push(char::from(byte)),
            Some(_) => {
                text.push('\\');
                rest = escape;
            }
            None => text.push('\\'),
        }
    }
    push_lossy(rest, &mut text);
    text
}

/// The character of `\uXXXX` (after the `u`), a pair of surrogates included, and the bytes it takes.
fn code_point(rest: &[u8]) -> Option<(char, usize)> {
    let high = hex4(rest)?;
    if let Some(character) = char::from_u32(high) {
        return Some((character, 4));
    }
    let low = hex4(rest.get(4..)?.strip_prefix(b"\\u")?)?;
    let is_pair = (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low);
    is_pair.then(|| char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)).map(|c| (c, 10)))?
}

fn hex4(bytes: &[u8]) -> Option<u32> {
    bytes.get(..4)?.iter().try_fold(0, |value, &byte| Some(value << 4 | char::from(byte).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_text_is_replaced_and_told() {
        assert_eq!(decode(b"a\xffb").text, "a\u{fffd}b");
        assert!(decode(b"a\xffb").had_bad_utf8);
        assert!(decode(b"\\n\xff").had_bad_utf8);
        assert!(decode(b"\\ud800x").had_bad_utf8);
        assert_eq!(decode(b"\\ud83d\\ude00").text, "\u{1f600}");
        assert!(decode(b"a\x01").has_control_bytes);
        assert_eq!(decode(b"C:\\Users\\").text, "C:\\Users\\");
        assert!(!decode(b"plain").had_bad_utf8);
    }

    proptest! {
        #[test]
        fn whatever_json_spells_is_read_back(text: String) {
            let spelled = serde_json::to_string(&text).unwrap();
            let decoded = decode(&spelled.as_bytes()[1..spelled.len() - 1]);
            prop_assert_eq!(decoded.text, text);
            prop_assert!(!decoded.had_bad_utf8);
        }

        #[test]
        fn any_bytes_give_a_text(bytes: Vec<u8>) {
            decode(&bytes);
        }
    }
}
