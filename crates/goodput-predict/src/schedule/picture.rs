//! The step as rows: for a picture, and for a trace that Perfetto opens.

use std::io::{self, Write};

use super::order::Pass;
use super::program::Kind;
use super::{Pipeline, parts_of_a_stage};

/// One pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// Stage on which it runs.
    pub stage: usize,
    /// Part of the stage.
    pub part: usize,
    /// Micro-batch.
    pub micro_batch: usize,
    /// What runs.
    pub pass: Pass,
    /// Start, from the start of the step.
    pub start_ns: f64,
    /// End.
    pub end_ns: f64,
}

impl Event {
    /// The event of an operation; none for a wait, or for the half of a pair that its other half shows.
    pub(super) fn of_class(
        pipeline: &Pipeline,
        class: usize,
        micro_batch: usize,
        start_ns: f64,
        end_ns: f64,
    ) -> Option<Self> {
        let (parts, at) = (parts_of_a_stage(pipeline.schedule), class / Kind::COUNT);
        let pass = Kind::ALL[class % Kind::COUNT].pass()?;
        Some(Self { stage: at / parts, part: at % parts, micro_batch, pass, start_ns, end_ns })
    }
}

impl Pass {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::InputGradient => "input gradient",
            Self::WeightGradient => "weight gradient",
            Self::PairedForward => "forward beside backward",
            Self::PairedBackward => "backward beside forward",
        }
    }
}

/// Writes the events in Chrome's trace format, a process a stage; times in microseconds as the format asks.
pub fn chrome_trace(events: &[Event], out: &mut impl Write) -> io::Result<()> {
    write!(out, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
    let stages = events.iter().map(|event| event.stage + 1).max().unwrap_or(0);
    for stage in 0..stages {
        let comma = if stage == 0 { "" } else { "," };
        write!(
            out,
            "{comma}\n{{\"ph\":\"M\",\"pid\":{stage},\"name\":\"process_name\",\"args\":{{\"name\":\"stage {stage}\"}}}}"
        )?;
    }
    for event in events {
        write!(
            out,
            ",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":0,\"name\":\"{}\",\"ts\":{:.3},\"dur\":{:.3},\"args\":{{\"part\":{},\"micro_batch\":{}}}}}",
            event.stage,
            event.pass.name(),
            event.start_ns / 1e3,
            (event.end_ns - event.start_ns) / 1e3,
            event.part,
            event.micro_batch
        )?;
    }
    writeln!(out, "\n]}}")
}
