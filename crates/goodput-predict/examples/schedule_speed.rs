//! How long one simulated step takes: `cargo run --release -p goodput-predict --example schedule_speed`. The fastest of many rounds, so
//! that other processes of the machine do not count. "First" merges the orders of a shape not seen before.

use std::hint::black_box;
use std::time::Instant;

use goodput_predict::run::Schedule;
use goodput_predict::schedule::{Part, Pipeline, Simulator, Unschedulable};

fn main() -> Result<(), Unschedulable> {
    for (name, schedule, stages, micro_batches) in [
        ("interleaved", Schedule::Interleaved { parts: 3 }, 8, 64),
        ("1F1B", Schedule::OneForwardOneBackward, 8, 64),
        ("1F1B", Schedule::OneForwardOneBackward, 64, 512),
        ("1F1B", Schedule::OneForwardOneBackward, 8, 2048),
        ("GPipe", Schedule::GPipe, 8, 64),
        ("ZB-H1", Schedule::ZeroBubbleH1, 8, 64),
        ("ZB-2p", Schedule::ZeroBubble2p, 8, 64),
        ("DualPipe", Schedule::DualPipe, 8, 64),
    ] {
        for equal in [true, false] {
            let part = Part {
                forward_ns: 1.1e6,
                input_gradient_ns: 1.3e6,
                weight_gradient_ns: 0.9e6,
                send_forward_ns: 0.2e6,
                send_backward_ns: 0.2e6,
                activation: 1.0,
                weight_activation: 0.5,
                ..Part::default()
            };
            let mut pipeline = Pipeline::equal(schedule, stages, micro_batches, part);
            if !equal {
                for (at, part) in pipeline.parts.iter_mut().enumerate() {
                    part.forward_ns += (at * 7919 % 1000) as f64 * 97.0;
                }
            }
            let fastest = |rounds: usize, run: &mut dyn FnMut() -> Result<f64, Unschedulable>| {
                let mut fastest = f64::INFINITY;
                for _ in 0..rounds {
                    let began = Instant::now();
                    black_box(run()?);
                    fastest = fastest.min(began.elapsed().as_secs_f64() * 1e6);
                }
                Ok(fastest)
            };
            let first = fastest(300, &mut || Ok(Simulator::default().run(black_box(&pipeline))?.step_ns))?;
            let mut simulator = Simulator::default();
            let again = fastest(3000, &mut || Ok(simulator.run(black_box(&pipeline))?.step_ns))?;
            let passes = 2 * stages * micro_batches * pipeline.stage(0).len();
            let what = if equal { "equal" } else { "unequal" };
            println!(
                "{name} {stages} x {micro_batches}, {what}: {passes} passes, first {first:.1} us, again {again:.1} us"
            );
        }
    }
    Ok(())
}
