//! An architecture as a handful of terms: FLOPs of each pass per unit of a batch, and parameters.
//!
//! One walk over the model finds both. Every matrix product is one [`Linear`]; every attention is a
//! number of FLOPs a pair. Equal blocks are walked once and multiplied.

mod attention;
mod diffusion;
mod feed_forward;
mod recurrent;
mod text;
mod unit;
mod vision;

use std::collections::BTreeSet;

use crate::flops::Component;
use crate::parameters::Parameters;
use crate::training::{Module, Training};

pub(crate) use unit::Unit;

use crate::architecture::Architecture;

/// FLOPs of one component for each unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Term {
    pub component: Component,
    pub unit: Unit,
    pub forward: u128,
    pub input_gradient: u128,
    pub weight_gradient: u128,
    /// Forward FLOPs inside blocks that have a backward pass: what full checkpointing runs again.
    pub checkpointed: u128,
    /// Scores that a fused attention's backward pass computes again.
    pub scores: u128,
}

impl Term {
    const fn new(component: Component, unit: Unit) -> Self {
        Self {
            component,
            unit,
            forward: 0,
            input_gradient: 0,
            weight_gradient: 0,
            checkpointed: 0,
            scores: 0,
        }
    }

    fn add(&mut self, other: &Self, times: u128) {
        self.forward += other.forward * times;
        self.input_gradient += other.input_gradient * times;
        self.weight_gradient += other.weight_gradient * times;
        self.checkpointed += other.checkpointed * times;
        self.scores += other.scores * times;
    }

    const fn has_backward(&self) -> bool {
        self.input_gradient > 0 || self.weight_gradient > 0
    }
}

/// A matrix product: `inputs` x `outputs`, once for each unit and each matrix used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Linear {
    component: Component,
    module: Module,
    unit: Unit,
    inputs: u128,
    outputs: u128,
    bias: bool,
    held: u128,
    /// Adapters held, one a matrix unless the matrix is shared.
    adapters: u128,
    used: u128,
    routed: bool,
}

impl Linear {
    pub fn new(component: Component, module: Module, unit: Unit, inputs: u64, outputs: u64) -> Self {
        let (inputs, outputs) = (u128::from(inputs), u128::from(outputs));
        Self {
            component,
            module,
            unit,
            inputs,
            outputs,
            bias: false,
            held: 1,
            adapters: 1,
            used: 1,
            routed: false,
        }
    }

    pub const fn bias(self, bias: bool) -> Self {
        Self { bias, ..self }
    }

    /// `held` matrices, of which each unit passes `used`.
    pub fn routed(self, held: u64, used: u64) -> Self {
        Self { held: held.into(), adapters: held.into(), used: used.into(), routed: true, ..self }
    }

    /// The matrix is another product's, and so is its adapter.
    pub const fn shared(self) -> Self {
        Self { held: 0, adapters: 0, ..self }
    }

    /// The matrix is the token embedding, whose look-up takes no adapter: one here is this product's own.
    pub const fn tied(self) -> Self {
        Self { held: 0, ..self }
    }
}

/// Whether an activation needs a gradient: something in front of it is trained.
pub(crate) type NeedsGradient = bool;

/// Terms and parameters, gathered on a walk.
#[derive(Debug, Clone)]
pub(crate) struct Operations<'a> {
    pub terms: Vec<Term>,
    pub parameters: Parameters,
    /// Modules with a matrix, which an adapter can stand beside.
    pub matrices: BTreeSet<Module>,
    training: &'a Training,
}

impl<'a> Operations<'a> {
    /// All of an architecture that [`Architecture::check`] has passed.
    pub fn of(architecture: &Architecture, training: &'a Training) -> Self {
        let mut operations = Self::new(training);
        let seen = match &architecture.vision {
            Some(tower) => operations.vision(tower),
            None => false,
        };
        if let Some(text) = &architecture.text {
            operations.text(text, seen);
        }
        if let Some(diffusion) = &architecture.diffusion {
            operations.diffusion(diffusion);
        }
        operations
    }

    fn new(training: &'a Training) -> Self {
        Self { terms: Vec::new(), parameters: Parameters::default(), matrices: BTreeSet::new(), training }
    }

    fn term(&mut self, component: Component, unit: Unit) -> &mut Term {
        let found = self.terms.iter().position(|term| term.component == component && term.unit == unit);
        let index = found.unwrap_or_else(|| {
            self.terms.push(Term::new(component, unit));
            self.terms.len() - 1
        });
        &mut self.terms[index]
    }

