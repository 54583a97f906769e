use goodput_core::Boundary;

use super::super::sheet::{Figure, FigureKind, Sheet};
use super::super::{Check, Found, Severity, number};
use crate::adequacy::{self, INTERRUPTIONS, STEADY_STEPS};
use crate::report::Report;

pub(super) const CHECK: Check = Check {
    id: "window-too-short",
    severity: Severity::Warning,
    title: "a window shorter than its factor needs",
    why: "Program goodput loses time in every step: several hundred steady ones show it. Runtime goodput loses it in \
          interruptions: several of them must fall into the window. Scheduling goodput follows demand: whole cycles of it, days at least, show it.",
    sheet,
    report,
};

const HOUR_NS: f64 = 3.6e12;

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let judge = |(i, figure): (usize, &Figure)| {
        let at = format!("figures[{i}]");
        match figure.boundary()? {
            Boundary::Program => {
                let steps = figure.steps.filter(|&steps| steps < STEADY_STEPS)?;
                Some(Found::new(
                    format!("{at}.steps"),
                    format!("{} rests on {steps} steps, {STEADY_STEPS} are needed", figure.name),
                ))
            }
            Boundary::Runtime => {
                let hours = figure.window_hours?;
                let seen = figure.failures.map(|n| n as f64).or_else(|| Some(hours / sheet.mtbf_hours?))?;
                (seen < INTERRUPTIONS as f64).then(|| {
                    few_failures(format!("{at}.window_hours"), &figure.name, hours, seen, sheet.mtbf_hours)
                })
            }
            Boundary::Scheduling => {
                let judged = adequacy::demand(Boundary::Scheduling, figure.window_hours? * HOUR_NS);
                let said = format!("{}: {}", figure.name, judged.sentence);
                (!judged.adequate).then(|| Found::new(format!("{at}.window_hours"), said))
            }
        }
    };
    let usable = |f: &&(usize, &Figure)| f.1.kind != FigureKind::Mbu;
    sheet
        .figures
        .iter()
        .enumerate()
        .collect::<Vec<_>>()
        .iter()
        .filter(usable)
        .filter_map(|&f| judge(f))
        .collect()
}

/// Failures taken as a Poisson process.
fn few_failures(at: String, name: &str, hours: f64, seen: f64, mtbf_hours: Option<f64>) -> Found {
    let found = Found::new(
        at,
        format!(
            "{name} covers {} h with {} failures, {INTERRUPTIONS} are needed",
            number(hours),
            number(seen)
        ),
    );
    match mtbf_hours {
        Some(mtbf) => found.and(format!(
            "at one failure every {} h the window sees none with probability {}; {} h are needed",
            number(mtbf),
            number((-hours / mtbf).exp()),
            number(INTERRUPTIONS as f64 * mtbf)
        )),
        None => found,
    }
}

/// As every report judges its own windows.
fn report(report: &Report) -> Vec<Found> {
    let short = adequacy::judge(&report.evidence()).into_iter().filter(|judged| !judged.adequate);
    short.map(|judged| Found::new(format!("factor_bounds.{}", judged.boundary), judged.sentence)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    /// 128 devices with a failure every 302 h: a day sees none with probability 0.92.
    #[test]
    fn a_day_sees_no_failure() {
        let with = |hours: u32| {
            format!(
                "
mtbf_hours: 302
figures: [{{name: R, value: 0.99, kind: runtime_goodput, window_hours: {hours}}}]
"
            )
        };
        let fired = found(&CHECK, &with(24));
        assert!(fired[0].evidence[1].contains("0.9236"), "{:?}", fired[0].evidence);
        assert!(found(&CHECK, &with(1600)).is_empty());
        assert_eq!(found(&CHECK, "figures: [{name: P, value: 0.4, kind: mfu, steps: 20}]").len(), 1);
        assert!(found(&CHECK, "figures: [{name: P, value: 0.4, kind: mfu, steps: 500}]").is_empty());
    }
    /// Whole demand cycles, of which a day is the shortest: a sheet and a report say the same of every window.
    #[test]
    fn scheduling_is_judged_as_a_report_judges_it() {
        for (hours, whole_cycles) in [
            (1.0, false),
            (8.0, false),
            (24.0, true),
            (36.0, false),
            (48.0, true),
            (168.0, true),
            (732.0, true),
        ] {
            let sheet = found(
                &CHECK,
                &format!(
                    "figures: [{{name: S, value: 0.6, kind: scheduling_goodput, window_hours: {hours}}}]"
                ),
            );
            assert_eq!(sheet.is_empty(), whole_cycles, "{hours} h: {sheet:?}");
            let window =
                adequacy::Evidence { pool_window_ns: Some(hours * HOUR_NS), ..adequacy::Evidence::default() };
            let report =
                adequacy::judge(&window).into_iter().find(|f| f.boundary == Boundary::Scheduling).unwrap();
            assert_eq!(report.adequate, whole_cycles, "{hours} h: {}", report.sentence);
            assert!(sheet.iter().all(|found| found.evidence[0].ends_with(&report.sentence)), "{sheet:?}");
        }
    }
}
