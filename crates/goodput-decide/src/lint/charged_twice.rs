//! A formula that multiplies an MFU by a factor that the MFU holds already: one loss, charged twice.

use super::formula::Formula;
use super::sheet::{Figure, Sheet};
use super::{Corrected, Found, number};

/// The finding: the formula without the factor, and, as `apart`, the MFU with the factor taken out of it.
pub(super) fn charged_twice(
    sheet: &Sheet,
    (index, formula): (usize, &Formula),
    [mfu, factor]: [&Figure; 2],
    without: String,
    (apart, how): (&'static str, &'static str),
) -> Found {
    let stated = formula.expression.value(&sheet.figures, sheet.budget_sum());
    let [mfu_value, factor_value] = [mfu, factor].map(|figure| number(figure.value));
    let what = format!("{}: {} {mfu_value} times {} {factor_value}", formula.text, mfu.name, factor.name);
    let target = formula.target.replace('_', " ");
    Found::new(format!("formula[{index}]"), what).corrected([
        Corrected::new(target, Some(stated), stated / factor.value, without),
        Corrected::new(apart, None, mfu.value / factor.value, how),
    ])
}
