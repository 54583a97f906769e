//! What a calibration holds, kind by kind, and how far it is from the shipped tables.

use std::collections::BTreeMap;

use goodput_model::device::Catalogue;

use super::call::Call;
use super::collect::median;
use super::{Calibration, MeasuredError};
use crate::Basis;
use crate::cluster::Clusters;
use crate::collective::{Collectives, GroupShape};
use crate::kernel::{HostCost, KernelTables, Power};

/// One kind of call.
#[derive(Debug, Clone, PartialEq)]
pub struct KindSummary {
    /// Its name in tables.
    pub kind: &'static str,
    /// Calls, the same in two states of the clock twice.
    pub rows: usize,
    /// Of them, sustained ones.
    pub sustained: usize,
    /// Measurements behind them.
    pub repeats: u64,
    /// The smallest and the largest call.
    pub sizes: (f64, f64),
    /// What sizes are counted in.
    pub unit: &'static str,
    /// Median relative spread of measurements of one call; none where each was measured once and no spread is stated.
    pub noise: Option<f64>,
    /// Median of measured over modelled time.
    pub ratio: Option<f64>,
    /// Its 10th and 90th percentile.
    pub ratio_range: Option<(f64, f64)>,
    /// What the model rests on where it is weakest.
    pub compared_with: Option<Basis>,
}

#[derive(Default)]
struct Gathered {
    rows: usize,
    sustained: usize,
    repeats: u64,
    sizes: Option<(f64, f64)>,
    unit: &'static str,
    spreads: Vec<f64>,
    ratios: Vec<f64>,
    basis: Option<Basis>,
}

impl Calibration {
    /// Kind by kind, beside the shipped tables and models (without this calibration's sustained factor).
    ///
    /// # Errors
    /// [`MeasuredError`] where the device is not known.
    pub fn summary(&self) -> Result<Vec<KindSummary>, MeasuredError> {
        let device = Catalogue::built_in().find(&self.device)?;
        let sustained = KernelTables::new(device);
        let burst = sustained.clone().at(Power::Burst);
        let mut kinds: BTreeMap<&'static str, Gathered> = BTreeMap::new();
        for row in &self.rows {
            let of = kinds.entry(row.call.kind()).or_default();
            let (size, unit) = row.call.size();
            of.unit = unit;
            of.sizes = Some(of.sizes.map_or((size, size), |(least, most)| (least.min(size), most.max(size))));
            of.rows += 1;
            of.sustained += usize::from(row.power == Power::Sustained);
            of.repeats += row.repeats;
            of.spreads.extend(row.spread);
            let tables = if row.power == Power::Burst { &burst } else { &sustained };
            if let Some((ns, basis)) = modelled(&row.call, tables, &self.device).filter(|(ns, _)| *ns > 0.0) {
                of.ratios.push(row.ns / ns);
                of.basis = Some(of.basis.map_or(basis, |worse| worse.max(basis)));
            }
        }
        Ok(kinds.into_iter().map(|(kind, of)| of.summary(kind)).collect())
    }
}

impl Gathered {
    fn summary(mut self, kind: &'static str) -> KindSummary {
        let middle = |values: &mut Vec<f64>| (!values.is_empty()).then(|| median(values));
        let ratio = middle(&mut self.ratios);
        let at = |share: f64| self.ratios[((self.ratios.len() - 1) as f64 * share).round() as usize];
        KindSummary {
            kind,
            rows: self.rows,
            sustained: self.sustained,
            repeats: self.repeats,
            sizes: self.sizes.unwrap_or_default(),
            unit: self.unit,
            noise: middle(&mut self.spreads),
            ratio,
            ratio_range: ratio.map(|_| (at(0.1), at(0.9))),
            compared_with: self.basis,
        }
    }
}

/// What the shipped tables say of a call, in ns.
pub(super) fn modelled(call: &Call, tables: &KernelTables, device: &str) -> Option<(f64, Basis)> {
    if let Some(kernel) = call.kernel() {
        return tables.modelled(&kernel).ok().map(|estimate| (estimate.ns, estimate.basis));
    }
    match *call {
        Call::Copy(bytes) => {
            let copy = crate::kernel::Traffic::new(bytes as f64, crate::kernel::Access::Stream);
            tables.memory_bound(&[copy]).ok().map(|estimate| (estimate.ns, estimate.basis))
        }
        Call::Host(dispatch, direction) => {
            let cost = HostCost::of(dispatch);
            let us = match direction {
                crate::kernel::Direction::Forward => cost.launch_us,
                crate::kernel::Direction::Backward => cost.backward_launch_us,
            };
            Some((us * 1e3, Basis::Analytic))
        }
        Call::Exchange { operation, ranks, nodes, one_byte, bytes } => {
            // The first known cluster of the device on which such a group can be.
            let per_node = ranks / nodes;
            let cluster = Clusters::built_in().iter().find(|cluster| {
                cluster.device == device
                    && cluster.domain_devices() >= per_node
                    && (nodes == 1 || cluster.network.is_some())
            })?;
            let stride = if nodes == 1 { 1 } else { cluster.domain_devices() / per_node };
            let shape = GroupShape::strided(cluster, ranks, stride).with_concurrent(1);
            let exchange = Collectives::new(cluster).prepare(operation, shape, if one_byte { 1 } else { 2 });
            let estimate = exchange.time(bytes as f64).estimate;
            Some((estimate.ns, estimate.basis))
        }
        _ => None,
    }
}
