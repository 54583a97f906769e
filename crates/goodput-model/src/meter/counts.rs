//! What a rank counts: additive quantities only.

/// Counts of one rank, of one micro-batch or of a step. FLOPs are listed by dtype, in the order of the meter's peaks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counts {
    /// Real tokens; padding is none.
    pub tokens: u64,
    /// Tokens that the devices computed, padding included.
    pub executed_tokens: u64,
    /// Samples.
    pub samples: u64,
    /// Useful FLOPs by dtype: of real tokens, forward and backward, without recomputation.
    pub useful_flops: Vec<u128>,
    /// Executed FLOPs by dtype: padding and recomputation included.
    pub executed_flops: Vec<u128>,
    /// Loss summed over real tokens, zero where nobody asks for it.
    pub loss_sum: f64,
}

/// Counts that cannot be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CountError {
    /// One figure for each dtype of the meter.
    #[error("{field} has {given} figures: expected {expected}, one for each dtype of the meter's peaks")]
    Dtypes {
        /// The field.
        field: &'static str,
        /// Figures given.
        given: usize,
        /// Dtypes of the meter.
        expected: usize,
    },
    /// More useful than executed.
    #[error(
        "{useful} is {useful_value}, more than {executed} {executed_value}: what is executed includes all that is \
         useful, and padding and recomputation beside it"
    )]
    MoreThanExecuted {
        /// The useful field.
        useful: &'static str,
        /// Its value.
        useful_value: u128,
        /// The executed field.
        executed: &'static str,
        /// Its value.
        executed_value: u128,
    },
    /// Beyond what sums keep exactly.
    #[error("{field} adds up to {value}: beyond what sums keep exactly")]
    TooLarge {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u128,
    },
    /// No number.
    #[error("loss_sum is {value}: expected a finite number")]
    Loss {
        /// As given.
        value: String,
    },
}

impl Counts {
    /// Tokens, or samples, of one rank and step up to which a sum over all ranks stays exact.
    pub const MOST_TOKENS: u64 = 1 << 52;
    /// FLOPs of one rank and step up to which a sum over all ranks stays exact.
    pub const MOST_FLOPS: u128 = 1 << 78;
    /// FLOPs up to which a sum times the parallel factor fits 128 bits.
    const MOST_SUMMED_FLOPS: u128 = 1 << 104;

    pub(super) fn zero(dtypes: usize) -> Self {
        Self { useful_flops: vec![0; dtypes], executed_flops: vec![0; dtypes], ..Self::default() }
    }

    /// Adds counts of one micro-batch to those of a rank's step, all or nothing.
    pub(super) fn count(&mut self, micro_batch: &Self) -> Result<(), CountError> {
        micro_batch.check(self.useful_flops.len())?;
        self.add(micro_batch, Self::MOST_TOKENS, Self::MOST_FLOPS)
    }

    /// Adds summed counts of further steps, all or nothing.
    pub(super) fn add_steps(&mut self, later: &Self) -> Result<(), CountError> {
        self.add(later, u64::MAX, Self::MOST_SUMMED_FLOPS)
    }

    fn check(&self, dtypes: usize) -> Result<(), CountError> {
        for (field, flops) in [("useful_flops", &self.useful_flops), ("executed_flops", &self.executed_flops)]
        {
            if flops.len() != dtypes {
                return Err(CountError::Dtypes { field, given: flops.len(), expected: dtypes });
            }
        }
        let within = |useful, useful_value, executed, executed_value| {
            if useful_value <= executed_value {
                return Ok(());
            }
            Err(CountError::MoreThanExecuted { useful, useful_value, executed, executed_value })
        };
        within("tokens", self.tokens.into(), "executed_tokens", self.executed_tokens.into())?;
        for (&useful, &executed) in self.useful_flops.iter().zip(&self.executed_flops) {
            within("useful_flops", useful, "executed_flops", executed)?;
        }
        if !self.loss_sum.is_finite() {
            return Err(CountError::Loss { value: self.loss_sum.to_string() });
        }
        Ok(())
    }

    fn add(&mut self, more: &Self, most_tokens: u64, most_flops: u128) -> Result<(), CountError> {
        let too_large = |field, value| CountError::TooLarge { field, value };
        let sum = |field, a: u64, b: u64| {
            let sum = u128::from(a) + u128::from(b);
            u64::try_from(sum).ok().filter(|&n| n < most_tokens).ok_or_else(|| too_large(field, sum))
        };
        let executed_tokens = sum("executed_tokens", self.executed_tokens, more.executed_tokens)?;
        let samples = sum("samples", self.samples, more.samples)?;
        for (&flops, &more) in self.executed_flops.iter().zip(&more.executed_flops) {
            let sum = flops.saturating_add(more);
            if sum >= most_flops {
                return Err(too_large("executed_flops", sum));
            }
        }
        // What is useful is no more than what is executed, so it fits as well.
        self.tokens += more.tokens;
        self.executed_tokens = executed_tokens;
        self.samples = samples;
        self.loss_sum += more.loss_sum;
        for (sum, more) in self.useful_flops.iter_mut().zip(&more.useful_flops) {
            *sum += more;
        }
        for (sum, more) in self.executed_flops.iter_mut().zip(&more.executed_flops) {
            *sum += more;
        }
        Ok(())
    }
}
