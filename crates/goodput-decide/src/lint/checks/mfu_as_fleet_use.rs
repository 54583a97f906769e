use super::super::formula::Formula;
use super::super::sheet::{FigureKind, Sheet};
use super::super::{Check, Corrected, Found, Severity, number};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "mfu-as-fleet-use",
    severity: Severity::Error,
    title: "a job's MFU taken for the use of the fleet",
    why: "MFU divides by time inside retained steps. Capacity that the job never held, and held time without a retained \
          step, are not in it.",
    sheet,
    report: not_in_reports,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let corrected = |stated: f64| {
        sheet.all_factors().map(|[s, r, p]| {
            let how = format!("{} x {} x {}", number(s), number(r), number(p));
            Corrected::new("MPG", Some(stated), s * r * p, how)
        })
    };
    let named = sheet.figures.iter().enumerate().filter_map(|(i, figure)| {
        let wrong = figure.kind == FigureKind::Mpg && figure.name.to_lowercase().contains("mfu");
        wrong.then(|| {
            Found::new(
                format!("figures[{i}]"),
                format!("{} {} is filed as mpg", figure.name, number(figure.value)),
            )
            .corrected(corrected(figure.value))
        })
    });
    let computed = sheet.formulas.iter().enumerate().filter_map(|(i, formula): (usize, &Formula)| {
        let of_fleet = formula.target == "mpg" || formula.target.contains("fleet_goodput");
        let figures = formula.expression.figures();
        let only_program = !figures.is_empty()
            && !formula.expression.holds_budget()
            && figures
                .iter()
                .all(|&i| matches!(sheet.figures[i].kind, FigureKind::Mfu | FigureKind::ProgramGoodput));
        let stated = formula.expression.value(&sheet.figures, 0.0);
        (of_fleet && only_program).then(|| {
            Found::new(format!("formula[{i}]"), format!("{} has program goodput alone", formula.text))
                .corrected(corrected(stated))
        })
    });
    named.chain(computed).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{close, found};
    use super::*;

    #[test]
    fn a_job_at_048_on_a_pool_at_028() {
        let with = |formula: &str| {
            format!(
                "
figures:
  - {{name: S, value: 0.65, kind: scheduling_goodput}}
  - {{name: R, value: 0.9039451741972573, kind: runtime_goodput}}
  - {{name: MFU, value: 0.48041208394378987, kind: mfu, scope: fleet}}
formula: mpg = {formula}
"
            )
        };
        close(found(&CHECK, &with("mfu"))[0].corrected[0].value, 0.282_273_020_189_573_7);
        assert!(found(&CHECK, &with("S * R * mfu")).is_empty());
    }
}
