//! What names mean, decided once for each distinct name.

use rustc_hash::FxHashMap;

use goodput_core::records::{Symbol, Symbols};

use crate::class::Class;
use crate::json::decode;
use crate::reading::{Cause, FileReading, shortened};
use crate::trace::{CollectiveKind, HostKind, may_enqueue};

/// A kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernel {
    pub name: Symbol,
    pub class: Class,
    /// What its name says of the exchange, if it communicates.
    pub collective: Option<CollectiveKind>,
}

/// A runtime or driver call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub name: Symbol,
    pub enqueues: bool,
    pub kind: Option<HostKind>,
}

/// An operator. Old traces write annotations as operators.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operator {
    pub name: Symbol,
    pub kind: Option<HostKind>,
    /// Whether its work depends on inputs that are no tensors.
    pub keeps_values: bool,
}

/// The names of a trace by the bytes that spell them.
#[derive(Debug, Default)]
pub(super) struct Names {
    kernels: Cache<Kernel>,
    calls: Cache<Call>,
    operators: Cache<Operator>,
    annotations: Cache<(Symbol, HostKind)>,
    texts: Cache<Symbol>,
    lists: FxHashMap<Box<[u8]>, Symbol>,
}

/// Where a name is first seen: what it adds to.
pub(super) struct Seen<'a> {
    pub symbols: &'a mut Symbols,
    pub reading: &'a mut FileReading,
    /// Offset of the event.
    pub at: u64,
}

impl Names {
    pub fn kernel(&mut self, raw: &[u8], seen: Seen<'_>) -> Kernel {
        self.kernels.get(raw, seen, |text, name| {
            let class = Class::of_kernel(text);
            let collective = (class == Class::Communication).then(|| CollectiveKind::of_kernel(text));
            Kernel { name, class, collective }
        })
    }

    pub fn call(&mut self, raw: &[u8], seen: Seen<'_>) -> Call {
        self.calls.get(raw, seen, |text, name| {
            let kind = HostKind::of_call(text);
            Call { name, enqueues: may_enqueue(text) && kind != Some(HostKind::Allocator), kind }
        })
    }

    pub fn operator(&mut self, raw: &[u8], seen: Seen<'_>) -> Operator {
        self.operators.get(raw, seen, |text, name| Operator {
            name,
            kind: HostKind::of_operator(text),
            keeps_values: ["conv", "attention", "attn"].iter().any(|part| text.contains(part)),
        })
    }

    pub fn annotation(&mut self, raw: &[u8], seen: Seen<'_>) -> (Symbol, HostKind) {
        self.annotations.get(raw, seen, |text, name| (name, HostKind::of_range(text)))
    }

    pub fn text(&mut self, raw: &[u8], seen: Seen<'_>) -> Symbol {
        self.texts.get(raw, seen, |_, name| name)
    }

    /// A list as it is spelled, on one line however the file is laid out.
    pub fn list(&mut self, raw: &[u8], symbols: &mut Symbols) -> Symbol {
        if raw.is_empty() {
            return Symbol::EMPTY;
        }
        if let Some(&known) = self.lists.get(raw) {
            return known;
        }
        let symbol = symbols.intern(&on_one_line(&String::from_utf8_lossy(raw)));
        self.lists.insert(raw.into(), symbol);
        symbol
    }
}

/// What was decided for the bytes of a name.
#[derive(Debug)]
struct Cache<T>(FxHashMap<Box<[u8]>, T>);

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<T: Copy> Cache<T> {
    #[inline]
    fn get(&mut self, raw: &[u8], seen: Seen<'_>, decide: impl FnOnce(&str, Symbol) -> T) -> T {
        match self.0.get(raw) {
            Some(&known) => known,
            None => self.add(raw, seen, decide),
        }
    }

    #[cold]
    fn add(&mut self, raw: &[u8], seen: Seen<'_>, decide: impl FnOnce(&str, Symbol) -> T) -> T {
        let decoded = decode(raw);
        let example = || shortened(&decoded.text);
        if decoded.had_bad_utf8 {
            seen.reading.find(Cause::InvalidUtf8, seen.at, example);
        }
        if decoded.has_control_bytes {
            seen.reading.find(Cause::ControlByte, seen.at, example);
        }
        let symbol = seen.symbols.intern(&decoded.text);
        let value = decide(&decoded.text, symbol);
        self.0.insert(raw.into(), value);
        value
    }
}

/// A list without the white space between its items.
fn on_one_line(list: &str) -> String {
    let (mut in_string, mut is_escaped) = (false, false);
    list.chars()
        .filter(|&character| {
            in_string ^= character == '"' && !is_escaped;
            is_escaped = in_string && character == '\\' && !is_escaped;
            in_string || !character.is_ascii_whitespace()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stand_on_one_line() {
        assert_eq!(on_one_line("[\n  [64, 3],\n  []\n]"), "[[64,3],[]]");
        assert_eq!(on_one_line(r#"["long int", "a\" b", "c"]"#), r#"["long int","a\" b","c"]"#);
    }
}
