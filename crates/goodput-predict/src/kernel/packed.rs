//! The packed form of measured times, as `scripts/kernel_tables.py` writes it.
//!
//! A zstd file: one line of JSON that names the grids and their axes, then each grid's codes. A code is a step of the
//! time's logarithm; 0 where nothing was measured. Codes are kept as differences along the last axis (u16, wrapping),
//! all low bytes of a grid before all high bytes.

use serde::Deserialize;

/// Steps that double a time. `STEPS_PER_OCTAVE` of the script.
const STEPS_PER_OCTAVE: f64 = 3072.0;

/// One grid of times.
#[derive(Debug)]
pub(super) struct PackedGrid {
    /// The dtype of a product, or the operation.
    pub name: String,
    /// Coordinates along each axis, ascending.
    pub axes: Vec<Vec<u64>>,
    /// The last axis fastest.
    codes: Vec<u16>,
}

impl PackedGrid {
    /// log2 of microseconds of every node, the last axis fastest.
    pub fn log2_us(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        self.codes.iter().map(|code| code.checked_sub(1).map(|steps| f64::from(steps) / STEPS_PER_OCTAVE))
    }
}

#[derive(Deserialize)]
struct Header {
    grids: Vec<GridHeader>,
}

#[derive(Deserialize)]
struct GridHeader {
    name: String,
    axes: Vec<Vec<u64>>,
}

/// The grids of a file; nothing if it is none of ours.
pub(super) fn unpack(file: &[u8]) -> Option<Vec<PackedGrid>> {
    let text = zstd::decode_all(file).ok()?;
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let header: Header = serde_json::from_slice(&text[..end]).ok()?;
    let mut rest = &text[end + 1..];
    let mut grids = Vec::new();
    for GridHeader { name, axes } in header.grids {
        let cells = axes.iter().map(Vec::len).product();
        let (low, after) = rest.split_at_checked(cells)?;
        let (high, after) = after.split_at_checked(cells)?;
        rest = after;
        let mut code = 0u16;
        let codes = low.iter().zip(high).map(|(low, high)| {
            code = code.wrapping_add(u16::from_le_bytes([*low, *high]));
            code
        });
        grids.push(PackedGrid { name, axes, codes: codes.collect() });
    }
    rest.is_empty().then_some(grids)
}
