//! What is the matter with a step: cut, incomplete, warming up.

use crate::nearest_rank::median;
use rustc_hash::FxHashMap;

use super::{Step, Steps};

impl Step {
    /// A step is incomplete when it has no kernels while others have some, or when it has fewer than the count that most
    /// steps share, or less than this share of the median count. A count that another step has as well is a pattern (of
    /// gradient accumulation, say) and no loss; nor is it one when there is more work than usual, copies counted: the
    /// first step of an optimizer sets up its state.
    pub const INCOMPLETE_BELOW: f64 = 0.9;

    /// The first steps are warm-up as long as they are longer than this multiple of the median length, as in the
    /// accounting of whole runs. It takes three steps to tell.
    pub const WARM_UP_ABOVE: f64 = 1.05;
}

/// Sets the flags of all steps.
pub(super) fn set(steps: &mut Steps) {
    if let Some(first) = steps.steps.first_mut() {
        first.may_lack_start = true;
    }
    if let Some(last) = steps.steps.last_mut() {
        last.may_lack_end = true;
    }
    set_incomplete(&mut steps.steps);
    set_warm_up(&mut steps.steps);
}

fn set_incomplete(steps: &mut [Step]) {
    let mut counts: Vec<usize> = steps.iter().map(|step| step.kernels).collect();
    let median_count = median(&mut counts).unwrap_or(0);
    let mut times: FxHashMap<usize, usize> = FxHashMap::default();
    for &count in &counts {
        *times.entry(count).or_default() += 1;
    }
    // Of counts that equally many steps share, the smaller.
    let usual = times.iter().max_by_key(|&(&count, &times)| (times, std::cmp::Reverse(count)));
    let usual = usual.filter(|&(_, &times)| times > 1).map_or(0, |(&count, _)| count);
    let mut work: Vec<usize> = steps.iter().map(|step| step.work).collect();
    let usual_work = median(&mut work).unwrap_or(0);
    let most = counts.iter().copied().max().unwrap_or(0);
    for step in steps {
        let is_alone = times[&step.kernels] == 1;
        let is_few =
            step.kernels < usual || (step.kernels as f64) < median_count as f64 * Step::INCOMPLETE_BELOW;
        step.incomplete = (step.kernels == 0 && most > 0) || (is_alone && is_few && step.work <= usual_work);
    }
}

fn set_warm_up(steps: &mut [Step]) {
    let mut lengths: Vec<i64> = steps.iter().filter(|step| !step.incomplete).map(Step::length_ns).collect();
    if lengths.len() < 3 {
        return;
    }
    let Some(steady_ns) = median(&mut lengths) else { return };
    let limit_ns = steady_ns as f64 * Step::WARM_UP_ABOVE;
    for step in steps.iter_mut().take_while(|step| step.length_ns() as f64 > limit_ns) {
        step.warm_up = true;
    }
}
