//! How long one prediction takes with tables loaded and no answer kept: GPT-3 175B, TP8 PP8 VPP3, 64 devices.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use goodput_model::device::Catalogue;
use goodput_model::{FlopCounter, Training};
use goodput_predict::kernel::KernelTables;
use goodput_predict::layer::Layers;
use goodput_predict::run::Run;
use goodput_predict::step::Predictor;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let run = Run::from_yaml("run.yaml", include_str!("../../../examples/run.yaml"), Path::new("."))?;
    let mut predictor = Predictor::new(&run.cluster)?;
    let first = Instant::now();
    let prediction = predictor.predict(&run)?;
    println!("first prediction, with tables unpacked: {:.1} ms", first.elapsed().as_secs_f64() * 1e3);
    println!("step {:.1} ms, MFU {:.1} %", prediction.step_ns / 1e6, prediction.mfu * 100.0);
    println!("each after it: {:.1} us", fastest_us(|| predictor.predict(black_box(&run)).is_ok()));
    let tables = KernelTables::new(Catalogue::built_in().find(&run.cluster.device)?);
    println!("of these, groups prepared: {:.1} us", fastest_us(|| Layers::new(black_box(&run), &tables)));
    let layers = Layers::new(&run, &tables);
    if let Some(text) = &run.architecture.text {
        println!(
            "a layer listed: {:.1} us",
            fastest_us(|| layers.block(text, &text.decoder[0], false).is_ok())
        );
        println!("head and loss listed: {:.1} us", fastest_us(|| layers.head(text).is_ok()));
    }
    let count = || FlopCounter::new(&run.architecture, &Training::full()).is_ok();
    println!("exact FLOPs: {:.1} us", fastest_us(count));
    Ok(())
}

/// Microseconds of a call: the best of many short rounds, since other programs share the core.
fn fastest_us<T>(mut call: impl FnMut() -> T) -> f64 {
    const CALLS: u32 = 10;
    let round = |_| {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(call());
        }
        start.elapsed().as_secs_f64() / f64::from(CALLS) * 1e6
    };
    (0..3000).map(round).fold(f64::INFINITY, f64::min)
}
