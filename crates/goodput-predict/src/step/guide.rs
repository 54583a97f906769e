//! The MFU guide's closed forms, for comparison with the simulation. Nothing else uses them.
//!
//! The guide sums compute, a bubble from three phases (which count the same idle time twice), exposed data-parallel exchange
//! (none hidden on the first stage, the shorter of exchange and compute elsewhere, averaged), and two launches a kernel and
//! layer.

use crate::layer::Terms;
use crate::run::Run;
use crate::schedule::closed;

/// The guide's terms, ns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GuideStep {
    /// Compute and exchanges of a stage for all micro-batches.
    pub busy_ns: f64,
    /// Idle time by its three phases.
    pub bubble_ns: f64,
    /// Idle time by (p - 1) / (v m), which counts it once.
    pub exact_bubble_ns: f64,
    /// Data-parallel exchange that nothing hides.
    pub data_ns: f64,
    /// Launches: 2 x layers x kernels of a block x latency, once a step.
    pub launch_ns: f64,
}

impl GuideStep {
    /// The guide's step.
    #[must_use]
    pub fn step_ns(&self) -> f64 {
        self.busy_ns + self.bubble_ns + self.data_ns + self.launch_ns
    }

    pub(crate) fn new(run: &Run, busy: &Terms, data_ns: f64, layers: u64) -> Self {
        let (stages, parts) = (run.layout.pipeline, run.parts());
        let count = run.micro_batches().unwrap_or(1).min(u32::MAX.into()) as u32;
        let busy_ns = busy.sum();
        let pipeline = f64::from(stages);
        // The first stage hides nothing; the others what fits beside one micro-batch.
        let hidden = if run.layout.overlap_gradients { data_ns.min(busy_ns / f64::from(count)) } else { 0.0 };
        let data_ns = data_ns - hidden * (pipeline - 1.0) / pipeline;
        // Kernels of a block: 10, and 4 with tensor parallelism.
        let kernels = if run.layout.tensor > 1 { 14.0 } else { 10.0 };
        Self {
            busy_ns,
            bubble_ns: busy_ns * closed::three_phases(stages, parts, count),
            exact_bubble_ns: busy_ns * closed::bubble(stages, parts, count),
            data_ns,
            launch_ns: 2.0 * layers as f64 * kernels * run.cluster.host.dispatch_us * 1e3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The guide: 80 layers with tensor parallelism and 5 us a launch are 11.2 ms, its "~12 ms"; pipeline 4 with 2,048 micro-batches
    /// loses "~0.37 %", of which (p - 1) / m is 0.146 %.
    #[test]
    fn the_guides_own_examples() {
        let text = "model: llama3.1-70b\ncluster: DGX H100\ndevices: 32\nlayout: {tp: 8, pp: 4}\n\
                    batch: {sequence: 4096, micro: 1, global: 2048}\n";
        let run = Run::from_yaml("run.yaml", text, std::path::Path::new(".")).unwrap();
        let mut busy = Terms::default();
        busy.add(crate::layer::Term::Gemm, 1e9);
        let guide = GuideStep::new(&run, &busy, 0.0, 80);
        assert!((guide.launch_ns - 11.2e6).abs() < 1.0, "{}", guide.launch_ns);
        assert!((guide.bubble_ns / 1e9 - 0.00366).abs() < 1e-5);
        assert!((guide.exact_bubble_ns / 1e9 - 0.00146).abs() < 1e-5);
        assert_eq!(guide.step_ns(), guide.busy_ns + guide.bubble_ns + guide.launch_ns);
    }
}
