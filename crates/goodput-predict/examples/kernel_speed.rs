//! How long loading a device's tables and one look-up take: `cargo run --release -p goodput-predict --example kernel_speed`.

use std::hint::black_box;
use std::time::Instant;

use goodput_model::device::Catalogue;
use goodput_predict::kernel::{Gemm, KernelTables, Pass};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for name in ["A100 SXM4 80GB", "H100 SXM5", "B200", "MI300X"] {
        let device = Catalogue::built_in().find(name)?;
        let began = Instant::now();
        let tables = KernelTables::new(device);
        let loading = began.elapsed();
        for pass in Pass::ALL {
            const CALLS: u64 = 1_000_000;
            let began = Instant::now();
            let mut sum = 0.0;
            for call in 0..CALLS {
                sum += tables
                    .gemm(&black_box(Gemm::new(1024 + call % 8192, 4096 + call % 999, 5000)).pass(pass))?
                    .ns;
            }
            black_box(sum);
            let each = began.elapsed().as_secs_f64() * 1e9 / CALLS as f64;
            println!(
                "{name}: loaded in {:.1} ms, {pass:?} {each:.0} ns a look-up",
                loading.as_secs_f64() * 1e3
            );
        }
    }
    Ok(())
}
