//! Which reader takes a file: told by its first bytes, never by its name.

use std::io::Read;
use std::path::Path;

use crate::reading::{FileTraces, Format, ReadError};
use crate::{chrome, nsight, rocprof, xplane};

/// Inflated bytes at the beginning of a file that tell its format.
pub(super) const HEAD_BYTES: usize = 4096;

/// The format of a file whose inflated content begins with `head`.
pub(super) fn detect(head: &[u8]) -> Option<Format> {
    if head.starts_with(b"SQLite format 3\0") {
        return Some(Format::Nsight);
    }
    if let Some(json) = json_document(head) {
        let first_key = json.trim_ascii_start().strip_prefix(b"\"rocprofiler-sdk-tool\"");
        return Some(if first_key.is_some() { Format::Rocprof } else { Format::Chrome });
    }
    // XSpace: field 1 (planes), length-delimited.
    head.starts_with(b"\x0a").then_some(Format::XPlane)
}

/// What follows the opening bracket of a JSON document. A protobuf may begin with a line feed and a bracket too: what
/// comes next tells them apart.
fn json_document(head: &[u8]) -> Option<&[u8]> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let (&open, inside) = text.split_first()?;
    let next = inside.trim_ascii_start().first();
    let is_json = match open {
        b'{' => matches!(next, None | Some(b'"' | b'}')),
        b'[' => matches!(next, None | Some(b'{' | b']')),
        _ => false,
    };
    is_json.then_some(inside)
}

/// Reads a file of a known format. `text` is its inflated content from the beginning; a reader that needs random
/// access opens `path` itself, and `compressed` tells that it cannot.
pub(super) fn read(
    format: Format,
    path: &Path,
    compressed: bool,
    text: &mut dyn Read,
) -> Result<FileTraces, ReadError> {
    match format {
        Format::Chrome => chrome::read(text, path),
        Format::Rocprof => rocprof::read(text, path),
        Format::XPlane => xplane::read(text, path),
        Format::Nsight if compressed => Err(ReadError::Format {
            path: path.to_owned(),
            problem: "a compressed SQLite database cannot be queried: decompress it first".into(),
        }),
        Format::Nsight => nsight::read(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(b"SQLite format 3\0\x10", Some(Format::Nsight))]
    #[case(b" {\n \"schemaVersion\": 1", Some(Format::Chrome))]
    #[case(b"\n[\n{\"ph\"", Some(Format::Chrome))]
    #[case(b"\xef\xbb\xbf{\"traceEvents\":[]}", Some(Format::Chrome))]
    #[case(b"{", Some(Format::Chrome))]
    #[case(b"{ \"rocprofiler-sdk-tool\": [", Some(Format::Rocprof))]
    #[case(b"\x0a\x12\x12\x0e/host:metadata", Some(Format::XPlane))]
    #[case(b"\x0a\x7b\x12\x0e/host:metadata", Some(Format::XPlane))]
    #[case(b"\x0a\x5b\x12\x0e/host:metadata", Some(Format::XPlane))]
    #[case(b"ts,dur\n", None)]
    #[case(b"", None)]
    fn content_tells_the_format(#[case] head: &[u8], #[case] expected: Option<Format>) {
        assert_eq!(detect(head), expected);
    }
}
