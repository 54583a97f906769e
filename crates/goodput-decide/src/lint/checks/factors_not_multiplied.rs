use std::collections::BTreeMap;

use goodput_core::Boundary;

use super::super::formula::Formula;
use super::super::polynomial::{Polynomial, Term};
use super::super::sheet::{Figure, FigureKind, Sheet};
use super::super::{Check, Corrected, Found, Severity, number};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "factors-not-multiplied",
    severity: Severity::Error,
    title: "factors composed otherwise than as one product",
    why: "Each factor divides what crossed its boundary by what arrived there: only the product, each factor once, leaves \
          ideal over offered. A factor used twice charges its losses twice. Sums, differences and added losses mix shares \
          of offered, held and retained time, which belong to no ratio.",
    sheet,
    report: not_in_reports,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let judge = |(i, formula): (usize, &Formula)| {
        let mut mixed = BTreeMap::new();
        let whole = Polynomial::of(&formula.expression, &mut |sum| {
            let shares = shares_added(&sheet.figures, sum);
            if shares.len() > 1 {
                mixed = shares;
            }
        });
        let twice = whole.as_ref().and_then(|whole| used_twice(&sheet.figures, whole));
        let mut found = Found::new(format!("formula[{i}]"), formula.text.clone());
        if let Some(figures) = &twice {
            found = found.and(match figures[..] {
                [figure] => format!("{} {} is used twice", figure.name, number(figure.value)),
                _ => format!("{}: one factor, used twice", listed(figures)),
            });
        }
        if !mixed.is_empty() {
            let shares: Vec<String> = mixed
                .iter()
                .map(|(boundary, of)| format!("{} of {}", listed(of), arrives(*boundary)))
                .collect();
            found = found.and(format!("added or subtracted: {}", shares.join(", ")));
        }
        let is_wrong = twice.is_some() || !mixed.is_empty();
        is_wrong.then(|| found.corrected(whole.and_then(|whole| product(sheet, formula, &whole))))
    };
    sheet.formulas.iter().enumerate().filter_map(judge).collect()
}

/// What a factor is a share of.
const fn arrives(boundary: Boundary) -> &'static str {
    match boundary {
        Boundary::Scheduling => "offered time",
        Boundary::Runtime => "held time",
        Boundary::Program => "retained time",
    }
}

fn listed(figures: &[&Figure]) -> String {
    let named: Vec<String> =
        figures.iter().map(|figure| format!("{} {}", figure.name, number(figure.value))).collect();
    named.join(" and ")
}

/// The boundaries that a figure's losses lie at: of MPG all three.
fn holds(figure: &Figure) -> Vec<Boundary> {
    match figure.kind {
        FigureKind::Mpg => Boundary::ALL.to_vec(),
        _ => figure.boundary().into_iter().collect(),
    }
}

/// Figures that lead the terms of a sum, by what their term is a share of. A term with an amount or a divisor in it has a
/// unit of its own, and is left out.
fn shares_added<'a>(figures: &'a [Figure], sum: &Polynomial) -> BTreeMap<Boundary, Vec<&'a Figure>> {
    let mut shares: BTreeMap<Boundary, Vec<&Figure>> = BTreeMap::new();
    for (term, _) in sum.terms() {
        let of = |figure: &usize| figures.get(*figure);
        let is_share = term.iter().all(|(i, power)| *power > 0 && of(i).is_none_or(|f| f.kind.is_share()));
        let held =
            term.keys().filter_map(of).flat_map(|figure| holds(figure).into_iter().map(move |b| (b, figure)));
        if let Some((boundary, figure)) = held.min_by_key(|(boundary, _)| *boundary).filter(|_| is_share) {
            let leading = shares.entry(boundary).or_default();
            if !leading.contains(&figure) {
                leading.push(figure);
            }
        }
    }
    shares
}

