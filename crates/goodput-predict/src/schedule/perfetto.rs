//! The step in Chrome's trace format, which Perfetto opens: a process a stage, a thread for what the stage does and one for exchanges
//! with replicas, arrows for what stages send each other, a counter of the activations held.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::order::Pass;
use super::picture::{Doing, Picture, Row, Span};
use super::{Pipeline, positions};

/// Threads of a stage.
const STAGE: u32 = 1;
const REPLICAS: u32 = 2;

/// Writes a picture. Times are in microseconds, as the format asks; bubbles are left empty.
///
/// # Errors
/// That of the writer.
pub fn chrome_trace(pipeline: &Pipeline, picture: &Picture, out: &mut impl Write) -> io::Result<()> {
    let mut out = Events { out, is_first: true };
    out.out.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
    for (stage, row) in picture.rows.iter().enumerate() {
        out.name("process_name", stage, 0, &format!("stage {stage}"))?;
        out.name("thread_name", stage, STAGE, "stage")?;
        if !row.beside.is_empty() {
            out.name("thread_name", stage, REPLICAS, "exchange with replicas")?;
        }
        for span in &row.spans {
            out.span(stage, STAGE, span)?;
        }
        for span in &row.beside {
            out.span(stage, REPLICAS, span)?;
        }
        out.held(stage, row)?;
    }
    out.sends(pipeline, picture)?;
    out.out.write_all(b"\n]}\n")
}

struct Events<'a, W> {
    out: &'a mut W,
    is_first: bool,
}

fn microseconds(ns: f64) -> f64 {
    ns / 1e3
}

impl<W: Write> Events<'_, W> {
    fn event(&mut self, event: &Value) -> io::Result<()> {
        self.out.write_all(if std::mem::take(&mut self.is_first) { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *self.out, event).map_err(io::Error::from)
    }

    fn name(&mut self, what: &str, stage: usize, thread: u32, name: &str) -> io::Result<()> {
        self.event(&json!({"ph": "M", "name": what, "pid": stage, "tid": thread, "args": {"name": name}}))?;
        let (sort, index) = match what {
            "process_name" => ("process_sort_index", stage),
            _ => ("thread_sort_index", thread as usize),
        };
        self.event(
            &json!({"ph": "M", "name": sort, "pid": stage, "tid": thread, "args": {"sort_index": index}}),
        )
    }

    fn span(&mut self, stage: usize, thread: u32, span: &Span) -> io::Result<()> {
        if span.doing == Doing::Bubble || span.duration_ns == 0.0 {
            return Ok(());
        }
        // Device and stream: what readers of Kineto's traces ask of work on a device.
        let mut args = json!({"device": stage, "stream": thread});
        let mut name = span.doing.name().to_owned();
        if let Doing::Pass { part, micro_batch, .. } = span.doing {
            name = format!("{name} {micro_batch}");
            args["part"] = part.into();
            args["micro_batch"] = micro_batch.into();
        }
        self.event(&json!({
            "ph": "X", "pid": stage, "tid": thread, "cat": "kernel", "name": name, "cname": colour(span.doing),
            "ts": microseconds(span.start_ns), "dur": microseconds(span.duration_ns), "args": args,
        }))
    }

    fn held(&mut self, stage: usize, row: &Row) -> io::Result<()> {
        let mut held = 0.0;
        for span in row.spans.iter().filter(|span| span.held != 0.0) {
            held += span.held;
            let at = if span.held > 0.0 { span.start_ns } else { span.start_ns + span.duration_ns };
            self.event(&json!({
                "ph": "C", "pid": stage, "name": "activations held", "ts": microseconds(at), "args": {"bytes": held.max(0.0).round()},
            }))?;
        }
        Ok(())
    }

    /// An arrow from the end of a pass to the start of the one that needs its result.
    fn sends(&mut self, pipeline: &Pipeline, picture: &Picture) -> io::Result<()> {
        let mut starts = HashMap::new();
        let passes = |row: &Row| {
            let of = |span: &Span| match span.doing {
                Doing::Pass { pass, part, micro_batch } if pass != Pass::WeightGradient => {
                    Some((*span, pass.is_forward(), part, micro_batch))
                }
                _ => None,
            };
            row.spans.iter().filter_map(of).collect::<Vec<_>>()
        };
        for (stage, row) in picture.rows.iter().enumerate() {
            for (span, forward, part, micro_batch) in passes(row) {
                starts.insert((stage, part, micro_batch, forward), span);
            }
        }
        let mut id = 0_u64;
        for (stage, row) in picture.rows.iter().enumerate() {
            for (span, forward, part, micro_batch) in passes(row) {
                let [before, after] = positions(pipeline.schedule, pipeline.stages, stage, part);
                let Some((to, to_part)) =
                    (if forward { after } else { before }).filter(|(to, _)| *to != stage)
                else {
                    continue;
                };
                let Some(needs) = starts.get(&(to, to_part, micro_batch, forward)) else { continue };
                id += 1;
                let end = span.start_ns + span.duration_ns;
                // A paired backward is drawn as its other half: its arrow would point back in time.
                if needs.start_ns < end {
                    continue;
                }
                let name = if forward { "activations" } else { "gradients" };
                let arrow = |phase: &str, stage: usize, ns: f64| json!({"ph": phase, "id": id, "cat": "send", "name": name, "pid": stage, "tid": STAGE, "ts": microseconds(ns), "bp": "e"});
                // Inside the span that it leaves, as the format wants it.
                self.event(&arrow("s", stage, end - span.duration_ns / 100.0))?;
                self.event(&arrow("f", to, needs.start_ns))?;
            }
        }
        Ok(())
    }
}

/// A colour of the viewers' own palette.
const fn colour(doing: Doing) -> &'static str {
    match doing {
        Doing::Pass { pass: Pass::Forward, .. } => "thread_state_running",
        Doing::Pass { pass: Pass::WeightGradient, .. } => "rail_animation",
        Doing::Pass { pass: Pass::PairedForward | Pass::PairedBackward, .. } => "rail_load",
        Doing::Pass { .. } => "good",
        Doing::Send | Doing::Gather | Doing::Reduce => "thread_state_iowait",
        Doing::Host => "terrible",
        Doing::Optimizer => "rail_response",
        Doing::Bubble => "grey",
    }
}
