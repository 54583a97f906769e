//! The term of the iron law or the Fleet Law that a loss lengthens.

use std::fmt;

use goodput_core::Pattern;

use crate::partition::{Charge, HostCause};

/// A term of the step time: `D/BW + O/(R eta) + L`, and at fleet scale `T_comm - T_overlap + T_sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Term {
    /// Bytes over a bandwidth, in local execution.
    DataMovement,
    /// Operations over the realised rate, in local execution.
    Arithmetic,
    /// The dispatch part of the latency, in local execution.
    Dispatch,
    /// Communication less what computation hides.
    Communication,
    /// Waiting at a barrier or a stage boundary.
    Synchronisation,
    /// Communication or synchronisation: the trace does not tell which.
    CommunicationOrSynchronisation,
    /// No term of the step: the wait for the next batch is a runtime loss.
    Input,
    /// Not told by the trace.
    Unknown,
}

impl Term {
    /// The word used in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::DataMovement => "data_movement",
            Self::Arithmetic => "arithmetic",
            Self::Dispatch => "dispatch",
            Self::Communication => "communication",
            Self::Synchronisation => "synchronisation",
            Self::CommunicationOrSynchronisation => "communication_or_synchronisation",
            Self::Input => "input",
            Self::Unknown => "unknown",
        }
    }

    /// The term as a report shows it.
    pub fn label(self) -> &'static str {
        match self {
            Self::DataMovement => "D/BW, data movement",
            Self::Arithmetic => "O/(R eta), arithmetic",
            Self::Dispatch => "L, host dispatch",
            Self::Communication => "T_comm - T_overlap",
            Self::Synchronisation => "T_sync",
            Self::CommunicationOrSynchronisation => "T_comm - T_overlap or T_sync",
            Self::Input => "input wait (runtime)",
            Self::Unknown => "not told by the trace",
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl Charge {
    /// The loss pattern of the ledger; `None` for kernels that compute, which may be ideal time.
    pub fn pattern(self) -> Option<Pattern> {
        match self {
            Self::Compute(_) => None,
            Self::Transfer(_) | Self::CommunicationNotSplit(_) => Some(Pattern::ExposedCommunication),
            Self::PeerWait => Some(Pattern::Straggler),
            Self::Bubble => Some(Pattern::PipelineBubble),
            Self::Copy | Self::Fill => Some(Pattern::MemoryStall),
            Self::HostLate(HostCause::DataLoader) => Some(Pattern::InputWait),
            Self::HostLate(HostCause::Compile) => Some(Pattern::Recompilation),
            Self::HostLate(_) | Self::LaunchLatency | Self::StreamDependency => Some(Pattern::HostDispatch),
            Self::Unattributed => Some(Pattern::TermUnsettled),
        }
    }

    /// The term that it lengthens; for compute the class decides, as far as a name can: products and convolutions
    /// are arithmetic, the rest sits on the bandwidth slope.
    pub fn term(self) -> Term {
        match self {
            Self::Compute(class) if class.is_matrix_work() => Term::Arithmetic,
            Self::Compute(_) | Self::Copy | Self::Fill => Term::DataMovement,
            Self::Transfer(_) => Term::Communication,
            Self::CommunicationNotSplit(_) => Term::CommunicationOrSynchronisation,
            Self::PeerWait | Self::Bubble => Term::Synchronisation,
            Self::HostLate(HostCause::DataLoader) => Term::Input,
            Self::HostLate(_) | Self::LaunchLatency | Self::StreamDependency => Term::Dispatch,
            Self::Unattributed => Term::Unknown,
        }
    }
}
