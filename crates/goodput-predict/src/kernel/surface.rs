//! What rows say between their places.

use std::collections::BTreeMap;
use std::hash::Hash;

use rustc_hash::FxHashMap;

/// How far a row reaches along each axis, in octaves: rows an octave apart leave nothing between them to the model.
const REACH: f64 = 1.0;

/// What the rows say at a place.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Reading {
    /// 1 at a row and between rows an octave apart, 0 beyond their reach.
    pub share: f64,
    /// Mean logarithm of measured over modelled time of the rows in reach.
    pub log_ratio: f64,
}

/// Values over a key, two coordinates that tell lines apart, and the coordinate along a line. Coordinates are logarithms to
/// the base 2 of lengths: tables mostly hold a few layers at many numbers of tokens.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Surface<K: Eq + Hash> {
    sheets: FxHashMap<K, Sheet>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Sheet {
    lines: Vec<Line>,
    /// Lines by the octave of their coordinates.
    cells: FxHashMap<[i32; 2], Vec<u32>>,
    /// Lines by the bits of their coordinates.
    exact: FxHashMap<[u64; 2], u32>,
}

#[derive(Debug, Clone, PartialEq)]
struct Line {
    at: [f64; 2],
    /// Coordinate and value, ascending.
    points: Vec<(f64, f64)>,
}

type Points = BTreeMap<u64, f64>;

/// Collects rows; of rows at the same place the last one counts.
#[derive(Debug)]
pub(super) struct SurfaceBuilder<K: Eq + Hash> {
    sheets: FxHashMap<K, FxHashMap<[u64; 2], Points>>,
}

impl<K: Eq + Hash> Default for SurfaceBuilder<K> {
    fn default() -> Self {
        Self { sheets: FxHashMap::default() }
    }
}

impl<K: Eq + Hash> Default for Surface<K> {
    fn default() -> Self {
        Self { sheets: FxHashMap::default() }
    }
}

impl<K: Eq + Hash> SurfaceBuilder<K> {
    pub fn add(&mut self, key: K, at: [f64; 2], x: f64, value: f64) {
        let line = self.sheets.entry(key).or_default().entry(at.map(f64::to_bits)).or_default();
        line.insert(x.to_bits(), value);
    }

    pub fn finish(self) -> Surface<K> {
        let sheets = self.sheets.into_iter().map(|(key, lines)| {
            let mut sheet = Sheet::default();
            let mut lines: Vec<_> = lines.into_iter().collect();
            lines.sort_unstable_by_key(|(at, _)| *at);
            for (bits, points) in lines {
                let at = bits.map(f64::from_bits);
                let mut points: Vec<_> =
                    points.into_iter().map(|(x, value)| (f64::from_bits(x), value)).collect();
                points.sort_by(|one, other| one.0.total_cmp(&other.0));
                let index = sheet.lines.len() as u32;
                sheet.cells.entry(cell(at)).or_default().push(index);
                sheet.exact.insert(bits, index);
                sheet.lines.push(Line { at, points });
            }
            (key, sheet)
        });
        Surface { sheets: sheets.collect() }
    }
}

fn cell(at: [f64; 2]) -> [i32; 2] {
    at.map(|coordinate| coordinate.floor() as i32)
}

impl<K: Eq + Hash> Surface<K> {
    pub fn read(&self, key: &K, at: [f64; 2], x: f64) -> Reading {
        self.sheets.get(key).map_or_else(Reading::default, |sheet| sheet.read(at, x))
    }
}

