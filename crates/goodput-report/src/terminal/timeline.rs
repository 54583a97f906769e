//! `goodput timeline` on a terminal.

use super::page::Column::{Number, Text};
use super::page::{Page, TerminalStyle};
use super::parts;
use crate::number::{count, counted, device_hours, duration, factor, percent, si};
use crate::view::{ComposedView, Exact, TimelineView};

pub(super) fn render(view: &TimelineView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    header(&mut page, view);
    page.heading("From held to ideal");
    chain(&mut page, view);
    page.heading("Losses");
    parts::losses(&mut page, &view.losses, "of held");
    parts::levers(&mut page, &view.levers, None);
    steps(&mut page, view);
    if let Some(model) = &view.composed {
        composed(&mut page, model);
    }
    if let Some(ettr) = &view.ettr {
        page.line(&format!("ETTR {}: {}", factor(Some(ettr.value)), ettr.definition));
    }
    parts::read_report(&mut page, &view.read_report);
    parts::warnings(&mut page, &view.warnings);
    page.finish()
}

fn header(page: &mut Page, view: &TimelineView) {
    let title = match (&view.title, &view.job) {
        (Some(title), _) => title.clone(),
        (None, Some(job)) => format!("Job {job}"),
        (None, None) => "Job timeline".to_owned(),
    };
    page.heading(&title);
    page.line(&parts::window(&view.contract.window));
    page.line(&if view.held.devices_known {
        counted(view.held.devices, "device")
    } else {
        "devices not stated: amounts are in job time, as if on one device (--devices states them)".to_owned()
    });
    page.line(&format!("held: {}", view.contract.timing_boundary.held));
    if view.commits == "unknown" {
        page.line("commits unknown: steps that were not rolled back count as retained");
    }
    for ideal in parts::ideals(&view.contract) {
        page.line(&ideal);
    }
}

fn chain(page: &mut Page, view: &TimelineView) {
    let (capacity, factors, bounds) =
        (&view.ledger.capacity_time, &view.ledger.factors, &view.ledger.factor_bounds);
    let row = |level: &str, amount: Exact, name: &str, value, bounds| {
        let (settled_on, range) = parts::settled_on(bounds);
        let share = percent(amount.capacity().share_of(capacity.held_ns.capacity()));
        let value = if name.is_empty() { String::new() } else { factor(value) };
        vec![
            level.to_owned(),
            device_hours(amount.capacity()),
            share,
            name.to_owned(),
            value,
            settled_on,
            range,
        ]
    };
    let empty = String::new;
    let rows = vec![
        row("held", capacity.held_ns, "", None, None),
        row("retained", capacity.retained_ns, "runtime goodput", factors.runtime, Some(bounds.runtime)),
        row("ideal", capacity.ideal_ns, "program goodput", factors.program, Some(bounds.program)),
        vec![
            empty(),
            empty(),
            empty(),
            "job product".to_owned(),
            factor(factors.job_product),
            empty(),
            empty(),
        ],
    ];
    let columns = [
        Text("level"),
        Number("device-h"),
        Number("of held"),
        Text("factor"),
        Number("value"),
        Number("settled on"),
        Text("bounds"),
    ];
    page.table(&columns, rows);
}

fn steps(page: &mut Page, view: &TimelineView) {
    page.heading("Steps");
    let s = &view.steps;
    let planned = s.planned.map(|p| format!(" of {} planned", count(p))).unwrap_or_default();
    page.line(&format!(
        "{} executed, {} retained{planned}, {} discarded, {} pending",
        count(s.executed),
        count(s.retained),
        count(s.discarded),
        count(s.pending)
    ));
    page.line(&match view.fault_free_step_ns {
        Some(f) => format!("fault-free step time f = {}", duration(f.as_i64())),
        None => "fault-free step time unknown: no steady step".to_owned(),
    });
    let t = &view.step_times;
    if t.count > 0 {
        page.line(&format!(
            "step time p50 {}, p90 {}, p99 {}, longest {} over {} retained steady steps",
            duration(t.p50_ns.as_i64()),
            duration(t.p90_ns.as_i64()),
            duration(t.p99_ns.as_i64()),
            duration(t.max_ns.as_i64()),
            count(t.count)
        ));
    }
    if let Some(ranks) = &view.ranks {
        page.line(&format!(
            "{}: slowest is rank {} on {} with a median of {}; the ranks' medians have the median {}",
            counted(ranks.ranks, "rank"),
            ranks.slowest_rank,
            ranks.slowest_host,
            duration(ranks.slowest_p50_ns.as_i64()),
            duration(ranks.typical_p50_ns.as_i64())
        ));
    }
    if view.work.model_flops.0 > 0 {
        page.line(&format!(
            "work of the retained steps: {} tokens, {}",
            si(view.work.tokens.0 as f64, ""),
            si(view.work.model_flops.0 as f64, "FLOP")
        ));
    }
    if view.queue_wait_ns.0 > 0 {
        page.line(&format!(
            "queue wait between attempts {}: beside the product",
            duration(view.queue_wait_ns.as_i64())
        ));
    }
}

fn composed(page: &mut Page, model: &ComposedView) {
    page.heading("The composed first-order model beside the measured shares of held time");
    let points = |share: f64| format!("{:+.2}", share * 100.0);
    let row = |label: &str, modelled: f64, measured: f64| {
        vec![
            label.to_owned(),
            format!("{:.2}%", modelled * 100.0),
            format!("{:.2}%", measured * 100.0),
            points(measured - modelled),
        ]
    };
    let terms = model.terms.iter().filter(|t| t.modelled != 0.0 || t.measured != 0.0);
    let mut rows: Vec<_> = terms.map(|t| row(t.label, t.modelled, t.measured)).collect();
    rows.push(row("sum", model.modelled, model.modelled + model.residual));
    let columns = [Text("term"), Number("modelled"), Number("measured"), Number("residual, points")];
    page.table(&columns, rows);
    let seconds = |s: f64| duration((s * 1e9) as i64);
    if let (Some(interval), Some(best)) = (model.checkpoint_interval_s, model.best_interval_s) {
        page.note(&format!(
            "Checkpoints were {} apart; for this pause and time between failures {} would cost least.",
            seconds(interval),
            seconds(best)
        ));
    }
    if let Some(caveat) = &model.caveat {
        page.warning(caveat);
    }
}
