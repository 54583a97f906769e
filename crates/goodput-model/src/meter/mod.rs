//! The meter inside the training loop: tokens/s, TFLOP/s and MFU, each in exactly one scope.
//!
//! | kind | aggregation | figures |
//! |---|---|---|
//! | additive | SUM over the data-parallel group | tokens, FLOPs, samples, loss |
//! | global | MAX over the world | peak memory |
//! | intensive | derived from two additive sums, never averaged | MFU, tokens/s a device |
//!
//! The meter starts no collective: it says what to sum over which group ([`CountScope::sum_group`]), the caller sums.
//! Useful FLOPs (real tokens, no recomputation) make the MFU, executed FLOPs the HFU, each at the dense peak of its own
//! dtype. [`DeferredLog`] reads the sums of a step when a later one has ended.
//!
//! ```
//! use goodput_model::meter::*;
//! // 8 ranks: 2 replicas of 2 x 2 (tensor x context); each rank counts its replica's 8 TFLOP in 1 s.
//! let layout = ParallelLayout::new(8, 2, 2, 1)?;
//! let scope = CountScope::new(layout, RankCounts::FullModel, SequenceCounts::Whole);
//! let peak = DtypePeak { dtype: "bf16".to_owned(), flops_per_second: Some(989.4e12) };
//! let mut meter = ThroughputMeter::new(scope, vec![peak])?;
//! let flops = 8_000_000_000_000;
//! meter.micro_batch(&Counts {
//!     tokens: 4_000,
//!     executed_tokens: 4_096,
//!     samples: 1,
//!     useful_flops: vec![flops],
//!     executed_flops: vec![flops],
//!     loss_sum: 0.0,
//! })?;
//! let step = meter.end_step(0, 1_000_000_000, 0)?;
//! // The caller's all-reduce over 2 data-parallel ranks.
//! let sums: Vec<f64> = step.sums().iter().map(|n| 2.0 * n).collect();
//! let reduced = step.reduced(&sums, 0)?;
//! assert_eq!(meter.figures(&reduced).useful_tflops_per_device, 2.0);
//! // perf_topk: one row a rank of the world, each its device's share.
//! let rows = meter.breakdown(&reduced, &[flops; 8])?;
//! assert!(rows.rows().iter().all(|row| row.rate.per_device_second() == 2e12));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod breakdown;
mod counts;
mod deferred;
mod figures;
mod layout;
mod reduction;

pub use breakdown::{Breakdown, BreakdownError, RankRow};
pub use counts::{CountError, Counts};
pub use deferred::{DeferredLog, FlushedStep, PendingReduction};
pub use figures::{DtypePeak, ExactRate, Figures, NoUtilization};
pub use layout::{CountScope, LayoutError, ParallelLayout, RankCounts, SequenceCounts, SumGroup};
pub use reduction::{LocalStep, ReducedSteps, ReductionError};

/// Counts the steps of one rank, and derives the job's figures from their sums.
#[derive(Debug, Clone, PartialEq)]
pub struct ThroughputMeter {
    scope: CountScope,
    peaks: Vec<DtypePeak>,
    counts: Counts,
    micro_batches: u64,
}

/// A meter or a step that cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MeterError {
    /// None, or too many.
    #[error("the meter has {given} dtypes: expected 1 to {}", ThroughputMeter::MOST_DTYPES)]
    Dtypes {
        /// Dtypes given.
        given: usize,
    },
    /// The same dtype twice.
    #[error("the meter has two peaks for {dtype}")]
    DtypeTwice {
        /// The dtype.
        dtype: String,
    },
    /// No peak.
    #[error("the peak for {dtype} is {value}: expected the dense FLOP/s of one device, above zero")]
    Peak {
        /// The dtype.
        dtype: String,
        /// As given.
        value: f64,
    },
    /// A step without a micro-batch.
    #[error("step {step} ended without a micro-batch: count its micro-batches before it ends")]
    EmptyStep {
        /// The step.
        step: u64,
    },
    /// A step without time.
    #[error("step {step} took no time: give the nanoseconds between the ends of two steps")]
    NoTime {
        /// The step.
        step: u64,
    },
}

impl ThroughputMeter {
    /// Dtypes of one run's arithmetic, at most.
    pub const MOST_DTYPES: usize = 4;

    /// A meter of one rank. `peaks` lists the dtypes of the run's arithmetic; counts follow its order.
    ///
    /// # Errors
    /// [`MeterError`] for no dtype, too many, or a peak that is none.
    pub fn new(scope: CountScope, peaks: Vec<DtypePeak>) -> Result<Self, MeterError> {
        if !(1..=Self::MOST_DTYPES).contains(&peaks.len()) {
            return Err(MeterError::Dtypes { given: peaks.len() });
        }
        for (position, DtypePeak { dtype, flops_per_second }) in peaks.iter().enumerate() {
            if peaks[..position].iter().any(|peak| peak.dtype == *dtype) {
                return Err(MeterError::DtypeTwice { dtype: dtype.clone() });
            }
            if let Some(value) = *flops_per_second
                && !(value.is_finite() && value >= 1.0)
            {
                return Err(MeterError::Peak { dtype: dtype.clone(), value });
            }
        }
        Ok(Self { scope, counts: Counts::zero(peaks.len()), peaks, micro_batches: 0 })
    }

    /// How the counts become the job's.
    pub fn scope(&self) -> CountScope {
        self.scope
    }

    /// The dtypes and peaks, in the order of the counts.
    pub fn peaks(&self) -> &[DtypePeak] {
        &self.peaks
    }

    /// Adds one micro-batch to the step under way.
    ///
    /// # Errors
    /// [`CountError`] when the counts cannot be right; nothing of them is added.
    pub fn micro_batch(&mut self, counts: &Counts) -> Result<(), CountError> {
        self.counts.count(counts)?;
        self.micro_batches += 1;
        Ok(())
    }

    /// Ends the step under way, which took `elapsed_ns` since the end of the one before. Without a wait for the
    /// device, the time of a single step is when the host was done; over a window of steps it is the device's.
    ///
    /// # Errors
    /// [`MeterError`] for a step without a micro-batch or without time.
    pub fn end_step(
        &mut self,
        step: u64,
        elapsed_ns: u64,
        peak_memory_bytes: u64,
    ) -> Result<LocalStep, MeterError> {
        if self.micro_batches == 0 {
            return Err(MeterError::EmptyStep { step });
        }
        if elapsed_ns == 0 {
            return Err(MeterError::NoTime { step });
        }
        let counts = std::mem::replace(&mut self.counts, Counts::zero(self.peaks.len()));
        let micro_batches = std::mem::take(&mut self.micro_batches);
        Ok(LocalStep { step, optimizer_steps: 1, micro_batches, elapsed_ns, counts, peak_memory_bytes })
    }

    /// The job's figures over reduced steps.
    pub fn figures(&self, steps: &ReducedSteps) -> Figures {
        Figures::new(steps, self.scope, &self.peaks)
    }

    /// The job's useful rate per device, rank by rank: `rank_useful_flops` holds what each rank of the world counted
    /// in these steps, all dtypes together.
    ///
    /// # Errors
    /// [`BreakdownError`] when the ranks' counts do not add up to the job's.
    pub fn breakdown(
        &self,
        steps: &ReducedSteps,
        rank_useful_flops: &[u128],
    ) -> Result<Breakdown, BreakdownError> {
        Breakdown::new(rank_useful_flops, self.figures(steps).useful_rate, self.scope)
    }
}
