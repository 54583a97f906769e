//! The loss that a sheet means by the name of an overhead.

use goodput_core::Pattern;

use super::sheet::slug;

/// The loss of this key.
#[must_use]
pub fn by_key(key: &str) -> Option<Pattern> {
    let wanted = slug(key);
    Pattern::ALL.iter().copied().find(|pattern| pattern.key() == wanted && !pattern.is_open())
}

/// The loss of this key or label, or that the words of the name speak of.
#[must_use]
pub fn find(name: &str) -> Option<Pattern> {
    let wanted = slug(name);
    let exact = Pattern::ALL.iter().copied().find(|p| p.key() == wanted || slug(p.label()) == wanted);
    exact
        .or_else(|| WORDS.iter().find(|(words, _)| words.iter().all(|w| wanted.contains(w))).map(|&(_, p)| p))
}

/// The first row whose words all stand in the name decides; narrower rows come first.
const WORDS: &[(&[&str], Pattern)] = &[
    (&["async", "checkpoint"], Pattern::Contention),
    (&["checkpoint"], Pattern::CheckpointPause),
    (&["bubble"], Pattern::PipelineBubble),
    (&["partial", "gang"], Pattern::PartialGangHold),
    (&["incomplete", "gang"], Pattern::PartialGangHold),
    (&["fragment", "cache"], Pattern::CacheFragmentation),
    (&["fragment"], Pattern::Fragmentation),
    (&["quota"], Pattern::QuotaBlocked),
    (&["demand"], Pattern::NoDemand),
    (&["preempt"], Pattern::Preemption),
    (&["evict"], Pattern::Preemption),
    (&["zombie"], Pattern::Zombie),
    (&["straggl"], Pattern::Straggler),
    (&["slow", "node"], Pattern::Straggler),
    (&["slow", "rank"], Pattern::Straggler),
    (&["rework"], Pattern::Rework),
    (&["lost", "work"], Pattern::Rework),
    (&["recover"], Pattern::Recovery),
    (&["restart"], Pattern::Recovery),
    (&["failure"], Pattern::Recovery),
    (&["schedul"], Pattern::SchedulerDelay),
    (&["queue"], Pattern::SchedulerDelay),
    (&["input"], Pattern::InputWait),
    (&["data", "load"], Pattern::InputWait),
    (&["data", "stall"], Pattern::InputWait),
    (&["recompil"], Pattern::Recompilation),
    (&["compil"], Pattern::Startup),
    (&["startup"], Pattern::Startup),
    (&["start_up"], Pattern::Startup),
    (&["recompute"], Pattern::Recomputation),
    (&["recomputation"], Pattern::Recomputation),
    (&["remateriali"], Pattern::Recomputation),
    (&["padding"], Pattern::Padding),
    (&["communication"], Pattern::ExposedCommunication),
    (&["collective"], Pattern::ExposedCommunication),
    (&["all", "reduce"], Pattern::ExposedCommunication),
    (&["dispatch"], Pattern::HostDispatch),
    (&["kernel", "launch"], Pattern::HostDispatch),
    (&["memory", "stall"], Pattern::MemoryStall),
    (&["evaluation"], Pattern::Evaluation),
    (&["hang"], Pattern::Hang),
    (&["idle", "reserv"], Pattern::IdleReservation),
    (&["headroom"], Pattern::Headroom),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sheets_are_known() {
        for (name, pattern) in [
            ("pipeline bubbles", Pattern::PipelineBubble),
            ("Checkpoints", Pattern::CheckpointPause),
            ("asynchronous checkpoint writes", Pattern::Contention),
            ("failure recovery", Pattern::Recovery),
            ("scheduling delay", Pattern::SchedulerDelay),
            ("slow straggler node", Pattern::Straggler),
            ("zombie", Pattern::Zombie),
        ] {
            assert_eq!(find(name), Some(pattern), "{name}");
        }
        assert_eq!(find("miscellaneous"), None);
    }
}
