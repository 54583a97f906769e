//! Interned names: a job table of a million rows repeats a few hundred strings.

use std::hash::{BuildHasher, BuildHasherDefault};
use std::num::NonZeroU32;

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};

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

/// A table of distinct strings, stored end to end: besides its text a string costs some 20 bytes.
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
    by_string: HashTable<Entry>,
    /// Decimal numbers by pages: job ids come in order, so that their page is at hand where a hash would miss the cache.
    by_number: FxHashMap<u32, Box<[Option<NonZeroU32>; PAGE]>>,
}

/// Numbers a page: few, since ids may also be scattered.
const PAGE: usize = 16;

/// A string with its hash, so that the table grows without looking at the text again, and its place in the text, so
/// that a look-up touches no other table.
#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u32,
    id: u32,
    /// [`FAR`] when the text has grown beyond what 32 bits reach.
    start: u32,
    length: u32,
}

/// The place is to be looked up in [`Symbols::ends`].
const FAR: u32 = u32::MAX;

/// The hash spread over the bits that the table looks at.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Default for Symbols {
    fn default() -> Self {
        Self::new()
    }
}

impl Symbols {
    /// A table that holds the empty string only.
    pub fn new() -> Self {
        let mut symbols = Self {
            text: String::new(),
            ends: Vec::new(),
            by_string: HashTable::new(),
            by_number: FxHashMap::default(),
        };
        symbols.intern("");
        symbols
    }

    /// The handle of `string`, added if it is new.
    pub fn intern(&mut self, string: &str) -> Symbol {
        let id = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        if let Some((page, place)) = number(string) {
            let slot = &mut self.by_number.entry(page).or_insert_with(|| Box::new([None; PAGE]))[place];
            if let Some(id) = *slot {
                return Symbol(id.get());
            }
            *slot = NonZeroU32::new(id);
            self.text.push_str(string);
            self.ends.push(self.text.len());
            return Symbol(id);
        }
        let hash = hash(string);
        if let Some(symbol) = self.find_entry(hash, string) {
            return symbol;
        }
        let short = |length: usize| u32::try_from(length).unwrap_or(FAR);
        let entry = Entry { hash, id, start: short(self.text.len()), length: short(string.len()) };
        self.text.push_str(string);
        self.ends.push(self.text.len());
        self.by_string.insert_unique(spread(entry.hash), entry, |entry| spread(entry.hash));
        Symbol(id)
    }

    /// The handle of `string` if it is in the table.
    pub fn find(&self, string: &str) -> Option<Symbol> {
        if let Some((page, place)) = number(string) {
            return self.by_number.get(&page)?[place].map(|id| Symbol(id.get()));
        }
        self.find_entry(hash(string), string)
    }

    fn find_entry(&self, hash: u32, string: &str) -> Option<Symbol> {
        let text = |entry: &Entry| {
            let start = entry.start as usize;
            self.text.as_bytes().get(start..start + entry.length as usize)
        };
        let is_it = |entry: &Entry| {
            entry.hash == hash
                && if entry.start == FAR || entry.length == FAR {
                    self.get(Symbol(entry.id)) == string
                } else {
                    text(entry) == Some(string.as_bytes())
                }
        };
        self.by_string.find(spread(hash), is_it).map(|entry| Symbol(entry.id))
    }

    /// The string behind a handle of this table.
    pub fn get(&self, symbol: Symbol) -> &str {
        let index = symbol.index();
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(index).and_then(|&end| self.text.get(start..end)).unwrap_or("")
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

/// Page and place of a number that prints as `string`; other strings have none.
fn number(string: &str) -> Option<(u32, usize)> {
    if !(1..=9).contains(&string.len()) || string.starts_with('0') {
        return None;
    }
    let number = string
        .bytes()
        .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))?;
    Some((number / PAGE as u32, number as usize % PAGE))
}

fn hash(string: &str) -> u32 {
    let hash = BuildHasherDefault::<FxHasher>::default().hash_one(string);
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_strings_share_a_handle_and_come_back(strings in proptest::collection::vec("\\PC{0,6}|[0-9]{0,3}", 0..200)) {
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
