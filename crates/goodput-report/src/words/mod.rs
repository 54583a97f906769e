//! Sentences that more than one renderer prints.

mod baseline;
mod compare;
mod contract;
mod explain;
mod lint;
mod plan;
mod predict;
mod search;
mod serving;
mod trace;
mod validation;

pub(crate) use baseline::{
    baseline_causes, baseline_method, baseline_not_tested, baseline_refused, baseline_scope, baseline_size,
    baseline_state, baseline_subject, baseline_title, baseline_update, baseline_value, coincidence, p_value,
};
pub(crate) use compare::{compare_answer, compare_beside, compare_scope, compare_title, ratio};
pub(crate) use contract::contract;
pub(crate) use explain::{explain_answer, explain_scope, explain_title, signed_duration};
pub(crate) use lint::{corrected, lint_answer, lint_title};
pub(crate) use plan::{plan_heading, plan_id, plan_inputs, plan_question, plan_scope, plan_title};
pub(crate) use predict::{beyond_tables, efficiency, predicted_run, predicted_step, prediction_contract};
pub(crate) use search::{layout, search_title, searched, stages};
pub(crate) use serving::{
    SERVING_SCOPE, decode_model, lives, placement_wait, serving_basis, serving_factors, serving_row_title,
    serving_title, serving_work, traced_decode,
};
pub(crate) use trace::{
    audit, overlap, peers, roofline, sampling, term, trace_findings, trace_model, trace_scope, trace_title,
    triage, untraced,
};
pub(crate) use validation::{
    applied_factor, calibration, ranking, refused_rows, regression, validation_scope, validation_title,
};

use goodput_core::{Boundary, CapacityTime, Owner, Timestamp};

use crate::name::short_path;
use crate::number::{
    UNKNOWN, count, counted, device_hours, duration, factor, gain, instant, money, percent, si,
};
use crate::view::{
    AccountView, ContractView, CostView, Exact, FactorBoundsView, IdealView, LedgerView, LeverView, LossView,
    TimelineView, WarningView, WindowView,
};

/// The title that the user gave, or the verb's own.
pub(crate) fn fleet_title(view: &AccountView) -> String {
    view.title.clone().unwrap_or_else(|| "Fleet account".to_owned())
}

/// What a fleet's figures are measured over, a line each.
pub(crate) fn fleet_contract(view: &AccountView) -> Vec<String> {
    let contract = &view.contract;
    let types = contract.device_types.join(", ");
    let denominator = match contract.denominator {
        "installed" => "offered is installed capacity: out-of-service time is a loss",
        _ => "offered is in-service capacity: out-of-service time stands beside it",
    };
    let mut lines = vec![
        format!(
            "{}{}; {denominator}",
            counted(contract.devices, "device"),
            if types.is_empty() { String::new() } else { format!(" ({types})") }
        ),
        format!(
            "timelines cover {} of held time; node snapshots cover {} of the window; availability {}",
            percent(contract.coverage.timelines),
            percent(contract.coverage.node_snapshots),
            percent(view.availability)
        ),
    ];
    if contract.commits.unknown_jobs > 0 {
        lines.push(format!(
            "commits unknown for {}: steps that were not rolled back count as retained",
            counted(contract.commits.unknown_jobs, "job")
        ));
    }
    lines.extend(ideals(contract).map(|ideal| format!("ideal: {ideal}")));
    lines
}

/// What one job's figures are measured over, a line each.
pub(crate) fn job_contract(view: &TimelineView) -> Vec<String> {
    let devices = if view.held.devices_known {
        counted(view.held.devices, "device")
    } else {
        "devices not stated: amounts are in job time, as if on one device (--devices states them)".to_owned()
    };
    let mut lines = vec![devices, format!("held: {}", view.contract.timing_boundary.held)];
    const ATTEMPTS: usize = 5;
    for (i, attempt) in view.held.attempts.iter().take(ATTEMPTS).enumerate() {
        let at = |ns: Exact| instant(Timestamp::from_nanos(ns.as_i64()));
        let length = duration(attempt.to_ns.as_i64().saturating_sub(attempt.from_ns.as_i64()));
        lines.push(format!("attempt {}: {} to {} ({length})", i + 1, at(attempt.from_ns), at(attempt.to_ns)));
    }
    if view.held.attempts.len() > ATTEMPTS {
        lines.push(format!(
            "and {}",
            counted((view.held.attempts.len() - ATTEMPTS) as u64, "further attempt")
        ));
    }
    if view.commits == "unknown" {
        lines.push("commits unknown: steps that were not rolled back count as retained".to_owned());
    }
    lines.extend(ideals(&view.contract).map(|ideal| format!("ideal: {ideal}")));
    lines
}

