//! How long one prediction takes with tables loaded and no answer kept: GPT-3 175B, TP8 PP8 VPP3, 64 devices.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use goodput_predict::run::Run;
use goodput_predict::step::Predictor;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let run = Run::from_yaml("run.yaml", include_str!("../../../examples/run.yaml"), Path::new("."))?;
    let mut predictor = Predictor::new(&run.cluster)?;
    let first = Instant::now();
    let prediction = predictor.predict(&run)?;
    println!("first prediction, with tables unpacked: {:.1} ms", first.elapsed().as_secs_f64() * 1e3);
    println!("step {:.1} ms, MFU {:.1} %", prediction.step_ns / 1e6, prediction.mfu * 100.0);
    let times = 5000;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..times {
            black_box(predictor.predict(black_box(&run))?);
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(times));
    }
    println!("each after it: {:.1} us (best of 5 times {times})", best * 1e6);
    Ok(())
}
