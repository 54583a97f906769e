//! Changes of a series: the strongest split with its false-alarm probability, and further splits on either side of it.
//!
//! Binary segmentation: A. J. Scott and M. Knott, "A cluster analysis method for grouping means in the analysis of variance",
//! Biometrics 30 (1974).

use super::null::false_alarm;
use super::prepare::{Prepared, prepare};
use super::split::{MIN_LENGTH, Split, strongest};

/// A series that was tested.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested {
    prepared: Prepared,
    root: Split,
    /// Probability that a series without a change shows one as strong.
    pub p_value: f64,
}

/// One change of a tested series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Where.
    pub split: Split,
    /// Probability that the stretch between the neighbouring changes would show it without one.
    pub p_value: f64,
}

impl Tested {
    /// Tests `values`; `weekdays` says which day each was where a weekly cycle may be in them. `None` where the series is too
    /// short or always the same.
    #[must_use]
    pub fn new(values: &[f64], weekdays: Option<&[u8]>) -> Option<Self> {
        if values.len() < MIN_LENGTH || values.iter().all(|value| *value == values[0]) {
            return None;
        }
        let prepared = prepare(values, weekdays);
        let root = strongest(&prepared.values, prepared.floor)?;
        Some(Self { p_value: false_alarm(root.statistic, values.len()), prepared, root })
    }

    /// The changes, in order: the strongest, then those inside each stretch whose probability is at most `level`.
    #[must_use]
    pub fn changes(&self, level: f64) -> Vec<Change> {
        let mut changes = vec![Change { split: self.root, p_value: self.p_value }];
        let mut stretches = vec![(0, self.root.at), (self.root.at, self.prepared.values.len())];
        while let Some((from, to)) = stretches.pop() {
            let Some(split) = strongest(&self.prepared.values[from..to], self.prepared.floor) else {
                continue;
            };
            let p_value = false_alarm(split.statistic, to - from);
            if p_value <= level {
                let split =
                    Split { at: from + split.at, from: from + split.from, to: from + split.to, ..split };
                changes.push(Change { split, p_value });
                stretches.extend([(from, split.at), (split.at, to)]);
            }
        }
        changes.sort_by_key(|change| change.split.at);
        changes
    }
}

/// The largest of `p_values` that may be rejected so that at most a share `rate` of the rejections is false, on average; `None`
/// when none may. Where nothing changed at all, `rate` is the probability that anything is rejected.
///
/// Y. Benjamini and Y. Hochberg, "Controlling the False Discovery Rate", J. R. Stat. Soc. B 57 (1995).
#[must_use]
pub fn largest_rejected(p_values: &[f64], rate: f64) -> Option<f64> {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let tests = sorted.len() as f64;
    let rejected = |(i, p): &(usize, &f64)| **p <= (i + 1) as f64 / tests * rate;
    sorted.iter().enumerate().rev().find(rejected).map(|(_, p)| *p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fifteen_tests_of_benjamini_and_hochberg() {
        // The example of their section 3: at 0.05 four hypotheses are rejected.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        assert_eq!(largest_rejected(&p, 0.05), Some(0.0095));
        assert_eq!(largest_rejected(&[0.2, 0.9], 0.05), None);
        assert_eq!(largest_rejected(&[], 0.05), None);
    }

    #[test]
    fn a_clean_step_is_found_where_it_is() {
        let values: Vec<f64> =
            (0..60).map(|i| if i < 40 { 1.0 } else { 1.1 } + f64::from(i * 37 % 11) / 1e4).collect();
        let tested = Tested::new(&values, None).unwrap();
        let changes = tested.changes(0.001);
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].split.at, 40);
        assert!(changes[0].p_value < 1e-5);
        assert_eq!(Tested::new(&[1.0; 60], None), None);
        assert_eq!(Tested::new(&values[..20], None), None);
    }

    #[test]
    fn two_changes_are_told_apart() {
        let noise = |i: i32| f64::from(i * 37 % 11) / 200.0;
        let values: Vec<f64> =
            (0..120).map(|i| noise(i) + if (30..90).contains(&i) { 1.0 } else { 0.0 }).collect();
        let tested = Tested::new(&values, None).unwrap();
        let at: Vec<usize> = tested.changes(0.001).iter().map(|change| change.split.at).collect();
        assert_eq!(at, [30, 90]);
    }
}
