//! Products that the user measured: they correct the shipped grid near their shapes.

use std::collections::HashMap;

use super::gemm::{Gemm, Pass};
use super::settings::Settings;
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

/// How far a row reaches along each axis, in octaves.
const REACH: f64 = 0.5;

type Shape = [f64; 3];
type Cell = (Format, Pass, [i32; 3]);

/// Rows by the octave of their shape. A row tells how far off the model is; the correction fades with the distance.
#[derive(Debug, Clone, Default)]
pub(super) struct UserRows {
    cells: HashMap<Cell, Vec<(Shape, f64)>>,
}

impl UserRows {
    fn add(&mut self, gemm: &Gemm, log_ratio: f64) {
        let shape = log2_shape(gemm);
        let cell = (gemm.format, gemm.pass, shape.map(|at| at.floor() as i32));
        self.cells.entry(cell).or_default().push((shape, log_ratio));
    }

    /// The model's estimate, moved by the rows in reach: exactly the row's time at its own shape, the model's own at the
    /// edge of its reach.
    pub fn correct(&self, gemm: &Gemm, modelled: Estimate) -> Estimate {
        if self.cells.is_empty() || modelled.ns == 0.0 {
            return modelled;
        }
        let shape = log2_shape(gemm);
        let (mut weights, mut sum) = (0.0, 0.0);
        for corner in 0..8 {
            let at = |axis: usize| {
                let side = if corner >> axis & 1 == 1 { REACH } else { -REACH };
                (shape[axis] + side).floor() as i32
            };
            let Some(rows) = self.cells.get(&(gemm.format, gemm.pass, [at(0), at(1), at(2)])) else {
                continue;
            };
            for (place, log_ratio) in rows {
                let weight = weight(&shape, place);
                weights += weight;
                sum += weight * log_ratio;
            }
        }
        let share = weights / (weights + 1.0);
        let user = Settings::built_in().deviation.user_row;
        Estimate {
            ns: modelled.ns * (sum / (weights + 1.0)).exp(),
            deviation: share * user + (1.0 - share) * modelled.deviation,
            basis: if share > 0.5 { Basis::UserTable } else { modelled.basis },
        }
    }
}

/// Large near a row, nothing at the end of its reach.
fn weight(shape: &Shape, place: &Shape) -> f64 {
    let (mut fade, mut square) = (1.0, 1e-12);
    for (one, other) in shape.iter().zip(place) {
        let distance = (one - other).abs() / REACH;
        fade *= (1.0 - distance).max(0.0);
        square += distance * distance;
    }
    fade / square
}

fn log2_shape(gemm: &Gemm) -> Shape {
    [gemm.m, gemm.n, gemm.k].map(|length| (length.max(1) as f64).log2())
}

impl KernelTables {
    /// These tables, corrected by products that the user measured on the device.
    ///
    /// # Errors
    /// [`KernelError::BadRow`] for a time that is not positive or a shape with a zero, and [`KernelError`] as
    /// [`KernelTables::gemm`].
    pub fn with_user_rows(mut self, rows: &[UserRow]) -> Result<Self, KernelError> {
        for (index, row) in rows.iter().enumerate() {
            let modelled = self.modelled_gemms(&row.gemm, 1)?;
            let log_ratio = (row.ns / modelled.ns).ln();
            if !log_ratio.is_finite() {
                return Err(KernelError::BadRow { index, ns: row.ns });
            }
            self.user.add(&row.gemm, log_ratio);
        }
        Ok(self)
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
    fn a_row_rules_at_its_shape_and_fades_to_the_model_half_an_octave_away() {
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
}
