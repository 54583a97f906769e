//! Counts on their way through the caller's collective: one SUM over the data-parallel group, one MAX over the world.
//!
//! A collective of float64 exists everywhere, one of 128-bit integers nowhere. Counts therefore travel as limbs of 26
//! bits, whose sums over 2^22 ranks, and the sum of all of those, float64 still holds exactly. A checksum travels along: a reduction in float32 or
//! bfloat16, which rounds, is refused rather than reported.

use super::counts::{CountError, Counts};

const LIMB_BITS: u32 = 26;
/// Limbs of one figure of tokens or samples ([`Counts::MOST_TOKENS`]).
const TOKEN_LIMBS: usize = 2;
/// Limbs of one figure of FLOPs ([`Counts::MOST_FLOPS`]).
const FLOP_LIMBS: usize = 3;
/// The first integer that float64 may hold for another one.
const EXACT_LIMIT: f64 = 9_007_199_254_740_992.0;

/// One step (or several) as one rank counted it, on its way to be summed.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalStep {
    /// Number of the step, or of the first one.
    pub step: u64,
    /// Optimizer steps: 1 for one step.
    pub optimizer_steps: u64,
    /// Micro-batches of this rank.
    pub micro_batches: u64,
    /// Wall time, up to the end of the device's work where steps are to be compared one by one.
    pub elapsed_ns: u64,
    /// Counts of this rank.
    pub counts: Counts,
    /// Peak memory of this rank's device, to be reduced with MAX over the world.
    pub peak_memory_bytes: u64,
}

/// The same steps, counts summed over the group.
#[derive(Debug, Clone, PartialEq)]
pub struct ReducedSteps {
    /// Number of the step, or of the first one.
    pub step: u64,
    /// Optimizer steps.
    pub optimizer_steps: u64,
    /// Micro-batches of one rank.
    pub micro_batches: u64,
    /// Wall time.
    pub elapsed_ns: u64,
    /// Counts summed over the group.
    pub counts: Counts,
    /// The most that any device of the world held.
    pub peak_memory_bytes: u64,
}

/// Sums that did not come back as sums.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReductionError {
    /// Another vector.
    #[error("the reduced sums have {given} entries: expected {expected}, as LocalStep::sums gave")]
    Length {
        /// Entries given.
        given: usize,
        /// Entries expected.
        expected: usize,
    },
    /// Rounded on the way.
    #[error(
        "the sums were rounded on the way: reduce them in float64 with SUM (float32 keeps no count above 2^24, and an \
         average is no sum)"
    )]
    Rounded,
    /// Less than this rank's own part.
    #[error("the reduced {field} is less than this rank's own {own}: sum over the group of this rank")]
    LessThanOwn {
        /// The field.
        field: &'static str,
        /// This rank's.
        own: u128,
    },
}

impl LocalStep {
    /// The vector to be reduced with SUM in float64 over [`super::CountScope::sum_group`].
    pub fn sums(&self) -> Vec<f64> {
        let counts = &self.counts;
        let mut sums = Vec::with_capacity(length(counts.useful_flops.len()));
        for tokens in [counts.tokens, counts.executed_tokens, counts.samples] {
            split(tokens.into(), TOKEN_LIMBS, &mut sums);
        }
        for &flops in counts.useful_flops.iter().chain(&counts.executed_flops) {
            split(flops, FLOP_LIMBS, &mut sums);
        }
        let checksum = sums.iter().sum();
        sums.push(checksum);
        sums.push(counts.loss_sum);
        sums
    }

    /// This step with the counts that came back.
    ///
    /// # Errors
    /// [`ReductionError`] when they are no exact sums over a group that this rank is in.
    pub fn reduced(&self, sums: &[f64], peak_memory_bytes: u64) -> Result<ReducedSteps, ReductionError> {
        let dtypes = self.counts.useful_flops.len();
        if sums.len() != length(dtypes) {
            return Err(ReductionError::Length { given: sums.len(), expected: length(dtypes) });
        }
        let (integers, rest) = sums.split_at(sums.len() - 2);
        let is_count = |n: &f64| n.fract() == 0.0 && (0.0..EXACT_LIMIT).contains(n);
        if !integers.iter().chain(&rest[..1]).all(is_count) || integers.iter().sum::<f64>() != rest[0] {
            return Err(ReductionError::Rounded);
        }
        let (tokens, flops) = integers.split_at(3 * TOKEN_LIMBS);
        let mut tokens = tokens.chunks_exact(TOKEN_LIMBS).map(join);
        let mut token = || tokens.next().and_then(|n| u64::try_from(n).ok()).ok_or(ReductionError::Rounded);
        let mut flops = flops.chunks_exact(FLOP_LIMBS).map(join);
        let counts = Counts {
            tokens: token()?,
            executed_tokens: token()?,
            samples: token()?,
            useful_flops: flops.by_ref().take(dtypes).collect(),
            executed_flops: flops.collect(),
            loss_sum: rest[1],
        };
        not_less("executed_tokens", self.counts.executed_tokens.into(), counts.executed_tokens.into())?;
        for (&own, &sum) in self.counts.executed_flops.iter().zip(&counts.executed_flops) {
            not_less("executed_flops", own, sum)?;
        }
        not_less("peak_memory_bytes", self.peak_memory_bytes.into(), peak_memory_bytes.into())?;
        Ok(ReducedSteps { counts, peak_memory_bytes, ..self.alone() })
    }

    /// This step where this rank is the whole group.
    pub fn alone(&self) -> ReducedSteps {
        let Self { step, optimizer_steps, micro_batches, elapsed_ns, counts, peak_memory_bytes } =
            self.clone();
        ReducedSteps { step, optimizer_steps, micro_batches, elapsed_ns, counts, peak_memory_bytes }
    }
}

impl ReducedSteps {
    /// Further steps of the same meter: additive quantities add, memory keeps its maximum. Whatever is intensive is
    /// derived from this sum, so that it weighs every step by its time.
    ///
    /// # Errors
    /// [`CountError`] when the sum leaves the exact range: derive the figures of fewer steps at once.
    pub fn add(&mut self, later: &Self) -> Result<(), CountError> {
        self.counts.add_steps(&later.counts)?;
        self.optimizer_steps += later.optimizer_steps;
        self.micro_batches += later.micro_batches;
        self.elapsed_ns += later.elapsed_ns;
        self.peak_memory_bytes = self.peak_memory_bytes.max(later.peak_memory_bytes);
        Ok(())
    }
}

const MASK: u128 = (1 << LIMB_BITS) - 1;

/// Limbs, their checksum, and the loss.
const fn length(dtypes: usize) -> usize {
    3 * TOKEN_LIMBS + 2 * FLOP_LIMBS * dtypes + 2
}

fn split(count: u128, limbs: usize, into: &mut Vec<f64>) {
    into.extend((0..limbs as u32).map(|limb| ((count >> (limb * LIMB_BITS)) & MASK) as f64));
}

fn join(limbs: &[f64]) -> u128 {
    limbs.iter().rev().fold(0, |sum, &limb| (sum << LIMB_BITS) + limb as u128)
}

fn not_less(field: &'static str, own: u128, sum: u128) -> Result<(), ReductionError> {
    if sum < own { Err(ReductionError::LessThanOwn { field, own }) } else { Ok(()) }
}
