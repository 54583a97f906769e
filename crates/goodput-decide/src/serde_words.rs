//! What the parser of a file says, in the words of the program: what was found and what was expected, without the
//! parser's types.

/// `invalid value: integer `-3`, expected u64 at line 4 column 9` is `found -3, expected a whole number of zero or more`.
/// Line and column are left to the caller, who has them apart. Other messages stay as they are.
pub(crate) fn in_words(message: &str) -> String {
    let message = message.rsplit_once(" at line ").map_or(message, |(before, _)| before);
    let found_expected = ["invalid type: ", "invalid value: ", "invalid length "]
        .iter()
        .find_map(|kind| message.strip_prefix(kind))
        .and_then(|rest| rest.split_once(", expected "));
    if let Some((found, expected)) = found_expected {
        return format!("found {}, expected {}", found_words(found), expected_words(expected));
    }
    match message {
        "trailing characters" => "more stands after the end of the first value".to_owned(),
        "expected value" => "found no JSON value".to_owned(),
        _ if message.starts_with("EOF while parsing") => "the file ends in the middle of a value".to_owned(),
        _ => message.to_owned(),
    }
}

/// `string "x"` is `"x"`, `integer `-3`` is `-3`.
fn found_words(found: &str) -> String {
    match found {
        "map" => "a mapping".to_owned(),
        "sequence" => "a list".to_owned(),
        "unit" | "null" | "Option value" => "nothing".to_owned(),
        _ => {
            let value = ["integer ", "floating point ", "boolean ", "string "]
                .iter()
                .find_map(|kind| found.strip_prefix(kind));
            value.unwrap_or(found).trim_matches('`').to_owned()
        }
    }
}

fn expected_words(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number of zero or more",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "a borrowed string" | "string or map" => "text",
        "a sequence" => "a list",
        "a map" => "a mapping",
        "a boolean" => "true or false",
        // Names of the program's own types.
        _ if expected.starts_with("struct ") || expected.contains("tagged enum ") => "a mapping of its keys",
        _ => expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("invalid value: integer `-3`, expected u64", "found -3, expected a whole number of zero or more")]
    #[case("invalid type: string \"x\", expected f64 at line 1 column 2", "found \"x\", expected a number")]
    #[case("invalid type: sequence, expected a string", "found a list, expected text")]
    #[case("invalid type: null, expected struct Figure", "found nothing, expected a mapping of its keys")]
    #[case("invalid type: map, expected a boolean", "found a mapping, expected true or false")]
    #[case("missing field `jobs` at line 3 column 1", "missing field `jobs`")]
    #[case("trailing characters at line 2 column 1", "more stands after the end of the first value")]
    #[case("EOF while parsing an object at line 1 column 1", "the file ends in the middle of a value")]
    fn no_type_of_the_parser_is_left(#[case] message: &str, #[case] words: &str) {
        assert_eq!(in_words(message), words);
    }
}