/// `2026-11-23 00:00 to 2026-11-30 00:00 UTC (7 d)`.
pub(crate) fn window(window: &WindowView) -> String {
    let instant = |ns: Exact| instant(Timestamp::from_nanos(ns.as_i64()));
    let duration = duration(window.duration_ns.as_i64());
    format!("{} to {} UTC ({duration})", instant(window.from_ns), instant(window.to_ns))
}

/// The ideals behind the program factor.
pub(crate) fn ideals(contract: &ContractView) -> impl Iterator<Item = String> {
    let text = |i: &IdealView| {
        format!(
            "{} on {}, dense {} peak {} a device, FLOP convention: {} ({})",
            i.ideal,
            i.device,
            i.dtype,
            si(i.peak_flops_per_second, "FLOP/s"),
            i.convention,
            counted(i.jobs, "job")
        )
    };
    contract.ideals.iter().map(text)
}

/// Warnings in a sentence each; what is said of several jobs is said once.
pub(crate) fn warnings(warnings: &[WarningView]) -> Vec<String> {
    let mut groups: Vec<Vec<&WarningView>> = Vec::new();
    for w in warnings {
        match groups.iter_mut().find(|g| g[0].code == w.code && g[0].message == w.message) {
            Some(group) => group.push(w),
            None => groups.push(vec![w]),
        }
    }
    groups.iter().map(|group| warning(group)).collect()
}

fn warning(group: &[&WarningView]) -> String {
    let jobs: Vec<_> = group.iter().filter_map(|w| w.job.as_deref()).collect();
    let more: u64 = group.iter().map(|w| w.more).sum();
    let and_more = if more > 0 { format!(" and {} more", count(more)) } else { String::new() };
    let about = match jobs.as_slice() {
        [] if more > 0 => format!("{} like it: ", counted(more + 1, "warning")),
        [] => String::new(),
        [job] if more == 0 => format!("job {job}: "),
        jobs => format!("jobs {}{and_more}: ", jobs.join(", ")),
    };
    let source = match group {
        [only] => only.source.as_ref().map(|s| format!(" ({s})")),
        [first, ..] => first.source.as_ref().map(|s| format!(" (first at {s})")),
        [] => None,
    };
    let code = group[0].code.replace('_', " ");
    format!("{code}: {about}{}{}", group[0].message, source.unwrap_or_default())
}

