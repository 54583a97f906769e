//! Deferred logging: the sums of step N are read at step N+1 or later, when they have long arrived.

use std::collections::VecDeque;
use std::time::Instant;

use super::reduction::{LocalStep, ReducedSteps};

/// A reduction that the caller has started.
pub trait PendingReduction {
    /// What goes wrong when it is read.
    type Error;

    /// Whether reading it now would not wait for the device or for other ranks.
    ///
    /// # Errors
    /// The caller's own.
    fn is_ready(&mut self) -> Result<bool, Self::Error>;

    /// The sums and the largest peak memory.
    ///
    /// # Errors
    /// The caller's own.
    fn take(self, step: &LocalStep) -> Result<ReducedSteps, Self::Error>;
}

/// A step whose sums have been read.
#[derive(Debug, Clone, PartialEq)]
pub struct FlushedStep {
    /// The sums.
    pub reduced: ReducedSteps,
    /// Steps that had ended since.
    pub lag_steps: u64,
    /// Time that reading the sums took: what logging cost the loop. Not about zero means that the step times are
    /// suspect.
    pub log_wait_ns: u64,
}

/// Steps whose sums are under way.
#[derive(Debug)]
pub struct DeferredLog<P> {
    pending: VecDeque<(LocalStep, P)>,
}

impl<P> Default for DeferredLog<P> {
    fn default() -> Self {
        Self { pending: VecDeque::new() }
    }
}

impl<P: PendingReduction> DeferredLog<P> {
    /// Takes the step that just ended, and its reduction.
    pub fn push(&mut self, step: LocalStep, reduction: P) {
        self.pending.push_back((step, reduction));
    }

    /// Steps under way.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether no step is under way.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The oldest step, if a later one has ended and its sums have arrived; otherwise `None`, without waiting.
    ///
    /// # Errors
    /// The caller's own; the step is then lost to the log.
    pub fn flush(&mut self) -> Result<Option<FlushedStep>, P::Error> {
        if self.pending.len() < 2 {
            return Ok(None);
        }
        let Some((_, reduction)) = self.pending.front_mut() else { return Ok(None) };
        if reduction.is_ready()? { self.take_oldest() } else { Ok(None) }
    }

    /// The oldest step, waiting for its sums: for the end of a run, or before a checkpoint.
    ///
    /// # Errors
    /// The caller's own; the step is then lost to the log.
    pub fn take_oldest(&mut self) -> Result<Option<FlushedStep>, P::Error> {
        let Some((step, reduction)) = self.pending.pop_front() else { return Ok(None) };
        let began = Instant::now();
        let reduced = reduction.take(&step)?;
        let log_wait_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(Some(FlushedStep { reduced, lag_steps: self.pending.len() as u64, log_wait_ns }))
    }
}
