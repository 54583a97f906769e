//! Sentences about step traces.

use crate::name::short_path;
use crate::number::{count, counted, duration, percent, si};
use crate::view::{
    AuditView, Exact, OverlapView, PeersView, RooflineView, SamplingView, TraceFileView, TraceModelView,
    TraceView, TriageView, UntracedView,
};

/// The title that the user gave, or the verb's own.
pub(crate) fn trace_title(view: &TraceView) -> String {
    view.title.clone().unwrap_or_else(|| "Step trace".to_owned())
}

/// What was traced, a line each.
pub(crate) fn trace_scope(view: &TraceView) -> Vec<String> {
    let scope = &view.scope;
    let world = match scope.world_size {
        Some(world) if world != scope.ranks => format!(" of {}", count(world)),
        _ => String::new(),
    };
    let devices =
        if scope.devices.is_empty() { String::new() } else { format!(" on {}", scope.devices.join(", ")) };
    let left_out = scope.rank_steps_traced - scope.rank_steps;
    let left_out = match left_out {
        0 => String::new(),
        n => format!(" ({} left out: see Steps)", count(n)),
    };
    vec![
        format!("{}{world}{devices}", counted(scope.ranks, "rank")),
        format!(
            "{} judged{left_out}; boundaries: {}",
            counted(scope.rank_steps, "rank-step"),
            scope.step_evidence_label
        ),
    ]
}

/// A term by its key, in plain words.
pub(crate) fn term(key: &str) -> &'static str {
    match key {
        "data_movement" => "data movement",
        "arithmetic" => "arithmetic",
        "dispatch" => "host dispatch",
        "communication" => "exposed communication",
        "synchronisation" => "waiting",
        "communication_or_synchronisation" => "communication or waiting",
        "input" => "input wait",
        _ => "not told by the trace",
    }
}

/// Where the flow stopped.
pub(crate) fn triage(triage: &TriageView) -> String {
    match (triage.term_label, triage.next) {
        (Some(term), _) => format!("Stops at the {}: the term to shorten is {term}.", triage.level_label),
        (None, Some(next)) => format!("Stops at the {} without a term. Next: {next}.", triage.level_label),
        (None, None) => format!("Stops at the {} without a term.", triage.level_label),
    }
}

/// What tracing did to the steps.
pub(crate) fn untraced(untraced: &UntracedView) -> String {
    let place = match untraced.outside_productive {
        None => {
            "; the clocks of trace and timeline cannot be compared, so whether it lies in a warm-up is not known"
        }
        Some(0) => "",
        Some(_) => "; part of it lies in a start, a warm-up or a pause: trace the steady state",
    };
    format!(
        "traced steps take {}, untraced ones {} (job timeline): ratio {:.3}{place}",
        duration(untraced.traced_step_ns),
        duration(untraced.untraced_step_ns),
        untraced.ratio
    )
}

/// The traced steps against the model, a line each.
pub(crate) fn trace_model(model: &TraceModelView) -> Vec<String> {
    let mut lines = vec![format!(
        "{}: {} of the model a device and step take {} at {} of {}; the traced step takes {}: program goodput (MFU, exact FLOPs) {}",
        model.model,
        si(model.model_flops_per_device.0 as f64, "FLOP"),
        duration(model.ideal_step_ns),
        si(model.peak_flops_per_second, "FLOP/s"),
        model.device,
        duration(model.traced_step_ns),
        percent(Some(model.program_goodput))
    )];
    lines.extend(model.executed_over_model.map(|ratio| {
        format!(
            "by their shapes the traced operators execute {ratio:.3} times the model's FLOPs (shapes cover {} of the compute time)",
            percent(model.executed_coverage)
        )
    }));
    lines
}

/// What the audit found, a line each.
pub(crate) fn audit(audit: &AuditView) -> Vec<String> {
    let verdict = if audit.clean { "as planned" } else { "not as planned" };
    let mut lines = vec![format!("rank {}, {}: it communicates {verdict}", audit.rank, audit.step)];
    lines.extend(audit.misplaced.iter().map(|axis| {
        format!("axis {} is meant to stay within a node and spans {} nodes", axis.axis, axis.nodes)
    }));
    lines
}

