//! Lines of a log, one at a time, in a buffer that is reused.

use std::io::{self, BufRead, Read};

use crate::ReadError;

/// Longest line that is read; the rest of a longer one is skipped, so that a file without line ends
/// cannot fill the memory.
const LONGEST_LINE: u64 = 16 << 20;

/// One line, without its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// The text; an error when it is not UTF-8, or is longer than [`LONGEST_LINE`].
    pub text: Result<&'a str, &'static str>,
    /// One-based, at most `u32::MAX`.
    pub number: u32,
    /// Whether a line end follows. A last line without one may have been cut off.
    pub terminated: bool,
}

/// The lines of one file.
pub(crate) struct Lines<'r> {
    reader: &'r mut dyn BufRead,
    label: &'r str,
    buffer: Vec<u8>,
    number: u32,
}

impl<'r> Lines<'r> {
    pub(crate) fn new(reader: &'r mut dyn BufRead, label: &'r str) -> Self {
        Self { reader, label, buffer: Vec::new(), number: 0 }
    }

    /// The next line, `None` at the end of the file.
    ///
    /// # Errors
    /// [`ReadError::Io`] when the file cannot be read on.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>, ReadError> {
        self.advance().map_err(|source| ReadError::Io { path: self.label.to_owned(), source })?;
        if self.buffer.is_empty() {
            return Ok(None);
        }
        self.number = self.number.saturating_add(1);
        let terminated = self.buffer.last() == Some(&b'\n');
        let mut bytes = self.buffer.as_slice();
        if terminated {
            bytes = &bytes[..bytes.len() - 1];
            bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        }
        if self.number == 1 {
            bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        }
        let text = if self.buffer.len() as u64 == LONGEST_LINE && !terminated {
            Err("longer than 16 MiB")
        } else {
            std::str::from_utf8(bytes).map_err(|_| "not UTF-8")
        };
        Ok(Some(Line { text, number: self.number, terminated }))
    }

    fn advance(&mut self) -> io::Result<()> {
        if self.buffer.len() as u64 == LONGEST_LINE && self.buffer.last() != Some(&b'\n') {
            self.skip_line()?;
        }
        self.buffer.clear();
        (&mut *self.reader).take(LONGEST_LINE).read_until(b'\n', &mut self.buffer)?;
        Ok(())
    }

    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let available = self.reader.fill_buf()?;
            if available.is_empty() {
                return Ok(());
            }
            match memchr::memchr(b'\n', available) {
                Some(end) => {
                    self.reader.consume(end + 1);
                    return Ok(());
                }
                None => {
                    let length = available.len();
                    self.reader.consume(length);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<(Option<String>, u32, bool)> {
        let mut reader = bytes;
        let mut lines = Lines::new(&mut reader, "test");
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push((line.text.ok().map(str::to_owned), line.number, line.terminated));
        }
        found
    }

    #[test]
    fn line_ends_marks_and_bad_bytes() {
        let found = all(b"\xef\xbb\xbfa\r\n\nb\xff\nlast");
        assert_eq!(
            found,
            [
                (Some("a".to_owned()), 1, true),
                (Some(String::new()), 2, true),
                (None, 3, true),
                (Some("last".to_owned()), 4, false)
            ]
        );
    }

    #[test]
    fn an_endless_line_is_skipped_not_kept() {
        let mut bytes = vec![b'x'; usize::try_from(LONGEST_LINE).unwrap() + 10];
        bytes.extend_from_slice(b"\nnext\n");
        assert_eq!(all(&bytes), [(None, 1, false), (Some("next".to_owned()), 2, true)]);
    }
}
