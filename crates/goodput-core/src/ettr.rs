//! Effective training time ratio, and Google's interval formula: published relatives of runtime goodput.
//!
//! ETTR divides by one job's wall clock, queue included, so it spans part of scheduling goodput;
//! an ETTR and a runtime goodput of the same job are not comparable.

use crate::range::{OutOfRange, non_negative, positive};

const SECONDS_PER_DAY: f64 = 86_400.0;

/// Measured ETTR (Kokolis et al., HPCA 2025): productive over queued, productive and unproductive time.
///
/// # Errors
/// [`OutOfRange`] for a negative time, or when all are zero.
pub fn measured_ettr(queue_s: f64, productive_s: f64, unproductive_s: f64) -> Result<f64, OutOfRange> {
    let wall_s = non_negative("queue_s", queue_s)?
        + non_negative("productive_s", productive_s)?
        + non_negative("unproductive_s", unproductive_s)?;
    Ok(productive_s / positive("wall time in seconds", wall_s)?)
}

/// What the expected ETTR of a large job depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EttrInputs {
    /// Nodes that the job holds.
    pub nodes: f64,
    /// Failures a node and day.
    pub failures_per_node_day: f64,
    /// Restart overhead of a failure in seconds.
    pub restart_s: f64,
    /// From one checkpoint to the next, in seconds.
    pub checkpoint_interval_s: f64,
    /// Time that one write halts training, in seconds.
    pub checkpoint_write_s: f64,
}

impl EttrInputs {
    /// Expected ETTR without queueing (Kokolis et al.): `(1 - N r (u0 + Δt/2)) / (1 + w/Δt)`. Stated
    /// by its authors within 5 % of simulation up to 8,000 GPUs. Not clamped: below zero the
    /// formula has left its range.
    ///
    /// # Errors
    /// [`OutOfRange`] names the input that has no meaning.
    pub fn expected_ettr(&self) -> Result<f64, OutOfRange> {
        let interval_s = positive("checkpoint_interval_s", self.checkpoint_interval_s)?;
        let lost_s = non_negative("restart_s", self.restart_s)? + interval_s / 2.0;
        let write_s = non_negative("checkpoint_write_s", self.checkpoint_write_s)?;
        Ok((1.0 - lost_s / self.mttf_s()?) / (1.0 + write_s / interval_s))
    }

    /// Mean time to failure of the whole job, in seconds: `1/(N r)`. Inverse scaling does not fit
    /// the small end of the published fleets.
    ///
    /// # Errors
    /// [`OutOfRange`] when nodes or rate are not positive.
    pub fn mttf_s(&self) -> Result<f64, OutOfRange> {
        let nodes = positive("nodes", self.nodes)?;
        let rate = positive("failures_per_node_day", self.failures_per_node_day)?;
        Ok(SECONDS_PER_DAY / (nodes * rate))
    }

    /// The interval that costs least, in seconds: `sqrt(2 w / (N r))`.
    ///
    /// # Errors
    /// As [`Self::mttf_s`].
    pub fn best_interval_s(&self) -> Result<f64, OutOfRange> {
        let write_s = non_negative("checkpoint_write_s", self.checkpoint_write_s)?;
        Ok((2.0 * write_s * self.mttf_s()?).sqrt())
    }
}

/// Google Cloud's interval form of runtime goodput: exactly one failure in a checkpoint interval,
/// `(interval - lost) / (interval + reschedule + resume)`. It is no estimator for a job in general.
///
/// # Errors
/// [`OutOfRange`] for a meaningless time, or when more is lost than an interval holds.
pub fn one_failure_interval_goodput(
    interval_s: f64,
    lost_s: f64,
    reschedule_s: f64,
    resume_s: f64,
) -> Result<f64, OutOfRange> {
    positive("interval_s", interval_s)?;
    if !(0.0..=interval_s).contains(&lost_s) {
        return Err(OutOfRange { name: "lost_s", value: lost_s, expected: "between zero and the interval" });
    }
    let around_s = non_negative("reschedule_s", reschedule_s)? + non_negative("resume_s", resume_s)?;
    Ok((interval_s - lost_s) / (interval_s + around_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Failures a node and day on Meta's research cluster 1 (Kokolis et al.).
    const RSC_1: f64 = 6.50e-3;

    fn sixteen_thousand_gpus(interval_min: f64) -> EttrInputs {
        EttrInputs {
            nodes: 2000.0,
            failures_per_node_day: RSC_1,
            restart_s: 300.0,
            checkpoint_interval_s: interval_min * 60.0,
            checkpoint_write_s: 0.0,
        }
    }

    #[test]
    fn published_ettr_anchors() {
        let hourly = sixteen_thousand_gpus(60.0).expected_ettr().unwrap();
        assert!((hourly - 0.684).abs() < 5e-4, "{hourly}");
        assert_eq!((hourly * 10.0).round(), 7.0);
        let five_minutes = sixteen_thousand_gpus(5.0).expected_ettr().unwrap();
        assert!((five_minutes - 0.932).abs() < 5e-4, "{five_minutes}");
        assert_eq!((five_minutes * 100.0).round(), 93.0);
    }

    #[test]
    fn published_mttf_anchors() {
        for (nodes, hours) in [(2048.0, 1.803), (16_384.0, 0.225)] {
            let inputs = EttrInputs { nodes, ..sixteen_thousand_gpus(60.0) };
            let mttf_h = inputs.mttf_s().unwrap() / 3600.0;
            assert!((mttf_h - hours).abs() < 5e-4, "{mttf_h}");
        }
    }

    #[test]
    fn the_best_interval_is_best() {
        let inputs = EttrInputs { checkpoint_write_s: 20.0, ..sixteen_thousand_gpus(60.0) };
        let at =
            |interval_s| EttrInputs { checkpoint_interval_s: interval_s, ..inputs }.expected_ettr().unwrap();
        let best_s = inputs.best_interval_s().unwrap();
        // The ratio form is not the sum form, so its optimum lies close to the closed form, not on it.
        assert!(at(best_s) > at(best_s * 0.7) && at(best_s) > at(best_s * 1.4));
    }

    #[test]
    fn queueing_lowers_a_measured_ettr() {
        assert_eq!(measured_ettr(0.0, 9.0, 1.0).unwrap(), 0.9);
        assert_eq!(measured_ettr(10.0, 9.0, 1.0).unwrap(), 0.45);
        assert!(measured_ettr(0.0, 0.0, 0.0).is_err());
    }

    #[test]
    fn one_failure_an_interval() {
        assert_eq!(one_failure_interval_goodput(3600.0, 1800.0, 300.0, 100.0).unwrap(), 0.45);
        assert!(one_failure_interval_goodput(3600.0, 3601.0, 0.0, 0.0).is_err());
    }
}
