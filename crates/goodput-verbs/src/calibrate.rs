//! A user's measured kernels and exchanges, made into calibration files.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use goodput_model::device::{Catalogue, Device};
use goodput_predict::measured::{Calibration, Collector, Columns, is_calibration};
use goodput_records::table::{Position, StringRecord, Table};
use goodput_records::{FileReport, Treatment};
use goodput_report::{CalibratedFile, MeasuredTablesView, ViewSettings};
use serde::Deserialize;

use crate::Answer;
use crate::error::{Place, VerbError};
use crate::inputs::Inputs;

/// `goodput calibrate`: tables, and what their columns mean.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CalibrateRequest {
    /// CSV or Parquet tables (docs/calibrate.md), and calibration files to be joined with them.
    pub tables: Vec<PathBuf>,
    /// Where the calibration goes: a file, or a folder for one file a device. Without it the tables are only checked.
    pub output: Option<PathBuf>,
    /// The device of every row, whatever the tables say.
    pub device: Option<String>,
    /// Names of columns, `ours=theirs`.
    pub columns: Vec<String>,
    /// Values that hold for every row, `ours=value`.
    pub values: Vec<String>,
}

/// Reads measured tables, checks every row, and writes one calibration file a device.
///
/// # Errors
/// [`VerbError`] when a table cannot be read, no row can be used, or the file cannot be written.
pub fn calibrate(
    request: &CalibrateRequest,
    inputs: &mut Inputs,
) -> Result<Answer<MeasuredTablesView>, VerbError> {
    let renamed = pairs("--column", &request.columns)?;
    let mut stated = pairs("--set", &request.values)?;
    if let Some(device) = &request.device {
        let known = Catalogue::built_in().find(device);
        let known =
            known.map_err(|e| VerbError::new(e.to_string()).help("docs/devices.md lists the devices"))?;
        stated.insert("device".to_owned(), known.name.clone());
    }
    let mut reading = Reading { renamed, stated, devices: HashMap::new(), collectors: BTreeMap::new() };
    for path in &request.tables {
        let report = reading.file(path, inputs.open(path)?)?;
        inputs.report.files.push(report);
    }
    let calibrations: Vec<Calibration> = reading
        .collectors
        .into_values()
        .filter(|collector| !collector.is_empty())
        .map(Collector::finish)
        .collect();
    if calibrations.is_empty() {
        let first = inputs.report.files.iter().find_map(|file| Some((file, file.findings.first()?)));
        let why = first.map_or_else(
            || "the tables hold no row".to_owned(),
            |(file, found)| format!("{}:{} {}: {}", file.path, found.line, found.field, found.message),
        );
        return Err(VerbError::new(format!("no row can be used: {why}")).help(REMEDY));
    }
    let files = match &request.output {
        Some(output) => write(output, &calibrations)?,
        None => vec![None; calibrations.len()],
    };
    let calibrated: Vec<CalibratedFile<'_>> = calibrations
        .iter()
        .zip(files)
        .map(|(calibration, file)| CalibratedFile { calibration, file })
        .collect();
    let view = MeasuredTablesView::new(&inputs.report, &calibrated, &ViewSettings::default());
    let view = view.map_err(|e| VerbError::new(e.to_string()))?;
    Ok(Answer { view, falls_short: inputs.report.is_degraded() })
}

const REMEDY: &str = "docs/calibrate.md lists the columns; --column ours=theirs names yours, --set ours=value states one for \
                      all rows";

fn pairs(option: &str, texts: &[String]) -> Result<BTreeMap<String, String>, VerbError> {
    texts
        .iter()
        .map(|text| match text.split_once('=') {
            Some((ours, theirs)) if !ours.trim().is_empty() && !theirs.trim().is_empty() => {
                Ok((ours.trim().to_owned(), theirs.trim().to_owned()))
            }
            _ => Err(VerbError::new(format!("{option} {text}: expected name=value"))),
        })
        .collect()
}

/// What is read so far.
struct Reading {
    renamed: BTreeMap<String, String>,
    stated: BTreeMap<String, String>,
    /// Devices by the name that tables use, or why none has it.
    devices: HashMap<String, Result<&'static Device, String>>,
    collectors: BTreeMap<String, Collector>,
}

impl Reading {
    fn file(&mut self, path: &Path, mut input: Box<dyn BufRead>) -> Result<FileReport, VerbError> {
        let label = path.display().to_string();
        let first = input.fill_buf().map_err(|e| VerbError::io(path, &e))?;
        if is_calibration(first) {
            let mut text = String::new();
            input.read_to_string(&mut text).map_err(|e| VerbError::io(path, &e))?;
            return self.calibration(&label, &text);
        }
        let table = Table::open(&label, input)?;
        self.table(&label, table)
    }

