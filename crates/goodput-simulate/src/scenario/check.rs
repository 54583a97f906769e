//! Reading a scenario and refusing one that cannot be simulated.

use std::collections::BTreeSet;

use super::{Ending, JobClass, Pool, Program, Scenario, Span, StandingReservation};

/// A scenario that cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// The text is no scenario; the message names line, column and field.
    #[error("{0}")]
    Yaml(String),
    /// A field has a value that makes no sense.
    #[error("{field}: {problem}")]
    Field {
        /// Path of the field, such as `jobs[2].nodes`.
        field: String,
        /// What is wrong, and what to write.
        problem: String,
    },
}

/// Lines of one log, snapshots of nodes, or submissions of one class: more would fill the memory.
const MOST_RECORDS: f64 = 20e6;

pub(crate) fn require(
    holds: bool,
    field: impl Into<String>,
    problem: impl Into<String>,
) -> Result<(), ScenarioError> {
    if holds { Ok(()) } else { Err(ScenarioError::Field { field: field.into(), problem: problem.into() }) }
}

impl Scenario {
    /// Reads a scenario from YAML and checks it.
    ///
    /// # Errors
    /// [`ScenarioError`] names the line (syntax, unknown or missing fields) or the field (values).
    pub fn from_yaml(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = serde_saphyr::from_str(text).map_err(|e| ScenarioError::Yaml(e.to_string()))?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Checks the values.
    ///
    /// # Errors
    /// [`ScenarioError::Field`] names the first field whose value makes no sense.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let whole_seconds = |span: Span| span.as_millis() % 1_000 == 0;
        require(
            self.start.subsec_nanosecond() == 0 && self.start.as_second() > 0,
            "start",
            "must lie on a whole second after 1970",
        )?;
        require(
            self.duration > Span::ZERO && whole_seconds(self.duration),
            "duration",
            "must be whole seconds, more than zero",
        )?;
        require(
            self.snapshot_every.as_millis() >= 10_000 && whole_seconds(self.snapshot_every),
            "snapshot_every",
            "must be whole seconds, at least 10s",
        )?;
        require(!self.pools.is_empty(), "pools", "needs at least one pool")?;
        require(!self.jobs.is_empty(), "jobs", "needs at least one class of jobs")?;
        let mut names = BTreeSet::new();
        for (i, pool) in self.pools.iter().enumerate() {
            require(names.insert(&pool.name), format!("pools[{i}].name"), "is used twice")?;
            pool.check(&format!("pools[{i}]"))?;
        }
        let nodes: f64 = self.pools.iter().map(|p| f64::from(p.nodes)).sum();
        require(
            nodes * self.times(self.snapshot_every) <= MOST_RECORDS,
            "snapshot_every",
            "gives too many snapshots of too many nodes: make it longer",
        )?;
        for (i, outage) in self.outages.iter().enumerate() {
            self.check_nodes(&format!("outages[{i}]"), &outage.pool, &outage.nodes)?;
        }
        for (i, reservation) in self.reservations.iter().enumerate() {
            self.check_nodes(&format!("reservations[{i}]"), &reservation.pool, &reservation.nodes)?;
            let twice = self.reservations[..i].iter().any(|other| reservation.overlaps(other));
            require(!twice, format!("reservations[{i}].nodes"), "are granted twice at the same time")?;
        }
        for (i, class) in self.jobs.iter().enumerate() {
            self.check_class(&format!("jobs[{i}]"), class)?;
        }
        Ok(())
    }

    /// How often `every` passes in the simulation.
    fn times(&self, every: Span) -> f64 {
        self.duration.as_millis() as f64 / every.as_millis().max(1) as f64
    }

