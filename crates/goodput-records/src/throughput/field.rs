//! A number or a word behind its key, anywhere in a line.

use std::borrow::Cow;

use super::Printed;

/// The line without the colour codes of a terminal.
pub(super) fn without_colour(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\x1b') {
        plain.push_str(&rest[..start]);
        let code = &rest[start + 1..];
        let end = code.find(|c: char| c.is_ascii_alphabetic()).map_or(code.len(), |end| end + 1);
        rest = &code[end..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// What follows the first `key` that is a word of its own: not a part of a longer name.
pub(super) fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut from = 0;
    while let Some(found) = text[from..].find(key) {
        let (start, end) = (from + found, from + found + key.len());
        let begins = !text[..start].chars().next_back().is_some_and(is_word) || !key.starts_with(is_word);
        let ends = !text[end..].chars().next().is_some_and(is_word) || !key.ends_with(is_word);
        if begins && ends {
            return Some(&text[end..]);
        }
        from = end;
    }
    None
}

/// The number that follows a key, past colons, dots and quotes. `Err` holds a text that ought to be a number.
/// `None` when nothing is printed there, or a word such as N/A.
pub(super) fn number(text: &str, human: bool) -> Option<Result<Printed, String>> {
    let text = skip_separators(text);
    let token =
        text.split(|c: char| c.is_whitespace() || matches!(c, '|' | ';' | '/' | '}' | ']' | ')')).next()?;
    let token = token.trim_end_matches(['%', ',', '\'', '"', '.']);
    let lower = token.to_ascii_lowercase();
    if matches!(lower.trim_start_matches(['-', '+']), "nan" | "inf" | "infinity") {
        return Some(Err(token.to_owned()));
    }
    let (digits, scale) = if human { unit(token) } else { (leading_number(token), 1.0) };
    if digits.is_empty() || !digits.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let plain: String = digits.chars().filter(|c| *c != ',').collect();
    let Ok(value) = plain.parse::<f64>() else { return Some(Err(digits.to_owned())) };
    let (value, rounding) = (value * scale, half_of_last_digit(&plain) * scale);
    Some(if value.is_finite() { Ok(Printed { value, rounding }) } else { Err(digits.to_owned()) })
}

/// A key is followed by `: `, `=`, a row of dots, or a closing quote; a lone dot begins a fraction.
fn skip_separators(text: &str) -> &str {
    let text = text.trim_start_matches([' ', '\t', ':', '=', '"', '\'']);
    if text.starts_with("..") { text.trim_start_matches(['.', ' ']) } else { text }
}

/// The part of a word that is a number: `123.45` of `123.45ms`.
fn leading_number(token: &str) -> &str {
    let bytes = token.as_bytes();
    let mut end = 0;
    while let Some(byte) = bytes.get(end) {
        let goes_on = match byte {
            b'0'..=b'9' | b'.' => true,
            // Thousands only: `key=12,next=3` ends at the comma.
            b',' => bytes.get(end + 1).is_some_and(u8::is_ascii_digit),
            b'+' | b'-' => end == 0 || matches!(bytes[end - 1], b'e' | b'E'),
            b'e' | b'E' => {
                end > 0 && bytes.get(end + 1).is_some_and(|b| b.is_ascii_digit() || b"+-".contains(b))
            }
            _ => false,
        };
        if !goes_on {
            break;
        }
        end += 1;
    }
    &token[..end]
}

/// `11.5K` as a number and its scale.
fn unit(token: &str) -> (&str, f64) {
    let digits = leading_number(token);
    let scale = match &token[digits.len()..] {
        "K" => 1e3,
        "M" => 1e6,
        "B" | "G" => 1e9,
        "T" => 1e12,
        _ => 1.0,
    };
    (digits, scale)
}

fn half_of_last_digit(plain: &str) -> f64 {
    let (mantissa, exponent) = plain.split_once(['e', 'E']).unwrap_or((plain, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let exponent = exponent.parse::<i32>().unwrap_or(0);
    let decimals = i32::try_from(decimals).unwrap_or(i32::MAX);
    0.5 * 10_f64.powi(exponent.saturating_sub(decimals))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn value(text: &str) -> Option<f64> {
        number(text, false).and_then(Result::ok).map(|printed| printed.value)
    }

    #[test]
    fn numbers_as_logs_print_them() {
        assert_eq!(value(": 1,234,567 |"), Some(1_234_567.0));
        assert_eq!(value(": 123.45ms, mfu"), Some(123.45));
        assert_eq!(value("=12,loss=3"), Some(12.0));
        assert_eq!(value("\": 32.5, \"epoch\""), Some(32.5));
        assert_eq!(value(" ........ 2048"), Some(2048.0));
        assert_eq!(value(": 41.19%"), Some(41.19));
        assert_eq!(value(": 1.073e+04 | x"), Some(10_730.0));
        assert_eq!(value(": 1234.5/1240.0"), Some(1234.5));
        assert_eq!(value(": N/A"), None);
        assert!(number(": nan |", false).unwrap().is_err());
        assert_eq!(number(" 13.3K |", true).unwrap().unwrap().value, 13_300.0);
        assert_eq!(number(": 0.007,", false).unwrap().unwrap().rounding, 0.0005);
    }

    #[test]
    fn a_key_is_a_word() {
        assert_eq!(after("elapsed_time_per_iteration_ms: 5", "time_per_iteration_ms:"), None);
        assert_eq!(after("https: 4 tps: 3", "tps:"), Some(" 3"));
        assert_eq!(after("seq_length_x 3 seq_length 4", "seq_length"), Some(" 4"));
    }

    #[test]
    fn colours_go() {
        assert_eq!(without_colour("\x1b[31mstep: 10\x1b[39m  loss"), "step: 10  loss");
        assert_eq!(without_colour("\x1b"), "");
    }
}
