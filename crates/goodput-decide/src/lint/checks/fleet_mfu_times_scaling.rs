use super::super::charged_twice::charged_twice;
use super::super::formula::Formula;
use super::super::sheet::{FigureKind, Scope, Sheet};
use super::super::{Check, Found, Severity};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "fleet-mfu-times-scaling",
    severity: Severity::Error,
    title: "a fleet's MFU times scaling efficiency",
    why: "The MFU of a job at its full size holds what scaling costs. Scaling efficiency multiplies the MFU of one node; \
          times the fleet's it charges the same loss twice.",
    sheet,
    report: not_in_reports,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let judge = |(i, formula): (usize, &Formula)| {
        let figures = || formula.expression.multiplied().into_iter().map(|i| &sheet.figures[i]);
        let mfu = figures().find(|f| {
            f.kind == FigureKind::ProgramGoodput
                || (f.kind == FigureKind::Mfu && !matches!(f.scope, Some(Scope::Node | Scope::Benchmark)))
        })?;
        let scaling = figures().find(|f| f.kind == FigureKind::ScalingEfficiency)?;
        let without = format!("without {}", scaling.name);
        let apart = ("node MFU", "the fleet's MFU over scaling efficiency");
        let found = charged_twice(sheet, (i, formula), [mfu, scaling], without, apart);
        Some(if mfu.scope.is_none() && mfu.kind == FigureKind::Mfu {
            found.and(format!("{} has no scope: a node's MFU is `scope: node`", mfu.name))
        } else {
            found
        })
    };
    sheet.formulas.iter().enumerate().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{close, found};
    use super::*;

    /// Worked example E5.
    #[test]
    fn scaling_is_charged_once() {
        let with = |scope: &str| {
            format!(
                "
figures:
  - {{name: MFU, value: 0.48041208394378987, kind: mfu, scope: {scope}}}
  - {{name: scaling, value: 0.7346938775510204, kind: scaling_efficiency}}
formula: program = mfu * scaling
"
            )
        };
        let fleet = found(&CHECK, &with("fleet"));
        close(fleet[0].corrected[0].value, 0.480_412_083_943_789_87);
        assert!((fleet[0].corrected[1].value - 0.65389).abs() < 1e-5);
        assert!(found(&CHECK, &with("node")).is_empty());
    }
}
