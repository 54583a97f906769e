//! The measured roofline of all ranks, in a view.

use std::collections::BTreeMap;

use goodput_model::device::Dtype;
use goodput_trace::analysis::Analysis;
use goodput_trace::class::Class;
use goodput_trace::flops::Assumption;
use goodput_trace::roofline::{Ceilings, KernelRoofline, NEAR, Placement, Regime, Traffic};
use serde::Serialize;

use crate::view::Exact;

/// Where the kernels that compute stand between bandwidth and peak. Over the whole traces of all ranks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RooflineView {
    /// Duration of all kernels that compute.
    pub compute_ns: i64,
    /// Of those, the kernels whose FLOPs and bytes are known from the shapes of their operators.
    pub known_ns: i64,
    /// Of those, the kernels whose device's ceilings are known too.
    pub placed_ns: i64,
    /// The share of a ceiling from which a kernel counts as near it.
    pub near: f64,
    /// Placed time by what holds the kernels back.
    pub regimes: Vec<RegimeView>,
    /// The ceilings that the kernels are held against.
    pub ceilings: Vec<CeilingsView>,
    /// Kernels by name, class and type, the longest first.
    pub kernels: Vec<RooflineKernelView>,
    /// Kernels not listed.
    pub kernels_omitted: u64,
    /// Why known kernels have no place, with their time, the longest first.
    pub not_placed: Vec<NotPlacedView>,
}

/// Kernels of one regime.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegimeView {
    /// Word.
    pub regime: &'static str,
    /// In words.
    pub label: String,
    /// Their time.
    pub time_ns: i64,
    /// Of the placed time.
    pub share: f64,
}

/// A peak and a bandwidth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CeilingsView {
    /// Type that the peak is for; `None` for work that only moves data.
    pub dtype: Option<&'static str>,
    /// Dense peak in FLOP/s.
    pub flops_per_second: f64,
    /// Memory bandwidth in bytes/s.
    pub bytes_per_second: f64,
    /// FLOPs a byte where the two meet.
    pub ridge: f64,
}

/// Kernels of one name, class and type.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RooflineKernelView {
    /// Name.
    pub name: String,
    /// Class.
    pub class: &'static str,
    /// What it computes in.
    pub dtype: Option<&'static str>,
    /// Runs.
    pub count: u64,
    /// Their duration.
    pub time_ns: i64,
    /// Their FLOPs.
    pub flops: Exact,
    /// Their bytes.
    pub bytes: Exact,
    /// `algorithmic` (by shapes, a lower bound) or `counted`.
    pub traffic: &'static str,
    /// What had to be assumed.
    pub assumed: Option<&'static str>,
    /// FLOPs a byte; `None` without traffic.
    pub intensity: Option<f64>,
    /// Achieved FLOP/s.
    pub flops_per_second: f64,
    /// Achieved bytes/s.
    pub bytes_per_second: f64,
    /// Achieved FLOP/s over the peak.
    pub compute_share: f64,
    /// Achieved bytes/s over the bandwidth.
    pub bandwidth_share: f64,
    /// `far_below_both`, `near_bandwidth` or `near_compute`.
    pub regime: &'static str,
    /// In words.
    pub regime_label: String,
    /// The class, for renderers.
    #[serde(skip)]
    pub kind: Class,
}

/// Kernels without a place for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotPlacedView {
    /// Why.
    pub reason: String,
    /// Their time.
    pub time_ns: i64,
}

/// Kernels listed.
const KERNELS: usize = 200;

