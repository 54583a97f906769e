use super::super::sheet::Sheet;
use super::super::{Check, Found, Severity, number};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "unknown-overhead",
    severity: Severity::Note,
    title: "an overhead that names no known loss",
    why: "Which factor an overhead belongs to follows from the boundary that its time fails to cross; a name that says none \
          belongs to none. `pattern` states the loss.",
    sheet,
    report: not_in_reports,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let budget = sheet.budget.iter().enumerate().filter(|(_, o)| o.known().is_none());
    let budget = budget.map(|(i, o)| {
        Found::new(format!("budget[{i}].overhead"), format!("{} {}", o.overhead, number(o.share)))
    });
    let losses = sheet.losses.iter().enumerate().filter(|(_, l)| l.known().is_none());
    budget.chain(losses.map(|(i, l)| Found::new(format!("losses[{i}].loss"), l.loss.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    #[test]
    fn a_pattern_states_the_loss() {
        assert_eq!(found(&CHECK, "budget: [{overhead: other, share: 0.03}]").len(), 1);
        assert!(found(&CHECK, "budget: [{overhead: other, share: 0.03, pattern: evaluation}]").is_empty());
    }
}
