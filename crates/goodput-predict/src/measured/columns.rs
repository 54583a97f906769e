//! The columns of a table of timed calls: what they mean, and how a row is read and written.

use std::collections::BTreeMap;

use super::call::{Call, EXCHANGES, Timed, exchange_name};
use crate::kernel::{
    Accumulator, Attention, AttentionKernel, Direction, Dispatch, ExpertGemm, Format, Fusion, Gemm, Mask,
    MemoryKind, Pass, Power,
};

/// Columns in the order that a table is written in. `docs/calibrate.md` says what each holds.
pub const COLUMNS: [&str; 29] = [
    "kind",
    "device",
    "dtype",
    "pass",
    "m",
    "n",
    "k",
    "experts",
    "accumulate",
    "cast",
    "kernel",
    "batch",
    "heads",
    "kv_heads",
    "queries",
    "keys",
    "head_dim",
    "value_dim",
    "mask",
    "values",
    "ranks",
    "nodes",
    "bytes",
    "state",
    "time_us",
    "spread",
    "repeats",
    "software",
    "conditions",
];

/// Columns of a time in other units, and how many nanoseconds one is.
const TIMES: [(&str, f64); 4] = [("time_us", 1e3), ("time_ns", 1.0), ("time_ms", 1e6), ("time_s", 1e9)];

/// Longest call that is believed: an hour.
const LONGEST_NS: f64 = 3.6e12;
/// Largest length, so that products of three stay finite.
const LARGEST: u64 = 1 << 48;

/// Where the columns of one table are.
#[derive(Debug, Clone)]
pub struct Columns {
    at: [Source; COLUMNS.len()],
    ns_per_unit: f64,
}

#[derive(Debug, Clone, PartialEq)]
enum Source {
    Absent,
    At(usize),
    Constant(String),
}

/// Why a row is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadCell {
    /// The column.
    pub field: &'static str,
    /// What stands there, and what was expected.
    pub message: String,
}

/// A table without a column that it needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnError {
    /// One is missing.
    #[error("there is no column `{0}`, nor a value that holds for all rows; the table has {1}")]
    Missing(&'static str, String),
    /// The name of ours is not known.
    #[error("`{0}` is no column of a calibration table; they are {list}", list = COLUMNS.join(", "))]
    Unknown(String),
    /// The user's column is not in the table.
    #[error("the table has no column `{0}`; it has {1}")]
    NotThere(String, String),
    /// Two columns of one name.
    #[error("the column `{0}` is there twice")]
    Twice(String),
}

impl Columns {
    /// Finds the columns of a header. `renamed`: ours -> the table's; `constants`: ours -> a value for all rows.
    ///
    /// # Errors
    /// [`ColumnError`] names what is missing.
    pub fn new(
        header: &[String],
        renamed: &BTreeMap<String, String>,
        constants: &BTreeMap<String, String>,
    ) -> Result<Self, ColumnError> {
        let all = || header.join(", ");
        let is_ours =
            |name: &String| COLUMNS.contains(&name.as_str()) || TIMES.iter().any(|(time, _)| time == name);
        if let Some(unknown) = renamed.keys().chain(constants.keys()).find(|name| !is_ours(name)) {
            return Err(ColumnError::Unknown(unknown.clone()));
        }
        let find = |ours: &str| -> Result<Source, ColumnError> {
            if let Some(value) = constants.get(ours) {
                return Ok(Source::Constant(value.clone()));
            }
            let theirs = renamed.get(ours).map_or(ours, String::as_str);
            let mut places = header.iter().enumerate().filter(|(_, name)| name.as_str() == theirs);
            match (places.next(), places.next()) {
                (Some(_), Some(_)) => Err(ColumnError::Twice(theirs.to_owned())),
                (Some((at, _)), None) => Ok(Source::At(at)),
                _ if renamed.contains_key(ours) => Err(ColumnError::NotThere(theirs.to_owned(), all())),
                _ => Ok(Source::Absent),
            }
        };
        let mut at = [const { Source::Absent }; COLUMNS.len()];
        for (source, name) in at.iter_mut().zip(COLUMNS) {
            *source = find(name)?;
        }
        let mut ns_per_unit = 1e3;
        for (name, ns) in TIMES {
            if at[TIME] != Source::Absent {
                break;
            }
            at[TIME] = find(name)?;
            ns_per_unit = ns;
        }
        for (name, index) in [("kind", KIND), ("device", DEVICE), ("state", STATE), ("time_us", TIME)] {
            if at[index] == Source::Absent {
                return Err(ColumnError::Missing(name, all()));
            }
        }
        Ok(Self { at, ns_per_unit })
    }

    /// A row's cells, by place in the table.
    pub fn row<'a>(&'a self, cell: impl Fn(usize) -> &'a str) -> Cells<'a> {
        let of = |source: &'a Source| match source {
            Source::Absent => "",
            Source::At(at) => cell(*at).trim(),
            Source::Constant(value) => value.as_str(),
        };
        Cells { cells: std::array::from_fn(|index| of(&self.at[index])), ns_per_unit: self.ns_per_unit }
    }
}

