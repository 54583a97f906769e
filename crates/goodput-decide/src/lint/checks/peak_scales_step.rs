use super::super::sheet::{Claim, Sheet};
use super::super::{Check, Corrected, Found, Severity, number};
use super::not_in_reports;
use super::parts_beside_the_whole::ROUNDED;

pub(super) const CHECK: Check = Check {
    id: "peak-scales-step",
    severity: Severity::Error,
    title: "a faster term taken for a faster step",
    why: "A faster term shortens its own share of the step alone (Amdahl): more FLOP/s leave memory traffic, dispatch and \
          exposed communication as they are.",
    sheet,
    report: not_in_reports,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let judge = |(i, claim): (usize, &Claim)| {
        let Claim::Speedup { term, times, shares, expected } = claim else { return None };
        // As they stand: what they leave open of the step is not changed. More than the step gives no figure.
        let sum: f64 = shares.values().sum();
        if sum > 1.0 + ROUNDED {
            return None;
        }
        let share = *shares.get(term)?;
        let right = 1.0 / (1.0 - share + share / times);
        // Half a percent is a sheet's rounding.
        if *expected <= right * 1.005 {
            return None;
        }
        let all: Vec<String> =
            shares.iter().map(|(name, share)| format!("{name} {}", number(*share))).collect();
        let largest = shares.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        let mut corrected = vec![Corrected::new(
            "speedup of the step",
            Some(*expected),
            right,
            format!("1 / (1 - {} + {}/{})", number(share), number(share), number(*times)),
        )];
        if largest.0 != term {
            let share = *largest.1;
            corrected.push(Corrected::new(
                format!("the same on {}", largest.0),
                None,
                1.0 / (1.0 - share + share / times),
                "the largest term of the step",
            ));
        }
        let found = Found::new(
            format!("claims[{i}].expected"),
            format!("{term} {} times faster; shares: {}", number(*times), all.join(", ")),
        );
        let rest = 1.0 - sum;
        let found = if rest > ROUNDED {
            found.and(format!(
                "they sum to {}; the other {} of the step is taken as unchanged",
                number(sum),
                number(rest)
            ))
        } else {
            found
        };
        Some(found.corrected(corrected))
    };
    sheet.claims.iter().enumerate().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{close, found};
    use super::*;

    /// Worked example E11.
    #[test]
    fn doubled_peak_is_worth_118_percent_here() {
        let with = |expected: f64| {
            format!("
claims:
  - {{claim: speedup, term: compute, times: 2, expected: {expected}, shares: {{memory: 0.60, compute: 0.30, overhead: 0.10}}}}
")
        };
        let fired = found(&CHECK, &with(2.0));
        close(fired[0].corrected[0].value, 1.0 / 0.85);
        close(fired[0].corrected[1].value, 1.0 / 0.70);
        assert!(found(&CHECK, &with(1.18)).is_empty());
    }

    /// Shares are taken as they stand, whatever they sum to.
    #[test]
    fn shares_are_not_stretched_to_a_whole() {
        let with = |memory: f64| {
            let shares = format!("{{memory: {memory}, compute: 0.30}}");
            found(
                &CHECK,
                &format!(
                    "claims: [{{claim: speedup, term: compute, times: 2, expected: 2, shares: {shares}}}]"
                ),
            )
        };
        let open = with(0.3);
        close(open[0].corrected[0].value, 1.0 / 0.85);
        assert!(open[0].evidence[1].contains("sum to 0.6; the other 0.4"), "{:?}", open[0].evidence);
        assert!(with(0.9).is_empty());
    }
}
