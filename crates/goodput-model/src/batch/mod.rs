//! What one step works on: documents and images, real tokens and padding apart.

mod error;
mod images;
mod packing;

pub use error::BatchError;
pub use images::Grid;

use crate::mask::Mask;
use crate::operations::Unit;

/// The most tokens or patches of one batch; sums of pairs then fit exact integers.
const MOST: u64 = 1 << 47;

/// Equal documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Documents {
    count: u64,
    length: u64,
    /// Tokens of the source that an encoder reads for each.
    source: u64,
    /// Leading tokens that see each other under a prefix mask.
    prefix: u64,
    /// Tokens that each is padded to inside its row, when attention runs over them too.
    attended: u64,
}

/// A unit counted on real data, and as executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub useful: u128,
    pub executed: u128,
}

/// Documents, and images that a vision tower reads.
///
/// ```
/// use goodput_model::{Batch, Mask};
///
/// // Ten documents of 2,979 tokens and one of 2,978 fill a row of 32,768.
/// let mut lengths = vec![2979; 10];
/// lengths.push(2978);
/// let batch = Batch::packed(&lengths, 32_768)?;
/// assert_eq!(batch.pairs(Mask::Causal), 48_822_831);
/// # Ok::<(), goodput_model::BatchError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    documents: Vec<Documents>,
    /// Padding between documents, which no attention pairs with a document.
    padding: u64,
    images: Vec<(u64, Grid)>,
    /// Real tokens of the documents.
    tokens: u64,
    /// The same with their own padding.
    attended: u64,
    /// Tokens of the sources.
    sources: u64,
    patches: u64,
}

impl Batch {
    /// Documents of these lengths, without padding. Empty ones are harmless.
    ///
    /// # Errors
    /// [`BatchError::TooLarge`].
    pub fn documents(lengths: &[u64]) -> Result<Self, BatchError> {
        let mut batch = Self::default();
        for &length in lengths {
            batch.push("lengths", Documents { count: 1, length, source: 0, prefix: 0, attended: length })?;
        }
        Ok(batch)
    }

    /// Documents that fill a row exactly.
    ///
    /// # Errors
    /// [`BatchError::RowMismatch`] when they do not; [`BatchError::TooLarge`].
    pub fn packed(lengths: &[u64], row: u64) -> Result<Self, BatchError> {
        let batch = Self::documents(lengths)?;
        if batch.tokens != row {
            return Err(BatchError::RowMismatch { field: "lengths", sum: batch.tokens, row });
        }
        Ok(batch)
    }

    /// `rows` sequences, each one document that fills its row.
    ///
    /// # Errors
    /// [`BatchError::TooLarge`].
    pub fn rows(rows: u64, length: u64) -> Result<Self, BatchError> {
        let mut batch = Self::default();
        batch.push("rows", Documents { count: rows, length, source: 0, prefix: 0, attended: length })?;
        Ok(batch)
    }

    /// One document to a row, of these lengths; what is left of each row of `row` tokens is
    /// padding over which projections and attention run all the same.
    ///
    /// # Errors
    /// [`BatchError::LongerThanRow`], [`BatchError::TooLarge`].
    pub fn padded_rows(lengths: &[u64], row: u64) -> Result<Self, BatchError> {
        let mut batch = Self::default();
        for (index, &length) in lengths.iter().enumerate() {
            if length > row {
                return Err(BatchError::LongerThanRow { field: "lengths", index, length, row });
            }
            batch.push("lengths", Documents { count: 1, length, source: 0, prefix: 0, attended: row })?;
        }
        Ok(batch)
    }

    /// The same documents, each with the tokens that an encoder reads for it (or a prompt, for a
    /// diffusion transformer), in order.
    ///
    /// # Errors
    /// [`BatchError::Count`] when there is not one source to a document.
    pub fn with_sources(self, sources: &[u64]) -> Result<Self, BatchError> {
        self.with_each("sources", sources, |document, source| document.source = source)
    }

    /// The same documents, each with the length of its bidirectional prefix, in order.
    ///
    /// # Errors
    /// [`BatchError::Count`]; [`BatchError::LongerThanRow`] when a prefix is longer than its document.
    pub fn with_prefixes(self, prefixes: &[u64]) -> Result<Self, BatchError> {
        let batch = self.with_each("prefixes", prefixes, |document, prefix| document.prefix = prefix)?;
        let longer = batch.documents.iter().position(|document| document.prefix > document.length);
        match longer.map(|index| (index, batch.documents[index])) {
            Some((index, Documents { prefix, length, .. })) => {
                Err(BatchError::LongerThanRow { field: "prefixes", index, length: prefix, row: length })
            }
            None => Ok(batch),
        }
    }

