//! The fleet of `goodput demo`.

use super::{Scenario, ScenarioError};

/// The scenario of `goodput demo`, as a person would write it.
const DEMO: &str = include_str!("demo.yaml");

impl Scenario {
    /// A week of a shared fleet: a pool whose jobs hold 0.65 of it, and on it a training job on 128
    /// devices with a runtime goodput of 0.904 and a program goodput of 0.480. The text,
    /// [`Scenario::demo_yaml`], explains itself.
    ///
    /// # Errors
    /// None, as long as the text that ships with this crate is a scenario (a test holds it to that).
    ///
    /// ```
    /// use goodput_simulate::Scenario;
    /// assert_eq!(Scenario::demo()?.pools[0].nodes, 64);
    /// # Ok::<(), goodput_simulate::ScenarioError>(())
    /// ```
    pub fn demo() -> Result<Self, ScenarioError> {
        Self::from_yaml(DEMO)
    }

    /// The text of [`Scenario::demo`]: a worked example of everything that a scenario can say.
    pub fn demo_yaml() -> &'static str {
        DEMO
    }
}
