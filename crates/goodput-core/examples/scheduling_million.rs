//! Times the scheduling account of a million attempts:
//! `cargo run --release -p goodput-core --example scheduling_million [ATTEMPTS]`.

use std::time::Instant;

use goodput_core::records::{
    Attempt, AttemptKey, FleetRecords, JobState, Node, NodeSet, SourceRef, Symbol, WaitReason,
};
use goodput_core::scheduling::{Denominator, SchedulingOptions, account};
use goodput_core::{Timestamp, Window};

const NODES: usize = 512;

/// A repeatable sequence; the quality of its randomness does not matter here.
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let attempts = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let (records, to) = fleet(attempts);
    let options = SchedulingOptions {
        window: Window::new(Timestamp::from_seconds(0), to)?,
        denominator: Denominator::InService,
        pools: Vec::new(),
        series_points: 500,
    };
    let before_kb = peak_memory_kb();
    let (begun, begun_cpu_ms) = (Instant::now(), processor_ms());
    let account = account(&records, &options)?;
    let (elapsed, cpu_ms) = (begun.elapsed(), processor_ms() - begun_cpu_ms);
    println!(
        "{} attempts, {} held, scheduling goodput {:.4}: {:.0} ms ({cpu_ms} ms of processor time), peak memory {} MB above the input",
        records.attempts.len(),
        account.held.len(),
        account.fleet.held.share_of(account.fleet.offered).unwrap_or(0.0),
        elapsed.as_secs_f64() * 1e3,
        (peak_memory_kb() - before_kb) / 1024,
    );
    for loss in &account.fleet.losses {
        println!(
            "  {:24} {:.4}",
            loss.pattern.key(),
            loss.amount.share_of(account.fleet.offered).unwrap_or(0.0)
        );
    }
    for warning in &account.warnings {
        println!("  {}: {}", warning.code, warning.message);
    }
    Ok(())
}

/// Two pools under first come, first served with gangs of whole nodes and single devices.
fn fleet(attempts: usize) -> (FleetRecords, Timestamp) {
    let mut records = FleetRecords::new();
    let names: Vec<Symbol> = (0..NODES).map(|i| records.symbols.intern(&format!("n{i:04}"))).collect();
    let partitions = [records.symbols.intern("train"), records.symbols.intern("dev")];
    let accounts: Vec<Symbol> = (0..40).map(|i| records.symbols.intern(&format!("team{i}"))).collect();
    for (i, name) in names.iter().enumerate() {
        records.nodes.push(Node {
            name: *name,
            devices: 8,
            device_type: Symbol::EMPTY,
            partitions: vec![partitions[i * 2 / NODES]],
            block: Symbol::EMPTY,
        });
    }
    let mut sets = Vec::new();
    for pool in 0..2 {
        for nodes in [1usize, 2, 4, 8, 16, 32] {
            for slot in 0..NODES / 2 / nodes {
                let first = pool * NODES / 2 + slot * nodes;
                records.node_sets.push(names[first..first + nodes].to_vec());
                let set = NodeSet(u32::try_from(records.node_sets.len() - 1).unwrap_or(0));
                sets.push((pool, nodes, first, set));
            }
        }
    }
    let mut sequence = Sequence(7);
    let mut free_at = vec![0i64; NODES];
    let (mut submit, mut last) = (0i64, 0i64);
    for id in 0..attempts {
        submit += i64::try_from(sequence.below(6)).unwrap_or(0);
        let (pool, nodes, first, set) = sets[usize::try_from(sequence.below(sets.len() as u64)).unwrap_or(0)];
        let start = free_at[first..first + nodes].iter().copied().max().unwrap_or(0).max(submit);
        let end = start + 1 + i64::try_from(sequence.below(1200)).unwrap_or(0);
        free_at[first..first + nodes].fill(end);
        last = last.max(end);
        let job = records.symbols.intern(&id.to_string());
        records.attempts.push(Attempt {
            key: AttemptKey { cluster: Symbol::EMPTY, job, submit: Timestamp::from_seconds(submit) },
            display_id: job,
            name: Symbol::EMPTY,
            user: Symbol::EMPTY,
            account: accounts[usize::try_from(sequence.below(40)).unwrap_or(0)],
            partition: partitions[pool],
            qos: Symbol::EMPTY,
            reservation: Symbol::EMPTY,
            state: JobState::Completed,
            eligible: Some(Timestamp::from_seconds(submit)),
            assigned: None,
            start: Some(Timestamp::from_seconds(start)),
            end: Some(Timestamp::from_seconds(end)),
            suspended_ns: 0,
            time_limit_ns: Some(1_200_000_000_000),
            devices: 8 * nodes as u64,
            node_count: u32::try_from(nodes).unwrap_or(0),
            nodes: set,
            wait_reason: WaitReason::Eligible,
            source: SourceRef::default(),
        });
    }
    (records, Timestamp::from_seconds(last))
}

/// Peak resident memory of this process, zero where the system does not tell.
fn peak_memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Processor time of this process so far, zero where the system does not tell.
fn processor_ms() -> u64 {
    let times = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    times.split_whitespace().next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0) / 1_000_000
}
