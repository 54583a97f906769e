//! Goodput's own log of a serving fleet, version 1: `docs/serving-format.md` and `schemas/serving.schema.json`.
//!
//! ```
//! use goodput_core::records::FileId;
//! use goodput_core::serving::ServingRecords;
//! use goodput_records::serving::read_serving;
//!
//! let log = br#"{"goodput_serving":1,"deployment":"chat","weight_bytes":140000000000,"device":"H100 SXM5"}
//! {"replica":"r1","at":1767225600.0,"event":"placed","devices":8,"pool":"serving"}
//! {"replica":"r1","at":1767225942.0,"event":"ready"}
//! {"replica":"r1","phase":"decode","from":1767225942.0,"to":1767225952.0,"steps":1000,"tokens":8000}
//! "#;
//! let mut records = ServingRecords::default();
//! let report = read_serving("fleet.jsonl", FileId(0), &log[..], &mut records)?;
//! assert_eq!((report.rows, report.used), (4, 4));
//! assert_eq!((records.events.len(), records.samples.len()), (2, 1));
//! # Ok::<(), goodput_records::ReadError>(())
//! ```

mod fields;

use std::collections::hash_map::Entry;
use std::io::{BufRead, BufReader, Read};

use goodput_core::Timestamp;
use goodput_core::records::{FileId, SourceRef, Symbol};
use goodput_core::serving::{
    Deployment, Replica, ReplicaEvent, ReplicaEventKind as Kind, ServingPoolSample, ServingRecords,
    WorkPhase, WorkSample,
};
use rustc_hash::FxHashMap;

use self::fields::{
    EVENTS, Fields, Problem, big, bits, count, few, nanoseconds, required, text, time, whole,
};
use crate::gzip::inflated;
use crate::lines::Lines;
use crate::{FileReport, ReadError, Treatment};

/// Reads one log, gzipped or not, and adds it to the records. A replica of two files is one if both declare the same
/// deployment.
///
/// # Errors
/// [`ReadError`] when the file cannot be read, or does not begin with a header of this format.
pub fn read_serving(
    label: &str,
    file: FileId,
    source: impl Read,
    records: &mut ServingRecords,
) -> Result<FileReport, ReadError> {
    let io = |source| ReadError::Io { path: label.to_owned(), source };
    let mut input = inflated(BufReader::new(source)).map_err(io)?;
    let mut log = Log::new(label, file, records);
    log.read(&mut *input, label)?;
    Ok(log.report)
}

struct Log<'a> {
    records: &'a mut ServingRecords,
    report: FileReport,
    file: FileId,
    deployment: Option<u32>,
    replicas: FxHashMap<(u32, Symbol), u32>,
    /// Each replica's latest event, to see order.
    latest: FxHashMap<u32, Timestamp>,
}

impl<'a> Log<'a> {
    fn new(label: &str, file: FileId, records: &'a mut ServingRecords) -> Self {
        let known = records.replicas.iter().enumerate();
        let replicas =
            known.map(|(index, replica)| ((replica.deployment, replica.name), index as u32)).collect();
        Self {
            report: FileReport::new(label, "goodput-serving"),
            file,
            deployment: None,
            replicas,
            latest: FxHashMap::default(),
            records,
        }
    }

