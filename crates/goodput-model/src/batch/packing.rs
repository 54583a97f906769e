//! Documents of a packed row, from the arrays that training loops carry.

use super::{Batch, BatchError, Documents};

impl Batch {
    /// Documents between consecutive `cu_seqlens` (0, then the end of each document). Repeated
    /// values are empty documents and harmless.
    ///
    /// ```
    /// use goodput_model::Batch;
    /// let batch = Batch::from_cu_seqlens(&[0, 3, 3, 8])?;
    /// assert_eq!((batch.len(), batch.tokens()), (3, 8));
    /// # Ok::<(), goodput_model::BatchError>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchError::Boundary`] when they do not begin at 0 or ever fall.
    pub fn from_cu_seqlens(cu_seqlens: &[i64]) -> Result<Self, BatchError> {
        let mut batch = Self::default();
        for length in lengths("cu_seqlens", cu_seqlens)? {
            batch.push("cu_seqlens", document(length))?;
        }
        Ok(batch)
    }

    /// Documents that are padded one by one inside the row, as context parallelism and Transformer
    /// Engine do: attention runs over `real` lengths, everything else over `padded` ones.
    ///
    /// # Errors
    /// [`BatchError::Boundary`]; [`BatchError::Count`] when the two differ in length;
    /// [`BatchError::LongerThanRow`] when a document is longer than its padded place.
    pub fn from_padded_cu_seqlens(real: &[i64], padded: &[i64]) -> Result<Self, BatchError> {
        let places = lengths("cu_seqlens_padded", padded)?;
        let real = lengths("cu_seqlens", real)?;
        if places.len() != real.len() {
            let (found, documents) = (places.len() as u64, real.len() as u64);
            return Err(BatchError::Count { field: "cu_seqlens_padded", found, documents });
        }
        let mut batch = Self::default();
        let mut padding = 0;
        for (index, (length, place)) in real.into_iter().zip(places).enumerate() {
            if length > place {
                return Err(BatchError::LongerThanRow { field: "cu_seqlens", index, length, row: place });
            }
            batch.push("cu_seqlens", document(length))?;
            padding += place - length;
        }
        batch.with_padding(padding)
    }

    /// Documents from position ids that count 0, 1, 2, … inside each. Whatever does not settle the
    /// boundaries is refused: padding written as zeros looks like documents of one token, positions
    /// that do not begin at 0 or jump belong to another scheme, and those of multimodal rotary
    /// embeddings are not in order at all.
    ///
    /// # Errors
    /// [`BatchError::Ambiguous`] names the position.
    pub fn from_position_ids(position_ids: &[i64]) -> Result<Self, BatchError> {
        let ambiguous = |index, value, why| BatchError::Ambiguous { index, value, why };
        let mut batch = Self::default();
        let mut length = 0_u64;
        for (index, &value) in position_ids.iter().enumerate() {
            match (index, value) {
                (0, 0) => {}
                (0, _) => return Err(ambiguous(0, value, "a row that does not begin at 0")),
                (_, 0) if length == 1 => {
                    return Err(ambiguous(index, value, "a document of one token, or padding written as 0"));
                }
                (_, 0) => {
                    batch.push("position_ids", document(length))?;
                    length = 0;
                }
                _ if i64::try_from(length) == Ok(value) => {}
                _ => return Err(ambiguous(index, value, "neither the next position nor a new start")),
            }
            length += 1;
        }
        if length == 1 && position_ids.len() > 1 {
            let last = position_ids.len() - 1;
            return Err(ambiguous(last, 0, "a document of one token, or padding written as 0"));
        }
        if length > 0 {
            batch.push("position_ids", document(length))?;
        }
        Ok(batch)
    }
}

const fn document(length: u64) -> Documents {
    Documents { count: 1, length, source: 0, prefix: 0, attended: length }
}

