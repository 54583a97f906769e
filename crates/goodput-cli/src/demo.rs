//! `goodput demo`

use std::path::Path;

use goodput_core::records::FileId;
use goodput_core::records::FleetRecords;
use goodput_core::{Timestamp, Window};
use goodput_records::ReadError;
use goodput_records::scheduler::slurm::SlurmOptions;
use goodput_records::scheduler::slurm::events::read_events;
use goodput_records::scheduler::slurm::nodes::read_nodes;
use goodput_records::scheduler::slurm::reservations::read_reservations;
use goodput_records::scheduler::slurm::sacct::read_sacct;
use goodput_records::scheduler::slurm::snapshots::read_snapshots;
use goodput_records::timeline::{TimelineOptions, read_timeline};
use goodput_simulate::{Scenario, World, simulate};
use goodput_verbs::{Inputs, ReportRequest, Work, account_records, default_options};
use jiff::tz::TimeZone;

use crate::account;
use crate::args::DemoArgs;
use crate::error::CliError;
use crate::output::{self, Answer};

/// Price of a device-hour in the demo: the chapter's reference rate.
const PRICE_PER_DEVICE_HOUR: f64 = 2.0;

/// Simulates the running example, reads the records back as any site's, and accounts them.
pub fn run(args: &DemoArgs) -> Result<Answer, CliError> {
    let mut scenario = Scenario::demo().map_err(|e| CliError::new(e.to_string()))?;
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    let world = simulate(&scenario);
    if let Some(folder) = &args.records {
        world.write(folder).map_err(|e| CliError::io(folder, &e))?;
    }
    let mut inputs = Inputs::default();
    let (records, timelines) = read(&world, &mut inputs)?;
    let window = window_of(&world)?;
    let mut output = args.output.clone();
    output.price.get_or_insert(PRICE_PER_DEVICE_HOUR);
    let title = "A simulated shared fleet, one week".to_owned();
    let report = ReportRequest { title: Some(title), ..output::report(&output) };
    let answer = account_records(&records, &timelines, &inputs.report, &default_options(window), &report)?;
    account::print(&output, &answer)
}

/// The simulated week.
fn window_of(world: &World) -> Result<Window, CliError> {
    let seconds = |at| Timestamp::from_seconds(world.epoch(at));
    Ok(goodput_verbs::window(seconds(0), seconds(world.end()))?)
}

/// Every record of the world, through the readers that a site's files go through.
fn read(
    world: &World,
    inputs: &mut Inputs,
) -> Result<(FleetRecords, Vec<goodput_core::records::Timeline>), CliError> {
    let options = SlurmOptions { time_zone: Some(TimeZone::UTC), ..SlurmOptions::default() };
    let mut records = FleetRecords::new();
    let mut timelines = Vec::new();
    for (name, content) in world.files() {
        let bytes = content.as_slice();
        let file = FileId(u16::try_from(inputs.report.files.len()).unwrap_or(u16::MAX));
        let report: Result<_, ReadError> = match name.as_str() {
            "sacct.txt" => read_sacct(&name, file, bytes, &options, &mut records),
            "events.txt" => read_events(&name, file, bytes, &options, &mut records),
            "nodes.txt" => read_nodes(&name, file, bytes, None, &options, &mut records),
            "snapshots.jsonl" => read_snapshots(&name, file, bytes, &options, &mut records),
            "reservations.txt" => read_reservations(&name, file, bytes, &options, &mut records),
            log if log.starts_with("timelines/") => {
                // Not every format's log knows the scheduler's id: its file is named by it, as with `--timeline JOB=FILE`.
                let job = Path::new(log).file_stem().map(|stem| stem.to_string_lossy().into_owned());
                let read = read_timeline(
                    &name,
                    file,
                    bytes,
                    &TimelineOptions { job, ..TimelineOptions::default() },
                )?;
                timelines.extend(inputs.take_timelines(read, &Work::default()));
                continue;
            }
            _ => continue,
        };
        inputs.report.files.push(report?);
    }
    Ok((records, timelines))
}
