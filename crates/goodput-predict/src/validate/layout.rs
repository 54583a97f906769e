//! The layout of a row: degrees, schedule, sharding.

use super::fields::{Fields, Refusal};
use crate::run::{Batch, ContextMethod, Layout, Schedule, Sharding};

/// The degrees, which multiply to the devices.
struct Degrees {
    tensor: u32,
    context: u32,
    pipeline: u32,
    data: u32,
}

/// One of the four may be empty: it is what the other three leave of the devices.
fn degrees(row: &Fields, devices: u32) -> Result<Degrees, Refusal> {
    const COLUMNS: [&str; 4] = ["tp", "cp", "pp", "dp"];
    let mut stated = [None; 4];
    for (degree, column) in stated.iter_mut().zip(COLUMNS) {
        *degree = row.optional_count::<u32>(column)?;
    }
    let known = stated.iter().flatten().try_fold(1, |product: u32, degree| product.checked_mul(*degree));
    let Some(known) = known.filter(|known| devices.is_multiple_of(*known)) else {
        let found = format!("{stated:?} on {devices}");
        return Err(row.refuse_found("tp, cp, pp, dp", found, "degrees that multiply to n_devices"));
    };
    let mut rest = Some(devices / known);
    for (degree, column) in stated.iter_mut().zip(COLUMNS) {
        if degree.is_none() {
            *degree = rest.take();
            if degree.is_none() {
                return Err(row.refuse(column, "a degree: only one of tp, cp, pp and dp can be left out"));
            }
        }
    }
    if rest.is_some_and(|rest| rest != 1) {
        let found = format!("{} devices for degrees of {known}", devices);
        return Err(row.refuse_found("n_devices", found, "tp x cp x pp x dp"));
    }
    let [tensor, context, pipeline, data] = stated.map(|degree| degree.unwrap_or(1));
    Ok(Degrees { tensor, context, pipeline, data })
}

pub(super) fn layout(row: &Fields, devices: u32) -> Result<Layout, Refusal> {
    let Degrees { tensor, context, pipeline, data } = degrees(row, devices)?;
    let (expert, expert_tensor) = experts(row, tensor)?;
    let of_a_stage = u64::from(tensor) * u64::from(context) * u64::from(data);
    if !of_a_stage.is_multiple_of(u64::from(expert) * u64::from(expert_tensor)) {
        let found = format!("ep {expert} x etp {expert_tensor}");
        return Err(row.refuse_found(
            "ep",
            found,
            format!("a divisor of tp x cp x dp, {tensor} x {context} x {data}"),
        ));
    }
    let layers: u32 = row.count("n_layers")?;
    let schedule = if pipeline > 1 { schedule(row)? } else { Schedule::OneForwardOneBackward };
    let parts = if let Schedule::Interleaved { parts } = schedule { parts } else { 1 };
    let uneven_ends = ends(row, layers, pipeline, parts)?;
    let (sharding, shard_size) = sharding(row, data)?;
    let sequence_parallel = match row.optional_switch("sp")? {
        Some(stated) => stated && tensor > 1,
        None if tensor == 1 => false,
        None => return Err(row.refuse("sp", "yes or no, since tp is above 1")),
    };
    Ok(Layout {
        tensor,
        sequence_parallel,
        context,
        context_method: context_method(row)?,
        pipeline,
        schedule,
        expert,
        expert_tensor,
        data,
        sharding,
        shard_size,
        bucket_bytes: row.optional_count("bucket_bytes")?,
        overlap_gradients: row.switch("dp_overlap")?,
        overlap_parameters: row.switch("param_overlap")?,
        overlap_tensor: row.switch("tp_comm_overlap")? && tensor > 1,
        overlap_experts: row.optional_switch("moe_a2a_overlap")?.unwrap_or(false),
        overlap_shared_experts: row.optional_switch("moe_shared_expert_overlap")?.unwrap_or(false),
        uneven_ends,
    })
}

fn experts(row: &Fields, tensor: u32) -> Result<(u32, u32), Refusal> {
    if row.is_empty("moe_experts") {
        return Ok((1, 1));
    }
    let expert = row.count("ep")?;
    let expert_tensor = match row.optional_count("etp")? {
        Some(stated) => stated,
        None if tensor == 1 => 1,
        None => return Err(row.refuse("etp", "the ranks that share an expert, since tp is above 1")),
    };
    Ok((expert, expert_tensor))
}

