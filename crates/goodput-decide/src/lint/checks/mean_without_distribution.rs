use super::super::sheet::{FigureKind, Sheet, Statistic};
use super::super::{Check, Found, Severity, number};
use crate::report::{Ranks, Report, StepTimes};

pub(super) const CHECK: Check = Check {
    id: "mean-without-distribution",
    severity: Severity::Warning,
    title: "a mean step time without its distribution",
    why: "A synchronous step ends with its slowest rank. Over thousands of steps a rank that stalls now and then looks like a \
          slightly slower mean; percentiles, by rank, show it.",
    sheet,
    report,
};

/// A tail at which the centre no longer describes the steps.
const TAIL: f64 = 1.2;

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let judge = |(i, figure): (usize, &super::super::sheet::Figure)| {
        if figure.kind != FigureKind::StepTime {
            return None;
        }
        let centre = if figure.statistic == Some(Statistic::Median) { "median" } else { "mean" };
        let of = format!("{}: {centre} {} s", figure.name, number(figure.value));
        match figure.p99 {
            None => Some(Found::new(format!("figures[{i}].p99"), format!("{of}, no p99 stated"))),
            Some(p99) if p99 > TAIL * figure.value => Some(
                Found::new(
                    format!("figures[{i}].p99"),
                    format!("{of}, p99 {} s: {} times", number(p99), number(p99 / figure.value)),
                )
                .and("compare the ranks of the slow steps: `goodput timeline` and `goodput trace`"),
            ),
            Some(_) => None,
        }
    };
    sheet.figures.iter().enumerate().filter_map(judge).collect()
}

fn report(report: &Report) -> Vec<Found> {
    match report {
        Report::Timeline(report) => {
            judge("", &report.step_times, report.ranks.as_ref()).into_iter().collect()
        }
        Report::Account(report) => {
            let of = |(i, job): (usize, &crate::report::Job)| {
                judge(&format!("jobs[{i}]."), job.step_times.as_ref()?, job.ranks.as_ref())
            };
            report.jobs.iter().enumerate().filter_map(of).collect()
        }
    }
}

fn judge(at: &str, times: &StepTimes, ranks: Option<&Ranks>) -> Option<Found> {
    let (p50, p99) = (times.p50_ns?.as_f64() / 1e9, times.p99_ns?.as_f64() / 1e9);
    (p50 > 0.0 && p99 > TAIL * p50).then(|| {
        let found = Found::new(
            format!("{at}step_times.p99_ns"),
            format!(
                "p99 {} s is {} times the median {} s of {} steps",
                number(p99),
                number(p99 / p50),
                number(p50),
                times.count
            ),
        );
        match ranks {
            Some(ranks) => found.and(format!(
                "slowest rank {} on {}: median {} s against {} s",
                ranks.slowest_rank,
                ranks.slowest_host,
                number(ranks.slowest_p50_ns.as_f64() / 1e9),
                number(ranks.typical_p50_ns.as_f64() / 1e9)
            )),
            None => found.and("no timers by rank: which rank stalls is not known"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    #[test]
    fn a_mean_hides_a_tail() {
        let with = |rest: &str| {
            format!("figures: [{{name: step, value: 0.245, kind: step_time, statistic: mean{rest}}}]")
        };
        assert_eq!(found(&CHECK, &with("")).len(), 1);
        assert_eq!(found(&CHECK, &with(", p99: 0.4")).len(), 1);
        assert!(found(&CHECK, &with(", p99: 0.25")).is_empty());
    }
}
