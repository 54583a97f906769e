//! The column map: what the columns of a table mean.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use serde::Deserialize;

use super::times::TimeFormat;
use crate::ReadError;

/// What the columns of a CSV or Parquet table mean, as YAML.
///
/// One map may describe several tables of one source; each file is read with the first section
/// whose columns it has. See `docs/readers.md` for every key.
///
/// ```
/// use goodput_records::scheduler::import::ImportMap;
/// let map = ImportMap::from_yaml("vc.yaml", "
/// time: iso
/// time_zone: UTC
/// series:
///   pool: {file: '*.csv.gz'}
///   time: time
///   offered: total_gpu_num
///   held: running_gpu_num
///   demand: pending_gpu_num
///   step_seconds: 60
/// ")?;
/// assert_eq!(map.series.unwrap().step_seconds, Some(60));
/// # Ok::<(), goodput_records::ReadError>(())
/// ```
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportMap {
    /// Cluster name of everything imported.
    #[serde(default)]
    pub cluster: String,
    /// How instants are written.
    pub time: TimeFormat,
    /// IANA zone of instants without an offset (`time: iso`).
    #[serde(default, deserialize_with = "time_zone")]
    pub time_zone: Option<TimeZone>,
    /// Cells that mean "no value", beside the empty one.
    #[serde(default = "no_values")]
    pub missing: Vec<String>,
    /// A table of jobs or pods.
    pub jobs: Option<JobColumns>,
    /// A table of pool totals over time.
    pub series: Option<SeriesColumns>,
    /// A table of nodes.
    pub nodes: Option<NodeColumns>,
}

/// Columns of a table of jobs, one row an attempt. Where a key is left out the records lack that fact.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobColumns {
    /// Job id.
    pub job: String,
    /// Submit instant.
    pub submit: String,
    /// When it could first have started; `submit` when left out.
    pub eligible: Option<String>,
    /// When its first device was assigned, where a gang binds its members one by one: from then until `start` it is a
    /// partial gang.
    pub assigned: Option<String>,
    /// Start, the instant from which the gang is complete; a missing cell means that it never started.
    pub start: String,
    /// End; a missing cell means that it still runs or waits.
    pub end: String,
    /// Devices. Without this column every job has one, shared as `milli_per_device` says.
    pub devices: Option<String>,
    /// Share of each of its devices in thousandths. With it, counts are in thousandths of a device.
    pub milli_per_device: Option<String>,
    /// The source's word for the state.
    pub state: Option<String>,
    /// The scheduler word (`COMPLETED`, `FAILED`, …) for each word of the source.
    #[serde(default)]
    pub states: BTreeMap<String, String>,
    /// Job name.
    pub name: Option<String>,
    /// User.
    pub user: Option<String>,
    /// Account.
    pub account: Option<String>,
    /// Partition, queue or virtual cluster.
    pub partition: Option<String>,
    /// Quality of service.
    pub qos: Option<String>,
    /// Nodes held or asked for.
    pub node_count: Option<String>,
    /// Names of the nodes held, as a host list.
    pub nodes: Option<String>,
}

/// Columns of a series of pool totals, one row an instant.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesColumns {
    /// Where the pool's name stands.
    pub pool: PoolName,
    /// Instant.
    pub time: String,
    /// Devices in service.
    pub offered: String,
    /// Devices held.
    pub held: String,
    /// Devices that waiting jobs ask for; zero when left out.
    pub demand: Option<String>,
    /// The source's period in seconds: a larger distance between two rows is a gap in the data.
    pub step_seconds: Option<u32>,
}

/// Where the name of a pool stands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolName {
    /// In a column.
    Column(String),
    /// In the file's name, at the star of this pattern.
    File(String),
    /// Here.
    Name(String),
}

/// Columns of a table of nodes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeColumns {
    /// Node name.
    pub node: String,
    /// Whole devices of the node.
    pub devices: String,
    /// Device type.
    pub device_type: Option<String>,
    /// Partitions, separated by commas.
    pub partitions: Option<String>,
    /// Topology block or switch.
    pub block: Option<String>,
}

impl ImportMap {
    /// Reads a map.
    ///
    /// # Errors
    /// [`ReadError::Format`] with the line when the YAML is malformed, a key is unknown, a zone does
    /// not exist, or no table is described.
    pub fn from_yaml(label: &str, text: &str) -> Result<Self, ReadError> {
        let malformed = |line, message| ReadError::Format {
            path: label.to_owned(),
            line,
            field: String::new(),
            message,
            remedy: "see the column map in docs/readers.md".to_owned(),
        };
        let map: Self = serde_saphyr::from_str(text).map_err(|error| {
            let line = error.location().and_then(|l| u32::try_from(l.line()).ok()).unwrap_or(0);
            malformed(line, error.to_string())
        })?;
        if map.jobs.is_none() && map.series.is_none() && map.nodes.is_none() {
            return Err(malformed(
                0,
                "the map describes no table: expected jobs, series or nodes".to_owned(),
            ));
        }
        Ok(map)
    }
}

fn no_values() -> Vec<String> {
    ["None", "NULL", "null", "NaN", "nan", "N/A", "Unknown"].map(str::to_owned).to_vec()
}

fn time_zone<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<TimeZone>, D::Error> {
    let name = String::deserialize(deserializer)?;
    TimeZone::get(&name).map(Some).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("time: iso\n", "describes no table")]
    #[case("time: sundial\njobs: {job: a, submit: b, start: c, end: d}\n", "sundial")]
    #[case(
        "time: iso\ntime_zone: Mars/Olympus\njobs: {job: a, submit: b, start: c, end: d}\n",
        "Mars/Olympus"
    )]
    #[case("time: iso\njobs:\n  job: a\n  submitted: b\n", "submitted")]
    #[case("time: iso\njobs: {job: a}\n", "submit")]
    #[case("- 1\n", "")]
    fn a_wrong_map_is_refused(#[case] yaml: &str, #[case] named: &str) {
        let error = ImportMap::from_yaml("map.yaml", yaml).unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
        assert!(error.remedy().is_some());
    }

    #[test]
    fn the_line_of_an_unknown_key_is_named() {
        let error =
            ImportMap::from_yaml("map.yaml", "time: iso\njobs:\n  job: a\n  submitted: b\n").unwrap_err();
        assert!(matches!(error, ReadError::Format { line: 3..=4, .. }), "{error}");
    }
}
