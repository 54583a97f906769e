use goodput_core::Boundary;

use super::super::sheet::{Claim, Sheet};
use super::super::{Check, Corrected, Found, Severity, number};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "loss-share-as-gain",
    severity: Severity::Error,
    title: "a loss share taken for what can be gained",
    why: "Capacity that crosses one boundary still meets the others at their present rates: one point of a factor is worth \
          the product of the other two, and only up to the ceiling that its lever can reach.",
    sheet,
    report: not_in_reports,
};

/// Rounding of a sheet.
const ROUNDED: f64 = 0.005;

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let Some(factors) = sheet.all_factors() else { return Vec::new() };
    let product: f64 = factors.iter().product();
    let judge = |(i, claim): (usize, &Claim)| {
        let &Claim::Gain { factor, gain, ceiling } = claim else { return None };
        let boundary = Boundary::from(factor);
        let now = factors[boundary as usize];
        let worth = product / now;
        let (perfect, reachable) = ((1.0 - now) * worth, (ceiling - now) * worth);
        if gain <= reachable + ROUNDED {
            return None;
        }
        let shares = ["scheduling", "runtime", "program"];
        let lost =
            [1.0 - factors[0], factors[0] * (1.0 - factors[1]), factors[0] * factors[1] * (1.0 - factors[2])];
        let shares: Vec<String> =
            shares.iter().zip(lost).map(|(name, share)| format!("{name} {}", number(share))).collect();
        let mut corrected = vec![
            Corrected::new(
                format!("gain of a perfect {boundary} factor"),
                Some(gain),
                perfect,
                format!("(1 - {}) x {}, the product of the other two", number(now), number(worth)),
            ),
            Corrected::new(
                format!("worth of one point of {boundary} goodput"),
                None,
                worth,
                "the product of the other two",
            ),
        ];
        if ceiling < 1.0 {
            corrected.push(Corrected::new(
                format!("gain at its ceiling {}", number(ceiling)),
                Some(gain),
                reachable,
                format!(
                    "({} - {}) x {}: the product goes from {} to {}",
                    number(ceiling),
                    number(now),
                    number(worth),
                    number(product),
                    number(product + reachable)
                ),
            ));
        }
        let found = Found::new(
            format!("claims[{i}].gain"),
            format!("{boundary}: {} is expected of a factor that stands at {}", number(gain), number(now)),
        );
        Some(found.and(format!("loss shares: {}", shares.join(", "))).corrected(corrected))
    };
    sheet.claims.iter().enumerate().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{close, found};
    use super::*;

    /// Worked example E6.
    #[test]
    fn a_perfect_scheduler_adds_015_not_035() {
        let with = |gain: f64| {
            format!(
                "
figures:
  - {{name: S, value: 0.65, kind: scheduling_goodput}}
  - {{name: R, value: 0.9039451741972573, kind: runtime_goodput}}
  - {{name: P, value: 0.48041208394378987, kind: program_goodput}}
claims: [{{claim: gain, factor: scheduling, gain: {gain}, ceiling: 0.80}}]
"
            )
        };
        let fired = found(&CHECK, &with(0.35));
        close(fired[0].corrected[0].value, 0.35 * 0.434_266_184_907_036_5);
        assert!((fired[0].corrected[0].value - 0.1520).abs() < 5e-5);
        close(fired[0].corrected[1].value, 0.434_266_184_907_036_5);
        assert!((0.282_273_020_189_573_7 + fired[0].corrected[2].value - 0.3474).abs() < 5e-5);
        assert!(found(&CHECK, &with(0.065)).is_empty());
    }
}
