//! What each class of operations costs.

use super::program::Kind;
use super::{Pipeline, Unschedulable, parts_of_a_stage, positions};
use crate::run::Schedule;

/// Costs of one class.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Cost {
    pub duration_ns: f64,
    /// Transfer that precedes the arrival of what it needs.
    pub transfer_ns: f64,
    /// From its end until its result has arrived.
    pub send_ns: f64,
    /// From its end until the stage is free.
    pub blocked_ns: f64,
    /// Time of the host.
    pub enqueue_ns: f64,
    /// Change of the activations held.
    pub held: f64,
}

/// To 1/1024 ns: sums and maxima of such numbers up to 2^43 ns are exact.
pub(super) fn round(ns: f64) -> f64 {
    (ns * 1024.0).round() / 1024.0
}

/// Writes the costs of all classes.
pub(super) fn table(pipeline: &Pipeline, costs: &mut Vec<Cost>) -> Result<(), Unschedulable> {
    let parts = parts_of_a_stage(pipeline.schedule);
    costs.clear();
    let sends = |to: Option<(usize, usize)>, ns: f64| if to.is_some() { round(ns) } else { 0.0 };
    for (at, part) in pipeline.parts.iter().enumerate() {
        let stage = at / parts;
        let times = [
            part.forward_ns,
            part.input_gradient_ns,
            part.weight_gradient_ns,
            part.beside_backward_ns.unwrap_or(0.0),
            part.hidden_ns[0],
            part.hidden_ns[1],
            part.send_forward_ns,
            part.send_backward_ns,
            part.activation,
            part.weight_activation,
            pipeline.host.map_or(0.0, |host| host.forward_ns.min(host.backward_ns)),
        ];
        if !times.iter().all(|time| time.is_finite() && *time >= 0.0) {
            return Err(Unschedulable::Time { stage });
        }
        let [before, after] = positions(pipeline.schedule, pipeline.stages, stage, at % parts);
        let [forward, input, weight] =
            [part.forward_ns, part.input_gradient_ns, part.weight_gradient_ns].map(round);
        let is_dual = pipeline.schedule == Schedule::DualPipe;
        let [hidden_forward, hidden_backward] =
            [round(part.hidden_ns[0]).min(forward), round(part.hidden_ns[1]).min(input + weight)];
        let paired = part.beside_backward_ns.map(round).unwrap_or_else(|| {
            if !is_dual {
                return forward - hidden_forward;
            }
            let other = &pipeline.parts[stage * parts + (parts - 1 - at % parts)];
            let backward = round(other.input_gradient_ns) + round(other.weight_gradient_ns);
            forward - hidden_forward + backward - round(other.hidden_ns[1]).min(backward)
        });
        let arrives_forward =
            before.map_or(0.0, |(stage, part)| round(pipeline.parts[stage * parts + part].send_forward_ns));
        let arrives_backward =
            after.map_or(0.0, |(stage, part)| round(pipeline.parts[stage * parts + part].send_backward_ns));
        let [host_forward, host_backward] =
            pipeline.host.map_or([0.0; 2], |host| [host.forward_ns, host.backward_ns]).map(round);
        let half = round(host_backward / 2.0);
        let (send_forward, send_backward) =
            (sends(after, part.send_forward_ns), sends(before, part.send_backward_ns));
        for kind in Kind::ALL {
            let (duration_ns, transfer_ns, send_ns, enqueue_ns, held) = match kind {
                Kind::Forward | Kind::FirstForward => {
                    (forward, arrives_forward, send_forward, host_forward, part.activation)
                }
                Kind::Backward => {
                    (input + weight, arrives_backward, send_backward, host_backward, -part.activation)
                }
                Kind::InputGradient => {
                    let freed = part.weight_activation.min(part.activation) - part.activation;
                    (input, arrives_backward, send_backward, half, freed)
                }
                Kind::WeightGradient => {
                    (weight, 0.0, 0.0, half, -part.weight_activation.min(part.activation))
                }
                Kind::PairedForward => {
                    let enqueue_ns = if is_dual { host_forward + host_backward } else { host_forward };
                    (paired, arrives_forward, send_forward, enqueue_ns, part.activation)
                }
                Kind::PairedBackward if is_dual => (0.0, 0.0, send_backward, 0.0, -part.activation),
                Kind::PairedBackward => {
                    let duration_ns = input + weight - hidden_backward;
                    (duration_ns, 0.0, send_backward, host_backward, -part.activation)
                }
                Kind::Gate => (0.0, arrives_backward, 0.0, 0.0, 0.0),
            };
            let blocked_ns = if pipeline.blocking_sends { send_ns } else { 0.0 };
            costs.push(Cost { duration_ns, transfer_ns, send_ns, blocked_ns, enqueue_ns, held });
        }
    }
    Ok(())
}
