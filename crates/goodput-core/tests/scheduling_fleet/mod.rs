//! Small fleets for the tests of the scheduling account.
#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses a part; a test may fail")]

use goodput_core::records::{
    Attempt, AttemptKey, CapacityStep, FleetRecords, JobState, Node, NodeInterval, NodeSample, NodeSet,
    NodeStatus, PartialHold, PoolSample, QueueSample, Reservation, SourceRef, Symbol, WaitReason,
};
use goodput_core::scheduling::{
    Denominator, PoolAccount, SchedulingAccount, SchedulingError, SchedulingOptions, account,
};
use goodput_core::{CapacityTime, Pattern, Timestamp, Window};

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

pub fn device_seconds(seconds: i64) -> CapacityTime {
    CapacityTime::of(1, seconds * 1_000_000_000)
}

#[derive(Default)]
pub struct Fleet {
    pub records: FleetRecords,
}

impl Fleet {
    pub fn new() -> Self {
        Self { records: FleetRecords::new() }
    }

    pub fn symbol(&mut self, name: &str) -> Symbol {
        self.records.symbols.intern(name)
    }

    pub fn set(&mut self, names: &[&str]) -> NodeSet {
        if names.is_empty() {
            return NodeSet::NONE;
        }
        let mut nodes: Vec<_> = names.iter().map(|name| self.symbol(name)).collect();
        nodes.sort_unstable();
        self.records.node_sets.push(nodes);
        NodeSet(u32::try_from(self.records.node_sets.len() - 1).unwrap())
    }

    pub fn nodes(&mut self, names: &[&str], devices: u32, device_type: &str, partitions: &[&str]) {
        for name in names {
            let node = Node {
                name: self.symbol(name),
                devices,
                device_type: self.symbol(device_type),
                partitions: partitions.iter().map(|p| self.symbol(p)).collect(),
                block: Symbol::EMPTY,
            };
            self.records.nodes.push(node);
        }
    }

    pub fn capacity(&mut self, start: i64, end: Option<i64>, devices: u64, nodes: &[&str]) {
        let step = CapacityStep {
            cluster: Symbol::EMPTY,
            start: at(start),
            end: end.map(at),
            devices,
            nodes: self.set(nodes),
            source: SourceRef::default(),
        };
        self.records.capacity.push(step);
    }

    pub fn outage(&mut self, node: &str, status: NodeStatus, start: i64, end: Option<i64>) {
        let outage = NodeInterval {
            node: self.symbol(node),
            status,
            start: at(start),
            end: end.map(at),
            reason: Symbol::EMPTY,
            source: SourceRef::default(),
        };
        self.records.node_intervals.push(outage);
    }

    /// An attempt submitted and eligible at `submit`.
    pub fn attempt(
        &mut self,
        id: &str,
        partition: &str,
        times: (i64, Option<i64>, Option<i64>),
        devices: u64,
        nodes: &[&str],
    ) -> &mut Attempt {
        let (submit, start, end) = times;
        let job = self.symbol(id);
        let attempt = Attempt {
            key: AttemptKey { cluster: Symbol::EMPTY, job, submit: at(submit) },
            display_id: job,
            name: job,
            user: Symbol::EMPTY,
            account: Symbol::EMPTY,
            partition: self.symbol(partition),
            qos: Symbol::EMPTY,
            reservation: Symbol::EMPTY,
            state: match (start, end) {
                (None, None) => JobState::Pending,
                (Some(_), None) => JobState::Running,
                (None, Some(_)) => JobState::Cancelled,
                (Some(_), Some(_)) => JobState::Completed,
            },
            eligible: Some(at(submit)),
            assigned: None,
            start: start.map(at),
            end: end.map(at),
            suspended_ns: 0,
            time_limit_ns: None,
            devices,
            node_count: u32::try_from(nodes.len()).unwrap(),
            nodes: self.set(nodes),
            wait_reason: WaitReason::Eligible,
            source: SourceRef {
                file: Default::default(),
                line: u32::try_from(self.records.attempts.len()).unwrap(),
            },
        };
        self.records.attempts.push(attempt);
        self.records.attempts.last_mut().unwrap()
    }

    /// A waiting gang of `nodes` nodes.
    pub fn waiting(
        &mut self,
        id: &str,
        partition: &str,
        submit: i64,
        devices: u64,
        nodes: u32,
    ) -> &mut Attempt {
        let attempt = self.attempt(id, partition, (submit, None, None), devices, &[]);
        attempt.node_count = nodes;
        attempt
    }

