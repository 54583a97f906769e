use super::super::formula::{Expression, Formula};
use super::super::sheet::{FigureKind, Sheet};
use super::super::{Check, Found, Severity, number};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "mean-of-different-ideals",
    severity: Severity::Error,
    title: "MFU averaged with MBU",
    why: "MFU divides by peak arithmetic, MBU by peak bandwidth: their mean measures no resource. Keep a row for each \
          workload class, or take all against the arithmetic ideal and say so.",
    sheet,
    report: not_in_reports,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let kind = |i: usize| sheet.figures[i].kind;
    let mixed = |figures: &[usize]| {
        figures.iter().any(|&i| kind(i) == FigureKind::Mbu)
            && figures.iter().any(|&i| matches!(kind(i), FigureKind::Mfu | FigureKind::Hfu))
    };
    let judge = |(i, formula): (usize, &Formula)| {
        let parts = formula.expression.parts();
        let added = parts.into_iter().find(|part| {
            matches!(part, Expression::Mean(_) | Expression::Sum(..)) && mixed(&part.figures())
        })?;
        let rows: Vec<String> = added
            .figures()
            .into_iter()
            .map(|i| {
                format!("{} {} ({})", sheet.figures[i].name, number(sheet.figures[i].value), kind(i).key())
            })
            .collect();
        Some(
            Found::new(format!("formula[{i}]"), formula.text.clone())
                .and(format!("rows apart: {}", rows.join(", "))),
        )
    };
    sheet.formulas.iter().enumerate().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    #[test]
    fn training_and_decode_keep_their_rows() {
        let with = |kind: &str, formula: &str| {
            format!(
                "
figures:
  - {{name: training, value: 0.48, kind: mfu}}
  - {{name: decode, value: 0.80, kind: {kind}}}
formula: fleet = {formula}
"
            )
        };
        assert_eq!(found(&CHECK, &with("mbu", "mean(training, decode)")).len(), 1);
        assert_eq!(found(&CHECK, &with("mbu", "0.7 * training + 0.3 * decode")).len(), 1);
        assert!(found(&CHECK, &with("mfu", "mean(training, decode)")).is_empty());
    }
}