    /// A matrix product; says whether its output needs a gradient.
    fn linear(&mut self, input: NeedsGradient, linear: Linear) -> NeedsGradient {
        self.matrices.insert(linear.module);
        let weights = linear.inputs * linear.outputs;
        let trained = self.training.trains(linear.module);
        let bias = if linear.bias { linear.outputs } else { 0 };
        let held = (weights + bias) * linear.held;
        self.hold(held, linear.module);
        if linear.routed {
            self.parameters.routed_experts += held;
            self.parameters.active -= held - (weights + bias) * linear.used;
        }
        let flops = 2 * weights * linear.used;
        let term = self.term(linear.component, linear.unit);
        term.forward += flops;
        term.input_gradient += if input { flops } else { 0 };
        term.weight_gradient += if trained { flops } else { 0 };
        let rank = u128::from(self.training.rank_on(linear.module));
        if rank > 0 {
            self.adapter(input, &linear, rank);
        }
        input || trained || rank > 0
    }

    /// The two products of a low-rank adapter, both trained.
    fn adapter(&mut self, input: NeedsGradient, linear: &Linear, rank: u128) {
        let (down, up) = (2 * linear.inputs * rank * linear.used, 2 * rank * linear.outputs * linear.used);
        let weights = rank * (linear.inputs + linear.outputs);
        self.parameters.adapters += weights * linear.adapters;
        self.parameters.trainable += weights * linear.adapters;
        let term = self.term(Component::Lora, linear.unit);
        term.forward += down + up;
        term.input_gradient += up + if input { down } else { 0 };
        term.weight_gradient += down + up;
    }

    /// Products of activations: an attention core of `scores` and `sums` FLOPs a unit. The backward
    /// pass differentiates both factors of each.
    fn core(&mut self, input: NeedsGradient, component: Component, unit: Unit, scores: u128, sums: u128) {
        let term = self.term(component, unit);
        term.forward += scores + sums;
        if input {
            term.input_gradient += 2 * (scores + sums);
            term.scores += scores;
        }
    }

    /// A depthwise convolution; says whether its output needs a gradient.
    fn depthwise(&mut self, input: NeedsGradient, taps: u64, channels: u64, bias: bool) -> NeedsGradient {
        let weights = u128::from(taps) * u128::from(channels);
        let trained = self.training.trains(Module::Recurrent);
        self.hold(weights + if bias { channels.into() } else { 0 }, Module::Recurrent);
        let term = self.term(Component::Convolution, Unit::Tokens);
        term.forward += 2 * weights;
        term.input_gradient += if input { 2 * weights } else { 0 };
        term.weight_gradient += if trained { 2 * weights } else { 0 };
        input || trained
    }

    /// Parameters that multiply no matrix; says whether what passes them needs a gradient.
    fn vectors(&mut self, input: NeedsGradient, parameters: u128) -> NeedsGradient {
        self.hold(parameters, Module::Vectors);
        self.parameters.vectors += parameters;
        input || (parameters > 0 && self.training.trains(Module::Vectors))
    }

    fn hold(&mut self, parameters: u128, module: Module) {
        self.parameters.total += parameters;
        self.parameters.active += parameters;
        if self.training.trains(module) {
            self.parameters.trainable += parameters;
        }
    }

    /// `count` equal blocks one after the other. A block in front of which nothing is trained
    /// differs from those behind it, so blocks are walked until what they hand on no longer changes.
    fn blocks(
        &mut self,
        count: u64,
        input: NeedsGradient,
        walk: impl Fn(&mut Self, NeedsGradient) -> NeedsGradient,
    ) -> NeedsGradient {
        let (mut left, mut input) = (count, input);
        while left > 0 {
            let mut block = Self::new(self.training);
            let output = walk(&mut block, input);
            let times = if output == input { left } else { 1 };
            block.mark_checkpointed();
            self.absorb(&block, times);
            left -= times;
            input = output;
        }
        input
    }

    /// Checkpointing runs a whole block again, if any of it has a backward pass.
    fn mark_checkpointed(&mut self) {
        if self.terms.iter().any(Term::has_backward) {
            for term in &mut self.terms {
                term.checkpointed = term.forward;
            }
        }
    }

    fn absorb(&mut self, other: &Self, times: u64) {
        self.parameters.add(&other.parameters, times.into());
        self.matrices.extend(&other.matrices);
        for term in &other.terms {
            self.term(term.component, term.unit).add(term, times.into());
        }
    }
}
