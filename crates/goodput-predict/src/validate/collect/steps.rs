//! The step time of a run from the history of a metric: the median of its steady steps.

/// A measured step.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredStep {
    /// Median over the steady steps: seconds, or a throughput, as its column says.
    pub value: f64,
    /// The column of RUNS.csv: `step_time_s`, `tokens_per_s`, `tokens_per_s_per_device` or `samples_per_s`.
    pub column: &'static str,
    /// Where it is from, for people: the metric's name, `timeline`, `trace`.
    pub from: String,
    /// Steady steps.
    pub steps: u64,
    /// Steps that were logged.
    pub of: u64,
    /// The first and the last steady step, where they are numbered.
    pub numbers: Option<(i64, i64)>,
    /// How far the steady steps lie apart, in the unit of `value`, each figure with its name: `p10` and `p90` of a metric.
    pub spread: Vec<(&'static str, f64)>,
}

/// Fewer steady steps than this say little of a run: the first ones compile, allocate and fill caches.
pub const LEAST_STEPS: u64 = 5;
/// Warm-up lasts until the first step at or under so many times the median, as in the accounting (docs/design.md).
const WARM: f64 = 1.05;

/// Why a history gives no step time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{steady} steady steps of {logged} logged, at least {LEAST_STEPS} are needed")]
pub struct TooFewSteps {
    /// Steady steps.
    pub steady: u64,
    /// Steps that were logged, those that are no positive number left out.
    pub logged: u64,
}

/// The median of the steady steps of `(step number, value)` in the order of logging. A step number that goes back begins
/// a new attempt, which warms up anew. `rate`: larger is faster.
pub(super) fn steady(history: &[(i64, f64)], rate: bool) -> Result<MeasuredStep, TooFewSteps> {
    let logged: Vec<(i64, f64)> =
        history.iter().copied().filter(|(_, value)| value.is_finite() && *value > 0.0).collect();
    let time = |value: f64| if rate { 1.0 / value } else { value };
    let mut times: Vec<f64> = logged.iter().map(|(_, value)| time(*value)).collect();
    times.sort_by(f64::total_cmp);
    let limit = percentile(&times, 0.5).unwrap_or(0.0) * WARM;
    let mut steady = Vec::with_capacity(logged.len());
    let (mut warm, mut last) = (false, i64::MIN);
    for (step, value) in &logged {
        warm = (warm && *step > last) || time(*value) <= limit;
        last = *step;
        if warm {
            steady.push((*step, *value));
        }
    }
    let (count, of) = (steady.len() as u64, logged.len() as u64);
    if count < LEAST_STEPS {
        return Err(TooFewSteps { steady: count, logged: of });
    }
    let mut values: Vec<f64> = steady.iter().map(|(_, value)| *value).collect();
    values.sort_by(f64::total_cmp);
    let numbers = steady.iter().map(|(step, _)| *step);
    Ok(MeasuredStep {
        value: percentile(&values, 0.5).unwrap_or(0.0),
        column: "",
        from: String::new(),
        steps: count,
        of,
        numbers: numbers.clone().min().zip(numbers.max()),
        spread: [("p10", 0.1), ("p90", 0.9)]
            .into_iter()
            .filter_map(|(name, share)| Some((name, percentile(&values, share)?)))
            .collect(),
    })
}

/// Linear between neighbours; none of no values.
fn percentile(ascending: &[f64], share: f64) -> Option<f64> {
    let place = share * ascending.len().checked_sub(1)? as f64;
    let (below, above) = (*ascending.get(place.floor() as usize)?, *ascending.get(place.ceil() as usize)?);
    Some(below + (place - place.floor()) * (above - below))
}

impl MeasuredStep {
    /// `median of 39 steady steps of 40 (1 to 39), p10 1.98, p90 2.02; perf/step_time_s`
    #[must_use]
    pub fn words(&self) -> String {
        let numbers = self.numbers.map(|(first, last)| format!(" ({first} to {last})")).unwrap_or_default();
        let spread: String = self.spread.iter().map(|(name, value)| format!(", {name} {value:.6}")).collect();
        format!("median of {} steady steps of {}{numbers}{spread}; {}", self.steps, self.of, self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_of_each_attempt_is_left_out() {
        let mut history: Vec<(i64, f64)> = vec![(0, 30.0), (1, 2.6)];
        history.extend((2..10).map(|step| (step, 2.0)));
        history.extend([(6, 9.0), (7, f64::NAN), (8, 2.1), (9, 3.0), (10, 2.0)]);
        let step = steady(&history, false).unwrap();
        // 8 of the first attempt, of the second those from 2.1 on: its 3.0 is no warm-up.
        assert_eq!((step.value, step.steps, step.of, step.numbers), (2.0, 11, 14, Some((2, 10))));
    }

    #[test]
    fn rates_are_judged_as_times() {
        let mut history: Vec<(i64, f64)> = vec![(0, 10.0)];
        history.extend((1..7).map(|step| (step, 100.0 + step as f64)));
        let step = steady(&history, true).unwrap();
        assert_eq!((step.value, step.steps), (103.5, 6));
    }

    #[test]
    fn few_steps_are_none() {
        assert_eq!(steady(&[(0, 1.0), (1, 1.0)], false), Err(TooFewSteps { steady: 2, logged: 2 }));
        assert_eq!(steady(&[(0, f64::INFINITY)], false), Err(TooFewSteps { steady: 0, logged: 0 }));
    }
}
