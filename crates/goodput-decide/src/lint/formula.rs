//! The formulas of a sheet: `goodput = (1 - sum(budget)) * mfu`. Names are figures of the sheet or the results of formulas
//! before it.

use super::sheet::{Figure, slug};
use crate::nearest::nearest;

/// `target = expression`.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    /// As the sheet writes it.
    pub text: String,
    /// What it is called.
    pub target: String,
    /// How it is computed.
    pub expression: Expression,
}

/// An expression over the figures of a sheet.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// A figure, by its place in the sheet.
    Figure(usize),
    /// The sum of the budget's shares.
    Budget,
    /// `mean(a, b, …)`.
    Mean(Vec<Self>),
    /// `a + b`.
    Sum(Box<Self>, Box<Self>),
    /// `a - b`.
    Difference(Box<Self>, Box<Self>),
    /// `a * b`.
    Product(Box<Self>, Box<Self>),
    /// `a / b`.
    Quotient(Box<Self>, Box<Self>),
}

impl Expression {
    /// Its value.
    #[must_use]
    pub fn value(&self, figures: &[Figure], budget: f64) -> f64 {
        let of = |e: &Self| e.value(figures, budget);
        match self {
            Self::Number(number) => *number,
            Self::Figure(i) => figures.get(*i).map_or(f64::NAN, |figure| figure.value),
            Self::Budget => budget,
            Self::Mean(terms) => terms.iter().map(of).sum::<f64>() / terms.len().max(1) as f64,
            Self::Sum(a, b) => of(a) + of(b),
            Self::Difference(a, b) => of(a) - of(b),
            Self::Product(a, b) => of(a) * of(b),
            Self::Quotient(a, b) => of(a) / of(b),
        }
    }

    /// What is multiplied at the top: `a * b * (1 - c)` has three factors.
    #[must_use]
    pub fn factors(&self) -> Vec<&Self> {
        match self {
            Self::Product(a, b) => [a.factors(), b.factors()].concat(),
            other => vec![other],
        }
    }

    /// Every expression inside it, itself first.
    #[must_use]
    pub fn parts(&self) -> Vec<&Self> {
        let mut parts = vec![self];
        match self {
            Self::Number(_) | Self::Figure(_) | Self::Budget => {}
            Self::Mean(terms) => parts.extend(terms.iter().flat_map(Self::parts)),
            Self::Sum(a, b) | Self::Difference(a, b) | Self::Product(a, b) | Self::Quotient(a, b) => {
                parts.extend(a.parts());
                parts.extend(b.parts());
            }
        }
        parts
    }

    /// The figures inside it.
    #[must_use]
    pub fn figures(&self) -> Vec<usize> {
        let of = |part: &&Self| match part {
            Self::Figure(i) => Some(*i),
            _ => None,
        };
        self.parts().iter().filter_map(of).collect()
    }

    /// The figures that stand as factors of their own.
    #[must_use]
    pub fn multiplied(&self) -> Vec<usize> {
        let of = |part: &&Self| match part {
            Self::Figure(i) => Some(*i),
            _ => None,
        };
        self.factors().iter().filter_map(of).collect()
    }

    /// Whether the budget is among its parts.
    #[must_use]
    pub fn holds_budget(&self) -> bool {
        self.parts().iter().any(|part| matches!(part, Self::Budget))
    }
}

/// Reads one formula.
///
/// # Errors
/// A sentence that says what stands where something else is expected, or the nearest known name.
pub fn read(text: &str, figures: &[Figure], before: &[Formula]) -> Result<Formula, String> {
    if text.len() > LONGEST {
        return Err(format!("the formula has {} bytes, at most {LONGEST} are read", text.len()));
    }
    let (target, right) =
        text.split_once('=').ok_or_else(|| format!("`{text}` has no `=`: expected NAME = EXPRESSION"))?;
    let mut parser = Parser { rest: right, figures, before, depth: 0 };
    let expression = parser.sum()?;
    // A result that stands for a large formula, used many times over.
    if expression.parts().len() > LARGEST {
        return Err(format!("the formula has more than {LARGEST} terms"));
    }
    match parser.next() {
        "" => Ok(Formula { text: text.trim().to_owned(), target: slug(target), expression }),
        token => Err(format!("`{token}` stands where an operator (+ - * /) or the end is expected")),
    }
}

/// Longer than any formula of a sheet, in bytes.
const LONGEST: usize = 2_000;
/// More terms than any formula of a sheet.
const LARGEST: usize = 1_000;
/// Deeper nesting than any sheet has.
const DEEPEST: usize = 64;

struct Parser<'a> {
    rest: &'a str,
    figures: &'a [Figure],
    before: &'a [Formula],
    depth: usize,
}