const KIND: usize = 0;
const DEVICE: usize = 1;
const STATE: usize = 23;
const TIME: usize = 24;

/// The cells of one row, in the order of [`COLUMNS`].
#[derive(Debug, Clone, Copy)]
pub struct Cells<'a> {
    cells: [&'a str; COLUMNS.len()],
    ns_per_unit: f64,
}

/// A row that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadRow {
    /// The call.
    pub timed: Timed,
    /// A cell that was mended, and how.
    pub repaired: Option<BadCell>,
}

type Read<T> = Result<T, BadCell>;

fn bad<T>(field: &'static str, found: &str, expected: &str) -> Read<T> {
    let message = if found.is_empty() {
        format!("is empty, expected {expected}")
    } else {
        format!("is {found:?}, expected {expected}")
    };
    Err(BadCell { field, message })
}

impl<'a> Cells<'a> {
    /// The cell of a column.
    #[must_use]
    pub fn get(&self, field: &str) -> &'a str {
        COLUMNS.iter().position(|name| *name == field).map_or("", |at| self.cells[at])
    }

    /// The call, or why it is none.
    ///
    /// # Errors
    /// [`BadCell`] names the column.
    pub fn read(&self) -> Read<ReadRow> {
        let mut repaired = None;
        let call = self.call(&mut repaired)?;
        let power = match self.get("state") {
            "burst" => Power::Burst,
            "sustained" => Power::Sustained,
            found => return bad("state", found, "burst or sustained"),
        };
        let ns = self.positive("time_us")? * self.ns_per_unit;
        if ns > LONGEST_NS {
            return bad("time_us", self.get("time_us"), "the time of one call, less than an hour");
        }
        let spread = match self.get("spread") {
            "" => None,
            text => match text.parse::<f64>() {
                Ok(spread) if (0.0..100.0).contains(&spread) => Some(spread),
                _ => return bad("spread", text, "a relative standard deviation (0.02)"),
            },
        };
        let repeats = self.or("repeats", 1, &mut repaired)?;
        Ok(ReadRow { timed: Timed { call, power, ns, spread, repeats }, repaired })
    }

    fn call(&self, repaired: &mut Option<BadCell>) -> Read<Call> {
        let kind = self.get("kind");
        match kind {
            "gemm" | "grouped_gemm" => return self.gemm(kind == "grouped_gemm", repaired),
            "attention" => return self.attention(repaired),
            "copy" => return Ok(Call::Copy(self.count("bytes", repaired)?)),
            "host" => {
                let dispatch = match self.get("kernel") {
                    "eager" => Dispatch::Eager,
                    "compiled" => Dispatch::Compiled,
                    "graph" => Dispatch::Graph,
                    found => return bad("kernel", found, "eager, compiled or graph"),
                };
                return Ok(Call::Host(dispatch, self.direction()?));
            }
            _ => {}
        }
        if let Some(kind) = MemoryKind::ALL.into_iter().find(|known| known.name() == kind) {
            let direction = self.direction()?;
            if kind.least_bytes(direction) == 0.0 {
                return bad("pass", self.get("pass"), "forward: an optimizer has no backward pass");
            }
            if self.format()?.operand_bytes() != 2.0 {
                return bad("dtype", self.get("dtype"), "bf16 or fp16: other values are not modelled");
            }
            let fusion = match self.get("kernel") {
                "eager" => Fusion::Eager,
                "joined" => Fusion::Joined,
                "fused" => Fusion::Fused,
                found => return bad("kernel", found, "eager, joined (torch.compile) or fused"),
            };
            return Ok(Call::Memory(kind, direction, fusion, self.count("values", repaired)?));
        }
        let Some(operation) = EXCHANGES.into_iter().find(|known| exchange_name(*known) == kind) else {
            return bad(
                "kind",
                kind,
                "gemm, grouped_gemm, attention, copy, host, the name of an operation or of a collective \
                 (docs/calibrate.md)",
            );
        };
        let narrow = |field| {
            let value = self.count(field, &mut None)?;
            match u32::try_from(value) {
                Ok(value) if value <= 100_000 => Ok(value),
                _ => bad(field, self.get(field), "at most 100000"),
            }
        };
        let (ranks, nodes) = (narrow("ranks")?, narrow("nodes")?);
        if ranks < 2 {
            return bad("ranks", self.get("ranks"), "2 or more");
        }
        if nodes > ranks || !ranks.is_multiple_of(nodes) {
            return bad("nodes", self.get("nodes"), "a number that divides `ranks`: the same on every node");
        }
        let one_byte = match self.get("dtype") {
            "int8" | "uint8" => true,
            _ => self.format()?.operand_bytes() <= 1.0,
        };
        Ok(Call::Exchange { operation, ranks, nodes, one_byte, bytes: self.count("bytes", repaired)? })
    }

    fn gemm(&self, grouped: bool, repaired: &mut Option<BadCell>) -> Read<Call> {
        let format = self.format()?;
        let pass = match self.get("pass") {
            "forward" | "fwd" => Pass::Forward,
            "dgrad" => Pass::InputGradient,
            "wgrad" => Pass::WeightGradient,
            found => return bad("pass", found, "forward, dgrad or wgrad"),
        };
        let accumulator = match self.get("accumulate") {
            "" | "none" => Accumulator::None,
            "16" | "bf16" | "fp16" | "half" => Accumulator::Half,
            "32" | "fp32" => Accumulator::Fp32,
            found => return bad("accumulate", found, "none, half or fp32"),
        };
        if accumulator != Accumulator::None && pass != Pass::WeightGradient {
            return bad("accumulate", self.get("accumulate"), "none: only a wgrad is added to a buffer");
        }
        let with_cast = match (self.get("cast"), format.is_quantised()) {
            ("yes" | "true", _) => true,
            ("no" | "false", _) => false,
            ("", false) => true,
            (found, _) => {
                return bad(
                    "cast",
                    found,
                    "yes or no: does the time hold the cast of the activations to it?",
                );
            }
        };
        let [m, n, k] = ["m", "n", "k"].map(|field| self.count(field, repaired));
        let each = Gemm { accumulator, with_cast, ..Gemm::new(m?, n?, k?).format(format).pass(pass) };
        let experts = if grouped { self.count("experts", repaired)? } else { 1 };
        if !grouped && !matches!(self.get("experts"), "" | "1") {
            return bad("experts", self.get("experts"), "nothing or 1: several are a `grouped_gemm`");
        }
        Ok(Call::Gemm(ExpertGemm { experts, each }))
    }

    fn attention(&self, repaired: &mut Option<BadCell>) -> Read<Call> {
        let mask = match self.get("mask") {
            "causal" => Mask::Causal,
            "full" => Mask::Full,
            found => match found.strip_prefix("window:").and_then(|width| width.parse().ok()) {
                Some(width) if width > 0 => Mask::Window(width),
                _ => return bad("mask", found, "causal, full or window:WIDTH"),
            },
        };
        let kernel = match self.get("kernel") {
            "unfused" => AttentionKernel::Unfused,
            "flash1" => AttentionKernel::Flash1,
            "flash2" => AttentionKernel::Flash2,
            "flash3" => AttentionKernel::Flash3,
            "flash4" => AttentionKernel::Flash4,
            found => return bad("kernel", found, "unfused, flash1, flash2, flash3 or flash4"),
        };
        let direction = self.direction()?;
        let heads = self.count("heads", repaired)?;
        let queries = self.count("queries", repaired)?;
        let head_dim = self.count("head_dim", repaired)?;
        let attention = Attention {
            batch: self.count("batch", repaired)?,
            heads,
            kv_heads: self.or("kv_heads", heads, repaired)?,
            queries,
            keys: self.or("keys", queries, repaired)?,
            head_dim,
            value_dim: self.or("value_dim", head_dim, repaired)?,
            mask,
            format: self.format()?,
        };
        if attention.kv_heads > heads || !heads.is_multiple_of(attention.kv_heads) {
            return bad("kv_heads", self.get("kv_heads"), "a number that divides `heads`");
        }
        if mask == Mask::Causal && attention.keys < queries {
            return bad("keys", self.get("keys"), "as many as queries, or more");
        }
        Ok(Call::Attention(attention, direction, kernel))
    }

    fn direction(&self) -> Read<Direction> {
        match self.get("pass") {
            "forward" | "fwd" => Ok(Direction::Forward),
            "backward" | "bwd" => Ok(Direction::Backward),
            found => bad("pass", found, "forward or backward"),
        }
    }

    fn format(&self) -> Read<Format> {
        let found = self.get("dtype");
        let alias = match found {
            "bfloat16" => "bf16",
            "float16" | "half" => "fp16",
            "float32" | "float" => "fp32",
            other => other,
        };
        match Format::ALL.into_iter().find(|format| format.name() == alias) {
            Some(format) => Ok(format),
            None => bad("dtype", found, "bf16, fp16, fp8, fp8_block, nvfp4, tf32 or fp32"),
        }
    }

    fn positive(&self, field: &'static str) -> Read<f64> {
        let text = self.get(field);
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
            _ => bad(field, text, "a number above 0"),
        }
    }

    fn or(&self, field: &'static str, otherwise: u64, repaired: &mut Option<BadCell>) -> Read<u64> {
        if self.get(field).is_empty() { Ok(otherwise) } else { self.count(field, repaired) }
    }

    /// A whole number above 0. A table that went through floats writes 4096.0, which is one.
    fn count(&self, field: &'static str, repaired: &mut Option<BadCell>) -> Read<u64> {
        let text = self.get(field);
        let whole = |value: &u64| (1..=LARGEST).contains(value);
        if let Some(value) = text.parse().ok().filter(whole) {
            return Ok(value);
        }
        let float = text.parse::<f64>().ok().filter(|value| value.fract() == 0.0 && *value < LARGEST as f64);
        match float.map(|value| value as u64).filter(whole) {
            Some(value) => {
                let message = format!("is {text:?}, read as {value}");
                *repaired = Some(BadCell { field, message });
                Ok(value)
            }
            None => bad(field, text, "a whole number above 0"),
        }
    }
}
