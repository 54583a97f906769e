//! JSON: the view as it stands. Exact integers are strings, unknown figures are `null`.

use serde::Serialize;

/// A view as JSON, indented, with a final newline.
///
/// # Errors
/// Never for the views of this crate; the error is that of the serialiser.
pub fn render(view: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(view).map(|json| json + "\n")
}
