//! Streams of random numbers, one a purpose, so that one draw more in one place shifts no other.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of draws.
pub(crate) struct Stream(ChaCha8Rng);

/// What a stream is for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// Submissions of a class of jobs.
    Arrivals,
    /// Failures of a pool's nodes.
    NodeFailures,
    /// Size and fate of a job.
    Job,
    /// One attempt of a job.
    Attempt,
    /// Kernels and host of a rank in a step.
    Kernel,
    /// Lives of a serving replica.
    Replica,
    /// Small jobs that scatter a serving pool's free devices.
    SmallJobs,
}

impl Stream {
    /// The stream of `purpose` for the thing numbered by `major` and `minor`.
    pub(crate) fn new(seed: u64, purpose: Purpose, major: u64, minor: u64) -> Self {
        let mut key = [0; 32];
        for (chunk, word) in key.chunks_exact_mut(8).zip([seed, purpose as u64, major, minor]) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Uniform in `[0, 1)`.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `[low, high)`.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Exponential with this mean.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }

    /// True for this share of the draws.
    pub(crate) fn happens(&mut self, share: f64) -> bool {
        self.uniform() < share
    }
}