    fn check_nodes(&self, field: &str, pool: &str, nodes: &[u32]) -> Result<(), ScenarioError> {
        let size = self.pools.iter().find(|p| p.name == pool).map_or(0, |p| p.nodes);
        require(size > 0, format!("{field}.pool"), format!("there is no pool `{pool}`"))?;
        require(
            !nodes.is_empty() && nodes.iter().all(|n| (1..=size).contains(n)),
            format!("{field}.nodes"),
            format!("must name nodes by position, 1 to {size}"),
        )
    }

    fn check_class(&self, field: &str, class: &JobClass) -> Result<(), ScenarioError> {
        let Some(pool) = self.pool_of(class).map(|i| &self.pools[i]) else {
            let name = class.pool.as_deref().unwrap_or_default();
            return require(false, format!("{field}.pool"), format!("there is no pool `{name}`"));
        };
        require(
            (1..=pool.nodes).contains(&class.nodes),
            format!("{field}.nodes"),
            format!("must be 1 to {}, the nodes of pool `{}`", pool.nodes, pool.name),
        )?;
        if let Some(devices) = class.devices_per_node {
            require(
                (1..=pool.devices_per_node).contains(&devices),
                format!("{field}.devices_per_node"),
                format!("must be 1 to {}, the devices of a node", pool.devices_per_node),
            )?;
            require(
                devices == pool.devices_per_node || class.nodes == 1,
                format!("{field}.devices_per_node"),
                "a gang of several nodes takes whole nodes",
            )?;
        }
        let day = Span::from_millis(86_400_000);
        require(
            class.per_day >= 0.0 && class.per_day * self.times(day) <= MOST_RECORDS,
            format!("{field}.per_day"),
            "must be zero or more, and at most some millions in all",
        )?;
        require(
            class.hours.is_none_or(|(from, until)| from < until && until <= day),
            format!("{field}.hours"),
            "must lie within one day, such as [8h, 17h]",
        )?;
        if let Some(name) = &class.reservation {
            require(
                self.reservations.iter().any(|r| r.name == *name && r.pool == pool.name),
                format!("{field}.reservation"),
                format!("pool `{}` has no reservation `{name}`", pool.name),
            )?;
        }
        class.program.check(&format!("{field}.program"))?;
        let line = Span::from_millis(class.program.line_millis());
        require(
            self.times(line) <= MOST_RECORDS,
            format!("{field}.program.steps_per_line"),
            "gives too many lines: let one line cover more steps",
        )?;
        if let (Some(flops), Some(peak)) = (class.program.model_flops_per_step, pool.peak_tflops) {
            let devices =
                f64::from(class.nodes) * f64::from(class.devices_per_node.unwrap_or(pool.devices_per_node));
            let most = peak * 1e12 * devices * class.program.step.as_millis() as f64 / 1e3;
            require(
                flops <= most,
                format!("{field}.program.model_flops_per_step"),
                format!("needs more than the devices' peak: at most {most:e} in one step"),
            )?;
        }
        Ok(())
    }

    /// Position of the pool that a class runs in.
    pub(crate) fn pool_of(&self, class: &JobClass) -> Option<usize> {
        match &class.pool {
            None => (!self.pools.is_empty()).then_some(0),
            Some(name) => self.pools.iter().position(|p| p.name == *name),
        }
    }
}

impl StandingReservation {
    fn overlaps(&self, other: &Self) -> bool {
        let end = |r: &Self| r.at.as_millis() + r.lasts.as_millis();
        self.pool == other.pool
            && self.at.as_millis() < end(other)
            && other.at.as_millis() < end(self)
            && self.nodes.iter().any(|node| other.nodes.contains(node))
    }
}

