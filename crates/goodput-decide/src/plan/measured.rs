//! Inputs that a report holds: which of its figures each field of a plan stands for.

use super::error::PlanError;
use crate::report::{Exact, FactorBounds, Job, Measured, Report};

/// A figure of a report, and how it was found.
pub(super) struct Found {
    pub value: f64,
    pub how: String,
}

/// The value of `key` (`reliability.mtbf`, …) in a report; `job` names one of an account's jobs.
pub(super) fn find(field: &str, key: &str, report: &Report, job: Option<&str>) -> Result<Found, PlanError> {
    let refuse = |why: String| Err(PlanError::new(field, why));
    if let Some(name) = key.strip_prefix("factors.") {
        let factors = match job {
            Some(_) => &one_job(field, report, job)?.factor_bounds,
            None => report.factors(),
        };
        let factor = factor(factors, name);
        return match factor {
            Some(value) => Ok(Found { value, how: format!("settled {name} goodput") }),
            None => refuse(format!("the report settles no {name} goodput: state it")),
        };
    }
    let (measured, devices, step) = match report {
        Report::Timeline(report) => {
            (Some(report.measured), report.contract.devices, report.fault_free_step_ns)
        }
        Report::Account(_) => {
            let job = one_job(field, report, job)?;
            (job.measured, job.devices, job.fault_free_step_ns)
        }
    };
    if key == "job.devices" {
        return Ok(Found { value: devices as f64, how: "most devices held at a time".to_owned() });
    }
    if key == "job.step" {
        return match step {
            Some(ns) => Ok(Found { value: seconds(ns), how: "fault-free step time".to_owned() }),
            None => refuse("the report has no fault-free step time: state it".to_owned()),
        };
    }
    let Some(measured) = measured else {
        return refuse(
            "this job has no timeline in the report, so nothing was measured: state the value".to_owned(),
        );
    };
    of_measured(field, key, &measured)
}

fn of_measured(field: &str, key: &str, m: &Measured) -> Result<Found, PlanError> {
    let each = |total: Exact, count: u64, what: &str, over: &str| {
        if count == 0 {
            let held_h = seconds(m.held_ns) / 3600.0;
            let message = format!("the report saw no {over} in {held_h:.1} h of held time: state the value");
            return Err(PlanError::new(field, message));
        }
        Ok(Found {
            value: seconds(total) / count as f64,
            how: format!("{what} over {}", counted(count, over)),
        })
    };
    let saves = if m.commits > 0 { m.commits } else { m.pauses };
    match key {
        "job.held" => Ok(Found { value: seconds(m.held_ns), how: "held time".to_owned() }),
        "reliability.mtbf" => each(m.held_ns, m.failures, "held time", "failure"),
        "reliability.recovery" => each(m.recovery_ns, m.failures, "recovery", "failure"),
        "checkpoint.write" => each(m.pause_ns, saves, "pauses", "checkpoint"),
        "checkpoint.every" => each(m.held_ns, saves, "held time", "checkpoint"),
        "startup" => each(m.startup_ns, m.launches, "startup", "launch"),
        // What a preemption cost in the log holds its lost work, so nothing is added to it.
        "preemption.cost" => {
            each(m.preemption_ns, m.preemptions, "preemption, lost work included,", "preemption")
        }
        "preemption.per_day" | "input_wait" if m.held_ns.0 <= 0 => {
            Err(PlanError::new(field, "the report's job held nothing"))
        }
        "preemption.per_day" => Ok(Found {
            value: m.preemptions as f64 / (seconds(m.held_ns) / 86_400.0),
            how: format!("{} over held time", counted(m.preemptions, "preemption")),
        }),
        "input_wait" => Ok(Found {
            value: m.input_wait_ns.as_f64() / m.held_ns.as_f64(),
            how: "input wait over held time".to_owned(),
        }),
        _ => Err(PlanError::new(
            field,
            "no report holds this: `from` gives job.devices, job.held, job.step, reliability.mtbf, \
             reliability.recovery, checkpoint.write, checkpoint.every, startup, preemption.per_day, \
             preemption.cost, input_wait, factors.* and queue_wait",
        )),
    }
}

/// `1 launch`, `2 launches`.
fn counted(count: u64, what: &str) -> String {
    let plural = match (count, what) {
        (1, _) => "",
        (_, "launch") => "es",
        _ => "s",
    };
    format!("{count} {what}{plural}")
}

/// The first waits of an account's jobs, in seconds.
pub(super) fn first_waits(field: &str, report: &Report) -> Result<Vec<f64>, PlanError> {
    let Report::Account(report) = report else {
        return Err(PlanError::new(field, "a timeline knows no queue: name a report of `goodput account`"));
    };
    let waits = report.jobs.iter().filter_map(|job| job.waits?.first_ns);
    let waits: Vec<f64> = waits.map(seconds).filter(|wait| *wait >= 0.0).collect();
    if waits.is_empty() {
        return Err(PlanError::new(field, "no job of the report has a first wait: state the wait"));
    }
    Ok(waits)
}

fn one_job<'a>(field: &str, report: &'a Report, job: Option<&str>) -> Result<&'a Job, PlanError> {
    let Report::Account(account) = report else {
        return Err(PlanError::new(
            field,
            "`job` is for a report of `goodput account`: this one is of one job",
        ));
    };
    let named = |count: usize| {
        account.jobs.iter().take(count).map(|job| job.id.as_str()).collect::<Vec<_>>().join(", ")
    };
    let Some(id) = job else {
        let message = format!("the report is of a fleet: name the job, as in {{from: …, job: {}}}", named(1));
        return Err(PlanError::new(field, message));
    };
    account
        .jobs
        .iter()
        .find(|job| job.id == id)
        .ok_or_else(|| PlanError::new(field, format!("the report has no job {id:?}; it has {}", named(8))))
}

fn factor(factors: &FactorBounds, name: &str) -> Option<f64> {
    match name {
        "scheduling" => factors.scheduling?.settled,
        "runtime" => factors.runtime.settled,
        "program" => factors.program.settled,
        _ => None,
    }
}

fn seconds(ns: Exact) -> f64 {
    ns.as_f64() / 1e9
}