    fn with_each(
        self,
        field: &'static str,
        values: &[u64],
        set: impl Fn(&mut Documents, u64),
    ) -> Result<Self, BatchError> {
        let documents: u64 = self.documents.iter().map(|documents| documents.count).sum();
        if documents != values.len() as u64 {
            return Err(BatchError::Count { field, found: values.len() as u64, documents });
        }
        let mut each = values.iter();
        let mut batch = Self { padding: self.padding, ..Self::default() };
        for run in &self.documents {
            for &value in each.by_ref().take(usize::try_from(run.count).unwrap_or(usize::MAX)) {
                let mut document = Documents { count: 1, ..*run };
                set(&mut document, value);
                batch.push(field, document)?;
            }
        }
        batch.images = self.images;
        batch.patches = self.patches;
        Ok(batch)
    }

    /// The same batch with `tokens` of padding that no attention runs over.
    ///
    /// # Errors
    /// [`BatchError::TooLarge`].
    pub fn with_padding(mut self, tokens: u64) -> Result<Self, BatchError> {
        self.padding = self.padding.saturating_add(tokens);
        if self.padding > MOST {
            return Err(BatchError::TooLarge { field: "padding", most: MOST });
        }
        Ok(self)
    }

    fn push(&mut self, field: &'static str, documents: Documents) -> Result<(), BatchError> {
        let longest = documents.attended.checked_add(documents.source);
        let tokens = longest.and_then(|longest| longest.checked_mul(documents.count));
        let tokens = tokens.and_then(|tokens| tokens.checked_add(self.attended + self.sources));
        if tokens.is_none_or(|tokens| tokens > MOST) {
            return Err(BatchError::TooLarge { field, most: MOST });
        }
        self.tokens += documents.count * documents.length;
        self.attended += documents.count * documents.attended;
        self.sources += documents.count * documents.source;
        match self.documents.last_mut() {
            Some(last) if (Documents { count: last.count, ..documents }) == *last => {
                last.count += documents.count;
            }
            _ => self.documents.push(documents),
        }
        Ok(())
    }

    /// Real tokens of the documents.
    pub const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Tokens of the documents with their padding.
    pub const fn executed_tokens(&self) -> u64 {
        self.attended + self.padding
    }

    /// Attention pairs of the real tokens, by the documents that they are in.
    pub fn pairs(&self, mask: Mask) -> u128 {
        let pairs = |documents: &Documents| {
            u128::from(documents.count) * mask.pairs_with_prefix(documents.length, documents.prefix)
        };
        self.documents.iter().map(pairs).sum()
    }

    /// Whether an encoder has anything to read.
    pub const fn has_sources(&self) -> bool {
        self.sources > 0
    }

    /// Whether a vision tower has anything to read.
    pub fn has_images(&self) -> bool {
        !self.images.is_empty()
    }

    /// Documents, the empty ones included.
    pub fn len(&self) -> u64 {
        self.documents.iter().map(|documents| documents.count).sum()
    }

    /// Whether there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.tokens == 0 && self.padding == 0 && !self.has_images() && !self.has_sources()
    }

    pub(crate) fn count(&self, unit: Unit) -> Count {
        match unit {
            Unit::Tokens => Count { useful: self.tokens.into(), executed: self.executed_tokens().into() },
            Unit::Pairs(mask) => self.sum(
                |document| mask.pairs_with_prefix(document.length, document.prefix),
                |document| mask.pairs_with_prefix(document.attended, document.prefix),
            ),
            Unit::Documents => self.same(|_| 1),
            Unit::SourceTokens => self.same(|document| document.source.into()),
            Unit::SourcePairs => self.same(|document| Mask::Bidirectional.pairs(document.source)),
            Unit::JointTokens => {
                let tokens = |length: u64, source: u64| u128::from(length) + u128::from(source);
                self.sum(
                    |document| tokens(document.length, document.source),
                    |document| tokens(document.attended, document.source),
                )
            }
            Unit::CrossPairs => {
                let pairs = |length: u64, source: u64| u128::from(length) * u128::from(source);
                self.sum(
                    |document| pairs(document.length, document.source),
                    |document| pairs(document.attended, document.source),
                )
            }
            Unit::JointPairs => self.sum(
                |document| Mask::Bidirectional.pairs(document.length + document.source),
                |document| Mask::Bidirectional.pairs(document.attended + document.source),
            ),
            Unit::Patches
            | Unit::PatchTokens { .. }
            | Unit::Frames
            | Unit::FramePairs { .. }
            | Unit::WindowPairs { .. }
            | Unit::Cells { .. } => self.count_images(unit),
        }
    }

    fn same(&self, each: impl Fn(&Documents) -> u128) -> Count {
        let total = self.documents.iter().map(|document| u128::from(document.count) * each(document)).sum();
        Count { useful: total, executed: total }
    }

    fn sum(&self, useful: impl Fn(&Documents) -> u128, executed: impl Fn(&Documents) -> u128) -> Count {
        let mut count = Count::default();
        for document in &self.documents {
            let times = u128::from(document.count);
            let real = times * useful(document);
            count.useful += real;
            count.executed +=
                if document.attended == document.length { real } else { times * executed(document) };
        }
        count
    }
}