    fn read(&mut self, reader: &mut dyn BufRead, label: &str) -> Result<(), ReadError> {
        let mut lines = Lines::new(reader, label);
        let refused = |line, message, remedy: &str| ReadError::Format {
            path: label.to_owned(),
            line,
            field: String::new(),
            message,
            remedy: remedy.to_owned(),
        };
        let header = "begin the file with a header: {\"goodput_serving\":1,\"deployment\":\"chat\"}";
        while let Some(line) = lines.next()? {
            let text = match line.text {
                Ok(text) if text.trim_ascii().is_empty() => continue,
                Ok(text) => text,
                Err(problem) => {
                    self.report.rows += 1;
                    self.refuse(
                        line.number,
                        Problem { code: "bad_text", field: "", message: format!("the line is {problem}") },
                    );
                    continue;
                }
            };
            let parsed = Fields::parse(text);
            let is_header = parsed.as_ref().is_ok_and(|fields| fields.goodput_serving.is_some());
            if let Some(fields) = parsed.as_ref().ok().filter(|_| is_header) {
                fields.version().map_err(|problem| {
                    refused(line.number, problem.message, "convert the file to version 1")
                })?;
            } else if self.deployment.is_none() {
                let message = match parsed {
                    Ok(_) => "no header before the first record".to_owned(),
                    Err(problem) => format!("the header cannot be read: {}", problem.message),
                };
                return Err(refused(line.number, message, header));
            }
            self.report.rows += 1;
            match parsed.and_then(|fields| self.record(&fields, line.number)) {
                Ok(()) => self.report.used += 1,
                Err(Problem { field, message, .. }) if is_header && self.deployment.is_none() => {
                    return Err(ReadError::Format {
                        path: label.to_owned(),
                        line: line.number,
                        field: field.to_owned(),
                        message,
                        remedy: "correct the header, or leave the field out (docs/serving-format.md)"
                            .to_owned(),
                    });
                }
                Err(problem) => {
                    let code = if line.terminated { problem.code } else { "truncated_line" };
                    self.refuse(line.number, Problem { code, ..problem });
                }
            }
        }
        if self.deployment.is_none() {
            return Err(refused(0, "the file is empty".to_owned(), header));
        }
        Ok(())
    }

    fn refuse(&mut self, line: u32, problem: Problem) {
        self.report.find(Treatment::Refused, problem.code, line, problem.field, || problem.message);
    }

    fn record(&mut self, fields: &Fields<'_>, line: u32) -> Result<(), Problem> {
        let source = SourceRef { file: self.file, line };
        if fields.goodput_serving.is_some() {
            return self.header(fields, source);
        }
        if fields.event.is_some() {
            return self.event(fields, source);
        }
        if fields.phase.is_some() {
            return self.sample(fields, source);
        }
        if fields.free_devices.is_some() || fields.waiting_replicas.is_some() {
            return self.pool(fields, source);
        }
        Err(Problem {
            code: "unknown_record",
            field: "",
            message:
                "expected an event, a phase with its work, or free_devices of a pool; the line is not used"
                    .to_owned(),
        })
    }

    fn header(&mut self, fields: &Fields<'_>, source: SourceRef) -> Result<(), Problem> {
        let owned = |field, raw| Ok(text(field, raw)?.map(std::borrow::Cow::into_owned));
        let partial_samples = match text("samples", fields.samples)?.as_deref() {
            None | Some("complete") => false,
            Some("partial") => true,
            Some(_) => return Err(Problem::value("samples", "complete or partial")),
        };
        let declared = Deployment {
            name: owned("deployment", fields.deployment)?.unwrap_or_default(),
            model: owned("model", fields.model)?,
            device: owned("device", fields.device)?,
            dtype: owned("dtype", fields.dtype)?,
            weight_bytes: count("weight_bytes", fields.weight_bytes)?,
            kv_bytes_per_token: count("kv_bytes_per_token", fields.kv_bytes_per_token)?,
            weight_bits: bits("weight_bits", fields.weight_bits)?,
            kv_bits: bits("kv_bits", fields.kv_bits)?,
            prefill_flops_per_token: count("prefill_flops_per_token", fields.prefill_flops_per_token)?,
            partial_samples,
            source,
        };
        let deployments = &mut self.records.deployments;
        let same = |known: &Deployment| Deployment { source, ..known.clone() } == declared;
        let index = deployments.iter().position(same).unwrap_or_else(|| {
            deployments.push(declared);
            deployments.len() - 1
        });
        self.deployment = u32::try_from(index).ok();
        Ok(())
    }

