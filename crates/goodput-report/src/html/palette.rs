//! One colour a category, on every chart and in every table. Hues follow the boundary: blue for
//! scheduling, warm for runtime, purple for program, green for what becomes useful. The four
//! boundary colours are told apart under the common colour-vision deficiencies (after Okabe and
//! Ito); within a hue lightness tells, and amounts that no record settles are hatched.
//!
//! A step is all inside program goodput, so there the hues follow its terms: green for kernels that compute, blue for
//! transfers, magenta for waiting, violet for copies, orange to brown for the host, yellow for launches, grey for what
//! no launch explains.

use goodput_core::serving::HeldUse;
use goodput_core::{Boundary, Pattern};
use goodput_explain::term::Term;
use goodput_predict::layer;
use goodput_predict::schedule::{Doing, Pass};
use goodput_trace::class::Class;
use goodput_trace::partition::{Charge, HostCause};

/// Productive time and ideal-rate progress. Dark enough, as the boundaries are, for white labels.
pub(super) const USEFUL: &str = "#00875f";
/// A level of the chain that still has boundaries to cross.
pub(super) const LEVEL: &str = "#667380";
/// What no record settles at a boundary, always hatched.
pub(super) const OPEN: &str = "#8a949e";
/// What stands between those lines: pale in light and dark, for dark labels.
pub(super) const OPEN_GROUND: &str = "#e4e8ec";
/// The queue: demand, neither a level nor a loss.
pub(super) const QUEUE: &str = "#b59f6b";

/// Kinds that have no order, told apart under the common colour-vision deficiencies (after Okabe and Ito, and Tol).
pub(super) const KINDS: [&str; 10] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#999933", "#44aa99",
    "#6f4bb2",
];
/// What has no kind of its own.
pub(super) const OTHER: &str = "#8a949e";

/// The colour of a boundary's losses as a whole.
pub(super) const fn boundary(boundary: Boundary) -> &'static str {
    match boundary {
        Boundary::Scheduling => "#2a78b0",
        Boundary::Runtime => "#c24f00",
        Boundary::Program => "#a8569e",
    }
}

/// Whether the amount waits for a record rather than for an engineer.
pub(super) fn is_hatched(pattern: Pattern) -> bool {
    pattern.is_open() || matches!(pattern, Pattern::UnheldUnsettled | Pattern::TermUnsettled)
}

/// The CSS background of [`OPEN`].
pub(super) fn open_swatch() -> String {
    format!("repeating-linear-gradient(135deg,{OPEN} 0 1px,{OPEN_GROUND} 1px 5px)")
}

/// A CSS background: plain, or hatched as in the charts.
pub(super) fn swatch(colour: &str, hatched: bool) -> String {
    if hatched {
        format!("repeating-linear-gradient(135deg,{colour} 0 2px,transparent 2px 4px)")
    } else {
        colour.to_owned()
    }
}

/// The colour of a category.
pub(super) const fn pattern(pattern: Pattern) -> &'static str {
    use Pattern as P;
    match pattern {
        P::NoDemand => "#a9cbe8",
        P::QuotaBlocked => "#5fb0d8",
        P::Fragmentation => "#1f5f96",
        P::CapabilityMismatch => "#6fc7c9",
        P::TooFewFree => "#4a78c4",
        P::GangReservation => "#7f9fe0",
        P::PartialGangHold => "#2f84c0",
        P::TopologyWait => "#3d4fa3",
        P::SchedulerDelay => "#2aa6a0",
        P::IncompleteReplica => "#8fb3c9",
        P::ReplicaPlacementWait => "#5d86a3",
        P::OutOfService => "#56677a",
        P::UnheldUnsettled => "#8fa9bd",
        P::Unrecorded => "#a7a9ac",

        P::Startup => "#f2c14e",
        P::InputWait => "#f08a24",
        P::CheckpointPause => "#b8860b",
        P::Rework => "#d55e00",
        P::Recovery => "#a32a2a",
        P::Preemption => "#e2665f",
        P::Reconfiguration => "#c98b5a",
        P::Evaluation => "#d9b48f",
        P::DeclaredWork => "#b59f6b",
        P::Suspension => "#94824a",
        P::Standby => "#e0c68c",
        P::Teardown => "#8a5a3c",
        P::Zombie => "#8c3f4f",
        P::Hang => "#c2185b",
        P::IdleReservation => "#f0a8a0",
        P::ReplicaColdStart => "#f4b183",
        P::ReplicaRestart => "#b5524a",
        P::ReplicaDrain => "#cf9f86",
        P::Pending => "#c9b8a8",
        P::RuntimeUnsettled => "#b39a8a",

        P::MemoryStall => "#7b4fa0",
        P::ArithmeticBelowPeak => "#a8569e",
        P::Recomputation => "#c58ac0",
        P::Padding => "#dcb0d8",
        P::HostDispatch => "#8d6cc4",
        P::ExposedCommunication => "#5e3a8c",
        P::Contention => "#b07fd0",
        P::Straggler => "#93427f",
        P::PipelineBubble => "#d177b5",
        P::Recompilation => "#9a86c9",
        P::TopologyRunning => "#6c5aa8",
        P::DecodeBelowIdeal => "#b868a8",
        P::Headroom => "#c9a6dc",
        P::CacheFragmentation => "#8a5f93",
        P::TermUnsettled => "#a8569e",
        P::ProgramUnsettled => "#bfa3c4",
    }
}

