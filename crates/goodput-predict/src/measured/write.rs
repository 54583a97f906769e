//! Timed calls as rows of a table.

use super::call::{Call, Timed};
use super::columns::COLUMNS;
use crate::kernel::{Accumulator, Direction, Dispatch, ExpertGemm, Fusion, Mask, Pass, Power};

/// The cells that a call is written in, in the order of [`COLUMNS`].
pub(super) fn cells(timed: &Timed) -> [String; COLUMNS.len()] {
    let mut cells = [const { String::new() }; COLUMNS.len()];
    let mut set = |field: &str, value: String| {
        if let Some(at) = COLUMNS.iter().position(|name| *name == field) {
            cells[at] = value;
        }
    };
    set("kind", timed.call.kind().to_owned());
    set("state", if timed.power == Power::Burst { "burst" } else { "sustained" }.to_owned());
    // Seven digits: far beyond any clock's, and the same text for the same time.
    set("time_us", short(timed.ns / 1e3));
    if let Some(spread) = timed.spread {
        set("spread", format!("{spread:.4}"));
    }
    set("repeats", timed.repeats.to_string());
    let direction = |direction: Direction| match direction {
        Direction::Forward => "forward".to_owned(),
        Direction::Backward => "backward".to_owned(),
    };
    match timed.call {
        Call::Gemm(ExpertGemm { experts, each }) => {
            set("dtype", each.format.name().to_owned());
            let pass = match each.pass {
                Pass::Forward => "forward",
                Pass::InputGradient => "dgrad",
                Pass::WeightGradient => "wgrad",
            };
            set("pass", pass.to_owned());
            set("m", each.m.to_string());
            set("n", each.n.to_string());
            set("k", each.k.to_string());
            if experts > 1 {
                set("experts", experts.to_string());
            }
            let accumulate = match each.accumulator {
                Accumulator::None => "",
                Accumulator::Half => "half",
                Accumulator::Fp32 => "fp32",
            };
            set("accumulate", accumulate.to_owned());
            if each.format.is_quantised() || !each.with_cast {
                set("cast", if each.with_cast { "yes" } else { "no" }.to_owned());
            }
        }
        Call::Attention(attention, pass, kernel) => {
            set("dtype", attention.format.name().to_owned());
            set("pass", direction(pass));
            set("kernel", kernel.name().to_owned());
            for (field, value) in [
                ("batch", attention.batch),
                ("heads", attention.heads),
                ("kv_heads", attention.kv_heads),
                ("queries", attention.queries),
                ("keys", attention.keys),
                ("head_dim", attention.head_dim),
                ("value_dim", attention.value_dim),
            ] {
                set(field, value.to_string());
            }
            let mask = match attention.mask {
                Mask::Full => "full".to_owned(),
                Mask::Causal => "causal".to_owned(),
                Mask::Window(width) => format!("window:{width}"),
            };
            set("mask", mask);
        }
        Call::Memory(_, pass, fusion, values) => {
            set("dtype", "bf16".to_owned());
            set("pass", direction(pass));
            let kernel = match fusion {
                Fusion::Eager => "eager",
                Fusion::Joined => "joined",
                Fusion::Fused => "fused",
            };
            set("kernel", kernel.to_owned());
            set("values", values.to_string());
        }
        Call::Copy(bytes) => set("bytes", bytes.to_string()),
        Call::Exchange { ranks, nodes, one_byte, bytes, .. } => {
            set("dtype", if one_byte { "int8" } else { "bf16" }.to_owned());
            set("ranks", ranks.to_string());
            set("nodes", nodes.to_string());
            set("bytes", bytes.to_string());
        }
        Call::Host(dispatch, pass) => {
            set("pass", direction(pass));
            let kernel = match dispatch {
                Dispatch::Eager | Dispatch::Blocking => "eager",
                Dispatch::Compiled => "compiled",
                Dispatch::Graph => "graph",
            };
            set("kernel", kernel.to_owned());
        }
    }
    cells
}

/// A number of seven digits, without an exponent.
fn short(value: f64) -> String {
    let digits = 6 - value.abs().log10().floor().clamp(-6.0, 6.0) as i32;
    let text = format!("{value:.*}", digits.max(0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
