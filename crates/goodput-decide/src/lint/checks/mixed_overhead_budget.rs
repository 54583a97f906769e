use goodput_core::Boundary;

use super::super::sheet::{FigureKind, Level, Overhead, Sheet};
use super::super::{Check, Corrected, Found, Severity, number};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "mixed-overhead-budget",
    severity: Severity::Error,
    title: "one overhead budget over several boundaries",
    why: "Each factor divides what crossed its boundary by what arrived there. Overheads of different boundaries have \
          different denominators: their sum belongs to no ratio. Times a measured MFU, which holds bubbles already, it \
          charges them twice.",
    sheet,
    report: not_in_reports,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let at =
        |boundary| sheet.budget.iter().filter(move |o| o.known().is_some_and(|p| p.boundary() == boundary));
    let mixed: Vec<Boundary> = Boundary::ALL.into_iter().filter(|&b| at(b).next().is_some()).collect();
    let formula = sheet.formulas.iter().find(|f| f.expression.holds_budget());
    // A budget that a sheet lists and no formula subtracts is a list, not a mistake.
    let Some(formula) = formula.filter(|_| mixed.len() > 1) else { return Vec::new() };
    let sum = sheet.budget_sum();
    let stated = formula.expression.value(&sheet.figures, sum);
    let mut found = Found::new("budget", format!("{} with a sum of {}", formula.text, number(sum)));
    for &boundary in &mixed {
        let items: Vec<String> =
            at(boundary).map(|o| format!("{} {}", o.overhead, number(o.share))).collect();
        found = found.and(format!("{boundary}: {}", items.join(", ")));
    }
    let [s, r, p] = factors(|boundary| at(boundary).collect());
    let all_of = |name: &str, value: f64| {
        Corrected::new(
            name,
            None,
            value,
            "one less the overheads of this boundary, as shares of what arrives there",
        )
    };
    let mfu = formula
        .expression
        .multiplied()
        .into_iter()
        .find(|&i| matches!(sheet.figures[i].kind, FigureKind::Mfu | FigureKind::ProgramGoodput));
    let (program, how) = match mfu {
        Some(i) => {
            let figure = &sheet.figures[i];
            found = found.and(format!(
                "{} is {} with the program overheads inside it",
                figure.name,
                number(figure.value)
            ));
            (figure.value, "the measured figure, program overheads inside it")
        }
        None => (p, "one less the program overheads that are listed: program goodput has others too"),
    };
    vec![found.corrected([
        all_of("scheduling goodput", s),
        all_of("runtime goodput", r),
        Corrected::new("program goodput", None, program, how),
        Corrected::new(
            formula.target.replace('_', " "),
            Some(stated),
            s * r * program,
            "scheduling x runtime x program, each overhead in one factor",
        ),
    ])]
}

/// The three factors, shares converted to what arrives at each boundary.
fn factors<'a>(at: impl Fn(Boundary) -> Vec<&'a Overhead>) -> [f64; 3] {
    let offered = 1.0;
    let (mut held, mut retained) = (offered, offered);
    let mut factors = [1.0; 3];
    for (factor, boundary) in factors.iter_mut().zip(Boundary::ALL) {
        let arrives = match boundary {
            Boundary::Scheduling => offered,
            Boundary::Runtime => held,
            Boundary::Program => retained,
        };
        let lost = |overhead: &&Overhead| {
            let of = match overhead.share_of {
                None => arrives,
                Some(Level::Offered) => offered,
                Some(Level::Held) => held,
                Some(Level::Retained) => retained,
            };
            overhead.share * of
        };
        let lost: f64 = at(boundary).iter().map(lost).sum();
        *factor = if arrives > 0.0 { (1.0 - lost / arrives).max(0.0) } else { 0.0 };
        let crossed = arrives * *factor;
        match boundary {
            Boundary::Scheduling => (held, retained) = (crossed, crossed),
            Boundary::Runtime => retained = crossed,
            Boundary::Program => {}
        }
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::super::testing::{close, found};
    use super::*;

    #[test]
    fn the_budget_is_taken_apart_by_boundary() {
        let found = found(
            &CHECK,
            "
figures: [{name: fleet MFU, value: 0.48, kind: mfu, scope: fleet}]
budget:
  - {overhead: pipeline bubbles, share: 0.05}
  - {overhead: checkpoints, share: 0.03}
  - {overhead: failure recovery, share: 0.02}
  - {overhead: scheduling delay, share: 0.04}
  - {overhead: preemption, share: 0.02}
formula: goodput = (1 - sum(budget)) * fleet_mfu
",
        );
        let values: Vec<f64> = found[0].corrected.iter().map(|c| c.value).collect();
        close(values[0], 0.96);
        close(values[1], 0.93);
        close(values[2], 0.48);
        close(values[3], 0.96 * 0.93 * 0.48);
        close(found[0].corrected[3].stated.unwrap(), 0.84 * 0.48);
    }

    /// The 0.05 of in-service time of worked example E2 is 0.05/0.65 of held time.
    #[test]
    fn shares_of_offered_time_are_converted() {
        let found = found(
            &CHECK,
            "
figures: [{name: mfu, value: 0.48, kind: mfu}]
budget:
  - {overhead: no eligible demand, share: 0.20}
  - {overhead: incomplete gangs, share: 0.15}
  - {overhead: input wait, share: 0.05, share_of: offered}
formula: goodput = (1 - sum(budget)) * mfu
",
        );
        close(found[0].corrected[0].value, 0.65);
        close(found[0].corrected[1].value, 1.0 - 0.05 / 0.65);
    }

    #[test]
    fn one_boundary_has_one_sum() {
        let quiet = "
figures: [{name: mfu, value: 0.48, kind: mfu}]
budget: [{overhead: checkpoints, share: 0.03}, {overhead: preemption, share: 0.02}]
formula: job = (1 - sum(budget)) * mfu
";
        assert!(found(&CHECK, quiet).is_empty());
    }
}
