//! The conditions that a contract may hold.

use std::collections::BTreeMap;

/// One condition of a contract.
#[derive(Debug, PartialEq, Eq)]
pub struct Condition {
    /// Section and name, as in the YAML file: `workload.model`.
    pub key: &'static str,
    /// In words.
    pub label: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// What a difference in it touches.
    pub touches: Touches,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Words.
    Text,
    /// Words, or a table of names and versions.
    Versions,
    /// A number above zero.
    Positive,
    /// Any finite number.
    Number,
    /// `true` or `false`.
    Flag,
    /// `at_least` or `at_most`.
    Direction,
}

/// What a difference in a condition leaves unattributable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touches {
    /// The work itself: figures are of different work.
    Work,
    /// The system: a hardware or software change may have made the difference.
    System,
    /// Who gets the devices: the pool decides.
    Policy,
    /// What is timed, and how.
    Timing,
    /// How the figure was taken.
    Statistics,
    /// An outcome, which is judged and not held fixed.
    Outcome,
}

const fn of(key: &'static str, label: &'static str, kind: Kind, touches: Touches) -> Condition {
    Condition { key, label, kind, touches }
}

/// Every condition, in the order of the contract.
pub const CONDITIONS: &[Condition] = &[
    of("workload.model", "model", Kind::Text, Touches::Work),
    of("workload.revision", "model revision", Kind::Text, Touches::Work),
    of("workload.input_distribution", "input distribution", Kind::Text, Touches::Work),
    of("workload.length_distribution", "length distribution", Kind::Text, Touches::Work),
    of("workload.sequence_tokens", "sequence length in tokens", Kind::Positive, Touches::Work),
    of("workload.global_batch", "global batch", Kind::Positive, Touches::Work),
    of("workload.concurrency", "concurrency", Kind::Positive, Touches::Work),
    of("quality.metric", "quality metric", Kind::Text, Touches::Work),
    of("quality.target", "quality target", Kind::Number, Touches::Work),
    of("quality.direction", "direction of the quality target", Kind::Direction, Touches::Work),
    of("quality.reached", "quality reached", Kind::Number, Touches::Outcome),
    of("quality.passed", "quality gate", Kind::Flag, Touches::Outcome),
    of(
        "statistical_efficiency.gradient_noise_scale",
        "gradient noise scale",
        Kind::Positive,
        Touches::Outcome,
    ),
    of("statistical_efficiency.steps_to_quality", "steps to quality", Kind::Positive, Touches::Outcome),
    of("system.devices", "devices", Kind::Positive, Touches::System),
    of("system.device_types", "device types", Kind::Text, Touches::System),
    of("system.ideal", "ideal", Kind::Text, Touches::System),
    of("system.topology", "topology", Kind::Text, Touches::System),
    of("system.clocks", "clocks", Kind::Text, Touches::System),
    of("system.power_limit", "power limit", Kind::Text, Touches::System),
    of("system.software", "software", Kind::Versions, Touches::System),
    of("system.driver", "driver", Kind::Text, Touches::System),
    of("system.compiler", "compiler", Kind::Text, Touches::System),
    of("system.precision", "precision", Kind::Text, Touches::System),
    of("system.pool", "pool", Kind::Text, Touches::Policy),
    of("system.scheduler_policy", "scheduler policy", Kind::Text, Touches::Policy),
    of("timing.held", "held time", Kind::Text, Touches::Timing),
    of("timing.productive", "productive time", Kind::Text, Touches::Timing),
    of("timing.warm_up", "warm-up", Kind::Text, Touches::Timing),
    of("timing.device_synchronisation", "device synchronisation", Kind::Text, Touches::Timing),
    of("timing.cold_start", "cold start", Kind::Text, Touches::Timing),
    of("timing.stamp_resolution_ns", "resolution of stamps in ns", Kind::Positive, Touches::Timing),
    of("statistics.denominator", "denominator", Kind::Text, Touches::Statistics),
    of("statistics.trials", "trials", Kind::Positive, Touches::Statistics),
    of("statistics.mtbf_hours", "mean time between failures in hours", Kind::Positive, Touches::Outcome),
];

/// A condition by its key.
#[must_use]
pub fn condition(key: &str) -> Option<&'static Condition> {
    CONDITIONS.iter().find(|of| of.key == key)
}

impl Condition {
    /// Whether two values are the same: numbers by value, words but for their case.
    #[must_use]
    pub fn agree(&self, one: &str, other: &str) -> bool {
        match (self.kind, one.parse::<f64>(), other.parse::<f64>()) {
            (Kind::Positive | Kind::Number, Ok(one), Ok(other)) => one == other,
            _ => one.trim().eq_ignore_ascii_case(other.trim()),
        }
    }

    /// What two sources say together; `None` where they contradict each other. Versions of different software add up.
    pub(super) fn together(&self, recorded: &str, stated: &str) -> Option<String> {
        if self.agree(recorded, stated) {
            return Some(recorded.to_owned());
        }
        if self.kind != Kind::Versions {
            return None;
        }
        let mut versions: BTreeMap<&str, &str> = BTreeMap::new();
        for entry in recorded.split(", ").chain(stated.split(", ")) {
            let (name, version) = entry.rsplit_once(' ').unwrap_or((entry, ""));
            if versions.insert(name, version).is_some_and(|other| other != version) {
                return None;
            }
        }
        let entry = |(name, version): (&&str, &&str)| format!("{name} {version}").trim_end().to_owned();
        Some(versions.iter().map(entry).collect::<Vec<_>>().join(", "))
    }

    /// What a comparison across a difference in this condition cannot say.
    #[must_use]
    pub fn not_attributable(&self) -> String {
        let label = self.label;
        match self.touches {
            Touches::Work => {
                format!("the two did different work ({label}): a ratio may be the work's, not the change's")
            }
            Touches::System => {
                format!("what the {label} did is inside the ratio and cannot be told from the change")
            }
            Touches::Policy => format!(
                "the {label} moves capacity between jobs: what other jobs gained or lost shows only on the pool"
            ),
            Touches::Timing => {
                format!("the {label} begins or ends elsewhere: time may have moved between factors")
            }
            Touches::Statistics => format!("the figures are taken differently ({label})"),
            Touches::Outcome => format!("the {label} is an outcome"),
        }
    }
}
