//! The walk over state-space and linear-attention mixers.
//!
//! The recurrence itself is counted as its multiply-adds, decay and gates left out as norms are: a
//! state update and a readout (Mamba), and the delta rule's read, write and readout. It is a
//! component beside the total.

use super::{Linear, NeedsGradient, Operations, Unit};
use crate::architecture::{GatedDeltaNet, Mamba1, Mamba2};
use crate::flops::Component;
use crate::training::Module;

const fn projection(inputs: u64, outputs: u64) -> (u64, u64) {
    (inputs, outputs)
}

fn linear((inputs, outputs): (u64, u64)) -> Linear {
    let component = Component::LinearAttentionProjections;
    Linear::new(component, Module::Recurrent, Unit::Tokens, inputs, outputs)
}

impl Operations<'_> {
    /// `products`: multiply-adds with the state, each of `state` channels.
    fn recurrence(&mut self, input: NeedsGradient, products: u128, state: u128) {
        self.core(input, Component::RecurrenceCore, Unit::Tokens, 0, 2 * products * state);
    }

    pub(super) fn mamba1(&mut self, input: NeedsGradient, width: u64, mamba: &Mamba1) -> NeedsGradient {
        let Mamba1 { inner, state, time_step_rank, .. } = *mamba;
        let hidden = self.linear(input, linear(projection(width, 2 * inner)).bias(mamba.bias));
        let hidden = self.depthwise(hidden, mamba.kernel, inner, mamba.conv_bias);
        let hidden = self.linear(hidden, linear(projection(inner, time_step_rank + 2 * state)));
        if mamba.inner_norms {
            self.vectors(hidden, u128::from(time_step_rank + 2 * state));
        }
        let hidden = self.linear(hidden, linear(projection(time_step_rank, inner)).bias(true));
        let state_size = u128::from(inner) * u128::from(state);
        // Decay rates and the skip.
        let hidden = self.vectors(hidden, state_size + u128::from(inner));
        self.recurrence(hidden, 2, state_size);
        self.linear(hidden, linear(projection(inner, width)).bias(mamba.bias))
    }

    pub(super) fn mamba2(&mut self, input: NeedsGradient, width: u64, mamba: &Mamba2) -> NeedsGradient {
        let (inner, heads) = (mamba.inner(), mamba.heads);
        let outputs = inner + mamba.convolved() + heads;
        let hidden = self.linear(input, linear(projection(width, outputs)).bias(mamba.bias));
        let hidden = self.depthwise(hidden, mamba.kernel, mamba.convolved(), mamba.conv_bias);
        // Decay rate, time step's bias and skip of each head; the gated norm.
        let hidden = self.vectors(hidden, u128::from(3 * heads + inner));
        self.recurrence(hidden, 2, u128::from(inner) * u128::from(mamba.state));
        self.linear(hidden, linear(projection(inner, width)).bias(mamba.bias))
    }

    pub(super) fn gated_delta_net(
        &mut self,
        input: NeedsGradient,
        width: u64,
        net: &GatedDeltaNet,
    ) -> NeedsGradient {
        let (keys, values) = (net.keys(), net.values());
        let convolved = self.linear(input, linear(projection(width, 2 * keys + 2 * values)));
        let convolved = self.depthwise(convolved, net.kernel, 2 * keys + values, false);
        // Decay and writing strength of each value head.
        let gates = self.linear(input, linear(projection(width, 2 * net.value_heads)));
        // Decay rate and time step's bias of each head; the gated norm of a head.
        let hidden = self.vectors(convolved || gates, u128::from(2 * net.value_heads + net.value_head_dim));
        self.recurrence(hidden, 3, u128::from(values) * u128::from(net.key_head_dim));
        self.linear(hidden, linear(projection(values, width)))
    }
}
