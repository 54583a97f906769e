//! `perf_topk`: the headline per rank, so that one slow or overfed rank shows.

use super::figures::ExactRate;
use super::layout::CountScope;

/// One rank's part of the headline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankRow {
    /// Rank in the world.
    pub rank: u64,
    /// Its share of its replica's FLOPs over the step's time: FLOPs of one device.
    pub rate: ExactRate,
}

/// One row a rank of the world, whose mean is the job's rate per device exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breakdown {
    rows: Vec<RankRow>,
    headline: ExactRate,
}

/// Rank counts that do not make the headline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BreakdownError {
    /// Another world.
    #[error("{given} ranks gave their counts: expected {expected}, one of each rank of the world")]
    Ranks {
        /// Counts given.
        given: usize,
        /// Ranks of the world.
        expected: u64,
    },
    /// The ranks of one replica count differently.
    #[error(
        "the ranks' FLOPs sum to {sum}, the headline's to {expected} over {copies} ranks of a replica: every rank of \
         a replica must count the same, in the form that the meter was told"
    )]
    NotTheHeadline {
        /// Sum over the world.
        sum: u128,
        /// Sum over the group, times the ranks that hold each count.
        expected: u128,
        /// Those ranks.
        copies: u64,
    },
    /// Beyond 128 bits.
    #[error("the ranks' FLOPs sum to more than 128 bits hold")]
    TooLarge,
}

impl Breakdown {
    /// Rows from the FLOPs that each rank of the world counted, in the order of ranks, and the job's own rate.
    pub(super) fn new(
        rank_flops: &[u128],
        headline: ExactRate,
        scope: CountScope,
    ) -> Result<Self, BreakdownError> {
        let world = scope.layout().world();
        if rank_flops.len() as u64 != world {
            return Err(BreakdownError::Ranks { given: rank_flops.len(), expected: world });
        }
        let (factor, copies) = (u128::from(scope.flops_factor()), scope.copies());
        let sum =
            rank_flops.iter().try_fold(0u128, |sum, &flops| sum.checked_add(flops.checked_mul(factor)?));
        let sum = sum.ok_or(BreakdownError::TooLarge)?;
        let expected = headline.count.checked_mul(copies.into()).ok_or(BreakdownError::TooLarge)?;
        if sum != expected {
            return Err(BreakdownError::NotTheHeadline { sum, expected, copies });
        }
        // The replica's FLOPs are spread over the ranks that hold its count: one device has the `copies`-th part.
        let device_ns = headline.device_ns / u128::from(world) * u128::from(copies);
        let row = |(rank, &flops): (usize, &u128)| RankRow {
            rank: rank as u64,
            rate: ExactRate { count: flops * factor, device_ns },
        };
        Ok(Self { rows: rank_flops.iter().enumerate().map(row).collect(), headline })
    }

    /// One row a rank, in the order of ranks.
    pub fn rows(&self) -> &[RankRow] {
        &self.rows
    }

    /// The job's rate per device: the mean of the rows.
    pub fn headline(&self) -> ExactRate {
        self.headline
    }

    /// The `k` ranks with the most work, the most first; ranks with the same work in the order of ranks.
    pub fn top(&self, k: usize) -> Vec<RankRow> {
        let mut rows = self.rows.clone();
        rows.sort_by(|a, b| b.rate.count.cmp(&a.rate.count).then(a.rank.cmp(&b.rank)));
        rows.truncate(k);
        rows
    }
}
