//! How long loading a device's tables and one look-up take: `cargo run --release -p goodput-predict --example kernel_speed`.
//! The fastest of many rounds, so that other processes of the machine do not count.

use std::hint::black_box;
use std::time::Instant;

use goodput_model::device::Catalogue;
use goodput_predict::kernel::{Gemm, KernelTables, Pass};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const ROUNDS: usize = 2000;
    const CALLS: u64 = 100;
    for name in ["A100 SXM4 80GB", "H100 SXM5", "B200", "MI300X"] {
        let device = Catalogue::built_in().find(name)?;
        let began = Instant::now();
        let tables = KernelTables::new(device);
        tables.gemm(&Gemm::new(4096, 4096, 4096))?;
        let loading = began.elapsed();
        for pass in Pass::ALL {
            let mut fastest = f64::INFINITY;
            for round in 0..ROUNDS as u64 {
                let began = Instant::now();
                for call in 0..CALLS {
                    let gemm =
                        Gemm::new(1024 + (call * 83 + round) % 8192, 4096 + call % 999, 5000).pass(pass);
                    black_box(tables.gemm(&black_box(gemm))?);
                }
                fastest = fastest.min(began.elapsed().as_secs_f64() * 1e9 / CALLS as f64);
            }
            println!(
                "{name}: first product after {:.1} ms, {pass:?} {fastest:.0} ns",
                loading.as_secs_f64() * 1e3
            );
        }
    }
    Ok(())
}
