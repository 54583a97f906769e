use super::super::sheet::{FigureKind, Scope, Sheet};
use super::super::{Check, Corrected, Found, Severity, number};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "whole-run-mfu-times-runtime",
    severity: Severity::Error,
    title: "an MFU over a whole run times runtime goodput",
    why: "An MFU over the wall clock of a run holds its restarts, pauses and rework already: times runtime goodput they are \
          charged twice. Program goodput is the MFU of retained steps.",
    sheet,
    report: not_in_reports,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let judge = |(i, formula): (usize, &super::super::formula::Formula)| {
        let of = |kind, scope: Option<Scope>| {
            let figures = formula.expression.multiplied().into_iter().map(|i| &sheet.figures[i]);
            figures.into_iter().find(|f| f.kind == kind && (scope.is_none() || f.scope == scope))
        };
        let mfu = of(FigureKind::Mfu, Some(Scope::WholeRun))?;
        let runtime = of(FigureKind::RuntimeGoodput, None)?;
        let stated = formula.expression.value(&sheet.figures, sheet.budget_sum());
        let found = Found::new(
            format!("formula[{i}]"),
            format!(
                "{}: {} {} times {} {}",
                formula.text,
                mfu.name,
                number(mfu.value),
                runtime.name,
                number(runtime.value)
            ),
        );
        Some(found.corrected([
            Corrected::new(
                formula.target.replace('_', " "),
                Some(stated),
                stated / runtime.value,
                format!("without {}: the run's MFU holds it", runtime.name),
            ),
            Corrected::new(
                "program goodput",
                None,
                mfu.value / runtime.value,
                "the run's MFU over its runtime goodput, both of the same held time",
            ),
        ]))
    };
    sheet.formulas.iter().enumerate().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{close, found};
    use super::*;

    #[test]
    fn restarts_are_charged_once() {
        let with = |scope: &str| {
            format!(
                "
figures:
  - {{name: MFU, value: 0.36, kind: mfu, scope: {scope}}}
  - {{name: runtime, value: 0.9, kind: runtime_goodput}}
formula: job = mfu * runtime
"
            )
        };
        let found_ = found(&CHECK, &with("whole_run"));
        close(found_[0].corrected[0].stated.unwrap(), 0.324);
        close(found_[0].corrected[0].value, 0.36);
        close(found_[0].corrected[1].value, 0.40);
        assert!(found(&CHECK, &with("retained_steps")).is_empty());
    }
}
