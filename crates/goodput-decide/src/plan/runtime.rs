//! `ask: runtime`: the composed runtime loss of a job, term by term, and against job size.

use super::answer::{Answer, Picture, Row, Rows, Unit};
use super::error::PlanError;
use super::fields::Fields;
use super::quantity::Quantity;
use super::run::JobRun;
use super::words::{percent, time};

pub(super) fn answer(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name", "sizes"])?;
    let run = JobRun::read(fields)?;
    let held_s = fields.need("job.held", Quantity::Span)?;
    let interval_s = run.interval_s(fields)?;
    let range = PlanError::range(fields.path());
    let loss = run.loss(held_s, interval_s).map_err(&range)?;
    let (largest, share) = loss.composed.largest();
    let goodput = run.retained(fields, held_s, interval_s)?;
    let mut answer = Answer {
        verdict: format!(
            "Runtime goodput {goodput:.3}: of {} held, {} is lost, most of it to {} ({}).",
            time(held_s),
            percent(loss.runtime()),
            largest.label(),
            percent(share)
        ),
        ..Answer::default()
    };
    answer.figure("runtime_goodput", "runtime goodput", goodput, Unit::Factor).figure(
        "loss",
        "loss as a share of held time",
        loss.runtime(),
        Unit::Share,
    );
    if let Some(interval_s) = interval_s {
        answer.figure("interval_s", "training between two saves", interval_s, Unit::Seconds);
    }
    let mut terms: Vec<_> =
        loss.composed.terms().iter().map(|(term, share)| (term.label(), *share)).collect();
    if run.durable_after_s > 0.0 {
        terms.push(("rework of a generation that was not durable", loss.not_durable));
    }
    answer.rows.push(Rows {
        title: "Terms",
        columns: vec![("share", "share of held", Unit::Share), ("held_s", "held time", Unit::Seconds)],
        rows: terms
            .into_iter()
            .map(|(name, share)| Row {
                name: name.to_owned(),
                cells: vec![Some(share), Some(share * held_s)],
                mark: None,
            })
            .collect(),
    });
    answer.warnings.extend(loss.composed.left_small_loss_regime().map(|left| left.to_string()));
    if let Some(sizes) = fields.many("sizes", Quantity::Count)? {
        by_size(&mut answer, fields, &run, held_s, &sizes)?;
    }
    Ok(answer)
}

/// The same job at other sizes: failures come in proportion to the devices, everything else stays.
fn by_size(
    answer: &mut Answer,
    fields: &Fields<'_>,
    run: &JobRun,
    held_s: f64,
    sizes: &[f64],
) -> Result<(), PlanError> {
    let devices = fields.need("job.devices", Quantity::Count)?;
    let range = PlanError::range(fields.path());
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = ["checkpoint and recovery", "input wait", "whole loss"]
        .map(|name| (name.to_owned(), Vec::new()))
        .into();
    let mut rows = Vec::new();
    for &size in sizes {
        let sized = JobRun { failures_per_s: run.failures_per_s * size / devices, ..*run };
        let interval_s = sized.every_s.or_else(|| sized.best_interval_s());
        let loss = sized.loss(held_s, interval_s).map_err(&range)?;
        let (checkpoint, recovery) = (loss.composed.checkpoint(), loss.composed.recovery);
        lines[0].1.push((size, checkpoint + recovery));
        lines[1].1.push((size, loss.composed.input_wait));
        lines[2].1.push((size, loss.runtime()));
        rows.push(Row {
            name: format!("{size} devices"),
            cells: vec![interval_s, Some(checkpoint), Some(recovery), Some(loss.runtime())],
            mark: if loss.runtime() >= 1.0 {
                Some("nothing is retained: the losses take all that is held".to_owned())
            } else {
                loss.composed.left_small_loss_regime().map(|_| "no longer small: a lower estimate".to_owned())
            },
        });
    }
    answer.rows.push(Rows {
        title: "Against job size",
        columns: vec![
            ("interval_s", "interval", Unit::Seconds),
            ("checkpoint", "checkpoint", Unit::Share),
            ("recovery", "recovery", Unit::Share),
            ("loss", "whole loss", Unit::Share),
        ],
        rows,
    });
    let mut marks = Vec::new();
    if run.every_s.is_none() {
        let inputs = goodput_core::composed::RuntimeInputs {
            cadence: goodput_core::composed::Cadence::YoungDaly,
            ..run.composed(held_s, run.best_interval_s())
        };
        let crossing = inputs.size_where_failures_overtake_input(devices as u64).map_err(&range)?;
        if let Some(size) = crossing.filter(|_| run.input_wait > 0.0) {
            answer.figure(
                "failures_overtake_input_devices",
                "devices from which checkpoints and recovery cost more than input waits",
                size,
                Unit::Count,
            );
            marks.push(("failures overtake input".to_owned(), size, run.input_wait));
        }
    }
    answer.picture = Some(Picture::Curves { x: "devices", y: "share of held time", lines, marks });
    Ok(())
}
