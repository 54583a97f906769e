//! Pool totals over time.

use std::collections::BTreeMap;

use csv::StringRecord;
use goodput_core::records::{FleetRecords, PoolSample, SourceRef, Symbol};
use goodput_core::{NS_PER_SECOND, Timestamp};

use super::map::{PoolName, SeriesColumns};
use super::{Reading, Refusal};
use crate::{FileReport, ReadError, Treatment};

impl SeriesColumns {
    /// Every column that the map names.
    pub(super) fn names(&self) -> Vec<&str> {
        let pool = match &self.pool {
            PoolName::Column(column) => Some(column.as_str()),
            PoolName::File(_) | PoolName::Name(_) => None,
        };
        [Some(self.time.as_str()), Some(&self.offered), Some(&self.held), self.demand.as_deref(), pool]
            .into_iter()
            .flatten()
            .collect()
    }
}

struct Positions {
    time: usize,
    offered: usize,
    held: usize,
    demand: Option<usize>,
    pool: Option<usize>,
}

pub(super) fn read(
    reading: Reading<'_>,
    columns: &SeriesColumns,
    records: &mut FleetRecords,
) -> Result<FileReport, ReadError> {
    let fixed_pool = fixed_pool(reading.label, &columns.pool)?.map(|name| records.symbols.intern(&name));
    let positions = Positions {
        time: reading.column(&columns.time),
        offered: reading.column(&columns.offered),
        held: reading.column(&columns.held),
        demand: reading.optional(&columns.demand),
        pool: match &columns.pool {
            PoolName::Column(column) => Some(reading.column(column)),
            PoolName::File(_) | PoolName::Name(_) => None,
        },
    };
    let step_ns = columns.step_seconds.map(|seconds| i64::from(seconds) * NS_PER_SECOND);
    let mut last: BTreeMap<Symbol, Timestamp> = BTreeMap::new();
    let report = reading.rows(|reading, row, line| {
        let sample = sample(reading, row, line, &positions, fixed_pool, records)?;
        let previous = last.insert(sample.pool, sample.at);
        if let (Some(previous), Some(step_ns)) = (previous, step_ns) {
            let distance_ns = sample.at - previous;
            if distance_ns > step_ns {
                reading.report.find(Treatment::Noted, "series_gap", line, &columns.time, || {
                    format!(
                        "{} s since the row before, the period is {} s: that row's values hold until here",
                        distance_ns / NS_PER_SECOND,
                        step_ns / NS_PER_SECOND
                    )
                });
            }
        }
        if sample.held > sample.offered {
            reading.report.find(Treatment::Noted, "held_beyond_offered", line, &columns.held, || {
                format!("{} held of {} offered: used as it stands", sample.held, sample.offered)
            });
        }
        records.pool_samples.push(sample);
        Ok(())
    })?;
    records.pool_samples.sort_by_key(|sample| sample.at);
    Ok(report)
}

fn sample(
    reading: &mut Reading<'_>,
    row: &StringRecord,
    line: u32,
    positions: &Positions,
    fixed_pool: Option<Symbol>,
    records: &mut FleetRecords,
) -> Result<PoolSample, Refusal> {
    let per_device = u64::from(records.device_unit.per_device());
    let count = |reading: &Reading<'_>, column| {
        reading.count(row, column).map(|count| count.saturating_mul(per_device))
    };
    let at = reading
        .instant(row, positions.time)?
        .ok_or_else(|| reading.refusal(positions.time, "the time is missing".to_owned()))?;
    let pool = match (fixed_pool, positions.pool) {
        (Some(pool), _) => pool,
        (None, column) => records.symbols.intern(reading.cell(row, column).unwrap_or_default()),
    };
    Ok(PoolSample {
        at,
        pool,
        offered: count(reading, positions.offered)?,
        held: count(reading, positions.held)?,
        demand: positions.demand.map_or(Ok(0), |column| count(reading, column))?,
        source: SourceRef { file: reading.file, line },
    })
}

/// The pool's name where it is the same for the whole file.
fn fixed_pool(label: &str, pool: &PoolName) -> Result<Option<String>, ReadError> {
    let pattern = match pool {
        PoolName::Column(_) => return Ok(None),
        PoolName::Name(name) => return Ok(Some(name.clone())),
        PoolName::File(pattern) => pattern,
    };
    let name = label.rsplit(['/', '\\']).next().unwrap_or(label);
    let starred = pattern.split_once('*').and_then(|(before, after)| {
        name.strip_prefix(before)?.strip_suffix(after).filter(|pool| !pool.is_empty())
    });
    starred.map(|pool| Some(pool.to_owned())).ok_or_else(|| ReadError::Format {
        path: label.to_owned(),
        line: 0,
        field: "pool".to_owned(),
        message: format!("the file's name does not match {pattern:?}, so its pool has no name"),
        remedy: "correct the pattern after pool: file: in the map (one * stands for the pool's name)"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("traces/vc3sl.csv.gz", "*.csv.gz", Some("vc3sl"))]
    #[case("pool-a.csv", "pool-*.csv", Some("a"))]
    #[case("a.csv", "*.csv.gz", None)]
    #[case(".csv", "*.csv", None)]
    #[case("a.csv", "a.csv", None)]
    fn the_star_is_the_pool(#[case] label: &str, #[case] pattern: &str, #[case] pool: Option<&str>) {
        let found = fixed_pool(label, &PoolName::File(pattern.to_owned())).ok().flatten();
        assert_eq!(found.as_deref(), pool);
    }
}
