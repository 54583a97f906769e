//! Joins timelines to the attempts of the scheduler's records.

use rustc_hash::FxHashMap;

use super::{JobAccount, NextRecord, Tiers};
use crate::boundary::Boundary;
use crate::capacity::CapacityTime;
use crate::chain::Levels;
use crate::ledger::{Ledger, Loss, Unbalanced};
use crate::pattern::Pattern;
use crate::program::{self, NoProgramFactor};
use crate::records::{FleetRecords, SourceRef, Timeline};
use crate::runtime::{self, Allocation, HeldInterval, RuntimeAccount, RuntimeOptions};
use crate::scheduling::{HeldAttempt, Jobs, SchedulingAccount};
use crate::time::Window;
use crate::warning::Warning;

/// Records kept as evidence of a pool's unsettled held time: the largest.
const EVIDENCE_KEPT: usize = 3;

/// Everything inside the allocations: by pool, and for the jobs worth a row of their own.
pub(super) struct Inside {
    /// Held, retained, ideal (offered stays zero) and the runtime and program losses, by pool.
    pub(super) pools: Vec<(Levels, Vec<Loss>)>,
    /// The detailed jobs, the largest first.
    pub(super) jobs: Vec<JobAccount>,
    /// Jobs that held devices.
    pub(super) job_count: usize,
    /// Orchestrator tiers.
    pub(super) tiers: Tiers,
    /// What was odd.
    pub(super) warnings: Vec<Warning>,
}

/// Accounts every job inside its allocation.
pub(super) fn account_jobs(
    records: &FleetRecords,
    timelines: &[Timeline],
    scheduling: &SchedulingAccount,
    options: &RuntimeOptions,
    detailed: usize,
) -> Result<Inside, Unbalanced> {
    let window = scheduling.window;
    let jobs = group_by_job(records, &scheduling.held);
    let mut by_id = index_timelines(timelines);
    let mut inside = Inside {
        pools: vec![Default::default(); scheduling.pools.len()],
        jobs: Vec::new(),
        job_count: jobs.len(),
        tiers: Tiers { allocated: scheduling.fleet.held, ..Tiers::default() },
        warnings: Vec::new(),
    };
    let mut unsettled: Vec<Vec<(CapacityTime, SourceRef)>> = vec![Vec::new(); scheduling.pools.len()];
    let threshold = detail_threshold(records, &jobs, &scheduling.held, detailed);

    for held in jobs {
        let last = &records.attempts[scheduling.held[*held.last().unwrap_or(&0)].attempt];
        let id = records.symbols.get(last.key.job);
        let timeline = by_id.remove(id).or_else(|| by_id.remove(records.symbols.get(last.display_id)));
        let total = held_sum(records, &held, &scheduling.held);
        if timeline.is_none() && total < threshold {
            for &h in &held {
                let attempt = &scheduling.held[h];
                unsettled[attempt.pool]
                    .push((held_of(records, attempt), records.attempts[attempt.attempt].source));
            }
            continue;
        }
        let job = account_job(records, scheduling, window, held, timeline, options, &mut inside)?;
        charge_pools(records, &job, scheduling, &mut inside.pools);
        inside.jobs.push(job);
    }
    for (pool, mut parts) in unsettled.into_iter().enumerate() {
        let amount: CapacityTime = parts.iter().map(|(amount, _)| *amount).sum();
        parts.sort_by_key(|(amount, _)| std::cmp::Reverse(*amount));
        let evidence = parts.iter().take(EVIDENCE_KEPT).map(|(_, source)| *source).collect();
        inside.pools[pool].0.held += amount;
        inside.pools[pool].1.push(Loss { pattern: Pattern::RuntimeUnsettled, amount, evidence });
    }
    for (pool, (levels, losses)) in scheduling.pools.iter().zip(&mut inside.pools) {
        losses.push(Loss::new(Pattern::IdleReservation, pool.idle_reserved));
        // Shares of a device are rounded attempt by attempt; the pool's own sum is exact.
        let rest = pool.held - levels.held - pool.idle_reserved;
        losses.push(Loss::new(Pattern::RuntimeUnsettled, rest));
        levels.held = pool.held;
    }
    for timeline in by_id.into_values() {
        let job = timeline.job.clone().unwrap_or_default();
        inside.warnings.push(Warning {
            code: "timeline_without_attempt",
            message: format!(
                "the timeline of job {job:?} matches no attempt that held devices in the window; it is left out. Check the \
                 job id and the window, or give its id with --timeline JOB=FILE"
            ),
            source: Some(timeline.source),
        });
    }
    inside.jobs.sort_by_key(|job| std::cmp::Reverse(job.ledger.chain().levels().held));
    Ok(inside)
}