    pub fn partial(&mut self, attempt: usize, node: &str, devices: u32, start: i64, end: Option<i64>) {
        let hold = PartialHold {
            attempt,
            node: self.symbol(node),
            devices,
            start: at(start),
            end: end.map(at),
            source: SourceRef::default(),
        };
        self.records.partial_holds.push(hold);
    }

    pub fn reservation(&mut self, start: i64, end: i64, nodes: &[&str], maintenance: bool) {
        let reservation = Reservation {
            name: self.symbol("reservation"),
            start: at(start),
            end: at(end),
            nodes: self.set(nodes),
            maintenance,
            source: SourceRef::default(),
        };
        self.records.reservations.push(reservation);
    }

    pub fn node_sample(&mut self, seconds: i64, node: &str, status: NodeStatus, planned: bool) {
        let sample = NodeSample {
            at: at(seconds),
            node: self.symbol(node),
            status,
            planned,
            devices: 8,
            allocated: 0,
        };
        self.records.node_samples.push(sample);
    }

    pub fn queue_sample(&mut self, seconds: i64, job: &str, reason: WaitReason) {
        let sample = QueueSample {
            at: at(seconds),
            job: self.symbol(job),
            partition: Symbol::EMPTY,
            pending: true,
            reason,
            devices: 0,
            node_count: 0,
        };
        self.records.queue_samples.push(sample);
    }

    pub fn pool_sample(&mut self, seconds: i64, pool: &str, offered: u64, held: u64, demand: u64) {
        let pool = self.symbol(pool);
        let source = SourceRef::default();
        self.records.pool_samples.push(PoolSample { at: at(seconds), pool, offered, held, demand, source });
    }

    pub fn options(from: i64, to: i64) -> SchedulingOptions {
        SchedulingOptions {
            window: Window::new(at(from), at(to)).unwrap(),
            denominator: Denominator::InService,
            pools: Vec::new(),
            series_points: 10,
        }
    }

    pub fn account(&self, from: i64, to: i64) -> SchedulingAccount {
        let account = self.try_account(from, to).unwrap();
        assert_sums(&account);
        account
    }

    pub fn try_account(&self, from: i64, to: i64) -> Result<SchedulingAccount, SchedulingError> {
        account(&self.records, &Self::options(from, to))
    }
}

/// The amount of one loss.
pub fn loss(pool: &PoolAccount, pattern: Pattern) -> CapacityTime {
    pool.losses.iter().find(|loss| loss.pattern == pattern).map_or(CapacityTime::ZERO, |loss| loss.amount)
}

/// The codes of the warnings.
pub fn codes(account: &SchedulingAccount) -> Vec<&'static str> {
    account.warnings.iter().map(|warning| warning.code).collect()
}

/// Losses sum to what is unheld, pools sum to the fleet, and nothing is negative: all in integers.
pub fn assert_sums(account: &SchedulingAccount) {
    let pools = &account.pools;
    for pool in pools.iter().chain([&account.fleet]) {
        let losses: CapacityTime = pool.losses.iter().map(|loss| loss.amount).sum();
        assert_eq!(losses, pool.offered - pool.held);
        assert!(pool.losses.iter().all(|loss| loss.amount >= CapacityTime::ZERO), "{:?}", pool.losses);
        let free = pool.diagnostics.free_queue_waiting + pool.diagnostics.free_queue_empty;
        assert!(free <= pool.installed - pool.held);
    }
    let sum = |figure: fn(&PoolAccount) -> CapacityTime| pools.iter().map(figure).sum::<CapacityTime>();
    assert_eq!(sum(|p| p.installed), account.fleet.installed);
    assert_eq!(sum(|p| p.offered), account.fleet.offered);
    assert_eq!(sum(|p| p.held), account.fleet.held);
    assert_eq!(sum(|p| p.out_of_service), account.fleet.out_of_service);
    let held: CapacityTime =
        account.held.iter().map(|h| CapacityTime::of(h.devices, h.interval.duration_ns())).sum();
    let by_state: CapacityTime = account.by_state.values().copied().sum();
    assert_eq!(by_state, held);
    // A series and snapshots tell what was held without telling by whom.
    if !account.held.is_empty() {
        assert_eq!(held, account.fleet.held - sum(|p| p.idle_reserved));
    }
}
