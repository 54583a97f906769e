//! Where each kernel stands on its device's roofline, measured in the step itself.
//!
//! FLOPs and bytes are those of the launching operator ([`crate::flops`]), put on its largest kernels of the matching
//! sort; bytes counted by hardware counters take their place when given. Bytes by shape are a lower bound of the
//! traffic: a kernel's intensity is then an upper bound, its share of the bandwidth a lower one.

use std::collections::BTreeMap;
use std::fmt;

use goodput_core::records::Symbol;
use goodput_model::device::{Catalogue, Dtype};
use rustc_hash::FxHashMap;

use crate::class::{Class, Coarse};
use crate::flops::{Assumption, Call, Cost, cost};
use crate::trace::RankTrace;

/// The share of a ceiling from which a kernel counts as near it. The best measured bandwidths and matrix products
/// reach 80 to 95 % of the published peaks.
pub const NEAR: f64 = 0.6;

/// The two ceilings of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceilings {
    /// Dense peak in FLOP/s.
    pub flops_per_second: f64,
    /// Memory bandwidth in bytes/s.
    pub bytes_per_second: f64,
}

impl Ceilings {
    /// The intensity in FLOPs a byte at which the bandwidth's slope meets the peak.
    pub fn ridge(&self) -> f64 {
        self.flops_per_second / self.bytes_per_second
    }

    /// The ceilings of a device by name, as a trace or a person writes it.
    ///
    /// # Errors
    /// [`NoRoofline`] when the device, its peak for the type or its bandwidth is not known.
    pub fn of(device: &str, dtype: Dtype, catalogue: &Catalogue) -> Result<Self, NoRoofline> {
        let found = catalogue.find(device).map_err(|unknown| NoRoofline(unknown.to_string()))?;
        let flops_per_second = found.peak(dtype).map_err(|none| NoRoofline(none.to_string()))?;
        let bandwidth = found.memory_bytes_per_second.and_then(|figure| figure.exact());
        match bandwidth {
            Some(unit) => {
                Ok(Self { flops_per_second, bytes_per_second: unit / f64::from(found.devices_per_unit) })
            }
            None => Err(NoRoofline(format!("the memory bandwidth of {} is not known", found.name))),
        }
    }
}

/// Why something has no place on a roofline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoRoofline(pub String);

/// What holds a kernel back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Regime {
    /// Under [`NEAR`] of both ceilings: launch, occupancy, dependencies or imbalance, neither arithmetic nor memory.
    FarBelowBoth,
    /// At [`NEAR`] of the bandwidth or more: only less traffic helps (fusion, a narrower format).
    NearBandwidth,
    /// At [`NEAR`] of the peak or more: only less arithmetic or a faster format helps.
    NearCompute,
}

impl Regime {
    /// The word used in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::FarBelowBoth => "far_below_both",
            Self::NearBandwidth => "near_bandwidth",
            Self::NearCompute => "near_compute",
        }
    }
}

impl fmt::Display for Regime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FarBelowBoth => "far below both ceilings",
            Self::NearBandwidth => "near the bandwidth ceiling",
            Self::NearCompute => "near the compute ceiling",
        })
    }
}

/// A place on a roofline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placement {
    /// Achieved FLOP/s.
    pub flops_per_second: f64,
    /// Achieved bytes/s.
    pub bytes_per_second: f64,
    /// FLOPs a byte; infinite without traffic.
    pub intensity: f64,
    /// The device's ceilings.
    pub ceilings: Ceilings,
}

impl Placement {
    /// Of work that took `time_ns`; `None` when it took none.
    pub fn of(flops: u128, bytes: u128, time_ns: i64, ceilings: Ceilings) -> Option<Self> {
        let rate = |amount: u128| amount as f64 * 1e9 / time_ns as f64;
        (time_ns > 0).then(|| Self {
            flops_per_second: rate(flops),
            bytes_per_second: rate(bytes),
            intensity: flops as f64 / bytes as f64,
            ceilings,
        })
    }

    /// Achieved FLOP/s over the peak.
    pub fn compute_share(&self) -> f64 {
        self.flops_per_second / self.ceilings.flops_per_second
    }

