//! A report becomes rows: one for each pool and each job that logs, or one for a canary.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use super::label::Label;
use super::row::{
    AllocationFigures, EventFigures, FactorFigures, Kind, ProgramFigures, Row, SlowestFigures, StepFigures,
};
use crate::report::{
    AccountReport, CapacityTime, Contract, Exact, FactorBounds, Job, Measured, Pool, ProgramBasis, Ranks,
    Report, StepTimes, TimelineReport,
};

/// What no report says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Labels {
    /// Architecture.
    pub model: Option<String>,
    /// Policy of the scheduler.
    pub policy: Option<String>,
    /// Versions on top of those that the report names.
    pub software: BTreeMap<String, String>,
    /// Whether its jobs are canaries.
    pub canary: bool,
}

/// Why a report gives no row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRows {
    /// No job that logs, and no pool.
    #[error("{label}: neither a job with steps nor a pool: nothing to remember")]
    Empty {
        /// The file.
        label: String,
    },
    /// A timeline that does not say whose it is.
    #[error("{label}: the report names no job; account its log with --job ID")]
    NoJob {
        /// The file.
        label: String,
    },
    /// A window that does not fit.
    #[error("{label}: its window lies outside the years that can be written")]
    Window {
        /// The file.
        label: String,
    },
}

/// The rows of a report; `json` is its text, `label` names it in errors.
///
/// # Errors
/// [`NoRows`].
pub fn distil(label: &str, json: &[u8], report: &Report, labels: &Labels) -> Result<Vec<Row>, NoRows> {
    let contract = report.contract();
    let (from_ns, to_ns) = (contract.window.from_ns.0, contract.window.to_ns.0);
    let outside = || NoRows::Window { label: label.to_owned() };
    let from_ns = i64::try_from(from_ns).map_err(|_| outside())?;
    let to_ns = i64::try_from(to_ns).map_err(|_| outside())?;
    let middle = Timestamp::from_nanosecond(from_ns.midpoint(to_ns).into()).map_err(|_| outside())?;
    let mut software: BTreeMap<_, _> =
        contract.software.iter().map(|s| (s.name.clone(), s.version.clone())).collect();
    // Conditions of the contract, as records or a contract file state them; what the user says now comes on top.
    let stated = |field: &str| {
        contract
            .conditions
            .iter()
            .find(|condition| condition.field == field)
            .map(|condition| condition.value.clone())
    };
    for name in ["driver", "compiler"] {
        software.extend(stated(&format!("system.{name}")).map(|version| (name.to_owned(), version)));
    }
    software.extend(labels.software.clone());
    let blank = Row {
        schema: Row::SCHEMA.into(),
        kind: if labels.canary { Kind::Canary } else { Kind::Job },
        day: middle.strftime("%Y-%m-%d").to_string().into(),
        from_ns,
        to_ns,
        job: None,
        pool: None,
        model: labels.model.clone().or_else(|| stated("workload.model")).map(Label::from),
        policy: labels.policy.clone().or_else(|| stated("system.scheduler_policy")).map(Label::from),
        devices: contract.devices,
        software: software.into(),
        program: None,
        steps: None,
        slowest: None,
        events: None,
        allocation: None,
        factors: FactorFigures::default(),
        contract: fingerprint(contract_text(contract).as_bytes()).into(),
        report: fingerprint(json),
    };
    let rows = match report {
        Report::Account(account) => of_account(account, &blank, labels.canary),
        Report::Timeline(timeline) => {
            vec![of_timeline(timeline, &blank).ok_or(NoRows::NoJob { label: label.to_owned() })?]
        }
    };
    if rows.is_empty() { Err(NoRows::Empty { label: label.to_owned() }) } else { Ok(rows) }
}

fn of_account(account: &AccountReport, blank: &Row, canary: bool) -> Vec<Row> {
    let logged = || account.jobs.iter().filter(|job| job.measured.is_some());
    // A name links the launches of a job over days, unless several jobs of the report bear it.
    let mut bearers: BTreeMap<&str, usize> = BTreeMap::new();
    logged().filter_map(|job| job.name.as_deref()).for_each(|name| *bearers.entry(name).or_default() += 1);
    let mut rows: Vec<Row> = logged()
        .map(|job| {
            let name = job.name.as_deref().filter(|name| !name.is_empty() && bearers.get(name) == Some(&1));
            Row { job: Some(name.unwrap_or(&job.id).into()), ..of_job(job, blank) }
        })
        .collect();
    if !canary {
        rows.extend(account.pools.iter().map(|pool| of_pool(pool, &account.jobs, blank)));
    }
    rows
}

fn of_job(job: &Job, blank: &Row) -> Row {
    Row {
        pool: job.pool.as_ref().map(Label::from),
        devices: job.devices,
        program: job.program_basis.as_ref().map(program),
        steps: job.step_times.as_ref().and_then(steps),
        slowest: job.ranks.as_ref().and_then(slowest),
        events: job.measured.map(events),
        factors: factors(&job.factor_bounds),
        ..blank.clone()
    }
}