/// Positions in `held` by job, in time order; jobs that held nothing are left out.
fn group_by_job(records: &FleetRecords, held: &[HeldAttempt]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..held.len()).collect();
    order.sort_by_key(|&h| (held[h].attempt, held[h].interval.start));
    let parts_of = |row: u32| {
        let row = row as usize;
        let begin = order.partition_point(|&h| held[h].attempt < row);
        order[begin..].iter().copied().take_while(move |&h| held[h].attempt == row)
    };
    let jobs = Jobs::new(records);
    let positions = jobs.iter().map(|rows| rows.iter().flat_map(|&row| parts_of(row)).collect());
    positions.filter(|job: &Vec<usize>| !job.is_empty()).collect()
}

fn index_timelines(timelines: &[Timeline]) -> FxHashMap<&str, &Timeline> {
    timelines.iter().map(|t| (t.job.as_deref().unwrap_or_default(), t)).collect()
}

/// What a part of an attempt held, in whole devices.
fn held_of(records: &FleetRecords, held: &HeldAttempt) -> CapacityTime {
    let counted = CapacityTime::of(held.devices, held.interval.duration_ns());
    CapacityTime::from_device_ns(counted.device_ns() / i128::from(records.device_unit.per_device()))
}

fn held_sum(records: &FleetRecords, job: &[usize], held: &[HeldAttempt]) -> CapacityTime {
    job.iter().map(|&h| held_of(records, &held[h])).sum()
}

/// The held time of the `detailed`-th largest job.
fn detail_threshold(
    records: &FleetRecords,
    jobs: &[Vec<usize>],
    held: &[HeldAttempt],
    detailed: usize,
) -> CapacityTime {
    let mut sums: Vec<CapacityTime> = jobs.iter().map(|job| held_sum(records, job, held)).collect();
    if sums.len() <= detailed {
        return CapacityTime::ZERO;
    }
    let (_, threshold, _) = sums.select_nth_unstable_by_key(detailed, |sum| std::cmp::Reverse(*sum));
    *threshold
}

fn account_job(
    records: &FleetRecords,
    scheduling: &SchedulingAccount,
    window: Window,
    held: Vec<usize>,
    timeline: Option<&Timeline>,
    options: &RuntimeOptions,
    inside: &mut Inside,
) -> Result<JobAccount, Unbalanced> {
    let total = held_sum(records, &held, &scheduling.held);
    let last = &records.attempts[scheduling.held[*held.last().unwrap_or(&0)].attempt];
    let account = timeline.and_then(|t| {
        let allocation = Allocation::Recorded(held_intervals(records, scheduling, &held));
        match runtime::account(t, &allocation, &RuntimeOptions { window: Some(window), ..*options }) {
            Ok(account) => Some(account),
            Err(error) => {
                inside.warnings.push(Warning {
                    code: "timeline_refused",
                    message: format!("job {}: {error}", records.symbols.get(last.display_id)),
                    source: Some(t.source),
                });
                None
            }
        }
    });
    let mut levels = Levels { offered: total, held: total, ..Levels::default() };
    let mut losses = Vec::new();
    let mut basis = None;
    match (&account, timeline) {
        (Some(account), Some(timeline)) => {
            losses.extend(account.losses.iter().cloned());
            let unexplained = total - account.held;
            if !unexplained.is_zero() {
                losses.push(Loss {
                    pattern: Pattern::RuntimeUnsettled,
                    amount: unexplained,
                    evidence: vec![last.source],
                });
            }
            levels.retained = account.retained;
            let program = program::account(account.retained, &account.work, &timeline.ideal);
            levels.ideal = program.ideal;
            losses.extend(program.losses);
            if let Err(why @ NoProgramFactor::AboveOne(_)) = &program.basis {
                inside.warnings.push(Warning {
                    code: "program_refused",
                    message: format!("job {}: {why}", records.symbols.get(last.display_id)),
                    source: Some(timeline.source),
                });
            }
            basis = program.basis.ok();
            add_tiers(&mut inside.tiers, account);
        }
        _ => losses.push(Loss {
            pattern: Pattern::RuntimeUnsettled,
            amount: total,
            evidence: vec![last.source],
        }),
    }
    let ledger = Ledger::new(window, levels, losses)?;
    Ok(JobAccount {
        id: last.display_id,
        name: last.name,
        user: last.user,
        account: last.account,
        pool: held.first().map_or(0, |&h| scheduling.held[h].pool),
        state: last.state,
        next: next_record(&ledger, account.is_some(), basis.is_some()),
        planned_steps: timeline.and_then(|t| t.planned_steps),
        held,
        ledger,
        runtime: account,
        program: basis,
    })
}

