//! The elements of one array of a JSON document, one at a time, from a stream.
//!
//! A site's `sacct --json` can be gigabytes, most of it job steps. Only one element is held at once,
//! and an element that cannot be used does not end the reading.

use std::io::{self, Read};

const BLOCK_BYTES: usize = 1 << 18;

/// An element (one job with all its steps) is not larger than this.
const MAX_VALUE_BYTES: usize = 1 << 28;

/// Why a document cannot be read on.
#[derive(Debug)]
pub(super) enum Broken {
    Io(io::Error),
    /// It ends inside a value.
    CutOff,
    /// It is no JSON at this offset.
    Malformed {
        offset: u64,
    },
    TooLarge,
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A part of the document.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// An element of the array asked for.
    Element(&'a [u8]),
    /// The value of another key at the top.
    Value { key: &'a str, value: &'a [u8] },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    BeforeDocument,
    /// Before the first key or element.
    First,
    /// After a key's value or an element.
    Next,
    AfterDocument,
}

/// Reads a document whose top is an object, and hands out the elements of the array at `array_key`.
#[derive(Debug)]
pub(super) struct JsonArray<R> {
    input: R,
    array_key: &'static str,
    block: Vec<u8>,
    next: usize,
    filled: usize,
    consumed: u64,
    at_end: bool,
    top: Place,
    /// Set while inside the array.
    array: Option<Place>,
    has_array: bool,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl<R: Read> JsonArray<R> {
    pub(super) fn new(input: R, array_key: &'static str) -> Self {
        Self {
            input,
            array_key,
            block: vec![0; BLOCK_BYTES],
            next: 0,
            filled: 0,
            consumed: 0,
            at_end: false,
            top: Place::BeforeDocument,
            array: None,
            has_array: false,
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Whether the array was found.
    pub(super) fn has_array(&self) -> bool {
        self.has_array
    }

    /// The next part; `None` after the document.
    pub(super) fn next_part(&mut self) -> Result<Option<Part<'_>>, Broken> {
        loop {
            if self.array.is_some() {
                if self.element()? {
                    return Ok(Some(Part::Element(&self.value)));
                }
                continue;
            }
            match self.top {
                Place::BeforeDocument => {
                    self.expect(b'{')?;
                    self.top = Place::First;
                }
                Place::AfterDocument => return Ok(None),
                Place::First | Place::Next => {
                    if self.peek()? == b'}' {
                        self.bump();
                        self.top = Place::AfterDocument;
                        continue;
                    }
                    if self.top == Place::Next {
                        self.expect(b',')?;
                    }
                    self.top = Place::Next;
                    if self.key_and_value()? {
                        let key = std::str::from_utf8(&self.key).unwrap_or_default().trim_matches('"');
                        return Ok(Some(Part::Value { key, value: &self.value }));
                    }
                }
            }
        }
    }

    /// Reads an element of the array; false at the array's end.
    fn element(&mut self) -> Result<bool, Broken> {
        if self.peek()? == b']' {
            self.bump();
            self.array = None;
            return Ok(false);
        }
        if self.array == Some(Place::Next) {
            self.expect(b',')?;
        }
        self.array = Some(Place::Next);
        self.read_value()?;
        Ok(true)
    }

    /// Reads a key with its value; false when the value is the array asked for, which is entered.
    fn key_and_value(&mut self) -> Result<bool, Broken> {
        if self.peek()? != b'"' {
            return Err(self.malformed());
        }
        self.read_value()?;
        std::mem::swap(&mut self.key, &mut self.value);
        self.expect(b':')?;
        let is_array_key = self.key.strip_prefix(b"\"").and_then(|key| key.strip_suffix(b"\""))
            == Some(self.array_key.as_bytes());
        if is_array_key && self.peek()? == b'[' {
            self.bump();
            self.array = Some(Place::First);
            self.has_array = true;
            return Ok(false);
        }
        self.read_value()?;
        Ok(true)
    }

    /// Copies the text of one value, of any kind, into `self.value`.
    fn read_value(&mut self) -> Result<(), Broken> {
        self.value.clear();
        self.peek()?;
        let mut scan = Scan::default();
        loop {
            let (length, is_complete) = scan.advance(&self.block[self.next..self.filled]);
            self.value.extend_from_slice(&self.block[self.next..self.next + length]);
            self.next += length;
            if is_complete {
                return if self.value.is_empty() { Err(self.malformed()) } else { Ok(()) };
            }
            if self.value.len() > MAX_VALUE_BYTES {
                return Err(Broken::TooLarge);
            }
            if !self.refill()? {
                return Err(Broken::CutOff);
            }
        }
    }

    /// The next byte that is no blank, not consumed.
    fn peek(&mut self) -> Result<u8, Broken> {
        loop {
            let rest = &self.block[self.next..self.filled];
            if let Some(at) = rest.iter().position(|b| !b.is_ascii_whitespace()) {
                self.next += at;
                return Ok(rest[at]);
            }
            self.next = self.filled;
            if !self.refill()? {
                return Err(Broken::CutOff);
            }
        }
    }

    fn bump(&mut self) {
        self.next += 1;
    }

    fn expect(&mut self, byte: u8) -> Result<(), Broken> {
        if self.peek()? != byte {
            return Err(self.malformed());
        }
        self.bump();
        Ok(())
    }

    fn malformed(&self) -> Broken {
        Broken::Malformed { offset: self.consumed + self.next as u64 }
    }

    /// Reads the next block once the last one is used up; false at the end.
    fn refill(&mut self) -> io::Result<bool> {
        self.consumed += self.filled as u64;
        self.next = 0;
        self.filled = 0;
        while !self.at_end && self.filled == 0 {
            match self.input.read(&mut self.block) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => {
                    self.filled = result?;
                    self.at_end = self.filled == 0;
                }
            }
        }
        Ok(self.filled > 0)
    }
}

/// Finds the end of a value by its brackets and strings.
#[derive(Debug, Default)]
struct Scan {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
}

impl Scan {
    /// How much of `block` belongs to the value, and whether the value ends there.
    fn advance(&mut self, block: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while at < block.len() {
            if self.is_in_string {
                if self.is_escaped {
                    self.is_escaped = false;
                    at += 1;
                    continue;
                }
                let Some(found) = memchr::memchr2(b'"', b'\\', &block[at..]) else {
                    return (block.len(), false);
                };
                at += found + 1;
                if block[at - 1] == b'\\' {
                    self.is_escaped = true;
                } else {
                    self.is_in_string = false;
                    if self.depth == 0 {
                        return (at, true);
                    }
                }
                continue;
            }
            match block[at] {
                b'"' => self.is_in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth <= 1 => {
                    // At depth 0 the bracket closes what is around a number or word.
                    return (at + self.depth, true);
                }
                b'}' | b']' => self.depth -= 1,
                b',' | b' ' | b'\n' | b'\r' | b'\t' if self.depth == 0 => return (at, true),
                _ => {}
            }
            at += 1;
        }
        (at, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(5);
            self.0.read(&mut buffer[..length])
        }
    }

