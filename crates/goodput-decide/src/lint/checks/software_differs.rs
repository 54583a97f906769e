use std::collections::BTreeMap;

use super::super::formula::{Expression, Formula};
use super::super::sheet::Sheet;
use super::super::{Check, Found, Severity};
use crate::report::Report;

pub(super) const CHECK: Check = Check {
    id: "software-differs",
    severity: Severity::Warning,
    title: "figures of different software compared",
    why: "Software alone can move throughput on the same devices by more than most levers: a ratio over an upgrade holds the \
          upgrade, and a figure over a window with two versions is of neither.",
    sheet,
    report,
};

/// A ratio of figures whose software differs.
fn sheet(sheet: &Sheet) -> Vec<Found> {
    let software = |e: &Expression| {
        e.figures().into_iter().find_map(|i| Some((&sheet.figures[i], sheet.figures[i].software.as_deref()?)))
    };
    let judge = |(i, formula): (usize, &Formula)| {
        formula.expression.parts().into_iter().find_map(|part| {
            let Expression::Quotient(above, below) = part else { return None };
            let ((above, a), (below, b)) = (software(above)?, software(below)?);
            (a != b).then(|| {
                Found::new(
                    format!("formula[{i}]"),
                    format!("{}: {} with {a}, {} with {b}", formula.text, above.name, below.name),
                )
            })
        })
    };
    sheet.formulas.iter().enumerate().filter_map(judge).collect()
}

fn report(report: &Report) -> Vec<Found> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for software in &report.contract().software {
        versions.entry(&software.name).or_default().push(&software.version);
    }
    let several = versions.into_iter().filter(|(_, versions)| versions.len() > 1);
    several
        .map(|(name, versions)| Found::new("contract.software", format!("{name} {}", versions.join(" and "))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    #[test]
    fn an_upgrade_is_in_the_ratio() {
        let with = |version: &str| {
            format!(
                "
figures:
  - {{name: before, value: 100, kind: other, software: TensorRT 9.0}}
  - {{name: after, value: 270, kind: other, software: {version}}}
formula: speedup = after / before
"
            )
        };
        assert_eq!(found(&CHECK, &with("TensorRT 10.8")).len(), 1);
        assert!(found(&CHECK, &with("TensorRT 9.0")).is_empty());
    }
}