/// How large the plan is and what it can tell, a line each.
pub(crate) fn sampling(sampling: &SamplingView) -> Vec<String> {
    let bytes = |bytes: Exact| si(bytes.0 as f64, "B");
    let mut lines = vec![format!(
        "{} and {} of {}: {} of traces; on every rank it would be {}",
        counted(sampling.ranks.len() as u64, "rank"),
        counted(sampling.windows.len() as u64, "window"),
        duration(sampling.window_ns),
        bytes(sampling.bytes),
        bytes(sampling.everything_bytes)
    )];
    let strata: Vec<_> = sampling
        .strata
        .iter()
        .map(|s| format!("{} of {} places on {}", s.traced, s.places, s.name))
        .collect();
    lines.push(format!("covers {}", strata.join(", ")));
    lines.push(match sampling.split_axes.as_slice() {
        [] => "no whole group is traced: waiting cannot be told from transfer".to_owned(),
        axes => format!("waiting can be told from transfer along {}", axes.join(", ")),
    });
    lines.extend(sampling.trigger.map(|trigger| {
        format!(
            "trigger: dump a trace on the lagging rank and a healthy peer when a step takes longer than {} (median {}, median deviation {})",
            duration(trigger.slow_above_ns),
            duration(trigger.median_ns),
            duration(trigger.deviation_ns)
        )
    }));
    lines
}

/// How the ranks were compared, a line each.
pub(crate) fn peers(peers: &PeersView) -> Vec<String> {
    let residual = peers
        .clock_residual_ns
        .map_or_else(String::new, |ns| format!(", ends then differ by at most {}", duration(ns)));
    let mut lines = vec![format!(
        "{} matched, {} split into waiting and transfer; clocks: {}{residual}",
        counted(peers.matched, "collective"),
        counted(peers.split, "kernel"),
        peers.clock_estimator
    )];
    lines.extend(peers.not_split.iter().map(|n| {
        format!("not split: {} ({}), {}", counted(n.count, "kernel"), duration(n.time_ns), n.label)
    }));
    lines
}

/// What overlap hides and costs, a line each.
pub(crate) fn overlap(overlap: &OverlapView) -> Vec<String> {
    let net = match overlap.net_gain_ns {
        ns if ns < 0 => format!("the overlap loses {}", duration(-ns)),
        ns => format!("a net gain of {}", duration(ns)),
    };
    let mut lines = vec![format!(
        "over the whole traces computation hides {} of communication, which adds {} to the kernels beside it: {net}",
        duration(overlap.hidden_ns),
        duration(overlap.extra_ns)
    )];
    lines.extend((overlap.not_compared > 0).then(|| {
        format!(
            "{} beside communication ({}) have too few undisturbed runs to compare with",
            counted(overlap.not_compared, "run"),
            duration(overlap.not_compared_ns)
        )
    }));
    if overlap.kernels.iter().any(|kernel| !kernel.of_one_size) {
        lines.push("where shapes are not recorded, a longer run may have had more to do".to_owned());
    }
    lines
}

/// How much of the computing time stands where, a line each.
pub(crate) fn roofline(roofline: &RooflineView) -> Vec<String> {
    let of_compute =
        |ns: i64| percent((roofline.compute_ns > 0).then(|| ns as f64 / roofline.compute_ns as f64));
    let mut lines = vec![format!(
        "FLOPs and bytes are known for {} of the computing time, and placed for {}",
        of_compute(roofline.known_ns),
        of_compute(roofline.placed_ns)
    )];
    if roofline.placed_ns > 0 {
        let regimes: Vec<_> =
            roofline.regimes.iter().map(|r| format!("{} {}", percent(Some(r.share)), r.label)).collect();
        lines.push(format!(
            "of the placed time: {} (near: {} of it or more)",
            regimes.join(", "),
            percent(Some(roofline.near))
        ));
    }
    lines.extend(roofline.ceilings.iter().filter(|c| c.dtype.is_some()).map(|c| {
        format!(
            "{}: {} and {} meet at {:.0} FLOP a byte",
            c.dtype.unwrap_or_default(),
            si(c.flops_per_second, "FLOP/s"),
            si(c.bytes_per_second, "B/s"),
            c.ridge
        )
    }));
    let moves = roofline.kernels.iter().filter(|kernel| kernel.flops.0 == 0).count() as u64;
    lines.extend(
        (moves > 0).then(|| {
            format!("{} without arithmetic: in the table, not on the chart", counted(moves, "kernel"))
        }),
    );
    lines.extend(
        roofline
            .not_placed
            .iter()
            .take(4)
            .map(|n| format!("not placed: {}, {}", duration(n.time_ns), n.reason)),
    );
    lines
}

/// Repairs and refusals of every file, a line each.
pub(crate) fn trace_findings(files: &[TraceFileView]) -> Vec<String> {
    let mut lines = Vec::new();
    for file in files {
        let name = short_path(&file.file);
        for f in &file.findings {
            let removed = if f.removed_ns > 0 {
                format!(", {} taken off", duration(f.removed_ns))
            } else {
                String::new()
            };
            lines.push(format!(
                "{name}: {} {}{removed}; first at {}: {}",
                count(f.count),
                f.label,
                f.first_at,
                f.example
            ));
        }
        if file.lost_device_events > 0 {
            lines.push(format!("{name}: {} of the device events are there", percent(file.device_coverage)));
        }
    }
    lines
}
