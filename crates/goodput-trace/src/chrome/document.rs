//! The document around the events, and the way on when something in it is no JSON.

use std::io::{self, Read};
use std::path::Path;

use memchr::{memchr, memchr2};

use super::event::Event;
use super::file::ChromeFile;
use super::metadata::Metadata;
use crate::json::{Scan, Scanner, Stop, Window};
use crate::reading::{FileTraces, ReadError};

/// Bytes that one event, or one value of the metadata, may have.
const MAX_VALUE_BYTES: usize = 16 << 20;

/// Reads a file.
pub(super) fn read(input: &mut dyn Read, path: &Path) -> Result<FileTraces, ReadError> {
    let mut document =
        Document { window: Window::new(input), file: ChromeFile::new(path), has_events: false };
    let io = |source| ReadError::Io { path: path.to_owned(), source };
    document.read().map_err(io)?;
    let Document { mut window, mut file, has_events } = document;
    file.reading.bytes = window.offset();
    if !file.reading.truncated {
        file.reading.find_after_end(&mut window).map_err(io)?;
    }
    if !has_events && !file.reading.truncated {
        return Err(ReadError::Format {
            path: path.to_owned(),
            problem: "JSON without trace events: neither a list of events nor an object with \"traceEvents\""
                .into(),
        });
    }
    Ok(file.finish(path))
}

struct Document<'a> {
    window: Window<&'a mut dyn Read>,
    file: ChromeFile,
    /// A list of events was found.
    has_events: bool,
}

