//! Kernels whose time is that of the bytes they move.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{Format, KernelError, KernelTables};
use crate::{Basis, Estimate};

/// How a kernel walks through memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Every value once, in order.
    Stream,
    /// With a sum over each row: norms, softmax.
    Rows,
    /// With a sum over each column too: gradients of a norm's weights.
    Columns,
    /// The same in several unfused kernels.
    ColumnsUnfused,
    /// Rows in another order.
    Gather,
}

/// One kernel and the bytes it reads and writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traffic {
    /// Read and written.
    pub bytes: f64,
    /// How.
    pub access: Access,
}

impl Traffic {
    /// A kernel of so many bytes.
    #[must_use]
    pub const fn new(bytes: f64, access: Access) -> Self {
        Self { bytes, access }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    stream: Vec<Stream>,
    stream_elsewhere: f64,
    rows: Share,
    columns: Share,
    columns_unfused: Share,
    gather: Share,
    launch_us: f64,
    deviation: Deviation,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stream {
    devices: Vec<String>,
    efficiency: f64,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Share {
    share: f64,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Deviation {
    measured: f64,
    elsewhere: f64,
}

/// Shares of the bandwidth by access on one device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Efficiencies {
    share: [f64; 5],
    /// The least time of one kernel.
    pub launch_us: f64,
    deviation: f64,
    basis: Basis,
    /// Of kernels that only stream: better where a copy was measured on the device.
    stream_basis: Basis,
}

impl Efficiencies {
    /// The same with the share that the user measured a copy to reach; the other ways of access keep their relation to it.
    pub fn with_stream(self, stream: f64) -> Self {
        Self {
            share: self.share.map(|share| share / self.share[0] * stream),
            stream_basis: Basis::UserTable,
            ..self
        }
    }

    pub fn of(device: &str) -> Self {
        // A test reads the file, so that its absence is never seen.
        static FILE: LazyLock<Option<File>> = LazyLock::new(|| {
            serde_saphyr::from_str(include_str!("../../data/kernels/memory_bound.yaml")).ok()
        });
        let Some(file) = FILE.as_ref() else {
            return Self {
                share: [0.5; 5],
                launch_us: 3.0,
                deviation: 0.5,
                basis: Basis::Analytic,
                stream_basis: Basis::Analytic,
            };
        };
        let measured = file.stream.iter().find(|stream| stream.devices.iter().any(|name| name == device));
        let stream = measured.map_or(file.stream_elsewhere, |stream| stream.efficiency);
        let relative =
            [1.0, file.rows.share, file.columns.share, file.columns_unfused.share, file.gather.share];
        let basis = if measured.is_some() { Basis::Extrapolated } else { Basis::Analytic };
        Self {
            share: relative.map(|share| share * stream),
            launch_us: file.launch_us,
            deviation: if measured.is_some() { file.deviation.measured } else { file.deviation.elsewhere },
            basis,
            stream_basis: basis,
        }
    }
}

impl KernelTables {
    /// The time of kernels one after the other: of each its bytes over the share of the bandwidth that its access
    /// reaches, and a launch, so that small ones are slower than their bytes.
    ///
    /// # Errors
    /// [`KernelError::NoRate`] if the device's bandwidth is not known.
    pub fn memory_bound(&self, kernels: &[Traffic]) -> Result<Estimate, KernelError> {
        let bandwidth = self.machine.bandwidth.ok_or_else(|| self.no_rate(Format::Bf16))?;
        let Efficiencies { share, launch_us, deviation, basis, stream_basis } = self.memory;
        let us: f64 = kernels
            .iter()
            .filter(|kernel| kernel.bytes > 0.0)
            .map(|kernel| launch_us + kernel.bytes / (bandwidth * share[kernel.access as usize]))
            .sum();
        let only_streams = || kernels.iter().all(|kernel| kernel.access == Access::Stream);
        let basis = if stream_basis != basis && only_streams() { stream_basis } else { basis };
        Ok(Estimate { ns: us * 1e3, deviation, basis })
    }

    /// The time of a cast of rows x columns from bf16 to fp8 in one pass, from the measured grid where there is one.
    /// `find_scale`: another pass finds the scale first (per-tensor current scaling).
    ///
    /// # Errors
    /// [`KernelError::NoRate`] if the device's bandwidth is not known.
    pub fn cast_to_fp8(&self, rows: u64, columns: u64, find_scale: bool) -> Result<Estimate, KernelError> {
        let values = rows as f64 * columns as f64;
        let read = |operation: &str, bytes: f64| {
            let elsewhere = self.memory_bound(&[Traffic::new(bytes, Access::Stream)])?;
            let grid = self.shipped.as_ref().filter(|_| values > 0.0);
            let Some((borrowed, (us, inside))) = grid.and_then(|borrowed| {
                borrowed.grids.cast(operation, rows, columns).map(|reading| (borrowed, reading))
            }) else {
                return Ok(elsewhere);
            };
            let slower =
                borrowed.of.bandwidth.zip(self.machine.bandwidth).map_or(1.0, |(of, ours)| of / ours);
            let is_table = inside && borrowed.scaled_to.is_none();
            let basis = if is_table { Basis::Table } else { Basis::Extrapolated };
            let ns = (us * slower).max(self.memory.launch_us) * 1e3;
            Ok(Estimate { ns, deviation: self.memory.deviation, basis })
        };
        let cast = read("scale_matrix", 3.0 * values)?;
        if find_scale { Ok(read("compute_scale", 2.0 * values)?.and(cast)) } else { Ok(cast) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use goodput_model::device::Catalogue;

    use super::*;

    #[test]
    fn bytes_over_bandwidth_and_a_launch() {
        let h100 = KernelTables::new(Catalogue::built_in().find("H100 SXM5").unwrap());
        let gigabyte = h100.memory_bound(&[Traffic::new(1e9, Access::Stream)]).unwrap();
        assert!((gigabyte.ns - (2.4 + 1e9 / (3.35e6 * 0.91)) * 1e3).abs() < 1e-6);
        assert_eq!(h100.memory_bound(&[Traffic::new(0.0, Access::Rows)]).unwrap().ns, 0.0);
    }

    #[test]
    fn a_cast_is_read_from_its_grid_and_keeps_its_rate_beyond() {
        let h100 = KernelTables::new(Catalogue::built_in().find("H100 SXM5").unwrap());
        let cast = |rows| h100.cast_to_fp8(rows, 16_384, false).unwrap();
        let (held, beyond) = (cast(32_768), cast(65_536));
        assert_eq!((held.basis, beyond.basis), (Basis::Table, Basis::Extrapolated));
        assert!((beyond.ns / held.ns - 2.0).abs() < 1e-9);
        // Three bytes a value at 0.91 of the bandwidth.
        assert!((held.ns / (3.0 * 32_768.0 * 16_384.0 / (3.35e3 * 0.91)) - 1.0).abs() < 0.05, "{held:?}");
        assert!(h100.cast_to_fp8(32_768, 16_384, true).unwrap().ns > held.ns);
        assert_eq!(h100.cast_to_fp8(0, 16_384, false).unwrap().ns, 0.0);
    }

    #[test]
    fn an_unknown_device_is_analytic() {
        let tpu = KernelTables::new(Catalogue::built_in().find("TPU v4").unwrap());
        assert_eq!(tpu.memory_bound(&[Traffic::new(1e6, Access::Rows)]).unwrap().basis, Basis::Analytic);
        let of = Efficiencies::of("B200");
        assert_eq!((of.share[0], of.basis), (0.62, Basis::Extrapolated));
    }
}
