//! `FLEET.yaml`: the records, pools and prices of a fleet, so that Monday's command is one word.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use goodput_core::scheduling::Denominator;
use serde::Deserialize;

use crate::error::VerbError;
use crate::request::{AccountRequest, ReportRequest, TimelineInput, WindowRequest, Work};

/// The file as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FleetFile {
    title: Option<String>,
    time_zone: Option<String>,
    from: Option<String>,
    to: Option<String>,
    records: RecordFiles,
    timelines: Vec<TimelineFile>,
    device_file: Option<PathBuf>,
    pools: BTreeMap<String, String>,
    denominator: Option<DenominatorWord>,
    price_per_device_hour: Option<f64>,
    currency: Option<String>,
    planned_steps: BTreeMap<String, u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RecordFiles {
    sacct: Vec<PathBuf>,
    events: Vec<PathBuf>,
    nodes: Vec<PathBuf>,
    snapshots: Vec<PathBuf>,
    reservations: Vec<PathBuf>,
    tables: Vec<PathBuf>,
    import: Vec<ImportFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ImportFile {
    map: PathBuf,
    files: Vec<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TimelineFile {
    file: PathBuf,
    job: Option<String>,
    devices_per_slice: Option<u64>,
    device: Option<String>,
    peak_tflops: Option<f64>,
    dtype: Option<String>,
    flops_per_token: Option<f64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DenominatorWord {
    InService,
    Installed,
}

/// The request that a `FLEET.yaml` holds.
///
/// # Errors
/// [`VerbError`] when the file cannot be read, has a field that the format does not name, or names a file outside its
/// own folder.
pub fn fleet_file(path: &Path) -> Result<AccountRequest, VerbError> {
    let text = std::fs::read_to_string(path).map_err(|e| VerbError::io(path, &e))?;
    let file: FleetFile = serde_saphyr::from_str(&text).map_err(|e| {
        VerbError::new(format!("{}: {e}", path.display())).help("docs/fleet-file.md lists the fields")
    })?;
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    file.request(&folder)
}

impl FleetFile {
    fn request(self, folder: &Path) -> Result<AccountRequest, VerbError> {
        let within =
            |paths: Vec<PathBuf>| paths.into_iter().map(|p| below(folder, p)).collect::<Result<Vec<_>, _>>();
        let mut imports = Vec::new();
        for import in self.records.import {
            imports.push((below(folder, import.map)?, within(import.files)?));
        }
        let device_file = self.device_file.map(|path| below(folder, path)).transpose()?;
        let mut timelines = Vec::new();
        for timeline in self.timelines {
            timelines.push(TimelineInput {
                file: below(folder, timeline.file)?,
                job: timeline.job,
                work: Work {
                    devices: None,
                    devices_per_slice: timeline.devices_per_slice,
                    device: timeline.device,
                    device_file: device_file.clone(),
                    peak_tflops: timeline.peak_tflops,
                    dtype: timeline.dtype,
                    flops_per_token: timeline.flops_per_token,
                },
            });
        }
        Ok(AccountRequest {
            sacct: within(self.records.sacct)?,
            events: within(self.records.events)?,
            nodes: within(self.records.nodes)?,
            snapshots: within(self.records.snapshots)?,
            reservations: within(self.records.reservations)?,
            tables: within(self.records.tables)?,
            imports,
            timelines,
            pools: self.pools,
            denominator: self.denominator.map(|word| match word {
                DenominatorWord::InService => Denominator::InService,
                DenominatorWord::Installed => Denominator::Installed,
            }),
            planned_steps: self.planned_steps,
            window: WindowRequest { from: self.from, to: self.to, time_zone: self.time_zone },
            report: ReportRequest {
                title: self.title,
                price: self.price_per_device_hour,
                currency: self.currency,
            },
            ..AccountRequest::default()
        })
    }
}

/// A path of the file, which must stay below the file's own folder: a fleet file may come from someone else.
fn below(folder: &Path, path: PathBuf) -> Result<PathBuf, VerbError> {
    let inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if inside {
        return Ok(folder.join(path));
    }
    Err(VerbError::new(format!("{}: a fleet file names only files below its own folder", path.display()))
        .help("name this file on the command line, or move the fleet file above it"))
}
