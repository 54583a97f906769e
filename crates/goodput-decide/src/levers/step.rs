//! One step as what is exposed of each term, and what is hidden behind it.

use serde_json::Value;

/// A term of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Term {
    /// Kernels at the arithmetic ceiling.
    Compute,
    /// Kernels at the bandwidth ceiling.
    Memory,
    /// Gaps in which the host is late with launches.
    Dispatch,
    /// Exchanges that computation does not hide.
    Communication,
    /// Waiting for peers and stages.
    Synchronization,
    /// The rest.
    Other,
}

impl Term {
    /// Every term.
    pub const ALL: [Self; 6] = [
        Self::Compute,
        Self::Memory,
        Self::Dispatch,
        Self::Communication,
        Self::Synchronization,
        Self::Other,
    ];

    /// The word in YAML and JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Dispatch => "dispatch",
            Self::Communication => "communication",
            Self::Synchronization => "synchronization",
            Self::Other => "other",
        }
    }
}

/// Kernels of one name in the memory term.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// Its name.
    pub name: String,
    /// Their time, ns.
    pub time_ns: f64,
    /// Whether a lever fused or tiled it already.
    pub is_fused: bool,
}

/// A mean step of one device. Times in ns; the exposed ones sum to the step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Exposed compute.
    pub compute_ns: f64,
    /// Exposed memory-bound kernels.
    pub chains: Vec<Chain>,
    /// Exposed dispatch.
    pub dispatch_ns: f64,
    /// Exposed exchanges.
    pub communication_ns: f64,
    /// Waiting for peers and stages.
    pub synchronization_ns: f64,
    /// The rest.
    pub other_ns: f64,
    /// Exchanges hidden behind kernels.
    pub hidden_communication_ns: f64,
    /// Kernel time behind which exchanges could hide; at least what is hidden.
    pub window_ns: f64,
    /// What the host needs to submit the step, hidden or not: no step is shorter. Zero where nobody says.
    pub host_ns: f64,
}

impl Step {
    /// The exposed time of a term.
    #[must_use]
    pub fn term_ns(&self, term: Term) -> f64 {
        match term {
            Term::Compute => self.compute_ns,
            Term::Memory => self.chains.iter().map(|chain| chain.time_ns).sum(),
            Term::Dispatch => self.dispatch_ns,
            Term::Communication => self.communication_ns,
            Term::Synchronization => self.synchronization_ns,
            Term::Other => self.other_ns,
        }
    }

    /// Kernels of the device itself: what exchanges can hide behind.
    #[must_use]
    pub fn local_ns(&self) -> f64 {
        self.compute_ns + self.term_ns(Term::Memory)
    }

    /// The step.
    #[must_use]
    pub fn step_ns(&self) -> f64 {
        Term::ALL.iter().map(|&term| self.term_ns(term)).sum()
    }

    /// After kernels became shorter: the window behind which exchanges hide shrinks with them, and a host that needs longer
    /// than the device shows. Returns the exchanges and the dispatch that were hidden before.
    pub(super) fn settle(&mut self, local_before_ns: f64) -> (f64, f64) {
        let local_ns = self.local_ns();
        if local_before_ns > 0.0 {
            self.window_ns *= (local_ns / local_before_ns).min(1.0);
        }
        let exposed_ns = (self.hidden_communication_ns - self.window_ns).max(0.0);
        self.hidden_communication_ns -= exposed_ns;
        self.communication_ns += exposed_ns;
        let late_ns = (self.host_ns - self.step_ns()).max(0.0);
        self.dispatch_ns += late_ns;
        (exposed_ns, late_ns)
    }

    /// The mean step of a report of `goodput trace` (`goodput.trace/1`): products, attention, convolutions and experts are
    /// compute, all other kernels memory, each class a chain of its own.
    ///
    /// # Errors
    /// A sentence that names the key that is missing.
    pub fn from_trace(report: &Value) -> Result<Self, String> {
        if report["schema"] != "goodput.trace/1" {
            return Err(format!("`schema` is {}, expected goodput.trace/1", report["schema"]));
        }
        let steps = report["scope"]["rank_steps"].as_f64().filter(|&steps| steps > 0.0);
        let steps = steps.ok_or("`scope.rank_steps` is missing or zero: the trace holds no step")?;
        let charges = report["charges"].as_array().ok_or("`charges` is missing")?;
        let mut step = Self {
            compute_ns: 0.0,
            chains: Vec::new(),
            dispatch_ns: 0.0,
            communication_ns: 0.0,
            synchronization_ns: 0.0,
            other_ns: 0.0,
            hidden_communication_ns: report["overlap"]["hidden_ns"].as_f64().unwrap_or_default() / steps,
            window_ns: 0.0,
            host_ns: 0.0,
        };
        for charge in charges {
            let key = charge["charge"].as_str().ok_or("`charges[].charge` is missing")?;
            let time_ns = charge["time_ns"].as_f64().ok_or("`charges[].time_ns` is missing")? / steps;
            match key {
                "gemm" | "attention" | "conv" | "moe" => step.compute_ns += time_ns,
                "transfer" | "communication_not_split" => step.communication_ns += time_ns,
                "peer_wait" | "bubble" => step.synchronization_ns += time_ns,
                "host_dispatch" | "launch_latency" => step.dispatch_ns += time_ns,
                "stream_dependency" | "unattributed" => step.other_ns += time_ns,
                key if key.starts_with("host_") => step.other_ns += time_ns,
                key => step.chains.push(Chain { name: key.to_owned(), time_ns, is_fused: false }),
            }
        }
        step.window_ns = step.hidden_communication_ns;
        Ok(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_trace_gives_a_mean_step() {
        let charge = |charge: &str, time_ns: i64| json!({"charge": charge, "time_ns": time_ns});
        let report = json!({
            "schema": "goodput.trace/1",
            "scope": {"rank_steps": 2},
            "overlap": {"hidden_ns": 40},
            "charges": [
                charge("gemm", 100), charge("norm", 20), charge("transfer", 30), charge("bubble", 10),
                charge("host_dispatch", 6), charge("host_data_loader", 4),
            ],
        });
        let step = Step::from_trace(&report).unwrap();
        assert_eq!(step.step_ns(), 85.0);
        assert_eq!((step.compute_ns, step.term_ns(Term::Memory)), (50.0, 10.0));
        assert_eq!((step.dispatch_ns, step.other_ns, step.hidden_communication_ns), (3.0, 2.0, 20.0));
        assert!(
            Step::from_trace(&json!({"schema": "goodput.account/1"}))
                .unwrap_err()
                .contains("goodput.trace/1")
        );
    }
}