impl Pool {
    fn check(&self, field: &str) -> Result<(), ScenarioError> {
        let name_is_plain = !self.name.is_empty()
            && self.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !self.name.ends_with(|c: char| c.is_ascii_digit());
        require(
            name_is_plain,
            format!("{field}.name"),
            "must be letters, digits and `_`, not ending in a digit",
        )?;
        require((1..=99_999).contains(&self.nodes), format!("{field}.nodes"), "must be 1 to 99999")?;
        require(
            (1..=1_024).contains(&self.devices_per_node),
            format!("{field}.devices_per_node"),
            "must be 1 to 1024",
        )?;
        require(
            self.peak_tflops.is_none_or(|p| p.is_finite() && p > 0.0),
            format!("{field}.peak_tflops"),
            "must be more than zero",
        )?;
        require(
            (0.0..=100.0).contains(&self.failures_per_node_day),
            format!("{field}.failures_per_node_day"),
            "must be 0 to 100",
        )?;
        require(self.repair > Span::ZERO, format!("{field}.repair"), "must be more than zero")
    }
}

impl Program {
    /// Fault-free time of one line of the log, in milliseconds.
    pub(crate) fn line_millis(&self) -> i64 {
        self.step.as_millis().saturating_mul(i64::from(self.steps_per_line))
    }

    fn check(&self, field: &str) -> Result<(), ScenarioError> {
        let share = |value: f64, name: &str| {
            require((0.0..=1.0).contains(&value), format!("{field}.{name}"), "must be a share, 0 to 1")
        };
        let line = u64::from(self.steps_per_line);
        require(self.steps > 0, format!("{field}.steps"), "must be more than zero")?;
        require(self.step > Span::ZERO, format!("{field}.step"), "must be more than zero")?;
        require(line > 0, format!("{field}.steps_per_line"), "must be more than zero")?;
        require(
            self.line_millis() <= Span::LONGEST.as_millis(),
            format!("{field}.steps_per_line"),
            "must give lines of less than ten years",
        )?;
        require(
            (0.0..=0.04).contains(&self.jitter),
            format!("{field}.jitter"),
            "must be 0 to 0.04: above it a step could not be told from warm-up",
        )?;
        require(
            self.warm_up_excess > 0.1 && self.warm_up_excess <= 1_000.0,
            format!("{field}.warm_up_excess"),
            "must be more than 0.1, below which a warm-up step could not be told from others, and at most 1000",
        )?;
        share(self.steps_spread, "steps_spread")?;
        if let Some(wait) = &self.input_wait {
            share(wait.share, "input_wait.share")?;
        }
        if let Some(checkpoint) = &self.checkpoint {
            require(
                checkpoint.every_steps > 0 && checkpoint.every_steps.is_multiple_of(line),
                format!("{field}.checkpoint.every_steps"),
                format!("must be a multiple of steps_per_line, {line}"),
            )?;
        }
        if let Some(evaluation) = &self.evaluation {
            require(
                evaluation.every_steps > 0 && evaluation.every_steps.is_multiple_of(line),
                format!("{field}.evaluation.every_steps"),
                format!("must be a multiple of steps_per_line, {line}"),
            )?;
        }
        if let Some(faults) = &self.faults {
            require(
                (0.0..=10.0).contains(&faults.per_node_hour),
                format!("{field}.faults.per_node_hour"),
                "must be 0 to 10",
            )?;
        }
        if let Some(straggler) = &self.straggler {
            require(
                straggler.lasts.as_millis() <= straggler.after.as_millis() / 3
                    && straggler.slowdown > 0.0
                    && straggler.slowdown <= 1_000.0,
                format!("{field}.straggler"),
                "must slow steps down, at most 1000 times, for at most a third of the time before it",
            )?;
        }
        match self.ending {
            Ending::Finished => {}
            Ending::Failing { share: failing } => share(failing, "ending.share")?,
            Ending::Hang { lasts, .. } | Ending::Zombie { lasts } => require(
                lasts > Span::from_millis(600_000),
                format!("{field}.ending.lasts"),
                "must be more than 10min: a shorter one could not be told from a normal end",
            )?,
        }
        require(
            self.model_flops_per_step.is_none_or(|f| f.is_finite() && (1.0..1e30).contains(&f)),
            format!("{field}.model_flops_per_step"),
            "must be a number of FLOPs, 1 to 1e30",
        )
    }
}
