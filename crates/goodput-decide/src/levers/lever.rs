//! The kernel-level levers, each on its own term.

use serde::Deserialize;

use super::step::{Step, Term};
use super::traffic;
use crate::nearest::nearest;

/// A change of the program.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "lever", rename_all = "snake_case", deny_unknown_fields)]
pub enum Lever {
    /// A chain of operations in one kernel.
    Fusion {
        /// The chain of the memory term.
        chain: String,
        /// Rows.
        tokens: f64,
        /// Width of the product's input.
        input: f64,
        /// Width of the product's output; the input's, unless stated.
        output: Option<f64>,
        /// Operations after the product.
        operations: f64,
        /// Bytes of a value.
        #[serde(default = "two")]
        bytes: f64,
        /// Share of the launches that go away.
        #[serde(default)]
        launches_removed: f64,
    },
    /// Attention that never writes its scores.
    Tiling {
        /// The chain of the memory term.
        chain: String,
        /// Tokens.
        tokens: f64,
        /// Width of a head.
        head: f64,
    },
    /// Captured launches, submitted at once.
    GraphReplay {
        /// What the host still needs, ms.
        #[serde(default)]
        replay_ms: f64,
    },
    /// A compiler that fuses what no other lever fused before it.
    Compilation {
        /// Share of the memory term that it removes.
        memory_removed: f64,
        /// Share of dispatch that it removes.
        dispatch_removed: f64,
    },
    /// Arithmetic in a faster format.
    Precision {
        /// How many times faster the peak is.
        times: f64,
        /// Share of compute that can use it.
        #[serde(default = "one")]
        covers: f64,
        /// Bytes of the memory term after over before.
        #[serde(default = "one")]
        memory_bytes: f64,
    },
    /// Exchanges started earlier.
    Overlap {
        /// Share of the exposed exchanges that is hidden then.
        hides: f64,
        /// By what share kernels slow while exchanges run beside them.
        #[serde(default)]
        slows: f64,
    },
}

const fn one() -> f64 {
    1.0
}

const fn two() -> f64 {
    2.0
}

/// What a lever did to a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Applied {
    /// Less time, ns; negative where the step is longer.
    pub saving_ns: f64,
    /// What was hidden before and now shows: exchanges.
    pub exposed_communication_ns: f64,
    /// What was hidden before and now shows: dispatch.
    pub exposed_dispatch_ns: f64,
    /// Whether an earlier lever had done all of it.
    pub was_done: bool,
}

