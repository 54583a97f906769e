//! Texts that the rows of a history repeat: a year of a fleet names the same few thousand jobs, hosts, days and versions in
//! hundreds of thousands of rows, so that each is kept once.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A text, cheap to clone.
///
/// ```
/// use goodput_decide::baseline::Label;
/// let job: Label = serde_json::from_str(r#""train-7""#)?;
/// assert_eq!(&*job, "train-7");
/// assert_eq!(job, Label::from("train-7"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(Arc<str>);

/// Versions of software by name, cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Versions(Arc<BTreeMap<Label, Label>>);

/// Distinct values that a thread keeps; a history with more of them starts again.
const MOST_KEPT: usize = 65_536;

thread_local! {
    static LABELS: RefCell<HashSet<Arc<str>>> = RefCell::default();
    static VERSIONS: RefCell<HashSet<Arc<BTreeMap<Label, Label>>>> = RefCell::default();
}

fn keep<T: ?Sized + Eq + Hash>(kept: &mut HashSet<Arc<T>>, value: &Arc<T>) {
    if kept.len() >= MOST_KEPT {
        kept.clear();
    }
    kept.insert(Arc::clone(value));
}

impl Label {
    fn shared(text: &str) -> Self {
        LABELS.with_borrow_mut(|kept| {
            if let Some(known) = kept.get(text) {
                return Self(Arc::clone(known));
            }
            let new = Arc::from(text);
            keep(kept, &new);
            Self(new)
        })
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Label;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Label, E> {
                Ok(Label::shared(text))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl Serialize for Label {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl Serialize for Versions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Versions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let versions = BTreeMap::deserialize(deserializer)?;
        Ok(VERSIONS.with_borrow_mut(|kept| {
            if let Some(known) = kept.get(&versions) {
                return Self(Arc::clone(known));
            }
            let new = Arc::new(versions);
            keep(kept, &new);
            Self(new)
        }))
    }
}

impl Deref for Label {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl<T: AsRef<str>> From<T> for Label {
    fn from(text: T) -> Self {
        Self(text.as_ref().into())
    }
}

impl Deref for Versions {
    type Target = BTreeMap<Label, Label>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl From<BTreeMap<String, String>> for Versions {
    fn from(versions: BTreeMap<String, String>) -> Self {
        Self(Arc::new(versions.into_iter().map(|(name, version)| (name.into(), version.into())).collect()))
    }
}

impl Versions {
    /// Whether none is stated.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same with another version of `name`.
    #[must_use]
    pub fn with(&self, name: &str, version: &str) -> Self {
        let mut versions = (*self.0).clone();
        versions.insert(name.into(), version.into());
        Self(Arc::new(versions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_and_versions_are_kept_once() {
        let json = r#"[{"nccl":"2.26"},{"nccl":"2.26"},{"nccl":"2.2\u0037"}]"#;
        let read: Vec<Versions> = serde_json::from_str(json).unwrap();
        assert!(Arc::ptr_eq(&read[0].0, &read[1].0));
        assert_eq!(read[2], read[0].with("nccl", "2.27"));
        let names: Vec<&Label> = read.iter().flat_map(|versions| versions.keys()).collect();
        assert!(names.iter().all(|name| Arc::ptr_eq(&name.0, &names[0].0)));
    }

    #[test]
    fn more_texts_than_are_kept_still_read() {
        let texts: Vec<String> = (0..MOST_KEPT + 10).map(|i| i.to_string()).collect();
        let read: Vec<Label> = serde_json::from_value(texts.clone().into()).unwrap();
        assert!(read.iter().zip(&texts).all(|(label, text)| **label == **text));
        LABELS.with_borrow(|kept| assert!(kept.len() <= MOST_KEPT));
    }
}
