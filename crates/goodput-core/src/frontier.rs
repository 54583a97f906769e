//! The efficiency frontier: the options that no other beats in both time and cost.

/// One option: when it is done and what it costs, at equal output and quality.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Hours to the result, queue included.
    pub hours: f64,
    /// Money.
    pub cost: f64,
}

impl Choice {
    /// Whether this option is no worse in time and cost, and better in one.
    pub fn dominates(&self, other: &Self) -> bool {
        self.hours <= other.hours
            && self.cost <= other.cost
            && (self.hours < other.hours || self.cost < other.cost)
    }
}

/// Positions of the options that no other dominates.
pub fn frontier(choices: &[Choice]) -> Vec<usize> {
    (0..choices.len()).filter(|&i| !choices.iter().any(|other| other.dominates(&choices[i]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_equal_option_does_not_dominate() {
        let same = Choice { hours: 1.0, cost: 1.0 };
        assert_eq!(frontier(&[same, same, Choice { hours: 2.0, cost: 1.0 }]), [0, 1]);
    }
}
