//! Times a frontier of 10,000 configurations with their draws, from YAML to marks:
//! `cargo run --release -p goodput-decide --example frontier_speed`.

use std::fmt::Write;
use std::time::Instant;

use goodput_decide::plan::{PlanError, Sheet};

fn sheet() -> String {
    let mut yaml = "
job: {held: 7 d, ideal: 9300 device-hours}
reliability: {mtbf: 302 h, at_devices: 128, recovery: 6.2 min}
checkpoint: {write: 9.8 s}
startup: 5.2 min
input_wait: 5 %
factors: {program: 0.48}
price: {per_device_hour: 2}
questions:
  - ask: frontier
    deadline: 5 d
    grid:
"
    .to_owned();
    let mut axis = |name: &str, entries: &mut dyn Iterator<Item = String>| {
        let _ = writeln!(yaml, "      {name}:");
        for entry in entries {
            let _ = writeln!(yaml, "        - {{{entry}}}");
        }
    };
    axis(
        "size",
        &mut (1..=20).map(|i| {
            let (devices, efficiency) = (i * 64, 1.0 - f64::from(i) * 0.02);
            format!("name: {devices}, job: {{devices: {devices}}}, efficiency: {efficiency}, queue_wait: {{median: {i} h, p90: {} h}}", i * 4)
        }),
    );
    axis(
        "tier",
        &mut (0..20).map(|i| {
            let price = 2.0 - f64::from(i) * 0.08;
            format!("name: tier {i}, price: {{per_device_hour: {price}}}, preemption: {{per_day: {i}, restart: 5 min}}")
        }),
    );
    axis("cadence", &mut (1..=25).map(|i| format!("name: {i}0 min, checkpoint: {{every: {i}0 min}}")));
    yaml
}

fn main() -> Result<(), PlanError> {
    let yaml = sheet();
    let begun = Instant::now();
    let answers = Sheet::read(&yaml, &mut |file| Err(format!("{file} is not there")))?.answers()?;
    let took = begun.elapsed();
    for answer in &answers {
        println!("{}", answer.verdict);
        println!(
            "{} configurations, {} on the frontier: {:.2} s",
            answer.get("configurations").unwrap_or_default(),
            answer.get("on_the_frontier").unwrap_or_default(),
            took.as_secs_f64()
        );
    }
    Ok(())
}
