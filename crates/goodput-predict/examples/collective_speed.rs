//! How long one look-up of a collective takes: `cargo run --release -p goodput-predict --example collective_speed`.

use std::time::Instant;

use goodput_predict::cluster::Clusters;
use goodput_predict::collective::{Collectives, GroupShape, Operation};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const LOOKUPS: u32 = 1_000_000;
    for (name, size) in [("DGX H100", 8), ("DGX H100", 96), ("TPU v5p 4x4x4", 64)] {
        let cluster = Clusters::built_in().find(name)?;
        let shape = GroupShape::strided(cluster, size, 1);
        let prepared = Collectives::new(cluster).prepare(Operation::AllReduce, shape, 2);
        let began = Instant::now();
        let total: f64 = (1..=LOOKUPS).map(|step| prepared.time(f64::from(step) * 997.0).estimate.ns).sum();
        let ns = began.elapsed().as_nanos() as f64 / f64::from(LOOKUPS);
        println!("{name}, {size} devices: {ns:.0} ns a look-up (sum {total:.0})");
    }
    Ok(())
}
