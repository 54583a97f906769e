//! Kernels that the user measured on the device: they correct what the shipped tables say near their shapes.

use std::sync::Arc;

use super::attention::{Attention, AttentionKernel, Direction, Mask};
use super::gemm::{Accumulator, Gemm, Pass};
use super::memory_kind::MemoryKind;
use super::moe::ExpertGemm;
use super::operation::{Fusion, Operation};
use super::power::Power;
use super::settings::Settings;
use super::surface::{Reading, Surface, SurfaceBuilder};
use super::{Format, KernelError, KernelTables};
use crate::{Basis, Estimate};

/// One measured product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UserRow {
    /// What was measured.
    pub gemm: Gemm,
    /// Nanoseconds of one call, in the state of the clock that the tables are asked for.
    pub ns: f64,
}

/// A kernel whose time can be measured and corrected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kernel {
    /// Products of one layer; `experts` 1 is a plain product.
    Gemm(ExpertGemm),
    /// Attention of all heads.
    Attention(Attention, Direction, AttentionKernel),
    /// What the bytes it moves bound.
    Operation(Operation, Direction, Fusion),
}

impl Kernel {
    /// FLOPs; 0 where bytes bound it.
    #[must_use]
    pub fn flops(&self) -> f64 {
        match self {
            Self::Gemm(gemm) => gemm.experts as f64 * gemm.each.flops(),
            Self::Attention(attention, direction, _) => attention.flops(*direction),
            Self::Operation(..) => 0.0,
        }
    }

    /// In what arithmetic.
    #[must_use]
    pub const fn format(&self) -> Format {
        match self {
            Self::Gemm(gemm) => gemm.each.format,
            Self::Attention(attention, ..) => attention.format,
            Self::Operation(..) => Format::Bf16,
        }
    }
}

/// A kernel's time in one state of the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelRow {
    /// What was measured.
    pub kernel: Kernel,
    /// At what clock.
    pub power: Power,
    /// Nanoseconds of one call.
    pub ns: f64,
}

type GemmKey = (Format, Pass, Accumulator, u64);
type AttentionKey = (AttentionKernel, Direction, Mask, bool, u64, u64);
type OperationKey = (MemoryKind, Direction, Fusion);

/// How far measured kernels are from the model, by shape.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct UserRows {
    gemms: Surface<GemmKey>,
    attention: Surface<AttentionKey>,
    operations: Surface<OperationKey>,
    /// Relative standard deviation of a corrected time.
    deviation: f64,
}

/// Where a row stands: its key's coordinates, the last of which is the line's.
fn gemm_place(gemm: &Gemm) -> ([f64; 2], f64) {
    ([log2(gemm.n), log2(gemm.k)], log2(gemm.m))
}

fn attention_place(attention: &Attention) -> ([f64; 2], f64) {
    let keys = log2(attention.keys);
    ([log2(attention.batch * attention.heads), log2(attention.queries) - keys], keys)
}

fn attention_key(attention: &Attention, direction: Direction, kernel: AttentionKernel) -> AttentionKey {
    let is_quantised = attention.format.is_quantised();
    (kernel, direction, attention.mask, is_quantised, attention.head_dim, attention.value_dim)
}

fn log2(length: u64) -> f64 {
    (length.max(1) as f64).log2()
}

