//! What one line of Megatron-LM's stdout says.
//!
//! Launchers put `[default0]:` (torchrun), `3: ` (srun -l) or `[Rank 0]:` before a line.

use crate::decimal::scaled;

/// A line that means something.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message<'a> {
    /// The line of a log interval; an error names its bad field.
    Iteration(Result<Iteration<'a>, &'static str>),
    /// `using world size: 8`.
    WorldSize(u64),
    /// `  seq_length ................... 4096`.
    Argument { name: &'a str, value: &'a str },
    /// `[after dataloaders are built] datetime: 2025-04-13 23:41:00`.
    Milestone { name: &'a str, stamp: &'a str },
    /// `time to initialize megatron (seconds): 9.579`, which the next milestone ends.
    Initialized { took_ns: i64 },
    /// `    evaluate ........: (3274.73, 3275.01)`: the slowest rank's time.
    Timer { name: &'a str, took_ns: i64 },
    /// `saving checkpoint at iteration 100 to ..`.
    Saving { stamp: Option<&'a str>, iteration: u64 },
    /// `successfully saved checkpoint from iteration 100 to ..`.
    Saved { stamp: Option<&'a str>, iteration: u64 },
    /// `successfully loaded checkpoint from .. at iteration 100`.
    Loaded { iteration: u64 },
    /// `will not load any checkpoints and will start from random`.
    StartsFresh,
    /// Slurm's word that it ended the job.
    Cancelled { stamp: &'a str, reason: &'a str },
}

/// The line of one log interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Iteration<'a> {
    /// Absent up to core_v0.5.0.
    pub stamp: Option<&'a str>,
    /// The iteration just done, counted from 1.
    pub number: u64,
    /// Iterations planned.
    pub planned: u64,
    pub consumed_samples: Option<u64>,
    /// Average over the interval, evaluation and checkpoints excluded.
    pub elapsed_ns: i64,
    /// `throughput per GPU (TFLOP/s/GPU)`, in FLOP/s.
    pub flops_per_second: Option<u64>,
    /// Whether a `TFLOPs` of older or foreign builds is there, whose convention is not known.
    pub other_tflops: bool,
    pub global_batch: Option<u64>,
    /// Iterations of the interval whose update was skipped (loss-scale overflow).
    pub skipped: u64,
    pub nan: u64,
}

/// Reads one line; `None` when it says nothing that a timeline needs.
pub(super) fn read(line: &str) -> Option<Message<'_>> {
    if let Some(message) = iteration(line) {
        return Some(message);
    }
    if let Some(message) = cancelled(line) {
        return Some(message);
    }
    let (stamp, text) = leading_stamp(without_prefix(line));
    if let Some(rest) = text.strip_prefix("saving checkpoint at iteration") {
        return Some(Message::Saving { stamp, iteration: first_number(rest)? });
    }
    if let Some(rest) = text.strip_prefix("successfully saved checkpoint from iteration") {
        return Some(Message::Saved { stamp, iteration: first_number(rest)? });
    }
    if text.starts_with("successfully loaded checkpoint from") {
        return Some(Message::Loaded { iteration: first_number(text.rsplit_once("at iteration")?.1)? });
    }
    if text.starts_with("will not load any checkpoints and will start from random") {
        return Some(Message::StartsFresh);
    }
    if let Some(rest) = text.strip_prefix("using world size:") {
        return Some(Message::WorldSize(first_number(rest)?));
    }
    if let Some(rest) = text.strip_prefix("time to initialize megatron (seconds):") {
        return Some(Message::Initialized { took_ns: scaled(rest.trim(), 9)? });
    }
    if let Some((name, stamp)) = text.strip_prefix('[').and_then(|rest| rest.split_once("] datetime:")) {
        return Some(Message::Milestone { name: name.trim(), stamp: stamp.trim() });
    }
    dotted(text)
}

/// The line without what launchers put before it.
fn without_prefix(line: &str) -> &str {
    let mut text = line.trim();
    loop {
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]:"))
            .filter(|(tag, _)| tag.starts_with("default") || tag.to_ascii_lowercase().starts_with("rank"))
            .or_else(|| text.split_once(": ").filter(|(rank, _)| is_number(rank)))
            .map(|(_, rest)| rest.trim_start());
        match bare {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}

/// A stamp in brackets before the text, as core_v0.16.0 puts before its checkpoint lines.
fn leading_stamp(text: &str) -> (Option<&str>, &str) {
    match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((stamp, rest)) if is_stamp(stamp) => (Some(stamp), rest.trim_start()),
        _ => (None, text),
    }
}

