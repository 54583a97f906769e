//! Interned names: a job table of a million rows repeats a few hundred strings.

use rustc_hash::FxHashMap;

/// A handle to a string in [`Symbols`]. The empty string is [`Symbol::EMPTY`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Symbol(u32);

impl Symbol {
    /// The empty string.
    pub const EMPTY: Self = Self(0);

    /// Position in the table, for dense side tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A table of distinct strings.
///
/// ```
/// use goodput_core::records::{Symbol, Symbols};
/// let mut names = Symbols::new();
/// let train = names.intern("train");
/// assert_eq!(names.intern("train"), train);
/// assert_eq!(names.get(train), "train");
/// assert_eq!(names.get(Symbol::EMPTY), "");
/// ```
#[derive(Debug, Clone)]
pub struct Symbols {
    strings: Vec<Box<str>>,
    by_string: FxHashMap<Box<str>, u32>,
}

impl Default for Symbols {
    fn default() -> Self {
        Self::new()
    }
}

impl Symbols {
    /// A table that holds the empty string only.
    pub fn new() -> Self {
        let mut symbols = Self { strings: Vec::new(), by_string: FxHashMap::default() };
        symbols.intern("");
        symbols
    }

    /// The handle of `string`, added if it is new.
    pub fn intern(&mut self, string: &str) -> Symbol {
        if let Some(&id) = self.by_string.get(string) {
            return Symbol(id);
        }
        let id = u32::try_from(self.strings.len()).unwrap_or(u32::MAX);
        self.strings.push(string.into());
        self.by_string.insert(string.into(), id);
        Symbol(id)
    }

    /// The handle of `string` if it is in the table.
    pub fn find(&self, string: &str) -> Option<Symbol> {
        self.by_string.get(string).map(|&id| Symbol(id))
    }

    /// The string behind a handle of this table.
    pub fn get(&self, symbol: Symbol) -> &str {
        self.strings.get(symbol.index()).map_or("", |s| s)
    }

    /// How many distinct strings there are.
    pub fn len(&self) -> usize {
        self.strings.len()
    }

    /// Never true: the empty string is always there.
    pub fn is_empty(&self) -> bool {
        self.strings.is_empty()
    }
}
