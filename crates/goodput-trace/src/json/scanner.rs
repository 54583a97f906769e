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
    #[inline]
    pub fn peek(&mut self) -> Scan<u8> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if kind_of(byte) != WHITE {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(Stop::End)
    }

    /// Takes the byte that [`Scanner::peek`] showed.
    #[inline]
    pub fn take(&mut self) {
        self.at += 1;
    }

    /// Takes `byte` if it comes next.
    #[inline]
    pub fn accept(&mut self, byte: u8) -> Scan<bool> {
        let comes = self.peek()? == byte;
        self.at += usize::from(comes);
        Ok(comes)
    }

    /// Takes `byte`, which must come next.
    #[inline]
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
            let rest = self.bytes.get(from..).ok_or(Stop::End)?;
            let found = from + memchr2(b'"', b'\\', rest).ok_or(Stop::End)?;
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
        // One bit a level, set for an object.
        let (mut stack, mut depth) = (0u128, 0u32);
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