/// The colour of what a replica's held time was used for.
pub(super) const fn held_use(used: HeldUse) -> &'static str {
    match used {
        HeldUse::Ready => USEFUL,
        HeldUse::WeightLoad => "#f4b183",
        HeldUse::Compilation => "#b8860b",
        HeldUse::WarmUp => "#f2c14e",
        HeldUse::ColdStart => "#c98b5a",
        HeldUse::Restart => "#b5524a",
        HeldUse::Drain => "#94824a",
        HeldUse::Unsettled => OPEN,
    }
}

/// The colour of a term that prediction and trace share: that of its charges, with a blue for each axis of exchange.
pub(super) const fn explained(term: Term) -> &'static str {
    match term {
        Term::Products => charge(Charge::Compute(Class::Gemm)),
        Term::Attention => charge(Charge::Compute(Class::Attention)),
        Term::Routing => charge(Charge::Compute(Class::MixtureOfExperts)),
        Term::MemoryBound => charge(Charge::Compute(Class::Elementwise)),
        Term::Optimizer => charge(Charge::Compute(Class::Optimizer)),
        Term::Copies => charge(Charge::Copy),
        Term::TensorExchange => "#1f5f96",
        Term::ContextExchange => "#2f9fc0",
        Term::ExpertExchange => "#7f9fe0",
        Term::DataExchange => "#3f78c4",
        Term::PipelineExchange => "#5fb0d8",
        Term::OtherExchange => "#8fa9bd",
        Term::Bubble => charge(Charge::Bubble),
        Term::Waiting => charge(Charge::PeerWait),
        Term::Host => charge(Charge::HostLate(HostCause::Dispatch)),
        Term::Input => charge(Charge::HostLate(HostCause::DataLoader)),
        Term::Unexplained => charge(Charge::Unattributed),
    }
}

/// Whether the term stays open.
pub(super) const fn is_explained_hatched(term: Term) -> bool {
    matches!(term, Term::Unexplained | Term::OtherExchange)
}

/// Whether the trace leaves open what the time went to.
pub(super) fn is_charge_hatched(charge: Charge) -> bool {
    matches!(charge, Charge::CommunicationNotSplit(_) | Charge::Unattributed)
}

/// The colour of a charge: by its key, exchanges of all kinds alike.
pub(super) const fn charge(charge: Charge) -> &'static str {
    match charge {
        Charge::Compute(class) => self::class(class),
        Charge::Transfer(_) => "#2a78b0",
        Charge::CommunicationNotSplit(_) => "#4a78c4",
        Charge::PeerWait => "#c2377f",
        Charge::Bubble => "#e58fbd",
        Charge::Copy => "#7a68b8",
        Charge::Fill => "#b5a8de",
        Charge::HostLate(cause) => match cause {
            HostCause::DataLoader => "#f08a24",
            HostCause::HostSync => "#a3441b",
            HostCause::Optimizer => "#dfa468",
            HostCause::Compile => "#7f4a22",
            HostCause::GarbageCollection => "#b9763f",
            HostCause::Allocator => "#e5703a",
            HostCause::ProfilerOverhead => "#cdb08c",
            HostCause::Dispatch => "#cf5b00",
        },
        Charge::LaunchLatency => "#ecc344",
        Charge::StreamDependency => "#a98d1c",
        Charge::Unattributed => OPEN,
    }
}

