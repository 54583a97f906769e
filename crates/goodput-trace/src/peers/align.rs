//! Which collective of one rank is which of another, when no sequence number says so.
//!
//! Captures start at different collectives, lose some and end apart. From where the shift of the starts holds, the
//! longest common subsequence is followed both ways (Myers 1986, "An O(ND) Difference Algorithm and Its Variations"),
//! in blocks, so that the work stays near-linear.

use super::shift::{shift, start_of};

/// A collective as far as ranks can be compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    /// Hash of what is alike on all members: kind, sizes, name.
    pub signature: u64,
    /// The numbered step that launched it.
    pub step: Option<i64>,
    /// End on the rank's own clock.
    pub end_ns: i64,
}

impl Item {
    pub fn is_like(&self, other: &Self) -> bool {
        self.signature == other.signature
            && match (self.step, other.step) {
                (Some(mine), Some(theirs)) => mine == theirs,
                _ => true,
            }
    }
}

/// Agreeing pairs in a row by which a shift is seen to hold.
const HOLDS: usize = 8;
/// Pairs within which a shift must begin to hold.
const MAX_LOST: usize = 64;
/// Edits that are searched before the best path is taken as it is.
const MAX_EDITS: usize = 256;
/// Agreeing pairs after which a path is taken.
const RESYNCHRONISED: usize = 32;

/// For each item of `other` its index in `reference`. `one_clock` says that both count from 1970.
pub(super) fn align(reference: &[Item], other: &[Item], one_clock: bool) -> Vec<Option<u32>> {
    let partner = align_as_numbered(reference, other, one_clock);
    if partner.iter().any(Option::is_some) {
        return partner;
    }
    // Ranks may number their steps from different ones.
    let unnumbered =
        |items: &[Item]| items.iter().map(|item| Item { step: None, ..*item }).collect::<Vec<_>>();
    align_as_numbered(&unnumbered(reference), &unnumbered(other), one_clock)
}

fn align_as_numbered(reference: &[Item], other: &[Item], one_clock: bool) -> Vec<Option<u32>> {
    let (x, y) = anchor(reference, other, shift(reference, other, one_clock));
    let mut partner = vec![None; other.len()];
    let mut pair = |left: usize, right: usize| partner[right] = u32::try_from(left).ok();
    follow(&reference[x..], &other[y..], |left, right| pair(x + left, y + right));
    let backwards = |items: &[Item]| items.iter().rev().copied().collect::<Vec<_>>();
    follow(&backwards(&reference[..x]), &backwards(&other[..y]), |left, right| {
        pair(x - 1 - left, y - 1 - right)
    });
    partner
}

/// Where a shift begins to hold.
fn anchor(reference: &[Item], other: &[Item], shift: isize) -> (usize, usize) {
    let (x, y) = start_of(shift);
    let (x, y) = (x.min(reference.len()), y.min(other.len()));
    let holds = |at: &usize| {
        let pairs = reference[x + at..].iter().zip(&other[y + at..]).take(HOLDS);
        pairs.clone().count() > 0 && pairs.clone().all(|(left, right)| left.is_like(right))
    };
    let overlap = (reference.len() - x).min(other.len() - y);
    let at = (0..overlap.min(MAX_LOST)).find(holds).unwrap_or(0);
    (x + at, y + at)
}

/// Tells the pairs of a longest common subsequence, from the start of both.
fn follow(reference: &[Item], other: &[Item], mut pair: impl FnMut(usize, usize)) {
    let (mut x, mut y) = (0, 0);
    while x < reference.len() && y < other.len() {
        if reference[x].is_like(&other[y]) {
            pair(x, y);
            (x, y) = (x + 1, y + 1);
            continue;
        }
        let detour = Detour::around(&reference[x..], &other[y..]);
        for (left, right) in detour.pairs {
            pair(x + left, y + right);
        }
        (x, y) = (x + detour.left, y + detour.right);
    }
}

