//! Where a record came from.

/// A file, numbered in the order in which the user named it. Readers keep the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileId(pub u16);

/// One record in one input file: what a person opens to check a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SourceRef {
    /// The file.
    pub file: FileId,
    /// One-based line; for documents without lines, the one-based index of the record.
    pub line: u32,
}
