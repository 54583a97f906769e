//! Sentences about a predicted step.

use crate::number::{count, counted, duration, percent, thousands};
use crate::table;
use crate::view::{EfficiencyView, PredictionView};

pub(crate) fn predicted_run(view: &PredictionView) -> String {
    let run = &view.run;
    format!(
        "{} on {} of {} ({}): tp {}{}, cp {}, pp {} x {} ({}), ep {}, dp {} (sharded: {}); sequences of {}, micro-batch {}, global batch {}; {}, recomputed: {}, {}",
        run.model,
        counted(run.devices.into(), "device"),
        run.cluster,
        run.device,
        run.tp,
        if run.sp { " with sequence parallelism" } else { "" },
        run.cp,
        run.pp,
        run.vpp,
        run.schedule,
        run.ep,
        run.dp,
        run.sharding,
        count(run.sequence_length),
        count(run.micro_batch),
        count(run.global_batch),
        run.precision,
        run.recompute,
        run.framework
    )
}

/// How much of the contract is known.
pub(crate) fn prediction_contract(view: &PredictionView) -> String {
    let known = view.contract.known.conditions.len() as u64;
    format!("contract: {} stated by the run; one step, predicted: no trials", counted(known, "condition"))
}

pub(crate) fn predicted_step(view: &PredictionView) -> String {
    let of_peak = |share: f64| percent(view.efficiency.as_ref().map(|_| share));
    format!(
        "step {} +- {}, MFU {}, HFU {}, {} tokens/s a device; rests on: {}",
        duration(view.step_ns as i64),
        percent(Some(view.deviation)),
        of_peak(view.mfu),
        of_peak(view.hfu),
        thousands(view.tokens_per_second_per_device, 0),
        table::basis(view.basis)
    )
}

/// What MFU and HFU are of.
pub(crate) fn efficiency(view: &EfficiencyView) -> String {
    format!(
        "MFU: exact model FLOPs of real tokens ({} TFLOP/s a device; with what is computed again {}) over the dense {} peak of {} TFLOP/s; scope: {}",
        thousands(view.tflops_per_second_per_device, 1),
        thousands(view.executed_tflops_per_second_per_device, 1),
        view.dtype,
        thousands(view.peak_flops_per_second / 1e12, 1),
        view.scope
    )
}

/// The longest parts that no table holds as they are, as one sentence; `None` when tables hold all.
pub(crate) fn beyond_tables(view: &PredictionView) -> Option<String> {
    let mut parts: Vec<_> = view
        .terms
        .iter()
        .flat_map(|term| term.beyond_tables.iter())
        .map(|part| (part.time_ns, format!("{} ({})", part.part, table::basis(part.basis))))
        .collect();
    parts.sort_by(|one, other| other.0.total_cmp(&one.0));
    let more = parts.len().saturating_sub(6);
    let named: Vec<_> = parts.into_iter().take(6).map(|(_, name)| name).collect();
    if named.is_empty() {
        return None;
    }
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("Not in a table as they are, the longest first: {}{rest}.", named.join(", ")))
}
