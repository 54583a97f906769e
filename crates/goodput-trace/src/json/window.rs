//! A window that moves over a stream: memory is bounded by one value, not by the file.

use std::io::{self, ErrorKind, Read};

/// Bytes read at a time: several thousand events, and few enough to stay in the cache.
const BLOCK_BYTES: usize = 512 << 10;

/// The part of a stream that is being read.
pub(crate) struct Window<R> {
    input: R,
    buffer: Vec<u8>,
    /// `buffer[start..end]` is read and not yet taken.
    start: usize,
    end: usize,
    /// Offset of `buffer[0]` in the stream.
    base: u64,
    /// Nothing more comes.
    ended: bool,
    /// What ended it before its end: a cut or damaged compressed stream.
    pub damage: Option<io::Error>,
}

impl<R: Read> Window<R> {
    /// At the beginning of `input`.
    pub fn new(input: R) -> Self {
        Self { input, buffer: vec![0; BLOCK_BYTES], start: 0, end: 0, base: 0, ended: false, damage: None }
    }

    /// What has been read and not taken.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Takes bytes from the front.
    pub fn take(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }

    /// Offset of the first byte of [`Window::rest`] in the stream.
    pub fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Reads more; `false` when nothing more comes.
    ///
    /// # Errors
    /// When the system cannot read. A compressed stream that is cut or damaged ends instead, see [`Window::damage`].
    pub fn more(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        if self.end > self.buffer.len() / 2 {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let before = self.end;
        while !self.ended && self.end < self.buffer.len() {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count,
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    // What flate2 and zstd say of a stream that is cut or damaged.
                    ErrorKind::UnexpectedEof
                    | ErrorKind::InvalidData
                    | ErrorKind::InvalidInput
                    | ErrorKind::Other => {
                        self.ended = true;
                        self.damage = Some(error);
                    }
                    _ => return Err(error),
                },
            }
        }
        Ok(self.end > before)
    }

    /// Reads to the end of the stream, where the checksum of a compressed one stands, see [`Window::damage`]. Gives the
    /// offset of text that comes instead of the end; padding is none.
    pub fn finish(&mut self) -> io::Result<Option<u64>> {
        let mut text_at = None;
        loop {
            let visible = self.rest().iter().position(|&byte| !byte.is_ascii_whitespace() && byte != 0);
            text_at = text_at.or(visible.map(|index| self.offset() + index as u64));
            self.start = self.end;
            if !self.more()? {
                return Ok(text_at);
            }
        }
    }

    /// Reads until there is a byte that is no white space; `None` at the end. The byte is not taken.
    pub fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.rest().iter().position(|byte| !byte.is_ascii_whitespace()) {
                Some(white) => {
                    self.start += white;
                    return Ok(Some(self.buffer[self.start]));
                }
                None => {
                    self.start = self.end;
                    if !self.more()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Takes one value of any size and depth without looking at it; `false` when the stream ends inside.
    pub fn skip_value(&mut self) -> io::Result<bool> {
        let (mut depth, mut in_string, mut is_escaped) = (0u64, false, false);
        let Some(first) = self.peek()? else { return Ok(false) };
        let is_bare = !matches!(first, b'"' | b'{' | b'[');
        loop {
            for (index, &byte) in self.rest().iter().enumerate() {
                let is_over = match byte {
                    _ if is_escaped => {
                        is_escaped = false;
                        false
                    }
                    b'\\' if in_string => {
                        is_escaped = true;
                        false
                    }
                    b'"' => {
                        in_string = !in_string;
                        !in_string && depth == 0
                    }
                    _ if in_string => false,
                    b',' | b'}' | b']' if is_bare => {
                        self.take(index);
                        return Ok(true);
                    }
                    b'{' | b'[' => {
                        depth += 1;
                        false
                    }
                    b'}' | b']' => {
                        depth = depth.saturating_sub(1);
                        depth == 0
                    }
                    _ => false,
                };
                if is_over {
                    self.take(index + 1);
                    return Ok(true);
                }
            }
            self.start = self.end;
            if !self.more()? {
                return Ok(false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a byte at a time, to move the window as often as can be.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = usize::from(!self.0.is_empty()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn values_are_skipped_whole() {
        let text = br#" {"a": [1, "}\"", {}]} , "x\\" , 12 , tail"#;
        let mut window = Window::new(Drip(text));
        for _ in 0..3 {
            assert!(window.skip_value().unwrap());
            assert_eq!(window.peek().unwrap(), Some(b','));
            window.take(1);
        }
        assert_eq!(window.peek().unwrap(), Some(b't'));
        assert_eq!(window.offset(), text.len() as u64 - 4);
        assert!(!window.skip_value().unwrap());
    }

    #[test]
    fn depth_needs_no_stack() {
        let text = "[".repeat(3_000_000);
        assert!(!Window::new(text.as_bytes()).skip_value().unwrap());
    }

    #[test]
    fn a_value_larger_than_a_block_makes_the_window_grow() {
        let text = vec![b'x'; 3 * BLOCK_BYTES];
        let mut window = Window::new(&text[..]);
        while window.more().unwrap() {}
        assert_eq!(window.rest().len(), text.len());
    }
}
