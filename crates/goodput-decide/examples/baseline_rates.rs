//! False alarms and power of the change-point test on simulated histories: the tables of docs/baseline.md.
//!
//! `cargo run --release -p goodput-decide --example baseline_rates`

#[path = "../tests/simulated/mod.rs"]
mod simulated;

use goodput_decide::baseline::Tested;
use simulated::{HARSH, Noise, PLAIN, days, generator, series, weekdays};

const SERIES: usize = 2000;

fn main() {
    let white = Noise { autocorrelation: 0.0, ..PLAIN };
    let strong = Noise { autocorrelation: 0.7, ..PLAIN };
    let kinds = [("white", white), ("r = 0.5", PLAIN), ("r = 0.7", strong), ("harsh", HARSH)];
    println!("false alarms: share of series without a change at p <= 0.05, 0.01, 0.001");
    for (name, noise) in kinds {
        for length in [28, 60, 90, 180, 365] {
            let p = p_values(noise, length, length, 0.0);
            let share = |level: f64| p.iter().filter(|(p, ..)| *p <= level).count() as f64 / p.len() as f64;
            println!("{name:8} {length:4}  {:.4} {:.4} {:.4}", share(0.05), share(0.01), share(0.001));
        }
    }
    println!(
        "power: share of series whose change is found at p <= 0.001; of those, dated within the interval"
    );
    for (name, noise) in kinds {
        for (length, after) in [(60, 30), (60, 7), (90, 14), (180, 14), (365, 14), (365, 7)] {
            for size in [2.0, 3.0, 5.0] {
                let p = p_values(noise, length, length - after, size);
                let found: Vec<_> = p.iter().filter(|(p, ..)| *p <= 0.001).collect();
                let dated =
                    found.iter().filter(|(_, inside)| *inside).count() as f64 / found.len().max(1) as f64;
                let share = found.len() as f64 / p.len() as f64;
                println!(
                    "{name:8} {length:4} days, the last {after:2} off by {size} sd  {share:.3} {dated:.3}"
                );
            }
        }
    }
}

/// p-values of series that step by `size` standard deviations at index `at`, and whether the interval holds it.
fn p_values(noise: Noise, length: usize, at: usize, size: f64) -> Vec<(f64, bool)> {
    let mut rng = generator(length as u64);
    (0..SERIES)
        .filter_map(|_| {
            let days = days(&mut rng, noise, length);
            let mut values = series(&mut rng, noise, &days);
            values[at..].iter_mut().for_each(|value| *value += size);
            let tested = Tested::new(&values, Some(&weekdays(&days)))?;
            let root = tested.changes(0.0)[0].split;
            Some((tested.p_value, root.from <= at && at <= root.to))
        })
        .collect()
}
