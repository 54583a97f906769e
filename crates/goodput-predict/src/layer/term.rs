//! What time is spent on.

/// A term of the step. Terms of a step sum to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Term {
    /// Matrix products.
    Gemm,
    /// Attention cores.
    Attention,
    /// Norms.
    Norm,
    /// Activations, residuals, positions, dropout, bias gradients, copies.
    Elementwise,
    /// The choice of experts.
    Router,
    /// Tokens into the order of their experts and back.
    Permutation,
    /// Look-ups of tokens and positions.
    Embedding,
    /// The loss over the vocabulary.
    Loss,
    /// Exchanges of tensor ranks that nothing hides.
    TensorExchange,
    /// Exchanges of context ranks that nothing hides.
    ContextExchange,
    /// Exchanges of expert ranks that nothing hides.
    ExpertExchange,
    /// Gradients and parameters between replicas that nothing hides.
    DataExchange,
    /// Activations between stages that block a stage.
    PipelineExchange,
    /// Activations on their way to the host's memory and back that nothing hides.
    HostExchange,
    /// Stages that wait for others.
    Bubble,
    /// The device waits for its host to enqueue kernels.
    Launch,
    /// The optimizer's update.
    Optimizer,
    /// Waiting for the slowest of equal ranks; none unless a spread is stated.
    Straggler,
}

impl Term {
    /// Every term, in the order of a report.
    pub const ALL: [Self; 18] = [
        Self::Gemm,
        Self::Attention,
        Self::Norm,
        Self::Elementwise,
        Self::Router,
        Self::Permutation,
        Self::Embedding,
        Self::Loss,
        Self::TensorExchange,
        Self::ContextExchange,
        Self::ExpertExchange,
        Self::DataExchange,
        Self::PipelineExchange,
        Self::HostExchange,
        Self::Bubble,
        Self::Launch,
        Self::Optimizer,
        Self::Straggler,
    ];

    /// A person's word for it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Gemm => "matrix products",
            Self::Attention => "attention",
            Self::Norm => "norms",
            Self::Elementwise => "elementwise",
            Self::Router => "router",
            Self::Permutation => "token permutation",
            Self::Embedding => "embedding",
            Self::Loss => "loss",
            Self::TensorExchange => "tensor-parallel exchange",
            Self::ContextExchange => "context-parallel exchange",
            Self::ExpertExchange => "expert exchange",
            Self::DataExchange => "data-parallel exchange",
            Self::PipelineExchange => "pipeline exchange",
            Self::HostExchange => "offload to the host",
            Self::Bubble => "pipeline bubble",
            Self::Launch => "launch",
            Self::Optimizer => "optimizer",
            Self::Straggler => "stragglers",
        }
    }

    /// The device computes.
    #[must_use]
    pub const fn is_compute(self) -> bool {
        (self as usize) <= (Self::Loss as usize)
    }

    /// An exchange that nothing hides.
    #[must_use]
    pub const fn is_exchange(self) -> bool {
        matches!(
            self,
            Self::TensorExchange
                | Self::ContextExchange
                | Self::ExpertExchange
                | Self::DataExchange
                | Self::PipelineExchange
                | Self::HostExchange
        )
    }
}

/// Nanoseconds of each term.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Terms([f64; Term::ALL.len()]);

impl Terms {
    /// Nanoseconds of one term.
    #[must_use]
    pub fn of(&self, term: Term) -> f64 {
        self.0[term as usize]
    }

    /// Adds to one term.
    pub fn add(&mut self, term: Term, ns: f64) {
        self.0[term as usize] += ns;
    }

    /// All terms together.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.0.iter().sum()
    }

    /// Each term, in the order of a report.
    pub fn iter(&self) -> impl Iterator<Item = (Term, f64)> + '_ {
        Term::ALL.into_iter().map(|term| (term, self.of(term)))
    }

    /// Adds so many times another's.
    pub fn add_times(&mut self, other: &Self, times: f64) {
        for (ours, theirs) in self.0.iter_mut().zip(other.0) {
            *ours += theirs * times;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_stand_at_their_index_and_compute_comes_first() {
        for (index, term) in Term::ALL.into_iter().enumerate() {
            assert_eq!(term as usize, index);
            assert_eq!(term.is_compute(), index < 8);
        }
        let mut terms = Terms::default();
        terms.add(Term::Bubble, 2.0);
        let mut all = Terms::default();
        all.add_times(&terms, 3.0);
        assert_eq!((all.of(Term::Bubble), all.sum()), (6.0, 6.0));
    }
}