    /// Achieved bytes/s over the bandwidth.
    pub fn bandwidth_share(&self) -> f64 {
        self.bytes_per_second / self.ceilings.bytes_per_second
    }

    /// Whether the bandwidth bounds it, not the peak.
    pub fn is_on_bandwidth_slope(&self) -> bool {
        self.intensity < self.ceilings.ridge()
    }

    /// Which ceiling it is near.
    pub fn regime(&self) -> Regime {
        let (compute, bandwidth) = (self.compute_share(), self.bandwidth_share());
        if compute.max(bandwidth) < NEAR {
            Regime::FarBelowBoth
        } else if bandwidth >= compute {
            Regime::NearBandwidth
        } else {
            Regime::NearCompute
        }
    }
}

/// How the bytes of a kernel are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Traffic {
    /// By shapes: each input read once, each output written once. A lower bound.
    Algorithmic,
    /// By hardware counters.
    Counted,
}

/// What hardware counters say of one piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Floating-point operations executed.
    pub flops: Option<u128>,
    /// Bytes to and from the device's memory.
    pub bytes: Option<u128>,
}

/// Kernels of one name, class and type.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelRoofline {
    /// The kernel's name.
    pub name: Symbol,
    /// What it does.
    pub class: Class,
    /// What it computes in.
    pub dtype: Option<Dtype>,
    /// Runs whose FLOPs and bytes are known.
    pub count: u64,
    /// Their duration in nanoseconds.
    pub time_ns: i64,
    /// Their FLOPs.
    pub flops: u128,
    /// Their bytes.
    pub bytes: u128,
    /// How the bytes are known.
    pub traffic: Traffic,
    /// What had to be assumed of any of them.
    pub assumed: Option<Assumption>,
    /// Where they stand, or why not.
    pub placement: Result<Placement, NoRoofline>,
}

/// The measured roofline of one rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Roofline {
    /// Groups of kernels, the longest first.
    pub kernels: Vec<KernelRoofline>,
    /// Duration of all kernels that compute, in nanoseconds.
    pub compute_ns: i64,
}

/// How a roofline is measured.
#[derive(Debug, Clone, Copy)]
pub struct RooflineOptions<'a> {
    /// Where devices are looked up.
    pub catalogue: &'a Catalogue,
    /// The device, when the trace does not name it or is to be overruled.
    pub device: Option<&'a str>,
    /// What hardware counters say, by index of the work.
    pub counters: Option<&'a FxHashMap<u32, Counted>>,
}

impl Roofline {
    /// Duration of the kernels whose FLOPs and bytes are known, in nanoseconds.
    pub fn known_ns(&self) -> i64 {
        self.kernels.iter().map(|kernel| kernel.time_ns).sum()
    }

    /// Share of the computing time whose FLOPs and bytes are known; `None` without any computing.
    pub fn coverage(&self) -> Option<f64> {
        (self.compute_ns > 0).then(|| self.known_ns() as f64 / self.compute_ns as f64)
    }

    /// FLOPs of all kernels that are known: what the hardware executed, recomputation included.
    pub fn flops(&self) -> u128 {
        self.kernels.iter().map(|kernel| kernel.flops).sum()
    }

    /// Measures one rank.
    pub fn of(trace: &RankTrace, options: &RooflineOptions<'_>) -> Self {
        let mut groups = BTreeMap::<Key, Group>::new();
        for (index, share) in shares(trace, options) {
            let Some(work) = trace.work.get(index) else { continue };
            let device = trace.streams.get(work.stream as usize).map_or(0, |stream| stream.device);
            let key = Key {
                name: work.name,
                class: work.class,
                dtype: share.dtype,
                traffic: share.traffic,
                device,
            };
            groups.entry(key).or_default().add(work.duration_ns(), &share);
        }
        let mut ceilings = BTreeMap::new();
        let mut kernels: Vec<_> = groups
            .into_iter()
            .map(|(key, group)| {
                let ceilings = ceilings
                    .entry((key.device, key.dtype))
                    .or_insert_with(|| ceilings_of(trace, key.device, key.dtype, options));
                group.placed(key, ceilings)
            })
            .collect();
        kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.time_ns));
        let computes = trace.work.iter().filter(|work| work.coarse() == Coarse::Compute);
        Self { kernels, compute_ns: computes.map(|work| work.duration_ns()).sum() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    name: Symbol,
    class: Class,
    dtype: Option<Dtype>,
    traffic: Traffic,
    device: i64,
}