/// The figures of a term that charge the losses of one boundary twice. Different figures of one kind may be parts of one
/// factor; an MFU beside program goodput, and MPG beside a factor of it, are not.
fn used_twice<'a>(figures: &'a [Figure], whole: &Polynomial) -> Option<Vec<&'a Figure>> {
    let of_term = |term: &Term| {
        Boundary::ALL.into_iter().find_map(|boundary| {
            let of = |(i, power): (&usize, &i32)| Some((figures.get(*i)?, *power));
            let at: Vec<(&Figure, i32)> =
                term.iter().filter_map(of).filter(|(figure, _)| holds(figure).contains(&boundary)).collect();
            let used: Vec<&Figure> =
                at.iter().filter(|(_, power)| *power > 0).map(|(figure, _)| *figure).collect();
            let squared = at.iter().find(|(_, power)| *power > 1).map(|(figure, _)| vec![*figure]);
            let of_two_kinds = used.iter().any(|figure| figure.kind != used[0].kind).then_some(used);
            (at.iter().map(|(_, power)| power).sum::<i32>() > 1).then(|| squared.or(of_two_kinds)).flatten()
        })
    };
    whole.terms().find_map(|(term, _)| of_term(term))
}

/// The product of the factors that the formula uses, or, for MPG, of all that the sheet states; one less it for a loss.
fn product(sheet: &Sheet, formula: &Formula, whole: &Polynomial) -> Option<Corrected> {
    let used = formula.expression.figures();
    let is_factor =
        |i: &usize| sheet.figures.get(*i).is_some_and(|f| f.boundary().is_some() && f.value <= 1.0);
    if formula.expression.holds_budget() || !used.iter().all(is_factor) {
        return None;
    }
    let (at_ones, constant) = (whole.at_ones(), whole.constant());
    let is = |value: f64, wanted: f64| (value - wanted).abs() < 1e-9;
    let plain = constant == 0.0 && whole.terms().all(|(_, coefficient)| is(coefficient.abs(), 1.0));
    let is_loss = is(at_ones, 0.0) && constant > 0.0;
    if !(plain || is_loss || is(at_ones, 1.0)) {
        return None;
    }
    let of_formula = || {
        let mut values = Vec::new();
        for boundary in Boundary::ALL {
            let mut of: Vec<usize> =
                used.iter().copied().filter(|i| sheet.figures[*i].boundary() == Some(boundary)).collect();
            of.sort_unstable();
            of.dedup();
            match of[..] {
                [] => {}
                [only] => values.push(sheet.figures[only].value),
                _ => return None,
            }
        }
        Some(values)
    };
    let of_fleet = formula.target == "mpg" || formula.target.contains("fleet_goodput");
    let all = sheet.all_factors().filter(|_| of_fleet).map(|all| all.to_vec());
    let factors = all.or_else(of_formula)?;
    let product: f64 = factors.iter().product();
    let how = factors.iter().map(|factor| number(*factor)).collect::<Vec<_>>().join(" x ");
    let (value, how) = if is_loss { (1.0 - product, format!("1 - {how}")) } else { (product, how) };
    let stated = formula.expression.value(&sheet.figures, 0.0);
    Some(Corrected::new(formula.target.replace('_', " "), Some(stated), value, how))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{close, found};
    use super::*;

    fn with(formula: &str) -> Vec<Found> {
        found(
            &CHECK,
            &format!(
                "
figures:
  - {{name: S, value: 0.65, kind: scheduling_goodput}}
  - {{name: R, value: 0.90, kind: runtime_goodput}}
  - {{name: P, value: 0.48, kind: program_goodput}}
  - {{name: P next, value: 0.60, kind: program_goodput}}
  - {{name: MFU, value: 0.50, kind: mfu}}
  - {{name: node, value: 0.55, kind: mfu, scope: node}}
  - {{name: now, value: 0.28, kind: mpg}}
  - {{name: scaling, value: 0.9, kind: scaling_efficiency}}
  - {{name: hours, value: 720, kind: other}}
formula: {formula}
"
            ),
        )
    }

    #[test]
    fn factors_are_multiplied_each_once() {
        for (formula, right) in [
            // Used twice.
            ("job = R * R * P", 0.90 * 0.48),
            ("job = R * P * R", 0.90 * 0.48),
            ("pool = S * (R * P) * S", 0.65 * 0.90 * 0.48),
            ("lost = 1 - S * R * R", 1.0 - 0.65 * 0.90),
            // Summed, also under a mean, a weight or another factor.
            ("pool = S + R", 0.65 * 0.90),
            ("pool = S + R + P", 0.65 * 0.90 * 0.48),
            ("pool = mean(S, R, P)", 0.65 * 0.90 * 0.48),
            ("pool = (S + R) / 2", 0.65 * 0.90),
            ("pool = 0.5 * S + 0.3 * R + 0.2 * P", 0.65 * 0.90 * 0.48),
            ("pool = S * (R + P)", 0.65 * 0.90 * 0.48),
            // Subtracted.
            ("job = R - P", 0.90 * 0.48),
            ("pool = S * R - P", 0.65 * 0.90 * 0.48),
            // Losses added up, as what is left and as what is lost, and multiplied.
            ("pool = 1 - (1 - S) - (1 - R) - (1 - P)", 0.65 * 0.90 * 0.48),
            ("pool = 1 - ((1 - S) + (1 - R))", 0.65 * 0.90),
            ("pool = S - (1 - R)", 0.65 * 0.90),
            ("pool = S * (1 - (1 - R) - (1 - P))", 0.65 * 0.90 * 0.48),
            ("lost = (1 - S) + (1 - R) + (1 - P)", 1.0 - 0.65 * 0.90 * 0.48),
            ("pool = 1 - (1 - S) * (1 - R)", 0.65 * 0.90),
        ] {
            let fired = with(formula);
            assert_eq!(fired.len(), 1, "{formula}");
            assert_eq!(fired[0].corrected.len(), 1, "{formula}");
            close(fired[0].corrected[0].value, right);
        }
        // Wrong, and no product to give.
        for formula in ["mpg = now * R", "job = MFU * P", "x = (0.8 - S) + (0.98 - R)", "x = now - R"] {
            let fired = with(formula);
            assert_eq!((fired.len(), fired[0].corrected.len()), (1, 0), "{formula}");
        }
        assert_eq!(with("[a = S + R, mpg = a * P]").len(), 2);
    }

    /// MPG has all three factors, also those that the formula forgets.
    #[test]
    fn mpg_is_the_product_of_all_factors() {
        for formula in ["R * R * P", "S + R", "1 - (1 - S) - (1 - R) - (1 - P)", "S - R"] {
            let fired = found(
                &CHECK,
                &format!(
                    "
figures:
  - {{name: S, value: 0.65, kind: scheduling_goodput}}
  - {{name: R, value: 0.90, kind: runtime_goodput}}
  - {{name: P, value: 0.48, kind: program_goodput}}
formula: mpg = {formula}
"
                ),
            );
            close(fired[0].corrected[0].value, 0.65 * 0.90 * 0.48);
        }
    }

    #[test]
    fn sums_with_one_denominator_are_right() {
        for formula in [
            "mpg = S * R * P",
            "lost = 1 - S * R * P",
            "lost = 1 - S",
            // Each loss as a share of what was offered: they add up.
            "lost = (1 - S) + S * (1 - R) + S * R * (1 - P)",
            "left = 1 - (1 - S) - S * (1 - R) - S * R * (1 - P)",
            "at_runtime = S - S * R",
            "of_held = R - R * P",
            // One factor before and after.
            "gain = S * R * (P_next - P)",
            "ratio = P_next / P",
            "mpg = now * P_next / P",
            "share = R * R / R",
            // Two workloads, weighted.
            "program = 0.7 * P + 0.3 * P_next",
            "program = mean(P, P_next)",
            // Parts of one factor.
            "program = P * P_next",
            "program = node * scaling",
            // Amounts are no shares.
            "wall = hours / R + hours",
            "lost = hours * (1 - R) + hours / S",
            "x = S / (R + hours)",
        ] {
            assert!(with(formula).is_empty(), "{formula}");
        }
    }
}
