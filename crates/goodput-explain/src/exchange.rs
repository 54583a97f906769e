//! Exposed communication, divided: a slower transfer, or less of it hidden.

use crate::axis::Axis;
use crate::gap::Gap;
use crate::measured::Measured;
use crate::term::Term;

/// The exchanges along one axis in a step: means over device-steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exchange {
    /// The axis; `None` is that of no known axis.
    pub axis: Option<Axis>,
    /// The term of its exposed part.
    pub term: Term,
    /// Exchanges a step.
    pub messages: f64,
    /// Of all exchanges the share whose size and waiting the traces tell.
    pub sized_share: f64,
    /// Of all exchanges the share whose waiting for peers is not known.
    pub not_split_share: f64,
    /// Their time without known waiting, hidden or not, ns a step.
    pub transfer_ns: f64,
    /// Exposed time beyond the prediction, ns a step.
    pub exposed_difference_ns: f64,
    /// Of this, what the transfers themselves take longer or shorter than predicted for the same sizes, ns a step;
    /// `None` where no size is known.
    pub by_transfer_ns: Option<f64>,
    /// Bus bandwidth of the same exchanges, measured and predicted, GB/s.
    pub bus_gb_per_s: Option<[f64; 2]>,
}

impl Exchange {
    /// Of the exposed time beyond the prediction, what is hidden less (or exchanged more), ns a step.
    pub fn by_overlap_ns(&self) -> Option<f64> {
        self.by_transfer_ns.map(|ns| self.exposed_difference_ns - ns)
    }
}

/// Every axis that has exchanges.
pub fn exchanges(gap: &Gap, measured: &Measured) -> Vec<Exchange> {
    let steps = measured.steps().max(1) as f64;
    let transfers = measured.transfers();
    let of = |(axis, transfer): (Option<Axis>, &crate::transfer::Transfer)| {
        let term = Term::of_axis(axis);
        let difference_ns = gap.line(term).difference_ns();
        let messages = transfer.messages.max(1) as f64;
        // What the sized ones take longer, of which no more than the difference can be exposed.
        let longer_ns = (transfer.sized_ns as f64 - transfer.predicted_ns) / steps;
        let by_transfer_ns = if difference_ns > 0.0 {
            longer_ns.clamp(0.0, difference_ns)
        } else {
            longer_ns.clamp(difference_ns, 0.0)
        };
        Exchange {
            axis,
            term,
            messages: transfer.messages as f64 / steps,
            sized_share: transfer.sized as f64 / messages,
            not_split_share: transfer.not_split as f64 / messages,
            transfer_ns: transfer.transfer_ns as f64 / steps,
            exposed_difference_ns: difference_ns,
            by_transfer_ns: (transfer.sized > 0).then_some(by_transfer_ns),
            bus_gb_per_s: transfer.bus_gb_per_s(),
        }
    };
    transfers.iter().map(of).collect()
}
