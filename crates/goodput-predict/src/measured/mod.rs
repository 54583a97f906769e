//! Kernels and exchanges that the user measured: read, checked, put together, and taken in place of the shipped tables
//! where they say something.
//!
//! This is a calibration of kernels. That of whole steps, one factor a device and software, is
//! [`validate::Calibration`](crate::validate::Calibration).
//!
//! ```
//! use goodput_predict::measured::{Calibration, Measured};
//! let file = "\
//! ---
//! schema: goodput.measured-tables/1
//! device: H100 SXM5
//! ---
//! kind,dtype,pass,m,n,k,state,time_us
//! gemm,bf16,forward,4096,4096,4096,sustained,230.5
//! ";
//! let calibration = Calibration::read("ours.tables", file)?;
//! assert_eq!(calibration.rows.len(), 1);
//! let measured = Measured::new(&calibration, "ours.tables")?;
//! assert_eq!(measured.device(), "H100 SXM5");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod call;
mod collect;
mod columns;
mod coverage;
mod exchange;
mod file;
mod summary;
mod sustained;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;

use goodput_model::device::{Catalogue, UnknownDevice};
use rustc_hash::FxHashMap;

use crate::collective::Operation;
use crate::kernel::{
    Direction, Dispatch, HostCost, KernelError, KernelRow, KernelTables, PowerCurve, UserRows,
};

pub use call::{Call, Timed};
pub use collect::Collector;
pub use columns::{BadCell, COLUMNS, Cells, ColumnError, Columns, ReadRow};
pub use coverage::{Coverage, CoveredTerm};
pub use file::{FileError, SCHEMA, is_calibration};
pub use summary::KindSummary;
pub use sustained::Sustained;

pub(crate) use exchange::SizeCurve;

/// What was measured on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The device, as the catalogue calls it.
    pub device: String,
    /// Software that it was measured with.
    pub software: Vec<String>,
    /// Clocks, power limits, drivers.
    pub conditions: Vec<String>,
    /// Sustained over burst time, where calls were measured in both states.
    pub sustained: Option<Sustained>,
    /// Calls in order, each once in each state of the clock.
    pub rows: Vec<Timed>,
}

/// A calibration made ready: what a cluster's devices and links were measured to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    device: String,
    label: String,
    kernels: Arc<UserRows>,
    curve: Option<PowerCurve>,
    /// Share of the memory bandwidth that a large copy reaches.
    copies: Option<f64>,
    exchanges: FxHashMap<Group, Arc<SizeCurve>>,
    host: FxHashMap<(Dispatch, Direction), f64>,
}

/// Operation, ranks, nodes, numbers of one byte.
type Group = (Operation, u32, u32, bool);

/// Why a calibration cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MeasuredError {
    /// The device is not known.
    #[error(transparent)]
    Device(#[from] UnknownDevice),
    /// A kernel has no model to correct.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

/// Copies of less are not all bandwidth.
const LARGE_COPY_BYTES: u64 = 64 << 20;

impl Measured {
    /// Makes a calibration ready; `label` is what outputs call it.
    ///
    /// # Errors
    /// [`MeasuredError`] where the device has no model of a kernel.
    pub fn new(calibration: &Calibration, label: &str) -> Result<Self, MeasuredError> {
        let device = Catalogue::built_in().find(&calibration.device)?;
        let curve = calibration.sustained.as_ref().map(|sustained| {
            let source = format!("{label}, {} calls measured in both states", sustained.pairs);
            PowerCurve::measured(sustained.time_over_burst.clone(), sustained.deviation, source)
        });
        let mut tables = KernelTables::new(device);
        let copies = copies(calibration, &tables);
        if let Some(curve) = &curve {
            tables = tables.with_power_curve(curve.clone())?;
        }
        if let Some(share) = copies {
            tables = tables.with_stream(share);
        }
        let mut kernels = Vec::with_capacity(calibration.rows.len());
        let mut exchanges: FxHashMap<Group, Vec<(f64, f64)>> = FxHashMap::default();
        let mut host = FxHashMap::default();
        let mut spreads = Vec::new();
        for row in &calibration.rows {
            if let Some(kernel) = row.call.kernel() {
                kernels.push(KernelRow { kernel, power: row.power, ns: row.ns });
                spreads.extend(row.spread);
            }
            match row.call {
                Call::Exchange { operation, ranks, nodes, one_byte, bytes } => {
                    let group = (operation, ranks, nodes, one_byte);
                    exchanges.entry(group).or_default().push((bytes as f64, row.ns));
                }
                Call::Host(dispatch, direction) => {
                    host.insert((dispatch, direction), row.ns / 1e3);
                }
                _ => {}
            }
        }
        let noise = if spreads.is_empty() { 0.0 } else { collect::median(&mut spreads) };
        let kernels = Arc::new(UserRows::new(&tables, &kernels, noise)?);
        let exchanges =
            exchanges.into_iter().map(|(group, sizes)| (group, Arc::new(SizeCurve::new(sizes)))).collect();
        Ok(Self {
            device: device.name.clone(),
            label: label.to_owned(),
            kernels,
            curve,
            copies,
            exchanges,
            host,
        })
    }

    /// The device, as the catalogue calls it.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.device
    }

    /// What outputs call it.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Its kernels in front of the shipped ones.
    pub(crate) fn on(&self, tables: KernelTables) -> KernelTables {
        let tables = match &self.curve {
            Some(curve) => tables.clone().with_power_curve(curve.clone()).unwrap_or(tables),
            None => tables,
        };
        let tables = match self.copies {
            Some(share) => tables.with_stream(share),
            None => tables,
        };
        tables.with_rows(Arc::clone(&self.kernels))
    }

    /// Measured sizes of an exchange.
    pub(crate) fn exchange(
        &self,
        operation: Operation,
        ranks: u32,
        nodes: u32,
        dtype_bytes: u32,
    ) -> Option<&Arc<SizeCurve>> {
        self.exchanges.get(&(operation, ranks, nodes, dtype_bytes == 1))
    }

    /// What the host takes, where it was measured; `otherwise` elsewhere. What a step costs once is never in a table.
    #[must_use]
    pub fn host(&self, dispatch: Dispatch, otherwise: HostCost) -> HostCost {
        // A host that waits for every kernel launches as any other.
        let dispatch = if dispatch == Dispatch::Blocking { Dispatch::Eager } else { dispatch };
        let of = |direction| self.host.get(&(dispatch, direction)).copied();
        HostCost {
            launch_us: of(Direction::Forward).unwrap_or(otherwise.launch_us),
            backward_launch_us: of(Direction::Backward).unwrap_or(otherwise.backward_launch_us),
            ..otherwise
        }
    }
}

/// The share of the bandwidth that large copies reach.
fn copies(calibration: &Calibration, tables: &KernelTables) -> Option<f64> {
    let bandwidth = tables.bandwidth()?;
    let mut shares: Vec<f64> = calibration
        .rows
        .iter()
        .filter_map(|row| match row.call {
            Call::Copy(bytes) if bytes >= LARGE_COPY_BYTES => {
                Some(bytes as f64 / (row.ns * 1e-9 * bandwidth))
            }
            _ => None,
        })
        .collect();
    (!shares.is_empty()).then(|| collect::median(&mut shares))
}
