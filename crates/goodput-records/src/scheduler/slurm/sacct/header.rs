//! What the first lines of a text table say: its columns and its delimiter.

use std::io::Read;

use super::super::SlurmOptions;
use super::super::kind::other_kind;
use super::align::Bounds;
use super::columns::{Columns, Shape};
use super::delimiters::positions;
use super::lines::Lines;
use super::{EXPORT_COMMAND, io_error};
use crate::ReadError;

/// Words of a shell or of a warning may stand before the header.
const MAX_LINES_BEFORE_HEADER: u32 = 20;

/// How a text table is laid out.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) columns: Columns,
    pub(super) delimiter: Vec<u8>,
    /// Whether each row ends with a delimiter (`sacct --parsable`).
    has_trailing_delimiter: bool,
    /// The first row, of a file that has no header.
    pub(super) first_row: Option<Vec<u8>>,
    /// Lines read so far.
    pub(super) lines_before: u32,
}

impl Layout {
    /// The bounds of a line's fields. A delimiter at the end of a `--parsable` row opens no field.
    pub(super) fn split(&self, line: &[u8], fields: &mut Vec<Bounds>) {
        fields.clear();
        match *self.delimiter.as_slice() {
            [b','] => split_quoted(line, fields),
            [byte] => {
                let mut start = 0;
                positions(byte, line, |at| {
                    fields.push((start, at));
                    start = at + 1;
                });
                fields.push((start, line.len()));
            }
            _ => {
                let mut start = 0;
                for at in memchr::memmem::find_iter(line, &self.delimiter) {
                    fields.push((start, at));
                    start = at + self.delimiter.len();
                }
                fields.push((start, line.len()));
            }
        }
        if self.has_trailing_delimiter && fields.len() > 1 && fields.last() == Some(&(line.len(), line.len()))
        {
            fields.pop();
        }
    }

    /// Whether the last column is free text.
    pub(super) fn ends_in_free_text(&self) -> bool {
        self.columns.shapes.last() == Some(&Shape::Free)
    }
}

/// Splits at commas outside double quotes, as spreadsheet software writes tables.
fn split_quoted(line: &[u8], fields: &mut Vec<Bounds>) {
    let mut start = 0;
    loop {
        let is_quoted = line.get(start) == Some(&b'"');
        let closing = || {
            let inside = line.get(start + 1..)?;
            let end = memchr::memmem::find(inside, b"\",")
                .or_else(|| inside.strip_suffix(b"\"").map(<[u8]>::len))?;
            Some(start + 1 + end)
        };
        let (bounds, after) = match is_quoted.then(closing).flatten() {
            Some(quote) => ((start + 1, quote), quote + 1),
            None => {
                let end = memchr::memchr(b',', &line[start..]).map_or(line.len(), |found| start + found);
                ((start, end), end)
            }
        };
        fields.push(bounds);
        if after >= line.len() {
            return;
        }
        start = after + 1;
    }
}

/// Finds the header, or takes the user's word for the columns.
///
/// # Errors
/// When there is neither, when the table is one for the eye, or when columns are missing.
pub(super) fn layout<R: Read>(
    path: &str,
    lines: &mut Lines<R>,
    options: &SlurmOptions,
) -> Result<Layout, ReadError> {
    let format_error = |line, field: &str, message: String, remedy: String| ReadError::Format {
        path: path.to_owned(),
        line,
        field: field.to_owned(),
        message,
        remedy,
    };
    let mut number = 0;
    let mut first_line: Option<Vec<u8>> = None;
    let layout = loop {
        let Some(line) = lines.next_line().map_err(|error| io_error(path, error))? else {
            break None;
        };
        number += 1;
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Some(layout) = header(line, options.delimiter.as_deref(), number) {
            break Some(layout);
        }
        if let Some(names) = &options.columns {
            break Some(headerless(names, line, options.delimiter.as_deref(), number));
        }
        first_line.get_or_insert_with(|| line.to_vec());
        if number >= MAX_LINES_BEFORE_HEADER {
            break None;
        }
    };
    let Some(layout) = layout else {
        let (message, remedy) = not_a_table(first_line.as_deref());
        return Err(format_error(u32::from(first_line.is_some()), "", message, remedy));
    };
    if layout.delimiter.iter().all(|&b| b == b' ') {
        let message = "the table is laid out in blanks for the eye, with values cut to their columns";
        return Err(format_error(number, "", message.to_owned(), format!("export with: {EXPORT_COMMAND}")));
    }
    let missing = layout.columns.missing();
    if let Some(first) = missing.first() {
        let message =
            format!("the accounting needs the missing column{} {}", plural(&missing), missing.join(", "));
        return Err(format_error(number, first, message, format!("export with: {EXPORT_COMMAND}")));
    }
    Ok(layout)
}

fn plural(names: &[&str]) -> &'static str {
    if names.len() == 1 { "" } else { "s" }
}