#[derive(Debug, Default)]
struct Group {
    count: u64,
    time_ns: i64,
    flops: u128,
    bytes: u128,
    assumed: Option<Assumption>,
}

impl Group {
    fn add(&mut self, time_ns: i64, share: &Share) {
        self.count += 1;
        self.time_ns += time_ns;
        self.flops += share.flops;
        self.bytes += share.bytes;
        self.assumed = self.assumed.or(share.assumed);
    }

    fn placed(self, key: Key, ceilings: &Result<Ceilings, NoRoofline>) -> KernelRoofline {
        let Self { count, time_ns, flops, bytes, assumed } = self;
        let placement = ceilings.clone().and_then(|ceilings| {
            if key.dtype.is_none() && flops > 0 {
                return Err(NoRoofline(NO_TYPE.to_owned()));
            }
            Placement::of(flops, bytes, time_ns, ceilings)
                .ok_or_else(|| NoRoofline("its runs have no duration".to_owned()))
        });
        let Key { name, class, dtype, traffic, .. } = key;
        KernelRoofline { name, class, dtype, count, time_ns, flops, bytes, traffic, assumed, placement }
    }
}

/// What one piece of work does.
#[derive(Debug, Clone, Copy)]
struct Share {
    flops: u128,
    bytes: u128,
    dtype: Option<Dtype>,
    traffic: Traffic,
    assumed: Option<Assumption>,
}

/// What is known of each piece of work, by its index.
fn shares(trace: &RankTrace, options: &RooflineOptions<'_>) -> BTreeMap<usize, Share> {
    let mut shares = BTreeMap::new();
    for (cost, kernels) in costs(trace) {
        let parts = u128::from(cost.parts).min(kernels.len() as u128).max(1);
        for &index in kernels.iter().take(cost.parts as usize) {
            let counted = counted(options, index);
            let by_shape = cost.bytes.map(|bytes| (bytes / parts, Traffic::Algorithmic));
            let by_counter = counted.bytes.map(|bytes| (bytes, Traffic::Counted));
            let Some((bytes, traffic)) = by_counter.or(by_shape) else { continue };
            let dtype = computes_in(cost, trace.name(trace.work[index].name));
            let flops = counted.flops.unwrap_or(cost.flops / parts);
            shares.insert(index, Share { flops, bytes, dtype, traffic, assumed: cost.assumed });
        }
    }
    // Kernels that only the counters know.
    for (&index, counted) in options.counters.into_iter().flatten() {
        if let Counted { flops: Some(flops), bytes: Some(bytes) } = *counted {
            let share = Share { flops, bytes, dtype: None, traffic: Traffic::Counted, assumed: None };
            shares.entry(index as usize).or_insert(share);
        }
    }
    shares
}

fn counted(options: &RooflineOptions<'_>, index: usize) -> Counted {
    let counters = options.counters.zip(u32::try_from(index).ok());
    counters.and_then(|(counters, index)| counters.get(&index)).copied().unwrap_or_default()
}

/// The cost of each operator that launched work, with its kernels of the matching sort, the longest first.
fn costs(trace: &RankTrace) -> Vec<(Cost, Vec<usize>)> {
    let mut by_operator = BTreeMap::<u32, Vec<usize>>::new();
    for (index, work) in trace.work.iter().enumerate() {
        if let (Some(operator), Coarse::Compute) = (work.operator, work.coarse()) {
            by_operator.entry(operator).or_default().push(index);
        }
    }
    let mut known = FxHashMap::<_, Option<Cost>>::default();
    let mut costs = Vec::new();
    for (operator, mut kernels) in by_operator {
        let Some(&operator) = trace.operators.get(operator as usize) else { continue };
        let Some(&first) = kernels.first() else { continue };
        let kernel = trace.work[first].name;
        let key = (operator.name, operator.input_shapes, operator.input_types, operator.input_values, kernel);
        let cost = *known.entry(key).or_insert_with(|| {
            cost(Call {
                name: trace.name(operator.name),
                shapes: trace.name(operator.input_shapes),
                types: trace.name(operator.input_types),
                values: trace.name(operator.input_values),
                kernel: trace.name(kernel),
            })
        });
        let Some(cost) = cost else { continue };
        // A product is done by kernels of products: its copies and its bias are done by others.
        kernels.retain(|&index| trace.work[index].class.is_matrix_work() == cost.class.is_matrix_work());
        kernels.sort_by_key(|&index| std::cmp::Reverse(trace.work[index].duration_ns()));
        if !kernels.is_empty() {
            costs.push((cost, kernels));
        }
    }
    costs
}

