//! Lines out of order: steps that stand in the log in another order than they happened in.

use goodput_core::records::{EventKind, Phase, Step, Timeline};

use super::draft::Draft;
use crate::Treatment;

/// How one step follows the one that was logged before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// On, or a second writer's copy.
    On,
    /// Numbered lower and stamped earlier: its line is out of place.
    OutOfPlace,
    /// A start lies between, or the number goes back while time goes on: executed again.
    Again,
    /// Stamped earlier although numbered higher: the clock was set back.
    ClockBack,
}

impl Draft {
    /// Puts steps whose lines are out of place where their stamps say, and notes where a clock was set back.
    ///
    /// Numbers and stamps that go back together do not show a rollback, in which time goes on, nor a clock that was set
    /// back, on which numbers go on. They are put right only if then both go on.
    pub(crate) fn put_in_order(&mut self) {
        let follows = follows(&self.timeline);
        let is_break = |f: &Follows| matches!(f, Follows::Again | Follows::ClockBack);
        let mut from = 0;
        while from < follows.len() {
            let to = (from + 1..follows.len()).find(|&i| is_break(&follows[i])).unwrap_or(follows.len());
            let out_of_place = (from..to).filter(|&i| follows[i] == Follows::OutOfPlace);
            let lines: Vec<usize> = out_of_place.collect();
            let before: Vec<Step> = lines.iter().map(|&i| self.timeline.steps[i - 1]).collect();
            let after: Vec<Step> = lines.iter().map(|&i| self.timeline.steps[i]).collect();
            let restored = !lines.is_empty() && sort_if_consistent(&mut self.timeline, from, to);
            for (before, after) in before.iter().zip(&after) {
                if restored {
                    self.out_of_place(before, after);
                } else {
                    self.note_clock_step(before.start, after.start, after.line);
                }
            }
            if to < follows.len() && follows[to] == Follows::ClockBack {
                let (before, after) = (self.timeline.steps[to - 1], self.timeline.steps[to]);
                self.note_clock_step(before.start, after.start, after.line);
            }
            from = to;
        }
    }

    fn out_of_place(&mut self, before: &Step, after: &Step) {
        self.report.find(Treatment::Repaired, "out_of_order", after.line, "step", || {
            format!(
                "step {} stands after step {} of line {} and is stamped before it: put where its stamp says. If a copy \
                 or a merge of several logs mixed the lines, sort them by time",
                after.index, before.index, before.line
            )
        });
    }
}

fn follows(timeline: &Timeline) -> Vec<Follows> {
    let mut starts: Vec<_> = timeline
        .events
        .iter()
        .filter(|event| match event.kind {
            EventKind::Launch | EventKind::Restored { .. } => true,
            EventKind::Phase { phase, .. } => matches!(phase, Phase::Launch | Phase::CheckpointLoad),
            _ => false,
        })
        .map(|event| (event.line, event.interval.start))
        .collect();
    starts.sort_unstable();
    let mut starts = starts.into_iter().peekable();
    let steps = &timeline.steps;
    let mut follows = Vec::with_capacity(steps.len());
    for (i, step) in steps.iter().enumerate() {
        let Some(before) = i.checked_sub(1).map(|i| &steps[i]) else {
            follows.push(Follows::On);
            continue;
        };
        let mut started = false;
        while let Some((_, at)) = starts.next_if(|&(line, _)| line < step.line) {
            started |= at >= before.start;
        }
        follows.push(match (step.index.cmp(&before.index), step.start < before.start) {
            (std::cmp::Ordering::Greater, true) => Follows::ClockBack,
            _ if started => Follows::Again,
            (std::cmp::Ordering::Less, true) => Follows::OutOfPlace,
            (std::cmp::Ordering::Less, false) => Follows::Again,
            _ => Follows::On,
        });
    }
    follows
}

/// Sorts the steps at `from..to` by their stamps if their numbers are then in order too.
fn sort_if_consistent(timeline: &mut Timeline, from: usize, to: usize) -> bool {
    let mut order: Vec<usize> = (from..to).collect();
    order.sort_by_key(|&i| (timeline.steps[i].start, timeline.steps[i].index));
    let sorted: Vec<Step> = order.iter().map(|&i| timeline.steps[i]).collect();
    if !sorted.is_sorted_by_key(|step| step.index) {
        return false;
    }
    timeline.steps[from..to].copy_from_slice(&sorted);
    if !timeline.work.is_empty() {
        timeline.work.resize(timeline.steps.len(), Default::default());
        let work: Vec<_> = order.iter().map(|&i| timeline.work[i]).collect();
        timeline.work[from..to].copy_from_slice(&work);
    }
    true
}
