//! `ask: build`: when a compilation build is repaid, shared or built by every replica, once or at every start.

use goodput_core::Boundary;
use goodput_core::trade::{Ratio, Trade};

use super::answer::{Answer, Row, Rows, Unit};
use super::error::PlanError;
use super::fields::Fields;
use super::quantity::Quantity;
use super::run::JobRun;
use super::words::{digits, percent, time};

/// An execution before and after, in seconds.
struct Step {
    before_s: f64,
    after_s: f64,
}

pub(super) fn answer(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&[
        "ask",
        "name",
        "executions_per_second",
        "step",
        "parts",
        "compiled",
        "builds",
        "replicas",
        "devices_per_replica",
        "replica_lifetime",
        "relaunches",
        "recompile",
    ])?;
    let before_s = match fields.get("executions_per_second", Quantity::Positive)? {
        Some(rate) => rate.recip(),
        None => match fields.get("step", Quantity::Span)? {
            Some(step_s) => step_s,
            None => fields.get("job.step", Quantity::Span)?.ok_or_else(|| {
                fields.missing("step", "the time of one execution, such as 245 ms, or executions_per_second")
            })?,
        },
    };
    let step = Step { before_s, after_s: before_s * remaining(fields)? };
    let saved_s = step.before_s - step.after_s;
    let mut answer = Answer::default();
    answer
        .figure("compiled", "what remains of an execution", step.after_s / step.before_s, Unit::Share)
        .figure("compiled_s", "compiled execution", step.after_s, Unit::Seconds)
        .figure("speedup", "speedup", step.before_s / step.after_s, Unit::Number);
    let builds = fields.named("builds")?;
    if builds.is_empty() {
        return Err(
            fields.missing("builds", "a list of {name, time}, such as {name: autotune, time: 15 min}")
        );
    }
    let mut first = None;
    let mut rows = Vec::new();
    let replicas = fields.or("replicas", Quantity::Count, 1.0)?;
    let relaunched = fields.word("relaunches", &["ignore", "count"], "ignore")? == "count";
    // Builds at the starts of a job hold all of its devices.
    let job = if relaunched && !fields.has("devices_per_replica") {
        fields.get("job.devices", Quantity::Count)?
    } else {
        None
    };
    let devices = match job {
        Some(devices) => devices,
        None => fields.or("devices_per_replica", Quantity::Count, 1.0)?,
    };
    let lifetime_s = fields.get("replica_lifetime", Quantity::Span)?;
    for (name, build) in &builds {
        build.only(&["name", "time"])?;
        let build_s = build.need("time", Quantity::Duration)?;
        let executions = if saved_s > 0.0 { build_s / saved_s } else { f64::INFINITY };
        let repaid_s = executions * step.after_s;
        first.get_or_insert((name.clone(), build_s, executions, repaid_s));
        rows.push(Row {
            name: name.clone(),
            cells: vec![
                Some(executions),
                Some(executions.ceil()),
                Some(repaid_s),
                Some(repaid_s / replicas),
                Some(replicas * devices * build_s / 3600.0),
                lifetime_s.map(|lifetime_s| build_s / lifetime_s),
            ],
            mark: (saved_s <= 0.0).then(|| "saves nothing: never repaid".to_owned()),
        });
    }
    answer.rows.push(Rows {
        title: "Builds",
        columns: vec![
            ("executions", "repaid after executions", Unit::Number),
            ("whole_executions", "whole ones", Unit::Count),
            ("repaid_s", "one replica, compiled", Unit::Seconds),
            ("shared_s", "shared by all replicas", Unit::Seconds),
            ("per_replica_device_hours", "device-hours if each builds", Unit::DeviceHours),
            ("of_lifetime", "of a replica's life", Unit::Share),
        ],
        rows,
    });
    let Some((name, build_s, executions, repaid_s)) = first else { return Ok(answer) };
    answer
        .figure("break_even_executions", "executions that repay the first build", executions, Unit::Number)
        .figure("break_even_s", "compiled time that repays it on one replica", repaid_s, Unit::Seconds)
        .figure("shared_s", "the same, shared by all replicas", repaid_s / replicas, Unit::Seconds);
    answer.verdict = format!(
        "The build {name} ({}) is repaid by {} executions: {} of one replica",
        time(build_s),
        digits(executions),
        time(repaid_s)
    );
    answer.verdict += &if replicas > 1.0 {
        format!(", {} of {replicas} that share it.", time(repaid_s / replicas))
    } else {
        ".".to_owned()
    };
    if let Some(share) = lifetime_s.map(|lifetime_s| build_s / lifetime_s) {
        answer.verdict +=
            &format!(" If every replica builds, it takes {} of each one's life.", percent(share));
        answer.figure("of_lifetime", "build over a replica's life", share, Unit::Share);
    }
    if relaunched {
        relaunches(&mut answer, fields, &step, build_s)?;
    }
    if let Some(recompile) = fields.under("recompile")? {
        in_the_loop(&mut answer, &recompile, &step)?;
    }
    Ok(answer)
}

