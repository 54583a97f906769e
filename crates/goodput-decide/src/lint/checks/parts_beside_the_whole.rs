use super::super::sheet::Sheet;
use super::super::{Check, Corrected, Found, Severity, number};
use crate::report::{Exact, Report};

pub(super) const CHECK: Check = Check {
    id: "parts-beside-the-whole",
    severity: Severity::Error,
    title: "parts that do not sum to their whole",
    why: "Every hour is charged once: what the parts leave open is a loss without a name, and what they have too much of is \
          charged twice.",
    sheet,
    report,
};

/// Parts rounded to two digits, a dozen of them.
const ROUNDED: f64 = 0.01;

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let judge = |(i, whole): (usize, &super::super::sheet::Whole)| {
        let sum: f64 = whole.parts.values().sum();
        let off = sum - whole.total;
        if off.abs() <= ROUNDED * whole.total.abs() {
            return None;
        }
        let found = Found::new(
            format!("wholes[{i}].parts"),
            format!(
                "{}: the parts sum to {}, the whole is {}",
                whole.whole,
                number(sum),
                number(whole.total)
            ),
        );
        let missing =
            (off < 0.0).then(|| Corrected::new("unsettled", None, -off, "the whole less its parts"));
        let found = if off > 0.0 { found.and(format!("{} is charged twice", number(off))) } else { found };
        Some(found.corrected(missing))
    };
    sheet.wholes.iter().enumerate().filter_map(judge).collect()
}

/// A report that someone changed by hand: the accounting's own books are exact.
fn report(report: &Report) -> Vec<Found> {
    let time = report.capacity_time();
    let levels = [
        ("runtime_losses", Some(time.held_ns), &time.runtime_losses, time.retained_ns),
        ("program_losses", Some(time.retained_ns), &time.program_losses, time.ideal_ns),
        ("scheduling_losses", time.offered_ns, &time.scheduling_losses, time.held_ns),
    ];
    let judge = |(name, arrived, losses, crossed): (
        &str,
        Option<Exact>,
        &std::collections::BTreeMap<String, Exact>,
        Exact,
    )| {
        let arrived = arrived?.0;
        let sum = losses.values().map(|loss| loss.0).sum::<i128>() + crossed.0;
        (sum != arrived).then(|| {
            Found::new(
                format!("capacity_time.{name}"),
                format!("losses and what crossed sum to {sum} device-ns, what arrived is {arrived}"),
            )
        })
    };
    levels.into_iter().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{close, found};
    use super::*;

    #[test]
    fn a_tenth_without_a_name() {
        let with = |overhead: f64| {
            format!(
                "
wholes: [{{whole: step, parts: {{memory: 0.60, compute: 0.30, overhead: {overhead}}}}}]
"
            )
        };
        assert!(found(&CHECK, &with(0.1)).is_empty());
        close(found(&CHECK, &with(0.0))[0].corrected[0].value, 0.1);
        assert!(found(&CHECK, &with(0.3))[0].evidence[1].contains("twice"));
    }
}