/// A way around a difference: how much of each side it takes, and the pairs on it.
struct Detour {
    left: usize,
    right: usize,
    pairs: Vec<(usize, usize)>,
}

/// A run of agreeing pairs on a path.
#[derive(Clone, Copy)]
struct Run {
    left: usize,
    right: usize,
    length: usize,
    before: Option<usize>,
}

/// How far a diagonal has come, and its last run.
#[derive(Clone, Copy, Default)]
struct Reach {
    left: usize,
    last: Option<usize>,
}

impl Detour {
    /// The shortest edit script from here until enough agree again, both ends are reached, or the edits are used up.
    fn around(left: &[Item], right: &[Item]) -> Self {
        // `diagonals[middle + left index - right index]`
        let middle = MAX_EDITS + 1;
        let mut diagonals = vec![Reach::default(); 2 * middle + 1];
        let mut runs: Vec<Run> = Vec::new();
        for edits in 1..=MAX_EDITS {
            let mut best: Option<(usize, usize, Option<usize>)> = None;
            for at in (middle - edits..=middle + edits).step_by(2) {
                let (below, above) = (diagonals[at - 1], diagonals[at + 1]);
                let skips_right = at == middle - edits || (at != middle + edits && below.left < above.left);
                let mut reach = if skips_right { above } else { Reach { left: below.left + 1, ..below } };
                let Some(y) = (reach.left + middle).checked_sub(at) else { continue };
                let length = match (left.get(reach.left..), right.get(y..)) {
                    (Some(left), Some(right)) => {
                        left.iter().zip(right).take_while(|(left, right)| left.is_like(right)).count()
                    }
                    _ => 0,
                };
                if length > 0 {
                    runs.push(Run { left: reach.left, right: y, length, before: reach.last });
                    reach = Reach { left: reach.left + length, last: Some(runs.len() - 1) };
                }
                diagonals[at] = reach;
                let (x, y) = (reach.left, y + length);
                let is_over = x >= left.len() && y >= right.len();
                let is_taken = is_over || length >= RESYNCHRONISED || edits == MAX_EDITS;
                if is_taken && best.is_none_or(|(left, right, _)| left + right < x + y) {
                    best = Some((x, y, reach.last));
                }
            }
            if let Some((x, y, last)) = best {
                return Self { left: x, right: y, pairs: pairs(&runs, last) };
            }
        }
        Self { left: 1, right: 1, pairs: Vec::new() }
    }
}

