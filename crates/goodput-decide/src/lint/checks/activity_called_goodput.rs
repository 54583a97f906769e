use super::super::formula::Formula;
use super::super::sheet::{Figure, FigureKind, Sheet, slug};
use super::super::{Check, Found, Severity, number};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "activity-called-goodput",
    severity: Severity::Error,
    title: "occupancy, duty cycle or availability called goodput",
    why: "They count that devices are up, assigned or active. A device that waits in a collective, repeats lost steps or \
          stalls on input counts in full: none of them says how much progress was made.",
    sheet,
    report: not_in_reports,
};

/// Words of activity in the name of what is filed as a goodput.
const ACTIVITY: [&str; 6] =
    ["duty_cycle", "occupancy", "availability", "gpu_util", "utilization", "allocated"];

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let by_name = sheet.figures.iter().enumerate().filter_map(|(i, figure)| {
        let name = slug(&figure.name);
        let called = figure.kind.is_activity() && name.contains("goodput");
        let filed = figure.kind.is_goodput() && ACTIVITY.iter().any(|word| name.contains(word));
        let own = figure.kind == FigureKind::ProgramGoodput
            && (name.contains("flops") || name.contains("bandwidth"));
        ((called || filed) && !own).then(|| {
            Found::new(
                format!("figures[{i}]"),
                format!("{} {} is filed as {}", figure.name, number(figure.value), figure.kind.key()),
            )
            .and(replacement(figure))
        })
    });
    let in_formulas = sheet.formulas.iter().enumerate().filter_map(|(i, formula): (usize, &Formula)| {
        let goodput = formula.target.contains("goodput") || formula.target == "mpg";
        let figure = formula
            .expression
            .multiplied()
            .into_iter()
            .map(|i| &sheet.figures[i])
            .find(|f| f.kind.is_activity())?;
        goodput.then(|| {
            Found::new(
                format!("formula[{i}]"),
                format!("{}: {} is {}", formula.text, figure.name, figure.kind.key()),
            )
            .and(replacement(figure))
        })
    });
    by_name.chain(in_formulas).collect()
}

fn replacement(figure: &Figure) -> String {
    match figure.kind {
        FigureKind::Occupancy | FigureKind::Availability => {
            "scheduling goodput is time held by complete allocations over offered time: `goodput account` has it"
        }
        _ => "program goodput is ideal over retained step time: `goodput trace` and `goodput mfu` have it",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    #[test]
    fn busy_is_not_productive() {
        let wrong = "
figures:
  - {name: GPU goodput, value: 0.9, kind: duty_cycle}
  - {name: occupancy, value: 0.95, kind: occupancy}
  - {name: program goodput by GPU utilization, value: 0.9, kind: program_goodput}
formula: goodput = occupancy * 0.9
";
        assert_eq!(found(&CHECK, wrong).len(), 3);
        assert!(found(&CHECK, "figures: [{name: duty cycle, value: 0.9, kind: duty_cycle}]").is_empty());
        assert!(
            found(&CHECK, "figures: [{name: model FLOPs utilization, value: 0.4, kind: program_goodput}]")
                .is_empty()
        );
    }
}