fn of_timeline(timeline: &TimelineReport, blank: &Row) -> Option<Row> {
    Some(Row {
        job: Some(timeline.job.as_ref()?.into()),
        program: timeline.program_basis.as_ref().map(program),
        steps: steps(&timeline.step_times),
        slowest: timeline.ranks.as_ref().and_then(slowest),
        events: Some(events(timeline.measured)),
        factors: factors(&timeline.factor_bounds),
        ..blank.clone()
    })
}

fn of_pool(pool: &Pool, jobs: &[Job], blank: &Row) -> Row {
    let of_pool = || jobs.iter().filter(|job| job.pool.as_deref() == Some(&pool.name));
    let mut waits: Vec<f64> = of_pool().filter_map(|job| job.waits?.first_ns).map(seconds).collect();
    waits.sort_by(f64::total_cmp);
    let quantile = |share: f64| {
        // Nearest rank.
        let rank = (share * waits.len() as f64).ceil() as usize;
        waits.get(rank.max(1) - 1).copied()
    };
    let measured = of_pool().filter_map(|job| job.measured).map(events).reduce(EventFigures::plus);
    let offered = pool.capacity_time.offered_ns.unwrap_or_default();
    let share = |pattern: &str| share_of(&pool.capacity_time, pattern, offered);
    Row {
        kind: Kind::Pool,
        pool: Some(Label::from(&pool.name)),
        devices: pool.devices,
        events: measured,
        allocation: Some(AllocationFigures {
            offered_device_hours: offered.as_f64() / 3.6e12,
            waits: waits.len() as u64,
            wait_p50_s: quantile(0.5),
            wait_p90_s: quantile(0.9),
            partial_gang: share("partial_gang_hold_ns"),
            fragmentation: share("fragmentation_ns"),
        }),
        factors: factors(&pool.factor_bounds),
        ..blank.clone()
    }
}

fn share_of(capacity: &CapacityTime, pattern: &str, offered: Exact) -> f64 {
    let lost = capacity.scheduling_losses.get(pattern).copied().unwrap_or_default();
    if offered.0 > 0 { lost.as_f64() / offered.as_f64() } else { 0.0 }
}

fn seconds(ns: Exact) -> f64 {
    ns.as_f64() / 1e9
}

fn program(basis: &ProgramBasis) -> ProgramFigures {
    ProgramFigures {
        mfu: basis.mfu,
        ideal: Label::from(&basis.ideal),
        device: Label::from(&basis.device),
        dtype: Label::from(&basis.dtype),
        peak_flops_per_second: basis.peak_flops_per_second,
        convention: Label::from(&basis.convention),
        coverage: basis.coverage,
    }
}

fn steps(times: &StepTimes) -> Option<StepFigures> {
    // Stamps in whole seconds make short steps nothing.
    times.p50_ns.filter(|p50| p50.0 > 0)?;
    Some(StepFigures {
        count: times.count,
        p50_s: seconds(times.p50_ns?),
        p90_s: seconds(times.p90_ns?),
        p99_s: seconds(times.p99_ns?),
        max_s: seconds(times.max_ns?),
    })
}

fn slowest(ranks: &Ranks) -> Option<SlowestFigures> {
    (ranks.typical_p50_ns.0 > 0 && ranks.slowest_p50_ns.0 > 0).then(|| SlowestFigures {
        ranks: ranks.ranks,
        rank: ranks.slowest_rank,
        host: Label::from(&ranks.slowest_host),
        p50_s: seconds(ranks.slowest_p50_ns),
        typical_p50_s: seconds(ranks.typical_p50_ns),
    })
}

fn events(measured: Measured) -> EventFigures {
    EventFigures {
        held_s: seconds(measured.held_ns),
        launches: measured.launches,
        startup_s: seconds(measured.startup_ns),
        failures: measured.failures,
        recovery_s: seconds(measured.recovery_ns),
        preemptions: measured.preemptions,
        preemption_s: seconds(measured.preemption_ns),
        input_wait_s: seconds(measured.input_wait_ns),
        pauses: measured.pauses,
        pause_s: seconds(measured.pause_ns),
        commits: measured.commits,
        rework_s: seconds(measured.rework_ns),
    }
}

fn factors(bounds: &FactorBounds) -> FactorFigures {
    FactorFigures {
        scheduling: bounds.scheduling.and_then(|factor| factor.settled),
        runtime: bounds.runtime.settled,
        runtime_coverage: bounds.runtime.coverage,
        program: bounds.program.settled,
        program_coverage: bounds.program.coverage,
        mpg: bounds.mpg.and_then(|factor| factor.settled),
    }
}

/// What two reports must agree on beside their window.
fn contract_text(contract: &Contract) -> String {
    format!(
        "{} {} {:?} {:?} {:?}",
        contract.scope, contract.denominator, contract.device_types, contract.ideals, contract.software
    )
}

/// FNV-1a, 64 bits: tells texts apart, keeps no secret. (G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, RFC 9923.)
fn fingerprint(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    #[test]
    fn the_fingerprint_is_fnv_1a() {
        assert_eq!(
            (fingerprint(b""), fingerprint(b"a")),
            ("cbf29ce484222325".into(), "af63dc4c8601ec8c".into())
        );
    }
}
