//! The optimizer's update of what a rank holds of the states.

use crate::Estimate;
use crate::kernel::{Access, Direction, Format, Fusion, KernelError, KernelTables, Operation, Traffic};
use crate::memory::RankParameters;
use crate::run::{Optimizer, Run};

/// The time of an update: gradients checked and scaled where a loss is scaled (fp16), their norm, clipping, the update
/// itself, and gradients set to zero for the next step.
pub(crate) fn update(
    run: &Run,
    tables: &KernelTables,
    held: RankParameters,
    shards: [u64; 2],
    matrices: Vec<(u64, u64, u64)>,
) -> Result<Estimate, KernelError> {
    let owned = held.dense.div_ceil(shards[0]) + held.experts.div_ceil(shards[1]);
    let gradient_bytes = f64::from(run.precision.gradient_bytes);
    let all = held.total() as f64;
    let stream = |bytes: f64| Traffic::new(bytes, Access::Stream);
    let mut kernels = vec![stream(gradient_bytes * all)];
    let values = owned as f64;
    if gradient_bytes < 4.0 {
        // Gradients become fp32.
        kernels.push(stream((gradient_bytes + 4.0) * values));
    }
    if run.precision.products == Format::Fp16 {
        // Unscaled and checked for infinities.
        kernels.push(stream(8.0 * values));
    }
    let of = |operation: Operation| operation.kernels(Direction::Forward, Fusion::Fused);
    kernels.extend(of(Operation::GradientNorm { parameters: owned }));
    // Clipped: read and written.
    kernels.push(stream(8.0 * values));
    let time = tables.memory_bound(&kernels)?;
    let update = |operation: Operation| tables.operation(&operation, Direction::Forward, Fusion::Fused);
    match run.optimizer {
        Optimizer::Adam => Ok(time.and(update(Operation::Adam { parameters: owned })?)),
        Optimizer::Sgd => Ok(time.and(update(Operation::Momentum { parameters: owned })?)),
        Optimizer::Muon => {
            let mut time = time;
            for (rows, columns, count) in matrices {
                time = time.and(tables.muon_update(rows, columns)?.times(count as f64 / shards[0] as f64));
            }
            Ok(time)
        }
    }
}
