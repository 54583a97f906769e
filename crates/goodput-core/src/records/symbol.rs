//! Interned names: a job table of a million rows repeats a few hundred strings.

use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

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

/// A table of distinct strings, stored end to end: besides its text a string costs some 14 bytes.
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
    text: String,
    /// Where each string ends in `text`; it begins where the one before it ends.
    ends: Vec<usize>,
    by_string: HashTable<u32>,
}

impl Default for Symbols {
    fn default() -> Self {
        Self::new()
    }
}

impl Symbols {
    /// A table that holds the empty string only.
    pub fn new() -> Self {
        let mut symbols = Self { text: String::new(), ends: Vec::new(), by_string: HashTable::new() };
        symbols.intern("");
        symbols
    }

    /// The handle of `string`, added if it is new.
    pub fn intern(&mut self, string: &str) -> Symbol {
        let hash = hash(string);
        if let Some(&id) = self.by_string.find(hash, |&id| self.get(Symbol(id)) == string) {
            return Symbol(id);
        }
        let id = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.text.push_str(string);
        self.ends.push(self.text.len());
        let (text, ends) = (&self.text, &self.ends);
        self.by_string.insert_unique(hash, id, |&id| self::hash(slice(text, ends, id as usize)));
        Symbol(id)
    }

    /// The handle of `string` if it is in the table.
    pub fn find(&self, string: &str) -> Option<Symbol> {
        self.by_string.find(hash(string), |&id| self.get(Symbol(id)) == string).map(|&id| Symbol(id))
    }

    /// The string behind a handle of this table.
    pub fn get(&self, symbol: Symbol) -> &str {
        slice(&self.text, &self.ends, symbol.index())
    }

    /// How many distinct strings there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true: the empty string is always there.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

fn hash(string: &str) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(string)
}

fn slice<'a>(text: &'a str, ends: &[usize], index: usize) -> &'a str {
    let start = index.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    ends.get(index).and_then(|&end| text.get(start..end)).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_strings_share_a_handle_and_come_back(strings in proptest::collection::vec("\\PC{0,6}", 0..200)) {
            let mut symbols = Symbols::new();
            let handles: Vec<Symbol> = strings.iter().map(|string| symbols.intern(string)).collect();
            for (string, &handle) in strings.iter().zip(&handles) {
                prop_assert_eq!(symbols.get(handle), string);
                prop_assert_eq!(symbols.find(string), Some(handle));
            }
            let distinct: std::collections::BTreeSet<&str> =
                strings.iter().map(String::as_str).chain([""]).collect();
            prop_assert_eq!(symbols.len(), distinct.len());
        }
    }
}
