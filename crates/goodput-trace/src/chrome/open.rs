//! Events that are written in two, `B` and `E`, paired per process and thread.

use rustc_hash::FxHashMap;

/// Begun events of one thread at a time: more is no call stack, and memory must be bounded.
const MAX_OPEN: usize = 4096;

/// An event that has begun.
pub(super) struct Begun {
    /// Its text.
    pub raw: Box<[u8]>,
    /// Where the text begins.
    pub at: u64,
    name: Box<[u8]>,
}

/// Process and thread, as they are spelled.
type ThreadKey = (Box<[u8]>, Box<[u8]>);

/// Begun events by thread.
#[derive(Default)]
pub(super) struct OpenEvents {
    stacks: FxHashMap<ThreadKey, Vec<Begun>>,
}

impl OpenEvents {
    /// Keeps a begun event; `false` when there are too many.
    pub fn begin(&mut self, process: &[u8], thread: &[u8], name: &[u8], raw: &[u8], at: u64) -> bool {
        let stack = self.stacks.entry((process.into(), thread.into())).or_default();
        let has_room = stack.len() < MAX_OPEN;
        if has_room {
            stack.push(Begun { raw: raw.into(), at, name: name.into() });
        }
        has_room
    }

    /// What an end ends: the last one begun of that name, or of any when the end has none.
    pub fn end(&mut self, process: &[u8], thread: &[u8], name: &[u8]) -> Option<Begun> {
        let stack = self.stacks.get_mut(&(Box::from(process), Box::from(thread)))?;
        let index = stack.iter().rposition(|begun| name.is_empty() || *begun.name == *name)?;
        Some(stack.remove(index))
    }

    /// What never ended, by place.
    pub fn left(self) -> Vec<Begun> {
        let mut left: Vec<_> = self.stacks.into_values().flatten().collect();
        left.sort_by_key(|begun| begun.at);
        left
    }
}