/// A header holds nothing but names, so what stands between the first two is the delimiter.
fn header(line: &[u8], delimiter: Option<&str>, number: u32) -> Option<Layout> {
    let text = std::str::from_utf8(line).ok()?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '"';
    let delimiter = match delimiter {
        Some(delimiter) if !delimiter.is_empty() => delimiter.to_owned(),
        _ => text.trim_start_matches(is_name).chars().take_while(|&c| !is_name(c)).collect(),
    };
    // Blanks between columns for the eye differ in number.
    let (delimiter, names): (String, Vec<&str>) =
        if !delimiter.is_empty() && delimiter.trim_matches(' ').is_empty() {
            (" ".to_owned(), text.split_ascii_whitespace().collect())
        } else if delimiter.is_empty() {
            ("|".to_owned(), vec![text])
        } else {
            let names = text.split(delimiter.as_str()).map(|name| name.trim_matches('"')).collect();
            (delimiter, names)
        };
    let has_trailing_delimiter = names.len() > 1 && names.last().is_some_and(|name| name.is_empty());
    let names = &names[..names.len() - usize::from(has_trailing_delimiter)];
    let are_names = names.iter().all(|name| !name.is_empty() && name.chars().all(|c| is_name(c) || c == '%'));
    (are_names && Columns::is_header(names.iter().copied())).then(|| Layout {
        columns: Columns::new(names.iter().copied()),
        delimiter: delimiter.into_bytes(),
        has_trailing_delimiter,
        first_row: None,
        lines_before: number,
    })
}

/// The layout of a file without a header: the delimiter that gives the first row enough fields.
fn headerless(names: &[String], line: &[u8], delimiter: Option<&str>, number: u32) -> Layout {
    const DELIMITERS: [&str; 6] = ["\x1f", "|#", "|", "\t", ";", ","];
    let occurrences = |delimiter: &str| memchr::memmem::find_iter(line, delimiter).count();
    let delimiter = delimiter.filter(|delimiter| !delimiter.is_empty()).unwrap_or_else(|| {
        let is_enough = |delimiter: &&str| occurrences(delimiter) + 1 >= names.len().max(2);
        DELIMITERS.into_iter().find(is_enough).unwrap_or("|")
    });
    let has_trailing_delimiter =
        occurrences(delimiter) == names.len() && line.ends_with(delimiter.as_bytes());
    Layout {
        columns: Columns::new(names.iter().map(String::as_str)),
        delimiter: delimiter.as_bytes().to_vec(),
        has_trailing_delimiter,
        first_row: Some(line.to_vec()),
        lines_before: number,
    }
}

/// What a file without a job table's header is, as far as its first line tells, and what to do.
fn not_a_table(first_line: Option<&[u8]>) -> (String, String) {
    let export = format!("export with: {EXPORT_COMMAND}");
    let Some(line) = first_line else {
        let message = "the file is empty (sacct writes nothing when it refuses an option: see its messages)";
        return (message.to_owned(), export);
    };
    if let Some((what, to_do)) = other_kind(line, "--sacct") {
        return match to_do.starts_with("give") {
            true => (what.to_owned(), to_do),
            false => (what.to_owned(), export),
        };
    }
    let text = String::from_utf8_lossy(line);
    if text.starts_with("---") || text.starts_with("%YAML") || text.trim_end().ends_with(':') {
        return (
            "this is YAML, which is not read".to_owned(),
            format!("export with sacct --json, or {export}"),
        );
    }
    let shown = super::super::times::quoted(line);
    (
        format!("no header of a job table: the first line is {shown:?}"),
        format!("name the columns with --sacct-format, or {export}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("JobID|JobIDRaw|State", "|", false)]
    #[case("JobID|#JobIDRaw|#State", "|#", false)]
    #[case("JobID\u{1f}State\u{1f}End", "\u{1f}", false)]
    #[case("JobID|State|", "|", true)]
    #[case("JobID\tState", "\t", false)]
    #[case("\"JobID\",\"State\"", ",", false)]
    #[case("JobID           JobName  Partition      State", " ", false)]
    fn delimiters_are_found_in_the_header(
        #[case] line: &str,
        #[case] delimiter: &str,
        #[case] trailing: bool,
    ) {
        let layout = header(line.as_bytes(), None, 1).unwrap();
        assert_eq!(layout.delimiter, delimiter.as_bytes());
        assert_eq!(layout.has_trailing_delimiter, trailing);
    }

    #[rstest]
    #[case("1|COMPLETED|2026-11-29T17:25:23")]
    #[case("sacct: error: something")]
    #[case("{\"jobs\": []}")]
    fn a_row_is_no_header(#[case] line: &str) {
        assert!(header(line.as_bytes(), None, 1).is_none());
    }

    #[test]
    fn quoted_fields_hold_commas() {
        let line = br#"1,"cpu=4,node=1",,"gpu[1,2]""#;
        let mut fields = Vec::new();
        split_quoted(line, &mut fields);
        let texts: Vec<&[u8]> = fields.iter().map(|&(start, end)| &line[start..end]).collect();
        assert_eq!(texts, [&b"1"[..], b"cpu=4,node=1", b"", b"gpu[1,2]"]);
    }
}
