//! Reading a serving scenario and refusing one that cannot be simulated.

use super::Scenario;
use crate::ScenarioError;
use crate::scenario::require;

/// Lines of one log: more would fill the memory.
const MOST_LINES: f64 = 20e6;

impl Scenario {
    /// Reads a scenario from YAML and checks it; a field that is left out has its default.
    ///
    /// ```
    /// use goodput_simulate::serving::Scenario;
    /// let scenario = Scenario::from_yaml("{replicas: 40, days: 2, eager: false}")?;
    /// assert_eq!((scenario.replicas, scenario.warm_pool), (40, 1));
    /// # Ok::<(), goodput_simulate::ScenarioError>(())
    /// ```
    ///
    /// # Errors
    /// [`ScenarioError`] names the line (syntax, unknown fields) or the field (values).
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
        for (field, value) in [("days", self.days), ("replicas", self.replicas), ("sample_s", self.sample_s)]
        {
            require(value > 0, field, "must be at least 1")?;
        }
        for (field, mean) in [
            ("failure_h", self.failure_h),
            ("update_h", self.update_h),
            ("weight_load_s", self.weight_load_s),
            ("compile_s", self.compile_s),
            ("warm_up_s", self.warm_up_s),
            ("drain_s", self.drain_s),
        ] {
            // Ten years: beyond them nanoseconds of a sum would not fit.
            let longest = if field.ends_with("_h") { 87_600.0 } else { 3.2e8 };
            let problem = format!("must be more than zero and at most {longest}");
            require(mean > 0.0 && mean <= longest, field, problem)?;
        }
        require((0.0..=1.0).contains(&self.peak_load), "peak_load", "must be a share from 0 to 1")?;
        for (field, amount) in [
            ("weight_bytes", self.weight_bytes),
            ("flops_per_token", self.flops_per_token),
            ("bytes_per_second", self.bytes_per_second),
            ("flops_per_second", self.flops_per_second),
        ] {
            require(amount > 0, field, "must be more than zero")?;
        }
        let days = f64::from(self.days);
        let lives = f64::from(self.replicas) + f64::from(self.warm_pool) + f64::from(self.burst_replicas);
        let lines = 2.0 * f64::from(self.replicas) * days * 86_400.0 / f64::from(self.sample_s)
            + 10.0 * lives * days * (1.0 + 24.0 / self.failure_h + 24.0 / self.update_h);
        require(
            lines <= MOST_LINES,
            "sample_s",
            "gives too many lines: make it longer, or days or replicas fewer",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_simulated_is_refused_by_its_field() {
        for (yaml, field) in [
            ("days: 0", "days"),
            ("replicas: 0", "replicas"),
            ("failure_h: 0", "failure_h"),
            ("update_h: .nan", "update_h"),
            ("drain_s: -3", "drain_s"),
            ("compile_s: .inf", "compile_s"),
            ("peak_load: 1.2", "peak_load"),
            ("weight_bytes: 0", "weight_bytes"),
            ("{sample_s: 1, replicas: 1000}", "sample_s"),
        ] {
            let error = Scenario::from_yaml(yaml).unwrap_err();
            assert!(matches!(&error, ScenarioError::Field { field: named, .. } if named == field), "{error}");
        }
        let unknown = Scenario::from_yaml("replica: 4").unwrap_err().to_string();
        assert!(unknown.contains("replica"), "{unknown}");
        assert!(Scenario::default().check().is_ok());
    }
}
