//! Statistics of the strongest split where nothing changes: the table of `baseline/null.rs`.
//!
//! `cargo run --release -p goodput-decide --example baseline_null [VALUES]`; VALUES is the number of simulated values a length
//! gets, in millions [default: 90]

#[path = "../tests/simulated/mod.rs"]
mod simulated;

use goodput_decide::baseline::{prepare, strongest};
use simulated::{PLAIN, days, generator, series, weekdays};

fn main() {
    let millions: f64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(90.0);
    let mut rng = generator(1);
    for length in [21_usize, 28, 40, 55, 56, 75, 100, 150, 250, 365, 730] {
        let count = (millions * 1e6 / length.max(60) as f64) as usize;
        let mut statistics: Vec<f64> = (0..count)
            .filter_map(|_| {
                let days = days(&mut rng, PLAIN, length);
                let prepared = prepare(&series(&mut rng, PLAIN, &days), Some(&weekdays(&days)));
                strongest(&prepared.values, prepared.floor).map(|split| split.statistic)
            })
            .collect();
        statistics.sort_by(|a, b| b.total_cmp(a));
        let at = |p: f64| statistics.get((p * statistics.len() as f64) as usize).copied().unwrap_or(f64::NAN);
        let row = [0.5, 0.2, 0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-5].map(|p| format!("{:.2}", at(p)));
        println!("    ({length}, [{}]),", row.join(", "));
    }
}