/// The colour of a kernel that computes: darkest where the arithmetic is.
pub(super) const fn class(class: Class) -> &'static str {
    match class {
        Class::Gemm => "#00664a",
        Class::Attention => "#008a78",
        Class::Convolution => "#1f7a3d",
        Class::MixtureOfExperts => "#0c5c66",
        Class::Embedding => "#5da130",
        Class::Normalisation => "#35b58f",
        Class::SoftmaxLoss => "#6cc7ae",
        Class::Rope => "#8ccf9f",
        Class::Optimizer => "#95b84a",
        Class::Quantise => "#4fb5a6",
        Class::SortScan => "#7d9b3a",
        Class::Reduce => "#4f9d69",
        Class::CopyLayout => "#a9d18e",
        Class::Elementwise => "#7fc97f",
        Class::Other => "#b7c9b0",
        Class::Communication => "#2a78b0",
        Class::Memory => "#7a68b8",
    }
}

/// The colour of a term of a predicted step, as what a trace calls the same.
pub(super) const fn term(term: layer::Term) -> &'static str {
    use layer::Term;
    match term {
        Term::Gemm => class(Class::Gemm),
        Term::Attention => class(Class::Attention),
        Term::Norm => class(Class::Normalisation),
        Term::Elementwise => class(Class::Elementwise),
        Term::Router => class(Class::MixtureOfExperts),
        Term::Permutation => class(Class::SortScan),
        Term::Embedding => class(Class::Embedding),
        Term::Loss => class(Class::SoftmaxLoss),
        Term::TensorExchange => class(Class::Communication),
        Term::ContextExchange => "#5fb0d8",
        Term::ExpertExchange => "#1f5f96",
        Term::DataExchange => "#4a78c4",
        Term::PipelineExchange => "#7f9fe0",
        Term::HostExchange => "#a9c3d6",
        Term::Bubble => "#e58fbd",
        Term::Launch => "#ecc344",
        Term::Optimizer => "#a8569e",
        Term::Straggler => "#c2377f",
    }
}

/// The colour of what a stage does.
pub(super) const fn doing(doing: Doing) -> &'static str {
    match doing {
        Doing::Pass { pass: Pass::Forward, .. } => "#2fa58d",
        Doing::Pass { pass: Pass::Backward, .. } => "#00664a",
        Doing::Pass { pass: Pass::InputGradient, .. } => "#1f7a3d",
        Doing::Pass { pass: Pass::WeightGradient, .. } => "#7d9b3a",
        Doing::Pass { .. } => "#0c5c66",
        Doing::Send => term(layer::Term::PipelineExchange),
        Doing::Gather => "#5fb0d8",
        Doing::Reduce => term(layer::Term::DataExchange),
        Doing::Host => term(layer::Term::Launch),
        Doing::Optimizer => term(layer::Term::Optimizer),
        Doing::Bubble => OPEN_GROUND,
    }
}

/// Short to long on a map of ranks and steps: quiet to loud on light and dark paper.
pub(super) const HEAT: [&str; 4] = ["#5b8db8", "#c9d3c0", "#f2a541", "#b3261e"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_are_told_apart() {
        let mut colours: Vec<_> = Charge::one_a_key().map(|c| (charge(c), is_charge_hatched(c))).collect();
        let before = colours.len();
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), before);
    }

    #[test]
    fn terms_are_told_apart() {
        let mut colours: Vec<_> = layer::Term::ALL.map(term).to_vec();
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), layer::Term::ALL.len());
    }

    #[test]
    fn colours_are_distinct_within_a_boundary() {
        for b in Boundary::ALL {
            let mut colours: Vec<_> = Pattern::at(b).map(|p| (pattern(p), is_hatched(p))).collect();
            let before = colours.len();
            colours.sort_unstable();
            colours.dedup();
            assert_eq!(colours.len(), before, "{b}");
        }
    }

    #[test]
    fn no_loss_looks_useful() {
        assert!(Pattern::ALL.iter().all(|&p| pattern(p) != USEFUL && pattern(p) != LEVEL));
    }
}