impl RooflineView {
    /// `None` when the FLOPs and bytes of no kernel are known.
    pub(super) fn new(analysis: &Analysis) -> Option<Self> {
        let mut sums = BTreeMap::<Key<'_>, Sum>::new();
        let mut not_placed = BTreeMap::<&str, i64>::new();
        let (mut compute_ns, mut known_ns) = (0, 0);
        for rank in &analysis.ranks {
            compute_ns += rank.roofline.compute_ns;
            known_ns += rank.roofline.known_ns();
            for kernel in &rank.roofline.kernels {
                match &kernel.placement {
                    Ok(placement) => {
                        let key = Key::of(rank.trace.name(kernel.name), kernel, placement.ceilings);
                        sums.entry(key).or_insert_with(|| Sum::new(placement.ceilings)).add(kernel);
                    }
                    Err(reason) => *not_placed.entry(&reason.0).or_insert(0) += kernel.time_ns,
                }
            }
        }
        if known_ns == 0 {
            return None;
        }
        let mut kernels: Vec<_> = sums.iter().filter_map(|(key, sum)| sum.view(key)).collect();
        kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.time_ns));
        let placed_ns: i64 = kernels.iter().map(|kernel| kernel.time_ns).sum();
        let regime = |regime: Regime| {
            let of_it = kernels.iter().filter(|kernel| kernel.regime == regime.key());
            let time_ns: i64 = of_it.map(|kernel| kernel.time_ns).sum();
            let share = if placed_ns > 0 { time_ns as f64 / placed_ns as f64 } else { 0.0 };
            RegimeView { regime: regime.key(), label: regime.to_string(), time_ns, share }
        };
        let regimes = [Regime::NearCompute, Regime::NearBandwidth, Regime::FarBelowBoth].map(regime).into();
        let mut not_placed: Vec<_> = not_placed
            .into_iter()
            .map(|(reason, time_ns)| NotPlacedView { reason: reason.to_owned(), time_ns })
            .collect();
        not_placed.sort_by_key(|row| std::cmp::Reverse(row.time_ns));
        let mut ceilings: Vec<CeilingsView> = Vec::new();
        for (key, sum) in &sums {
            let dtype = key.dtype.map(Dtype::name);
            let next = CeilingsView {
                dtype,
                flops_per_second: sum.ceilings.flops_per_second,
                bytes_per_second: sum.ceilings.bytes_per_second,
                ridge: sum.ceilings.ridge(),
            };
            if !ceilings.contains(&next) {
                ceilings.push(next);
            }
        }
        ceilings
            .sort_by(|a, b| b.flops_per_second.total_cmp(&a.flops_per_second).then(a.dtype.cmp(&b.dtype)));
        let kernels_omitted = kernels.len().saturating_sub(KERNELS) as u64;
        kernels.truncate(KERNELS);
        Some(Self {
            compute_ns,
            known_ns,
            placed_ns,
            near: NEAR,
            regimes,
            ceilings,
            kernels,
            kernels_omitted,
            not_placed,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    name: &'a str,
    class: Class,
    dtype: Option<Dtype>,
    traffic: Traffic,
    /// Peak and bandwidth: devices of two products stay apart.
    ceilings: (u64, u64),
}

impl<'a> Key<'a> {
    fn of(name: &'a str, kernel: &KernelRoofline, ceilings: Ceilings) -> Self {
        Self {
            name,
            class: kernel.class,
            dtype: kernel.dtype,
            traffic: kernel.traffic,
            ceilings: (ceilings.flops_per_second.to_bits(), ceilings.bytes_per_second.to_bits()),
        }
    }
}

struct Sum {
    count: u64,
    time_ns: i64,
    flops: u128,
    bytes: u128,
    assumed: Option<Assumption>,
    ceilings: Ceilings,
}

impl Sum {
    fn new(ceilings: Ceilings) -> Self {
        Self { count: 0, time_ns: 0, flops: 0, bytes: 0, assumed: None, ceilings }
    }

    fn add(&mut self, kernel: &KernelRoofline) {
        self.count += kernel.count;
        self.time_ns += kernel.time_ns;
        self.flops += kernel.flops;
        self.bytes += kernel.bytes;
        self.assumed = self.assumed.or(kernel.assumed);
    }

    fn view(&self, key: &Key<'_>) -> Option<RooflineKernelView> {
        let placement = Placement::of(self.flops, self.bytes, self.time_ns, self.ceilings)?;
        Some(RooflineKernelView {
            name: key.name.to_owned(),
            class: key.class.key(),
            dtype: key.dtype.map(Dtype::name),
            count: self.count,
            time_ns: self.time_ns,
            flops: self.flops.into(),
            bytes: self.bytes.into(),
            traffic: match key.traffic {
                Traffic::Algorithmic => "algorithmic",
                Traffic::Counted => "counted",
            },
            assumed: self.assumed.map(Assumption::label),
            intensity: Some(placement.intensity).filter(|intensity| intensity.is_finite()),
            flops_per_second: placement.flops_per_second,
            bytes_per_second: placement.bytes_per_second,
            compute_share: placement.compute_share(),
            bandwidth_share: placement.bandwidth_share(),
            regime: placement.regime().key(),
            regime_label: placement.regime().to_string(),
            kind: key.class,
        })
    }
}
