//! The line of a log interval as a record of steps.

use goodput_core::records::{Step, StepWork};

use super::attempt::Job;
use super::message::Iteration;
use super::placement::place;

/// Half of the last digit of the printed milliseconds.
const ROUNDING_NS: i64 = 50_000;

impl Job {
    pub(super) fn iteration(&mut self, iteration: &Iteration<'_>, line: u32) {
        let Some(stamp) = iteration.stamp else {
            self.unstamped += 1;
            return self.draft.refuse("no_stamp", line, "", || {
                "an iteration without a stamp: Megatron-LM prints one from core_v0.6.0 on".to_owned()
            });
        };
        let Some(stamp) = self.clock.read(stamp) else {
            return self
                .draft
                .refuse("bad_value", line, "datetime", || "the stamp is no date and time".to_owned());
        };
        if self.attempt.done == Some(iteration.number) && self.attempt.last_stamp == Some(stamp) {
            return self.draft.skip("line printed twice");
        }
        if self.attempt.stopped.is_some() || self.attempt.done.is_some_and(|done| iteration.number <= done) {
            // A start whose own lines are not in this log.
            self.next_attempt();
        }
        self.commit_now();
        let count = self.count(iteration.number);
        let took_ns = iteration.elapsed_ns.saturating_mul(i64::from(count));
        let placed = place(self.attempt.now, stamp, took_ns, ROUNDING_NS.saturating_mul(i64::from(count)));
        self.check_clock(placed.end, line);
        self.launch(placed.start, line);
        self.restored(placed.start);
        self.report(placed.disagreement_ns, took_ns, line);
        let index = iteration.number.saturating_sub(u64::from(count)) + 1;
        let step = Step { index, count, line, start: placed.start, end: Some(placed.end), input_wait_ns: 0 };
        let work = self.work(iteration, count);
        if iteration.other_tflops {
            self.draft.note("unknown_flops_convention", line, "TFLOPs", || {
                "the TFLOPs of an older or foreign build are not used: some count recomputation, some are GFLOPs".to_owned()
            });
        }
        if iteration.skipped > 0 || iteration.nan > 0 {
            let (skipped, nan) = (iteration.skipped, iteration.nan);
            self.draft.note("skipped_updates", line, "number of skipped iterations", || {
                format!("{skipped} iterations without an update and {nan} with a NaN: executed, and counted as steps")
            });
        }
        let timeline = &mut self.draft.timeline;
        timeline.steps.push(step);
        timeline.work.push(work);
        timeline.stamp_resolution_ns = timeline.stamp_resolution_ns.max(stamp.resolution_ns);
        timeline.planned_steps = Some(iteration.planned);
        self.attempt.stepped = true;
        self.attempt.done = Some(iteration.number);
        self.attempt.last_stamp = Some(stamp);
        self.attempt.consumed_samples = iteration.consumed_samples;
        self.attempt.now = Some(placed.end);
        self.release_held();
    }

    /// Iterations that a line covers: since the last line or the loaded checkpoint. For a first line
    /// without either, the log interval; without that, one, until the next line shows the interval.
    fn count(&mut self, number: u64) -> u32 {
        if let Some(first) = self.attempt.supposed.take() {
            self.settle_first(first, number);
        }
        let covered = match self.attempt.done {
            Some(done) => number.saturating_sub(done),
            None => {
                self.attempt.supposed = Some(self.draft.timeline.steps.len());
                self.log_interval.unwrap_or(1).min(number)
            }
        };
        u32::try_from(covered.max(1)).unwrap_or(u32::MAX)
    }

    /// The second line of an attempt shows how many iterations the first one covered.
    fn settle_first(&mut self, first: usize, next: u64) {
        if self.log_interval.is_some() {
            return;
        }
        let earlier_end = first.checked_sub(1).and_then(|before| self.draft.timeline.steps.get(before)?.end);
        let (Some(step), Some(work)) =
            (self.draft.timeline.steps.get_mut(first), self.draft.timeline.work.get_mut(first))
        else {
            return;
        };
        let interval = next.saturating_sub(step.index);
        if interval < 2 || !step.index.is_multiple_of(interval) {
            return;
        }
        let (Some(end), Ok(count)) = (step.end, u32::try_from(interval)) else { return };
        let took_ns = (end - step.start).saturating_mul(i64::from(count));
        step.start = (end - took_ns).max(earlier_end.unwrap_or(end - took_ns));
        step.index = step.index - interval + 1;
        step.count = count;
        step.input_wait_ns = step.input_wait_ns.saturating_mul(i64::from(count)).min(end - step.start);
        work.tokens = work.tokens.saturating_mul(interval);
        work.model_flops = work.model_flops.saturating_mul(u128::from(interval));
    }

    /// Tokens from the samples consumed, FLOPs from the printed throughput.
    fn work(&mut self, iteration: &Iteration<'_>, count: u32) -> StepWork {
        let samples = match (self.attempt.consumed_samples, iteration.consumed_samples) {
            (Some(before), Some(now)) => now.checked_sub(before),
            _ => iteration.global_batch.map(|batch| batch.saturating_mul(u64::from(count))),
        };
        let tokens =
            samples.zip(self.seq_length).map_or(0, |(samples, length)| samples.saturating_mul(length));
        let took_ns = u128::try_from(iteration.elapsed_ns).unwrap_or(0) * u128::from(count);
        let rate = iteration.flops_per_second.map(u128::from);
        let devices = self.world_size.map(u128::from);
        let model_flops = rate.zip(devices).map_or(0, |(rate, devices)| {
            rate.saturating_mul(devices).saturating_mul(took_ns) / 1_000_000_000
        });
        if model_flops > 0 && self.draft.timeline.ideal.convention.is_none() {
            let convention = "Megatron-LM num_floating_point_operations as printed: causal attention, padded vocabulary, \
                              no recomputation, padding tokens counted";
            self.draft.timeline.ideal.convention = Some(convention.to_owned());
        }
        StepWork { tokens, model_flops }
    }

    fn report(&mut self, disagreement_ns: i64, took_ns: i64, line: u32) {
        let seconds = disagreement_ns.unsigned_abs() as f64 / 1e9;
        let printed = took_ns as f64 / 1e9;
        // A hundredth of an interval is the loop's own bookkeeping.
        if disagreement_ns > took_ns / 100 {
            self.draft.note("time_outside_timers", line, "elapsed time per iteration (ms)", || {
                format!(
                    "{seconds:.3} s before this interval are in no timer; they are left between the steps"
                )
            });
        } else if disagreement_ns < 0 {
            self.draft.note("printed_time_disagrees", line, "elapsed time per iteration (ms)", || {
                format!(
                    "the line prints {printed:.3} s, {seconds:.3} s more than its stamps leave room for; the stamps are used \
                     (core_v0.16.0 to 0.19.0 keep the first iteration in later averages)"
                )
            });
        }
    }
}
