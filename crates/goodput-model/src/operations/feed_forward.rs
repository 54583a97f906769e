//! The walk over feed-forward parts.

use super::{Linear, NeedsGradient, Operations, Unit};
use crate::architecture::{Dense, Experts, FeedForward};
use crate::flops::Component;
use crate::training::Module;

/// Gate, up and down projections of one network, or of many equal ones.
struct Network {
    component: Component,
    tokens: Unit,
    width: u64,
    inner: u64,
    gated: bool,
    bias: bool,
    /// Networks held and used, of routed experts.
    routed: Option<(u64, u64)>,
}

impl Operations<'_> {
    pub(super) fn feed_forward(
        &mut self,
        input: NeedsGradient,
        width: u64,
        feed_forward: &FeedForward,
        tokens: Unit,
    ) -> NeedsGradient {
        match feed_forward {
            FeedForward::None => input,
            FeedForward::Dense(Dense { inner, gated, bias }) => {
                let (inner, gated, bias) = (*inner, *gated, *bias);
                let component = Component::Mlp;
                self.network(input, &Network { component, tokens, width, inner, gated, bias, routed: None })
            }
            FeedForward::Experts(experts) => self.experts(input, width, experts, tokens),
        }
    }

    fn experts(
        &mut self,
        input: NeedsGradient,
        width: u64,
        experts: &Experts,
        tokens: Unit,
    ) -> NeedsGradient {
        let Experts { inner, gated, bias, shared_inner, .. } = *experts;
        let router = Linear::new(Component::Router, Module::Router, tokens, width, experts.experts);
        let mut hidden = self.linear(input, router.bias(bias));
        let routed = Some((experts.experts, experts.active));
        let component = Component::Experts;
        hidden |= self.network(input, &Network { component, tokens, width, inner, gated, bias, routed });
        if shared_inner > 0 {
            let component = Component::SharedExperts;
            let shared = Network { component, tokens, width, inner: shared_inner, gated, bias, routed: None };
            hidden |= self.network(input, &shared);
            if experts.shared_gate {
                hidden |= self.linear(input, Linear::new(component, Module::Router, tokens, width, 1));
            }
        }
        hidden
    }

    fn network(&mut self, input: NeedsGradient, network: &Network) -> NeedsGradient {
        let Network { width, inner, .. } = *network;
        let linear = |module, inputs, outputs| {
            let linear = Linear::new(network.component, module, network.tokens, inputs, outputs);
            let linear = linear.bias(network.bias);
            match network.routed {
                Some((held, used)) => linear.routed(held, used),
                None => linear,
            }
        };
        let mut hidden = self.linear(input, linear(Module::Up, width, inner));
        if network.gated {
            hidden |= self.linear(input, linear(Module::Gate, width, inner));
        }
        // The residual stream goes on beside the network, so what it needs is needed still.
        self.linear(hidden, linear(Module::Down, inner, width)) || input
    }
}
