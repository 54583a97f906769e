//! A pull scanner: the caller asks for the next key or value, and nothing is copied.

use memchr::memchr2;

/// Levels of nesting that one value may have: a bit each in the scanner's stack. Kineto's events have four.
const MAX_DEPTH: u32 = 128;

/// Why the scanner cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The bytes end before the value does.
    End,
    /// The text is no JSON, even leniently.
    Broken {
        /// Index of the byte that does not fit.
        at: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// What the scanner gives.
pub(crate) type Scan<T> = Result<T, Stop>;

/// A value, as the bytes that spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A string: what is between the quotes, escapes and all.
    Text(&'a [u8]),
    /// A number or a literal.
    Bare(&'a [u8]),
    /// An object or a list with its brackets.
    Nested(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The text of a number, in quotes or not.
    pub fn scalar(self) -> &'a [u8] {
        match self {
            Self::Text(text) | Self::Bare(text) => text,
            Self::Nested(_) => b"",
        }
    }
}

/// A position in JSON text.
///
/// Lenient where writers of traces are: commas may trail or lack, strings may hold raw control bytes and bytes that are
/// no UTF-8, numbers may be `inf`, `NaN` or `-nan`. Anything else that does not fit stops it with the place.
#[derive(Debug, Clone)]
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// At the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Index of the next byte.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The bytes from `start` to here.
    pub fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    /// The next byte that is no white space; it is not taken.
    #[inline(always)]
    pub fn peek(&mut self) -> Scan<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(&byte) if byte > b' ' => return Ok(byte),
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(&control) => return Ok(control),
                None => return Err(Stop::End),
            }
        }
    }

    /// Takes the byte that [`Scanner::peek`] showed.
    #[inline]
    pub fn take(&mut self) {
        self.at += 1;
    }

    /// Takes `byte` if it comes next.
    #[inline(always)]
    pub fn accept(&mut self, byte: u8) -> Scan<bool> {
        let comes = self.peek()? == byte;
        self.at += usize::from(comes);
        Ok(comes)
    }

    /// Takes `byte`, which must come next.
    #[inline(always)]
    pub fn expect(&mut self, byte: u8, problem: &'static str) -> Scan<()> {
        if self.accept(byte)? { Ok(()) } else { self.broken(problem) }
    }

    /// The next key of an object of which the opening brace is taken, and the colon after it; `None` takes the closing
    /// brace.
    #[inline]
    pub fn key(&mut self) -> Scan<Option<&'a [u8]>> {
        let mut next = self.peek()?;
        while next == b',' {
            self.at += 1;
            next = self.peek()?;
        }
        match next {
            b'"' => {
                let key = self.string()?;
                self.expect(b':', "no colon after a key")?;
                Ok(Some(key))
            }
            b'}' => {
                self.at += 1;
                Ok(None)
            }
            _ => self.broken("no key where one must be"),
        }
    }

    /// Takes `member`, a key with its colon, if an object begins with exactly these bytes, on its line or on the next.
    #[inline(always)]
    pub fn begins_with(&mut self, member: &[u8]) -> bool {
        self.take_either(b"\n    ", b"", member)
    }

    /// Takes a comma and `member` if exactly these bytes come next, on one line or on two.
    #[inline(always)]
    pub fn goes_on_with(&mut self, member: &[u8]) -> bool {
        self.take_either(b", ", b",\n    ", member)
    }

    #[inline(always)]
    fn take_either(&mut self, first: &[u8], second: &[u8], member: &[u8]) -> bool {
        let rest = &self.bytes[self.at..];
        let member = rest
            .strip_prefix(first)
            .or_else(|| rest.strip_prefix(second))
            .and_then(|rest| rest.strip_prefix(member));
        if let Some(rest) = member {
            self.at = self.bytes.len() - rest.len();
        }
        member.is_some()
    }

    /// Takes the rest of an object of which the opening brace is taken.
    pub fn leave_object(&mut self) -> Scan<()> {
        self.skip_to_end(1, 1)
    }

    /// Whether another value comes in a list of which the opening bracket is taken; `false` takes the closing bracket.
    pub fn item(&mut self) -> Scan<bool> {
        while self.accept(b',')? {}
        Ok(!self.accept(b']')?)
    }

    /// The next value.
    #[inline]
    pub fn value(&mut self) -> Scan<Value<'a>> {
        match self.peek()? {
            b'"' => self.string().map(Value::Text),
            b'{' | b'[' => {
                let start = self.at;
                self.skip_nested()?;
                Ok(Value::Nested(self.since(start)))
            }
            _ => self.bare().map(Value::Bare),
        }
    }

    /// A string, of which the opening quote comes next.
    #[inline]
    fn string(&mut self) -> Scan<&'a [u8]> {
        let start = self.at + 1;
        let mut from = start;
        loop {
            let found =
                from + quote_or_escape(self.bytes.get(from..).unwrap_or_default()).ok_or(Stop::End)?;
            if self.bytes[found] == b'"' {
                self.at = found + 1;
                return Ok(&self.bytes[start..found]);
            }
            from = found + 2;
        }
    }

    /// A number or a literal.
    #[inline]
    fn bare(&mut self) -> Scan<&'a [u8]> {
        let start = self.at;
        let rest = &self.bytes[start..];
        let length = rest.iter().position(|&byte| kind_of(byte) != PLAIN).ok_or(Stop::End)?;
        self.at += length;
        if length == 0 { self.broken("no value where one must be") } else { Ok(&rest[..length]) }
    }

    /// Takes an object or a list, of which the opening bracket comes next, whole. Brackets must match and nothing but
    /// what JSON allows may stand outside of strings: a stray quote is found at once and not at the end of the file.
    fn skip_nested(&mut self) -> Scan<()> {
        self.skip_to_end(0, 0)
    }

    /// Takes what is open whole: `depth` levels, with one bit a level in `stack`, set for an object.
    fn skip_to_end(&mut self, mut stack: u128, mut depth: u32) -> Scan<()> {
        while let Some(&byte) = self.bytes.get(self.at) {
            match kind_of(byte) {
                WHITE | PLAIN | SEPARATOR => {}
                QUOTE => {
                    self.string()?;
                    continue;
                }
                OPEN => {
                    if depth == MAX_DEPTH {
                        return self.broken("nested too deep");
                    }
                    stack = stack << 1 | u128::from(byte == b'{');
                    depth += 1;
                }
                CLOSE => {
                    if (stack & 1 == 1) != (byte == b'}') {
                        return self.broken("brackets that do not match");
                    }
                    stack >>= 1;
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return Ok(());
                    }
                }
                _ => return self.broken("a character that belongs into a string"),
            }
            self.at += 1;
        }
        Err(Stop::End)
    }

    /// Stops at the next byte.
    pub fn broken<T>(&self, problem: &'static str) -> Scan<T> {
        Err(Stop::Broken { at: self.at, problem })
    }
}