    /// A file of our own, joined with the others.
    fn calibration(&mut self, label: &str, text: &str) -> Result<FileReport, VerbError> {
        let calibration =
            Calibration::read(label, text).map_err(|e| VerbError::new(e.to_string()).help(REMEDY))?;
        let mut report = FileReport::new(label, goodput_predict::measured::SCHEMA);
        let device = self.device(&calibration.device).map_err(VerbError::new)?;
        let collector = self.collector(device);
        for software in &calibration.software {
            collector.note(software, "");
        }
        for conditions in &calibration.conditions {
            collector.note("", conditions);
        }
        for row in &calibration.rows {
            report.rows += 1;
            // Reading has checked it against the same device.
            report.used += u64::from(collector.add(row).is_ok());
        }
        Ok(report)
    }

    fn table(&mut self, label: &str, mut table: Table<'_>) -> Result<FileReport, VerbError> {
        let mut report = FileReport::new(label, table.format);
        let columns = Columns::new(&table.header, &self.renamed, &self.stated).map_err(|e| {
            let place = Place { path: Some(label.to_owned()), line: Some(1), ..Place::default() };
            VerbError::new(format!("{label}:1: {e}")).help(REMEDY).at(place)
        })?;
        let width = table.header.len();
        let mut row = StringRecord::new();
        while let Some(Position { line, has_bad_utf8 }) = table.next(&mut row)? {
            report.rows += 1;
            let mut refuse = |code, field: &str, message: String| {
                report.find(Treatment::Refused, code, line, field, || {
                    format!("{message}: the row is not used")
                });
            };
            if row.len() != width {
                refuse("column_count", "", format!("{} fields, the header has {width}", row.len()));
                continue;
            }
            let cells = columns.row(|at| row.get(at).unwrap_or(""));
            let device = match self.device(cells.get("device")) {
                Ok(device) => device,
                Err(why) => {
                    refuse("unknown_device", "device", why);
                    continue;
                }
            };
            let read = match cells.read() {
                Ok(read) => read,
                Err(bad) => {
                    refuse("bad_value", bad.field, bad.message);
                    continue;
                }
            };
            let collector = self.collector(device);
            if let Err(why) = collector.add(&read.timed) {
                refuse("impossible_rate", "time_us", why);
                continue;
            }
            collector.note(cells.get("software"), cells.get("conditions"));
            report.used += 1;
            if let Some(repaired) = read.repaired {
                report.find(Treatment::Repaired, "whole_number", line, repaired.field, || repaired.message);
            } else if has_bad_utf8 {
                report.find(Treatment::Repaired, "bad_utf8", line, "", || {
                    "bytes that are no UTF-8 were replaced".to_owned()
                });
            }
        }
        Ok(report)
    }

    fn device(&mut self, name: &str) -> Result<&'static Device, String> {
        if let Some(known) = self.devices.get(name) {
            return known.clone();
        }
        let found = match name {
            "" => Err("is empty, expected a device (docs/devices.md); --device states it".to_owned()),
            name => Catalogue::built_in().find(name).map_err(|e| e.to_string()),
        };
        self.devices.insert(name.to_owned(), found.clone());
        found
    }

    fn collector(&mut self, device: &Device) -> &mut Collector {
        if !self.collectors.contains_key(&device.name) {
            self.collectors.insert(device.name.clone(), Collector::new(device));
        }
        self.collectors.entry(device.name.clone()).or_insert_with(|| Collector::new(device))
    }
}

/// Writes each calibration; gives back the names of the files.
fn write(output: &Path, calibrations: &[Calibration]) -> Result<Vec<Option<String>>, VerbError> {
    let is_folder = output.is_dir() || output.as_os_str().to_string_lossy().ends_with(['/', '\\']);
    if !is_folder && calibrations.len() > 1 {
        let devices: Vec<_> = calibrations.iter().map(|one| one.device.as_str()).collect();
        return Err(VerbError::new(format!(
            "-o {}: the tables hold {} devices ({}), and a calibration file holds one",
            output.display(),
            devices.len(),
            devices.join(", ")
        ))
        .help("give a folder, with a / at its end"));
    }
    if is_folder {
        std::fs::create_dir_all(output).map_err(|e| VerbError::io(output, &e))?;
    }
    calibrations
        .iter()
        .map(|calibration| {
            let path =
                if is_folder { output.join(file_name(&calibration.device)) } else { output.to_owned() };
            // Whole or not at all: a file that was there stays until the new one is complete.
            let partial = path.with_extension("partial");
            let io = |e: std::io::Error| VerbError::io(&path, &e);
            let mut file = BufWriter::new(File::create(&partial).map_err(io)?);
            calibration.write(&mut file).and_then(|()| file.flush()).map_err(io)?;
            drop(file);
            std::fs::rename(&partial, &path).map_err(io)?;
            Ok(Some(path.display().to_string()))
        })
        .collect()
}

fn file_name(device: &str) -> String {
    let plain = device.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    format!("{}.tables", plain.collect::<String>())
}
