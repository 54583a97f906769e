//! Opens what the user named and hands it to the readers.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use goodput_core::records::{FileId, FleetRecords, SourceRef, Timeline};
use goodput_records::scheduler::import::{ImportMap, read_import};
use goodput_records::scheduler::merge_duplicates;
use goodput_records::scheduler::slurm::SlurmOptions;
use goodput_records::scheduler::slurm::events::read_events;
use goodput_records::scheduler::slurm::nodes::read_nodes;
use goodput_records::scheduler::slurm::reservations::read_reservations;
use goodput_records::scheduler::slurm::sacct::read_sacct;
use goodput_records::scheduler::slurm::slurmdbd::read_tables;
use goodput_records::scheduler::slurm::snapshots::read_snapshots;
use goodput_records::timeline::{TimelineOptions, read_timeline};
use goodput_records::{FileReport, ReadError, ReadReport, Treatment};
use goodput_trace::reading::FileReading;

use crate::device;
use crate::error::VerbError;
use crate::file_kind::{self, FileKind, Wanted};
use crate::request::{AccountRequest, TimelineInput, Work};

/// Reads files in the order in which they are named, and numbers them.
#[derive(Debug, Default)]
pub struct Inputs {
    watch: Option<Watch>,
    /// What became of every row so far.
    pub report: ReadReport,
}

/// Shows how far a file has been read: gives back what reads it. Size in bytes, and the file as the user named it.
pub type Watch = fn(File, u64, String) -> Box<dyn Read>;

/// Anything a reader can take: a file, or records in memory.
type Input = Box<dyn BufRead>;

impl Inputs {
    /// Inputs whose reading is watched.
    pub fn watched(watch: Watch) -> Self {
        Self { watch: Some(watch), ..Self::default() }
    }

    /// The number of the next file.
    pub(crate) fn next(&self) -> FileId {
        FileId(u16::try_from(self.report.files.len()).unwrap_or(u16::MAX))
    }

    fn done(&mut self, report: FileReport) {
        self.report.files.push(report);
    }

    /// Every scheduler record of the request.
    pub fn fleet(
        &mut self,
        request: &AccountRequest,
        options: &SlurmOptions,
    ) -> Result<FleetRecords, VerbError> {
        let mut records = FleetRecords::new();
        for path in &request.sacct {
            let report = read_sacct(&label(path), self.next(), self.open(path)?, options, &mut records)?;
            self.done(report);
        }
        for path in &request.events {
            let report = read_events(&label(path), self.next(), self.open(path)?, options, &mut records)?;
            self.done(report);
        }
        for path in &request.nodes {
            let report =
                read_nodes(&label(path), self.next(), self.open(path)?, None, options, &mut records)?;
            self.done(report);
        }
        for path in &request.snapshots {
            let report = read_snapshots(&label(path), self.next(), self.open(path)?, options, &mut records)?;
            self.done(report);
        }
        for path in &request.reservations {
            let report =
                read_reservations(&label(path), self.next(), self.open(path)?, options, &mut records)?;
            self.done(report);
        }
        if !request.tables.is_empty() {
            let labels: Vec<String> = request.tables.iter().map(|path| label(path)).collect();
            let mut files = Vec::new();
            for (position, path) in request.tables.iter().enumerate() {
                let number = self.report.files.len() + position;
                files.push((
                    labels[position].as_str(),
                    FileId(u16::try_from(number).unwrap_or(u16::MAX)),
                    self.open(path)?,
                ));
            }
            for report in read_tables(files, options, &mut records)? {
                self.done(report);
            }
        }
        for (map_path, files) in &request.imports {
            let text = std::fs::read_to_string(map_path).map_err(|e| VerbError::io(map_path, &e))?;
            let map = ImportMap::from_yaml(&label(map_path), &text)?;
            for path in files {
                let report = read_import(&label(path), self.next(), self.open(path)?, &map, &mut records)?;
                self.done(report);
            }
        }
        merge_duplicates(&mut records, &mut self.report);
        Ok(records)
    }

