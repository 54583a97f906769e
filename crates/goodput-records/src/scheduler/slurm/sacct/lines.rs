//! Physical lines of a stream, without a copy of each.

use std::io::{self, Read};

const BLOCK_BYTES: usize = 1 << 18;

/// A longer line is none of a job table.
const MAX_LINE_BYTES: usize = 1 << 24;

/// Hands out one line after the other from a block that is refilled as needed.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    block: Vec<u8>,
    next: usize,
    filled: usize,
    at_end: bool,
    /// Whether the last line has no end: the file may have been cut off there.
    pub(super) is_cut: bool,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, block: vec![0; BLOCK_BYTES], next: 0, filled: 0, at_end: false, is_cut: false }
    }

    /// The next line without its line break; `None` at the end.
    ///
    /// # Errors
    /// When the input cannot be read, or a line has no end within 16 MiB.
    pub(super) fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        let mut searched = self.next;
        let end = loop {
            if let Some(found) = memchr::memchr(b'\n', &self.block[searched..self.filled]) {
                break searched + found;
            }
            if self.at_end {
                if self.next == self.filled {
                    return Ok(None);
                }
                self.is_cut = true;
                break self.filled;
            }
            let unread = self.filled - self.next;
            self.refill()?;
            searched = self.next + unread;
        };
        let line = &self.block[self.next..end];
        self.next = (end + 1).min(self.filled);
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Moves what is unread to the front and reads more behind it.
    fn refill(&mut self) -> io::Result<()> {
        self.block.copy_within(self.next..self.filled, 0);
        self.filled -= self.next;
        self.next = 0;
        if self.filled == self.block.len() {
            if self.filled >= MAX_LINE_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "no line break within 16 MiB"));
            }
            self.block.resize(self.filled * 2, 0);
        }
        let read = loop {
            match self.input.read(&mut self.block[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.filled += read;
        self.at_end = read == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives a few bytes at a time, as a pipe may.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(3);
            self.0.read(&mut buffer[..length])
        }
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_whole_text(text in "[ab\n\r]{0,60}") {
            let mut lines = Lines::new(Trickle(text.as_bytes()));
            let mut read = Vec::new();
            while let Some(line) = lines.next_line().unwrap() {
                read.push(String::from_utf8(line.to_vec()).unwrap());
            }
            let expected: Vec<&str> =
                text.split_terminator('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
            prop_assert_eq!(read, expected);
        }
    }

    #[test]
    fn a_line_longer_than_a_block_is_one_line() {
        let text = "x".repeat(3 * BLOCK_BYTES);
        let mut lines = Lines::new(text.as_bytes());
        assert_eq!(lines.next_line().unwrap().unwrap().len(), text.len());
        assert!(lines.next_line().unwrap().is_none());
    }
}
