//! Reads one trace and times what comes after reading: steps, partitions, tables. In CPU seconds of this thread, so that
//! a busy machine does not count.

use std::path::PathBuf;

use goodput_trace::partition::{Partitioner, Splits};
use goodput_trace::read::{ReadOptions, read_file};
use goodput_trace::steps::Steps;
use goodput_trace::tables::Tables;

/// CPU seconds of this thread so far, as Linux counts them; 0 elsewhere.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path: PathBuf = std::env::args_os().nth(1).ok_or("give the path of a trace")?.into();
    let began = cpu_s();
    let traces = read_file(&path, &ReadOptions::default())?;
    println!("read {:.4} s", cpu_s() - began);
    for trace in &traces.ranks {
        let Some(window) = trace.device_window() else { continue };
        let mut began = cpu_s();
        let mut lap = |what: &str| {
            println!("{what} {:.4} s", cpu_s() - began);
            began = cpu_s();
        };
        let splits = Splits::default();
        let steps = Steps::of(trace);
        lap("steps");
        let partitioner = Partitioner::new(trace, &splits);
        lap("partitioner");
        let whole = partitioner.partition(window, |_, _| true);
        lap("whole window");
        let tables = Tables::of(trace, &whole, |_, _| true);
        lap("tables");
        let windows = steps.steps.iter().flat_map(|step| [step.host, step.device]).flatten();
        let parts: Vec<_> = windows.map(|window| partitioner.partition(window, |_, _| true)).collect();
        lap("both windows of all steps");
        println!(
            "{} pieces of work, {} steps by {}, {} windows, {} slices, {} kernel names",
            trace.work.len(),
            steps.steps.len(),
            steps.evidence.key(),
            parts.len(),
            whole.slices.len(),
            tables.kernels.len()
        );
        for (charge, ns) in &whole.amounts {
            println!("  {:<24} {ns:>16}", charge.key());
        }
        println!("  {:<24} {:>16}", "window", whole.window_ns());
        for step in steps.steps.iter().take(3) {
            println!(
                "  step {:?}: turn {:?}, device {:?}, {} kernels",
                step.number, step.turn, step.device, step.kernels
            );
        }
    }
    Ok(())
}
