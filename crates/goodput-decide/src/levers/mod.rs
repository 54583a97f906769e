//! What kernel-level levers do to one step: each shortens what is exposed of its own term, and several are applied one after
//! another. Their savings are never added up.
//!
//! ```
//! use goodput_decide::levers::Inputs;
//! // A token of 8.3333 ms: products, elementwise kernels, launches. Compilation removes 70 % and 80 % of the last two.
//! let inputs: Inputs = serde_json::from_str(r#"{
//!     "step_ms": 8.333333333333334,
//!     "shares": {"compute": 0.50, "memory": 0.35, "dispatch": 0.15},
//!     "levers": [{"lever": "compilation", "memory_removed": 0.70, "dispatch_removed": 0.80}]
//! }"#)?;
//! let answer = inputs.answer().expect("shares sum to one");
//! assert!((answer.after_ns / answer.before_ns - 0.635).abs() < 1e-12);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod interaction;
mod lever;
pub mod step;
pub mod traffic;

pub use interaction::{Interaction, InteractionKind};
pub use lever::{Applied, Lever};

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::nearest::nearest;
use step::{Chain, Step, Term};

/// A step and the levers on it.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Inputs {
    /// The step, ms.
    pub step_ms: Option<f64>,
    /// What is exposed of each term, as shares of the step that sum to one.
    pub shares: BTreeMap<String, f64>,
    /// Chains of kernels inside the memory term, as shares of the step.
    pub chains: BTreeMap<String, f64>,
    /// Exchanges hidden behind kernels, as a share of the step.
    pub hidden_communication: f64,
    /// Kernel time behind which exchanges could hide, as a share of the step; what is hidden, unless stated.
    pub overlap_window: Option<f64>,
    /// What the host needs to submit the step, hidden or not, ms.
    pub host_ms: f64,
    /// The levers, in order.
    pub levers: Vec<Lever>,
}

/// Why levers cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {why}")]
pub struct LeverError {
    /// The key.
    pub key: String,
    /// What is wrong, and what to write.
    pub why: String,
}

impl LeverError {
    fn new(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self { key: key.into(), why: why.into() }
    }
}

/// A lever on a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// Terms that it shortens.
    pub terms: &'static [Term],
    /// Traffic before over after, where it has a model of it.
    pub traffic_ratio: Option<f64>,
    /// What it did.
    pub applied: Applied,
    /// The step after it.
    pub step: Step,
}

/// What the levers do.
#[derive(Debug, Clone, PartialEq)]
pub struct Levers {
    /// The step before.
    pub before: Step,
    /// The step before, ns.
    pub before_ns: f64,
    /// Each lever alone.
    pub alone: Vec<Outcome>,
    /// One after another.
    pub in_order: Vec<Outcome>,
    /// The step after all, ns.
    pub after_ns: f64,
    /// The sum of what each saves alone: what a spreadsheet would promise.
    pub sum_of_savings_ns: f64,
    /// Pairs, the largest difference from their sum first.
    pub interactions: Vec<Interaction>,
}

impl Inputs {
    /// Judges the levers on the step that the inputs state.
    ///
    /// # Errors
    /// [`LeverError`] names the key.
    pub fn answer(&self) -> Result<Levers, LeverError> {
        self.judge(self.stated_step()?)
    }

