//! Listings of `sacctmgr`: a header, then rows, with delimiters (`-P`, `-p`) or in columns.
//!
//! The delimiter is not escaped, so one free-text column may hold it: such a row is read from both
//! ends. JSON that a command does not know is answered with the column layout, so the layout is
//! recognised from the text and never from the flags of the command.

use std::ops::Range;

/// How the rows of one listing are cut into fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listing {
    /// Header names in lower case, without spaces: `Cluster Nodes` and `ClusterNodes` are one.
    names: Vec<String>,
    layout: Layout,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Layout {
    Delimited { delimiter: Vec<u8>, is_terminated: bool },
    Columns(Vec<Range<usize>>),
}

impl Listing {
    /// Recognises a header with the user's delimiter (which may be meant for other files) or with `|`.
    pub(super) fn with_delimiter(header: &[u8], named: Option<&str>) -> Option<Self> {
        named
            .and_then(|named| Self::delimited(header, named.as_bytes()))
            .or_else(|| Self::delimited(header, b"|"))
    }

    fn delimited(header: &[u8], delimiter: &[u8]) -> Option<Self> {
        if delimiter.is_empty() || memchr::memmem::find(header, delimiter).is_none() {
            return None;
        }
        let is_terminated = header.ends_with(delimiter);
        let header = if is_terminated { &header[..header.len() - delimiter.len()] } else { header };
        let names = split(header, delimiter).map(|(_, name)| normal(name)).collect();
        Some(Self { names, layout: Layout::Delimited { delimiter: delimiter.to_vec(), is_terminated } })
    }

    /// Recognises a header in columns from the line of dashes under it.
    pub(super) fn columns(header: &[u8], rule: &[u8]) -> Option<Self> {
        let rule = rule.trim_ascii_end();
        if !rule.starts_with(b"-") || !rule.iter().all(|b| matches!(b, b'-' | b' ')) {
            return None;
        }
        let mut spans = Vec::new();
        let mut start = 0;
        for run in rule.split(|&b| b == b' ') {
            if !run.is_empty() {
                spans.push(start..start + run.len());
            }
            start += run.len() + 1;
        }
        let names = spans.iter().map(|span| normal(slice(header, span))).collect();
        Some(Self { names, layout: Layout::Columns(spans) })
    }

    /// Position of the first column with one of these names.
    pub(super) fn position(&self, names: &[&str]) -> Option<usize> {
        self.names.iter().position(|name| names.contains(&name.as_str()))
    }

    /// The column names, for a message.
    pub(super) fn header(&self) -> String {
        self.names.join(", ")
    }

    /// Whether fields that are too long for their column were cut.
    pub(super) fn cuts_fields(&self) -> bool {
        matches!(self.layout, Layout::Columns(_))
    }

    /// Cuts a row into one field a column; stray delimiters go to the column `free`. The number of
    /// fields found, when they cannot be assigned.
    pub(super) fn fields<'l>(&self, line: &'l [u8], free: Option<usize>) -> Result<Vec<&'l [u8]>, usize> {
        let (delimiter, is_terminated) = match &self.layout {
            Layout::Columns(spans) => {
                return Ok(spans.iter().map(|span| slice(line, span).trim_ascii()).collect());
            }
            Layout::Delimited { delimiter, is_terminated } => (delimiter, *is_terminated),
        };
        let line = if is_terminated { line.strip_suffix(delimiter.as_slice()).unwrap_or(line) } else { line };
        let parts: Vec<(usize, &[u8])> = split(line, delimiter).collect();
        let columns = self.names.len();
        let Some(stray) = parts.len().checked_sub(columns) else { return Err(parts.len()) };
        let free = match (stray, free) {
            (0, _) => columns,
            (_, Some(free)) if free < columns => free,
            _ => return Err(parts.len()),
        };
        Ok((0..columns)
            .map(|column| {
                let first = if column > free { column + stray } else { column };
                let last = if column == free { column + stray } else { first };
                let (start, (end, tail)) = (parts[first].0, parts[last]);
                line[start..end + tail.len()].trim_ascii()
            })
            .collect())
    }
}

/// The parts between delimiters, each with its offset.
fn split<'l>(line: &'l [u8], delimiter: &'l [u8]) -> impl Iterator<Item = (usize, &'l [u8])> {
    let mut start = Some(0);
    let mut ends = memchr::memmem::find_iter(line, delimiter);
    std::iter::from_fn(move || {
        let from = start?;
        let end = ends.next();
        start = end.map(|end| end + delimiter.len());
        Some((from, &line[from..end.unwrap_or(line.len())]))
    })
}

fn slice<'l>(line: &'l [u8], span: &Range<usize>) -> &'l [u8] {
    let end = span.end.min(line.len());
    line.get(span.start..end).unwrap_or_default()
}

fn normal(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    name.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts<'a>(fields: &[&'a [u8]]) -> Vec<&'a str> {
        fields.iter().map(|field| std::str::from_utf8(field).unwrap()).collect()
    }

    #[test]
    fn stray_delimiters_go_to_the_free_column() {
        let listing = Listing::delimited(b"Node Name|Reason|State", b"|").unwrap();
        assert_eq!(listing.position(&["nodename"]), Some(0));
        let row = listing.fields(b"gpu012|ECC Xid 48 | row | remap|DRAIN", Some(1)).unwrap();
        assert_eq!(texts(&row), ["gpu012", "ECC Xid 48 | row | remap", "DRAIN"]);
        assert_eq!(listing.fields(b"gpu012|a|b|DRAIN", None), Err(4));
        assert_eq!(listing.fields(b"gpu012|DRAIN", Some(1)), Err(2));
    }

    #[test]
    fn the_delimiter_of_other_files_does_not_matter() {
        assert!(Listing::with_delimiter(b"NodeName|State", Some("\u{1f}")).is_some());
        assert!(Listing::with_delimiter(b"NodeName#State", Some("#")).is_some());
        assert!(Listing::with_delimiter(b"NodeName State", None).is_none());
    }

    #[test]
    fn a_terminated_listing_has_no_empty_last_column() {
        let listing = Listing::delimited(b"NodeName|State|", b"|").unwrap();
        assert_eq!(texts(&listing.fields(b"gpu012|DRAIN|", None).unwrap()), ["gpu012", "DRAIN"]);
    }

    #[test]
    fn columns_are_cut_where_the_dashes_end() {
        let listing =
            Listing::columns(b"  Cluster NodeName   State ", b"--------- -------- ------ ").unwrap();
        assert_eq!(
            texts(&listing.fields(b"     vgpu a100-2     DOWN ", None).unwrap()),
            ["vgpu", "a100-2", "DOWN"]
        );
        assert_eq!(texts(&listing.fields(b"     vgpu", None).unwrap()), ["vgpu", "", ""]);
        assert!(listing.cuts_fields());
    }

    proptest! {
        #[test]
        fn any_row_is_cut_into_the_columns_or_refused(
            header in "[A-C|]{1,8}", rule in "[- ]{1,12}", line in proptest::collection::vec(any::<u8>(), 0..40), free in 0_usize..9,
        ) {
            for listing in [Listing::delimited(header.as_bytes(), b"|"), Listing::columns(header.as_bytes(), rule.as_bytes())]
                .into_iter()
                .flatten()
            {
                if let Ok(fields) = listing.fields(&line, Some(free)) {
                    prop_assert_eq!(fields.len(), listing.names.len());
                }
            }
        }
    }
}
