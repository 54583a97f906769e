//! Why lengths or positions give no batch.

/// A batch that cannot be, with the field that is why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// Lengths that do not fill the row.
    #[error(
        "`{field}` add up to {sum} tokens, but the row has {row}; declare the rest as padding, or correct the lengths"
    )]
    RowMismatch {
        /// The field.
        field: &'static str,
        /// What it adds up to.
        sum: u64,
        /// The row.
        row: u64,
    },
    /// A document longer than its row, or a prefix longer than its document.
    #[error("`{field}[{index}]` is {length}, more than the {row} tokens that hold it")]
    LongerThanRow {
        /// The field.
        field: &'static str,
        /// Its element.
        index: usize,
        /// That element.
        length: u64,
        /// What holds it.
        row: u64,
    },
    /// More than can be counted exactly.
    #[error("`{field}` make the batch larger than {most} tokens or patches; is a length in bytes, or an id?")]
    TooLarge {
        /// The field.
        field: &'static str,
        /// The limit.
        most: u64,
    },
    /// Not one value to a document.
    #[error("`{field}` has {found} values for {documents} documents; expected one each")]
    Count {
        /// The field.
        field: &'static str,
        /// Values.
        found: u64,
        /// Documents.
        documents: u64,
    },
    /// Boundaries that are no boundaries.
    #[error("`{field}[{index}]` is {value}; expected {expected}")]
    Boundary {
        /// The field.
        field: &'static str,
        /// Its element.
        index: usize,
        /// That element.
        value: i64,
        /// What it may be.
        expected: &'static str,
    },
    /// Positions from which boundaries do not follow.
    #[error("`position_ids[{index}]` is {value}: {why}; give cu_seqlens or lengths instead")]
    Ambiguous {
        /// The element.
        index: usize,
        /// Its value.
        value: i64,
        /// What it may mean.
        why: &'static str,
    },
    /// An image without patches.
    #[error("`images[{index}]` has no patches; expected frames, rows and columns of at least 1")]
    EmptyImage {
        /// The image.
        index: usize,
    },
    /// A grid that the tower's merged cells do not tile.
    #[error(
        "`images[{index}]` has a grid of {height}x{width} patches; the tower merges {side}x{side} of them"
    )]
    Grid {
        /// The image, counting runs of equal images once.
        index: usize,
        /// Patches down.
        height: u64,
        /// Patches across.
        width: u64,
        /// Patches along a merged cell's side.
        side: u64,
    },
    /// A batch with something that the model does not read.
    #[error("the batch has {found}, but {model} has no {missing}")]
    NotRead {
        /// What there is.
        found: &'static str,
        /// The model.
        model: String,
        /// What would read it.
        missing: &'static str,
    },
    /// A model that reads something that the batch does not have.
    #[error("{model} reads {missing}, but the batch has none; {remedy}")]
    NotGiven {
        /// The model.
        model: String,
        /// What is missing.
        missing: &'static str,
        /// How to give it.
        remedy: &'static str,
    },
}
