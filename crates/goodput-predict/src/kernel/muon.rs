//! Muon: the momentum of a weight matrix made orthogonal by products.

use super::attention::Direction;
use super::gemm::Gemm;
use super::operation::{Fusion, Operation};
use super::{Access, KernelError, KernelTables, Traffic};
use crate::Estimate;

/// Newton-Schulz iterations of the published optimizer.
const ITERATIONS: f64 = 5.0;

impl KernelTables {
    /// The time of one update of a rows x columns matrix on this device: momentum and weights in fp32, then five
    /// iterations in bf16, X <- a X + (b A + c A A) X with A = X X^T, on the matrix laid with its short side as rows.
    ///
    /// # Errors
    /// As [`KernelTables::gemm`].
    pub fn muon_update(&self, rows: u64, columns: u64) -> Result<Estimate, KernelError> {
        let (short, long) = (rows.min(columns), rows.max(columns));
        let gram = self.gemm(&Gemm::new(short, short, long))?;
        let square = self.gemm(&Gemm::new(short, short, short))?;
        let apply = self.gemm(&Gemm::new(short, long, short))?;
        let sums =
            [short * short, short * long].map(|values| Traffic::new(6.0 * values as f64, Access::Stream));
        let iteration = gram.and(square).and(apply).and(self.memory_bound(&sums)?);
        let momentum = Operation::Momentum { parameters: rows * columns };
        // The norm that X is divided by first.
        let norm = [Traffic::new(2.0 * (rows * columns) as f64, Access::Stream)];
        let elementwise = [momentum.kernels(Direction::Forward, Fusion::Fused).as_slice(), &norm].concat();
        Ok(self.memory_bound(&elementwise)?.and(iteration.times(ITERATIONS)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use goodput_model::device::Catalogue;

    use super::*;

    #[test]
    fn its_products_rule_and_orientation_does_not_matter() {
        let h100 = KernelTables::new(Catalogue::built_in().find("H100 SXM5").unwrap());
        let update = h100.muon_update(4096, 11_008).unwrap();
        assert_eq!(update, h100.muon_update(11_008, 4096).unwrap());
        let flops = 5.0 * 2.0 * 4096.0 * 4096.0 * (2.0 * 11_008.0 + 4096.0);
        assert!(update.ns > flops / 989.4e12 * 1e9 && update.ns < 2.5 * flops / 989.4e12 * 1e9, "{update:?}");
    }
}
