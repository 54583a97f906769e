//! The questions: a variant a file. A new one is one variant here and one file beside this.

use super::answer::Answer;
use super::error::PlanError;
use super::fields::Fields;
use super::{
    build, cadence, capacity, fleet, frontier, levers, planning, pool, runtime, sizing, staging, straggler,
    time,
};

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// Composed runtime loss.
    Runtime,
    /// How often to save.
    Cadence,
    /// Saves in the background.
    Staging,
    /// Elastic sizes.
    Sizing,
    /// Compilation builds.
    Build,
    /// Replacing a slow node.
    Straggler,
    /// An urgent gang by preemption.
    Preemption,
    /// Lent quota.
    Lending,
    /// Waiting for a compact placement.
    Placement,
    /// Spot, reserved, older.
    Capacity,
    /// Time to result.
    Time,
    /// The efficiency frontier.
    Frontier,
    /// The three factors.
    Fleet,
    /// A change in several factors.
    Trade,
    /// Days at a lower rate.
    Days,
    /// Bytes of a trace.
    TraceVolume,
    /// An orchestrator's tiers.
    Tiers,
    /// Kernel-level levers on one step.
    Levers,
}

/// Every question with the word that asks it.
const WORDS: [(&str, Question); 18] = [
    ("runtime", Question::Runtime),
    ("cadence", Question::Cadence),
    ("staging", Question::Staging),
    ("sizing", Question::Sizing),
    ("build", Question::Build),
    ("straggler", Question::Straggler),
    ("preemption", Question::Preemption),
    ("lending", Question::Lending),
    ("placement", Question::Placement),
    ("capacity", Question::Capacity),
    ("time", Question::Time),
    ("frontier", Question::Frontier),
    ("fleet", Question::Fleet),
    ("trade", Question::Trade),
    ("days", Question::Days),
    ("trace_volume", Question::TraceVolume),
    ("tiers", Question::Tiers),
    ("levers", Question::Levers),
];

impl Question {
    /// Words of all questions.
    pub fn words() -> impl Iterator<Item = &'static str> {
        WORDS.iter().map(|(word, _)| *word)
    }

    /// The question that a word asks.
    pub fn of(word: &str) -> Option<Self> {
        WORDS.iter().find(|(known, _)| *known == word).map(|(_, question)| *question)
    }

    /// Answers it.
    pub fn answer(self, fields: &Fields<'_>) -> Result<Answer, PlanError> {
        match self {
            Self::Runtime => runtime::answer(fields),
            Self::Cadence => cadence::answer(fields),
            Self::Staging => staging::answer(fields),
            Self::Sizing => sizing::answer(fields),
            Self::Build => build::answer(fields),
            Self::Straggler => straggler::answer(fields),
            Self::Preemption => pool::preemption(fields),
            Self::Lending => pool::lending(fields),
            Self::Placement => pool::placement(fields),
            Self::Capacity => capacity::answer(fields),
            Self::Time => time::answer(fields),
            Self::Frontier => frontier::answer(fields),
            Self::Fleet => fleet::answer(fields),
            Self::Trade => fleet::trade(fields),
            Self::Days => planning::days(fields),
            Self::TraceVolume => planning::trace_volume(fields),
            Self::Tiers => planning::tiers(fields),
            Self::Levers => levers::answer(fields),
        }
    }
}