impl UserRows {
    /// Rows against the model of `tables`, which must carry no rows yet. Where a shape was measured in both states of the
    /// clock, the sustained time counts.
    pub(crate) fn new(tables: &KernelTables, rows: &[KernelRow], noise: f64) -> Result<Self, KernelError> {
        let burst = tables.clone().at(Power::Burst);
        let mut gemms = SurfaceBuilder::default();
        let mut attention = SurfaceBuilder::default();
        let mut operations = SurfaceBuilder::default();
        for power in [Power::Burst, Power::Sustained] {
            let model = if power == Power::Burst { &burst } else { tables };
            for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.power == power) {
                let log_ratio = (row.ns / model.modelled(&row.kernel)?.ns).ln();
                if !log_ratio.is_finite() {
                    return Err(KernelError::BadRow { index, ns: row.ns });
                }
                match &row.kernel {
                    Kernel::Gemm(ExpertGemm { experts, each }) => {
                        let (at, x) = gemm_place(each);
                        gemms.add((each.format, each.pass, accumulator(each), *experts), at, x, log_ratio);
                    }
                    Kernel::Attention(of, direction, kernel) => {
                        let (at, x) = attention_place(of);
                        attention.add(attention_key(of, *direction, *kernel), at, x, log_ratio);
                    }
                    Kernel::Operation(operation, direction, fusion) => {
                        if let Some((kind, values)) = MemoryKind::of(operation) {
                            operations.add((kind, *direction, *fusion), [0.0; 2], log2(values), log_ratio);
                        }
                    }
                }
            }
        }
        Ok(Self {
            gemms: gemms.finish(),
            attention: attention.finish(),
            operations: operations.finish(),
            deviation: Settings::built_in().deviation.user_row.max(noise),
        })
    }

    /// The own rows, or those that come closest where they say more: the other 16-bit format runs on the same units, and the
    /// model knows what adding to a buffer takes.
    fn gemm(&self, gemm: &Gemm, experts: u64) -> Reading {
        let (at, x) = gemm_place(gemm);
        let formats = match gemm.format {
            Format::Bf16 => [Format::Bf16, Format::Fp16],
            Format::Fp16 => [Format::Fp16, Format::Bf16],
            other => [other; 2],
        };
        let accumulators = [accumulator(gemm), Accumulator::None];
        let mut best = Reading::default();
        for format in &formats[..if formats[0] == formats[1] { 1 } else { 2 }] {
            for accumulator in &accumulators[..if accumulators[0] == Accumulator::None { 1 } else { 2 }] {
                let reading = self.gemms.read(&(*format, gemm.pass, *accumulator, experts), at, x);
                if reading.share > best.share {
                    best = reading;
                }
                if best.share >= 1.0 {
                    return best;
                }
            }
        }
        best
    }

    fn apply(&self, reading: Reading, modelled: Estimate) -> Estimate {
        let Reading { share, log_ratio } = reading;
        if share == 0.0 || modelled.ns == 0.0 {
            return modelled;
        }
        Estimate {
            ns: modelled.ns * (share * log_ratio).exp(),
            deviation: share * self.deviation + (1.0 - share) * modelled.deviation,
            basis: if share > 0.5 { Basis::UserTable } else { modelled.basis },
        }
    }
}

/// Only weight gradients are added to something.
fn accumulator(gemm: &Gemm) -> Accumulator {
    if gemm.pass == Pass::WeightGradient { gemm.accumulator } else { Accumulator::None }
}

impl KernelTables {
    /// These tables, corrected by products that the user measured on the device.
    ///
    /// # Errors
    /// [`KernelError::BadRow`] for a time that is not positive or a shape with a zero, and [`KernelError`] as
    /// [`KernelTables::gemm`].
    pub fn with_user_rows(self, rows: &[UserRow]) -> Result<Self, KernelError> {
        let power = if self.sustained.is_some() { Power::Sustained } else { Power::Burst };
        let row = |row: &UserRow| {
            let kernel = Kernel::Gemm(ExpertGemm { experts: 1, each: row.gemm });
            KernelRow { kernel, power, ns: row.ns }
        };
        let rows: Vec<_> = rows.iter().map(row).collect();
        let user = Arc::new(UserRows::new(&Self { user: None, ..self.clone() }, &rows, 0.0)?);
        Ok(self.with_rows(user))
    }

    pub(crate) fn with_rows(self, user: Arc<UserRows>) -> Self {
        Self { user: Some(user), ..self }
    }

    /// The time without the user's rows.
    pub(crate) fn modelled(&self, kernel: &Kernel) -> Result<Estimate, KernelError> {
        match kernel {
            Kernel::Gemm(gemm) => self.modelled_expert_gemm(gemm),
            Kernel::Attention(attention, direction, kernel) => {
                self.modelled_attention(attention, *direction, *kernel)
            }
            Kernel::Operation(operation, direction, fusion) => {
                self.memory_bound(&operation.kernels(*direction, *fusion))
            }
        }
    }

    pub(super) fn corrected_gemm(&self, gemm: &Gemm, experts: u64, modelled: Estimate) -> Estimate {
        match &self.user {
            Some(user) => user.apply(user.gemm(gemm, experts), modelled),
            None => modelled,
        }
    }

    pub(super) fn corrected_attention(
        &self,
        attention: &Attention,
        direction: Direction,
        kernel: AttentionKernel,
        modelled: Estimate,
    ) -> Estimate {
        let Some(user) = &self.user else { return modelled };
        let (at, x) = attention_place(attention);
        user.apply(user.attention.read(&attention_key(attention, direction, kernel), at, x), modelled)
    }

