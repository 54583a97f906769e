//! Dense feed-forward networks and experts.

use goodput_model::architecture::{Dense, Experts, FeedForward};

use super::Term;
use super::lister::{Linear, Lister, Split};
use super::paired::{Exchanged, ExpertExchanges};
use crate::kernel::{Direction, KernelError, Operation, Pass};
use crate::run::Module;

type Listed = Result<(), KernelError>;

impl Lister<'_> {
    pub(super) fn feed_forward(&mut self, width: u64, feed_forward: &FeedForward) -> Listed {
        match feed_forward {
            FeedForward::None => Ok(()),
            FeedForward::Dense(dense) => self.within(Module::Mlp, |lister| lister.dense(width, dense)),
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

    fn experts(&mut self, width: u64, experts: &Experts) -> Listed {
        self.within(Module::Experts, |lister| lister.expert_layer(width, experts))
    }

    /// Each rank routes the tokens that it holds. Every expert gets its even share, of the busiest rank so many times as much
    /// as is stated; a rank of the experts' group that shares matrices works on all of the group's rows.
    fn expert_layer(&mut self, width: u64, experts: &Experts) -> Listed {
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
        let rows = busiest(own * experts.active * shared, self.run.expert_imbalance);
        self.operation("permutation", Term::Permutation, there, fusion)?;
        let dispatch = self.expert_exchange("dispatch", own * experts.active * width);
        let network = self.places();
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
        self.within(Module::ExpertActivation, |lister| {
            lister.activation(rows * inner, experts.gated, experts.bias)
        })?;
        self.expert_linear(of_a_rank, each, &Linear::new("expert down", inner, width))?;
        if sorts {
            self.operation("permutation by expert", Term::Permutation, sorted, fusion)?;
        }
        let after_network = self.places();
        let combine = self.expert_exchange("combine", own * experts.active * width);
        self.operation("permutation", Term::Permutation, back, fusion)?;
        if experts.shared_inner > 0 {
            let before = self.places();
            let dense = Dense { inner: experts.shared_inner, gated: experts.gated, bias: experts.bias };
            self.within(Module::SharedExperts, |lister| lister.dense(width, &dense))?;
            if self.run.layout.overlap_shared_experts {
                self.beside_shared_experts(&[&dispatch, &combine], before);
            }
            let sum = Operation::Residual { values: own * width };
            for (direction, pass) in
                [(Direction::Forward, Pass::Forward), (Direction::Backward, Pass::InputGradient)]
            {
                self.traffic("shared experts", Term::Elementwise, pass, &sum.kernels(direction, fusion))?;
            }
        }
        if let (Some(dispatch), Some(combine)) = (dispatch, combine) {
            self.expert_exchanges =
                Some(ExpertExchanges { dispatch, combine, network: [network, after_network] });
        }
        Ok(())
    }

    /// Half of the shared experts' products beside each of the two exchanges, as Megatron-Core's `moe_shared_expert_overlap` has it:
    /// the first beside the dispatch, the second beside the combine.
    fn beside_shared_experts(&mut self, exchanges: &[&Option<Exchanged>], before: [usize; 3]) {
        let [forward, input, weight] = self.computed(before, self.places());
        for exchanged in exchanges.iter().filter_map(|exchanged| exchanged.as_ref()) {
            for (direction, window) in [(0, forward / 2.0), (1, (input + weight) / 2.0)] {
                let left = self.beside(exchanged.time, window);
                let pass = [Pass::Forward, Pass::InputGradient][direction];
                if let Some(part) = self.passes.of(pass).get_mut(exchanged.places[direction]) {
                    part.estimate.ns = left;
                }
            }
        }
    }

    /// Forward, and the same way round for the gradients. `None` where all experts are on the rank.
    fn expert_exchange(&mut self, name: &'static str, values: u64) -> Option<Exchanged> {
        let imbalance = self.run.expert_imbalance;
        let mut listed = None;
        let bytes = self.bytes(values) * imbalance;
        if let Some(mut time) = self.exchanges.expert.as_ref().map(|all| all.time(bytes)) {
            // Within a node the two differ by their kernels alone: the faster is what the links allow.
            if let Some(once) = &self.exchanges.expert_once {
                let (once, multiprocessors) = once.time(self.own_tokens() as f64 * imbalance);
                if once.ns < time.estimate.ns {
                    time.estimate = once;
                    time.sm_count = multiprocessors;
                }
            }
            let [forward, input, _] = self.places();
            for pass in [Pass::Forward, Pass::InputGradient] {
                self.exchange(name, Term::ExpertExchange, pass, time, time.estimate.ns);
            }
            listed = Some(Exchanged { time, places: [forward, input] });
        }
        if let Some((gather, sum)) = &self.exchanges.expert_tensor {
            let whole = bytes * f64::from(self.run.layout.expert_tensor);
            for pass in [Pass::Forward, Pass::InputGradient] {
                let gathers = (name == "dispatch") == (pass == Pass::Forward);
                let time = if gathers { gather.time(whole) } else { sum.time(whole) };
                self.exchange(name, Term::ExpertExchange, pass, time, time.estimate.ns);
            }
        }
        listed
    }
}

/// Rows of the busiest rank.
fn busiest(rows: u64, imbalance: f64) -> u64 {
    if imbalance > 1.0 { (rows as f64 * imbalance).ceil() as u64 } else { rows }
}
