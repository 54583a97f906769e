//! A serving fleet's capacity-time: held, ready, ideal, a row a deployment and device.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::capacity::CapacityTime;
use crate::records::{SourceRef, Symbol};
use crate::time::{EmptyWindow, Interval, NS_PER_SECOND, Timestamp, Window};
use crate::warning::Warning;

use super::ServingRow;
use super::lifecycle::{HeldUse, Life, lives};
use super::lifetimes::{LIFETIMES, LifetimeShare, cold_start_ns, median_ns, range_of};
use super::pool::PoolAccount;
use super::records::{ReplicaEvent, RowIdeal, ServingPoolSample, ServingRecords, WorkPhase, WorkSample};
use super::work::{Charged, DecodeTime, Floor, LatencyCount, PrefillTime, Share};

/// Why a serving fleet has no account.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServingError {
    /// No replica was ever placed.
    #[error("the records place no replica")]
    NothingPlaced,
    /// The records, or the stated ends, span no time.
    #[error(transparent)]
    EmptyWindow(#[from] EmptyWindow),
}

/// Replicas of one deployment on one kind of device. It has no sum with another row, and none with a training job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeploymentRow {
    /// Index into the records' deployments.
    pub deployment: u32,
    /// Device of the placements; empty where they name none.
    pub device: Symbol,
    /// What its ideals rest on.
    pub ideal: RowIdeal,
    /// Replicas that hold devices in the window.
    pub replicas: u64,
    /// Their lives, placement to release.
    pub lives: u64,
    /// Lives that no release ends.
    pub not_released: u64,
    /// Devices of a replica, the most that one has.
    pub devices: u64,
    /// Pools of the placements.
    pub pools: BTreeSet<Symbol>,
    /// Held time by use.
    pub uses: BTreeMap<HeldUse, CapacityTime>,
    /// Decode.
    pub decode: DecodeTime,
    /// Prefill.
    pub prefill: PrefillTime,
    /// Latency targets, where samples count requests.
    pub latency: LatencyCount,
    /// Whether ready time outside the samples is unsettled.
    pub partial_samples: bool,
}

impl DeploymentRow {
    /// Held by whole replicas.
    pub fn held(&self) -> CapacityTime {
        self.uses.values().copied().sum()
    }

    /// Held time of one use.
    pub fn used(&self, used_for: HeldUse) -> CapacityTime {
        self.uses.get(&used_for).copied().unwrap_or_default()
    }

    /// Able to answer.
    pub fn ready(&self) -> CapacityTime {
        self.used(HeldUse::Ready)
    }

    /// Ready time that no sample takes.
    fn without_work(&self) -> CapacityTime {
        let (decode, prefill) = (&self.decode, &self.prefill);
        self.ready() - decode.busy - decode.refused - prefill.busy - prefill.refused
    }

    fn work_is_known(&self) -> bool {
        !self.partial_samples && self.decode.samples + self.prefill.samples > 0
    }

    /// Ready and without work: burst headroom and warm pools.
    pub fn headroom(&self) -> CapacityTime {
        if self.work_is_known() { self.without_work() } else { CapacityTime::ZERO }
    }

    /// Ready time of which no sample tells what it did.
    pub fn work_unknown(&self) -> CapacityTime {
        let refused = self.decode.refused + self.prefill.refused;
        if self.work_is_known() { refused } else { refused + self.without_work() }
    }

    /// The row of decode under one floor; `None` where its ideal is not known.
    pub fn decode_row(&self, floor: Floor) -> Option<ServingRow> {
        (self.decode.samples > 0).then_some(())?;
        self.row(self.decode.ideal(floor, &self.ideal)?)
    }

    /// The row of prefill under the arithmetic ideal.
    pub fn prefill_row(&self) -> Option<ServingRow> {
        (self.prefill.samples > 0).then_some(())?;
        self.row(self.prefill.ideal(&self.ideal)?)
    }

    fn row(&self, ideal: CapacityTime) -> Option<ServingRow> {
        Some(ServingRow { held: self.held(), ready: self.ready(), ideal })
    }
}

