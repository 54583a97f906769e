//! Series of pool totals: each sample holds until the next one of its pool.

use std::collections::BTreeMap;

use crate::records::{FleetRecords, Symbol};
use crate::time::{Interval, Timestamp, Window};

use super::notes::Notes;

/// A sample that holds longer than this many times the median spacing is a gap worth a warning.
const GAP_IN_SPACINGS: i64 = 10;

/// How long one sample holds.
pub(super) struct Stretch {
    pub sample: usize,
    pub interval: Interval,
    /// No sample of the pool follows.
    pub last: bool,
}

/// Positions in `pool_samples` by pool, in time order.
pub(super) fn by_pool(records: &FleetRecords) -> BTreeMap<Symbol, Vec<usize>> {
    let mut pools: BTreeMap<Symbol, Vec<usize>> = BTreeMap::new();
    for (position, sample) in records.pool_samples.iter().enumerate() {
        pools.entry(sample.pool).or_default().push(position);
    }
    for samples in pools.values_mut() {
        samples.sort_by_key(|&position| records.pool_samples[position].at);
    }
    pools
}

/// Each sample of one pool until the next; the last one for the median spacing.
pub(super) fn stretches(records: &FleetRecords, samples: &[usize]) -> impl Iterator<Item = Stretch> {
    let at = |position: usize| records.pool_samples[position].at;
    let median = median_spacing(samples.windows(2).map(|pair| at(pair[1]) - at(pair[0])).collect());
    samples.iter().enumerate().map(move |(place, &sample)| {
        let next = samples.get(place + 1).copied();
        let end = next.map_or(at(sample) + median, at);
        Stretch { sample, interval: Interval::new(at(sample), end), last: next.is_none() }
    })
}

fn median_spacing(mut spacings: Vec<i64>) -> i64 {
    spacings.sort_unstable();
    spacings.get(spacings.len() / 2).copied().unwrap_or(0)
}

/// Warns of what a mean over the window would hide: time in which no pool held anything, long silences, and a window
/// that the series does not fill.
pub(super) fn note_gaps(records: &FleetRecords, window: Window, notes: &mut Notes) {
    let mut held: BTreeMap<Timestamp, u64> = BTreeMap::new();
    for sample in &records.pool_samples {
        *held.entry(sample.at).or_default() += sample.held;
    }
    let times: Vec<Timestamp> = held.keys().copied().collect();
    let spacing = records.pool_spacing_ns();
    let (mut silent_ns, mut silences) = (0, 0);
    let mut nothing: Vec<Interval> = Vec::new();
    for (place, (&at, &devices)) in held.iter().enumerate() {
        let end = times.get(place + 1).copied().unwrap_or(at + spacing);
        let stretch = window.clip(Interval::new(at, end));
        if stretch.is_empty() {
            continue;
        }
        if end - at > spacing.saturating_mul(GAP_IN_SPACINGS) {
            silent_ns += stretch.duration_ns();
            silences += 1;
        }
        if devices == 0 {
            match nothing.last_mut() {
                Some(before) if before.end == stretch.start => before.end = stretch.end,
                _ => nothing.push(stretch),
            }
        }
    }
    if let (Some(first), Some(last)) = (nothing.first(), nothing.last()) {
        let total_ns: i64 = nothing.iter().map(|stretch| stretch.duration_ns()).sum();
        notes.warn(
            "nothing_held",
            format!(
                "no pool holds anything for {:.0} s in {} stretches between {} and {}: an outage or a gap in the data, not an idle fleet by itself; the figures include it",
                total_ns as f64 / 1e9,
                nothing.len(),
                first.start,
                last.end
            ),
            records.pool_samples.iter().find(|s| s.held == 0 && s.at >= first.start).map(|s| s.source),
        );
    }
    if silences > 0 {
        notes.warn(
            "series_gap",
            format!("{silences} samples hold for {:.0} s in all, more than {GAP_IN_SPACINGS} times the usual spacing each; what happened in between is not recorded", silent_ns as f64 / 1e9),
            None,
        );
    }
    let first = times.first().copied().unwrap_or(window.to());
    let end = times.last().map_or(window.from(), |&last| last + spacing);
    let missing_ns = (first - window.from()).max(0) + (window.to() - end).max(0);
    if missing_ns > 0 {
        notes.warn(
            "window_not_covered",
            format!(
                "the series leaves {:.3} s of the window without samples; nothing is offered there",
                missing_ns as f64 / 1e9
            ),
            None,
        );
    }
}
