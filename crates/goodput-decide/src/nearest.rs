//! The known name that a person may have meant.

/// The known name with the fewest edits to what was written (Damerau, 1964); none where none is known.
pub(crate) fn nearest<T: AsRef<str>>(written: &str, known: impl IntoIterator<Item = T>) -> Option<T> {
    known.into_iter().min_by_key(|name| strsim::damerau_levenshtein(name.as_ref(), written))
}
