//! The host's own clock: what it takes to dispatch kernels.

use std::sync::LazyLock;

use serde::Deserialize;

use super::HostWork;

/// How kernels are dispatched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Dispatch {
    /// One Python call an operation.
    #[default]
    Eager,
    /// Compiled code that launches kernels.
    Compiled,
    /// Captured graphs.
    Graph,
    /// As eager, and the host waits for each kernel (`CUDA_LAUNCH_BLOCKING=1`), so that the device waits for the host before each.
    Blocking,
}

/// What dispatching costs the host.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostCost {
    /// One operation of the forward pass that launches a kernel, in microseconds.
    pub launch_us: f64,
    /// One of the backward pass.
    pub backward_launch_us: f64,
    /// One matrix product or fused attention.
    pub product_us: f64,
    /// One collective.
    pub exchange_us: f64,
    /// One call that launches nothing.
    pub call_us: f64,
    /// By how much a collective takes the device longer than nccl-tests say: its stream and that of the computation wait for each
    /// other.
    pub exchange_gap_us: f64,
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
        let unknown = Self {
            launch_us: 10.0,
            backward_launch_us: 10.0,
            product_us: 30.0,
            exchange_us: 30.0,
            call_us: 5.0,
            exchange_gap_us: 23.0,
            step_us: 500.0,
            deviation: 1.0,
        };
        FILE.as_ref().map_or(unknown, |file| match dispatch {
            Dispatch::Eager | Dispatch::Blocking => file.profiles.eager,
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
            product_us: self.product_us * factor,
            exchange_us: self.exchange_us * factor,
            call_us: self.call_us * factor,
            exchange_gap_us: self.exchange_gap_us,
            step_us: self.step_us * factor,
            deviation: self.deviation,
        }
    }

    /// Work of a forward pass, in microseconds.
    #[must_use]
    pub fn forward_us(&self, work: &HostWork) -> f64 {
        work.launches * self.launch_us + self.beside_launches_us(work)
    }

    /// Work of a backward pass, which autograd dispatches without Python, in microseconds.
    #[must_use]
    pub fn backward_us(&self, work: &HostWork) -> f64 {
        work.launches * self.backward_launch_us + self.beside_launches_us(work)
    }

    fn beside_launches_us(&self, work: &HostWork) -> f64 {
        work.products * self.product_us + work.exchanges * self.exchange_us + work.calls * self.call_us
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
        let work = HostWork { launches: 2.0, products: 1.0, exchanges: 1.0, calls: 3.0 };
        assert_eq!(eager.forward_us(&work), 2.0 * 12.0 + 33.0 + 33.0 + 3.0 * 5.0);
        assert_eq!(eager.backward_us(&work), 2.0 * 9.0 + 33.0 + 33.0 + 3.0 * 5.0);
    }
}