/// Products of single precision run in TF32 when the kernel says so: cuBLAS and CUTLASS name its instruction `s1688`.
fn computes_in(cost: Cost, kernel: &str) -> Option<Dtype> {
    let is_tf32 = cost.class.is_matrix_work() && (kernel.contains("tf32") || kernel.contains("_s1688"));
    cost.dtype.map(|dtype| if dtype == Dtype::Fp32 && is_tf32 { Dtype::Tf32 } else { dtype })
}

/// The ceilings of the device of some work. What moves and does not compute is placed by the bandwidth alone, for which
/// any type's peak will do.
fn ceilings_of(
    trace: &RankTrace,
    device: i64,
    dtype: Option<Dtype>,
    options: &RooflineOptions<'_>,
) -> Result<Ceilings, NoRoofline> {
    let Some(name) = options.device.or_else(|| device_name(trace, device)) else {
        return Err(NoRoofline("the trace does not name its device: state it".to_owned()));
    };
    let types = dtype.map_or(Dtype::ALL.to_vec(), |dtype| vec![dtype]);
    let mut found = types.into_iter().map(|dtype| Ceilings::of(name, dtype, options.catalogue));
    match found.next() {
        Some(Err(reason)) => found.find(Result::is_ok).unwrap_or(Err(reason)),
        Some(found) => found,
        None => Err(NoRoofline(NO_TYPE.to_owned())),
    }
}

/// The product of a device by its index; where the trace lists other indices (virtual devices), what all of them are.
fn device_name(trace: &RankTrace, device: i64) -> Option<&str> {
    let mut names = trace.devices.iter().map(|info| info.name.as_str());
    let by_index = trace.devices.iter().find(|info| info.id == device).map(|info| info.name.as_str());
    let shared = || names.next().filter(|first| names.all(|name| name == *first));
    by_index.or_else(shared).filter(|name| !name.is_empty())
}