/// A serving fleet over a window.
#[derive(Debug, Clone, PartialEq)]
pub struct ServingAccount {
    /// The window.
    pub window: Window,
    /// Rows, the one that holds most first.
    pub rows: Vec<DeploymentRow>,
    /// Pools with samples, by name.
    pub pools: Vec<PoolAccount>,
    /// Readiness by lifetime: whole lives, by the ranges of [`LIFETIMES`].
    pub lifetimes: [LifetimeShare; LIFETIMES.len()],
    /// Median cold start of a life that became ready, in nanoseconds.
    pub median_cold_start_ns: Option<i64>,
    /// Times from request to placement, in nanoseconds, sorted.
    pub placement_waits_ns: Vec<i64>,
    /// Lives with their replica's index, in the order of placement.
    pub lives: Vec<(u32, Life)>,
    /// What a person should know before trusting a figure.
    pub warnings: Vec<Warning>,
}

/// Accounts the records, and puts their events and samples in order. `ideal` says what the ideals of a deployment on a
/// device rest on.
///
/// # Errors
/// [`ServingError`] when no replica is placed or the window is empty.
pub fn account(
    records: &mut ServingRecords,
    ends: (Option<Timestamp>, Option<Timestamp>),
    ideal: impl Fn(u32, Symbol) -> RowIdeal,
) -> Result<ServingAccount, ServingError> {
    let last = last_evidence(records).ok_or(ServingError::NothingPlaced)?;
    let first =
        records.events.iter().map(|event| event.at).chain(records.pools.iter().map(|pool| pool.at)).min();
    let window = Window::new(ends.0.or(first).unwrap_or_default(), ends.1.unwrap_or(last))?;
    let mut counts = Counts::default();
    let events = sorted_events(std::mem::take(&mut records.events), &mut counts);
    records.events = events;
    sort_samples(&mut records.samples, &mut counts);
    let account = over(records, window, window.to().max(last), counts, &ideal);
    if account.lives.is_empty() { Err(ServingError::NothingPlaced) } else { Ok(account) }
}

/// The account of every whole day of an account's window, from its start; a part of a day at the end is left out.
/// `records` are those that [`account`] put in order.
///
/// # Errors
/// [`ServingError`] when no replica is placed.
pub fn days(
    records: &ServingRecords,
    window: Window,
    ideal: impl Fn(u32, Symbol) -> RowIdeal,
) -> Result<Vec<ServingAccount>, ServingError> {
    const DAY_NS: i64 = 86_400 * NS_PER_SECOND;
    let end = window.to().max(last_evidence(records).ok_or(ServingError::NothingPlaced)?);
    let starts = (0..window.duration_ns() / DAY_NS).map(|day| window.from().as_nanos() + day * DAY_NS);
    starts
        .map(|from| {
            let day = Window::new(Timestamp::from_nanos(from), Timestamp::from_nanos(from + DAY_NS))?;
            Ok(over(records, day, end, Counts::default(), &ideal))
        })
        .collect()
}

/// The account over a window of records in order. A replica that is not released holds its devices to `end`.
fn over(
    records: &ServingRecords,
    window: Window,
    end: Timestamp,
    counts: Counts,
    ideal: &impl Fn(u32, Symbol) -> RowIdeal,
) -> ServingAccount {
    let mut summing = Summing {
        window,
        ideal,
        records,
        rows: Vec::new(),
        row_of: HashMap::new(),
        lives: Vec::new(),
        lifetimes: Default::default(),
        cold_starts_ns: Vec::new(),
        counts,
        warnings: Vec::new(),
    };
    let (mut events, mut samples) = (records.events.as_slice(), records.samples.as_slice());
    for replica in 0..u32::try_from(records.replicas.len()).unwrap_or(u32::MAX) {
        let own_events = split(&mut events, |event| event.replica == replica);
        let own_samples = split(&mut samples, |sample| sample.replica == replica);
        summing.replica(replica, own_events, own_samples, end);
    }
    summing.finish()
}