    fn replica(&mut self, fields: &Fields<'_>) -> Result<u32, Problem> {
        let name = required("replica", text("replica", fields.replica)?)?;
        if name.is_empty() {
            return Err(Problem::value("replica", "a name"));
        }
        let name = self.records.symbols.intern(&name);
        let deployment = self.deployment.unwrap_or_default();
        Ok(match self.replicas.entry((deployment, name)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.records.replicas.push(Replica { name, deployment });
                *new.insert(u32::try_from(self.records.replicas.len() - 1).unwrap_or(u32::MAX))
            }
        })
    }

    fn event(&mut self, fields: &Fields<'_>, source: SourceRef) -> Result<(), Problem> {
        let word = required("event", text("event", fields.event)?)?;
        let at = required("at", time("at", fields.at)?)?;
        let kind = match &*word {
            "requested" => Kind::Requested,
            "placed" => Kind::Placed {
                devices: required("devices", few("devices", count("devices", fields.devices)?)?)?,
            },
            "weights_loaded" => Kind::WeightsLoaded,
            "compiled" => Kind::Compiled,
            "warm" => Kind::Warm,
            "ready" => Kind::Ready,
            "draining" => Kind::Draining,
            "failed" => Kind::Failed,
            "restarting" => Kind::Restarting,
            "released" => Kind::Released,
            other => return Err(Problem::word("event", other, &EVENTS)),
        };
        let pool = text("pool", fields.pool)?.unwrap_or_default();
        let device = text("device", fields.device)?.unwrap_or_default();
        let replica = self.replica(fields)?;
        let symbols = &mut self.records.symbols;
        let (pool, device) = (symbols.intern(&pool), symbols.intern(&device));
        self.records.events.push(ReplicaEvent { replica, at, kind, pool, device, source });
        let latest = self.latest.entry(replica).or_insert(at);
        if at < *latest {
            let (later, line) = (*latest, source.line);
            self.report.find(Treatment::Repaired, "out_of_order", line, "at", || {
                format!("the event is stamped {at}, before an earlier line's {later}; events are put in order of time")
            });
        }
        *latest = (*latest).max(at);
        Ok(())
    }

    fn sample(&mut self, fields: &Fields<'_>, source: SourceRef) -> Result<(), Problem> {
        let phase = match &*required("phase", text("phase", fields.phase)?)? {
            "decode" => WorkPhase::Decode,
            "prefill" => WorkPhase::Prefill,
            _ => return Err(Problem::value("phase", "decode or prefill")),
        };
        let from = required("from", time("from", fields.from)?)?;
        let to = required("to", time("to", fields.to)?)?;
        if to <= from {
            return Err(Problem::value("to", "an end after from"));
        }
        let tokens = required("tokens", whole("tokens", fields.tokens)?)?;
        let steps = match phase {
            WorkPhase::Decode => self.decode_steps(fields, tokens)?,
            WorkPhase::Prefill => count("prompts", fields.prompts)?.unwrap_or(1),
        };
        let step_ns = nanoseconds("step_ns", fields.step_ns)?;
        let busy_ns = busy_ns(fields, steps, step_ns, to - from)?;
        let (dispatch_ns, exchange_ns) = (
            nanoseconds("dispatch_ns", fields.dispatch_ns)?,
            nanoseconds("exchange_ns", fields.exchange_ns)?,
        );
        let exposed = i128::from(dispatch_ns.unwrap_or(0)) + i128::from(exchange_ns.unwrap_or(0));
        if exposed * i128::from(steps) > i128::from(busy_ns) {
            let expected = "dispatch_ns + exchange_ns of a step at most the step's own time";
            return Err(Problem::value(
                if dispatch_ns.is_some() { "dispatch_ns" } else { "exchange_ns" },
                expected,
            ));
        }
        let requests = whole("requests", fields.requests)?;
        let within = whole("requests_within_targets", fields.requests_within_targets)?;
        if within.is_some_and(|within| requests.is_none_or(|requests| within > requests)) {
            return Err(Problem::value("requests_within_targets", "at most requests"));
        }
        let replica = self.replica(fields)?;
        self.records.samples.push(WorkSample {
            replica,
            phase,
            from,
            to,
            busy_ns,
            steps,
            tokens,
            kv_tokens: whole("kv_tokens", fields.kv_tokens)?,
            dispatch_ns,
            exchange_ns,
            traffic_bytes: whole("traffic_bytes", fields.traffic_bytes)?,
            flops: big("flops", fields.flops)?,
            requests: requests.zip(within),
            source,
        });
        Ok(())
    }

    /// Steps as stated, or tokens over the batch.
    fn decode_steps(&self, fields: &Fields<'_>, tokens: u64) -> Result<u64, Problem> {
        if let Some(steps) = count("steps", fields.steps)? {
            return Ok(steps);
        }
        let batch = count("batch", fields.batch)?;
        let steps = batch.filter(|batch| tokens.is_multiple_of(*batch)).map(|batch| tokens / batch);
        steps
            .filter(|steps| *steps > 0)
            .ok_or_else(|| Problem::value("steps", "steps, or a batch that divides the tokens"))
    }

    fn pool(&mut self, fields: &Fields<'_>, source: SourceRef) -> Result<(), Problem> {
        let at = required("at", time("at", fields.at)?)?;
        let free_devices =
            required("free_devices", few("free_devices", whole("free_devices", fields.free_devices)?)?)?;
        let node = few("devices_per_node", count("devices_per_node", fields.devices_per_node)?)?;
        let replica_devices = required(
            "devices_per_node",
            few("replica_devices", count("replica_devices", fields.replica_devices)?)?.or(node),
        )?;
        let whole_nodes = whole("whole_free_nodes", fields.whole_free_nodes)?;
        let in_whole_nodes = whole_nodes.zip(node).map(|(nodes, node)| nodes.saturating_mul(node));
        if in_whole_nodes.is_some_and(|devices| devices > free_devices) {
            return Err(Problem::value("whole_free_nodes", "whole nodes of at most free_devices devices"));
        }
        let placeable = match whole("placeable_replicas", fields.placeable_replicas)? {
            Some(placeable) => placeable,
            None => required("whole_free_nodes", in_whole_nodes)? / replica_devices,
        };
        if placeable.saturating_mul(replica_devices) > free_devices {
            return Err(Problem::value("placeable_replicas", "replicas of at most free_devices devices"));
        }
        let waiting_replicas =
            few("waiting_replicas", whole("waiting_replicas", fields.waiting_replicas)?)?.unwrap_or(0);
        let pool = text("pool", fields.pool)?.unwrap_or_default();
        let pool = self.records.symbols.intern(&pool);
        self.records.pools.push(ServingPoolSample {
            pool,
            at,
            free_devices,
            replica_devices,
            placeable_replicas: placeable,
            waiting_replicas,
            source,
        });
        Ok(())
    }
}

/// Time in which the phase ran: as stated, as steps of a stated length, or the whole interval.
fn busy_ns(fields: &Fields<'_>, steps: u64, step_ns: Option<i64>, length_ns: i64) -> Result<i64, Problem> {
    let stated = nanoseconds("busy_ns", fields.busy_ns)?;
    let of_steps =
        step_ns.map(|each| i64::try_from(i128::from(each) * i128::from(steps)).unwrap_or(i64::MAX));
    let field = if stated.is_some() { "busy_ns" } else { "step_ns" };
    match stated.or(of_steps).unwrap_or(length_ns) {
        0 => Err(Problem::value(field, "a busy time above 0")),
        busy if busy > length_ns => Err(Problem::value(field, "a busy time of at most to - from")),
        busy => Ok(busy),
    }
}