impl<'a> Parser<'a> {
    /// The next token, which stays.
    fn next(&self) -> &'a str {
        let rest = self.rest.trim_start();
        let Some(first) = rest.chars().next() else { return "" };
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let end =
            if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        &rest[..end]
    }

    fn take(&mut self) -> &'a str {
        let token = self.next();
        self.rest = &self.rest.trim_start()[token.len()..];
        token
    }

    fn expect(&mut self, expected: &str) -> Result<(), String> {
        match self.take() {
            token if token == expected => Ok(()),
            "" => Err(format!("the formula ends where `{expected}` is expected")),
            token => Err(format!("`{token}` stands where `{expected}` is expected")),
        }
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("the formula nests deeper than {DEEPEST}"));
        }
        let mut left = self.product()?;
        loop {
            let of = match self.next() {
                "+" => Expression::Sum,
                "-" => Expression::Difference,
                _ => break,
            };
            self.take();
            left = of(Box::new(left), Box::new(self.product()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut left = self.atom()?;
        loop {
            let of = match self.next() {
                "*" | "×" => Expression::Product,
                "/" => Expression::Quotient,
                _ => return Ok(left),
            };
            self.take();
            left = of(Box::new(left), Box::new(self.atom()?));
        }
    }

    fn atom(&mut self) -> Result<Expression, String> {
        match self.take() {
            "(" => {
                let inside = self.sum()?;
                self.expect(")")?;
                Ok(inside)
            }
            "sum" if self.next() == "(" => {
                self.expect("(")?;
                self.expect("budget")?;
                self.expect(")")?;
                Ok(Expression::Budget)
            }
            "mean" if self.next() == "(" => {
                self.expect("(")?;
                let mut terms = vec![self.sum()?];
                while self.next() == "," {
                    self.take();
                    terms.push(self.sum()?);
                }
                self.expect(")")?;
                Ok(Expression::Mean(terms))
            }
            "" => Err("the formula ends where a name or a number is expected".to_owned()),
            token => self.named(token),
        }
    }

    /// A number, a figure by its name, a figure by its kind where only one has it, or a result before this formula.
    fn named(&self, token: &str) -> Result<Expression, String> {
        if let Ok(number) = token.parse::<f64>() {
            return Ok(Expression::Number(number));
        }
        if !token.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(format!("`{token}` stands where a name or a number is expected"));
        }
        let wanted = slug(token);
        if let Some(i) = self.figures.iter().position(|figure| slug(&figure.name) == wanted) {
            return Ok(Expression::Figure(i));
        }
        let mut of_kind = self.figures.iter().enumerate().filter(|(_, figure)| figure.kind.key() == wanted);
        if let (Some((i, _)), None) = (of_kind.next(), of_kind.next()) {
            return Ok(Expression::Figure(i));
        }
        if let Some(formula) = self.before.iter().find(|formula| formula.target == wanted) {
            return Ok(formula.expression.clone());
        }
        let known =
            self.figures.iter().map(|f| slug(&f.name)).chain(self.before.iter().map(|f| f.target.clone()));
        Err(nearest(&wanted, known).map_or_else(
            || format!("`{token}` is no figure of this sheet, which has none"),
            |nearest| format!("`{token}` is no figure of this sheet; the nearest is `{nearest}`"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::sheet::FigureKind;

    fn figures() -> Vec<Figure> {
        [("fleet MFU", 0.48, FigureKind::Mfu), ("runtime", 0.9, FigureKind::RuntimeGoodput)]
            .map(|(name, value, kind)| Figure { name: name.to_owned(), value, kind, ..Figure::default() })
            .into()
    }

    #[test]
    fn a_formula_is_its_factors_and_its_value() {
        let figures = figures();
        let formula = read("Goodput = (1 - sum(budget)) * fleet_mfu * runtime", &figures, &[]).unwrap();
        assert_eq!(formula.target, "goodput");
        assert_eq!(formula.expression.factors().len(), 3);
        assert_eq!(formula.expression.multiplied(), [0, 1]);
        assert!((formula.expression.value(&figures, 0.2) - 0.8 * 0.48 * 0.9).abs() < 1e-12);
        let next = read("x = mean(goodput, mfu)", &figures, &[formula]).unwrap();
        assert!(next.expression.holds_budget());
    }

    #[test]
    fn what_is_no_formula_is_refused_in_a_sentence() {
        let why = |text: &str| read(text, &figures(), &[]).unwrap_err();
        assert!(why("mfu").contains("no `=`"));
        assert!(why("g = fleet_mfo").contains("nearest is `fleet_mfu`"));
        assert!(why("g = (mfu").contains("ends where `)`"));
        assert!(why("g = mfu mfu").contains("operator"));
        assert!(why("g = ").contains("ends where a name"));
        assert!(why(&format!("g = {}1", "(".repeat(500))).contains("deeper"));
        assert!(why(&format!("g = 1{}", "+1".repeat(5000))).contains("bytes"));
        assert!(why(&format!("g = 1{}", "+1".repeat(900))).contains("terms"));
    }
}
