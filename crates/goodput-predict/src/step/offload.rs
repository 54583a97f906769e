//! What is kept in the host's memory and travels over the link between the two.

use goodput_model::architecture::TextModel;

use super::parts::Units;
use crate::layer::Term;
use crate::memory::BlockActivations;
use crate::run::Run;
use crate::{Basis, Estimate};

/// Of a copy's rate: devices share the host's memory.
const DEVIATION: f64 = 0.2;

/// Nanoseconds that `bytes` take over the link, one way. `Run::check` asks for the link where something is offloaded.
fn link_ns(run: &Run, bytes: f64) -> f64 {
    run.cluster.host.link_gb_per_s.map_or(0.0, |gb_per_s| bytes / gb_per_s)
}

/// Adds to each block what its activations' way out outlasts its own forward pass, and their way back its backward pass. Copy
/// engines do it: no multiprocessor is held.
pub(super) fn add_exchanges(run: &Run, text: &TextModel, units: &mut Units) {
    if run.offload.activations == 0.0 {
        return;
    }
    for (group, costs) in text.decoder.iter().zip(&mut units.blocks) {
        for (costs, whole) in costs.iter_mut().zip([false, true]) {
            let held = BlockActivations::of(run, text, group, whole).held;
            let ns = link_ns(run, run.offload.activations * held);
            let exposed = |window: f64| Estimate {
                ns: (ns - window).max(0.0),
                deviation: DEVIATION,
                basis: Basis::Analytic,
            };
            let backward = costs.recompute.ns + costs.input_gradient.ns + costs.weight_gradient.ns;
            let [out, back] = [exposed(costs.forward.ns), exposed(backward)];
            costs.forward.push(Term::HostExchange, out);
            costs.input_gradient.push(Term::HostExchange, back);
        }
    }
}

/// The update while states pass through the device, both ways at once.
pub(super) fn update(run: &Run, states: f64, update: Estimate) -> Estimate {
    if !run.offload.optimizer {
        return update;
    }
    let ns = link_ns(run, states);
    if ns > update.ns { Estimate { ns, deviation: DEVIATION, basis: Basis::Analytic } } else { update }
}
