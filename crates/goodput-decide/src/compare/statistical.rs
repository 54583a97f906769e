//! Statistical efficiency: what an example is worth to the model. It enters the gate, never the MPG.

use crate::contract::Contract;

/// Progress an example makes, after over before.
#[derive(Debug, Clone, PartialEq)]
pub struct StatisticalEfficiency {
    /// Examples that the result needs before, over after.
    pub ratio: f64,
    /// What it is taken from.
    pub from: &'static str,
}

impl StatisticalEfficiency {
    /// From steps to quality, else from the gradient noise scale; `None` unless both sides state one.
    pub(super) fn between(before: &Contract, after: &Contract) -> Option<Self> {
        let both = |key: &str| before.number(key).zip(after.number(key));
        let batches = both("workload.global_batch");
        if let Some((one, other)) = both("statistical_efficiency.steps_to_quality") {
            let (ratio, from) = match batches {
                Some((small, large)) => (one * small / (other * large), "steps to quality x global batch"),
                None => (one / other, "steps to quality"),
            };
            return Some(Self { ratio, from });
        }
        // Examples to a loss grow as 1 + B/B_noise (McCandlish et al., 2018, eq. 2.7 and 2.11).
        let (scales, (small, large)) = both("statistical_efficiency.gradient_noise_scale").zip(batches)?;
        let examples = |batch: f64, scale: f64| 1.0 + batch / scale;
        let ratio = examples(small, scales.0) / examples(large, scales.1);
        Some(Self { ratio, from: "gradient noise scale and global batch" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(yaml: &str) -> Contract {
        let mut contract = Contract::default();
        contract.state("c.yaml", yaml).unwrap();
        contract
    }

    #[test]
    fn a_larger_batch_needs_more_examples() {
        let of = |batch: u32| {
            side(&format!(
                "workload: {{global_batch: {batch}}}\nstatistical_efficiency: {{gradient_noise_scale: 1000}}"
            ))
        };
        let efficiency = StatisticalEfficiency::between(&of(1000), &of(3000)).unwrap();
        assert!((efficiency.ratio - 0.5).abs() < 1e-12);
        assert!(StatisticalEfficiency::between(&of(1000), &side("")).is_none());
        let steps = |n: u32| side(&format!("statistical_efficiency: {{steps_to_quality: {n}}}"));
        let efficiency = StatisticalEfficiency::between(&steps(1000), &steps(1250)).unwrap();
        assert!((efficiency.ratio - 0.8).abs() < 1e-12);
    }
}
