//! Sentences of `goodput serving`.

use crate::number::{UNKNOWN, count, counted, device_hours, duration, factor, percent, thousands, whole};
use crate::view::{ServingRowView, ServingView};

pub(crate) fn serving_title(view: &ServingView) -> String {
    view.title.clone().unwrap_or_else(|| "Serving fleet".to_owned())
}

/// What a row is.
pub(crate) fn serving_row_title(row: &ServingRowView) -> String {
    let name = if row.deployment.is_empty() { "deployment" } else { &row.deployment };
    let model = row.model.as_deref().map(|model| format!(" ({model})")).unwrap_or_default();
    let device = row.basis.device.as_deref().unwrap_or("unknown device");
    format!("{name}{model} on {device}")
}

/// What its figures rest on, a line each.
pub(crate) fn serving_basis(row: &ServingRowView) -> Vec<String> {
    let basis = &row.basis;
    let or = |text: Option<String>| text.unwrap_or_else(|| "not known".to_owned());
    let mut lines = vec![format!(
        "{}, {} from placement to release ({} not released), {} each: held {} device-hours, ready {}",
        counted(row.replicas, "replica"),
        lives(row.lives),
        count(row.not_released),
        counted(row.devices_per_replica, "device"),
        device_hours(row.held_ns.capacity()),
        device_hours(row.ready_ns.capacity()),
    )];
    lines.push(format!(
        "decode ideal: weights {} ({}), KV {} a token ({}), {} a device",
        or(basis.weight_bytes.map(|bytes| format!("{} GB", thousands(bytes as f64 / 1e9, 2)))),
        or(basis.weights_from.clone()),
        or(basis.kv_bytes_per_token.map(|bytes| format!("{} bytes", count(bytes)))),
        or(basis.kv_from.clone()),
        or(basis.bytes_per_second.map(|rate| format!("{} TB/s", thousands(rate as f64 / 1e12, 2)))),
    ));
    if row.work.prefill_ns.0 > 0 {
        lines.push(format!(
            "prefill ideal: FLOPs {}, dense peak {} ({})",
            or(basis.flops_from.clone()),
            or(basis.flops_per_second.map(|rate| format!("{} TFLOP/s", thousands(rate as f64 / 1e12, 1)))),
            or(basis.dtype.clone()),
        ));
    }
    lines.extend(basis.missing.iter().map(|why| format!("missing: {why}")));
    lines
}

/// How many times replicas were placed.
pub(crate) fn lives(number: u64) -> String {
    if number == 1 { "1 life".to_owned() } else { format!("{} lives", count(number)) }
}

/// What was served.
pub(crate) fn serving_work(row: &ServingRowView) -> Vec<String> {
    let work = &row.work;
    let number = |n: crate::view::Exact| whole(n.0.unsigned_abs());
    let mut lines = vec![format!(
        "decode: {} tokens in {} steps ({} a step), {} device-hours; prefill: {} tokens of {} prompts, {} device-hours",
        number(work.decode_tokens),
        number(work.decode_steps),
        work.tokens_per_step.map_or_else(|| UNKNOWN.to_owned(), |tokens| thousands(tokens, 1)),
        device_hours(work.decode_ns.capacity()),
        number(work.prefill_tokens),
        number(work.prompts),
        device_hours(work.prefill_ns.capacity()),
    )];
    if let Some(ratio) = work.traffic_over_required {
        lines.push(format!(
            "memory traffic is {} times what the steps must read (weights and cache)",
            thousands(ratio, 2)
        ));
    }
    if let Some((cost, currency)) = row.held_cost.zip(row.currency.as_deref()) {
        let each = row
            .cost_per_million_tokens
            .map(|cost| format!(", {} {currency} a million tokens generated", thousands(cost, 2)));
        lines.push(format!("held time costs {} {currency}{}", thousands(cost, 0), each.unwrap_or_default()));
    }
    lines
}

/// What a model of the step says, beside what was measured.
pub(crate) fn decode_model(row: &ServingRowView) -> Vec<String> {
    let Some(model) = &row.decode_model else { return Vec::new() };
    let ms = |ns: f64| format!("{} ms", thousands(ns / 1e6, 4));
    let mut lines = Vec::new();
    if let Some(floor) = model.floor_ns {
        lines.push(format!(
            "model: floor of a step {} (weights over {})",
            ms(floor),
            counted(model.devices, "device")
        ));
    }
    if let Some((exchanges, bytes)) = model.exchanges.zip(model.exchange_bytes) {
        let wire =
            model.exchange_wire_ns.map(|ns| format!(", {} on the wire in all", ms(ns))).unwrap_or_default();
        lines.push(format!(
            "model: {} exchanges of {} bytes a step at batch one{wire}; launches and protocol come on top and are longer",
            count(exchanges),
            count(bytes)
        ));
    }
    if let Some((least, most)) = model.eager_dispatch_least_ns.zip(model.eager_dispatch_most_ns) {
        lines.push(format!(
            "model: eager submission costs the host {} to {} ms a step (order of magnitude, not measured here); graph replay removes it",
            thousands(least / 1e6, 1),
            thousands(most / 1e6, 1)
        ));
    }
    lines
}

/// The decode step of traces.
pub(crate) fn traced_decode(view: &ServingView) -> Option<String> {
    let traced = view.traced.as_ref()?;
    let share = |share| percent(Some(share));
    Some(format!(
        "{}: kernels {} (reading weights and cache among them), exposed exchange {}, host dispatch {}, launched and not started {}, copies {}, unattributed {}",
        counted(traced.steps, "traced rank-step"),
        share(traced.compute_share),
        share(traced.exchange_share),
        share(traced.dispatch_share),
        share(traced.launch_share),
        share(traced.memory_share),
        share(traced.unattributed_share),
    ))
}

/// Waits for placement.
pub(crate) fn placement_wait(view: &ServingView) -> Option<String> {
    let wait = view.placement_wait.as_ref()?;
    Some(format!(
        "{}, from request to placement: median {}, longest {}",
        counted(wait.placements, "placement"),
        duration(wait.median_ns.as_i64()),
        duration(wait.longest_ns.as_i64())
    ))
}

/// The row's runtime goodput and its program goodput of decode, for a heading.
pub(crate) fn serving_factors(row: &ServingRowView, key: &str) -> String {
    factor(row.measures.iter().find(|measure| measure.key == key).and_then(|measure| measure.value))
}

/// How the page is to be read.
pub(crate) const SERVING_SCOPE: &str =
    "Each row has its own ideals: rows are not added or averaged, with one another or with training jobs.";
