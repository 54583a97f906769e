//! Dense feed-forward networks and experts.

use goodput_model::architecture::{Dense, Experts, FeedForward};

use super::Term;
use super::lister::{Linear, Lister, Split};
use crate::kernel::{Direction, KernelError, Operation, Pass};

type Listed = Result<(), KernelError>;

impl Lister<'_> {
    pub(super) fn feed_forward(&mut self, width: u64, feed_forward: &FeedForward) -> Listed {
        match feed_forward {
            FeedForward::None => Ok(()),
            FeedForward::Dense(dense) => self.dense(width, dense),
            FeedForward::Experts(experts) => self.experts(width, experts),
        }
    }

    fn dense(&mut self, width: u64, dense: &Dense) -> Listed {
        let (tokens, format) = (self.tokens(), self.run.precision.products);
        let inner = dense.inner / self.tensor();
        let up = Linear::new("mlp up", width, inner).bias(dense.bias);
        let gate = Linear { name: "mlp gate", ..up };
        match (dense.gated, self.run.framework.separate_projections) {
            (true, true) => self.linears(Split::Outputs, tokens, format, &[gate, up])?,
            (true, false) => {
                let both = Linear { name: "mlp gate and up", outputs: 2 * inner, ..up };
                self.linears(Split::Outputs, tokens, format, &[both])?;
            }
            (false, _) => self.linears(Split::Outputs, tokens, format, &[up])?,
        }
        self.activation(tokens * inner, dense.gated, dense.bias)?;
        self.linears(Split::Inputs, tokens, format, &[Linear::new("mlp down", inner, width)])
    }

    fn activation(&mut self, values: u64, gated: bool, bias: bool) -> Listed {
        let operation = if gated {
            Operation::GatedActivation { values }
        } else {
            Operation::Activation { values, bias }
        };
        self.operation("activation", Term::Elementwise, operation, self.run.framework.fusion)
    }

    /// Each rank routes the tokens that it holds. Every expert gets its even share; a rank of the experts' group that shares
    /// matrices works on all of the group's rows.
    fn experts(&mut self, width: u64, experts: &Experts) -> Listed {
        let layout = &self.run.layout;
        let (own, degree, shared) =
            (self.own_tokens(), u64::from(layout.expert), u64::from(layout.expert_tensor));
        let fusion = self.run.framework.fusion;
        let wide = self.run.precision.wide();
        self.linears(Split::Whole, own, wide, &[Linear::new("router", width, experts.experts)])?;
        let choice = Operation::Router { tokens: own, experts: experts.experts };
        self.operation("router", Term::Router, choice, fusion)?;
        let there = Operation::Permute { values: own * width, top_k: experts.active };
        let back = Operation::Unpermute { values: own * width, top_k: experts.active };
        let of_a_rank = experts.experts / degree;
        let rows = own * experts.active * shared;
        self.operation("permutation", Term::Permutation, there, fusion)?;
        self.expert_exchange("dispatch", own * experts.active * width);
        // What comes from several ranks is put in the order of this rank's experts.
        let sorts = degree > 1 && of_a_rank > 1;
        let sorted = Operation::Permute { values: rows * width, top_k: 1 };
        if sorts {
            self.operation("permutation by expert", Term::Permutation, sorted, fusion)?;
        }
        let inner = experts.inner / shared;
        let each = rows.div_ceil(of_a_rank.max(1));
        let outputs = if experts.gated { 2 * inner } else { inner };
        self.expert_linear(of_a_rank, each, &Linear::new("expert up", width, outputs))?;
        self.activation(rows * inner, experts.gated, experts.bias)?;
        self.expert_linear(of_a_rank, each, &Linear::new("expert down", inner, width))?;
        if sorts {
            self.operation("permutation by expert", Term::Permutation, sorted, fusion)?;
        }
        self.expert_exchange("combine", own * experts.active * width);
        self.operation("permutation", Term::Permutation, back, fusion)?;
        if experts.shared_inner > 0 {
            let dense = Dense { inner: experts.shared_inner, gated: experts.gated, bias: experts.bias };
            self.dense(width, &dense)?;
            let sum = Operation::Residual { values: own * width };
            for (direction, pass) in
                [(Direction::Forward, Pass::Forward), (Direction::Backward, Pass::InputGradient)]
            {
                self.traffic("shared experts", Term::Elementwise, pass, &sum.kernels(direction, fusion))?;
            }
        }
        Ok(())
    }

    /// Forward, and the same way round for the gradients.
    fn expert_exchange(&mut self, name: &'static str, values: u64) {
        for pass in [Pass::Forward, Pass::InputGradient] {
            if let Some(mut time) = self.exchanges.expert.as_ref().map(|all| all.time(self.bytes(values))) {
                // Within a node the two differ by their kernels alone: the faster is what the links allow.
                if let Some(once) = &self.exchanges.expert_once {
                    let once = once.time(self.own_tokens() as f64).0;
                    if once.ns < time.estimate.ns {
                        time.estimate = once;
                    }
                }
                self.exchange(name, Term::ExpertExchange, pass, time, time.estimate.ns);
            }
            if let Some((gather, sum)) = &self.exchanges.expert_tensor {
                let whole = self.bytes(values * u64::from(self.run.layout.expert_tensor));
                let gathers = (name == "dispatch") == (pass == Pass::Forward);
                let time = if gathers { gather.time(whole) } else { sum.time(whole) };
                self.exchange(name, Term::ExpertExchange, pass, time, time.estimate.ns);
            }
        }
    }
}
