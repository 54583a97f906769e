use super::super::sheet::{FigureKind, Sheet};
use super::super::{Check, Found, Severity, number};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "single-run",
    severity: Severity::Warning,
    title: "one profile for all of a job's goodput",
    why: "The three factors lose time on different scales. One short run can show program goodput; the others need failures \
          and demand, which it does not meet.",
    sheet,
    report: not_in_reports,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let judge = |(i, figure): (usize, &super::super::sheet::Figure)| {
        let beyond = matches!(
            figure.kind,
            FigureKind::RuntimeGoodput | FigureKind::SchedulingGoodput | FigureKind::Mpg
        );
        let spread = matches!(figure.kind, FigureKind::StepTime) && figure.p99.is_none();
        ((beyond || spread) && figure.runs == Some(1)).then(|| {
            let why =
                if beyond { "program goodput is the most that one run shows" } else { "no spread is known" };
            Found::new(
                format!("figures[{i}].runs"),
                format!("{} {} rests on one run: {why}", figure.name, number(figure.value)),
            )
        })
    };
    sheet.figures.iter().enumerate().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    #[test]
    fn one_run_shows_one_factor() {
        let with = |kind: &str| format!("figures: [{{name: x, value: 0.9, kind: {kind}, runs: 1}}]");
        assert_eq!(found(&CHECK, &with("runtime_goodput")).len(), 1);
        assert!(found(&CHECK, &with("program_goodput")).is_empty());
    }
}