fn last_evidence(records: &ServingRecords) -> Option<Timestamp> {
    let events = records.events.iter().map(|event| event.at);
    events.chain(records.samples.iter().map(|s| s.to)).chain(records.pools.iter().map(|pool| pool.at)).max()
}

/// The leading elements that belong together, taken off the slice.
fn split<'a, T>(rest: &mut &'a [T], belongs: impl Fn(&T) -> bool) -> &'a [T] {
    let end = rest.iter().position(|item| !belongs(item)).unwrap_or(rest.len());
    let (own, after) = rest.split_at(end);
    *rest = after;
    own
}

/// By replica and time; events of one instant in the order of the log, the same event once.
fn sorted_events(mut events: Vec<ReplicaEvent>, counts: &mut Counts) -> Vec<ReplicaEvent> {
    events.sort_by_key(|event| (event.replica, event.at));
    let mut kept: Vec<ReplicaEvent> = Vec::with_capacity(events.len());
    for event in events {
        let same_instant = kept.iter().rev().take_while(|e| (e.replica, e.at) == (event.replica, event.at));
        if same_instant.into_iter().any(|earlier| earlier.kind == event.kind) {
            counts.duplicate_events.note(event.source);
        } else {
            kept.push(event);
        }
    }
    kept
}

fn sort_samples(samples: &mut Vec<WorkSample>, counts: &mut Counts) {
    samples.sort_by_key(|sample| (sample.replica, sample.from, sample.to, sample.phase));
    samples.dedup_by(|later, earlier| {
        let same = WorkSample { source: earlier.source, ..*later } == *earlier;
        if same {
            counts.duplicate_samples.note(later.source);
        }
        same
    });
}

/// How often something was seen, and where first.
#[derive(Debug, Default)]
struct Seen(u64, Option<SourceRef>);

impl Seen {
    fn note(&mut self, source: SourceRef) {
        self.0 += 1;
        self.1.get_or_insert(source);
    }

    fn warning(&self, code: &'static str, message: &str) -> Option<Warning> {
        (self.0 > 0).then(|| Warning { code, message: format!("{} {message}", self.0), source: self.1 })
    }
}

#[derive(Debug, Default)]
struct Counts {
    duplicate_events: Seen,
    duplicate_samples: Seen,
    outside_ready: Seen,
    overlapping: Seen,
    decode_above_one: Seen,
    prefill_above_one: Seen,
}

struct Summing<'a, F> {
    window: Window,
    ideal: &'a F,
    records: &'a ServingRecords,
    rows: Vec<DeploymentRow>,
    row_of: HashMap<(u32, Symbol), usize>,
    lives: Vec<(u32, Life)>,
    lifetimes: [LifetimeShare; LIFETIMES.len()],
    cold_starts_ns: Vec<i64>,
    counts: Counts,
    warnings: Vec<Warning>,
}

