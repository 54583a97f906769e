//! Where each kernel stands on its device's roofline, measured in the step itself.
//!
//! FLOPs and bytes are those of the launching operator ([`crate::flops`]), put on its largest kernels of the matching
//! sort; bytes counted by hardware counters take their place when given. Bytes by shape are a lower bound of the
//! traffic: a kernel's intensity is then an upper bound, its share of the bandwidth a lower one.

mod placement;

pub use placement::{Ceilings, NEAR, NoRoofline, Placement, Regime};

use std::collections::BTreeMap;

use goodput_core::records::Symbol;
use goodput_model::device::{Catalogue, Dtype};
use rustc_hash::FxHashMap;

use crate::class::{Class, Coarse};
use crate::flops::{Assumption, Call, Cost, cost};
use crate::trace::RankTrace;

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
