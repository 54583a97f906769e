//! `goodput`: where a machine-learning fleet's accelerator-hours go.

mod account;
mod args;
mod baseline;
mod calibrate;
mod collect;
mod compare;
mod demo;
mod error;
mod explain;
mod flops;
mod lint;
mod mfu;
mod output;
mod plan;
mod predict;
mod progress;
mod search;
mod serving;
mod simulate;
mod timeline;
mod trace;
mod validate;

use std::process::ExitCode;

use clap::Parser;

use args::{Command, Goodput};
use output::Answer;

fn main() -> ExitCode {
    let command = Goodput::parse().command;
    let answer = match command {
        Command::Account(args) => account::run(&args),
        Command::Timeline(args) => timeline::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Serving(args) => serving::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Search(args) => search::run(&args),
        Command::Lint(args) => lint::run(&args),
        Command::Flops(args) => flops::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Baseline(command) => baseline::run(&command),
        Command::Mfu(command) => mfu::run(&command),
        Command::Completions(args) => output::completions(args.shell),
        Command::Man => output::man_page(),
    };
    match answer {
        Ok(Answer::Complete) => ExitCode::SUCCESS,
        Ok(Answer::FallsShort) => ExitCode::from(1),
        Err(error) => {
            error.print();
            ExitCode::from(2)
        }
    }
}
