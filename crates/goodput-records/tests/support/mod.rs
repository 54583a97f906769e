//! Where the shared dumps are, and plain sums over attempts.

// Each test file uses its own part of this module; clippy knows no tests outside of test functions.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use goodput_core::records::{Attempt, FileId, FleetRecords, JobState};
use goodput_core::{Interval, NS_PER_SECOND, Timestamp};
use goodput_records::scheduler::slurm::{SlurmOptions, sacct::read_sacct};
use goodput_records::{FileReport, ReadError};
use jiff::tz::TimeZone;

/// A file of the shared reference data; `None`, with a word about it, where the folder is missing.
pub fn shared(path: &str) -> Option<Vec<u8>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    if !root.exists() {
        println!("skipped: ../shared is not there");
        return None;
    }
    Some(std::fs::read(root.join("data/scheduler").join(path)).unwrap())
}

pub fn utc() -> SlurmOptions {
    SlurmOptions { time_zone: Some(TimeZone::UTC), ..SlurmOptions::default() }
}

pub fn read_with(bytes: &[u8], options: &SlurmOptions) -> Result<(FleetRecords, FileReport), ReadError> {
    let mut records = FleetRecords::new();
    let report = read_sacct("sacct.txt", FileId(0), bytes, options, &mut records)?;
    Ok((records, report))
}

pub fn read(bytes: &[u8]) -> (FleetRecords, FileReport) {
    read_with(bytes, &utc()).unwrap()
}

/// Half-open, in epoch seconds.
pub fn window(from: i64, to: i64) -> Interval {
    Interval::new(Timestamp::from_seconds(from), Timestamp::from_seconds(to))
}

/// Device-seconds of each attempt inside the window, an open attempt until the window's end.
pub fn device_seconds<'a>(attempts: impl IntoIterator<Item = &'a Attempt>, window: Interval) -> i64 {
    attempts
        .into_iter()
        .filter_map(|attempt| {
            let held = attempt.held(window.end)?.intersect(window);
            Some(held.duration_ns() / NS_PER_SECOND * i64::try_from(attempt.devices).unwrap())
        })
        .sum()
}

/// The same by state, states without any left out.
pub fn by_state(records: &FleetRecords, window: Interval) -> BTreeMap<&'static str, i64> {
    let mut sums = BTreeMap::new();
    for attempt in &records.attempts {
        *sums.entry(attempt.state.word()).or_default() += device_seconds([attempt], window);
    }
    sums.retain(|_, sum| *sum != 0);
    sums
}

/// The same sum after rows of one job, in the order of their submission, are cut where the next begins.
pub fn without_overlap(records: &FleetRecords, window: Interval) -> i64 {
    let mut attempts: Vec<Attempt> =
        records.attempts.iter().filter(|attempt| attempt.start.is_some()).cloned().collect();
    attempts.sort_by_key(|attempt| (attempt.key.job, attempt.key.submit));
    let mut ends: BTreeMap<_, Timestamp> = BTreeMap::new();
    for attempt in &mut attempts {
        let held_before = ends.get(&attempt.key.job).copied();
        attempt.start = attempt.start.max(held_before);
        ends.insert(attempt.key.job, attempt.end.unwrap_or(window.end));
    }
    device_seconds(&attempts, window)
}

pub fn never_started(records: &FleetRecords) -> Vec<(String, JobState)> {
    let mut jobs: Vec<_> = records
        .attempts
        .iter()
        .filter(|attempt| attempt.start.is_none())
        .map(|attempt| (records.symbols.get(attempt.key.job).to_owned(), attempt.state))
        .collect();
    jobs.sort();
    jobs
}
