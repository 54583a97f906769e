//! The terms in which a predicted step and a traced one can be compared.

use goodput_core::Pattern;
use goodput_predict::layer::Term as Predicted;
use goodput_trace::class::Class;
use goodput_trace::partition::{Charge, HostCause};

use crate::axis::Axis;

macro_rules! terms {
    ($( $(#[$doc:meta])* $name:ident => $key:literal, $label:literal, $pattern:ident; )+) => {
        /// A term that prediction and trace share. Each of theirs belongs to exactly one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Term { $( $(#[$doc])* $name, )+ }

        impl Term {
            /// Every term, in the order of a report.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The word used in JSON.
            pub const fn key(self) -> &'static str {
                match self { $( Self::$name => $key, )+ }
            }

            /// The name that a report shows.
            pub const fn label(self) -> &'static str {
                match self { $( Self::$name => $label, )+ }
            }

            /// The loss of the ledger that a fix of the term recovers.
            pub const fn pattern(self) -> Pattern {
                match self { $( Self::$name => Pattern::$pattern, )+ }
            }
        }
    };
}

terms! {
    /// Matrix products, those of experts among them, and convolutions.
    Products => "products", "matrix products", ArithmeticBelowPeak;
    /// Attention cores.
    Attention => "attention", "attention", ArithmeticBelowPeak;
    /// The choice of experts, and tokens into their order and back.
    Routing => "routing", "router and token permutation", MemoryStall;
    /// Norms, activations, residuals, look-ups, losses: kernels on the bandwidth slope.
    MemoryBound => "memory_bound", "norms, elementwise, embedding, loss", MemoryStall;
    /// The update, with norms of gradients, clipping, and gradients set to zero: fills by the driver.
    Optimizer => "optimizer", "optimizer, gradients zeroed", MemoryStall;
    /// Copies by the driver with nothing beside them. A prediction has those of offloaded activations.
    Copies => "copies", "exposed copies", MemoryStall;
    /// Exchanges of tensor ranks that nothing hides.
    TensorExchange => "tensor_exchange", "tensor-parallel exchange", ExposedCommunication;
    /// Exchanges of context ranks that nothing hides.
    ContextExchange => "context_exchange", "context-parallel exchange", ExposedCommunication;
    /// Exchanges of expert ranks that nothing hides.
    ExpertExchange => "expert_exchange", "expert exchange", ExposedCommunication;
    /// Gradients and parameters between replicas that nothing hides.
    DataExchange => "data_exchange", "data-parallel exchange", ExposedCommunication;
    /// Activations between stages that block a stage.
    PipelineExchange => "pipeline_exchange", "pipeline exchange", ExposedCommunication;
    /// Exchanges whose axis neither ranks, names nor sizes tell. No prediction has them.
    OtherExchange => "other_exchange", "exchange of no known axis", ExposedCommunication;
    /// Stages that wait for others.
    Bubble => "bubble", "pipeline bubble", PipelineBubble;
    /// Ranks that wait for slower ones.
    Waiting => "waiting", "waiting for peers", Straggler;
    /// Nothing queued, or queued and not yet started.
    Host => "host", "host late and launch gaps", HostDispatch;
    /// The next batch is not there. No prediction has it.
    Input => "input", "input wait", InputWait;
    /// Idle time that no launch explains. No prediction has it.
    Unexplained => "unexplained", "unexplained idle time", TermUnsettled;
}

impl Term {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Of a prediction's term.
    pub const fn of_predicted(term: Predicted) -> Self {
        match term {
            Predicted::Gemm => Self::Products,
            Predicted::Attention => Self::Attention,
            Predicted::Norm | Predicted::Elementwise | Predicted::Embedding | Predicted::Loss => {
                Self::MemoryBound
            }
            Predicted::Router | Predicted::Permutation => Self::Routing,
            Predicted::TensorExchange => Self::TensorExchange,
            Predicted::ContextExchange => Self::ContextExchange,
            Predicted::ExpertExchange => Self::ExpertExchange,
            Predicted::DataExchange => Self::DataExchange,
            Predicted::PipelineExchange => Self::PipelineExchange,
            Predicted::HostExchange => Self::Copies,
            Predicted::Bubble => Self::Bubble,
            Predicted::Launch => Self::Host,
            Predicted::Optimizer => Self::Optimizer,
            Predicted::Straggler => Self::Waiting,
        }
    }

