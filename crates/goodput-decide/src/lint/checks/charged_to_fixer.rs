use goodput_core::Boundary;

use super::super::sheet::Sheet;
use super::super::{Check, Corrected, Found, Severity, known_loss, number};
use crate::report::Report;

pub(super) const CHECK: Check = Check {
    id: "charged-to-fixer",
    severity: Severity::Error,
    title: "a loss charged to the factor of the team that fixes it",
    why: "A loss is charged to the first boundary that its capacity-time fails to cross; who can recover it is a column of \
          its own. Time that was held is in the scheduling numerator already: charged there again, it is subtracted twice. \
          Time inside retained steps that is charged to another factor leaves program goodput too high.",
    sheet,
    report,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let mut all = Vec::new();
    for (i, loss) in sheet.losses.iter().enumerate() {
        let Some(pattern) = loss.known() else { continue };
        let (charged, right): (Boundary, Boundary) = (loss.charged_to.into(), pattern.boundary());
        if charged == right {
            continue;
        }
        let found = Found::new(
            format!("losses[{i}].charged_to"),
            format!(
                "{}: charged to {charged}; boundary {right}, owner {}",
                loss.loss,
                pattern.owner().label()
            ),
        );
        all.push(found.corrected(loss.share.and_then(|share| twice(sheet, charged, right, share))));
    }
    all
}

/// What the product becomes when a measured factor loses a share that another factor's records hold already.
fn twice(sheet: &Sheet, charged: Boundary, right: Boundary, share: f64) -> Option<Corrected> {
    let factors = sheet.all_factors()?;
    let of = |boundary: Boundary| factors[boundary as usize];
    let product: f64 = factors.iter().product();
    let lowered = (of(charged) - share).max(0.0);
    Some(Corrected::new(
        "product of the three factors",
        Some(product / of(charged) * lowered),
        product,
        format!(
            "{right} goodput {} holds the loss; {charged} goodput stays {} and is not lowered to {}",
            number(of(right)),
            number(of(charged)),
            number(lowered)
        ),
    ))
}

/// A report that someone changed by hand.
fn report(report: &Report) -> Vec<Found> {
    let losses = match report {
        Report::Account(report) => &report.losses,
        Report::Timeline(report) => &report.losses,
    };
    let judge = |(i, loss): (usize, &crate::report::Loss)| {
        // `unsettled` is a loss of every boundary.
        let right = known_loss::by_key(&loss.pattern).filter(|p| p.key() != "unsettled")?.boundary();
        (loss.boundary != right.key()).then(|| {
            Found::new(
                format!("losses[{i}].boundary"),
                format!("{}: charged to {}; boundary {right}", loss.label, loss.boundary),
            )
        })
    };
    losses.iter().enumerate().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{close, found};
    use super::*;

    #[test]
    fn a_zombie_is_held_time_and_a_straggler_is_inside_the_step() {
        let found = found(
            &CHECK,
            "
figures:
  - {name: S, value: 0.65, kind: scheduling_goodput}
  - {name: R, value: 0.90, kind: runtime_goodput}
  - {name: P, value: 0.48, kind: program_goodput}
losses:
  - {loss: zombie allocation, charged_to: scheduling, share: 0.05}
  - {loss: slow straggler node, charged_to: reliability}
  - {loss: checkpoints, charged_to: runtime}
",
        );
        assert_eq!(found.len(), 2);
        assert!(found[0].evidence[0].contains("boundary runtime"));
        close(found[0].corrected[0].stated.unwrap(), 0.60 * 0.90 * 0.48);
        close(found[0].corrected[0].value, 0.65 * 0.90 * 0.48);
        assert!(found[1].evidence[0].contains("boundary program"));
    }
}