impl Lever {
    /// Its name for people: the kind, and the chain where it has one.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Fusion { chain, .. } => format!("fusion of {chain}"),
            Self::Tiling { chain, .. } => format!("tiling of {chain}"),
            Self::GraphReplay { .. } => "graph replay".to_owned(),
            Self::Compilation { .. } => "compilation".to_owned(),
            Self::Precision { .. } => "precision".to_owned(),
            Self::Overlap { .. } => "overlap".to_owned(),
        }
    }

    /// The terms that it shortens.
    #[must_use]
    pub const fn terms(&self) -> &'static [Term] {
        match self {
            Self::Fusion { .. } | Self::Compilation { .. } => &[Term::Memory, Term::Dispatch],
            Self::Tiling { .. } => &[Term::Memory],
            Self::GraphReplay { .. } => &[Term::Dispatch],
            Self::Precision { .. } => &[Term::Compute, Term::Memory],
            Self::Overlap { .. } => &[Term::Communication],
        }
    }

    /// The traffic before over after, for levers that have a model of it.
    #[must_use]
    pub fn traffic_ratio(&self) -> Option<f64> {
        match *self {
            Self::Fusion { tokens, input, output, operations, bytes, .. } => {
                let output = output.unwrap_or(input);
                Some(traffic::Chain { tokens, input, output, operations, bytes }.ratio())
            }
            Self::Tiling { tokens, head, .. } => Some(traffic::tiled_attention_ratio(tokens, head)),
            _ => None,
        }
    }

    /// Numbers that no lever can have, and chains that the step does not.
    pub(super) fn check(&self, step: &Step) -> Result<(), (&'static str, String)> {
        let share = |name, value: f64| {
            if (0.0..=1.0).contains(&value) {
                Ok(())
            } else {
                Err((name, format!("{value}: expected a share from 0 to 1")))
            }
        };
        let positive = |name, value: f64| {
            if value > 0.0 && value.is_finite() {
                Ok(())
            } else {
                Err((name, format!("{value}: expected a number above zero")))
            }
        };
        let chain = |name: &str| {
            if step.chains.iter().any(|chain| chain.name == name) {
                return Ok(());
            }
            let known = step.chains.iter().map(|chain| chain.name.as_str());
            let nearest = nearest(name, known).map(|n| format!("; the nearest is `{n}`")).unwrap_or_default();
            Err(("chain", format!("`{name}` is no chain of the step{nearest}")))
        };
        match self {
            Self::Fusion { chain: name, tokens, input, output, operations, bytes, launches_removed } => {
                chain(name)?;
                positive("tokens", *tokens)?;
                positive("input", *input)?;
                output.map_or(Ok(()), |output| positive("output", output))?;
                positive("operations", *operations)?;
                positive("bytes", *bytes)?;
                share("launches_removed", *launches_removed)
            }
            Self::Tiling { chain: name, tokens, head } => {
                chain(name)?;
                positive("tokens", *tokens)?;
                positive("head", *head)
            }
            Self::GraphReplay { replay_ms } if *replay_ms >= 0.0 && replay_ms.is_finite() => Ok(()),
            Self::GraphReplay { replay_ms } => {
                Err(("replay_ms", format!("{replay_ms}: expected zero or more")))
            }
            Self::Compilation { memory_removed, dispatch_removed } => {
                share("memory_removed", *memory_removed)?;
                share("dispatch_removed", *dispatch_removed)
            }
            Self::Precision { times, covers, memory_bytes } => {
                positive("times", *times)?;
                share("covers", *covers)?;
                positive("memory_bytes", *memory_bytes)
            }
            Self::Overlap { hides, slows } => {
                share("hides", *hides)?;
                share("slows", *slows)
            }
        }
    }

    /// Changes the step.
    pub(super) fn apply(&self, step: &mut Step) -> Applied {
        let (before_ns, local_ns) = (step.step_ns(), step.local_ns());
        let mut was_done = false;
        match *self {
            Self::Fusion { ref chain, launches_removed, .. } => {
                was_done = shrink_chain(step, chain, self.traffic_ratio());
                if !was_done {
                    remove_dispatch(step, launches_removed);
                }
            }
            Self::Tiling { ref chain, .. } => was_done = shrink_chain(step, chain, self.traffic_ratio()),
            Self::GraphReplay { replay_ms } => {
                let replay_ns = replay_ms * 1e6;
                was_done = step.dispatch_ns <= replay_ns && step.host_ns <= replay_ns;
                step.dispatch_ns = step.dispatch_ns.min(replay_ns);
                step.host_ns = step.host_ns.min(replay_ns);
            }
            Self::Compilation { memory_removed, dispatch_removed } => {
                was_done = step.chains.iter().all(|chain| chain.is_fused) && step.dispatch_ns <= 0.0;
                for chain in step.chains.iter_mut().filter(|chain| !chain.is_fused) {
                    chain.time_ns *= 1.0 - memory_removed;
                    chain.is_fused = true;
                }
                remove_dispatch(step, dispatch_removed);
            }
            Self::Precision { times, covers, memory_bytes } => {
                step.compute_ns *= 1.0 - covers + covers / times;
                step.chains.iter_mut().for_each(|chain| chain.time_ns *= memory_bytes);
            }
            Self::Overlap { hides, slows } => {
                // No more hides than there are kernels to hide behind.
                let hidden_ns =
                    (step.communication_ns * hides).min((local_ns - step.hidden_communication_ns).max(0.0));
                step.communication_ns -= hidden_ns;
                step.hidden_communication_ns += hidden_ns;
                step.window_ns = step.window_ns.max(step.hidden_communication_ns);
                let slower_ns = hidden_ns * slows;
                step.compute_ns += slower_ns;
            }
        }
        let (exposed_communication_ns, exposed_dispatch_ns) = step.settle(local_ns);
        Applied {
            saving_ns: before_ns - step.step_ns(),
            exposed_communication_ns,
            exposed_dispatch_ns,
            was_done,
        }
    }
}

/// Returns whether it was fused before.
fn shrink_chain(step: &mut Step, name: &str, ratio: Option<f64>) -> bool {
    let Some(chain) = step.chains.iter_mut().find(|chain| chain.name == name) else { return true };
    if chain.is_fused {
        return true;
    }
    chain.time_ns /= ratio.unwrap_or(1.0);
    chain.is_fused = true;
    false
}

fn remove_dispatch(step: &mut Step, share: f64) {
    step.dispatch_ns *= 1.0 - share;
    step.host_ns *= 1.0 - share;
}