    /// Of a kernel that computes. `in_optimizer`: launched inside the optimizer's update, where kernels of any class do
    /// the optimizer's work.
    pub fn of_kernel(class: Class, name: &str, in_optimizer: bool) -> Self {
        match class {
            _ if in_optimizer => Self::Optimizer,
            Class::Optimizer => Self::Optimizer,
            Class::Gemm | Class::Convolution => Self::Products,
            Class::Attention => Self::Attention,
            Class::MixtureOfExperts if is_expert_product(name) => Self::Products,
            Class::MixtureOfExperts => Self::Routing,
            _ => Self::MemoryBound,
        }
    }

    /// Of a charge that is no kernel that computes; `axis` is that of its exchange. Who waits for an exchange that runs
    /// over stages waits for another stage.
    pub const fn of_charge(charge: Charge, axis: Option<Axis>) -> Self {
        match charge {
            Charge::Compute(_) => Self::MemoryBound,
            Charge::Transfer(_) | Charge::CommunicationNotSplit(_) => Self::of_axis(axis),
            Charge::PeerWait => match axis {
                Some(Axis::Pipeline) => Self::Bubble,
                _ => Self::Waiting,
            },
            Charge::Bubble => Self::Bubble,
            Charge::Copy => Self::Copies,
            Charge::Fill => Self::Optimizer,
            Charge::HostLate(HostCause::DataLoader) => Self::Input,
            Charge::HostLate(_) | Charge::LaunchLatency | Charge::StreamDependency => Self::Host,
            Charge::Unattributed => Self::Unexplained,
        }
    }

    /// The exchanges along an axis.
    pub const fn of_axis(axis: Option<Axis>) -> Self {
        match axis {
            Some(Axis::Tensor) => Self::TensorExchange,
            Some(Axis::Context) => Self::ContextExchange,
            Some(Axis::Expert) => Self::ExpertExchange,
            Some(Axis::Data) => Self::DataExchange,
            Some(Axis::Pipeline) => Self::PipelineExchange,
            None => Self::OtherExchange,
        }
    }

    /// Whether it is an exchange that nothing hides.
    pub const fn is_exchange(self) -> bool {
        matches!(
            self,
            Self::TensorExchange
                | Self::ContextExchange
                | Self::ExpertExchange
                | Self::DataExchange
                | Self::PipelineExchange
                | Self::OtherExchange
        )
    }

    /// Whether kernels compute in it.
    pub const fn is_compute(self) -> bool {
        matches!(self, Self::Products | Self::Attention | Self::Routing | Self::MemoryBound | Self::Optimizer)
    }
}

/// Kernels of experts multiply unless their name says that they choose, sort or move tokens.
fn is_expert_product(name: &str) -> bool {
    const MOVES: [&str; 12] = [
        "topk",
        "top_k",
        "gating",
        "router",
        "routing",
        "permut",
        "sort",
        "align",
        "row_id",
        "scatter",
        "gather",
        "grouped_topk",
    ];
    let name = name.to_ascii_lowercase();
    !MOVES.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodput_trace::trace::CollectiveKind;

    #[test]
    fn terms_stand_at_their_index_and_keys_are_unique() {
        for (index, term) in Term::ALL.iter().enumerate() {
            assert_eq!(*term as usize, index);
            assert_eq!(Term::ALL.iter().filter(|other| other.key() == term.key()).count(), 1);
        }
    }

    #[test]
    fn exchanges_of_a_prediction_are_exchanges_and_kernels_are_kernels() {
        // What is offloaded shows as copies in a trace.
        assert_eq!(Term::of_predicted(Predicted::HostExchange), Term::Copies);
        for term in Predicted::ALL.into_iter().filter(|&term| term != Predicted::HostExchange) {
            assert_eq!(Term::of_predicted(term).is_exchange(), term.is_exchange(), "{term:?}");
            let computes = term.is_compute() || term == Predicted::Optimizer;
            assert_eq!(Term::of_predicted(term).is_compute(), computes, "{term:?}");
        }
    }

    #[test]
    fn kernels_and_waits_find_their_term() {
        let expert = |name| Term::of_kernel(Class::MixtureOfExperts, name, false);
        assert_eq!(expert("fused_moe_kernel"), Term::Products);
        assert_eq!(expert("moe_topk_gating_softmax"), Term::Routing);
        assert_eq!(expert("_unpermute_kernel"), Term::Routing);
        assert_eq!(Term::of_kernel(Class::Elementwise, "add", true), Term::Optimizer);
        assert_eq!(Term::of_charge(Charge::PeerWait, Some(Axis::Pipeline)), Term::Bubble);
        assert_eq!(Term::of_charge(Charge::PeerWait, Some(Axis::Data)), Term::Waiting);
        assert_eq!(Term::of_charge(Charge::Transfer(CollectiveKind::AllReduce), None), Term::OtherExchange);
        assert_eq!(Term::of_charge(Charge::HostLate(HostCause::DataLoader), None), Term::Input);
    }
}