/// `schedule`, else `vpp` above 1 means interleaved and anything else one forward, one backward.
fn schedule(row: &Fields) -> Result<Schedule, Refusal> {
    let parts = row.optional_count::<u32>("vpp")?.unwrap_or(1);
    match row.text("schedule").to_ascii_lowercase().as_str() {
        "" if parts > 1 => Ok(Schedule::Interleaved { parts }),
        "" | "1f1b" => Ok(Schedule::OneForwardOneBackward),
        "interleaved" | "1f1b-i" if parts > 1 => Ok(Schedule::Interleaved { parts }),
        "interleaved" | "1f1b-i" => Err(row.refuse("vpp", "parts of a stage, above 1")),
        "gpipe" => Ok(Schedule::GPipe),
        "zb-1p" | "zb-h1" => Ok(Schedule::ZeroBubbleH1),
        "zb-2p" | "zb-h2" => Ok(Schedule::ZeroBubble2p),
        "dualpipe" => Ok(Schedule::DualPipe),
        _ => Err(row.refuse("schedule", "1f1b, interleaved, gpipe, zb-1p, zb-2p or dualpipe")),
    }
}

/// Layers that the first part of the first stage and the last of the last have less.
fn ends(row: &Fields, layers: u32, pipeline: u32, parts: u32) -> Result<[u32; 2], Refusal> {
    if pipeline == 1 {
        return Ok([0, 0]);
    }
    let ends = [row.whole::<u32>("first_stage_fewer")?, row.whole("last_stage_fewer")?];
    let chunks = u64::from(pipeline) * u64::from(parts);
    let counted: u64 = [layers, ends[0], ends[1]].into_iter().map(u64::from).sum();
    if counted.is_multiple_of(chunks) {
        return Ok(ends);
    }
    let expected = format!(
        "a multiple of pp x vpp, {chunks}, with what first_stage_fewer and last_stage_fewer add to {layers}"
    );
    Err(row.refuse("n_layers", expected))
}

fn context_method(row: &Fields) -> Result<ContextMethod, Refusal> {
    match row.text("cp_method") {
        "ring" => Ok(ContextMethod::Ring),
        "all-gather" => Ok(ContextMethod::AllGather),
        "ulysses" => Ok(ContextMethod::Ulysses),
        _ => Err(row.refuse("cp_method", "ring, all-gather or ulysses")),
    }
}

/// What `zero_or_sharding` says, by its first words; `shard_size` beside it for shards over fewer than all replicas.
fn sharding(row: &Fields, data: u32) -> Result<(Sharding, Option<u32>), Refusal> {
    let text = row.text("zero_or_sharding").to_ascii_lowercase();
    let reshard_after_forward = row.optional_switch("reshard_after_forward")?.unwrap_or(true);
    let parameters = Sharding::Parameters { reshard_after_forward };
    let sharding = match text.as_str() {
        "" if row.text("fsdp").starts_with("yes") => parameters,
        "" if data == 1 => Sharding::None,
        "full_shard" | "zero-3" | "deepspeed zero-3" => parameters,
        "shard_grad_op" => Sharding::Parameters { reshard_after_forward: false },
        "zero-2" | "deepspeed zero-2" => Sharding::Gradients,
        "zero-1" | "deepspeed zero-1" => Sharding::Optimizer,
        "zero-0" | "deepspeed zero-0" => Sharding::None,
        text if text.starts_with("none") || text == "ddp" => Sharding::None,
        text if text.starts_with("fsdp") || text.starts_with("megatron-fsdp") => parameters,
        text if text.starts_with("megatron distributed optimizer") || text == "distributed optimizer" => {
            Sharding::Optimizer
        }
        _ => {
            let expected = "none, distributed optimizer, ZeRO-0 to ZeRO-3, SHARD_GRAD_OP, FULL_SHARD or FSDP";
            return Err(row.refuse("zero_or_sharding", expected));
        }
    };
    let shard_size = row.optional_count::<u32>("shard_size")?.filter(|size| *size < data);
    Ok((sharding, shard_size))
}

/// The batch, which must divide over replicas; `grad_accum` is what follows from it.
pub(super) fn batch(row: &Fields, data: u32) -> Result<Batch, Refusal> {
    let batch =
        Batch { sequence: row.count("seq_len")?, micro: row.count("mbs")?, global: row.count("gbs")? };
    let expected = || format!("a multiple of mbs x dp, {} x {data}", batch.micro);
    let of_one =
        batch.micro.checked_mul(u64::from(data)).ok_or_else(|| row.refuse("mbs", "a micro-batch"))?;
    if !batch.global.is_multiple_of(of_one) {
        return Err(row.refuse("gbs", expected()));
    }
    match row.optional_count::<u64>("grad_accum")? {
        Some(stated) if stated != batch.global / of_one => {
            Err(row.refuse("grad_accum", format!("gbs / (mbs x dp), {}", batch.global / of_one)))
        }
        _ => Ok(batch),
    }
}
