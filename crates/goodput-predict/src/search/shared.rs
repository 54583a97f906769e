//! Results that many candidates have in common.

use std::hash::{BuildHasher, Hash};
use std::sync::{PoisonError, RwLock};

use rustc_hash::{FxBuildHasher, FxHashMap};

/// A table that all threads read and add to: times of a layer by its degrees, of an exchange by its size. Values are small and cloned.
#[derive(Debug)]
pub struct Shared<K, V> {
    shards: [RwLock<FxHashMap<K, V>>; SHARDS],
}

const SHARDS: usize = 16;

impl<K, V> Default for Shared<K, V> {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| RwLock::default()) }
    }
}

impl<K: Hash + Eq, V: Clone> Shared<K, V> {
    /// The value of a key, made by `make` when it is not there. Two threads may make it at once; the first to finish is kept.
    pub fn get(&self, key: K, make: impl FnOnce(&K) -> V) -> V {
        // The map uses the upper bits too: take others.
        let shard = &self.shards[FxBuildHasher.hash_one(&key) as usize >> 7 & (SHARDS - 1)];
        if let Some(value) = shard.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return value.clone();
        }
        let value = make(&key);
        shard.write().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert(value).clone()
    }

    /// Values kept.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().unwrap_or_else(PoisonError::into_inner).len()).sum()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
