//! The checks, one a file.

mod activity_called_goodput;
mod benchmark_extrapolated;
mod charged_to_fixer;
mod compiled_as_proof;
mod different_windows;
mod factor_above_one;
mod factors_not_multiplied;
mod fleet_mfu_times_scaling;
mod largest_kernel_first;
mod largest_loss_first;
mod loss_share_as_gain;
mod mean_of_different_ideals;
mod mean_without_distribution;
mod mfu_as_fleet_use;
mod mixed_overhead_budget;
mod no_quality_gate;
mod parts_beside_the_whole;
mod peak_scales_step;
mod percent_as_share;
mod single_run;
mod software_differs;
mod summed_gains;
mod unknown_overhead;
mod whole_run_mfu_times_runtime;
mod window_too_short;

use super::{Check, Found};
use crate::report::Report;

/// Every check, in the order in which findings of one severity stand.
pub const CHECKS: &[&Check] = &[
    &mixed_overhead_budget::CHECK,
    &charged_to_fixer::CHECK,
    &whole_run_mfu_times_runtime::CHECK,
    &fleet_mfu_times_scaling::CHECK,
    &factors_not_multiplied::CHECK,
    &different_windows::CHECK,
    &mean_of_different_ideals::CHECK,
    &activity_called_goodput::CHECK,
    &mfu_as_fleet_use::CHECK,
    &loss_share_as_gain::CHECK,
    &summed_gains::CHECK,
    &peak_scales_step::CHECK,
    &benchmark_extrapolated::CHECK,
    &factor_above_one::CHECK,
    &percent_as_share::CHECK,
    &parts_beside_the_whole::CHECK,
    &largest_loss_first::CHECK,
    &largest_kernel_first::CHECK,
    &window_too_short::CHECK,
    &single_run::CHECK,
    &software_differs::CHECK,
    &mean_without_distribution::CHECK,
    &compiled_as_proof::CHECK,
    &no_quality_gate::CHECK,
    &unknown_overhead::CHECK,
];

/// For checks that a report, which the accounting wrote, cannot trip.
fn not_in_reports(_: &Report) -> Vec<Found> {
    Vec::new()
}

#[cfg(test)]
mod testing {
    use super::super::{Check, Found, sheet::Sheet};

    pub(super) fn found(check: &Check, yaml: &str) -> Vec<Found> {
        (check.sheet)(&Sheet::from_yaml("sheet.yaml", yaml).unwrap())
    }

    #[track_caller]
    pub(super) fn close(value: f64, exact: f64) {
        assert!((value - exact).abs() <= exact.abs() * 1e-9, "{value} {exact}");
    }

    #[test]
    fn ids_are_unique() {
        let mut ids: Vec<_> = super::CHECKS.iter().map(|check| check.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), super::CHECKS.len());
    }
}
