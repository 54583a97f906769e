//! Which figures have a product. Each kind of figure is a type of its own, so that a product that counts a loss twice does
//! not compile; figures that come as data are refused with the reason.

use goodput_core::factors::{NoProduct, Windowed};
use goodput_core::{Boundary, OutOfRange, Window};

/// A share of time or rate and the window it was measured over, checked to lie in (0, 1].
fn checked(name: &'static str, value: f64, window: Window) -> Result<Windowed, OutOfRange> {
    if value > 0.0 && value <= 1.0 {
        return Ok(Windowed { value, window });
    }
    Err(OutOfRange { name, value, expected: "a factor above 0 and at most 1" })
}

macro_rules! figure {
    ($(#[$doc:meta])* $name:ident, $label:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct $name(Windowed);

        impl $name {
            /// The figure over `window`.
            ///
            /// # Errors
            /// [`OutOfRange`] outside (0, 1].
            pub fn new(value: f64, window: Window) -> Result<Self, OutOfRange> {
                checked($label, value, window).map(Self)
            }

            /// The figure.
            #[must_use]
            pub const fn value(self) -> f64 {
                self.0.value
            }

            /// Where it was measured.
            #[must_use]
            pub const fn window(self) -> Window {
                self.0.window
            }
        }
    };
}

figure!(
    /// Held over offered.
    SchedulingGoodput,
    "scheduling goodput"
);
figure!(
    /// Retained over held.
    RuntimeGoodput,
    "runtime goodput"
);
figure!(
    /// Ideal over retained.
    ProgramGoodput,
    "program goodput"
);
figure!(
    /// MFU over the productive time of retained steps: program goodput where the ideal is arithmetic.
    RetainedStepMfu,
    "retained-step MFU"
);
figure!(
    /// MFU over a run's whole held time. Restarts, pauses and rework are inside it already, so it has no product with
    /// runtime goodput:
    ///
    /// ```compile_fail
    /// # use goodput_decide::contract::products::{RuntimeGoodput, WholeRunMfu};
    /// fn twice(mfu: WholeRunMfu, runtime: RuntimeGoodput) {
    ///     let _ = mfu.program_goodput().times(runtime);
    /// }
    /// ```
    WholeRunMfu,
    "whole-run MFU"
);
figure!(
    /// MFU of one node alone, over retained steps.
    NodeMfu,
    "node MFU"
);
figure!(
    /// Fleet step rate over node step rate at the same work a device.
    ScalingEfficiency,
    "scaling efficiency"
);
figure!(
    /// MFU of the whole job over retained steps. Scaling losses are inside it already:
    ///
    /// ```compile_fail
    /// # use goodput_decide::contract::products::{FleetMfu, ScalingEfficiency};
    /// fn twice(mfu: FleetMfu, scaling: ScalingEfficiency) {
    ///     let _ = mfu.scaled(scaling);
    /// }
    /// ```
    FleetMfu,
    "fleet MFU"
);
figure!(
    /// Model FLOPs utilization. It has no mean with [`Mbu`]: they divide by different ideals.
    ///
    /// ```compile_fail
    /// # use goodput_decide::contract::products::{Mbu, Mfu};
    /// fn mean(mfu: Mfu, mbu: Mbu) -> f64 {
    ///     [mfu, mbu].iter().map(|u| u.value()).sum::<f64>() / 2.0
    /// }
    /// ```
    Mfu,
    "MFU"
);
figure!(
    /// Model bandwidth utilization.
    Mbu,
    "MBU"
);

fn same_window(boundary: Boundary, of: Window, expected: Window) -> Result<(), NoProduct> {
    if of == expected { Ok(()) } else { Err(NoProduct::WindowsDiffer { boundary, window: of, expected }) }
}

impl RetainedStepMfu {
    /// The program goodput that it is.
    #[must_use]
    pub const fn program_goodput(self) -> ProgramGoodput {
        ProgramGoodput(self.0)
    }
}

impl NodeMfu {
    /// The fleet's MFU.
    ///
    /// ```
    /// use goodput_core::{Timestamp, Window};
    /// use goodput_decide::contract::products::{NodeMfu, ScalingEfficiency};
    /// let week = Window::new(Timestamp::from_seconds(0), Timestamp::from_seconds(604_800))?;
    /// // 14.9 PFLOP a step on 128 devices of 989 TFLOP/s: 180 ms on one node, 245 ms on sixteen.
    /// let node = NodeMfu::new(14.9e15 / 16.0 / (8.0 * 989e12 * 0.180), week)?;
    /// let fleet = node.scaled(ScalingEfficiency::new(180.0 / 245.0, week)?)?;
    /// assert!((fleet.value() - 0.480_412_083_943_789_87).abs() < 1e-9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`NoProduct`] when the windows differ.
    pub fn scaled(self, efficiency: ScalingEfficiency) -> Result<FleetMfu, NoProduct> {
        same_window(Boundary::Program, efficiency.window(), self.window())?;
        Ok(FleetMfu(Windowed { value: self.value() * efficiency.value(), window: self.window() }))
    }
}

impl FleetMfu {
    /// The same figure as the MFU of retained steps, which it is.
    #[must_use]
    pub const fn over_retained_steps(self) -> RetainedStepMfu {
        RetainedStepMfu(self.0)
    }
}

impl ProgramGoodput {
    /// The job's product R x P.
    ///
    /// # Errors
    /// [`NoProduct`] when the windows differ.
    pub fn times(self, runtime: RuntimeGoodput) -> Result<JobProduct, NoProduct> {
        same_window(Boundary::Program, self.window(), runtime.window())?;
        Ok(JobProduct(Windowed { value: self.value() * runtime.value(), window: self.window() }))
    }
}

/// R x P of one job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JobProduct(Windowed);

impl JobProduct {
    /// The product.
    #[must_use]
    pub const fn value(self) -> f64 {
        self.0.value
    }

    /// On a pool: S x R x P.
    ///
    /// # Errors
    /// [`NoProduct`] when the windows differ.
    pub fn on_pool(self, scheduling: SchedulingGoodput) -> Result<f64, NoProduct> {
        same_window(Boundary::Runtime, self.0.window, scheduling.window())?;
        Ok(self.0.value * scheduling.value())
    }
}

/// A figure that comes as data: a plan, a report, a sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "named as the types above")]
pub enum FigureKind {
    SchedulingGoodput,
    RuntimeGoodput,
    ProgramGoodput,
    RetainedStepMfu,
    WholeRunMfu,
    NodeMfu,
    ScalingEfficiency,
    FleetMfu,
    Mfu,
    Mbu,
}

/// Why figures have no product or mean.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refused {
    /// Restarts are inside both.
    #[error(
        "an MFU over a whole run holds its restarts and pauses already: times runtime goodput it would charge them twice; take the MFU of retained steps"
    )]
    WholeRunTimesRuntime,
    /// Scaling losses are inside both.
    #[error(
        "a fleet's MFU holds its scaling losses already: times scaling efficiency it would charge them twice; scaling efficiency multiplies a node's MFU"
    )]
    FleetTimesScaling,
    /// Two figures of one boundary.
    #[error("{0:?} and {1:?} are figures of the same loss: their product charges it twice")]
    SameLoss(FigureKind, FigureKind),
    /// Different ideals.
    #[error(
        "MFU divides by peak arithmetic and MBU by peak bandwidth: figures of different ideals have no mean or product; keep a row for each"
    )]
    DifferentIdeals,
    /// An MFU that does not say what time it is over.
    #[error(
        "an MFU that does not say whether it is over retained steps or the whole run has no product; state which"
    )]
    UnnamedScope,
    /// Different windows, or a value that is no factor.
    #[error(transparent)]
    NoProduct(#[from] NoProduct),
}