/// What compilation leaves of an execution: stated, or part by part.
fn remaining(fields: &Fields<'_>) -> Result<f64, PlanError> {
    let parts = fields.list("parts")?;
    if parts.is_empty() {
        return fields.need("compiled", Quantity::Factor);
    }
    let (mut whole, mut remaining) = (0.0, 0.0);
    for part in &parts {
        part.only(&["name", "share", "removes"])?;
        let share = part.need("share", Quantity::Share)?;
        whole += share;
        remaining += share * (1.0 - part.or("removes", Quantity::Share, 0.0)?);
    }
    if (whole - 1.0).abs() > 1e-9 {
        let message = format!("the shares add to {whole}, expected 1: name every part of the execution");
        return Err(PlanError::new(fields.at("parts"), message));
    }
    Ok(remaining)
}

/// Training: without a persistent cache every start compiles, so the build stands in startup, recovery and preemption.
fn relaunches(answer: &mut Answer, fields: &Fields<'_>, step: &Step, build_s: f64) -> Result<(), PlanError> {
    let run = JobRun::read(fields)?;
    let held_s = fields.need("job.held", Quantity::Span)?;
    let terms = [
        ("startup", run.launches / held_s),
        ("recovery", run.failures_per_s),
        ("preemption", run.evictions_per_s),
    ]
    .map(|(name, starts_per_s)| (name, starts_per_s * build_s));
    let every_start: f64 = terms.iter().map(|(_, share)| share).sum();
    let cached = build_s / held_s;
    let range = PlanError::range(fields.path());
    let goodput = match fields.get("factors.runtime", Quantity::Factor)? {
        Some(goodput) => goodput,
        None => run.retained(fields, held_s, run.interval_s(fields)?)?,
    };
    let judge = |loss: f64| {
        let left = ((goodput - loss) / goodput).max(f64::MIN_POSITIVE);
        Trade::judge(&[
            Ratio { boundary: Boundary::Program, value: step.before_s / step.after_s },
            Ratio { boundary: Boundary::Runtime, value: left },
        ])
    };
    let (every, once) = (judge(every_start).map_err(&range)?, judge(cached).map_err(&range)?);
    answer
        .figure("every_start_loss", "runtime loss if every start compiles", every_start, Unit::Share)
        .figure("cached_loss", "runtime loss if built once in the window", cached, Unit::Share)
        .figure("every_start_product", "product of ratios, every start", every.product, Unit::Number)
        .figure("cached_product", "product of ratios, built once", once.product, Unit::Number);
    answer.rows.push(Rows {
        title: "Where a build at every start is charged",
        columns: vec![("share", "share of held", Unit::Share)],
        rows: terms
            .into_iter()
            .map(|(name, share)| Row { name: name.to_owned(), cells: vec![Some(share)], mark: None })
            .collect(),
    });
    answer.verdict += &format!(
        " Over {} the product is {:.4} of what it was if every start compiles, {:.4} with a cache that outlives restarts.",
        time(held_s),
        every.product,
        once.product
    );
    Ok(())
}

/// A recompilation inside the steps slows retained steps: the program factor pays, not startup.
fn in_the_loop(answer: &mut Answer, recompile: &Fields<'_>, step: &Step) -> Result<(), PlanError> {
    recompile.only(&["every_executions", "takes"])?;
    let every = recompile.need("every_executions", Quantity::Positive)?;
    let takes_s = recompile.need("takes", Quantity::Duration)?;
    let (steps_s, net_s) = (every * step.after_s, step.after_s + takes_s / every);
    let loss = takes_s / (steps_s + takes_s);
    answer
        .figure("recompile_program_loss", "program loss by recompiling in the loop", loss, Unit::Share)
        .figure("speedup_with_recompiles", "speedup that remains", step.before_s / net_s, Unit::Number)
        .figure(
            "recompile_break_even_executions",
            "executions between recompilations below which compiling loses",
            takes_s / (step.before_s - step.after_s),
            Unit::Number,
        );
    answer.verdict += &format!(
        " Recompiling every {} executions is charged to program goodput ({} of retained steps): the speedup that \
         remains is {:.3}.",
        digits(every),
        percent(loss),
        step.before_s / net_s
    );
    Ok(())
}