    /// The time of an operation in one direction.
    ///
    /// # Errors
    /// As [`KernelTables::memory_bound`].
    pub fn operation(
        &self,
        operation: &Operation,
        direction: Direction,
        fusion: Fusion,
    ) -> Result<Estimate, KernelError> {
        let modelled = self.memory_bound(&operation.kernels(direction, fusion))?;
        let Some((user, (kind, values))) = self.user.as_ref().zip(MemoryKind::of(operation)) else {
            return Ok(modelled);
        };
        Ok(user.apply(user.operations.read(&(kind, direction, fusion), [0.0; 2], log2(values)), modelled))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use goodput_model::device::Catalogue;

    use super::*;

    fn h100() -> KernelTables {
        KernelTables::new(Catalogue::built_in().find("H100 SXM5").unwrap())
    }

    #[test]
    fn a_row_rules_at_its_shape_and_fades_to_the_model_an_octave_away() {
        let gemm = Gemm::new(4096, 4096, 4096);
        let model = h100().gemm(&gemm).unwrap().ns;
        let tables = h100().with_user_rows(&[UserRow { gemm, ns: model * 1.5 }]).unwrap();
        let ratio = |gemm: &Gemm| tables.gemm(gemm).unwrap().ns / h100().gemm(gemm).unwrap().ns;
        assert!((ratio(&gemm) - 1.5).abs() < 1e-6);
        assert_eq!(tables.gemm(&gemm).unwrap().basis, Basis::UserTable);
        let near = ratio(&Gemm::new(4608, 4096, 4096));
        assert!(near > 1.2 && near < 1.5, "{near}");
        assert_eq!(ratio(&Gemm::new(8192, 4096, 4096)), 1.0);
        // Another pass and another format are other products.
        assert_eq!(ratio(&gemm.pass(Pass::WeightGradient)), 1.0);
        assert_eq!(ratio(&gemm.format(Format::Fp8)), 1.0);
        // fp16 runs on the units of bf16.
        assert!((ratio(&gemm.format(Format::Fp16)) - 1.5).abs() < 1e-6);
    }

    #[test]
    fn between_rows_an_octave_apart_they_rule_alone() {
        let lengths = [2048, 4096, 8192];
        let mut rows = Vec::new();
        for m in lengths {
            for n in lengths {
                for k in lengths {
                    let gemm = Gemm::new(m, n, k);
                    rows.push(UserRow { gemm, ns: 2.0 * h100().gemm(&gemm).unwrap().ns });
                }
            }
        }
        let tables = h100().with_user_rows(&rows).unwrap();
        for gemm in [Gemm::new(3000, 5000, 2500), Gemm::new(8192, 2048, 4096), Gemm::new(5793, 5793, 5793)] {
            let (ours, model) = (tables.gemm(&gemm).unwrap(), h100().gemm(&gemm).unwrap());
            assert!((ours.ns / model.ns - 2.0).abs() < 1e-9, "{gemm:?}: {}", ours.ns / model.ns);
            assert_eq!(ours.basis, Basis::UserTable);
        }
    }

    #[test]
    fn a_row_serves_a_device_without_a_grid() {
        let mi300x = || KernelTables::new(Catalogue::built_in().find("MI300X").unwrap());
        let gemm = Gemm::new(8192, 8192, 8192);
        assert_eq!(mi300x().gemm(&gemm).unwrap().basis, Basis::Analytic);
        let measured = mi300x().with_user_rows(&[UserRow { gemm, ns: 2.0e6 }]).unwrap().gemm(&gemm).unwrap();
        assert!((measured.ns / 2.0e6 - 1.0).abs() < 1e-9);
        assert_eq!(measured.basis, Basis::UserTable);
        assert!((measured.deviation - 0.03).abs() < 1e-9);
    }

    #[test]
    fn a_time_that_cannot_be_is_refused_with_its_place() {
        let row = |ns| UserRow { gemm: Gemm::new(8, 64, 64), ns };
        let error = h100().with_user_rows(&[row(3000.0), row(0.0)]).unwrap_err();
        assert_eq!(error, KernelError::BadRow { index: 1, ns: 0.0 });
    }

    #[test]
    fn a_gradient_that_is_added_uses_rows_that_are_not() {
        let gemm = Gemm::new(4096, 4096, 4096).pass(Pass::WeightGradient);
        let model = h100().gemm(&gemm).unwrap().ns;
        let tables = h100().with_user_rows(&[UserRow { gemm, ns: model * 1.5 }]).unwrap();
        let added = gemm.accumulate(Accumulator::Fp32);
        let ratio = tables.gemm(&added).unwrap().ns / h100().gemm(&added).unwrap().ns;
        assert!((ratio - 1.5).abs() < 1e-9);
    }
}