    /// The timelines of one log; what the user states about work and devices fills what the log leaves out.
    pub fn timelines(
        &mut self,
        input: &TimelineInput,
        options: &TimelineOptions,
    ) -> Result<Vec<Timeline>, VerbError> {
        let options = TimelineOptions {
            job: input.job.clone(),
            devices_per_slice: input.work.devices_per_slice,
            ..options.clone()
        };
        let label = label(&input.file);
        let read = read_timeline(&label, self.next(), self.open(&input.file)?, &options);
        let read = read.map_err(|error| no_log(&input.file, error))?;
        let mut timelines = self.take_timelines(read, &input.work);
        for timeline in &mut timelines {
            device::fill_peak(&mut timeline.ideal, &input.work)?;
        }
        Ok(timelines)
    }

    /// Lists a file that was read elsewhere.
    pub(crate) fn read(&mut self, report: FileReport) {
        self.done(report);
    }

    /// Lists step traces among what was read. The first one stands for all as evidence.
    pub(crate) fn traces(&mut self, files: &[FileReading]) -> SourceRef {
        let first = SourceRef { file: self.next(), line: 0 };
        for file in files {
            let mut report = FileReport::new(label(&file.path), format!("step trace, {}", file.format.key()));
            report.rows = file.events;
            report.used = file.events - file.ignored;
            for finding in &file.findings {
                let treatment =
                    if finding.cause.degrades() { Treatment::Refused } else { Treatment::Repaired };
                report.find(treatment, finding.cause.key(), 0, "", || finding.to_string());
            }
            self.done(report);
        }
        first
    }

    /// A file the user named, or standard input for `-`.
    pub(crate) fn open(&self, path: &Path) -> Result<Input, VerbError> {
        if path.as_os_str() == "-" {
            return Ok(Box::new(BufReader::new(std::io::stdin())));
        }
        let file = File::open(path).map_err(|e| VerbError::io(path, &e))?;
        let metadata = file.metadata().map_err(|e| VerbError::io(path, &e))?;
        if metadata.is_dir() {
            return Err(VerbError::new(format!("{}: found a folder, expected a file", path.display()))
                .help("name the files in it"));
        }
        let read: Box<dyn Read> = match self.watch {
            Some(watch) => watch(file, metadata.len(), label(path)),
            None => Box::new(file),
        };
        // Smaller than the blocks of those who read by blocks, who then read past it.
        Ok(Box::new(BufReader::with_capacity(64 << 10, read)))
    }

    /// Takes what a reader returned: one report a file, however many jobs it held.
    pub fn take_timelines(&mut self, read: Vec<(Timeline, FileReport)>, work: &Work) -> Vec<Timeline> {
        let mut timelines = Vec::new();
        for (mut timeline, report) in read {
            timeline.source.file = self.next();
            self.done(report);
            state_work(&mut timeline, work);
            timelines.push(timeline);
        }
        timelines
    }
}

/// Why a file is no job's log: what it is instead, where that can be told.
fn no_log(path: &Path, error: ReadError) -> VerbError {
    const LOG: Wanted = Wanted {
        what: "a job's log",
        help: "docs/readers.md has the logs that can be read",
        // A log that is damaged further on is named by its own reader.
        is: |kind| matches!(kind, FileKind::Log(_) | FileKind::JsonLines),
    };
    let ReadError::Format { line: 0, remedy, .. } = &error else { return error.into() };
    let remedy = remedy.clone();
    let untold = VerbError::from(error);
    let told = file_kind::instead(path, &LOG, untold.clone());
    if told == untold {
        return untold;
    }
    let help = told.remedy().map_or(remedy.clone(), |help| format!("{help}; {remedy}"));
    told.help(help)
}

/// What the user states wins over what the log says.
fn state_work(timeline: &mut Timeline, work: &Work) {
    if let Some(devices) = work.devices {
        timeline.devices = Some(devices);
    }
    let ideal = &mut timeline.ideal;
    ideal.device = work.device.clone().or(ideal.device.take());
    ideal.dtype = work.dtype.clone().or(ideal.dtype.take());
    ideal.peak_flops_per_second =
        work.peak_tflops.map(|tflops| tflops * 1e12).or(ideal.peak_flops_per_second);
    ideal.model_flops_per_token = work.flops_per_token.or(ideal.model_flops_per_token);
    if work.flops_per_token.is_some() {
        ideal.convention = Some("FLOPs per token as stated by the user".to_owned());
    }
}

/// The file as the user named it.
pub fn label(path: &Path) -> String {
    path.display().to_string()
}
