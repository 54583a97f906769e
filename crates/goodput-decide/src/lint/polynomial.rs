//! A formula multiplied out: a sum of products of figures, in which it shows how factors are composed.

use std::collections::BTreeMap;

use super::formula::Expression;

/// A product of figures: each by its place in the sheet, with its power.
pub(super) type Term = BTreeMap<usize, i32>;

/// Figures stand below it: the sum of the budget.
const BUDGET: usize = usize::MAX;
/// More terms than a composition of factors has; larger formulas are not judged.
const MOST: usize = 64;

/// A sum of terms, each with its coefficient.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Polynomial(BTreeMap<Term, f64>);

impl Polynomial {
    /// Multiplies an expression out and shows `at_sum` every sum, difference and mean inside it, inner ones first. `None`
    /// where a sum of several terms divides, or the terms are too many.
    pub(super) fn of(expression: &Expression, at_sum: &mut dyn FnMut(&Self)) -> Option<Self> {
        let mut both = |a: &Expression, b: &Expression| -> (Option<Self>, Option<Self>) {
            (Self::of(a, at_sum), Self::of(b, at_sum))
        };
        let sum = match expression {
            Expression::Number(number) => return Some(Self::term(Term::new(), *number)),
            Expression::Figure(figure) => return Some(Self::term(Term::from([(*figure, 1)]), 1.0)),
            Expression::Budget => return Some(Self::term(Term::from([(BUDGET, 1)]), 1.0)),
            Expression::Product(a, b) => {
                let (a, b) = both(a, b);
                return a?.times(&b?, 1);
            }
            Expression::Quotient(a, b) => {
                let (a, b) = both(a, b);
                let (a, b) = (a?, b?);
                return if b.0.len() == 1 { a.times(&b, -1) } else { None };
            }
            Expression::Sum(a, b) => {
                let (a, b) = both(a, b);
                a?.plus(&b?, 1.0)
            }
            Expression::Difference(a, b) => {
                let (a, b) = both(a, b);
                a?.plus(&b?, -1.0)
            }
            Expression::Mean(terms) => {
                let each = 1.0 / terms.len().max(1) as f64;
                let read: Vec<Option<Self>> = terms.iter().map(|term| Self::of(term, at_sum)).collect();
                read.into_iter().try_fold(Self::default(), |sum, term| Some(sum.plus(&term?, each)))?
            }
        };
        at_sum(&sum);
        (sum.0.len() <= MOST).then_some(sum)
    }

    /// Its terms with their coefficients.
    pub(super) fn terms(&self) -> impl Iterator<Item = (&Term, f64)> {
        self.0.iter().map(|(term, coefficient)| (term, *coefficient))
    }

    /// The number that no figure multiplies.
    pub(super) fn constant(&self) -> f64 {
        self.0.get(&Term::new()).copied().unwrap_or_default()
    }

    /// Its value where every figure is one.
    pub(super) fn at_ones(&self) -> f64 {
        self.0.values().sum()
    }

    fn term(term: Term, coefficient: f64) -> Self {
        Self(BTreeMap::from([(term, coefficient)]))
    }

    fn plus(mut self, other: &Self, times: f64) -> Self {
        for (term, coefficient) in &other.0 {
            *self.0.entry(term.clone()).or_default() += times * coefficient;
        }
        self.0.retain(|_, coefficient| coefficient.abs() > 1e-12);
        self
    }

    /// Times `other`, or, of one term, over it.
    fn times(&self, other: &Self, power: i32) -> Option<Self> {
        let mut product = Self::default();
        for (one, a) in &self.0 {
            for (another, b) in &other.0 {
                let mut term = one.clone();
                for (figure, own) in another {
                    let held = term.entry(*figure).or_default();
                    *held = held.saturating_add(own.saturating_mul(power));
                }
                term.retain(|_, power| *power != 0);
                product = product.plus(&Self::term(term, a * b.powi(power)), 1.0);
            }
        }
        (product.0.len() <= MOST).then_some(product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::formula::read;
    use crate::lint::sheet::Figure;

    fn multiplied(text: &str) -> Option<Polynomial> {
        let figures: Vec<Figure> =
            ["S", "R", "P"].map(|name| Figure { name: name.to_owned(), ..Figure::default() }).into();
        Polynomial::of(&read(&format!("x = {text}"), &figures, &[]).unwrap().expression, &mut |_| {})
    }

    #[test]
    fn losses_one_after_another_are_the_product() {
        assert_eq!(multiplied("1 - (1 - S) - S * (1 - R) - S * R * (1 - P)"), multiplied("P * R * S"));
        assert_eq!(multiplied("S * R / S"), multiplied("R"));
        assert_eq!(multiplied("mean(S, R)"), multiplied("0.5 * S + 0.5 * R"));
        assert_eq!(multiplied("S / (R + P)"), None);
        let losses = multiplied("(1 - S) + (1 - R)").unwrap();
        assert_eq!((losses.constant(), losses.at_ones()), (2.0, 0.0));
    }

    #[test]
    fn large_formulas_are_left() {
        let factors: Vec<String> = (0..60).map(|i| format!("(S + {i} * R + P)")).collect();
        assert_eq!(multiplied(&factors.join(" * ")), None);
    }
}
