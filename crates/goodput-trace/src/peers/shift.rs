//! By how many collectives one capture starts later than another.
//!
//! The collectives of a job repeat, so that a shift by a layer or a step looks alike. A synchronising collective ends
//! everywhere at once: of all shifts that look alike the right one makes the ends agree best, first over a few pairs,
//! then, among those that do equally well, over many.

use super::align::Item;

/// Pairs from the start that every shift is judged by.
const FEW: usize = 64;
/// Pairs that the best shifts are judged by: a step or more.
const SOME: usize = 512;
/// Pairs that the best of those are judged by: several steps.
const MANY: usize = 4096;
/// Shifts that are tried, to each side of none and of what the clocks say.
const FARTHEST: isize = 512;
/// End differences that vary less than this are the same collectives: the true spread is a few microseconds.
const TIGHT_NS: i64 = 10_000;
/// Clocks that agree to this need no search.
const NEAR_NS: i64 = 1_000_000;
/// What one pair can count against a shift: a collective lost on the way shifts all after it.
const MOST_NS: i64 = 10_000_000;

/// How well a shift fits.
struct Fit {
    shift: isize,
    /// Pairs that look alike.
    alike: usize,
    /// Median difference of the ends.
    offset_ns: i64,
    /// Median deviation from it.
    median_ns: i64,
    /// Mean deviation from it.
    mean_ns: i64,
}

/// The shift for which `other[j]` is `reference[j + shift]`.
pub(super) fn shift(reference: &[Item], other: &[Item], one_clock: bool) -> isize {
    let sample = reference.len().min(other.len()).min(FEW);
    let in_place = fit(reference, other, 0, MANY);
    let is_settled = in_place.alike == reference.len().min(other.len()).min(MANY)
        && in_place.mean_ns <= TIGHT_NS
        && (!one_clock || in_place.offset_ns.saturating_abs() <= NEAR_NS);
    if is_settled {
        return 0;
    }
    let by_clock = if one_clock { shift_by_clock(reference, other) } else { 0 };
    let mut shifts: Vec<isize> =
        [0, by_clock].into_iter().flat_map(|middle| middle - FARTHEST..=middle + FARTHEST).collect();
    shifts.sort_unstable();
    shifts.dedup();
    let mut fits: Vec<Fit> = shifts
        .into_iter()
        .map(|shift| fit(reference, other, shift, FEW))
        // A few pairs agree by chance.
        .filter(|fit| fit.shift == 0 || fit.alike >= 3 && 2 * fit.alike >= sample)
        .collect();
    // A shift shortens the overlap of short captures, hence half.
    let most = fits.iter().map(|fit| fit.alike).max().unwrap_or(0);
    fits.retain(|fit| 2 * fit.alike >= most);
    keep_best(&mut fits, |fit| fit.median_ns, TIGHT_NS);
    for pairs in [SOME, MANY] {
        fits = fits.iter().map(|fewer| fit(reference, other, fewer.shift, pairs)).collect();
        keep_best(&mut fits, |fit| fit.mean_ns, TIGHT_NS / 10);
    }
    fits.iter()
        .min_by_key(|fit| {
            let apart_ns = if one_clock { fit.offset_ns.saturating_abs() } else { 0 };
            (apart_ns, std::cmp::Reverse(fit.alike), fit.shift.abs())
        })
        .map_or(0, |fit| fit.shift)
}

/// Where a shift starts in the reference and in the other.
pub(super) fn start_of(shift: isize) -> (usize, usize) {
    (usize::try_from(shift).unwrap_or(0), usize::try_from(-shift).unwrap_or(0))
}

/// Keeps the fits within twice the least deviation, and some noise.
fn keep_best(fits: &mut Vec<Fit>, deviation_ns: impl Fn(&Fit) -> i64, noise_ns: i64) {
    let best = fits.iter().map(&deviation_ns).min().unwrap_or(0);
    fits.retain(|fit| deviation_ns(fit) <= best.saturating_mul(2).saturating_add(noise_ns));
}

/// The shift by which the first ends of both come together if the clocks agree.
fn shift_by_clock(reference: &[Item], other: &[Item]) -> isize {
    let (Some(first), Some(other_first)) = (reference.first(), other.first()) else { return 0 };
    let before = |items: &[Item], end_ns: i64| {
        isize::try_from(items.partition_point(|item| item.end_ns < end_ns)).unwrap_or(0)
    };
    before(reference, other_first.end_ns) - before(other, first.end_ns)
}

fn fit(reference: &[Item], other: &[Item], shift: isize, pairs: usize) -> Fit {
    let (x, y) = start_of(shift);
    let mut differences: Vec<i64> = reference[x.min(reference.len())..]
        .iter()
        .zip(&other[y.min(other.len())..])
        .take(pairs)
        .filter(|(left, right)| left.is_like(right))
        .map(|(left, right)| right.end_ns.saturating_sub(left.end_ns))
        .collect();
    let alike = differences.len();
    let offset_ns = lower_median(&mut differences);
    for difference in &mut differences {
        *difference = difference.saturating_sub(offset_ns).saturating_abs().min(MOST_NS);
    }
    let mean_ns = differences.iter().sum::<i64>() / i64::try_from(alike.max(1)).unwrap_or(i64::MAX);
    Fit { shift, alike, offset_ns, median_ns: lower_median(&mut differences), mean_ns }
}

fn lower_median(values: &mut [i64]) -> i64 {
    match values.len() {
        0 => 0,
        count => *values.select_nth_unstable((count - 1) / 2).1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixty like collectives a step, evenly spaced to a microsecond, and between steps the host's moods.
    fn steps(count: u32) -> Vec<Item> {
        let mut end_ns = 0;
        let mut draw = 12_345_u32;
        (0..count * 60)
            .map(|at| {
                draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let mood = i64::from(draw >> 16);
                end_ns += if at % 60 == 0 { 3_000_000 + 40 * mood } else { 200_000 + mood % 2_000 };
                Item { signature: 7, step: None, end_ns }
            })
            .collect()
    }

    fn moved(items: &[Item], by_ns: i64) -> Vec<Item> {
        items.iter().map(|item| Item { end_ns: item.end_ns + by_ns, ..*item }).collect()
    }

    #[test]
    fn one_layer_later_is_told_by_what_happens_between_steps() {
        let all = steps(40);
        for late in [0, 2, 31, 61, 500] {
            let clock_ns = 77_000_000_123;
            let at = isize::try_from(late).unwrap();
            assert_eq!(shift(&all, &moved(&all[late..], clock_ns), false), at);
            assert_eq!(shift(&moved(&all[late..], clock_ns), &all, false), -at);
        }
    }

    #[test]
    fn clocks_say_where_to_look() {
        let all = steps(400);
        for late in [3_000, 20_000] {
            assert_eq!(shift(&all, &moved(&all[late..], 5_000_000), true), isize::try_from(late).unwrap());
        }
    }
}