    type Parts = (Vec<Value>, Vec<(String, Value)>);

    fn parts(text: &str) -> Result<Parts, Broken> {
        let mut reader = JsonArray::new(Trickle(text.as_bytes()), "jobs");
        let (mut elements, mut values) = (Vec::new(), Vec::new());
        while let Some(part) = reader.next_part()? {
            match part {
                Part::Element(bytes) => elements.push(serde_json::from_slice(bytes).unwrap()),
                Part::Value { key, value } => {
                    values.push((key.to_owned(), serde_json::from_slice(value).unwrap()));
                }
            }
        }
        Ok((elements, values))
    }

    #[test]
    fn elements_and_other_values_come_in_order() {
        let text = r#" {"meta": {"a": ["]", "\"}"]}, "jobs": [ {"x": "}{"}, 3, [1], "s" ] , "n": 5} "#;
        let (elements, values) = parts(text).unwrap();
        assert_eq!(elements, [json!({"x": "}{"}), json!(3), json!([1]), json!("s")]);
        assert_eq!(values, [("meta".into(), json!({"a": ["]", "\"}"]})), ("n".into(), json!(5))]);
    }

    #[test]
    fn broken_documents_are_told_apart() {
        assert!(matches!(parts(r#"{"jobs": [{"a": 1}, {"#), Err(Broken::CutOff)));
        assert!(matches!(parts(r#"{"jobs" [1]}"#), Err(Broken::Malformed { offset: 8 })));
        assert!(matches!(parts("[1]"), Err(Broken::Malformed { offset: 0 })));
        assert!(matches!(parts(r#"{"jobs": [1 2]}"#), Err(Broken::Malformed { .. })));
    }

    fn arbitrary_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(".{0,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_element_comes_back(elements in proptest::collection::vec(arbitrary_json(), 0..6), pretty: bool) {
            let document = json!({"jobs": elements, "meta": elements});
            let text = if pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) };
            let (read, values) = parts(&text.unwrap()).unwrap();
            prop_assert_eq!(&read, &elements);
            prop_assert_eq!(&values, &[("meta".to_owned(), Value::from(elements))]);
        }

        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut reader = JsonArray::new(bytes.as_slice(), "jobs");
            while let Ok(Some(_)) = reader.next_part() {}
        }
    }
}
