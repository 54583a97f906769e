//! Puts the account together: records to events, one sweep, and the results.

use crate::capacity::CapacityTime;
use crate::ledger::Loss;
use crate::pattern::Pattern;
use crate::records::{FleetRecords, Symbol};

use super::attempts::{HeldIntervals, Jobs};
use super::cohorts::{Grouping, in_devices};
use super::coverage::records_end;
use super::events::MAX_POSITION;
use super::evidence::evidence;
use super::input::Input;
use super::layout::Layout;
use super::notes::Notes;
use super::pool::Totals;
use super::series::Series;
use super::sweep::Sweep;
use super::unheld::PATTERNS;
use super::{
    Denominator, PoolAccount, PoolDiagnostics, SchedulingAccount, SchedulingError, SchedulingOptions,
};

/// Accounts the capacity-time of a fleet over a window: offered, held, and every unheld device-nanosecond charged
/// once.
///
/// # Errors
/// [`SchedulingError`] when no record gives the capacity, when the records end before the window begins, or when the
/// pools named in `options` are not disjoint sets of known nodes.
pub fn account(
    records: &FleetRecords,
    options: &SchedulingOptions,
) -> Result<SchedulingAccount, SchedulingError> {
    account_jobs(records, &Jobs::new(records), options)
}

/// As [`account`], with the attempts grouped already.
///
/// # Errors
/// As [`account`].
pub fn account_jobs(
    records: &FleetRecords,
    jobs: &Jobs,
    options: &SchedulingOptions,
) -> Result<SchedulingAccount, SchedulingError> {
    if records.attempts.len() > MAX_POSITION {
        return Err(SchedulingError::TooMany { records: records.attempts.len() });
    }
    let mut notes = Notes::default();
    let window = options.window;
    let horizon = records_end(records, window, &mut notes)?;
    let intervals = HeldIntervals::new(records, jobs, horizon, &mut notes);
    let layout = Layout::new(records, options, &intervals, &mut notes)?;
    let mut input = Input::new(records, window, horizon, &layout);
    input.attempts(&intervals, &mut notes);
    input.partial_holds(&mut notes);
    input.capacity();
    input.outages(&mut notes);
    input.reservations(&mut notes);
    input.series(&mut notes);
    let ticks = input.snapshots();
    let most = input.changes.len().max(input.partials.len());
    if most > MAX_POSITION {
        return Err(SchedulingError::TooMany { records: most });
    }
    let demand_known = input.demand_known(&ticks, &mut notes);
    let Input {
        mut placement,
        mut events,
        changes,
        partials,
        held,
        cohorts,
        waiters,
        by_state,
        usual_gangs,
        ..
    } = input;
    events.sort();

    let usual_gangs =
        usual_gangs.into_iter().zip(&placement.shapes.waiting).filter(|&(weight, _)| weight > 0);
    let usual_gangs: Vec<_> = usual_gangs.map(|(weight, waiting)| (waiting.shape, weight)).collect();

    let mut sweep =
        Sweep::new(records, options, &layout, &mut placement, &partials, &ticks, demand_known, &mut notes);
    for (shape, weight) in usual_gangs {
        sweep.pools[shape.pool as usize].usual_gangs.push((shape.nodes, weight));
    }
    sweep.run(&events, &changes, window.to());
    drop(events);
    let partly_held = sweep.partly_held();
    let results = Results::of(sweep, &layout, options, records);
    warn_excess(records, &results, &mut notes);
    warn_unsettled(&results, &mut notes);
    let (mut pools, mut fleet) = (results.pools, results.fleet);
    let found = evidence(records, window, horizon, &layout, &placement, &waiters);
    for (pool, evidence) in pools.iter_mut().chain([&mut fleet]).zip(&found) {
        for loss in &mut pool.losses {
            loss.evidence = evidence.of(loss.pattern);
        }
        if !pool.idle_reserved.is_zero() {
            pool.idle_reserved_evidence = evidence.of(Pattern::IdleReservation);
        }
    }
    let grouping = Grouping { records, jobs, window, horizon, placement: &placement, partly_held };
    let cohorts = grouping.cohorts(cohorts, &mut notes);
    Ok(SchedulingAccount {
        window,
        denominator: options.denominator,
        pools,
        fleet,
        held,
        by_state: by_state.into_iter().map(|(state, time)| (state, in_devices(records, time))).collect(),
        cohorts,
        warnings: notes.into_warnings(),
    })
}

/// What the sweep found.
struct Results {
    pools: Vec<PoolAccount>,
    /// What each pool held beyond its known capacity.
    excess: Vec<CapacityTime>,
    fleet: PoolAccount,
}

impl Results {
    fn of(sweep: Sweep<'_>, layout: &Layout, options: &SchedulingOptions, records: &FleetRecords) -> Self {
        let unit = i128::from(records.device_unit.per_device());
        let coverage = sweep.covered_ns as f64 / options.window.duration_ns() as f64;
        let sampled = sweep.covered_ns > 0;
        let scope = sweep.fleet;
        let mut whole = Totals::default();
        let mut shape_known = true;
        let (mut pools, mut excess) = (Vec::new(), Vec::new());
        for (mut pool, spec) in sweep.pools.into_iter().zip(&layout.pools) {
            let series = pool.take_series();
            whole.include(&pool.totals);
            shape_known &= pool.shape_known;
            let view = View { totals: &pool.totals, shape_known: pool.shape_known, sampled, coverage, unit };
            pools.push(view.account(spec.name, series, &[], options.denominator));
            excess.push(view.amount(pool.totals.excess));
        }
        let fleet = scope.totals;
        whole.classes[0] = fleet.no_demand;
        whole.classes[1] += fleet.behind_pool_bounds;
        whole.free_waiting = fleet.free_waiting;
        whole.free_empty = fleet.free_empty;
        whole.free_other_waiting = fleet.free_other_waiting;
        whole.quota_stranded = fleet.quota_stranded;
        whole.waiting_ns = fleet.waiting_ns;
        whole.most_devices = fleet.most_devices;
        let view = View { totals: &whole, shape_known, sampled, coverage, unit };
        let other_type = [(Pattern::CapabilityMismatch, fleet.other_type)];
        let fleet = view.account(Symbol::EMPTY, scope.series, &other_type, options.denominator);
        Self { pools, excess, fleet }
    }
}