/// The job's held intervals. An attempt over several pools is one interval with all its devices.
fn held_intervals(
    records: &FleetRecords,
    scheduling: &SchedulingAccount,
    held: &[usize],
) -> Vec<HeldInterval> {
    let mut intervals: Vec<HeldInterval> = Vec::new();
    let mut previous = None;
    for &h in held {
        let part = &scheduling.held[h];
        if let Some(last) = intervals.last_mut()
            && previous == Some(part.attempt)
            && last.interval == part.interval
        {
            last.devices += part.devices;
            continue;
        }
        previous = Some(part.attempt);
        let attempt = &records.attempts[part.attempt];
        intervals.push(HeldInterval {
            interval: part.interval,
            devices: part.devices,
            ended_by: attempt.end.map(|_| attempt.state),
            suspended_ns: attempt.suspended_ns,
            source: attempt.source,
        });
    }
    intervals
}

fn add_tiers(tiers: &mut Tiers, account: &RuntimeAccount) {
    let executing = |loss: &&Loss| matches!(loss.pattern, Pattern::Rework | Pattern::Pending);
    let executed: CapacityTime = account.losses.iter().filter(executing).map(|loss| loss.amount).sum();
    *tiers.active.get_or_insert_default() += account.retained + executed;
    *tiers.productive.get_or_insert_default() += account.retained;
}

/// Adds a job's levels and losses to its pools: whole to one pool, or by each pool's share of what the job held.
fn charge_pools(
    records: &FleetRecords,
    job: &JobAccount,
    scheduling: &SchedulingAccount,
    pools: &mut [(Levels, Vec<Loss>)],
) {
    let mut weights = vec![CapacityTime::ZERO; pools.len()];
    for &h in &job.held {
        let part = &scheduling.held[h];
        weights[part.pool] += held_of(records, part);
    }
    let mut lost: Vec<Vec<(&Loss, CapacityTime)>> = vec![Vec::new(); pools.len()];
    for loss in job.ledger.losses() {
        for (pool, part) in apportion(loss.amount, &weights).into_iter().enumerate() {
            lost[pool].push((loss, part));
        }
    }
    for (pool, weight) in weights.iter().enumerate().filter(|(_, weight)| !weight.is_zero()) {
        // The parts of the losses are rounded; what crosses is what arrives less what is lost.
        let at = |boundary| -> CapacityTime {
            lost[pool].iter().filter(|(l, _)| l.pattern.boundary() == boundary).map(|(_, part)| *part).sum()
        };
        let crossed = *weight - at(Boundary::Runtime);
        pools[pool].0 += Levels {
            offered: CapacityTime::ZERO,
            held: *weight,
            retained: crossed,
            ideal: crossed - at(Boundary::Program),
        };
        pools[pool].1.extend(lost[pool].iter().map(|(loss, part)| Loss { amount: *part, ..(*loss).clone() }));
    }
}

/// Splits an amount by weight in integers; the parts sum to the amount.
fn apportion(amount: CapacityTime, weights: &[CapacityTime]) -> Vec<CapacityTime> {
    let whole: i128 = weights.iter().map(|w| w.device_ns()).sum();
    let mut before: i128 = 0;
    let mut given: i128 = 0;
    weights
        .iter()
        .map(|weight| {
            before += weight.device_ns();
            let upto = if whole == 0 { 0 } else { scale(amount.device_ns(), before, whole) };
            let part = upto - given;
            given = upto;
            CapacityTime::from_device_ns(part)
        })
        .collect()
}

/// `amount x part / whole` rounded down. A week of 100,000 devices needs 66 bits of nanoseconds, so the weights lose low
/// bits where the product would not fit; the parts still sum to the amount.
fn scale(amount: i128, part: i128, whole: i128) -> i128 {
    if part == whole {
        return amount;
    }
    (0..)
        .step_by(8)
        .find_map(|bits| Some(amount.checked_mul(part >> bits)?.div_euclid((whole >> bits).max(1))))
        .unwrap_or(0)
}

/// The largest loss names the next record to open.
fn next_record(ledger: &Ledger, has_timeline: bool, has_ideal: bool) -> NextRecord {
    let held = ledger.chain().levels().held;
    let largest = ledger.losses().iter().max_by_key(|loss| loss.amount);
    let small = |loss: &&Loss| loss.amount.share_of(held).is_none_or(|share| share < 0.01);
    match largest.filter(|loss| !small(loss)) {
        _ if !has_timeline => NextRecord::Timeline,
        _ if !has_ideal => NextRecord::Work,
        None => NextRecord::Nothing,
        Some(loss) => match loss.pattern {
            Pattern::RuntimeUnsettled => NextRecord::Timeline,
            Pattern::ProgramUnsettled => NextRecord::Work,
            Pattern::Zombie | Pattern::Teardown | Pattern::Suspension | Pattern::Preemption => {
                NextRecord::Scheduler
            }
            pattern if pattern.boundary() == Boundary::Program => NextRecord::StepTrace,
            _ => NextRecord::Timeline,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_an_amount_sum_to_it() {
        let ns = CapacityTime::from_device_ns;
        let parts = apportion(ns(10), &[ns(1), ns(0), ns(2)]);
        assert_eq!(parts, [ns(3), ns(0), ns(7)]);
    }
}
