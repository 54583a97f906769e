use super::super::sheet::{Claim, Sheet};
use super::super::{Check, Corrected, Found, Severity, number};
use super::percent_as_share::is_percent;
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
pub(super) const ROUNDED: f64 = 0.01;

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
    let claims = sheet.claims.iter().enumerate().filter_map(|(i, claim)| claimed(i, claim));
    sheet.wholes.iter().enumerate().filter_map(judge).chain(claims).collect()
}

/// Shares of a step that a claim rests on. Too much is charged twice; what is missing of a speedup's is assumed to stay.
fn claimed(i: usize, claim: &Claim) -> Option<Found> {
    let (key, shares, names_all): (_, Vec<f64>, _) = match claim {
        Claim::Speedup { shares, .. } => ("shares", shares.values().copied().collect(), true),
        // The kernels worth a word are no whole step.
        Claim::FirstKernel { kernels, .. } => ("kernels", kernels.iter().map(|k| k.share).collect(), false),
        _ => return None,
    };
    if shares.iter().any(|share| is_percent(*share)) {
        return None;
    }
    let sum: f64 = shares.iter().sum();
    let at = format!("claims[{i}].{key}");
    let stated = format!("the shares of the step sum to {}", number(sum));
    if sum > 1.0 + ROUNDED {
        let twice = format!(
            "{} of the step is charged twice; no speedup follows from such shares",
            number(sum - 1.0)
        );
        return Some(Found::new(at, stated).and(twice));
    }
    (names_all && sum < 1.0 - ROUNDED).then(|| {
        let rest = number(1.0 - sum);
        Found::new(at, stated)
            .and(format!("the rest, {rest} of the step, is taken as time that the claim does not change"))
            .only(Severity::Note)
    })
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
    fn shares_of_a_claim_are_of_one_step() {
        let with = |memory: f64| {
            let shares = format!("{{memory: {memory}, compute: 0.30, overhead: 0.10}}");
            found(
                &CHECK,
                &format!(
                    "claims: [{{claim: speedup, term: compute, times: 2, expected: 1.1, shares: {shares}}}]"
                ),
            )
        };
        assert!(with(0.6).is_empty());
        let below = with(0.5);
        assert_eq!((below[0].at.as_str(), below[0].severity), ("claims[0].shares", Some(Severity::Note)));
        assert_eq!(below[0].evidence[0], "the shares of the step sum to 0.9");
        assert!(
            below[0].evidence[1].contains("0.1 of the step, is taken as time that the claim does not change")
        );
        let above = with(0.8);
        assert_eq!((above[0].at.as_str(), above[0].severity), ("claims[0].shares", None));
        assert!(above[0].evidence[1].contains("0.2 of the step is charged twice"));
        // Left to the check of percentages.
        assert!(with(60.0).is_empty());
        let kernels = |share: f64| {
            let kernels = format!(
                "[{{kernel: a, share: {share}, of_ceiling: 0.5}}, {{kernel: b, share: 0.4, of_ceiling: 0.5}}]"
            );
            found(&CHECK, &format!("claims: [{{claim: first_kernel, kernel: a, kernels: {kernels}}}]"))
        };
        assert!(kernels(0.3).is_empty());
        assert_eq!(kernels(0.7)[0].at, "claims[0].kernels");
    }

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
