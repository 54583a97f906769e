//! Writes the traces of a generated job, one file a rank, and the truth beside them.
//!
//!     cargo run -p goodput-simulate --example step_traces -- pipeline_1f1b traces/
//!     cargo run -p goodput-simulate --example step_traces -- scaled:1000x10x2 traces/
//!
//! The last form asks for ranks, steps and layers.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it speaks to a person")]

use std::path::Path;
use std::process::ExitCode;

use goodput_simulate::step_trace::{Scenario, simulate};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, folder] = args.as_slice() else {
        eprintln!("usage: step_traces SCENARIO FOLDER; scenarios: {}", Scenario::NAMES.join(", "));
        return ExitCode::from(2);
    };
    let Some(scenario) = Scenario::named(name).or_else(|| scaled(name)) else {
        eprintln!("{name} is no scenario: {}", Scenario::NAMES.join(", "));
        return ExitCode::from(2);
    };
    match simulate(&scenario).write(Path::new(folder)) {
        Ok(paths) => {
            println!("{} traces in {folder}", paths.len());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn scaled(name: &str) -> Option<Scenario> {
    let mut sizes = name.strip_prefix("scaled:")?.split('x').map(|size| size.parse().ok());
    Some(Scenario::scaled(sizes.next()??, sizes.next()??, sizes.next()??))
}
