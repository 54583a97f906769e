//! Products of a layer's experts in one launch (grouped GEMM).

use super::gemm::Gemm;
use super::{KernelError, KernelTables};
use crate::{Basis, Estimate};

/// One product of several experts, each on its own tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExpertGemm {
    /// Experts on this device.
    pub experts: u64,
    /// The product of one: its `m` is the mean of the experts' tokens.
    pub each: Gemm,
}

/// What grouped kernels differ by from the model: the spread of measured ones about it (docs/kernels.md).
const DEVIATION: f64 = 0.15;

impl KernelTables {
    /// The time of a grouped product: the experts' products one after the other with one launch among them, and the
    /// sustained clock of all their work. Tiles of several experts fill the device's last wave together, which spares
    /// time where single products have few waves (A100: 20 % at 600 tokens an expert); grouped kernels are less
    /// tuned, which on B200 takes as much. Unequal loads of one device's experts change little, since tiles of one
    /// fill in for another's.
    ///
    /// # Errors
    /// As [`KernelTables::gemm`].
    pub fn expert_gemm(&self, gemm: &ExpertGemm) -> Result<Estimate, KernelError> {
        Ok(self.corrected_gemm(&gemm.each, gemm.experts, self.modelled_expert_gemm(gemm)?))
    }

    /// The same without the user's rows.
    pub(super) fn modelled_expert_gemm(&self, gemm: &ExpertGemm) -> Result<Estimate, KernelError> {
        if gemm.experts == 0 {
            return Ok(Estimate::NOTHING);
        }
        let together = self.modelled_gemms(&gemm.each, gemm.experts)?;
        if gemm.experts == 1 {
            return Ok(together);
        }
        Ok(Estimate {
            deviation: together.deviation.hypot(DEVIATION),
            basis: together.basis.max(Basis::Extrapolated),
            ..together
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use goodput_model::device::Catalogue;

    use super::*;

    #[test]
    fn one_expert_is_a_product_and_several_share_a_launch() {
        let h100 = KernelTables::new(Catalogue::built_in().find("H100 SXM5").unwrap());
        let each = Gemm::new(32, 256, 256);
        let time = |experts| h100.expert_gemm(&ExpertGemm { experts, each }).unwrap().ns;
        assert_eq!(time(0), 0.0);
        assert_eq!(time(1), h100.gemm(&each).unwrap().ns);
        assert!(time(16) < 16.0 * time(1));
        assert!(time(16) > time(8));
    }
}
