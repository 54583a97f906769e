use super::super::sheet::Sheet;
use super::super::{Check, Corrected, Found, Severity, number};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "percent-as-share",
    severity: Severity::Error,
    title: "a percentage where a share is expected",
    why: "Shares and probabilities of a sheet lie in 0 to 1; a percentage among them makes every sum and product wrong by \
          hundreds.",
    sheet,
    report: not_in_reports,
};

/// More than a wrong share would be, and still at most a whole in percent.
pub(super) fn is_percent(value: f64) -> bool {
    (2.0..=100.0).contains(&value)
}

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let found = |at: String, name: &str, value: f64| {
        Found::new(at, format!("{name} is {}", number(value))).corrected([Corrected::new(
            name,
            Some(value),
            value / 100.0,
            "taken as a percentage",
        )])
    };
    let figures = sheet
        .figures
        .iter()
        .enumerate()
        .filter(|(_, f)| f.kind.is_share() && is_percent(f.value))
        .map(|(i, f)| found(format!("figures[{i}].value"), &f.name, f.value));
    // Among shares in percent a 1 or a 0.5 is one too.
    let in_percent = sheet.budget.iter().any(|o| is_percent(o.share));
    let mixed = in_percent && sheet.budget.iter().any(|o| o.share > 0.0 && o.share < 1.0);
    let budget = sheet.budget.iter().enumerate().filter(|(_, o)| is_percent(o.share)).map(move |(i, o)| {
        let found = found(format!("budget[{i}].share"), &o.overhead, o.share);
        if mixed { found.and("other overheads of the budget are below one") } else { found }
    });
    let losses = sheet.losses.iter().enumerate().filter_map(|(i, loss)| {
        let share = loss.share.filter(|&share| is_percent(share))?;
        Some(found(format!("losses[{i}].share"), &loss.loss, share))
    });
    let claims = sheet.claims.iter().enumerate().flat_map(|(i, claim)| {
        let percentages = claim.shares().into_iter().filter(|(_, _, share)| is_percent(*share));
        percentages
            .map(|(key, name, share)| found(format!("claims[{i}].{key}"), name, share))
            .collect::<Vec<_>>()
    });
    figures.chain(budget).chain(losses).chain(claims).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{close, found};
    use super::*;

    #[test]
    fn forty_eight_is_a_percentage() {
        let fired = found(
            &CHECK,
            "figures: [{name: MFU, value: 48, kind: mfu}, {name: step, value: 48, kind: step_time}]",
        );
        assert_eq!(fired.len(), 1);
        close(fired[0].corrected[0].value, 0.48);
        let mixed =
            found(&CHECK, "budget: [{overhead: bubbles, share: 5}, {overhead: checkpoints, share: 0.03}]");
        assert!(mixed[0].evidence[1].contains("below one"));
        assert!(found(&CHECK, "budget: [{overhead: checkpoints, share: 0.03}]").is_empty());
    }

    #[test]
    fn shares_of_claims_too() {
        let at = |claim: &str| {
            found(&CHECK, &format!("claims: [{claim}]")).into_iter().map(|f| f.at).collect::<Vec<_>>()
        };
        assert_eq!(
            at("{claim: speedup, term: a, times: 2, expected: 1.1, shares: {a: 60, b: 40}}"),
            ["claims[0].shares.a", "claims[0].shares.b"]
        );
        assert_eq!(at("{claim: summed_gains, savings: [20, 0.1], expected: 0.3}"), ["claims[0].savings[0]"]);
        assert_eq!(
            at("{claim: first_kernel, kernel: a, kernels: [{kernel: a, share: 30, of_ceiling: 90}]}"),
            ["claims[0].kernels[0].share", "claims[0].kernels[0].of_ceiling"]
        );
        assert_eq!(
            at("{claim: order, order: [program], ceilings: {program: 60}}"),
            ["claims[0].ceilings.program"]
        );
    }
}
