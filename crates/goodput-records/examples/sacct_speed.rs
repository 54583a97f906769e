//! How fast a job table is read, and in how much memory.
//!
//!     cargo run --release -p goodput-records --example sacct_speed -- write text 1000000 /tmp/sacct.txt
//!     cargo run --release -p goodput-records --example sacct_speed -- read /tmp/sacct.txt
//!
//! Writes a table of that many attempts (`text`: the export of docs/readers.md, 23 columns, local
//! times; `json`: one step a job), or reads one on one thread and prints the rate.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Instant;

use goodput_core::records::{FileId, FleetRecords};
use goodput_records::scheduler::slurm::{SlurmOptions, sacct::read_sacct};
use jiff::Timestamp;
use jiff::tz::TimeZone;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let zone = TimeZone::get("America/New_York")?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write", "text", rows, path] => {
            write_text(&mut BufWriter::new(File::create(path)?), rows.parse()?, &zone)
        }
        ["write", "json", rows, path] => write_json(&mut BufWriter::new(File::create(path)?), rows.parse()?),
        ["read", path] => read(path, zone),
        _ => Err("usage: sacct_speed write text|json ROWS FILE, or: sacct_speed read FILE".into()),
    }
}

fn read(path: &str, zone: TimeZone) -> Result<(), Box<dyn Error>> {
    let options = SlurmOptions { time_zone: Some(zone), ..SlurmOptions::default() };
    let mut records = FleetRecords::new();
    let started = Instant::now();
    let report = read_sacct(path, FileId(0), File::open(path)?, &options, &mut records)?;
    let seconds = started.elapsed().as_secs_f64();
    let megabytes = std::fs::metadata(path)?.len() as f64 / 1e6;
    println!(
        "{}: {} rows used, {} refused, {megabytes:.1} MB in {seconds:.3} s: {:.0} MB/s, {:.0} rows/s, peak {}",
        report.format,
        report.used,
        report.refused,
        megabytes / seconds,
        report.rows as f64 / seconds,
        peak_memory(),
    );
    Ok(())
}

/// A job whose fields follow from its number alone.
struct Job {
    id: u64,
    submit: i64,
    start: i64,
    end: i64,
    nodes: u64,
    first_node: u64,
    user: u64,
    state: &'static str,
}

fn job(number: u64) -> Job {
    let mut seed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d;
    let mut pick = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let submit = 1_767_225_600 + i64::try_from(number * 31 / 2).unwrap_or(0);
    let start = submit + i64::try_from(pick(7_200)).unwrap_or(0);
    let states =
        ["COMPLETED", "COMPLETED", "COMPLETED", "FAILED", "CANCELLED by 1003", "TIMEOUT", "NODE_FAIL"];
    let nodes = 1 << pick(5);
    Job {
        id: 1_000_000 + number,
        submit,
        start,
        end: start + i64::try_from(pick(36_000)).unwrap_or(0),
        nodes,
        first_node: pick(2_000 / nodes) * nodes,
        user: pick(300),
        state: states[usize::try_from(pick(7)).unwrap_or(0)],
    }
}

