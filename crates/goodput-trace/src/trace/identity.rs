//! Which rank a trace is of.

/// A rank, and how it is known. A device index is never a rank: rank 0 may run on device 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The global rank.
    pub rank: Option<u32>,
    /// How the rank is known.
    pub evidence: RankEvidence,
    /// Ranks of the job.
    pub world_size: Option<u32>,
    /// Process groups that the trace lists.
    pub groups: Vec<ProcessGroup>,
    /// The host, if the trace names it.
    pub host: Option<String>,
    /// Tells apart the traces of one file (a process, a device plane).
    pub part: Option<String>,
}

impl Identity {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self {
        rank: None,
        evidence: RankEvidence::None,
        world_size: None,
        groups: Vec::new(),
        host: None,
        part: None,
    };
}

/// How a rank is known, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RankEvidence {
    /// The user states it.
    Stated,
    /// The trace says so.
    Metadata,
    /// The only member that all its process groups share.
    ProcessGroups,
    /// The file's name.
    FileName,
    /// The only trace given: a rank is not needed.
    OnlyTrace,
    /// Nothing tells.
    None,
}

/// A process group (communicator).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessGroup {
    /// Name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Members, when the trace lists them.
    pub ranks: Vec<u32>,
    /// Size.
    pub size: Option<u32>,
}
