//! States of nodes, as words (`IDLE+DRAIN`, `DOWN*`) and as numbers (`514`).

use goodput_core::records::NodeStatus;

/// What a node's state means for the accounting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeState {
    /// In service or not.
    pub status: NodeStatus,
    /// Kept free by the scheduler for a waiting job (`PLANNED`).
    pub planned: bool,
    /// Not installed: a name held ready for a node that does not exist (`FUTURE`).
    pub future: bool,
    /// Whether every word was known; unknown words leave a node in service.
    pub known: bool,
}

impl NodeState {
    const UP: Self = Self { status: NodeStatus::Up, planned: false, future: false, known: true };

    /// Reads a state as text: base and flags joined by `+`, perhaps followed by the signs of `sinfo`
    /// (`*` not responding, `$` maintenance, `~` powered down, …).
    ///
    /// A node that does not respond stays in service until Slurm sets it down.
    ///
    /// ```
    /// use goodput_core::records::NodeStatus;
    /// use goodput_records::scheduler::slurm::node_state::NodeState;
    /// assert_eq!(NodeState::from_text("DOWN*").status, NodeStatus::Down);
    /// assert_eq!(NodeState::from_text("IDLE+NOT_RESPONDING").status, NodeStatus::Up);
    /// let state = NodeState::from_text("IDLE+DRAIN+PLANNED");
    /// assert_eq!((state.status, state.planned), (NodeStatus::Drain, true));
    /// ```
    pub fn from_text(text: &str) -> Self {
        let mut state = Self::UP;
        for word in text.split('+') {
            let bare = word.trim().trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            if word.contains('$') {
                state.worsen(NodeStatus::Maintenance);
            }
            state.add(&bare.to_ascii_uppercase());
        }
        state
    }

    fn add(&mut self, word: &str) {
        match word {
            "DOWN" | "ERROR" | "FAIL" | "FAILING" | "INVAL" | "INVALID_REG" | "UNKNOWN" | "REBOOT_ISSUED"
            | "REBOOT" | "REBOOTING" => self.worsen(NodeStatus::Down),
            "DRAIN" | "DRAINED" | "DRAINING" | "DRNG" | "BLOCKED" => self.worsen(NodeStatus::Drain),
            "MAINT" | "MAINTENANCE" => self.worsen(NodeStatus::Maintenance),
            "PLANNED" => self.planned = true,
            "FUTURE" => self.future = true,
            "IDLE" | "ALLOC" | "ALLOCATED" | "MIX" | "MIXED" | "COMP" | "COMPLETING" | "NOT_RESPONDING"
            | "RESERVED" | "RESV" | "CLOUD" | "DYNAMIC_NORM" | "DYNAMIC_FUTURE" | "PERFCTRS" | "UNDRAIN"
            | "RESUME" | "POWER_DOWN" | "POWERING_DOWN" | "POWERED_DOWN" | "POWER_UP" | "POWERING_UP"
            | "POWER_DRAIN" | "REBOOT_REQUESTED" | "REBOOT_CANCELED" => {}
            _ => self.known = false,
        }
    }

    /// Reads a numeric state: the base in the low four bits, flags above (`slurm.h`).
    ///
    /// ```
    /// use goodput_core::records::NodeStatus;
    /// use goodput_records::scheduler::slurm::node_state::NodeState;
    /// assert_eq!(NodeState::from_number(514).status, NodeStatus::Drain);
    /// assert_eq!(NodeState::from_number(4_194_816).status, NodeStatus::Down);
    /// ```
    pub fn from_number(number: u32) -> Self {
        let mut state = Self::UP;
        match number & 0xf {
            BASE_UNKNOWN | BASE_DOWN | BASE_ERROR => state.worsen(NodeStatus::Down),
            BASE_FUTURE => state.future = true,
            BASE_IDLE | BASE_ALLOCATED | BASE_MIXED => {}
            _ => state.known = false,
        }
        let has = |bit: u32| number & (1 << bit) != 0;
        if has(FLAG_DRAIN) || has(FLAG_BLOCKED) {
            state.worsen(NodeStatus::Drain);
        }
        if has(FLAG_MAINTENANCE) {
            state.worsen(NodeStatus::Maintenance);
        }
        if has(FLAG_FAIL) || has(FLAG_REBOOT_ISSUED) || has(FLAG_INVALID_REGISTRATION) {
            state.worsen(NodeStatus::Down);
        }
        state.planned = has(FLAG_PLANNED);
        state
    }

    /// Down outweighs maintenance, maintenance a drain.
    fn worsen(&mut self, status: NodeStatus) {
        let rank = |status| match status {
            NodeStatus::Up => 0,
            NodeStatus::Drain => 1,
            NodeStatus::Maintenance => 2,
            NodeStatus::Down => 3,
        };
        if rank(status) > rank(self.status) {
            self.status = status;
        }
    }
}

const BASE_UNKNOWN: u32 = 0;
const BASE_DOWN: u32 = 1;
const BASE_IDLE: u32 = 2;
const BASE_ALLOCATED: u32 = 3;
const BASE_ERROR: u32 = 4;
const BASE_MIXED: u32 = 5;
const BASE_FUTURE: u32 = 6;

const FLAG_DRAIN: u32 = 9;
const FLAG_FAIL: u32 = 13;
const FLAG_MAINTENANCE: u32 = 15;
const FLAG_REBOOT_ISSUED: u32 = 20;
const FLAG_PLANNED: u32 = 21;
const FLAG_INVALID_REGISTRATION: u32 = 22;
const FLAG_BLOCKED: u32 = 27;

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("IDLE", NodeStatus::Up)]
    #[case("MIXED+DRAIN", NodeStatus::Drain)]
    #[case("ALLOCATED+NOT_RESPONDING", NodeStatus::Up)]
    #[case("DOWN+NOT_RESPONDING", NodeStatus::Down)]
    #[case("INVAL", NodeStatus::Down)]
    #[case("UNKNOWN+DRAIN+INVALID_REG", NodeStatus::Down)]
    #[case("IDLE+MAINTENANCE+RESERVED", NodeStatus::Maintenance)]
    #[case("idle$", NodeStatus::Maintenance)]
    #[case("drained*", NodeStatus::Drain)]
    #[case("IDLE+CLOUD+POWERED_DOWN", NodeStatus::Up)]
    fn words(#[case] text: &str, #[case] status: NodeStatus) {
        let state = NodeState::from_text(text);
        assert_eq!((state.status, state.known), (status, true));
    }

    #[rstest]
    #[case(514, NodeStatus::Drain, false)]
    #[case(2_097_666, NodeStatus::Drain, true)]
    #[case(2_049, NodeStatus::Down, false)]
    #[case(1, NodeStatus::Down, false)]
    #[case(4_194_816, NodeStatus::Down, false)]
    #[case(2_050, NodeStatus::Up, false)]
    #[case(32_770, NodeStatus::Maintenance, false)]
    fn numbers(#[case] number: u32, #[case] status: NodeStatus, #[case] planned: bool) {
        let state = NodeState::from_number(number);
        assert_eq!((state.status, state.planned), (status, planned));
    }

    #[test]
    fn an_unknown_word_leaves_the_node_in_service_and_says_so() {
        let state = NodeState::from_text("IDLE+LEVITATING");
        assert_eq!((state.status, state.known), (NodeStatus::Up, false));
        assert!(NodeState::from_text("FUTURE").future);
    }
}
