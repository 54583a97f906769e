//! What overlap costs: kernels beside communication against their own undisturbed runs.
//!
//! Communication that runs beside computation is hidden, and takes multiprocessors and memory bandwidth from it. The
//! net gain of the overlap is what it hides less what it adds to the kernels beside it.

use std::collections::BTreeMap;

use goodput_core::records::Symbol;

use crate::class::{Class, Coarse};
use crate::nearest_rank::median;
use crate::trace::{DeviceWork, RankTrace};

/// Undisturbed runs that a comparison needs.
pub const LEAST_UNDISTURBED: usize = 3;

/// What overlap with communication costs and gains on one rank.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contention {
    /// Kernels with runs of both sorts, the most extra time first.
    pub kernels: Vec<ContendedKernel>,
    /// Runs beside communication whose kernel has fewer than [`LEAST_UNDISTURBED`] undisturbed runs.
    pub not_compared: u64,
    /// Duration of those in nanoseconds: what they would take alone is not known.
    pub not_compared_ns: i64,
    /// Communication at the same time as computation, in nanoseconds: all of it less the exposed.
    pub hidden_ns: i64,
}

/// One kernel, with one shape of inputs where the trace records them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContendedKernel {
    /// Its name.
    pub name: Symbol,
    /// Shapes of its operator's inputs; [`Symbol::EMPTY`] when not recorded: the runs may then be of several sizes.
    pub shapes: Symbol,
    /// What it does.
    pub class: Class,
    /// Runs without any communication beside them.
    pub undisturbed: u64,
    /// Runs with communication beside them for more than half of their time.
    pub overlapped: u64,
    /// Median duration of the undisturbed runs in nanoseconds; the lower one of two.
    pub undisturbed_median_ns: i64,
    /// Median duration of the overlapped runs in nanoseconds; the lower one of two.
    pub overlapped_median_ns: i64,
    /// Duration of the overlapped runs less as many undisturbed medians, in nanoseconds; negative when they were
    /// faster.
    pub extra_ns: i64,
}

impl ContendedKernel {
    /// Whether all runs are known to be of one size: without it a longer run may have had more to do.
    pub fn is_of_one_size(&self) -> bool {
        self.shapes != Symbol::EMPTY
    }

    /// Overlapped over undisturbed median duration.
    pub fn slowdown(&self) -> f64 {
        self.overlapped_median_ns as f64 / self.undisturbed_median_ns as f64
    }
}

impl Contention {
    /// What the overlap adds to the compared kernels, in nanoseconds. Those that are not of one size are among them.
    pub fn extra_ns(&self) -> i64 {
        self.kernels.iter().map(|kernel| kernel.extra_ns).sum()
    }

    /// What the overlap saves less what it adds, in nanoseconds; negative when it loses. Runs that are not compared
    /// add nothing to it.
    pub fn net_gain_ns(&self) -> i64 {
        self.hidden_ns - self.extra_ns()
    }

    /// Compares the runs of one rank.
    pub fn of(trace: &RankTrace) -> Self {
        let mut contention = Self::default();
        let mut runs = BTreeMap::<(Symbol, Symbol, Class), Runs>::new();
        for (_, works) in by_device(trace) {
            let communication = Union::of(&works, Coarse::Communication);
            let compute = Union::of(&works, Coarse::Compute);
            contention.hidden_ns +=
                compute.spans.iter().map(|&(from, to, _)| communication.within(from, to)).sum::<i64>();
            for work in works {
                if work.coarse() != Coarse::Compute || work.duration_ns() == 0 {
                    continue;
                }
                let shapes = trace.operator_of(work).map_or(Symbol::EMPTY, |operator| operator.input_shapes);
                let runs = runs.entry((work.name, shapes, work.class)).or_default();
                let beside_ns = communication.within(work.start_ns, work.end_ns);
                if beside_ns == 0 {
                    runs.undisturbed.push(work.duration_ns());
                } else if beside_ns > work.duration_ns() / 2 {
                    runs.overlapped.push(work.duration_ns());
                }
            }
        }
        for ((name, shapes, class), runs) in runs {
            contention.add(name, shapes, class, runs);
        }
        contention.kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.extra_ns));
        contention
    }

    fn add(&mut self, name: Symbol, shapes: Symbol, class: Class, mut runs: Runs) {
        let overlapped_ns: i64 = runs.overlapped.iter().sum();
        let overlapped = runs.overlapped.len() as u64;
        let Some(overlapped_median_ns) = median(&mut runs.overlapped) else { return };
        let enough = runs.undisturbed.len() >= LEAST_UNDISTURBED;
        let Some(undisturbed_median_ns) = median(&mut runs.undisturbed).filter(|_| enough) else {
            self.not_compared += overlapped;
            self.not_compared_ns += overlapped_ns;
            return;
        };
        self.kernels.push(ContendedKernel {
            name,
            shapes,
            class,
            undisturbed: runs.undisturbed.len() as u64,
            overlapped,
            undisturbed_median_ns,
            overlapped_median_ns,
            extra_ns: runs.overlapped.iter().map(|run| run - undisturbed_median_ns).sum(),
        });
    }
}

