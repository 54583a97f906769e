//! Where one byte stands in a line.

const LOW_BITS: u64 = u64::from_ne_bytes([0x7f; 8]);

/// The positions of `byte` in `line`, in order, given to `found`.
///
/// Eight bytes are looked at together. Fields are some ten bytes long, and a search routine for long texts spends more on
/// starting anew after each than on the search.
pub(super) fn positions(byte: u8, line: &[u8], mut found: impl FnMut(usize)) {
    let pattern = u64::from_ne_bytes([byte; 8]);
    let (words, rest) = line.as_chunks::<8>();
    for (index, &word) in words.iter().enumerate() {
        let difference = u64::from_le_bytes(word) ^ pattern;
        // The high bit of each byte that is zero.
        let mut hits = !(((difference & LOW_BITS) + LOW_BITS) | difference | LOW_BITS);
        while hits != 0 {
            found(index * 8 + hits.trailing_zeros() as usize / 8);
            hits &= hits - 1;
        }
    }
    let begin = line.len() - rest.len();
    for (index, _) in rest.iter().enumerate().filter(|&(_, &other)| other == byte) {
        found(begin + index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_position_is_found(byte in 0x7e_u8..0x82, line in proptest::collection::vec(0x7d_u8..0x83, 0..60)) {
            let mut found = Vec::new();
            positions(byte, &line, |at| found.push(at));
            let expected: Vec<usize> = (0..line.len()).filter(|&at| line[at] == byte).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