impl<F: Fn(u32, Symbol) -> RowIdeal> Summing<'_, F> {
    fn replica(&mut self, replica: u32, events: &[ReplicaEvent], samples: &[WorkSample], end: Timestamp) {
        let work: Vec<Timestamp> = samples.iter().map(|sample| sample.from).collect();
        let lives = lives(events, &work, end, &mut self.warnings);
        let deployment = self.records.replicas[replica as usize].deployment;
        let mut seen_rows = BTreeSet::new();
        for life in &lives {
            self.lifetimes[range_of(life)].add(life);
            if life.used_ns(HeldUse::Ready) > 0 {
                self.cold_starts_ns.push(cold_start_ns(life));
            }
            if self.window.clip(life.held()).is_empty() {
                continue;
            }
            let row = self.row(deployment, life.device);
            let row = &mut self.rows[row];
            row.lives += 1;
            row.not_released += u64::from(!life.released);
            row.replicas += u64::from(seen_rows.insert(life.device));
            row.devices = row.devices.max(life.devices);
            row.pools.insert(life.pool);
            for stretch in &life.stretches {
                let ns = self.window.clip(stretch.interval).duration_ns();
                *row.uses.entry(stretch.used_for).or_default() += CapacityTime::of(life.devices, ns);
            }
        }
        self.work(deployment, &lives, samples);
        self.lives.extend(lives.into_iter().map(|life| (replica, life)));
    }

    fn row(&mut self, deployment: u32, device: Symbol) -> usize {
        *self.row_of.entry((deployment, device)).or_insert_with(|| {
            let declared = self.records.deployments.get(deployment as usize);
            self.rows.push(DeploymentRow {
                deployment,
                device,
                ideal: (self.ideal)(deployment, device),
                replicas: 0,
                lives: 0,
                not_released: 0,
                devices: 0,
                pools: BTreeSet::new(),
                uses: BTreeMap::new(),
                decode: DecodeTime::default(),
                prefill: PrefillTime::default(),
                latency: LatencyCount::default(),
                partial_samples: declared.is_some_and(|deployment| deployment.partial_samples),
            });
            self.rows.len() - 1
        })
    }

    fn work(&mut self, deployment: u32, lives: &[Life], samples: &[WorkSample]) {
        let ready: Vec<Vec<Interval>> = lives.iter().map(ready_intervals).collect();
        let starts: Vec<Timestamp> = lives.iter().map(|life| life.held().start).collect();
        let mut cluster = Cluster::default();
        for sample in samples {
            let whole = Interval::new(sample.from, sample.to);
            let Some(index) = starts.partition_point(|start| *start <= sample.from).checked_sub(1) else {
                self.counts.outside_ready.note(sample.source);
                continue;
            };
            let (life, ready) = (&lives[index], &ready[index]);
            let ready_ns = overlap_ns(ready, whole);
            if ready_ns < whole.duration_ns() {
                self.counts.outside_ready.note(sample.source);
            }
            let inside = self.window.clip(whole);
            let part_ns = if inside == whole { ready_ns } else { overlap_ns(ready, inside) };
            if part_ns == 0 {
                continue;
            }
            let share =
                Share { part_ns: part_ns.unsigned_abs(), whole_ns: whole.duration_ns().unsigned_abs() };
            let wanted_ns = share.of_ns(sample.busy_ns);
            let free_ns = cluster.free_ns(index, inside, |interval| overlap_ns(ready, interval));
            let busy_ns = wanted_ns.min(free_ns);
            let mut whole_busy_ns = sample.busy_ns;
            if busy_ns < wanted_ns {
                self.counts.overlapping.note(sample.source);
                whole_busy_ns = busy_ns;
            }
            cluster.busy_ns += busy_ns;
            let charged = Charged { sample, devices: life.devices, share, busy_ns };
            let row = self.row(deployment, life.device);
            let row = &mut self.rows[row];
            if let Some((requests, within)) = sample.requests {
                row.latency.requests += requests;
                row.latency.within_targets += within;
            }
            let (refused, seen) = match sample.phase {
                WorkPhase::Decode => {
                    let before = row.decode.refused_samples;
                    row.decode.add(charged, &row.ideal, whole_busy_ns);
                    (row.decode.refused_samples > before, &mut self.counts.decode_above_one)
                }
                WorkPhase::Prefill => {
                    let before = row.prefill.refused_samples;
                    row.prefill.add(charged, &row.ideal, whole_busy_ns);
                    (row.prefill.refused_samples > before, &mut self.counts.prefill_above_one)
                }
            };
            if refused {
                seen.note(sample.source);
            }
        }
    }

    fn finish(mut self) -> ServingAccount {
        let pools = self.pools();
        let counts = &self.counts;
        self.warnings.extend(
            [
                counts.duplicate_events.warning("duplicate_event", "events stand in the logs twice and count once"),
                counts.duplicate_samples.warning("duplicate_sample", "samples stand in the logs twice and count once"),
                counts.outside_ready.warning(
                    "work_outside_ready",
                    "samples lie outside their replica's ready time, in whole or in part: that part is not used; check the events ready, draining and failed, and the clocks",
                ),
                counts.overlapping.warning(
                    "overlapping_samples",
                    "samples of one replica overlap and are busy for longer than the time that they cover: the later one is cut; give busy_ns where phases share an interval",
                ),
                counts.decode_above_one.warning(
                    "mbu_above_one",
                    "decode samples are faster than their bandwidth floor and are not used: the weights of another model or precision; experts that the steps do not read; the bandwidth of another device; steps of several replicas in one sample; a timer that does not wait for the device",
                ),
                counts.prefill_above_one.warning(
                    "mfu_above_one",
                    "prefill samples are faster than their arithmetic ideal and are not used: prompt tokens that the prefix cache answered; the peak of another device or of a slower dtype; tokens of several replicas in one sample; a timer that does not wait for the device",
                ),
            ]
            .into_iter()
            .flatten(),
        );
        self.rows.retain(|row| row.lives > 0);
        self.rows.sort_by_key(|row| (std::cmp::Reverse(row.held()), row.deployment, row.device));
        self.cold_starts_ns.sort_unstable();
        let mut waits: Vec<i64> = self.lives.iter().filter_map(|(_, life)| placement_wait_ns(life)).collect();
        waits.sort_unstable();
        self.lives.sort_by_key(|(replica, life)| (life.held().start, *replica));
        ServingAccount {
            window: self.window,
            rows: self.rows,
            pools,
            lifetimes: self.lifetimes,
            median_cold_start_ns: median_ns(&self.cold_starts_ns),
            placement_waits_ns: waits,
            lives: self.lives,
            warnings: self.warnings,
        }
    }

    fn pools(&self) -> Vec<PoolAccount> {
        let mut samples: BTreeMap<&str, Vec<ServingPoolSample>> = BTreeMap::new();
        for sample in &self.records.pools {
            samples.entry(self.records.symbols.get(sample.pool)).or_default().push(*sample);
        }
        let mut accounts: HashMap<Symbol, PoolAccount> = HashMap::new();
        let mut names = Vec::new();
        for mut samples in samples.into_values() {
            samples.sort_by_key(|sample| sample.at);
            let name = samples[0].pool;
            names.push(name);
            accounts.insert(name, PoolAccount::new(name, &samples, self.window));
        }
        for (_, life) in &self.lives {
            if let Some(account) = accounts.get_mut(&life.pool) {
                let held = account.covered.intersect(life.held());
                account.held += CapacityTime::of(life.devices, held.duration_ns());
            }
        }
        let in_order = names.into_iter().filter_map(|name| accounts.remove(&name));
        in_order.filter(|account| !account.covered.is_empty()).collect()
    }
}