/// Durations of the runs of one kernel in nanoseconds.
#[derive(Debug, Default)]
struct Runs {
    undisturbed: Vec<i64>,
    overlapped: Vec<i64>,
}

/// Kernels contend with communication of their own device only.
fn by_device(trace: &RankTrace) -> BTreeMap<i64, Vec<&DeviceWork>> {
    let mut devices = BTreeMap::<i64, Vec<&DeviceWork>>::new();
    for work in &trace.work {
        let device = trace.streams.get(work.stream as usize).map_or(0, |stream| stream.device);
        devices.entry(device).or_default().push(work);
    }
    devices
}

/// Disjoint spans by start, each with the length of all before it.
#[derive(Debug)]
struct Union {
    spans: Vec<(i64, i64, i64)>,
}

impl Union {
    /// Of work by start.
    fn of(works: &[&DeviceWork], coarse: Coarse) -> Self {
        let mut spans: Vec<(i64, i64, i64)> = Vec::new();
        for work in works.iter().filter(|work| work.coarse() == coarse) {
            match spans.last_mut() {
                Some((_, end_ns, _)) if work.start_ns <= *end_ns => *end_ns = work.end_ns.max(*end_ns),
                last => {
                    let before_ns = last.map_or(0, |(start, end, before)| *before + (*end - *start));
                    spans.push((work.start_ns, work.end_ns, before_ns));
                }
            }
        }
        Self { spans }
    }

    /// Nanoseconds of the union before an instant.
    fn before(&self, at_ns: i64) -> i64 {
        let behind = self.spans.partition_point(|&(start_ns, ..)| start_ns < at_ns);
        let Some(&(start_ns, end_ns, before_ns)) = behind.checked_sub(1).and_then(|i| self.spans.get(i))
        else {
            return 0;
        };
        before_ns + (end_ns.min(at_ns) - start_ns)
    }

    fn within(&self, from_ns: i64, to_ns: i64) -> i64 {
        self.before(to_ns) - self.before(from_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::sketch::Sketch;

    /// Kernels of 100 ns alone, of 130 ns beside communication.
    fn overlapped(alone: i64) -> Sketch {
        let mut sketch = Sketch::default();
        for run in 0..alone {
            sketch.work(7, run * 1000, run * 1000 + 100, Class::Gemm);
        }
        sketch
            .work(7, 10_000, 10_130, Class::Gemm)
            .work(20, 9_950, 10_200, Class::Communication)
            .work(7, 11_000, 11_140, Class::Gemm)
            .work(20, 11_050, 11_150, Class::Communication)
            // Half of its time or less: neither.
            .work(7, 12_000, 12_200, Class::Gemm)
            .work(20, 12_100, 12_300, Class::Communication);
        sketch
    }

    #[test]
    fn the_overlap_gains_what_it_hides_less_what_it_adds() {
        let contention = Contention::of(&overlapped(3).trace());
        let [kernel] = contention.kernels[..] else { panic!("{contention:?}") };
        assert_eq!((kernel.undisturbed, kernel.overlapped), (3, 2));
        assert_eq!((kernel.undisturbed_median_ns, kernel.overlapped_median_ns), (100, 130));
        assert_eq!(kernel.slowdown(), 1.3);
        assert_eq!(contention.extra_ns(), 70);
        // 130 + 90 + 100 hidden.
        assert_eq!(contention.hidden_ns, 320);
        assert_eq!(contention.net_gain_ns(), 250);
        assert_eq!(contention.not_compared, 0);
    }

    #[test]
    fn without_undisturbed_runs_nothing_is_compared() {
        let contention = Contention::of(&overlapped(2).trace());
        assert_eq!(contention.kernels, []);
        assert_eq!((contention.not_compared, contention.not_compared_ns), (2, 270));
        assert_eq!(contention.hidden_ns, 320);
    }

    #[test]
    fn a_union_counts_each_instant_once() {
        let mut sketch = Sketch::default();
        for (start_ns, end_ns) in [(0, 10), (5, 20), (20, 25), (30, 40)] {
            sketch.work(1, start_ns, end_ns, Class::Communication);
        }
        let trace = sketch.trace();
        let works: Vec<_> = trace.work.iter().collect();
        let union = Union::of(&works, Coarse::Communication);
        for (from_ns, to_ns, expected) in [(-5, 50, 35), (0, 25, 25), (24, 31, 2), (25, 30, 0), (40, 50, 0)] {
            assert_eq!(union.within(from_ns, to_ns), expected, "{from_ns} to {to_ns}");
        }
        assert_eq!(Union::of(&works, Coarse::Memory).within(0, 100), 0);
    }
}
