use super::super::formula::Formula;
use super::super::sheet::{Figure, Sheet};
use super::super::{Check, Found, Severity, number};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "different-windows",
    severity: Severity::Error,
    title: "a product of factors of different windows",
    why: "The factors of one product pass on the same capacity-time: they need one calendar window. Program goodput may be \
          sampled from retained steps inside it.",
    sheet,
    report: not_in_reports,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let judge = |(i, formula): (usize, &Formula)| {
        let figures = formula.expression.multiplied().into_iter().map(|i| &sheet.figures[i]);
        let stated: Vec<(&Figure, f64)> = figures.filter_map(|f| Some((f, f.window_hours?))).collect();
        let differ = stated.windows(2).any(|pair| (pair[0].1 - pair[1].1).abs() > 1e-9 * pair[0].1.abs());
        differ.then(|| {
            let windows: Vec<String> =
                stated.iter().map(|(f, hours)| format!("{} over {} h", f.name, number(*hours))).collect();
            let longest = stated.iter().map(|(_, hours)| *hours).fold(0.0, f64::max);
            Found::new(format!("formula[{i}]"), windows.join(", ")).and(format!(
                "an estimate at best: measure all over the longest window, {} h",
                number(longest)
            ))
        })
    };
    sheet.formulas.iter().enumerate().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    #[test]
    fn a_day_and_a_week_have_no_product() {
        let with = |hours: u32| {
            format!(
                "
figures:
  - {{name: P, value: 0.41, kind: program_goodput, window_hours: 168}}
  - {{name: R, value: 0.90, kind: runtime_goodput, window_hours: {hours}}}
formula: job = R * P
"
            )
        };
        assert_eq!(found(&CHECK, &with(24)).len(), 1);
        assert!(found(&CHECK, &with(168)).is_empty());
    }
}
