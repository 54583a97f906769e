//! Time to count one packed batch: `cargo run --release -p goodput-model --example flops_speed [MODEL] [DOCUMENTS]`.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use goodput_model::{Architecture, Batch, FlopCounter, Recompute, Training};

const REPETITIONS: usize = 2000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let model = args.next().unwrap_or_else(|| "deepseek-v3".to_owned());
    let documents: u64 = args.next().map_or(Ok(10_000), |documents| documents.parse())?;
    let architecture = Architecture::known(&model)?;
    let counter = FlopCounter::new(&architecture, &Training::full())?;
    // Lengths that differ, as packed documents' do; runs of equal ones would be counted once.
    let lengths: Vec<u64> = (0..documents).map(|index| 1 + index * 7919 % 8191).collect();

    let mut times: Vec<_> = (0..REPETITIONS)
        .map(|_| {
            let start = Instant::now();
            let batch = Batch::documents(black_box(&lengths))?;
            let flops = counter.count(&batch, Recompute::None)?;
            black_box(flops.useful().total());
            Ok::<_, goodput_model::BatchError>(start.elapsed())
        })
        .collect::<Result<_, _>>()?;
    times.sort_unstable();
    println!(
        "{model}, {documents} documents: median {:?}, fastest {:?}, slowest {:?} of {REPETITIONS}",
        times[REPETITIONS / 2],
        times[0],
        times[REPETITIONS - 1]
    );
    Ok(())
}