fn write_text(output: &mut impl Write, rows: u64, zone: &TimeZone) -> Result<(), Box<dyn Error>> {
    let names = "JobIDRaw,JobID,User,Account,Partition,QOS,Reservation,State,ExitCode,Submit,Eligible,Start,End,\
                 Suspended,ElapsedRaw,Timelimit,NNodes,ReqTRES,AllocTRES,NodeList,Flags,Reason,JobName";
    writeln!(output, "{}", names.replace(',', "\x1f"))?;
    // Not the hour that occurs twice: such rows are refused.
    let local = |seconds: i64| -> Result<String, Box<dyn Error>> {
        let civil = |seconds| Ok::<_, jiff::Error>(zone.to_datetime(Timestamp::from_second(seconds)?));
        let is_twice = zone.to_ambiguous_timestamp(civil(seconds)?).is_ambiguous();
        let shown = civil(if is_twice { seconds + 7_200 } else { seconds })?;
        Ok(shown.strftime("%Y-%m-%dT%H:%M:%S").to_string())
    };
    for number in 0..rows {
        let Job { id, submit, start, end, nodes, first_node, user, state } = job(number);
        let (cpus, gpus, last_node) = (nodes * 64, nodes * 8, first_node + nodes - 1);
        let node_list = match nodes {
            1 => format!("gpu{first_node:04}"),
            _ => format!("gpu[{first_node:04}-{last_node:04}]"),
        };
        let (submit, start_text, end_text) = (local(submit)?, local(start)?, local(end.max(start))?);
        let elapsed = end - start;
        let fields = [
            format!(
                "{id}\x1f{id}\x1fuser{user}\x1faccount{}\x1ftrain\x1fnormal\x1f\x1f{state}\x1f0:0",
                user % 20
            ),
            format!(
                "{submit}\x1f{submit}\x1f{start_text}\x1f{end_text}\x1f00:00:00\x1f{elapsed}\x1f2-00:00:00"
            ),
            format!("{nodes}\x1fbilling={cpus},cpu={cpus},gres/gpu={gpus},mem={nodes}000G,node={nodes}"),
            format!(
                "billing={cpus},cpu={cpus},gres/gpu:h100={gpus},gres/gpu={gpus},mem={nodes}000G,node={nodes}"
            ),
            format!("{node_list}\x1fSchedBackfill,StartReceived\x1fNone\x1fpretrain-{}", user * 7 % 5_000),
        ];
        writeln!(output, "{}", fields.join("\x1f"))?;
    }
    Ok(())
}

fn write_json(output: &mut impl Write, rows: u64) -> Result<(), Box<dyn Error>> {
    write!(output, "{{\"meta\": {{\"plugin\": {{\"data_parser\": \"data_parser/v0.0.42\"}}}}, \"jobs\": [")?;
    for number in 0..rows {
        let Job { id, submit, start, end, nodes, first_node, user, state } = job(number);
        let state = state.split(' ').next().unwrap_or_default();
        let tres = format!(
            "[{{\"type\": \"cpu\", \"name\": \"\", \"id\": 1, \"count\": {}}}, {{\"type\": \"node\", \"name\": \"\", \
             \"id\": 4, \"count\": {nodes}}}, {{\"type\": \"gres\", \"name\": \"gpu\", \"id\": 1001, \"count\": {}}}]",
            nodes * 64,
            nodes * 8
        );
        let elapsed = end - start;
        let last_node = first_node + nodes - 1;
        let unset = "{\"set\": false, \"infinite\": false, \"number\": 0}";
        let time = format!(
            "{{\"elapsed\": {elapsed}, \"eligible\": {submit}, \"end\": {end}, \"start\": {start}, \"submission\": \
             {submit}, \"suspended\": 0, \"limit\": {{\"set\": true, \"infinite\": false, \"number\": 2880}}}}"
        );
        if number > 0 {
            write!(output, ",")?;
        }
        write!(
            output,
            "{{\"account\": \"account{}\", \"allocation_nodes\": {nodes}, \"array\": {{\"job_id\": 0, \"task_id\": {unset}, \
             \"task\": \"\"}}, \"cluster\": \"vgpu\", \"het\": {{\"job_id\": 0, \"job_offset\": {unset}}}, \"job_id\": {id}, \
             \"name\": \"pretrain-{}\", \"nodes\": \"gpu[{first_node:04}-{last_node:04}]\", \"partition\": \"train\", \
             \"qos\": \"normal\", \"reservation\": {{\"id\": 0, \"name\": \"\"}}, \"state\": {{\"current\": [\"{state}\"], \
             \"reason\": \"None\"}}, \"steps\": [{{\"time\": {time}, \"tres\": {{\"allocated\": {tres}}}}}], \"time\": {time}, \
             \"tres\": {{\"allocated\": {tres}, \"requested\": {tres}}}, \"user\": \"user{user}\"}}",
            user % 20,
            user * 7 % 5_000
        )?;
    }
    write!(output, "]}}")?;
    Ok(())
}

/// The high-water mark of resident memory, where the system tells it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or_else(|| "unknown".to_owned(), |peak| peak.trim().to_owned())
}
