//! FLOPs of a batch, exactly, by component and pass. One multiply-add is two FLOPs.

mod component;
mod counter;
mod recompute;

pub use component::Component;
pub use counter::FlopCounter;
pub use recompute::Recompute;

use serde::Serialize;

/// FLOPs of the passes of a training step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Passes {
    /// The forward pass.
    pub forward: u128,
    /// Gradients of activations.
    pub input_gradient: u128,
    /// Gradients of weights.
    pub weight_gradient: u128,
}

impl Passes {
    /// Both kinds of gradients.
    pub const fn backward(&self) -> u128 {
        self.input_gradient + self.weight_gradient
    }

    /// All passes.
    pub const fn total(&self) -> u128 {
        self.forward + self.backward()
    }

    fn add(&mut self, other: &Self) {
        self.forward += other.forward;
        self.input_gradient += other.input_gradient;
        self.weight_gradient += other.weight_gradient;
    }
}

/// FLOPs of one component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ComponentFlops {
    /// The component.
    pub component: Component,
    /// On real tokens: model FLOPs.
    pub useful: Passes,
    /// On padding.
    pub padding: Passes,
    /// Computed a second time, padding included.
    pub recompute: u128,
}

/// FLOPs of a batch, by component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flops {
    components: Vec<ComponentFlops>,
}

impl Flops {
    /// The components that the model has, in the order of [`Component::ALL`].
    pub fn components(&self) -> &[ComponentFlops] {
        &self.components
    }

    /// One component; zeros if the model has none such.
    pub fn component(&self, component: Component) -> ComponentFlops {
        let found = self.components.iter().find(|part| part.component == component);
        found.copied().unwrap_or(ComponentFlops {
            component,
            useful: Passes::default(),
            padding: Passes::default(),
            recompute: 0,
        })
    }

    /// Model FLOPs: real tokens, each product once. The recurrence core is left out (see
    /// [`Self::recurrence`]).
    pub fn useful(&self) -> Passes {
        self.sum(|part| part.useful)
    }

    /// FLOPs on padding.
    pub fn padding(&self) -> Passes {
        self.sum(|part| part.padding)
    }

    /// FLOPs that are computed a second time.
    pub fn recompute(&self) -> u128 {
        self.counted().map(|part| part.recompute).sum()
    }

    /// Hardware FLOPs: what runs, padding and recompute included.
    pub fn executed(&self) -> u128 {
        self.useful().total() + self.padding().total() + self.recompute()
    }

    /// The recurrence of state-space and linear-attention mixers, in no total: no two frameworks
    /// count it alike.
    pub fn recurrence(&self) -> ComponentFlops {
        self.component(Component::RecurrenceCore)
    }

    fn counted(&self) -> impl Iterator<Item = &ComponentFlops> {
        self.components.iter().filter(|part| part.component != Component::RecurrenceCore)
    }

    fn sum(&self, passes: impl Fn(&ComponentFlops) -> Passes) -> Passes {
        let mut total = Passes::default();
        for part in self.counted() {
            total.add(&passes(part));
        }
        total
    }
}
