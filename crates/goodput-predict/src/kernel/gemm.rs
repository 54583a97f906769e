//! Matrix products of a linear layer: forward, input gradient, weight gradient.

use super::settings::Settings;
use super::shipped::ProductGrid;
use super::{Format, KernelError, KernelTables};
use crate::{Basis, Estimate};

/// Which of a linear layer's three products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pass {
    /// Y = X W^T.
    Forward,
    /// dX = dY W (dgrad).
    InputGradient,
    /// dW = dY^T X (wgrad).
    WeightGradient,
}

impl Pass {
    /// Every pass.
    pub const ALL: [Self; 3] = [Self::Forward, Self::InputGradient, Self::WeightGradient];
}

/// What a weight gradient is added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Accumulator {
    /// Nothing: it is written in the result's format.
    #[default]
    None,
    /// A 16-bit buffer, read and written.
    Half,
    /// An fp32 buffer, read and written, as Megatron's main gradients.
    Fp32,
}

/// One product of a linear layer of `k` inputs and `n` outputs on `m` rows (tokens). The layer's shape is the same for
/// every pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gemm {
    /// Rows: tokens.
    pub m: u64,
    /// Outputs of the layer.
    pub n: u64,
    /// Inputs of the layer.
    pub k: u64,
    /// Arithmetic.
    pub format: Format,
    /// Which product.
    pub pass: Pass,
    /// What the weight gradient is added to; of no effect on other passes.
    pub accumulator: Accumulator,
    /// The time holds the cast of the activations from bf16, for formats that need one.
    pub with_cast: bool,
}

impl Gemm {
    /// A forward bf16 product of `m` rows, `n` outputs and `k` inputs.
    #[must_use]
    pub const fn new(m: u64, n: u64, k: u64) -> Self {
        Self {
            m,
            n,
            k,
            format: Format::Bf16,
            pass: Pass::Forward,
            accumulator: Accumulator::None,
            with_cast: true,
        }
    }

    /// The same in another pass.
    #[must_use]
    pub const fn pass(self, pass: Pass) -> Self {
        Self { pass, ..self }
    }

    /// The same in another format.
    #[must_use]
    pub const fn format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// The same with its weight gradient added to a buffer.
    #[must_use]
    pub const fn accumulate(self, accumulator: Accumulator) -> Self {
        Self { accumulator, ..self }
    }

    /// FLOPs.
    #[must_use]
    pub fn flops(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }

    /// Rows, columns and inner length of the product that runs.
    pub(super) const fn product(&self) -> [u64; 3] {
        match self.pass {
            Pass::Forward => [self.m, self.n, self.k],
            Pass::InputGradient => [self.m, self.k, self.n],
            Pass::WeightGradient => [self.n, self.k, self.m],
        }
    }

    /// Bytes beyond those of a product that writes its result once.
    fn accumulation_bytes(&self) -> f64 {
        let values = self.n as f64 * self.k as f64;
        match (self.pass, self.accumulator) {
            (Pass::WeightGradient, Accumulator::Half) => 2.0 * values,
            (Pass::WeightGradient, Accumulator::Fp32) => (8.0 - self.format.result_bytes()) * values,
            _ => 0.0,
        }
    }
}

/// Rows or columns beyond which products in few bits are also thought of in parts.
const LARGE: u64 = 8192;

/// A burst time and what it rests on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Burst {
    pub us: f64,
    pub basis: Basis,
}

impl KernelTables {
    /// The time of one product.
    ///
    /// The efficiency of the measured grid, linear in the logarithms of rows, columns and inner length. Gradients
    /// have operands laid out otherwise than the grid's: theirs is the mean over both ways round of the product,
    /// which agrees with measured gradients as the forward pass does (docs/kernels.md). An fp32 accumulator adds the
    /// time of its bytes. Beyond the grid the efficiency stays level; below it the product takes as long as the
    /// smallest one.
    ///
    /// # Errors
    /// [`KernelError`] if the device does not compute in the format, or nothing says how fast.
    pub fn gemm(&self, gemm: &Gemm) -> Result<Estimate, KernelError> {
        let modelled = self.modelled_gemms(gemm, 1)?;
        Ok(self.corrected_gemm(gemm, 1, modelled))
    }

    /// The time of a product whose rows are cut into so many pieces, each run when its part of an exchange has arrived or before
    /// it is sent. Streams overlap the pieces' launches; what each loses against the whole stays. Never faster than the whole.
    ///
    /// # Errors
    /// As [`KernelTables::gemm`].
    pub fn gemm_in_pieces(&self, gemm: &Gemm, pieces: u64) -> Result<Estimate, KernelError> {
        let whole = self.gemm(gemm)?;
        if pieces <= 1 || gemm.m < pieces {
            return Ok(whole);
        }
        let cut = self.modelled_gemms(&Gemm { m: gemm.m / pieces, ..*gemm }, pieces)?;
        Ok(if cut.ns > whole.ns { cut } else { whole })
    }

