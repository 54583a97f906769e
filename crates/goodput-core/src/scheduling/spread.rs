//! Sorting by a number that is spread over a range, as instants are over a window.

/// Elements for one stretch of the range, where they are spread evenly.
const ELEMENTS_A_STRETCH: usize = 4;

/// Elements go to so many places at once that these places, and no more, stay in the cache.
const MOST_STRETCHES: usize = 1 << 10;

/// Fewer elements than this are sorted by comparing.
const FEW: usize = 32;

/// Sorts by `key`, of which `number` is the most significant part; all numbers agree in all but the lowest `bits` bits.
///
/// Elements are brought into equal stretches of the range, in place, and so are those of each stretch again; what is left
/// to compare are short lists.
pub(super) fn sort_spread<T: Copy, K: Ord>(
    elements: &mut [T],
    bits: u32,
    number: impl Fn(&T) -> u64 + Copy,
    key: impl Fn(&T) -> K + Copy,
) {
    if elements.len() < FEW || bits == 0 {
        elements.sort_unstable_by_key(key);
        return;
    }
    let most = (elements.len() / ELEMENTS_A_STRETCH).min(MOST_STRETCHES);
    let bits_below = bits.saturating_sub(most.ilog2());
    let mask = (1 << (bits - bits_below)) - 1;
    let stretch = |element: &T| (number(element) >> bits_below) as usize & mask;
    let mut ends = [0u32; MOST_STRETCHES];
    for element in elements.iter() {
        ends[stretch(element)] += 1;
    }
    // `next[s]` is the first place of stretch `s` whose element is not known to belong there.
    let mut next = [0u32; MOST_STRETCHES];
    let mut end = 0;
    for (end_of, next) in ends.iter_mut().zip(&mut next) {
        *next = end;
        end += *end_of;
        *end_of = end;
    }
    for here in 0..=mask {
        while next[here] < ends[here] {
            let there = stretch(&elements[next[here] as usize]);
            elements.swap(next[here] as usize, next[there] as usize);
            next[there] += 1;
        }
    }
    let mut begin = 0;
    for &end in &ends[..=mask] {
        sort_spread(&mut elements[begin as usize..end as usize], bits_below, number, key);
        begin = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sorted_as_any_other_sort_does(
            mut pairs in proptest::collection::vec((0u64..5000, 0u8..4), 0..300),
            mut crowded in proptest::collection::vec((4990u64..5000, 0u8..4), 0..9000),
        ) {
            pairs.append(&mut crowded);
            let mut expected = pairs.clone();
            expected.sort_unstable();
            sort_spread(&mut pairs, 13, |pair| pair.0, |pair| *pair);
            prop_assert_eq!(pairs, expected);
        }
    }
}
