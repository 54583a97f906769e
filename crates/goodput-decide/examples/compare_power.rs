//! Coverage and power of `goodput compare` on simulated histories with planted changes: the table of docs/compare.md. Takes
//! the number of pairs for each change.

#[path = "../tests/history/mod.rs"]
mod history;

use goodput_decide::compare::{Options, Verdict, compare};
use history::{Job, USUAL};

fn main() {
    let pairs: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    println!("change                              true ratio  covered  accept  reject  not decided");
    let faster = |share: f64| Job { step_s: USUAL.step_s * (1.0 - share), ..USUAL };
    let recovery = |times: f64| Job { recovery_s: USUAL.recovery_s * times, ..USUAL };
    for (name, after) in [
        ("none", USUAL),
        ("step 0.5% faster", faster(0.005)),
        ("step 1% faster", faster(0.01)),
        ("step 2% faster", faster(0.02)),
        ("step 5% faster", faster(0.05)),
        ("step 2% slower", faster(-0.02)),
        ("recovery half as long", recovery(0.5)),
        ("recovery three times as long", recovery(3.0)),
        ("failures twice as often", Job { mtbf_s: USUAL.mtbf_s / 2.0, ..USUAL }),
        ("step 5% faster, recovery x3", Job { recovery_s: USUAL.recovery_s * 3.0, ..faster(0.05) }),
    ] {
        let truth = after.expected_product() / USUAL.expected_product();
        let (mut covered, mut verdicts) = (0, [0; 3]);
        for pair in 0..pairs {
            let (one, other) = (USUAL.report(2 * pair, 0), after.report(2 * pair + 1, 60));
            let Ok(found) = compare(&one, &other, &Options { resamples: 400, ..Options::default() }) else {
                continue;
            };
            let interval = found.product.interval;
            covered += u64::from(interval.is_some_and(|i| i.low <= truth && truth <= i.high));
            verdicts[match found.verdict {
                Verdict::Accept => 0,
                Verdict::Reject => 1,
                Verdict::NotDecided => 2,
            }] += 1;
        }
        let share = |count: u64| 100.0 * count as f64 / pairs as f64;
        println!(
            "{name:<35} {truth:>10.4} {:>7.1}% {:>6.1}% {:>6.1}% {:>11.1}%",
            share(covered),
            share(verdicts[0]),
            share(verdicts[1]),
            share(verdicts[2])
        );
    }
}