fn lengths(field: &'static str, ends: &[i64]) -> Result<Vec<u64>, BatchError> {
    let boundary = |index, value, expected| BatchError::Boundary { field, index, value, expected };
    match ends.first() {
        Some(0) => {}
        Some(&value) => return Err(boundary(0, value, "0, where the first document begins")),
        None => return Err(BatchError::RowMismatch { field, sum: 0, row: 1 }),
    }
    let pairs = ends.windows(2).enumerate();
    pairs
        .map(|(index, pair)| {
            let fell = || boundary(index + 1, pair[1], "no less than the boundary before it");
            pair[1].checked_sub(pair[0]).and_then(|length| u64::try_from(length).ok()).ok_or_else(fell)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::mask::Mask;

    #[test]
    fn empty_documents_are_harmless() {
        let batch = Batch::from_cu_seqlens(&[0, 0, 5, 5, 9]).unwrap();
        assert_eq!((batch.len(), batch.tokens(), batch.pairs(Mask::Causal)), (4, 9, 15 + 10));
    }

    #[test]
    fn boundaries_that_fall_or_start_late_are_named() {
        let error = Batch::from_cu_seqlens(&[0, 5, 3]).unwrap_err();
        assert!(matches!(error, BatchError::Boundary { index: 2, value: 3, .. }), "{error}");
        assert!(matches!(Batch::from_cu_seqlens(&[1, 5]), Err(BatchError::Boundary { index: 0, .. })));
        assert!(matches!(Batch::from_cu_seqlens(&[0, i64::MAX]), Err(BatchError::TooLarge { .. })));
        assert!(Batch::from_cu_seqlens(&[]).is_err());
    }

    #[test]
    fn padded_places_cost_tokens_and_no_pairs() {
        let batch = Batch::from_padded_cu_seqlens(&[0, 5, 11], &[0, 8, 16]).unwrap();
        assert_eq!((batch.tokens(), batch.executed_tokens()), (11, 16));
        assert!(Batch::from_padded_cu_seqlens(&[0, 9], &[0, 8]).is_err());
        assert!(Batch::from_padded_cu_seqlens(&[0, 5], &[0, 8, 16]).is_err());
    }

    #[test]
    fn positions_that_settle_no_boundary_are_refused() {
        for (positions, index) in [
            (vec![0, 1, 2, 0, 0, 0], 4), // padding, or one-token documents
            (vec![0, 1, 0], 2),          // the same at the end
            (vec![4, 5, 6], 0),          // a document cut by the row
            (vec![0, 1, 7, 8], 2),       // long-context synthesis
            (vec![0, 1, 1, 1, 2], 2),    // multimodal rotary positions
            (vec![0, -1], 1),
        ] {
            let error = Batch::from_position_ids(&positions).unwrap_err();
            assert!(matches!(error, BatchError::Ambiguous { index: found, .. } if found == index), "{error}");
        }
        assert_eq!(Batch::from_position_ids(&[0]).unwrap().tokens(), 1);
        assert_eq!(Batch::from_position_ids(&[]).unwrap().tokens(), 0);
    }

    #[test]
    fn lengths_must_fill_the_row() {
        let error = Batch::packed(&[10, 20], 32).unwrap_err();
        assert_eq!(error, BatchError::RowMismatch { field: "lengths", sum: 30, row: 32 });
        assert!(Batch::padded_rows(&[10, 40], 32).is_err());
    }

    /// Work a document is constant: a quadratic batch would not end here.
    #[test]
    fn a_million_documents_are_counted_at_once() {
        let lengths: Vec<u64> = (0..1_000_000).map(|index| index % 4096).collect();
        let batch = Batch::documents(&lengths).unwrap();
        assert_eq!(batch.len(), 1_000_000);
        let one_by_one: u128 = lengths.iter().map(|&length| Mask::Causal.pairs(length)).sum();
        assert_eq!(batch.pairs(Mask::Causal), one_by_one);
    }

    proptest! {
        #[test]
        fn every_form_gives_the_same_documents(lengths in prop::collection::vec(2_u64..40, 0..20)) {
            let mut ends = vec![0_i64];
            let mut positions = Vec::new();
            for &length in &lengths {
                let length = i64::try_from(length).unwrap();
                ends.push(ends[ends.len() - 1] + length);
                positions.extend(0..length);
            }
            let documents = Batch::documents(&lengths).unwrap();
            prop_assert_eq!(&documents, &Batch::from_cu_seqlens(&ends).unwrap());
            prop_assert_eq!(&documents, &Batch::from_position_ids(&positions).unwrap());
        }

        #[test]
        fn a_row_costs_at_least_its_documents(lengths in prop::collection::vec(0_u64..40, 0..20)) {
            let padded = Batch::padded_rows(&lengths, 40).unwrap();
            let real = Batch::documents(&lengths).unwrap();
            prop_assert_eq!(padded.tokens(), real.tokens());
            prop_assert_eq!(padded.executed_tokens(), 40 * lengths.len() as u64);
            prop_assert_eq!(padded.pairs(Mask::Causal), real.pairs(Mask::Causal));
        }
    }
}