fn placement_wait_ns(life: &Life) -> Option<i64> {
    life.requested.map(|requested| life.held().start - requested)
}

fn ready_intervals(life: &Life) -> Vec<Interval> {
    let ready = life.stretches.iter().filter(|stretch| stretch.used_for == HeldUse::Ready);
    ready.map(|stretch| stretch.interval).collect()
}

/// Nanoseconds of `interval` inside disjoint intervals in order.
fn overlap_ns(intervals: &[Interval], interval: Interval) -> i64 {
    let first = intervals.partition_point(|inside| inside.end <= interval.start);
    let near = intervals[first..].iter().take_while(|inside| inside.start < interval.end);
    near.map(|inside| inside.intersect(interval).duration_ns()).sum()
}

/// Samples of a replica that touch one another: together they are busy for no longer than they cover.
#[derive(Debug, Default)]
struct Cluster {
    /// The life that they are charged to, and what they cover.
    of_life: Option<(usize, Interval)>,
    busy_ns: i64,
}

impl Cluster {
    fn free_ns(&mut self, life: usize, next: Interval, ready_ns: impl Fn(Interval) -> i64) -> i64 {
        let joined = match self.of_life {
            Some((of, open)) if of == life && next.start < open.end => {
                Interval::new(open.start, open.end.max(next.end))
            }
            _ => {
                self.busy_ns = 0;
                next
            }
        };
        self.of_life = Some((life, joined));
        ready_ns(joined) - self.busy_ns
    }
}
