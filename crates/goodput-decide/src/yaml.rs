//! YAML as values, for files whose keys are judged by the program itself.

use serde_json::Value;

/// The values of a file. `.nan` and `.inf` come as text, so that the field that holds them can be named; JSON's own
/// numbers would make `null` of them, which states nothing.
///
/// # Errors
/// Where and why it is no YAML, in one line.
pub(crate) fn read(yaml: &str) -> Result<Value, String> {
    let options =
        serde_saphyr::options! { non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString };
    serde_saphyr::from_str_with_options(yaml, options).map_err(|error| {
        // The first line says what and where; the lines after it draw the place.
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        line.strip_prefix("error: ").unwrap_or(line).to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_no_number_stays_to_be_named() {
        assert_eq!(
            read("{a: .nan, b: -.inf, c: 1.5, d: null}"),
            Ok(json!({"a": ".nan", "b": "-.inf", "c": 1.5, "d": null}))
        );
        let why = read("a: 1\nb: [1, 2").unwrap_err();
        assert!(why.contains("line") && !why.contains('\n'), "{why}");
    }
}
