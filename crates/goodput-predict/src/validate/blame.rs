//! Which terms would have to be other than they are, for the predictions to meet the measurements.
//!
//! With s the share that each term has of the predicted step, and t / p measured over predicted time, each source has multiples
//! w of the terms that bring the sums s.w nearest to t / p in the least-squares sense. A ridge holds them at 1, so that a term
//! that is a small part of every step, or that always goes with another, stays where it is. The multiples say where to look;
//! no prediction uses them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::evaluate::{Evaluation, Outcome};
use crate::layer::{Term, Terms};

const TERMS: usize = Term::ALL.len();
/// Weight of the ridge for each row. A term of a tenth of the step is held as strongly as it is pulled.
const RIDGE: f64 = 0.01;

/// Multiples of the terms, by source.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Blame(BTreeMap<String, [f64; TERMS]>);

/// What one term has to do with the errors of a source.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TermBlame {
    /// The term, in words.
    pub term: &'static str,
    /// Its mean share of the predicted step.
    pub share: f64,
    /// How many times its predicted time would meet the measurements best.
    pub multiple: f64,
    /// What that would change of the predicted step: (multiple - 1) x share.
    pub change: f64,
}

impl Blame {
    /// Of every source with 3 rows and more.
    #[must_use]
    pub fn of(evaluation: &Evaluation<'_>) -> Self {
        let sources = by_source(evaluation).into_iter().filter(|(_, rows)| rows.len() >= 3);
        Self(sources.map(|(source, rows)| (source.to_owned(), multiples(&rows))).collect())
    }

    /// The terms of each source that would change its steps most, the largest first.
    #[must_use]
    pub fn by_source(&self, evaluation: &Evaluation<'_>) -> BTreeMap<String, Vec<TermBlame>> {
        let rows = by_source(evaluation);
        let blamed = self.0.iter().filter_map(|(source, multiples)| {
            let rows = rows.get(source.as_str())?;
            let mut terms: Vec<TermBlame> = Term::ALL
                .into_iter()
                .map(|term| {
                    let share =
                        rows.iter().map(|row| row.shares[term as usize]).sum::<f64>() / rows.len() as f64;
                    let multiple = multiples[term as usize];
                    TermBlame { term: term.label(), share, multiple, change: (multiple - 1.0) * share }
                })
                .filter(|term| term.share > 0.0)
                .collect();
            terms.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
            Some((source.clone(), terms))
        });
        blamed.collect()
    }

    /// The term that would have to change most, in the direction of the row's own error; none where no term goes that way.
    #[must_use]
    pub fn of_row(&self, outcome: &Outcome<'_>) -> Option<Term> {
        let multiples = self.0.get(&outcome.row.source)?;
        let row = Row::of(outcome)?;
        let missing = (row.measured - 1.0).signum();
        let change = |term: &Term| missing * (multiples[*term as usize] - 1.0) * row.shares[*term as usize];
        let most = Term::ALL.into_iter().max_by(|a, b| change(a).total_cmp(&change(b)))?;
        (change(&most) > 0.0).then_some(most)
    }
}

/// A row as the least squares see it.
struct Row {
    shares: [f64; TERMS],
    /// Measured over predicted time.
    measured: f64,
}

impl Row {
    fn of(outcome: &Outcome<'_>) -> Option<Self> {
        let terms: Terms = outcome.predicted.terms?;
        let (measured, predicted) = outcome.pair();
        let mut shares = [0.0; TERMS];
        for (term, ns) in terms.iter() {
            shares[term as usize] = ns / predicted;
        }
        Some(Self { shares, measured: measured / predicted })
    }
}

fn by_source<'a>(evaluation: &'a Evaluation<'_>) -> BTreeMap<&'a str, Vec<Row>> {
    let mut sources: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    for outcome in &evaluation.outcomes {
        if let Some(row) = Row::of(outcome) {
            sources.entry(&outcome.row.source).or_default().push(row);
        }
    }
    sources
}

/// The w that makes sum (s.w - t/p)^2 + ridge |w - 1|^2 least: (S'S + ridge) (w - 1) = S'(t/p - s.1), by Cholesky.
fn multiples(rows: &[Row]) -> [f64; TERMS] {
    let mut matrix = [[0.0; TERMS]; TERMS];
    let mut right = [0.0; TERMS];
    for row in rows {
        let missing = row.measured - row.shares.iter().sum::<f64>();
        for i in 0..TERMS {
            right[i] += row.shares[i] * missing;
            for (product, share) in matrix[i].iter_mut().zip(&row.shares).take(i + 1) {
                *product += row.shares[i] * share;
            }
        }
    }
    for (i, line) in matrix.iter_mut().enumerate() {
        line[i] += RIDGE * rows.len() as f64;
    }
    // The ridge makes the matrix positive definite, so that no root is of a negative number.
    for i in 0..TERMS {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| matrix[i][k] * matrix[j][k]).sum();
            let rest = matrix[i][j] - known;
            matrix[i][j] = if i == j { rest.sqrt() } else { rest / matrix[j][j] };
        }
    }
    for i in 0..TERMS {
        let known: f64 = (0..i).map(|k| matrix[i][k] * right[k]).sum();
        right[i] = (right[i] - known) / matrix[i][i];
    }
    for i in (0..TERMS).rev() {
        let known: f64 = (i + 1..TERMS).map(|k| matrix[k][i] * right[k]).sum();
        right[i] = (right[i] - known) / matrix[i][i];
    }
    right.map(|change| 1.0 + change)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(gemm: f64, launch: f64, measured: f64) -> Row {
        let mut shares = [0.0; TERMS];
        shares[Term::Gemm as usize] = gemm;
        shares[Term::Launch as usize] = launch;
        Row { shares, measured }
    }

    #[test]
    fn the_term_that_explains_the_errors_is_found_and_the_others_stay() {
        // Launch takes three times what is predicted, products what is predicted.
        let rows: Vec<Row> = (1..=9)
            .map(|i| f64::from(i) / 10.0)
            .map(|share| row(1.0 - share, share, 1.0 + 2.0 * share))
            .collect();
        let multiples = multiples(&rows);
        assert!((multiples[Term::Launch as usize] - 3.0).abs() < 0.15, "{multiples:?}");
        assert!((multiples[Term::Gemm as usize] - 1.0).abs() < 0.1, "{multiples:?}");
        assert_eq!(multiples[Term::Norm as usize], 1.0);
    }

    #[test]
    fn exact_predictions_leave_every_term_as_it_is() {
        let rows = [row(0.5, 0.5, 1.0), row(0.9, 0.1, 1.0), row(1.0, 0.0, 1.0)];
        assert!(multiples(&rows).iter().all(|multiple| (multiple - 1.0).abs() < 1e-12));
    }
}
