//! `Infinity` and `NaN`, which Python's JSON writer emits and JSON does not have.

use std::borrow::Cow;

/// The text with each such literal replaced by `null`; strings stay as they are.
pub(super) fn without_non_finite(json: &str) -> Cow<'_, str> {
    const LITERALS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    if !LITERALS.iter().any(|literal| json.contains(literal)) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    let (mut rest, mut in_string) = (json, false);
    while let Some(next) = rest.chars().next() {
        let literal = LITERALS.iter().find(|literal| !in_string && rest.starts_with(**literal));
        let taken = match (literal, next) {
            (Some(literal), _) => {
                text.push_str("null");
                rest = &rest[literal.len()..];
                continue;
            }
            // The character behind a backslash ends no string.
            (None, '\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (None, '"') => {
                in_string = !in_string;
                1
            }
            (None, other) => other.len_utf8(),
        };
        text.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::without_non_finite;

    #[test]
    fn literals_become_null_and_strings_stay() {
        let json = r#"{"a": [0.0, Infinity, -Infinity], "b": "NaN \" Infinity", "é": NaN}"#;
        let expected = r#"{"a": [0.0, null, null], "b": "NaN \" Infinity", "é": null}"#;
        assert_eq!(without_non_finite(json), expected);
        assert_eq!(without_non_finite("\"Infinity\\"), "\"Infinity\\");
    }
}