/// The product of figures that come as data.
///
/// # Errors
/// [`Refused`] with the reason.
pub fn product(figures: &[(FigureKind, f64, Window)]) -> Result<f64, Refused> {
    use FigureKind as K;
    let has = |kind| figures.iter().any(|&(k, ..)| k == kind);
    if has(K::WholeRunMfu) && has(K::RuntimeGoodput) {
        return Err(Refused::WholeRunTimesRuntime);
    }
    if has(K::FleetMfu) && has(K::ScalingEfficiency) {
        return Err(Refused::FleetTimesScaling);
    }
    if has(K::Mbu) && figures.iter().any(|&(k, ..)| is_mfu(k)) {
        return Err(Refused::DifferentIdeals);
    }
    if has(K::Mfu) && figures.len() > 1 {
        return Err(Refused::UnnamedScope);
    }
    let mut value = 1.0;
    for (i, &(kind, factor, window)) in figures.iter().enumerate() {
        let program = |k| is_mfu(k) || matches!(k, K::ProgramGoodput | K::Mbu);
        if let Some(&(other, ..)) =
            figures[..i].iter().find(|&&(k, ..)| k == kind || (program(k) && program(kind)))
        {
            return Err(Refused::SameLoss(other, kind));
        }
        let boundary = match kind {
            K::SchedulingGoodput => Boundary::Scheduling,
            K::RuntimeGoodput => Boundary::Runtime,
            _ => Boundary::Program,
        };
        same_window(boundary, window, figures[0].2)?;
        value *= checked("factor", factor, window).map_err(NoProduct::OutOfRange)?.value;
    }
    Ok(value)
}