const NO_TYPE: &str = "its type is not recorded, or has no peak";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::sketch::{MAIN, Sketch};
    use crate::trace::{DeviceInfo, Operator, Thread};

    /// 5 TFLOP/s at 2.8 TB/s of an H100 with 989 TFLOP/s and 3.35 TB/s: the chapter's LayerNorm.
    #[test]
    fn a_layer_norm_stands_near_the_bandwidth_ceiling() {
        let ceilings = Ceilings { flops_per_second: 989e12, bytes_per_second: 3.35e12 };
        assert!((ceilings.ridge() - 295.2).abs() < 0.05);
        let placement = Placement::of(5_000_000_000, 2_800_000_000, 1_000_000, ceilings).unwrap();
        assert_eq!((placement.flops_per_second, placement.bytes_per_second), (5e12, 2.8e12));
        assert!((placement.intensity - 1.786).abs() < 0.0005);
        assert!((placement.bandwidth_share() - 0.836).abs() < 0.0005);
        assert!(placement.is_on_bandwidth_slope());
        assert_eq!(placement.regime(), Regime::NearBandwidth);
    }

    #[test]
    fn the_three_regimes() {
        let ceilings = Ceilings { flops_per_second: 1e15, bytes_per_second: 1e12 };
        let regime = |flops, bytes| Placement::of(flops, bytes, 1_000_000_000, ceilings).unwrap().regime();
        assert_eq!(regime(700_000_000_000_000, 100_000_000_000), Regime::NearCompute);
        assert_eq!(regime(1_000_000_000, 600_000_000_000), Regime::NearBandwidth);
        assert_eq!(regime(590_000_000_000_000, 590_000_000_000), Regime::FarBelowBoth);
        assert_eq!(Placement::of(1, 1, 0, ceilings), None);
    }

    /// A linear layer of `[8192, 4096] x [4096, 4096]` in bf16 that takes 400 us, after a copy of its own.
    fn linear() -> Sketch {
        let mut sketch = Sketch::default();
        let builder = &mut sketch.builder;
        let operator = Operator {
            start_ns: 0,
            end_ns: 100,
            name: builder.intern("aten::mm"),
            thread: builder.thread(Thread { process: 1, id: MAIN }),
            input_shapes: builder.intern("[[8192, 4096], [4096, 4096]]"),
            input_types: builder.intern(r#"["c10::BFloat16", "c10::BFloat16"]"#),
            input_values: Symbol::EMPTY,
        };
        builder.operator(operator, None);
        builder.operators_by_nesting = true;
        sketch.launched_by(MAIN, 10, 7, (1_000, 2_000), Class::CopyLayout, "transpose");
        sketch.launched_by(MAIN, 20, 7, (2_000, 402_000), Class::Gemm, "nvjet");
        sketch.launched_by(MAIN, 30, 7, (402_000, 403_000), Class::Gemm, "splitKreduce");
        sketch
    }

    fn options() -> RooflineOptions<'static> {
        RooflineOptions { catalogue: Catalogue::built_in(), device: None, counters: None }
    }

    #[test]
    fn the_arithmetic_of_an_operator_is_done_by_its_longest_kernel() {
        let mut trace = linear().trace();
        let info =
            DeviceInfo { id: 0, name: "NVIDIA H100 80GB HBM3".into(), memory_bytes: None, processors: None };
        trace.devices.push(info);
        let roofline = Roofline::of(&trace, &options());
        let [kernel] = roofline.kernels.as_slice() else { panic!("{roofline:?}") };
        assert_eq!(trace.name(kernel.name), "nvjet");
        assert_eq!(kernel.flops, 2 * 8192 * 4096 * 4096);
        assert_eq!(kernel.bytes, 2 * (2 * 8192 * 4096 + 4096 * 4096));
        assert_eq!((kernel.count, kernel.time_ns, roofline.compute_ns), (1, 400_000, 402_000));
        let placement = kernel.placement.as_ref().unwrap();
        // 687 of 989.4 TFLOP/s.
        assert!((placement.compute_share() - 0.6945).abs() < 0.0005, "{}", placement.compute_share());
        assert_eq!(placement.regime(), Regime::NearCompute);
    }

    #[test]
    fn counters_take_the_place_of_shapes() {
        let trace = linear().trace();
        let counters = FxHashMap::from_iter([
            (0, Counted { flops: Some(7), bytes: Some(9) }),
            (1, Counted { flops: None, bytes: Some(300_000_000) }),
        ]);
        let roofline = Roofline::of(&trace, &RooflineOptions { counters: Some(&counters), ..options() });
        let [product, copy] = roofline.kernels.as_slice() else { panic!("{roofline:?}") };
        assert_eq!((product.bytes, product.traffic), (300_000_000, Traffic::Counted));
        assert_eq!(product.flops, 2 * 8192 * 4096 * 4096);
        assert_eq!((copy.flops, copy.bytes), (7, 9));
    }

    #[test]
    fn without_a_device_there_is_a_reason_and_no_place() {
        let mut trace = linear().trace();
        let reason = |trace: &RankTrace, device| {
            let roofline = Roofline::of(trace, &RooflineOptions { device, ..options() });
            roofline.kernels[0].placement.as_ref().unwrap_err().to_string()
        };
        assert_eq!(reason(&trace, None), "the trace does not name its device: state it");
        assert!(reason(&trace, Some("Abacus 9000")).contains("Abacus 9000"));
        trace.devices.push(DeviceInfo { id: 0, name: String::new(), memory_bytes: None, processors: None });
        assert_eq!(reason(&trace, None), "the trace does not name its device: state it");
    }
}
