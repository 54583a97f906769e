//! A block's forward pass beside another micro-batch's backward pass through a block of the same kind: exchanges of experts
//! run on a stream of their own beside the other micro-batch's computation.
//!
//! What stands beside what is the order of Megatron-Core's combined schedule (`overlap_moe_expert_parallel_comm`) and of
//! DualPipe (DeepSeek-V3, arXiv:2412.19437, figure 4): the gradients' way to the experts beside the other's attention, its
//! tokens' way beside the experts' input gradient, the gradients' way back beside their weight gradient and the other's experts,
//! the results' way back beside the attention's backward pass.

use super::lister::Lister;
use crate::collective::CollectiveTime;

/// One exchange of experts: its time, and its places in the lists of the forward pass and of the input gradient.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchanged {
    pub time: CollectiveTime,
    pub places: [usize; 2],
}

/// The two exchanges of a layer, and where the experts' own work stands between them in the lists of the three passes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpertExchanges {
    pub dispatch: Exchanged,
    pub combine: Exchanged,
    pub network: [[usize; 3]; 2],
}

impl Lister<'_> {
    /// Lengths of the lists of the three passes.
    pub fn places(&self) -> [usize; 3] {
        [&self.passes.forward, &self.passes.input_gradient, &self.passes.weight_gradient].map(Vec::len)
    }

    /// Computation of the three passes between two places, ns.
    pub fn computed(&self, from: [usize; 3], to: [usize; 3]) -> [f64; 3] {
        let lists = [&self.passes.forward, &self.passes.input_gradient, &self.passes.weight_gradient];
        std::array::from_fn(|pass| {
            let parts = lists[pass].get(from[pass]..to[pass]).unwrap_or_default();
            parts.iter().filter(|part| part.term.is_compute()).map(|part| part.estimate.ns).sum()
        })
    }

    /// What such a pair hides of the forward pass's and of the backward pass's exchanges, ns.
    pub fn hidden_by_pairs(&self) -> [f64; 2] {
        let Some(ExpertExchanges { dispatch, combine, network }) = self.expert_exchanges else {
            return [0.0; 2];
        };
        let all = self.computed([0; 3], self.places());
        let network = self.computed(network[0], network[1]);
        let [attention, input, weight] = std::array::from_fn(|pass| all[pass] - network[pass]);
        let exposed = |exchanged: &Exchanged, direction: usize| {
            let list = [&self.passes.forward, &self.passes.input_gradient][direction];
            list.get(exchanged.places[direction]).map_or(0.0, |part| part.estimate.ns)
        };
        let hidden = |exchanged: &Exchanged, direction: usize, window: f64| {
            let exposed = exposed(exchanged, direction);
            (exposed - self.beside(exchanged.time, window)).clamp(0.0, exposed)
        };
        let forward = hidden(&dispatch, 0, network[1]) + hidden(&combine, 0, input + weight);
        let backward = hidden(&combine, 1, attention) + hidden(&dispatch, 1, network[2] + network[0]);
        [forward, backward]
    }
}