/// What the levels leave out because no record settles it. `None` when all is settled.
pub(crate) fn open(ledger: &LedgerView, losses: &[LossView]) -> Option<String> {
    let whole = ledger.capacity_time.offered_ns.unwrap_or(ledger.capacity_time.held_ns).capacity();
    let part = |boundary, what: &str| {
        let open = LossView::open_at(losses, boundary).capacity();
        let text =
            || format!("{} device-hours ({}) {what}", device_hours(open), percent(open.share_of(whole)));
        (open != CapacityTime::ZERO).then(text)
    };
    let parts: Vec<_> = [
        part(Boundary::Scheduling, "were offered where no record says whether they were held"),
        part(Boundary::Runtime, "were held and may yet prove retained"),
        part(Boundary::Program, "were retained and have no known ideal"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let text =
        || format!("Not settled by any record: {}. Factors are of the settled part.", parts.join(", "));
    (!parts.is_empty()).then(text)
}

/// The largest gain that has no lever before a record names one.
pub(crate) fn withheld(levers: &[LeverView]) -> Option<String> {
    let lever = levers.iter().find(|l| l.kind.owner() == Owner::Evidence && l.relative_gain.is_some())?;
    Some(format!(
        "Not drawn: {}, up to {}. It has no lever until a record names one: {}.",
        lever.label,
        gain(lever.relative_gain?),
        lever.lever
    ))
}

/// On how much of the capacity a factor is settled, and between what it lies for all of it.
pub(crate) fn coverage(b: FactorBoundsView) -> String {
    if b.settled.is_none() {
        let bound = if b.high > 0.0 && b.high < 1.0 {
            format!(", at most {}", factor(Some(b.high)))
        } else {
            String::new()
        };
        return format!("not settled{bound}");
    }
    if b.coverage >= 1.0 {
        return "settled on all of it".to_owned();
    }
    let settled = percent(Some(b.coverage));
    format!("of the settled {settled}; of all {} to {}", factor(Some(b.low)), factor(Some(b.high)))
}

/// What a useful device-hour costs, in a sentence.
pub(crate) fn price(cost: &CostView) -> String {
    let useful = cost.per_useful_device_hour.map_or_else(|| UNKNOWN.to_owned(), |v| money(v, &cost.currency));
    format!("A useful device-hour costs {useful}: {}.", price_basis(cost))
}

/// What that cost rests on.
pub(crate) fn price_basis(cost: &CostView) -> String {
    let offered = format!("an offered one costs {}", money(cost.price_per_device_hour, &cost.currency));
    if cost.coverage >= 1.0 {
        return offered;
    }
    let bound =
        |value: Option<f64>, none: &str| value.map_or_else(|| none.to_owned(), |v| money(v, &cost.currency));
    format!(
        "{offered}; settled on {} of the capacity, {} to {}",
        percent(Some(cost.coverage)),
        bound(cost.low, UNKNOWN),
        bound(cost.high, "unbounded")
    )
}

/// What one point of each factor adds to the product, and what the job product means.
pub(crate) fn worth_of_a_point(ledger: &LedgerView) -> Vec<String> {
    let values = &ledger.marginal_values;
    let named = [("scheduling", values.scheduling), ("runtime", values.runtime), ("program", values.program)];
    let points: Vec<_> =
        named.iter().filter_map(|(name, value)| Some(format!("{name} {:.3}", (*value)?))).collect();
    let mut lines = Vec::new();
    let product = if values.scheduling.is_some() { "MPG" } else { "the job product" };
    if !points.is_empty() {
        lines.push(format!("One point of a factor adds to {product}, in points: {}.", points.join(", ")));
    }
    if let (true, Some(job_product)) = (ledger.capacity_time.offered_ns.is_some(), ledger.factors.job_product)
    {
        lines.push(format!(
            "Job product (runtime x program) {}: a bill over held hours charges {:.2} for each useful one{}.",
            factor(Some(job_product)),
            job_product.recip(),
            ledger
                .factors
                .mpg
                .map(|mpg| format!("; of offered hours it takes {:.2}", mpg.recip()))
                .unwrap_or_default()
        ));
    }
    lines
}

/// The orchestrator's tiers: evidence beside the factors.
pub(crate) fn tiers(view: &AccountView) -> String {
    let tiers = &view.tiers;
    let tier = |name: &str, amount: Option<Exact>| {
        amount.map(|a| format!(", {name} {}", device_hours(a.capacity()))).unwrap_or_default()
    };
    format!(
        "Tiers beside the factors, in device-hours: allocated {}{}{}.",
        device_hours(tiers.allocated_ns.capacity()),
        tier("active", tiers.active_ns),
        tier("productive", tiers.productive_ns)
    )
}

/// Held capacity by the state in which the scheduler's record stands.
pub(crate) fn held_by_state(view: &AccountView) -> Option<String> {
    let state = |(state, amount): &(String, Exact)| format!("{state} {}", device_hours(amount.capacity()));
    let states: Vec<_> = view.held_by_state.0.iter().map(state).collect();
    (!states.is_empty())
        .then(|| format!("Held by state of the record, in device-hours: {}.", states.join(", ")))
}

/// The title that the user gave, or the job.
pub(crate) fn job_title(view: &TimelineView) -> String {
    match (&view.title, &view.job) {
        (Some(title), _) => title.clone(),
        (None, Some(job)) => format!("Job {job}"),
        (None, None) => match view.read_report.files.as_slice() {
            [file] => format!("Timeline of {}", short_path(&file.path)),
            _ => "Job timeline".to_owned(),
        },
    }
}

/// Steps, their times, ranks, work and waits, a line each.
pub(crate) fn steps(view: &TimelineView) -> Vec<String> {
    let s = &view.steps;
    let planned = s.planned.map(|p| format!(" of {} planned", count(p))).unwrap_or_default();
    let mut lines = vec![format!(
        "{} executed, {} retained{planned}, {} discarded, {} pending",
        count(s.executed),
        count(s.retained),
        count(s.discarded),
        count(s.pending)
    )];
    lines.push(match view.fault_free_step_ns {
        Some(f) => format!("fault-free step time f = {}", duration(f.as_i64())),
        None => "fault-free step time unknown: no steady step".to_owned(),
    });
    let t = &view.step_times;
    if t.count > 0 {
        lines.push(format!(
            "step time p50 {}, p90 {}, p99 {}, longest {} over {} retained steady steps",
            duration(t.p50_ns.as_i64()),
            duration(t.p90_ns.as_i64()),
            duration(t.p99_ns.as_i64()),
            duration(t.max_ns.as_i64()),
            count(t.count)
        ));
    }
    let m = &view.measured;
    lines.push(format!(
        "{}, {}, {}, {}, {}",
        counted(m.launches, "cold start"),
        counted(m.failures, "failure"),
        counted(m.preemptions, "preemption"),
        counted(m.commits, if view.commits == "recorded" { "commit" } else { "save" }),
        counted(m.pauses, "checkpoint pause")
    ));
    if m.logging_ns.0 > 0 {
        lines.push(format!(
            "logging itself took {}, inside whatever else went on",
            duration(m.logging_ns.as_i64())
        ));
    }
    if let Some(ranks) = &view.ranks {
        lines.push(format!(
            "{}: step time p50 {}, p90 {}, p99 {}; input wait p50 {}, p99 {}",
            counted(ranks.ranks, "rank"),
            duration(ranks.all.p50_ns.as_i64()),
            duration(ranks.all.p90_ns.as_i64()),
            duration(ranks.all.p99_ns.as_i64()),
            duration(ranks.input_wait.p50_ns.as_i64()),
            duration(ranks.input_wait.p99_ns.as_i64()),
        ));
        let on = match (ranks.slowest_host.as_str(), ranks.slowest_device) {
            ("", None) => String::new(),
            ("", Some(device)) => format!(" (device {device})"),
            (host, None) => format!(" on {host}"),
            (host, Some(device)) => format!(" on {host}, device {device},"),
        };
        lines.push(format!(
            "slowest is rank {}{on} with a median of {}; the ranks' medians have the median {}",
            ranks.slowest_rank,
            duration(ranks.slowest_p50_ns.as_i64()),
            duration(ranks.typical_p50_ns.as_i64())
        ));
    }
    // A log may state one and not the other: what it does not state is not none.
    let work = [(view.work.tokens.0, "tokens"), (view.work.model_flops.0, "FLOP")];
    let stated: Vec<String> = work
        .into_iter()
        .filter(|(amount, _)| *amount > 0)
        .map(|(amount, of)| si(amount as f64, of))
        .collect();
    if !stated.is_empty() {
        lines.push(format!("work of the retained steps: {}", stated.join(", ")));
    }
    if view.queue_wait_ns.0 > 0 {
        lines.push(format!(
            "queue wait between attempts {}: beside the product",
            duration(view.queue_wait_ns.as_i64())
        ));
    }
    if let Some(ettr) = &view.ettr {
        lines.push(format!("ETTR {}: {}", factor(Some(ettr.value)), ettr.definition));
    }
    lines
}
