//! Megatron-LM's stdout, in the dialects from core_v0.6.0 (which stamps its lines) on, with what Slurm
//! prints into the same file. One file may hold several attempts.
//!
//! The elapsed time that a line prints leaves evaluation and checkpoints out, so it and the timers of
//! those together must fill the time between two stamps: see [`placement`].

mod attempt;
mod interval;
mod message;
mod placement;
mod saves;

use std::io::BufRead;

use memchr::memmem;

use self::attempt::Job;
use self::message::Message;
use super::clock::WallClock;
use super::draft::Draft;
use super::{Account, Format, Source};
use crate::ReadError;
use crate::lines::Lines;

pub(super) const FORMAT: Format = Format { name: "megatron", sniff, read };

fn sniff(head: &[u8]) -> bool {
    let marks: [&[u8]; 4] = [
        b"elapsed time per iteration (ms)",
        b"[after megatron is initialized]",
        b"time to initialize megatron",
        b"using world size:",
    ];
    marks.iter().any(|mark| memmem::find(head, mark).is_some())
}

fn read(reader: &mut dyn BufRead, source: &Source<'_>) -> Result<Vec<Account>, ReadError> {
    let mut lines = Lines::new(reader, source.label);
    let mut job = Job::new(Draft::new(source.label, FORMAT.name, source.file), WallClock::new(source)?);
    while let Some(line) = lines.next()? {
        let Ok(text) = line.text else {
            job.draft.report.rows += 1;
            job.draft.skip("line that is not text");
            continue;
        };
        if text.trim_ascii().is_empty() {
            continue;
        }
        job.draft.report.rows += 1;
        match message::read(text) {
            None => job.draft.skip("other output"),
            Some(Message::Iteration(Err(field))) => {
                let code = if line.terminated { "bad_value" } else { "truncated_line" };
                job.draft.refuse(code, line.number, field, || {
                    format!(
                        "an iteration's line without a readable {field}; its time stays in the next interval"
                    )
                });
            }
            Some(message) => job.take(message, line.number),
        }
    }
    job.finish(source)
}
