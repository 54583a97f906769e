//! `FLEET.yaml`: the records, pools and prices of a fleet, so that Monday's command is one word.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::args::{AccountArgs, DenominatorArg, WorkArgs};
use crate::error::CliError;

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

/// A job's log and what is known beside it.
#[derive(Debug, Clone, Default)]
pub struct TimelineInput {
    /// The log.
    pub file: PathBuf,
    /// The job's id, when the user states it.
    pub job: Option<String>,
    /// Work and devices, when the user states them.
    pub work: WorkArgs,
}

/// What to account: the file and the command line as one.
#[derive(Debug, Default)]
pub struct Request {
    /// Title of the report.
    pub title: Option<String>,
    /// `sacct` files.
    pub sacct: Vec<PathBuf>,
    /// Event files.
    pub events: Vec<PathBuf>,
    /// Node files.
    pub nodes: Vec<PathBuf>,
    /// Snapshot files.
    pub snapshots: Vec<PathBuf>,
    /// Reservation files.
    pub reservations: Vec<PathBuf>,
    /// Database tables.
    pub tables: Vec<PathBuf>,
    /// Column maps with their files.
    pub imports: Vec<(PathBuf, Vec<PathBuf>)>,
    /// Timelines.
    pub timelines: Vec<TimelineInput>,
    /// Pools and their node lists.
    pub pools: BTreeMap<String, String>,
    /// The denominator.
    pub denominator: Option<DenominatorArg>,
    /// Planned steps by job.
    pub planned_steps: BTreeMap<String, u64>,
}

/// Reads the file, if one is named, and lays the command line over it (options of the command line win).
pub fn request(args: &mut AccountArgs) -> Result<Request, CliError> {
    let mut request = Request::default();
    if let Some(path) = args.fleet.clone() {
        let text = std::fs::read_to_string(&path).map_err(|e| CliError::io(&path, &e))?;
        let file: FleetFile = serde_saphyr::from_str(&text).map_err(|e| {
            CliError::new(format!("{}: {e}", path.display())).help("docs/fleet-file.md lists the fields")
        })?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        take_file(file, &folder, args, &mut request)?;
    }
    request.sacct.extend(args.sacct.iter().cloned());
    request.events.extend(args.events.iter().cloned());
    request.nodes.extend(args.nodes.iter().cloned());
    request.snapshots.extend(args.snapshots.iter().cloned());
    request.reservations.extend(args.reservations.iter().cloned());
    request.tables.extend(args.tables.iter().cloned());
    for import in &args.import {
        let (map, file) = pair("--import", "MAP=FILE", import)?;
        request.imports.push((map.into(), vec![file.into()]));
    }
    for timeline in &args.timeline {
        let (job, file) = match timeline.split_once('=') {
            Some((job, file)) if !Path::new(timeline).exists() => (Some(job.to_owned()), file),
            _ => (None, timeline.as_str()),
        };
        request.timelines.push(TimelineInput { file: file.into(), job, ..TimelineInput::default() });
    }
    let mut named = BTreeSet::new();
    for pool in &args.pool {
        let (name, nodes) = pair("--pool", "NAME=NODES", pool)?;
        if !named.insert(name) {
            return Err(CliError::new(format!("--pool {pool}: the pool {name} is named twice"))
                .help("give one list of all its nodes: NAME=gpu[001-004],gpu007"));
        }
        request.pools.insert(name.to_owned(), nodes.to_owned());
    }
    for plan in &args.plan {
        let (job, steps) = pair("--plan", "JOB=STEPS", plan)?;
        let steps = steps
            .parse()
            .map_err(|_| CliError::new(format!("--plan {plan}: {steps:?} is no whole number of steps")))?;
        request.planned_steps.insert(job.to_owned(), steps);
    }
    request.denominator = args.denominator.or(request.denominator);
    Ok(request)
}

fn take_file(
    file: FleetFile,
    folder: &Path,
    args: &mut AccountArgs,
    request: &mut Request,
) -> Result<(), CliError> {
    let within =
        |paths: Vec<PathBuf>| paths.into_iter().map(|p| below(folder, p)).collect::<Result<Vec<_>, _>>();
    request.title = file.title;
    request.sacct = within(file.records.sacct)?;
    request.events = within(file.records.events)?;
    request.nodes = within(file.records.nodes)?;
    request.snapshots = within(file.records.snapshots)?;
    request.reservations = within(file.records.reservations)?;
    request.tables = within(file.records.tables)?;
    for import in file.records.import {
        request.imports.push((below(folder, import.map)?, within(import.files)?));
    }
    let device_file = file.device_file.map(|path| below(folder, path)).transpose()?;
    for timeline in file.timelines {
        request.timelines.push(TimelineInput {
            file: below(folder, timeline.file)?,
            job: timeline.job,
            work: WorkArgs {
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
    request.pools = file.pools;
    request.planned_steps = file.planned_steps;
    request.denominator = file.denominator.map(|word| match word {
        DenominatorWord::InService => DenominatorArg::InService,
        DenominatorWord::Installed => DenominatorArg::Installed,
    });
    args.window.time_zone = args.window.time_zone.take().or(file.time_zone);
    args.window.from = args.window.from.take().or(file.from);
    args.window.to = args.window.to.take().or(file.to);
    args.output.price = args.output.price.or(file.price_per_device_hour);
    if let Some(currency) = file.currency {
        args.output.currency = currency;
    }
    Ok(())
}

/// A path of the file, which must stay below the file's own folder: a fleet file may come from someone else.
fn below(folder: &Path, path: PathBuf) -> Result<PathBuf, CliError> {
    let inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if inside {
        return Ok(folder.join(path));
    }
    Err(CliError::new(format!("{}: a fleet file names only files below its own folder", path.display()))
        .help("name this file on the command line, or move the fleet file above it"))
}

fn pair<'a>(option: &str, form: &str, text: &'a str) -> Result<(&'a str, &'a str), CliError> {
    text.split_once('=').ok_or_else(|| CliError::new(format!("{option} {text}: expected {form}")))
}
