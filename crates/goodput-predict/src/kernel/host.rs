//! The host's own clock: what it takes to dispatch kernels.

use std::sync::LazyLock;

use serde::Deserialize;

/// How kernels are dispatched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dispatch {
    /// One Python call an operation.
    #[default]
    Eager,
    /// Compiled code that launches kernels.
    Compiled,
    /// Captured graphs.
    Graph,
}

/// What dispatching costs the host.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostCost {
    /// One kernel of the forward pass, in microseconds.
    pub launch_us: f64,
    /// One kernel of the backward pass.
    pub backward_launch_us: f64,
    /// Once a step: data, logging, the optimizer's own loop.
    pub step_us: f64,
    /// Relative standard deviation: hosts differ by their clock.
    pub deviation: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    profiles: Profiles,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profiles {
    eager: HostCost,
    compiled: HostCost,
    graph: HostCost,
}

impl HostCost {
    /// The cost of a way of dispatching, on a server CPU of the device's time.
    #[must_use]
    pub fn of(dispatch: Dispatch) -> Self {
        static FILE: LazyLock<Option<File>> =
            LazyLock::new(|| serde_saphyr::from_str(include_str!("../../data/kernels/host.yaml")).ok());
        // A test reads the file, so that its absence is never seen.
        let unknown = Self { launch_us: 10.0, backward_launch_us: 10.0, step_us: 500.0, deviation: 1.0 };
        FILE.as_ref().map_or(unknown, |file| match dispatch {
            Dispatch::Eager => file.profiles.eager,
            Dispatch::Compiled => file.profiles.compiled,
            Dispatch::Graph => file.profiles.graph,
        })
    }

    /// The same on a host that takes so many times as long.
    #[must_use]
    pub fn times_as_long(self, factor: f64) -> Self {
        Self {
            launch_us: self.launch_us * factor,
            backward_launch_us: self.backward_launch_us * factor,
            step_us: self.step_us * factor,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_of_dispatching_is_cheaper_than_the_one_before() {
        let [eager, compiled, graph] =
            [Dispatch::Eager, Dispatch::Compiled, Dispatch::Graph].map(HostCost::of);
        assert!(eager.launch_us > compiled.launch_us && compiled.launch_us > graph.launch_us);
        assert_eq!(eager.times_as_long(0.5).launch_us, 6.0);
        assert_eq!(eager.launch_us, 12.0);
    }
}