impl Document<'_> {
    fn read(&mut self) -> io::Result<()> {
        self.window.more()?;
        if self.window.rest().starts_with(b"\xef\xbb\xbf") {
            self.window.take(3);
        }
        match self.window.peek()? {
            Some(b'[') => {
                self.window.take(1);
                self.events()
            }
            Some(b'{') => {
                self.window.take(1);
                self.members()
            }
            _ => {
                self.truncated();
                Ok(())
            }
        }
    }

    /// Members of the document, up to its closing brace.
    fn members(&mut self) -> io::Result<()> {
        loop {
            let key = match self.scan(|scanner| scanner.key().map(|key| key.map(<[u8]>::to_vec)))? {
                Step::Got(Some(key)) => key,
                Step::Got(None) => return Ok(()),
                Step::Cut => {
                    self.truncated();
                    return Ok(());
                }
                Step::Broken => {
                    self.file.broken_metadata(self.window.offset(), b"no key where one must be");
                    if self.seek_member()? {
                        continue;
                    }
                    return Ok(());
                }
            };
            match self.window.peek()? {
                Some(b'[') if key == b"traceEvents" => {
                    self.window.take(1);
                    self.events()?;
                }
                _ if Metadata::knows(&key) => self.metadata(&key)?,
                _ => {
                    if !self.window.skip_value()? {
                        self.truncated();
                    }
                }
            }
            if self.file.reading.truncated {
                return Ok(());
            }
        }
    }

    fn metadata(&mut self, key: &[u8]) -> io::Result<()> {
        let start = self.window.offset();
        let raw = self.scan(|scanner| {
            scanner.peek()?;
            let start = scanner.at();
            scanner.value()?;
            Ok(scanner.since(start).to_vec())
        })?;
        match raw {
            Step::Got(raw) => {
                if !self.file.metadata.set(key, &raw) {
                    self.file.broken_metadata(start, key);
                }
            }
            Step::Cut => self.truncated(),
            Step::Broken => {
                self.file.broken_metadata(start, key);
                // Without another key that matters the next one is sought in vain, and the file ends.
                self.seek_member()?;
            }
        }
        Ok(())
    }

    /// Events, up to the closing bracket of their list.
    fn events(&mut self) -> io::Result<()> {
        self.has_events = true;
        loop {
            let offset = self.window.offset();
            let bytes = self.window.rest();
            let mut scanner = Scanner::new(bytes);
            let mut event = Event::default();
            let mut done = 0;
            let stop = loop {
                match next_event(&mut scanner, &mut event) {
                    Ok(Some(start)) => {
                        done = scanner.at();
                        self.file.event(&event, &bytes[start..done], offset + start as u64);
                    }
                    Ok(None) => {
                        done = scanner.at();
                        break None;
                    }
                    Err(stop) => break Some(stop),
                }
            };
            self.window.take(done);
            match stop {
                None => return Ok(()),
                Some(Stop::End) if self.window.rest().len() < MAX_VALUE_BYTES => {
                    if !self.window.more()? {
                        self.truncated();
                        return Ok(());
                    }
                }
                Some(_) => {
                    self.broken();
                    if !self.seek_event()? {
                        self.truncated();
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Scans at the front of the window, reading on until what is scanned is whole.
    fn scan<T>(&mut self, scan: impl Fn(&mut Scanner<'_>) -> Scan<T>) -> io::Result<Step<T>> {
        loop {
            let mut scanner = Scanner::new(self.window.rest());
            match scan(&mut scanner) {
                Ok(got) => {
                    let taken = scanner.at();
                    self.window.take(taken);
                    return Ok(Step::Got(got));
                }
                Err(Stop::End) if self.window.rest().len() < MAX_VALUE_BYTES => {
                    if !self.window.more()? {
                        return Ok(Step::Cut);
                    }
                }
                Err(_) => return Ok(Step::Broken),
            }
        }
    }

    /// Moves on from what is broken to the next event, or to the end of their list; `false` at the end of the file.
    ///
    /// An event opens after a comma or a closing brace, can be read whole and has a phase. The depth of one event is
    /// bounded, so that this is linear in the text that it passes.
    fn seek_event(&mut self) -> io::Result<bool> {
        let mut before = b'{';
        self.window.take(1);
        loop {
            let bytes = self.window.rest();
            let Some(found) = memchr2(b'{', b']', bytes) else {
                before = last_visible(bytes).unwrap_or(before);
                self.window.take(bytes.len());
                if !self.window.more()? {
                    return Ok(false);
                }
                continue;
            };
            before = last_visible(&bytes[..found]).unwrap_or(before);
            let (opens, follows) = (bytes[found] == b'{', before);
            before = bytes[found];
            self.window.take(found);
            let goes_on = if !opens {
                match self.try_scan(ends_events)? {
                    Some(ends) => ends && matches!(follows, b'}' | b'['),
                    None => ends_document(self.window.rest()),
                }
            } else if matches!(follows, b',' | b'}') {
                self.try_scan(|scanner| Ok(Event::scan(scanner)?.phase != 0))?.unwrap_or(false)
            } else {
                false
            };
            if goes_on {
                return Ok(true);
            }
            self.window.take(1);
        }
    }

    /// What `scan` says of the front of the window, which stays; `None` when the file ends inside.
    fn try_scan(&mut self, scan: impl Fn(&mut Scanner<'_>) -> Scan<bool>) -> io::Result<Option<bool>> {
        loop {
            match scan(&mut Scanner::new(self.window.rest())) {
                Ok(result) => return Ok(Some(result)),
                Err(Stop::End) if self.window.rest().len() < MAX_VALUE_BYTES => {
                    if !self.window.more()? {
                        return Ok(None);
                    }
                }
                Err(_) => return Ok(Some(false)),
            }
        }
    }

    /// Moves on from metadata that are broken to a key that matters; `false` at the end of the file.
    fn seek_member(&mut self) -> io::Result<bool> {
        self.window.take(1);
        loop {
            let bytes = self.window.rest();
            let Some(found) = memchr(b'"', bytes) else {
                self.window.take(bytes.len());
                if !self.window.more()? {
                    return Ok(false);
                }
                continue;
            };
            self.window.take(found);
            let matters = self.try_scan(|scanner| {
                Ok(scanner.key()?.is_some_and(|key| key == b"traceEvents" || Metadata::knows(key)))
            })?;
            if matters == Some(true) {
                return Ok(true);
            }
            self.window.take(1);
        }
    }

    /// Counts what stands at the front of the window as broken.
    fn broken(&mut self) {
        self.take_separators();
        let bytes = self.window.rest();
        let text = bytes[..bytes.len().min(400)].to_vec();
        self.file.broken(self.window.offset(), &text);
    }

    /// Takes what stands between two events.
    fn take_separators(&mut self) {
        let bytes = self.window.rest();
        let count = bytes.iter().take_while(|&&byte| byte.is_ascii_whitespace() || byte == b',').count();
        self.window.take(count);
    }

    fn truncated(&mut self) {
        self.take_separators();
        let damage = self.window.damage.take();
        self.file.truncated(self.window.offset(), || {
            damage.map_or_else(|| "the text ends inside".to_owned(), |damage| damage.to_string())
        });
    }
}

/// How a scan went.
enum Step<T> {
    Got(T),
    /// The file ends inside.
    Cut,
    Broken,
}

/// Reads the next event of a list and gives its start; `None` takes the closing bracket.
#[inline]
fn next_event<'a>(scanner: &mut Scanner<'a>, event: &mut Event<'a>) -> Scan<Option<usize>> {
    if !scanner.item()? {
        return Ok(None);
    }
    let start = scanner.at();
    event.scan_into(scanner)?;
    Ok(Some(start))
}

/// Whether the bracket that comes next ends the list of events: the document goes on with a key that no event has.
fn ends_events(scanner: &mut Scanner<'_>) -> Scan<bool> {
    const OF_EVENTS: [&[u8]; 10] =
        [b"ph", b"cat", b"name", b"pid", b"tid", b"ts", b"dur", b"args", b"id", b"bp"];
    scanner.take();
    if scanner.accept(b'}')? {
        scanner.peek()?;
        return Ok(false);
    }
    Ok(scanner.accept(b',')? && scanner.key()?.is_some_and(|key| !OF_EVENTS.contains(&key)))
}

/// Whether nothing comes after the bracket that ends the events but the one that ends the document.
fn ends_document(rest: &[u8]) -> bool {
    matches!(rest.trim_ascii_end(), [b']'] | [b']', .., b'}'])
        && rest[1..].iter().filter(|byte| !byte.is_ascii_whitespace()).count() <= 1
}

fn last_visible(bytes: &[u8]) -> Option<u8> {
    bytes.iter().rev().find(|byte| !byte.is_ascii_whitespace()).copied()
}