impl Sheet {
    fn read(&self, at: [f64; 2], x: f64) -> Reading {
        if let Some(line) = self.exact.get(&at.map(f64::to_bits)) {
            let reading = self.lines[*line as usize].read(x);
            if reading.share >= 1.0 {
                return reading;
            }
        }
        let [row, column] = cell(at);
        let (mut shares, mut weights, mut sum) = (0.0, 0.0, 0.0);
        for near in (-1..=1).flat_map(|one| (-1..=1).map(move |other| [row + one, column + other])) {
            for line in self.cells.get(&near).into_iter().flatten() {
                let line = &self.lines[*line as usize];
                let apart = [line.at[0] - at[0], line.at[1] - at[1]].map(f64::abs);
                let fade = apart.map(fade).into_iter().product::<f64>();
                if fade == 0.0 {
                    continue;
                }
                let reading = line.read(x);
                let share = fade * reading.share;
                // Near lines count for more than far ones; a line at the place itself counts alone.
                let weight = share / (apart[0] * apart[0] + apart[1] * apart[1] + 1e-12);
                shares += share;
                weights += weight;
                sum += weight * reading.log_ratio;
            }
        }
        if weights == 0.0 {
            return Reading::default();
        }
        // Rounding must not leave a trace of the model between the rows of a whole grid.
        let share = if shares > 1.0 - 1e-9 { 1.0 } else { shares };
        Reading { share, log_ratio: sum / weights }
    }
}

impl Line {
    fn read(&self, x: f64) -> Reading {
        let above = self.points.partition_point(|(place, _)| *place < x);
        let low = above.checked_sub(1).map(|below| self.points[below]);
        let high = self.points.get(above).copied();
        match (low, high) {
            (Some((below, one)), Some((above, other))) => {
                let (from_low, from_high) = (fade(x - below), fade(above - x));
                let share = (from_low + from_high).min(1.0);
                let log_ratio = one + (other - one) * (x - below) / (above - below);
                Reading { share: if share > 1.0 - 1e-9 { 1.0 } else { share }, log_ratio }
            }
            (Some((end, value)), None) | (None, Some((end, value))) => {
                Reading { share: fade((x - end).abs()), log_ratio: value }
            }
            (None, None) => Reading::default(),
        }
    }
}

/// What a row counts for so far away.
fn fade(octaves: f64) -> f64 {
    (1.0 - octaves / REACH).max(0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(rows: &[([f64; 2], f64, f64)]) -> Surface<()> {
        let mut builder = SurfaceBuilder::default();
        rows.iter().for_each(|(at, x, value)| builder.add((), *at, *x, *value));
        builder.finish()
    }

    #[test]
    fn along_a_line_values_are_linear_and_fade_in_wide_gaps() {
        let surface = of(&[([3.0, 4.0], 1.0, 0.2), ([3.0, 4.0], 2.0, 0.4), ([3.0, 4.0], 4.0, 0.8)]);
        let read = |x| surface.read(&(), [3.0, 4.0], x);
        assert_eq!(read(2.0), Reading { share: 1.0, log_ratio: 0.4 });
        assert!((read(1.5).log_ratio - 0.3).abs() < 1e-12 && read(1.5).share == 1.0);
        // Two octaves apart: in the middle neither reaches.
        assert_eq!(read(3.0).share, 0.0);
        assert_eq!(read(0.5), Reading { share: 0.5, log_ratio: 0.2 });
        assert_eq!(read(6.0).share, 0.0);
    }

    proptest! {
        /// No reading lies outside the values in reach, and none has a share outside 0 to 1.
        #[test]
        fn a_reading_is_a_mean_of_rows(
            rows in prop::collection::vec((0u32..8, 0u32..8, 0u32..8, -1.0f64..1.0), 1..40),
            place in [0.0f64..8.0, 0.0..8.0, 0.0..8.0],
        ) {
            let rows: Vec<_> = rows
                .iter()
                .map(|(a, b, x, value)| ([f64::from(*a), f64::from(*b)], f64::from(*x), *value))
                .collect();
            let reading = of(&rows).read(&(), [place[0], place[1]], place[2]);
            prop_assert!((0.0..=1.0).contains(&reading.share));
            let least = rows.iter().map(|row| row.2).fold(0.0, f64::min);
            let most = rows.iter().map(|row| row.2).fold(0.0, f64::max);
            prop_assert!(reading.log_ratio >= least - 1e-9 && reading.log_ratio <= most + 1e-9);
        }
    }
}
