//! Gray failures: a rank that is slow in every step, and the host it sits on.

use std::collections::BTreeMap;

use serde::Serialize;

use super::prepare::median;
use super::row::{Kind, Row};

/// Newest reports of a job that are looked at: a week of daily ones.
const NEWEST: usize = 7;

/// A host whose rank sets a job's step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlowHost {
    /// The host.
    pub host: String,
    /// Jobs that it was the slowest of, those that lose most first.
    pub jobs: Vec<SlowInJob>,
}

/// A slow host in one job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlowInJob {
    /// The job.
    pub job: String,
    /// The rank in the newest report.
    pub rank: u32,
    /// Ranks that logged.
    pub ranks: u64,
    /// Its median step over the typical rank's, median over the reports.
    pub ratio: f64,
    /// The share of the job's step rate that is lost while all ranks wait for it: 1 - 1 / ratio, at most.
    pub lost: f64,
    /// Reports in which it was the slowest, out of those looked at.
    pub reports: usize,
    /// Newest reports looked at.
    pub of: usize,
    /// UTC day of the newest.
    pub day: String,
    /// Days since 1970 of the same.
    #[serde(skip)]
    pub epoch_day: i64,
}

/// Hosts whose median step is at least `1 + least` times the typical one in more than half of a job's newest reports; and hosts that
/// reach half of `least` in several jobs, since a second job does not choose the same host by chance.
#[must_use]
pub fn slow_hosts(rows: &[Row], least: f64) -> Vec<SlowHost> {
    let mut hosts: BTreeMap<&str, Vec<SlowInJob>> = BTreeMap::new();
    for rows in rows.chunk_by(|a, b| a.subject() == b.subject()).filter(|rows| rows[0].kind != Kind::Pool) {
        let newest: Vec<_> = rows.iter().rev().filter(|row| row.slowest.is_some()).take(NEWEST).collect();
        let Some(last) = newest.first() else { continue };
        let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for slowest in newest.iter().filter_map(|row| row.slowest.as_ref()) {
            ratios.entry(&slowest.host).or_default().push(slowest.ratio());
        }
        // More than half of the reports: at most one host.
        let Some((host, mut of_host)) = ratios.into_iter().find(|(_, of)| 2 * of.len() > newest.len()) else {
            continue;
        };
        let reports = of_host.len();
        let ratio = median(&mut of_host);
        let in_newest =
            newest.iter().filter_map(|row| row.slowest.as_ref()).find(|slowest| *slowest.host == *host);
        let Some(slowest) = in_newest.filter(|_| ratio >= 1.0 + least / 2.0) else { continue };
        hosts.entry(host).or_default().push(SlowInJob {
            job: last.job.as_deref().unwrap_or_default().to_owned(),
            rank: slowest.rank,
            ranks: slowest.ranks,
            ratio,
            lost: 1.0 - 1.0 / ratio,
            reports,
            of: newest.len(),
            day: last.day.to_string(),
            epoch_day: last.epoch_day(),
        });
    }
    let mut slow: Vec<SlowHost> = hosts
        .into_iter()
        .filter(|(_, jobs)| jobs.len() > 1 || jobs.iter().any(|job| job.ratio >= 1.0 + least))
        .map(|(host, mut jobs)| {
            jobs.sort_by(|a, b| b.lost.total_cmp(&a.lost));
            SlowHost { host: host.to_owned(), jobs }
        })
        .collect();
    slow.sort_by(|a, b| b.jobs.len().cmp(&a.jobs.len()).then(b.jobs[0].lost.total_cmp(&a.jobs[0].lost)));
    slow
}
