//! Joins timelines to the attempts of the scheduler's records.

use rustc_hash::FxHashMap;

use super::{JobAccount, NextRecord, Tiers};
use crate::boundary::Boundary;
use crate::capacity::CapacityTime;
use crate::chain::Levels;
use crate::ledger::{Ledger, Loss, Unbalanced};
use crate::pattern::Pattern;
use crate::program::{self, NoProgramFactor};
use crate::records::{Attempt, DeviceUnit, FleetRecords, SourceRef, Symbol, Timeline};
use crate::runtime::{self, Allocation, HeldInterval, RuntimeAccount, RuntimeOptions};
use crate::scheduling::{HeldAttempt, HeldLives, Jobs, SchedulingAccount};
use crate::time::Interval;
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
    grouped: &Jobs,
    scheduling: &SchedulingAccount,
    options: &RuntimeOptions,
    detailed: usize,
) -> Result<Inside, Unbalanced> {
    let window = scheduling.window;
    let jobs = HeldByJob::new(records, grouped, &scheduling.held);
    let mut warnings = Vec::new();
    let mut by_id = index_timelines(records, timelines, &mut warnings);
    let has_timeline =
        |attempt: &Attempt| by_id.contains_key(&attempt.key.job) || by_id.contains_key(&attempt.display_id);
    let lives = if by_id.is_empty() {
        HeldLives::default()
    } else {
        HeldLives::new(records, grouped, has_timeline, window.to())
    };
    let mut inside = Inside {
        pools: vec![Default::default(); scheduling.pools.len()],
        jobs: Vec::new(),
        job_count: jobs.len(),
        tiers: Tiers { allocated: scheduling.fleet.held, ..Tiers::default() },
        warnings,
    };
    let mut unsettled = vec![Unsettled::default(); scheduling.pools.len()];
    let threshold = detail_threshold(records, &jobs, &scheduling.held, detailed);

    for held in jobs.iter() {
        let last = last_attempt(records, scheduling, held);
        let timeline = by_id.remove(&last.key.job).or_else(|| by_id.remove(&last.display_id));
        let total = held_sum(records, held, &scheduling.held);
        if timeline.is_none() && total < threshold {
            for &h in held {
                let part = &scheduling.held[h as usize];
                unsettled[part.pool].add(held_of(records, part), records.attempts[part.attempt].source);
            }
            continue;
        }
        let held = held.iter().map(|&h| h as usize).collect();
        let job = account_job(records, scheduling, &lives, held, timeline, options, &mut inside)?;
        charge_pools(records, &job, scheduling, &mut inside.pools);
        inside.jobs.push(job);
    }
    for ((levels, losses), unsettled) in inside.pools.iter_mut().zip(unsettled) {
        levels.held += unsettled.amount;
        losses.push(unsettled.into_loss());
    }
    for (pool, (levels, losses)) in scheduling.pools.iter().zip(&mut inside.pools) {
        losses.push(Loss {
            pattern: Pattern::IdleReservation,
            amount: pool.idle_reserved,
            evidence: pool.idle_reserved_evidence.clone(),
        });
        // Shares of a device are rounded attempt by attempt; the pool's own sum is exact.
        let rest = pool.held - levels.held - pool.idle_reserved;
        losses.push(Loss::new(Pattern::RuntimeUnsettled, rest));
        levels.held = pool.held;
    }
    inside.warnings.extend(by_id.into_values().map(left_out));
    inside.jobs.sort_by_key(|job| std::cmp::Reverse(job.ledger.chain().levels().held));
    Ok(inside)
}

/// Held time of the jobs that have neither a timeline nor a row of their own.
#[derive(Debug, Clone, Default)]
struct Unsettled {
    amount: CapacityTime,
    /// The largest parts, the largest first.
    largest: Vec<(CapacityTime, SourceRef)>,
}

impl Unsettled {
    fn add(&mut self, amount: CapacityTime, source: SourceRef) {
        self.amount += amount;
        if self.largest.len() < EVIDENCE_KEPT || self.largest.last().is_some_and(|(least, _)| *least < amount)
        {
            let place = self.largest.partition_point(|(other, _)| *other >= amount);
            self.largest.insert(place, (amount, source));
            self.largest.truncate(EVIDENCE_KEPT);
        }
    }

    fn into_loss(self) -> Loss {
        let evidence = self.largest.into_iter().map(|(_, source)| source).collect();
        Loss { pattern: Pattern::RuntimeUnsettled, amount: self.amount, evidence }
    }
}

/// Positions in `SchedulingAccount::held` by job, each job's in time order; jobs that held nothing are left out.
struct HeldByJob {
    positions: Vec<u32>,
    /// Where each job begins in `positions`, and the length at the end.
    begins: Vec<u32>,
}

impl HeldByJob {
    fn new(records: &FleetRecords, jobs: &Jobs, held: &[HeldAttempt]) -> Self {
        let place = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        // Where the parts of each attempt end: they stand in the order of the attempts.
        let mut end_of = vec![0; records.attempts.len()];
        let mut end = 0;
        for (row, end_of) in end_of.iter_mut().enumerate() {
            while held.get(end).is_some_and(|part| part.attempt == row) {
                end += 1;
            }
            *end_of = place(end);
        }
        let (mut positions, mut begins) = (Vec::with_capacity(held.len()), vec![0]);
        for rows in jobs.iter() {
            let first = positions.len();
            for &row in rows {
                let row = row as usize;
                let begin = if row == 0 { 0 } else { end_of[row - 1] };
                positions.extend(begin..end_of[row]);
            }
            positions[first..].sort_by_key(|&h| held[h as usize].interval.start);
            if positions.len() > first {
                begins.push(place(positions.len()));
            }
        }
        Self { positions, begins }
    }

    fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.begins.windows(2).map(|b| &self.positions[b[0] as usize..b[1] as usize])
    }

    fn len(&self) -> usize {
        self.begins.len() - 1
    }
}

/// The timelines by job id; those that cannot be joined are named.
fn index_timelines<'a>(
    records: &FleetRecords,
    timelines: &'a [Timeline],
    warnings: &mut Vec<Warning>,
) -> FxHashMap<Symbol, &'a Timeline> {
    let mut by_id = FxHashMap::default();
    for timeline in timelines {
        let job = timeline.job.as_deref().unwrap_or_default();
        match records.symbols.find(job).filter(|id| *id != Symbol::EMPTY) {
            None => warnings.push(left_out(timeline)),
            Some(id) => {
                if by_id.insert(id, timeline).is_some() {
                    warnings.push(Warning {
                        code: "timeline_twice",
                        message: format!(
                            "job {job} has more than one timeline; only the last one named is used: combine a job's logs into one"
                        ),
                        source: Some(timeline.source),
                    });
                }
            }
        }
    }
    by_id
}

fn left_out(timeline: &Timeline) -> Warning {
    let (code, message) = match &timeline.job {
        None => (
            "timeline_without_job",
            "the log does not say which job it is of; it is left out: give the job's id with --timeline JOB=FILE, or with \
             `job` in the fleet file"
                .to_owned(),
        ),
        Some(job) => (
            "timeline_without_attempt",
            format!(
                "the timeline of job {job} matches no attempt that held devices in the window; it is left out: check the \
                 job id and the window, or give its id with --timeline JOB=FILE"
            ),
        ),
    };
    Warning { code, message, source: Some(timeline.source) }
}

/// What a part of an attempt held, in whole devices.
fn held_of(records: &FleetRecords, held: &HeldAttempt) -> CapacityTime {
    let counted = CapacityTime::of(held.devices, held.interval.duration_ns());
    match records.device_unit {
        DeviceUnit::Device => counted,
        unit => CapacityTime::from_device_ns(counted.device_ns() / i128::from(unit.per_device())),
    }
}

fn held_sum(records: &FleetRecords, job: &[u32], held: &[HeldAttempt]) -> CapacityTime {
    job.iter().map(|&h| held_of(records, &held[h as usize])).sum()
}

fn last_attempt<'a>(records: &'a FleetRecords, scheduling: &SchedulingAccount, job: &[u32]) -> &'a Attempt {
    let last = job.last().map_or(0, |&h| h as usize);
    &records.attempts[scheduling.held[last].attempt]
}

/// The held time of the `detailed`-th largest job.
fn detail_threshold(
    records: &FleetRecords,
    jobs: &HeldByJob,
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
    lives: &HeldLives,
    held: Vec<usize>,
    timeline: Option<&Timeline>,
    options: &RuntimeOptions,
    inside: &mut Inside,
) -> Result<JobAccount, Unbalanced> {
    let window = scheduling.window;
    let total: CapacityTime = held.iter().map(|&h| held_of(records, &scheduling.held[h])).sum();
    let last = &records.attempts[scheduling.held[held.last().copied().unwrap_or(0)].attempt];
    let account = timeline.and_then(|t| {
        let refused = |why: String| Warning {
            code: "timeline_refused",
            message: format!("job {}: {why}", records.symbols.get(last.display_id)),
            source: Some(t.source),
        };
        let Some(intervals) = held_intervals(records, scheduling, lives, &held) else {
            inside.warnings.push(refused(
                "it holds shares of a device, of which a timeline's time cannot be a whole multiple; its held time \
                 stays unsettled"
                    .to_owned(),
            ));
            return None;
        };
        let allocation = Allocation::Recorded(intervals);
        match runtime::account(t, &allocation, &RuntimeOptions { window: Some(window), ..*options }) {
            Ok(account) => Some(account),
            Err(error) => {
                inside.warnings.push(refused(error.to_string()));
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
            let program = program::account(account.retained, &account.work, &timeline.ideal, timeline.source);
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

/// The job's held intervals over its whole life: what lies outside the window is needed to tell what ended there, and
/// which of the log's steps were held. An attempt over several pools is one interval with all its devices. `None` when
/// it holds shares of a device.
fn held_intervals(
    records: &FleetRecords,
    scheduling: &SchedulingAccount,
    lives: &HeldLives,
    held: &[usize],
) -> Option<Vec<HeldInterval>> {
    let per_device = u64::from(records.device_unit.per_device());
    let interval = |row: usize, interval: Interval, counted: u64| {
        let attempt = &records.attempts[row];
        counted.is_multiple_of(per_device).then(|| HeldInterval {
            interval,
            devices: counted / per_device,
            ended_by: attempt.end.map(|_| attempt.state),
            suspended_ns: attempt.suspended_ns,
            source: attempt.source,
        })
    };
    let mut counted: FxHashMap<usize, u64> = FxHashMap::default();
    for &h in held {
        let part = &scheduling.held[h];
        *counted.entry(part.attempt).or_default() += part.devices;
    }
    let first = held.first().map_or(0, |&h| scheduling.held[h].attempt);
    lives
        .of(first)
        .iter()
        .map(|&(row, whole)| {
            let devices = records.attempts[row].devices;
            interval(row, whole, counted.get(&row).copied().unwrap_or(devices))
        })
        .collect()
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
