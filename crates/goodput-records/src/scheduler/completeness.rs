//! Whether records can be the whole load of a fleet. Published traces are often a sample of it, or have
//! holes, and a figure computed from them at face value would be wrong without being wrong anywhere.

use std::collections::BTreeMap;

use goodput_core::records::{DeviceUnit, FleetRecords, PoolSample, Symbol};
use goodput_core::{Interval, NS_PER_SECOND, Timestamp, Warning};

/// A stretch in which no pool holds a device is worth a question from this length on.
const IDLE_STRETCH_NS: i64 = 3600 * NS_PER_SECOND;

/// Jobs that hold less than one part in this many of the inventory are probably not its whole load.
const LEAST_LOAD: i128 = 20;

/// What a person should answer before these records are accounted.
///
/// - `all_pools_idle`: for an hour or more no pool of the series holds a device;
/// - `load_incomplete`: the jobs hold less than a twentieth of the listed nodes' capacity.
pub fn completeness(records: &FleetRecords) -> Vec<Warning> {
    all_pools_idle(records).into_iter().chain(load_incomplete(records)).collect()
}

fn all_pools_idle(records: &FleetRecords) -> Option<Warning> {
    let stretches = idle_stretches(&records.pool_samples);
    let (first, last) = (stretches.first()?, stretches.last()?);
    if stretches.iter().all(|stretch| stretch.duration_ns() < IDLE_STRETCH_NS) {
        return None;
    }
    let total_ns: i64 = stretches.iter().map(|stretch| stretch.duration_ns()).sum();
    Some(Warning {
        code: "all_pools_idle",
        message: format!(
            "no pool holds a device for {} s in {} stretches between {} and {}: an outage, a hole in the data, or \
             a fleet without work? The figures count it as idle; choose a window without it if it is not",
            total_ns / NS_PER_SECOND,
            stretches.len(),
            utc(first.start),
            utc(last.end),
        ),
        source: None,
    })
}

/// Stretches in which no pool holds a device, though some pool does before.
fn idle_stretches(samples: &[PoolSample]) -> Vec<Interval> {
    let mut held_by_pool: BTreeMap<Symbol, u64> = BTreeMap::new();
    let mut held = 0_u128;
    let mut idle_since = None;
    let mut stretches = Vec::new();
    let mut was_held = false;
    for group in samples.chunk_by(|a, b| a.at == b.at) {
        for sample in group {
            let before = held_by_pool.insert(sample.pool, sample.held).unwrap_or(0);
            held = held.saturating_sub(before.into()) + u128::from(sample.held);
        }
        was_held |= held > 0;
        match (held, idle_since) {
            (0, None) if was_held => idle_since = Some(group[0].at),
            (1.., Some(since)) => {
                stretches.push(Interval::new(since, group[0].at));
                idle_since = None;
            }
            _ => {}
        }
    }
    stretches
}

fn load_incomplete(records: &FleetRecords) -> Option<Warning> {
    let installed: u64 = records.nodes.iter().map(|node| u64::from(node.devices)).sum();
    let last = records.attempts.iter().filter_map(|a| a.end.or(a.start)).chain(records.written_at).max()?;
    let first = records.attempts.iter().filter_map(|a| a.start).min()?;
    let capacity = i128::from(installed) * i128::from(Interval::new(first, last).duration_ns());
    let held: i128 = records
        .attempts
        .iter()
        .filter_map(|a| Some(i128::from(a.devices) * i128::from(a.held(last)?.duration_ns())))
        .sum();
    // Jobs that hold nothing at all are no sample: the records name no devices, which the accounting says.
    if held == 0 || held * LEAST_LOAD >= capacity {
        return None;
    }
    Some(Warning {
        code: "load_incomplete",
        message: format!(
            "the jobs hold {}.{} % of the {} devices of the listed nodes between {} and {}: are these all the jobs of \
             those nodes? If they are a sample, no idle share can be computed from them",
            held * 100 / capacity,
            held * 1000 / capacity % 10,
            installed / u64::from(DeviceUnit::per_device(records.device_unit)),
            utc(first),
            utc(last),
        ),
        source: None,
    })
}

fn utc(at: Timestamp) -> String {
    jiff::Timestamp::from_nanosecond(at.as_nanos().into()).map(|t| t.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodput_core::records::SourceRef;

    fn sample(hour: i64, pool: &str, held: u64, records: &mut FleetRecords) {
        let pool = records.symbols.intern(pool);
        let at = Timestamp::from_seconds(hour * 3600);
        records.pool_samples.push(PoolSample {
            at,
            pool,
            offered: 8,
            held,
            demand: 0,
            source: SourceRef::default(),
        });
    }

    #[test]
    fn idle_means_idle_in_every_pool_after_work_was_seen() {
        let mut records = FleetRecords::new();
        for (hour, a, b) in [(0, 0, 0), (1, 8, 0), (2, 0, 8), (3, 0, 0), (5, 0, 1), (6, 0, 0)] {
            sample(hour, "a", a, &mut records);
            sample(hour, "b", b, &mut records);
        }
        let stretches = idle_stretches(&records.pool_samples);
        assert_eq!(
            stretches,
            [Interval::new(Timestamp::from_seconds(3 * 3600), Timestamp::from_seconds(5 * 3600))]
        );
        assert_eq!(completeness(&records).len(), 1);
    }

    #[test]
    fn nothing_is_asked_of_empty_records() {
        assert_eq!(completeness(&FleetRecords::new()), []);
    }
}
