//! A walk through a document of known shape, value by value, with memory bounded by the largest of its list items.

use std::io::{self, Read};

use memchr::memchr2;

use super::{Scan, Scanner, Stop, Window};

/// Bytes that one item of a list may have.
const MAX_ITEM_BYTES: usize = 16 << 20;

/// Where a document is no longer what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Offset in bytes.
    pub at: u64,
    /// What is wrong, or the text that is.
    pub text: String,
    /// The document ends here; else the walk went on.
    pub is_cut: bool,
}

/// A position in a document.
pub(crate) struct Walker<'a> {
    /// What is ahead.
    pub window: Window<&'a mut dyn Read>,
    /// What was damaged so far.
    pub damages: Vec<Damage>,
    is_over: bool,
}

impl<'a> Walker<'a> {
    /// At the beginning.
    pub fn new(input: &'a mut dyn Read) -> Self {
        Self { window: Window::new(input), damages: Vec::new(), is_over: false }
    }

    /// Bytes walked.
    pub fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// Takes `bracket` if it comes next.
    ///
    /// # Errors
    /// Of this and of all other steps: when the system cannot read.
    pub fn opens(&mut self, bracket: u8) -> io::Result<bool> {
        let opens = !self.is_over && self.window.peek()? == Some(bracket);
        if opens {
            self.window.take(1);
        }
        Ok(opens)
    }

