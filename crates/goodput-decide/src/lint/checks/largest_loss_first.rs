use goodput_core::Boundary;
use goodput_core::factors::Factors;
use goodput_core::value::{Ceiling, rank_ceilings};

use super::super::sheet::{Claim, Sheet};
use super::super::{Check, Corrected, Found, Severity, number};
use crate::report::Report;

pub(super) const CHECK: Check = Check {
    id: "largest-loss-first",
    severity: Severity::Warning,
    title: "work ranked by loss share",
    why: "Loss shares say where capacity went. What a lever returns is the relative gain of its factor at the ceiling that it \
          can reach, and a later boundary's loss is measured on what the earlier ones let across.",
    sheet,
    report,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let Some([s, r, p]) = sheet.all_factors() else { return Vec::new() };
    let Ok(factors) = Factors::estimate(s, r, p, "figures of a sheet") else { return Vec::new() };
    let judge = |(i, claim): (usize, &Claim)| {
        let Claim::Order { order, ceilings } = claim else { return None };
        let order: Vec<Boundary> = order.iter().map(|&factor| factor.into()).collect();
        let reachable = |boundary: Boundary| Ceiling {
            name: boundary.key().to_owned(),
            boundary,
            value: ceilings.get(boundary.key()).copied().unwrap_or(1.0),
        };
        let ceilings: Vec<Ceiling> = order.iter().map(|&boundary| reachable(boundary)).collect();
        let ranked = rank_ceilings(&factors, &ceilings).ok()?;
        if ranked.iter().map(|gain| gain.boundary).eq(order.iter().copied()) {
            return None;
        }
        let lost = [1.0 - s, s * (1.0 - r), s * r * (1.0 - p)];
        let shares: Vec<String> =
            order.iter().map(|&b| format!("{b} {}", number(lost[b as usize]))).collect();
        let gains = ranked.iter().map(|gain| {
            let how = format!(
                "{} to {}: +{} %",
                number(gain.from),
                number(gain.to),
                number(gain.relative_gain * 100.0)
            );
            Corrected::new(format!("MPG with {} at its ceiling", gain.name), None, gain.mpg, how)
        });
        let right: Vec<&str> = ranked.iter().map(|gain| gain.boundary.key()).collect();
        let found = Found::new(
            format!("claims[{i}].order"),
            format!("loss shares in the sheet's order: {}", shares.join(", ")),
        );
        Some(found.and(format!("by gain at the ceiling: {}", right.join(", "))).corrected(gains))
    };
    sheet.claims.iter().enumerate().filter_map(judge).collect()
}

/// Where the largest loss is not the one whose whole removal gains most.
fn report(report: &Report) -> Vec<Found> {
    let Report::Account(report) = report else { return Vec::new() };
    let time = &report.capacity_time;
    let Some(offered) = time.offered_ns else { return Vec::new() };
    let crossed = |boundary: &str| match boundary {
        "scheduling" => time.held_ns,
        "runtime" => time.retained_ns,
        _ => time.ideal_ns,
    };
    let settled = report.losses.iter().enumerate().filter(|(_, loss)| !loss.open && loss.owner != "evidence");
    // Removing a loss lets it cross its boundary beside what crosses now.
    let gain = |loss: &crate::report::Loss| {
        let crossed = crossed(&loss.boundary).as_f64();
        if crossed > 0.0 { loss.amount_ns.as_f64() / crossed } else { 0.0 }
    };
    let largest = settled.clone().max_by_key(|(_, loss)| loss.amount_ns);
    let best = settled.max_by(|a, b| gain(a.1).total_cmp(&gain(b.1)));
    match (largest, best) {
        (Some((i, largest)), Some((_, best))) if largest.pattern != best.pattern => {
            let share = |loss: &crate::report::Loss| number(loss.amount_ns.as_f64() / offered.as_f64());
            let found = Found::new(
                format!("losses[{i}]"),
                format!(
                    "largest loss: {}, {} of offered; removed whole it gains {} %",
                    largest.label,
                    share(largest),
                    number(gain(largest) * 100.0)
                ),
            );
            vec![
                found
                    .and(format!(
                        "most to gain: {}, {} of offered, {} %",
                        best.label,
                        share(best),
                        number(gain(best) * 100.0)
                    ))
                    .only(Severity::Note),
            ]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    /// Worked example E6: program, scheduling, runtime, although scheduling has the largest loss share.
    #[test]
    fn by_gain_at_the_ceiling() {
        let with = |order: &str| {
            format!(
                "
figures:
  - {{name: S, value: 0.65, kind: scheduling_goodput}}
  - {{name: R, value: 0.9039451741972573, kind: runtime_goodput}}
  - {{name: P, value: 0.48041208394378987, kind: program_goodput}}
claims:
  - {{claim: order, order: [{order}], ceilings: {{scheduling: 0.80, runtime: 0.98087, program: 0.65}}}}
"
            )
        };
        let fired = found(&CHECK, &with("scheduling, program, runtime"));
        let values: Vec<f64> = fired[0].corrected.iter().map(|c| c.value).collect();
        for (value, text) in values.iter().zip([0.3819, 0.3474, 0.3063]) {
            assert!((value - text).abs() < 5e-5, "{value} {text}");
        }
        assert!(found(&CHECK, &with("program, scheduling, runtime")).is_empty());
    }
}