/// The mean of utilizations that come as data, each weighted by its device-time.
///
/// # Errors
/// [`Refused::DifferentIdeals`] where MFU and MBU meet.
pub fn mean(figures: &[(FigureKind, f64, f64)]) -> Result<f64, Refused> {
    let bandwidth = figures.iter().any(|&(k, ..)| k == FigureKind::Mbu);
    if bandwidth && figures.iter().any(|&(k, ..)| is_mfu(k)) {
        return Err(Refused::DifferentIdeals);
    }
    let weight: f64 = figures.iter().map(|&(.., weight)| weight).sum();
    let no_weight = || OutOfRange { name: "device-time of the mean", value: weight, expected: "above zero" };
    if !(weight.is_finite() && weight > 0.0) {
        return Err(Refused::NoProduct(NoProduct::OutOfRange(no_weight())));
    }
    Ok(figures.iter().map(|&(_, value, weight)| value * weight).sum::<f64>() / weight)
}

const fn is_mfu(kind: FigureKind) -> bool {
    use FigureKind as K;
    matches!(kind, K::RetainedStepMfu | K::WholeRunMfu | K::NodeMfu | K::FleetMfu | K::Mfu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use FigureKind as K;
    use goodput_core::Timestamp;

    fn window(days: i64) -> Window {
        Window::new(Timestamp::from_seconds(0), Timestamp::from_seconds(days * 86_400)).unwrap()
    }

    /// E5 and E6: the node, the fleet, the job, the pool.
    #[test]
    fn one_node_to_the_whole_fleet() {
        let week = window(7);
        let node = NodeMfu::new(14.9e15 / 16.0 / (8.0 * 989e12 * 0.180), week).unwrap();
        let fleet = node.scaled(ScalingEfficiency::new(180.0 / 245.0, week).unwrap()).unwrap();
        let close = |value: f64, exact: f64| assert!((value / exact - 1.0).abs() < 1e-9, "{value} {exact}");
        close(fleet.value(), 0.480_412_083_943_789_87);
        let runtime = RuntimeGoodput::new(0.903_945_174_197_257_3, week).unwrap();
        let job = fleet.over_retained_steps().program_goodput().times(runtime).unwrap();
        close(job.value(), 0.434_266_184_907_036_5);
        close(job.on_pool(SchedulingGoodput::new(0.65, week).unwrap()).unwrap(), 0.282_273_020_189_573_7);
    }

    #[test]
    fn factors_of_different_windows_are_refused() {
        let program = RetainedStepMfu::new(0.48, window(1)).unwrap().program_goodput();
        let refused = program.times(RuntimeGoodput::new(0.9, window(7)).unwrap()).unwrap_err();
        assert!(matches!(refused, NoProduct::WindowsDiffer { .. }));
        assert!(FleetMfu::new(1.2, window(1)).is_err());
        assert!(FleetMfu::new(f64::NAN, window(1)).is_err());
    }

    #[test]
    fn figures_that_come_as_data_are_refused_with_the_reason() {
        let w = window(7);
        let refused = |figures: &[(K, f64, Window)]| product(figures).unwrap_err().to_string();
        assert!(refused(&[(K::WholeRunMfu, 0.4, w), (K::RuntimeGoodput, 0.9, w)]).contains("restarts"));
        assert!(
            refused(&[(K::FleetMfu, 0.48, w), (K::ScalingEfficiency, 0.73, w)]).contains("scaling losses")
        );
        assert!(refused(&[(K::RetainedStepMfu, 0.48, w), (K::Mbu, 0.8, w)]).contains("different ideals"));
        assert!(refused(&[(K::Mfu, 0.48, w), (K::RuntimeGoodput, 0.8, w)]).contains("state which"));
        assert!(
            refused(&[(K::FleetMfu, 0.48, w), (K::ProgramGoodput, 0.48, w)]).contains("charges it twice")
        );
        assert!(
            refused(&[(K::RuntimeGoodput, 0.9, w), (K::ProgramGoodput, 0.4, window(1))]).contains("windows")
        );
        assert!(mean(&[(K::Mfu, 0.025, 1.0), (K::Mbu, 0.86, 1.0)]).is_err());
        let job = product(&[(K::RuntimeGoodput, 0.9, w), (K::RetainedStepMfu, 0.41, w)]).unwrap();
        assert!((job - 0.369).abs() < 1e-12);
    }
}