    /// Judges the levers on a step from elsewhere, such as [`Step::from_trace`].
    ///
    /// # Errors
    /// [`LeverError`] names the key of the lever.
    pub fn judge(&self, before: Step) -> Result<Levers, LeverError> {
        if self.levers.is_empty() {
            return Err(LeverError::new("levers", "none is stated"));
        }
        for (i, lever) in self.levers.iter().enumerate() {
            lever.check(&before).map_err(|(key, why)| LeverError::new(format!("levers[{i}].{key}"), why))?;
        }
        let outcome = |lever: &Lever, step: &Step| {
            let mut step = step.clone();
            let applied = lever.apply(&mut step);
            Outcome {
                name: lever.name(),
                terms: lever.terms(),
                traffic_ratio: lever.traffic_ratio(),
                applied,
                step,
            }
        };
        let alone: Vec<Outcome> = self.levers.iter().map(|lever| outcome(lever, &before)).collect();
        let mut in_order: Vec<Outcome> = Vec::new();
        for lever in &self.levers {
            let next = outcome(lever, in_order.last().map_or(&before, |last| &last.step));
            in_order.push(next);
        }
        let before_ns = before.step_ns();
        Ok(Levers {
            before_ns,
            after_ns: in_order.last().map_or(before_ns, |last| last.step.step_ns()),
            sum_of_savings_ns: alone.iter().map(|outcome| outcome.applied.saving_ns).sum(),
            interactions: interaction::pairs(&self.levers, &alone, &before),
            alone,
            in_order,
            before,
        })
    }

    fn stated_step(&self) -> Result<Step, LeverError> {
        let step_ms =
            self.step_ms.ok_or_else(|| LeverError::new("step_ms", "missing: state the step in ms"))?;
        if !(step_ms > 0.0 && step_ms.is_finite()) {
            return Err(LeverError::new("step_ms", format!("{step_ms}: expected a number above zero")));
        }
        let names = Term::ALL.map(Term::key);
        if let Some(unknown) = self.shares.keys().find(|key| !names.contains(&key.as_str())) {
            let nearest = nearest(unknown, names).unwrap_or_default();
            return Err(LeverError::new(
                "shares",
                format!("`{unknown}` is no term; the nearest is `{nearest}`"),
            ));
        }
        let sum: f64 = self.shares.values().sum();
        if (sum - 1.0).abs() > 1e-6 || self.shares.values().any(|share| *share < 0.0) {
            return Err(LeverError::new(
                "shares",
                format!("they sum to {sum}: what is exposed of all terms is the step, 1"),
            ));
        }
        let of = |term: Term| self.shares.get(term.key()).copied().unwrap_or_default();
        let in_chains: f64 = self.chains.values().sum();
        let rest = of(Term::Memory) - in_chains;
        if rest < -1e-9 || self.chains.values().any(|share| share.is_nan() || *share < 0.0) {
            let why = format!("they sum to {in_chains} of the step, the memory term is {}", of(Term::Memory));
            return Err(LeverError::new("chains", why));
        }
        let share = |key: &str, value: f64| {
            if (0.0..=1.0).contains(&value) {
                Ok(value)
            } else {
                Err(LeverError::new(key, format!("{value}: expected a share of the step, 0 to 1")))
            }
        };
        let hidden = share("hidden_communication", self.hidden_communication)?;
        let window = share("overlap_window", self.overlap_window.unwrap_or(hidden))?.max(hidden);
        if !(self.host_ms >= 0.0 && self.host_ms <= step_ms) {
            let why = format!(
                "{}: a step of {step_ms} ms cannot be shorter than what its host needs",
                self.host_ms
            );
            return Err(LeverError::new("host_ms", why));
        }
        let step_ns = step_ms * 1e6;
        let chain = |(name, share): (&String, &f64)| Chain {
            name: name.clone(),
            time_ns: share * step_ns,
            is_fused: false,
        };
        let mut chains: Vec<Chain> = self.chains.iter().map(chain).collect();
        chains.push(Chain { name: "the rest".to_owned(), time_ns: rest.max(0.0) * step_ns, is_fused: false });
        Ok(Step {
            compute_ns: of(Term::Compute) * step_ns,
            chains,
            dispatch_ns: of(Term::Dispatch) * step_ns,
            communication_ns: of(Term::Communication) * step_ns,
            synchronization_ns: of(Term::Synchronization) * step_ns,
            other_ns: of(Term::Other) * step_ns,
            hidden_communication_ns: hidden * step_ns,
            window_ns: window * step_ns,
            host_ns: self.host_ms * 1e6,
        })
    }
}

