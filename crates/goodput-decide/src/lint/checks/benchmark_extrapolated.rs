use goodput_core::Boundary;
use goodput_core::planning::days_at_shortfall;

use super::super::sheet::{Claim, FigureKind, RateFrom, Scope, Sheet};
use super::super::{Check, Corrected, Found, Severity, number};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "benchmark-extrapolated",
    severity: Severity::Error,
    title: "a benchmark's rate taken for a run's",
    why: "A benchmark runs warmed up on a dedicated allocation: it measures program goodput. Startup, input waits, checkpoints, \
          failures, preemptions and queue waits of a long run are not in it.",
    sheet,
    report: not_in_reports,
};

/// Runs that stay 10 to 20 % below their planned rate: what planners are told to expect where nothing is measured.
const USUAL: [f64; 2] = [0.10, 0.20];

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let durations = sheet.claims.iter().enumerate().filter_map(|(i, claim)| {
        let Claim::Duration { days, rate_from: RateFrom::Benchmark, shortfall } = claim else { return None };
        let found =
            Found::new(format!("claims[{i}]"), format!("{} days at a benchmark's rate", number(*days)));
        let restored =
            |name: &str, factor: f64, how: String| Corrected::new(name, Some(*days), days / factor, how);
        let mut corrected = Vec::new();
        let usual = if shortfall.is_empty() { &USUAL[..] } else { &shortfall[..] };
        if let Some(runtime) = sheet.factor(Boundary::Runtime) {
            corrected.push(restored(
                "days with the runtime losses restored",
                runtime,
                format!("over runtime goodput {}; queue waits come on top", number(runtime)),
            ));
        }
        for &share in usual {
            corrected.extend(days_at_shortfall(*days, share).ok().map(|value| {
                let of = if shortfall.is_empty() {
                    "usual where nothing is measured"
                } else {
                    "as the sheet states"
                };
                let how = format!("{} % below the planned rate, {of}", number(share * 100.0));
                Corrected::new("days", Some(*days), value, how)
            }));
        }
        Some(found.corrected(corrected))
    });
    let factors = sheet.figures.iter().enumerate().filter_map(|(i, figure)| {
        let beyond = matches!(
            figure.kind,
            FigureKind::SchedulingGoodput | FigureKind::RuntimeGoodput | FigureKind::Mpg
        );
        (beyond && figure.scope == Some(Scope::Benchmark)).then(|| {
            Found::new(
                format!("figures[{i}].scope"),
                format!(
                    "{} {} comes from a benchmark, which has no such losses",
                    figure.name,
                    number(figure.value)
                ),
            )
        })
    });
    durations.chain(factors).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{close, found};
    use super::*;

    /// Worked example E13.
    #[test]
    fn thirty_days_become_33_to_37() {
        let with = |rate: &str| {
            format!(
                "
figures: [{{name: R, value: 0.9, kind: runtime_goodput}}]
claims: [{{claim: duration, days: 30, rate_from: {rate}}}]
"
            )
        };
        let fired = found(&CHECK, &with("benchmark"));
        close(fired[0].corrected[1].value, 30.0 / 0.9);
        close(fired[0].corrected[2].value, 37.5);
        assert!(found(&CHECK, &with("measured")).is_empty());
        assert_eq!(
            found(&CHECK, "figures: [{name: R, value: 0.99, kind: runtime_goodput, scope: benchmark}]").len(),
            1
        );
    }
}