/// Integrals of a pool on their way to an account.
struct View<'a> {
    totals: &'a Totals,
    shape_known: bool,
    sampled: bool,
    coverage: f64,
    /// Units of the records' counts in one device.
    unit: i128,
}

impl View<'_> {
    fn amount(&self, unit_ns: i128) -> CapacityTime {
        CapacityTime::from_device_ns(unit_ns / self.unit)
    }

    fn account(
        &self,
        name: Symbol,
        series: Series,
        more: &[(Pattern, i128)],
        denominator: Denominator,
    ) -> PoolAccount {
        let totals = self.totals;
        let (offered, out_of_service) = match denominator {
            Denominator::InService => (totals.offered, 0),
            Denominator::Installed => (totals.installed, totals.out_of_service),
        };
        let (offered, held) = (self.amount(offered), self.amount(totals.held));
        let classes = PATTERNS.iter().copied().zip(totals.classes);
        let classes = classes.chain(more.iter().copied()).chain([(Pattern::OutOfService, out_of_service)]);
        let mut losses: Vec<Loss> = classes
            .filter(|&(_, ns)| ns != 0)
            .map(|(pattern, ns)| Loss::new(pattern, self.amount(ns)))
            .collect();
        losses.sort_by_key(|loss| loss.pattern);
        // Thousandths of a device may not divide evenly: the last fraction of a device-nanosecond goes to the
        // largest loss, so that the losses still sum to what is unheld.
        let rest = offered - held - losses.iter().map(|loss| loss.amount).sum();
        if let Some(largest) = losses.iter_mut().max_by_key(|loss| loss.amount) {
            largest.amount += rest;
        }
        PoolAccount {
            name,
            devices: u64::try_from(i128::from(totals.most_devices) / self.unit).unwrap_or(0),
            installed: self.amount(totals.installed),
            out_of_service: self.amount(totals.out_of_service),
            offered,
            held,
            idle_reserved: self.amount(totals.idle_reserved),
            idle_reserved_evidence: Vec::new(),
            losses,
            diagnostics: self.diagnostics(),
            series: series.into_points(self.unit as f64),
        }
    }

    fn diagnostics(&self) -> PoolDiagnostics {
        let totals = self.totals;
        let shape = |ns| self.shape_known.then(|| self.amount(ns));
        PoolDiagnostics {
            free_queue_waiting: self.amount(totals.free_waiting),
            free_queue_empty: self.amount(totals.free_empty),
            free_other_pool_waiting: self.amount(totals.free_other_waiting),
            quota_stranded: self.amount(totals.quota_stranded),
            free_planned: self.sampled.then(|| self.amount(totals.planned_free)),
            free_on_partly_used_nodes: shape(totals.partly_free),
            free_on_whole_nodes: shape(totals.whole_free),
            fragmented: shape(totals.fragmented.round() as i128),
            demand: self.amount(totals.asked),
            queue_waiting_ns: totals.waiting_ns,
            snapshot_coverage: self.coverage,
        }
    }
}

/// Says where attempts held more than the records know to be installed.
///
/// The capacity is raised for that time and not the allocation cut: an allocation is made of devices that exist, so
/// the capacity record is what is behind. Refusing the account instead would hide every other figure.
fn warn_excess(records: &FleetRecords, results: &Results, notes: &mut Notes) {
    for (pool, excess) in results.pools.iter().zip(&results.excess).filter(|(_, excess)| !excess.is_zero()) {
        let name = match records.symbols.get(pool.name) {
            "" => "the fleet".to_owned(),
            name => format!("pool `{name}`"),
        };
        notes.warn(
            "beyond_capacity",
            format!(
                "attempts of {name} hold {:.3} device-seconds more than is known to be installed; capacity was raised to what they hold (the capacity record is behind, or attempts are charged to the wrong pool)",
                excess.device_seconds()
            ),
            None,
        );
    }
}

/// Names what would settle the unheld time whose cause the records do not tell.
fn warn_unsettled(results: &Results, notes: &mut Notes) {
    let fleet = &results.fleet;
    let unsettled = fleet.losses.iter().find(|loss| loss.pattern == Pattern::UnheldUnsettled);
    let Some(unsettled) = unsettled.filter(|_| fleet.diagnostics.snapshot_coverage < 1.0) else { return };
    notes.warn(
        "unheld_unsettled",
        format!(
            "{:.0} device-seconds were free while a job waited that would have fitted, and snapshots cover {:.0} % of the window: whether nodes were kept for a gang, a limit blocked the job or the scheduler was late is unsettled (collect snapshots of nodes and queue, for Slurm with contrib/snapshot.sh)",
            unsettled.amount.device_seconds(),
            100.0 * fleet.diagnostics.snapshot_coverage
        ),
        None,
    );
}