impl Levers {
    /// Before over after.
    #[must_use]
    pub fn speedup(&self) -> f64 {
        self.before_ns / self.after_ns
    }

    /// Why what the levers save together is not what they save alone, in sentences.
    #[must_use]
    pub fn why_no_sum(&self) -> Vec<String> {
        let together_ns = self.before_ns - self.after_ns;
        let ms = |ns: f64| format!("{:.4} ms", ns / 1e6);
        let mut why = vec![format!(
            "alone the levers save {} in sum, together {}",
            ms(self.sum_of_savings_ns),
            ms(together_ns)
        )];
        for (i, outcome) in self.in_order.iter().enumerate() {
            let Applied { exposed_communication_ns, exposed_dispatch_ns, was_done, .. } = outcome.applied;
            if was_done {
                why.push(format!("{}: what it would do, levers before it did", outcome.name));
            }
            if exposed_communication_ns > 0.0 {
                why.push(format!(
                    "{}: {} of exchanges that kernels hid before are exposed now",
                    outcome.name,
                    ms(exposed_communication_ns)
                ));
            }
            if exposed_dispatch_ns > 0.0 {
                why.push(format!(
                    "{}: the host needs {}, {} more than the device: dispatch shows",
                    outcome.name,
                    ms(outcome.step.host_ns),
                    ms(exposed_dispatch_ns)
                ));
            }
            let alone_ns = self.alone[i].applied.saving_ns;
            if !was_done && (outcome.applied.saving_ns - alone_ns).abs() > 1e-3 * self.before_ns {
                why.push(format!(
                    "{}: {} alone, {} in its place in the order",
                    outcome.name,
                    ms(alone_ns),
                    ms(outcome.applied.saving_ns)
                ));
            }
        }
        why
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn answer(inputs: Value) -> Levers {
        serde_json::from_value::<Inputs>(inputs).unwrap().answer().unwrap()
    }

    fn refused(inputs: Value) -> String {
        serde_json::from_value::<Inputs>(inputs).unwrap().answer().unwrap_err().to_string()
    }

    fn close(value: f64, exact: f64) {
        assert!((value / exact - 1.0).abs() < 1e-9, "{value} {exact}");
    }

    /// Worked example E9.
    #[test]
    fn compilation_of_a_token() {
        let answer = answer(json!({
            "step_ms": 1000.0 / 120.0,
            "shares": {"compute": 0.50, "memory": 0.35, "dispatch": 0.15},
            "levers": [{"lever": "compilation", "memory_removed": 0.70, "dispatch_removed": 0.80}],
        }));
        close(answer.after_ns / answer.before_ns, 0.635);
        assert!(
            (answer.after_ns / 1e6 - 5.2916).abs() < 1e-4 || (answer.after_ns / 1e6 - 5.2917).abs() < 1e-4
        );
        assert!((answer.speedup() - 1.5748).abs() < 5e-5);
    }

    /// Worked example E11: the iron law at a doubled peak.
    #[test]
    fn precision_reaches_compute_alone() {
        let answer = answer(json!({
            "step_ms": 100.0,
            "shares": {"memory": 0.60, "compute": 0.30, "dispatch": 0.10},
            "levers": [{"lever": "precision", "times": 2}],
        }));
        close(answer.speedup(), 1.0 / 0.85);
    }

    /// The decode step of the chapter: 12 to 24 ms of eager dispatch over a floor of 5.2239 ms.
    #[test]
    fn graph_replay_reaches_the_floor() {
        let floor_ms = 70e9 * 2.0 / 8.0 / 3.35e12 * 1e3;
        for eager_ms in [12.0, 24.0] {
            let answer = answer(json!({
                "step_ms": eager_ms,
                "host_ms": eager_ms,
                "shares": {"memory": floor_ms / eager_ms, "dispatch": 1.0 - floor_ms / eager_ms},
                "levers": [{"lever": "graph_replay"}],
            }));
            close(answer.after_ns / 1e6, floor_ms);
        }
    }

    /// A host-bound step gains nothing from faster kernels alone.
    #[test]
    fn kernels_and_replay_reinforce_each_other() {
        let answer = answer(json!({
            "step_ms": 12.0,
            "host_ms": 12.0,
            "shares": {"memory": 0.5, "dispatch": 0.5},
            "chains": {"mlp": 0.25},
            "levers": [
                {"lever": "fusion", "chain": "mlp", "tokens": 2048, "input": 8192, "operations": 2},
                {"lever": "graph_replay"},
            ],
        }));
        assert_eq!(answer.alone[0].applied.saving_ns, 0.0);
        close(answer.alone[0].traffic_ratio.unwrap(), 5.0 / 3.0);
        close(answer.after_ns / 1e6, 3.0 + 3.0 * 0.6);
        assert_eq!(answer.interactions[0].kind, InteractionKind::Reinforcing);
    }

    #[test]
    fn a_compiler_leaves_nothing_to_a_fused_chain() {
        let answer = answer(json!({
            "step_ms": 100.0,
            "shares": {"compute": 0.5, "memory": 0.4, "dispatch": 0.1},
            "chains": {"mlp": 0.4},
            "levers": [
                {"lever": "compilation", "memory_removed": 0.4, "dispatch_removed": 0},
                {"lever": "fusion", "chain": "mlp", "tokens": 2048, "input": 8192, "operations": 2},
            ],
        }));
        close(answer.after_ns / 1e6, 100.0 - 16.0);
        close(answer.sum_of_savings_ns / 1e6, 32.0);
        assert_eq!(answer.interactions[0].kind, InteractionKind::Redundant);
        assert!(answer.why_no_sum().iter().any(|why| why.contains("levers before it did")));
    }

    /// Faster kernels shrink the window behind which exchanges were hidden.
    #[test]
    fn hidden_exchanges_show_again() {
        let with = |levers: Value| {
            answer(json!({
                "step_ms": 245.0,
                "shares": {"compute": 0.6, "memory": 0.1, "communication": 0.3},
                "hidden_communication": 0.2,
                "levers": levers,
            }))
        };
        let faster = with(json!([{"lever": "precision", "times": 2}]));
        let shrunk = 0.4 / 0.7;
        close(faster.after_ns / faster.before_ns, 0.7 + 0.2 * (1.0 - shrunk));
        let both = with(
            json!([{"lever": "overlap", "hides": 0.5, "slows": 0.1}, {"lever": "precision", "times": 2}]),
        );
        assert!(both.before_ns - both.after_ns < both.sum_of_savings_ns);
        assert_eq!(both.interactions[0].kind, InteractionKind::Conflicting);
        assert!(both.why_no_sum().iter().any(|why| why.contains("exposed now")));
    }

    #[test]
    fn what_cannot_be_is_named() {
        let step = json!({"step_ms": 1.0, "shares": {"compute": 1.0}});
        let with = |key: &str, value: Value| {
            let mut inputs = step.clone();
            inputs[key] = value;
            refused(inputs)
        };
        assert!(with("shares", json!({"math": 1.0})).contains("no term; the nearest"));
        assert!(with("shares", json!({"compute": 0.5})).starts_with("shares: they sum to 0.5"));
        assert!(with("host_ms", json!(2.0)).starts_with("host_ms"));
        assert!(with("levers", json!([])).starts_with("levers"));
        let fusion = json!([{"lever": "fusion", "chain": "mpl", "tokens": 1, "input": 1, "operations": 1}]);
        let mut inputs = step.clone();
        inputs["shares"] = json!({"compute": 0.5, "memory": 0.5});
        inputs["chains"] = json!({"mlp": 0.5});
        inputs["levers"] = fusion;
        assert!(refused(inputs).contains("nearest is `mlp`"));
        assert!(with("levers", json!([{"lever": "precision", "times": 0}])).starts_with("levers[0].times"));
    }
}
