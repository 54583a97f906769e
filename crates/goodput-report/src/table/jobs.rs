//! Jobs, and the composed model of one.

use super::Column::{Number, Text};
use super::{Cell, Detail, Table};
use crate::name::cut;
use crate::number::{count, counted, device_hours, duration, factor, percent};
use crate::view::{ComposedView, JobView, OmittedJobsView, SizePointView};

/// The jobs that lose the most inside their allocations.
pub(crate) fn jobs(jobs: &[JobView], omitted: &OmittedJobsView, detail: Detail) -> Table {
    let full = detail == Detail::Full;
    let mut worst: Vec<_> = jobs.iter().collect();
    worst.sort_by_key(|job| std::cmp::Reverse(job.lost()));
    worst.truncate(detail.rows());
    // Columns that no job listed has a figure for are left out.
    let settled = worst.iter().any(|job| job.as_if_pool_product.is_some());
    let planned = worst.iter().any(|job| plan(job).is_some());
    let mut columns = vec![Text("job"), Text("name")];
    if full {
        columns.extend([Text("user"), Text("pool"), Text("state")]);
    }
    columns.extend([
        Number(if full { "devices" } else { "dev." }),
        Number("held h"),
        Number("lost h"),
        Number("R"),
        Number("P"),
    ]);
    if settled {
        columns.push(Number(if full { "as-if MPG" } else { "as-if" }));
    }
    match (planned, full) {
        (true, true) => columns.extend([Number("steps kept"), Number("planned")]),
        (true, false) => columns.push(Number("of plan")),
        (false, _) => {}
    }
    if full {
        columns.push(Number("waited"));
    }
    columns.extend([Text(if full { "largest loss, of held" } else { "largest loss" }), Text("open next")]);
    let row = |job: &&JobView| {
        let f = &job.ledger.factors;
        let mut row: Vec<Cell> =
            vec![detail.name(&job.id).into(), cut(&job.name, if full { 40 } else { 12 }).into()];
        if full {
            row.extend([detail.name(&job.user).into(), detail.name(&job.pool).into(), job.state.into()]);
        }
        row.extend([
            count(job.devices).into(),
            device_hours(job.ledger.capacity_time.held_ns.capacity()).into(),
            device_hours(job.lost()).into(),
            factor(f.runtime).into(),
            factor(f.program).into(),
        ]);
        if settled {
            row.push(factor(job.as_if_pool_product).into());
        }
        match (planned, full) {
            (true, true) => row.extend([
                super::or_unknown(job.steps, |s| count(s.retained)).into(),
                super::or_unknown(plan(job), |(_, planned)| count(planned)).into(),
            ]),
            (true, false) => {
                row.push(percent(plan(job).map(|(kept, planned)| kept as f64 / planned as f64)).into());
            }
            (false, _) => {}
        }
        if full {
            row.push(super::or_unknown(job.waits.total_ns, |ns| duration(ns.as_i64())).into());
        }
        row.push(job.losses.first().map_or_else(Cell::default, |l| {
            let share = if full { format!(" {}", percent(l.share)) } else { String::new() };
            Cell { pattern: Some(l.kind), ..format!("{}{share}", l.label).into() }
        }));
        row.push(match job.next.record {
            "work" => "FLOPs, peak".into(),
            record => record.replace('_', " ").into(),
        });
        row
    };
    let all = jobs.len() as u64 + omitted.count;
    let mut notes = Vec::new();
    if all > worst.len() as u64 {
        notes.push(format!("{} of {} shown.", count(worst.len() as u64), counted(all, "job")));
    }
    if full {
        let mut reasons: Vec<_> = worst.iter().map(|job| job.next.why).collect();
        reasons.sort_unstable();
        reasons.dedup();
        notes.extend(reasons.into_iter().map(|why| format!("Open next: {why}.")));
    }
    if settled {
        notes.push(
            "As-if MPG is the job's R and P with its pool's scheduling goodput: what the pool would make if every \
             job ran like this one."
                .to_owned(),
        );
    }
    Table { columns, rows: worst.iter().map(row).collect(), notes }
}

/// Retained and planned steps, when there is a plan.
fn plan(job: &JobView) -> Option<(u64, u64)> {
    let steps = job.steps?;
    Some((steps.retained, steps.planned.filter(|&planned| planned > 0)?))
}

/// The composed first-order model beside the measured shares of held time.
pub(crate) fn composed(model: &ComposedView) -> Table {
    let row = |label: &str, modelled: f64, measured: f64| -> Vec<Cell> {
        vec![
            label.into(),
            format!("{:.2}%", modelled * 100.0).into(),
            format!("{:.2}%", measured * 100.0).into(),
            format!("{:+.2}", (measured - modelled) * 100.0).into(),
        ]
    };
    let terms = model.terms.iter().filter(|t| t.modelled != 0.0 || t.measured != 0.0);
    let mut rows: Vec<_> = terms.map(|t| row(t.label, t.modelled, t.measured)).collect();
    rows.push(row("sum", model.modelled, model.modelled + model.residual));
    let columns = vec![Text("term"), Number("modelled"), Number("measured"), Number("residual, points")];
    let seconds = |s: f64| duration((s * 1e9) as i64);
    let mut notes = Vec::new();
    if let (Some(interval), Some(best)) = (model.checkpoint_interval_s, model.best_interval_s) {
        notes.push(format!(
            "Checkpoints were {} apart; for this pause and time between failures {} would cost least{}.",
            seconds(interval),
            seconds(best),
            with_preemptions(model)
                .map(|s| format!(", with preemptions counted too {}", seconds(s)))
                .unwrap_or_default()
        ));
    } else if let (Some(interval), Some(best)) = (model.checkpoint_interval_s, with_preemptions(model)) {
        notes.push(format!(
            "Checkpoints were {} apart; no failure was seen, and for the preemptions alone {} would cost least.",
            seconds(interval),
            seconds(best)
        ));
    }
    notes.extend(model.caveat.clone());
    Table { columns, rows, notes }
}

/// The interval that counts preemptions too, where that makes a difference.
fn with_preemptions(model: &ComposedView) -> Option<f64> {
    model.best_interval_with_preemptions_s.filter(|&s| Some(s) != model.best_interval_s)
}

/// The model at other job sizes.
pub(crate) fn size_curve(model: &ComposedView) -> Table {
    let columns = vec![
        Number("devices"),
        Number("between failures"),
        Number("loss at this interval"),
        Number("best interval"),
        Number("loss at the best"),
    ];
    let seconds = |s: f64| duration((s * 1e9) as i64);
    let row = |p: &SizePointView| -> Vec<Cell> {
        let mark = if p.small_losses { "" } else { " *" };
        vec![
            count(p.devices).into(),
            seconds(p.mtbf_s).into(),
            if p.modelled < 1.0 {
                format!("{}{mark}", percent(Some(p.modelled)))
            } else {
                "all *".to_owned()
            }
            .into(),
            super::or_unknown(p.best_interval_s, seconds).into(),
            percent(Some(p.modelled_at_best)).into(),
        ]
    };
    let mut notes = vec![
        "The time between failures shrinks in proportion to size; everything else stays as measured."
            .to_owned(),
    ];
    if model.size_curve.iter().any(|p| !p.small_losses) {
        notes.push("* losses are no longer small: the first-order sum overstates them.".to_owned());
    }
    if let Some(devices) = model.failures_overtake_input_devices {
        notes.push(format!(
            "From {} devices on, checkpoints and recovery cost more than input waits.",
            count(devices.ceil() as u64)
        ));
    }
    Table { columns, rows: model.size_curve.iter().map(row).collect(), notes }
}