    /// The next key of an object; `None` takes its end. Keys are compared and not shown, so that escapes stay.
    pub fn key(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.scan(|scanner| scanner.key().map(|key| key.map(<[u8]>::to_vec)))?.flatten())
    }

    /// A value that fits into memory, read by `read`; `None` when it cannot be read.
    pub fn value<T>(&mut self, read: impl Fn(&mut Scanner<'_>) -> Scan<T>) -> io::Result<Option<T>> {
        self.scan(read)
    }

    /// Takes a value of any size without looking at it.
    pub fn skip(&mut self) -> io::Result<()> {
        if !self.is_over && !self.window.skip_value()? {
            self.cut();
        }
        Ok(())
    }

    /// Reads every item of a list with `read` and gives it to `each` with its offset. Anything but a list is skipped. An item
    /// that is no JSON is counted as damage, and the walk goes on with the next.
    pub fn items<T>(
        &mut self,
        read: impl Fn(&mut Scanner<'_>) -> Scan<T>,
        mut each: impl FnMut(T, u64),
    ) -> io::Result<()> {
        if !self.opens(b'[')? {
            return self.skip();
        }
        while !self.is_over {
            let base = self.window.offset();
            let mut scanner = Scanner::new(self.window.rest());
            let mut taken = 0;
            let stop = loop {
                let item = scanner.item().and_then(|comes| {
                    let start = scanner.at();
                    Ok(if comes { Some((read(&mut scanner)?, start)) } else { None })
                });
                match item {
                    Ok(Some((item, start))) => each(item, base + start as u64),
                    Ok(None) => {
                        taken = scanner.at();
                        break None;
                    }
                    Err(stop) => break Some(stop),
                }
                taken = scanner.at();
            };
            self.window.take(taken);
            match stop {
                None => return Ok(()),
                Some(Stop::End) if self.window.rest().len() < MAX_ITEM_BYTES => {
                    if !self.window.more()? {
                        self.cut();
                    }
                }
                Some(stop) => {
                    self.broken(stop);
                    if self.ends_after_broken_item()? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Moves on from an item that is no JSON to the next object of the list, or past the list: `true`.
    fn ends_after_broken_item(&mut self) -> io::Result<bool> {
        let mut before = b'[';
        let mut from = 1;
        loop {
            let rest = self.window.rest();
            let found = rest.get(from..).and_then(|tail| memchr2(b'{', b']', tail)).map(|found| from + found);
            let passed = &rest[from.min(rest.len())..found.unwrap_or(rest.len())];
            before = passed.iter().rev().find(|byte| !byte.is_ascii_whitespace()).copied().unwrap_or(before);
            match found {
                // An item is an object after a comma: what is inside an item follows a colon.
                Some(found) if rest[found] == b'{' && before == b',' => {
                    self.window.take(found);
                    return Ok(false);
                }
                Some(found) if rest[found] == b']' && before == b'}' => {
                    self.window.take(found + 1);
                    return Ok(true);
                }
                Some(found) => {
                    before = rest[found];
                    from = found + 1;
                }
                None => {
                    self.window.take(rest.len());
                    from = 0;
                    if !self.window.more()? {
                        self.cut();
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Scans at the front of the window, reading on until what is scanned is whole.
    fn scan<T>(&mut self, scan: impl Fn(&mut Scanner<'_>) -> Scan<T>) -> io::Result<Option<T>> {
        while !self.is_over {
            let mut scanner = Scanner::new(self.window.rest());
            match scan(&mut scanner) {
                Ok(value) => {
                    let taken = scanner.at();
                    self.window.take(taken);
                    return Ok(Some(value));
                }
                Err(Stop::End) if self.window.rest().len() < MAX_ITEM_BYTES => {
                    if !self.window.more()? {
                        self.cut();
                    }
                }
                // Outside of a list nothing tells where to go on.
                Err(stop) => {
                    self.broken(stop);
                    self.is_over = true;
                }
            }
        }
        Ok(None)
    }

    /// Counts what stands at the front as broken.
    fn broken(&mut self, stop: Stop) {
        let before = |byte: &&u8| byte.is_ascii_whitespace() || **byte == b',';
        self.window.take(self.window.rest().iter().take_while(before).count());
        let rest = self.window.rest();
        let text = String::from_utf8_lossy(&rest[..rest.len().min(60)]);
        let text = match stop {
            Stop::End => format!("longer than {MAX_ITEM_BYTES} bytes: {text}"),
            Stop::Broken { problem, .. } => format!("{problem}: {text}"),
        };
        self.damages.push(Damage { at: self.window.offset(), text, is_cut: false });
    }

    fn cut(&mut self) {
        let damage = self.window.damage.take();
        let text = damage.map_or_else(|| "the text ends inside".to_owned(), |damage| damage.to_string());
        self.damages.push(Damage { at: self.window.offset(), text, is_cut: true });
        self.is_over = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::integer;

    /// The numbers of `{"a": [{"n": 1}, …], …}`.
    fn numbers(text: &str) -> (Vec<(Option<i64>, u64)>, Vec<Damage>) {
        let mut input = text.as_bytes();
        let mut walker = Walker::new(&mut input);
        let mut numbers = Vec::new();
        assert!(walker.opens(b'{').unwrap());
        while let Some(key) = walker.key().unwrap() {
            if key == b"a" {
                let read = |scanner: &mut Scanner<'_>| {
                    scanner.expect(b'{', "no object")?;
                    let mut number = None;
                    while scanner.key()?.is_some() {
                        number = integer(scanner.value()?.scalar());
                    }
                    Ok(number)
                };
                walker.items(read, |number, at| numbers.push((number, at))).unwrap();
            } else {
                walker.skip().unwrap();
            }
        }
        (numbers, walker.damages)
    }

    #[test]
    fn items_come_with_their_place_and_other_values_are_skipped() {
        let (found, damages) =
            numbers(r#"{"x": [{"n": 9}], "a": [{"n": 1}, {"n": 2}], "y": "]", "a": 7, "a": []}"#);
        assert_eq!(found, [(Some(1), 24), (Some(2), 34)]);
        assert_eq!(damages, []);
    }

    #[test]
    fn a_broken_item_is_passed() {
        let text =
            r#"{"a": [{"n": 1}, {"n": "x" "y"}, {"n": {"m": 2}}, {"n": 3}, {"n" 4}], "a": [{"n": 5}]}"#;
        let (found, damages) = numbers(text);
        let values: Vec<_> = found.iter().map(|&(number, _)| number).collect();
        assert_eq!(values, [Some(1), None, Some(3), Some(5)]);
        let places: Vec<_> = damages.iter().map(|damage| (damage.at, damage.is_cut)).collect();
        let expected = [r#"{"n": "x""#, r#"{"n" 4}"#].map(|item| (text.find(item).unwrap() as u64, false));
        assert_eq!(places, expected);
    }

    #[test]
    fn items_before_a_cut_are_read() {
        let (found, damages) = numbers(r#"{"a": [{"n": 1}, {"n": 2}, {"n": 3"#);
        assert_eq!(found.len(), 2);
        assert_eq!((damages[0].is_cut, damages.len()), (true, 1));
    }
}