    /// The time of so many equal products in one launch, without the user's rows.
    pub(super) fn modelled_gemms(&self, gemm: &Gemm, count: u64) -> Result<Estimate, KernelError> {
        let count = count as f64;
        let deviation = &Settings::built_in().deviation;
        let [rows, columns, inner] = gemm.product();
        if rows == 0 || columns == 0 || inner == 0 {
            return Ok(Estimate::NOTHING);
        }
        let mut burst = match gemm.pass {
            Pass::Forward => self.product(gemm.format, [rows, columns, inner])?,
            Pass::InputGradient | Pass::WeightGradient => {
                let one = self.product(gemm.format, [rows, columns, inner])?;
                let other = self.product(gemm.format, [columns, rows, inner])?;
                Burst { us: (one.us * other.us).sqrt(), basis: one.basis.max(other.basis) }
            }
        };
        if gemm.format.is_quantised() && !gemm.with_cast {
            // At small sizes the cast alone takes a launch that the product's time does not add: never below half.
            let cast = self.cast_to_fp8(rows, inner, false)?.ns / 1e3;
            burst.us = (burst.us - cast).max(burst.us / 2.0);
        }
        let launch = self.memory.launch_us.min(burst.us);
        let all = launch + (burst.us - launch) * count;
        let extra = count * gemm.accumulation_bytes() / self.machine.bandwidth.unwrap_or(f64::INFINITY);
        let ratio = self.sustained_ratio(gemm.format, count * gemm.flops());
        let spread = match burst.basis {
            Basis::UserTable => deviation.user_row,
            Basis::Table => deviation.reading(gemm.format),
            Basis::Extrapolated => deviation.extrapolated,
            Basis::Analytic => deviation.roofline,
        };
        Ok(Estimate {
            ns: (all * ratio + extra) * 1e3,
            deviation: spread.hypot(self.sustained_deviation()),
            basis: burst.basis,
        })
    }

    /// The burst time of rows x inner times (columns x inner)^T, casts included: of the kernels that were measured, the
    /// one that a library would choose.
    ///
    /// The fp8 grid holds a kernel made for serving. On large products it falls to half of what the same device does with
    /// finer scales (H100, 16384 x 57344 x 8192: 760 TFLOP/s against 1281), which is more work, not less; and on Blackwell
    /// both fall to half of their own rate on a part of the same product. A library that trains picks neither.
    pub(super) fn product(&self, format: Format, shape: [u64; 3]) -> Result<Burst, KernelError> {
        let whole = self.in_parts(format, shape)?;
        match format {
            Format::Fp8 if self.grid(Format::Fp8Block).is_some() => {
                let finer = self.in_parts(Format::Fp8Block, shape)?;
                let is_better = finer.us < whole.us && finer.basis <= whole.basis;
                Ok(if is_better { finer } else { whole })
            }
            _ => Ok(whole),
        }
    }

    /// The lesser of the whole product's time and that of its parts of at most [`LARGE`] rows and columns, one after the
    /// other, for formats whose grids fall beyond that.
    fn in_parts(&self, format: Format, shape: [u64; 3]) -> Result<Burst, KernelError> {
        let whole = self.measured(format, shape)?;
        let [rows, columns, inner] = shape;
        if !format.is_quantised() || rows.max(columns) <= LARGE {
            return Ok(whole);
        }
        let parts = [rows, columns].map(|length| length.div_ceil(LARGE));
        let part = [rows.div_ceil(parts[0]), columns.div_ceil(parts[1]), inner];
        let part = self.measured(format, part)?;
        let us = part.us * (parts[0] * parts[1]) as f64;
        Ok(if us < whole.us && part.basis <= whole.basis { Burst { us, basis: part.basis } } else { whole })
    }

    fn measured(&self, format: Format, shape: [u64; 3]) -> Result<Burst, KernelError> {
        let roofline = |machine: &super::Machine| {
            let [rows, columns, inner] = shape.map(|length| length as f64);
            let cast =
                if format.is_quantised() { rows * inner * (2.0 + format.operand_bytes()) } else { 0.0 };
            let bytes = format.operand_bytes() * (rows + columns) * inner
                + format.result_bytes() * rows * columns
                + cast;
            machine.roofline_us(&Settings::built_in().roofline, format, 2.0 * rows * columns * inner, bytes)
        };
        let Some((grid, borrowed)) = self.grid(format) else {
            let us = roofline(&self.machine).ok_or_else(|| self.no_rate(format))?;
            return Ok(Burst { us, basis: Basis::Analytic });
        };
        let (us, inside) = read(grid, shape);
        let basis = if inside { Basis::Table } else { Basis::Extrapolated };
        let Some(scaled_to) = &borrowed.scaled_to else { return Ok(Burst { us, basis }) };
        let ratio = roofline(scaled_to).zip(roofline(&borrowed.of)).map(|(ours, theirs)| ours / theirs);
        Ok(Burst { us: us * ratio.ok_or_else(|| self.no_rate(format))?, basis: Basis::Extrapolated })
    }
}

/// Microseconds of a product of rows, columns and inner length, and whether the grid holds it.
fn read(grid: &ProductGrid, shape: [u64; 3]) -> (f64, bool) {
    let mut inside = true;
    let mut log2 = [0.0; 3];
    for (axis, length) in shape.into_iter().enumerate() {
        inside &= length >= grid.least[axis];
        log2[axis] = (length.max(grid.least[axis]) as f64).log2();
    }
    let [rows, columns, inner] = log2;
    let rate = grid.rate.read([columns, inner, rows]);
    ((1.0 + rows + columns + inner - rate.value).exp2(), inside && rate.inside)
}
