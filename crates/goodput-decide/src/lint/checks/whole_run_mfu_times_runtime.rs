use super::super::charged_twice::charged_twice;
use super::super::formula::Formula;
use super::super::sheet::{FigureKind, Scope, Sheet};
use super::super::{Check, Found, Severity};
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
    let judge = |(i, formula): (usize, &Formula)| {
        let figures = || formula.expression.multiplied().into_iter().map(|i| &sheet.figures[i]);
        let mfu = figures().find(|f| f.kind == FigureKind::Mfu && f.scope == Some(Scope::WholeRun))?;
        let runtime = figures().find(|f| f.kind == FigureKind::RuntimeGoodput)?;
        let without = format!("without {}: the run's MFU holds it", runtime.name);
        let apart = ("program goodput", "the run's MFU over its runtime goodput, both of the same held time");
        Some(charged_twice(sheet, (i, formula), [mfu, runtime], without, apart))
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