/// Where the first quote or backslash stands. Most strings of a trace are keys and short names, for which a call of
/// memchr costs more than the search: eight bytes at a time find those.
#[inline]
fn quote_or_escape(bytes: &[u8]) -> Option<usize> {
    const SHORT: usize = 4;
    for (index, chunk) in bytes.as_chunks::<8>().0.iter().take(SHORT).enumerate() {
        let word = u64::from_le_bytes(*chunk);
        let found = zero_bytes(word ^ repeated(b'"')) | zero_bytes(word ^ repeated(b'\\'));
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let searched = (bytes.len() / 8).min(SHORT) * 8;
    memchr2(b'"', b'\\', &bytes[searched..]).map(|found| searched + found)
}

/// A byte in all eight places of a word.
const fn repeated(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The high bit of the first byte that is zero; of later ones too, and perhaps of others after the first.
#[inline]
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(repeated(0x01)) & !word & repeated(0x80)
}

/// What a byte can be outside of a string.
type Kind = u8;
const BAD: Kind = 0;
const WHITE: Kind = 1;
/// Part of a number or a literal (`true`, `null`, `NaN`, `-inf`, `Infinity`).
const PLAIN: Kind = 2;
const SEPARATOR: Kind = 3;
const QUOTE: Kind = 4;
const OPEN: Kind = 5;
const CLOSE: Kind = 6;

static KINDS: [Kind; 256] = {
    let mut kinds = [BAD; 256];
    let groups: [(&[u8], Kind); 6] = [
        (b" \t\r\n", WHITE),
        (b"0123456789+-.eEtrufalsnyiNI", PLAIN),
        (b",:", SEPARATOR),
        (b"\"", QUOTE),
        (b"{[", OPEN),
        (b"}]", CLOSE),
    ];
    let mut group = 0;
    while group < groups.len() {
        let (bytes, kind) = groups[group];
        let mut i = 0;
        while i < bytes.len() {
            kinds[bytes[i] as usize] = kind;
            i += 1;
        }
        group += 1;
    }
    kinds
};

#[inline]
fn kind_of(byte: u8) -> Kind {
    KINDS[byte as usize]
}

#[cfg(test)]
mod tests;