fn pairs(runs: &[Run], mut last: Option<usize>) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    while let Some(run) = last.and_then(|last| runs.get(last)) {
        pairs.extend((0..run.length).map(|step| (run.left + step, run.right + step)));
        last = run.before;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<Item> {
        (0..)
            .zip(text.bytes())
            .map(|(at, byte)| Item { signature: byte.into(), step: None, end_ns: at * 1000 })
            .collect()
    }

    /// Irregular ends, as real ones are.
    fn irregular(count: u32, period: u32) -> Vec<Item> {
        let mut end_ns = 0;
        (0..count)
            .map(|at| {
                end_ns += 1_000_000 + i64::from(at) * i64::from(at) * 7919 % 100_003 * 7;
                Item { signature: u64::from(at % period), step: None, end_ns }
            })
            .collect()
    }

    fn length(partner: &[Option<u32>]) -> usize {
        partner.iter().flatten().count()
    }

    #[test]
    fn captures_one_collective_apart() {
        let partner = align(&items("abcabcabc"), &items("bcabcabca"), false);
        assert_eq!(partner, [1, 2, 3, 4, 5, 6, 7, 8].map(Some).into_iter().chain([None]).collect::<Vec<_>>());
    }

    #[test]
    fn captures_a_whole_step_apart_are_told_by_their_ends() {
        let all = irregular(60, 6);
        let late: Vec<Item> =
            all[6..].iter().map(|item| Item { end_ns: item.end_ns + 77_000_000_000, ..*item }).collect();
        let partner = align(&all, &late, false);
        assert!((0..late.len()).all(|at| partner[at] == Some(at as u32 + 6)));
    }

    #[test]
    fn a_strict_period_is_told_by_step_numbers_or_one_clock() {
        let all: Vec<Item> = (0..40_u32)
            .map(|at| Item {
                signature: u64::from(at % 4),
                step: Some(i64::from(at / 4)),
                end_ns: i64::from(at) * 1_000_000,
            })
            .collect();
        let unnumbered: Vec<Item> = all.iter().map(|item| Item { step: None, ..*item }).collect();
        for (reference, late, one_clock) in
            [(&all, all[8..].to_vec(), false), (&unnumbered, unnumbered[8..].to_vec(), true)]
        {
            let partner = align(reference, &late, one_clock);
            assert!((0..late.len()).all(|at| partner[at] == Some(at as u32 + 8)));
        }
    }

    #[test]
    fn steps_that_ranks_number_apart_are_no_evidence() {
        let numbered = |from| {
            let step = |item: Item| Item { step: Some(from + item.end_ns / 6_000_000), ..item };
            irregular(30, 6).into_iter().map(step).collect::<Vec<_>>()
        };
        let partner = align(&numbered(0), &numbered(1000), true);
        assert!((0..30).all(|at| partner[at as usize] == Some(at)));
    }

    #[test]
    fn lost_collectives_shift_nothing_after_them() {
        let all = irregular(20_000, 7);
        let lost = [3, 500, 501, 502, 9_000, 19_990];
        let other: Vec<Item> =
            all.iter().enumerate().filter(|(at, _)| !lost.contains(at)).map(|(_, item)| *item).collect();
        let partner = align(&all, &other, true);
        assert_eq!(length(&partner), other.len());
        let wrong = partner
            .iter()
            .enumerate()
            .filter(|&(at, found)| found.is_none_or(|found| all[found as usize].end_ns != other[at].end_ns));
        assert_eq!(wrong.count(), 0);
    }

    /// The textbook table.
    fn longest(left: &[Item], right: &[Item]) -> usize {
        let mut row = vec![0; right.len() + 1];
        for item in left {
            let mut corner = 0;
            for (at, other) in right.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if item.is_like(other) { corner + 1 } else { above.max(row[at]) };
                corner = above;
            }
        }
        row[right.len()]
    }

    proptest::proptest! {
        #[test]
        fn the_pairs_are_ordered_and_alike(left in "[a-d]{0,80}", right in "[a-d]{0,80}") {
            let (left, right) = (items(&left), items(&right));
            let partner = align(&left, &right, false);
            let found: Vec<u32> = partner.iter().flatten().copied().collect();
            proptest::prop_assert!(found.is_sorted_by(|a, b| a < b));
            for (at, found) in partner.iter().enumerate() {
                if let Some(found) = found {
                    proptest::prop_assert!(left[*found as usize].is_like(&right[at]));
                }
            }
        }

        /// Short sequences, of which no shift is sure, are followed from their start.
        #[test]
        fn a_detour_is_a_longest_common_subsequence(left in "[a-d]{1,24}", right in "[a-d]{1,24}") {
            let (left, right) = (items(&left), items(&right));
            proptest::prop_assume!(!left[0].is_like(&right[0]));
            let detour = Detour::around(&left, &right);
            proptest::prop_assert_eq!(detour.pairs.len(), longest(&left, &right));
        }
    }

    #[test]
    fn a_hundred_thousand_collectives_take_no_quadratic_time() {
        let all = irregular(100_000, 5);
        let other: Vec<Item> =
            all.iter().enumerate().filter(|(at, _)| at % 997 != 0).map(|(_, item)| *item).collect();
        assert_eq!(length(&align(&all, &other, false)), other.len());
    }
}