fn is_stamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 19 && bytes[4] == b'-' && bytes[7] == b'-' && bytes[10] == b' ' && bytes[13] == b':'
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn first_number(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// `[stamp] iteration N/ M | key: value | ..`, wherever it begins in the line.
fn iteration(line: &str) -> Option<Message<'_>> {
    let mut from = 0;
    loop {
        let at = from + memchr::memmem::find(line.get(from..)?.as_bytes(), b"iteration ")?;
        from = at + "iteration ".len();
        let (before, rest) = (line.get(..at)?, line.get(from..)?);
        let Some((numbers, fields)) = rest.split_once('|') else { continue };
        let Some((number, planned)) = numbers.split_once('/') else { continue };
        if let (Ok(number), Ok(planned)) = (number.trim().parse(), planned.trim().parse()) {
            return Some(Message::Iteration(interval(before, number, planned, fields)));
        }
    }
}

fn interval<'a>(
    before: &'a str,
    number: u64,
    planned: u64,
    fields: &'a str,
) -> Result<Iteration<'a>, &'static str> {
    let stamp =
        before.trim_end().strip_suffix(']').and_then(|text| text.rsplit_once('[')).map(|(_, stamp)| stamp);
    let mut found = Iteration {
        stamp: stamp.filter(|stamp| is_stamp(stamp)),
        number,
        planned,
        consumed_samples: None,
        elapsed_ns: -1,
        flops_per_second: None,
        other_tflops: false,
        global_batch: None,
        skipped: 0,
        nan: 0,
    };
    for field in fields.split('|') {
        let Some((name, value)) = field.split_once(": ") else { continue };
        let value = value.trim();
        match name.trim() {
            "consumed samples" => {
                found.consumed_samples = Some(value.parse().map_err(|_| "consumed samples")?)
            }
            "elapsed time per iteration (ms)" => {
                let elapsed = scaled(value, 6).filter(|ns| *ns >= 0);
                found.elapsed_ns = elapsed.ok_or("elapsed time per iteration (ms)")?;
            }
            "throughput per GPU (TFLOP/s/GPU)" => {
                found.flops_per_second = scaled(value, 12).and_then(|flops| u64::try_from(flops).ok());
            }
            "TFLOPs" => found.other_tflops = true,
            "global batch size" => found.global_batch = Some(value.parse().map_err(|_| "global batch size")?),
            "number of skipped iterations" => found.skipped = value.parse().unwrap_or(0),
            "number of nan iterations" => found.nan = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    if found.elapsed_ns < 0 { Err("elapsed time per iteration (ms)") } else { Ok(found) }
}

/// `slurmstepd: error: *** JOB 123 ON n1 CANCELLED AT 2026-07-02T16:04:53 DUE TO PREEMPTION ***`.
fn cancelled(line: &str) -> Option<Message<'_>> {
    let (before, rest) = line.split_once(" CANCELLED AT ")?;
    if !before.contains("*** JOB ") && !before.contains("*** STEP ") {
        return None;
    }
    let rest = rest.split("***").next()?.trim();
    let (stamp, reason) = rest.split_once(" DUE TO ").unwrap_or((rest, ""));
    Some(Message::Cancelled { stamp: stamp.trim(), reason: reason.trim() })
}

/// `name .......... value`: an argument, or a timer whose value is `(min, max)` in milliseconds.
fn dotted(text: &str) -> Option<Message<'_>> {
    let (name, rest) = text.split_once(" ..")?;
    let rest = rest.trim_start_matches('.');
    if let Some(times) = rest.strip_prefix(':') {
        let times = times.trim().strip_prefix('(').map_or(times.trim(), |pair| pair.trim_end_matches(')'));
        let slowest = times.rsplit(',').next()?.trim();
        return Some(Message::Timer { name, took_ns: scaled(slowest, 6).filter(|ns| *ns >= 0)? });
    }
    let value = rest.strip_prefix(' ')?.trim();
    (!name.contains(' ')).then_some(Message::Argument { name, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;
    use std::path::PathBuf;

    fn shared(name: &str) -> Option<String> {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../../shared/data/timelines/megatron")
            .join(name);
        let text = std::fs::read_to_string(path).ok();
        if text.is_none() {
            println!("skipped: ../shared is not there");
        }
        text
    }

    #[test]
    fn every_dialect_in_the_variants() {
        let Some(text) = shared("variants.log") else { return };
        let lines: Vec<_> = text.lines().map(read).collect();
        assert_eq!(lines.len(), 9);
        // (stamp, iteration, planned, samples, ms, GFLOP/s, other TFLOPs, batch, skipped)
        let expected = [
            (None, 200, 1000, 800, 430.0, None, false, 4, 0),
            (None, 10, 5000, 1920, 32_054.4, None, true, 192, 3),
            (Some("2025-05-09 06:22:40"), 1, 10, 32, 21_648.3, Some(17_700), false, 32, 0),
            (Some("2025-05-09 06:22:43"), 2, 10, 64, 3_156.5, Some(121_400), false, 32, 0),
            (Some("2025-05-09 06:11:17"), 1, 10, 32, 21_847.9, Some(4_500), false, 32, 0),
            (Some("2025-05-09 06:11:20"), 2, 10, 64, 3_286.6, Some(30_200), false, 32, 0),
            (Some("2025-05-27 15:23:07"), 1, 24_000, 1024, 271_607.0, Some(40_400), false, 1024, 0),
            (Some("2026-05-29 03:52:45"), 300, 300, 307_200, 131_064.1, Some(412_300), false, 1024, 0),
        ];
        assert_eq!(lines[1], None, "the timers' line of 2021");
        let iterations = lines.iter().filter_map(|line| match line {
            Some(Message::Iteration(iteration)) => Some((*iteration).unwrap()),
            _ => None,
        });
        let found: Vec<_> = iterations
            .map(|i| {
                let gflops = i.flops_per_second.map(|flops| flops / 1_000_000_000);
                let (samples, batch) = (i.consumed_samples.unwrap(), i.global_batch.unwrap());
                let ms = i.elapsed_ns as f64 / 1e6;
                (i.stamp, i.number, i.planned, samples, ms, gflops, i.other_tflops, batch, i.skipped)
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case("using world size: 8, data-parallel size: 2", Message::WorldSize(8))]
    #[case("[default3]:  seq_length ...................................... 4096", Message::Argument { name: "seq_length", value: "4096" })]
    #[case("0: [after dataloaders are built] datetime: 2025-04-13 23:41:00 ", Message::Milestone { name: "after dataloaders are built", stamp: "2025-04-13 23:41:00" })]
    #[case("    evaluate .......................................: (3274.73, 3275.5)", Message::Timer { name: "evaluate", took_ns: 3_275_500_000 })]
    #[case("time to initialize megatron (seconds): 9.579", Message::Initialized { took_ns: 9_579_000_000 })]
    #[case("saving checkpoint at iteration     100 to /c in torch_dist format", Message::Saving { stamp: None, iteration: 100 })]
    #[case("[Rank 0]: [2026-05-01 10:00:00.123456] saving checkpoint at iteration     100 to /c", Message::Saving { stamp: Some("2026-05-01 10:00:00.123456"), iteration: 100 })]
    #[case("  [2026-05-01 10:00:00.123456] successfully saved checkpoint from iteration     100 to /c [ t 1/1, p 1/1 ]", Message::Saved { stamp: Some("2026-05-01 10:00:00.123456"), iteration: 100 })]
    #[case("  successfully loaded checkpoint from /c [ t 1/2, p 1/4 ] at iteration 250", Message::Loaded { iteration: 250 })]
    #[case("    will not load any checkpoints and will start from random", Message::StartsFresh)]
    #[case("slurmstepd: error: *** JOB 636782 ON n-805 CANCELLED AT 2026-07-02T16:04:53 DUE TO PREEMPTION ***", Message::Cancelled { stamp: "2026-07-02T16:04:53", reason: "PREEMPTION" })]
    #[case("slurmstepd: error: *** STEP 1.0 ON n CANCELLED AT 2026-07-02T16:04:53 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***", Message::Cancelled { stamp: "2026-07-02T16:04:53", reason: "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS" })]
    #[case("slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2026-07-02T16:04:53 ***", Message::Cancelled { stamp: "2026-07-02T16:04:53", reason: "" })]
    #[case("x slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2026-07-02T16:04:53 ***slurmstepd: error: *** STEP 1.0 ON n CANCELLED AT 2026-07-02T16:04:53 ***", Message::Cancelled { stamp: "2026-07-02T16:04:53", reason: "" })]
    fn other_lines(#[case] line: &str, #[case] expected: Message<'_>) {
        assert_eq!(read(line), Some(expected));
    }

    #[rstest]
    #[case(
        " [2025-05-09 06:22:40] iteration        1/      10 | consumed samples:           32 | elap",
        "elapsed time per iteration (ms)"
    )]
    #[case(
        " [2025-05-09 06:22:40] iteration 1/ 10 | consumed samples: x | elapsed time per iteration (ms): 1 |",
        "consumed samples"
    )]
    #[case(
        " [2025-05-09 06:22:40] iteration 1/ 10 | elapsed time per iteration (ms): nan |",
        "elapsed time per iteration (ms)"
    )]
    fn a_bad_interval_names_its_field(#[case] line: &str, #[case] field: &'static str) {
        assert_eq!(read(line), Some(Message::Iteration(Err(field))));
    }

    proptest! {
        #[test]
        fn arbitrary_lines_never_panic(line in ".{0,200}") {
            let _ = read(&line);
        }

        #[test]
        fn shuffled_pieces_never_panic(pieces in prop::collection::vec(prop::sample::select(vec![
            "[default0]:", " [2025-05-09 06:22:40] ", "iteration ", "1/ 10 |", " elapsed time per iteration (ms): 3.5 |", "3: ", "é", " ..",
            "saving checkpoint at iteration", "*** JOB ", " CANCELLED AT ", " DUE TO ", "]", "[", ": (", ")", "using world size:", "\u{1}"]), 0..12)) {
            let _ = read(&pieces.concat());
        }
    }
}
