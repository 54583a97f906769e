//! Which steps a later attempt rolled back behind, and which a commit holds.

use crate::records::Step;

/// One step record under accounting: its fate and its measured duration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Laid {
    /// Position in the timeline's steps.
    pub position: u32,
    /// Of the steps that the record covers, the last `discarded` were rolled back.
    pub discarded: u32,
    /// The start that rolled them back.
    pub discarded_by: u32,
    /// Of the steps that the record covers and that were not rolled back, the last `pending` are
    /// held by no commit yet.
    pub pending: u32,
    /// Where the record ends (in nanoseconds since the epoch): its own end, or the next evidence.
    pub end_ns: i64,
    /// Duration less declared phases and input wait.
    pub net_ns: i64,
}

/// One past the number of the last step that a record covers.
fn end_number(step: &Step) -> u64 {
    step.index.saturating_add(u64::from(step.count.max(1)))
}

/// How many of the steps that a record covers are numbered `from` or later.
fn at_or_after(step: &Step, from: u64) -> u32 {
    let count = end_number(step).saturating_sub(from.max(step.index));
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Follows the surviving steps through rollbacks and commits.
///
/// Survivors form a stack of increasing step numbers: a start that resumes at step k discards those
/// numbered k or more from its top, so each record is pushed and popped once however many
/// rollbacks there are.
#[derive(Debug)]
pub(super) struct Retention<'a> {
    steps: &'a [Step],
    /// Positions of records that survive, whole or in part.
    survivors: Vec<u32>,
    /// Steps numbered below this are held by a checkpoint.
    durable_below: u64,
}

impl<'a> Retention<'a> {
    /// Follows the records of `steps`.
    pub(super) fn new(steps: &'a [Step]) -> Self {
        Self { steps, survivors: Vec::with_capacity(steps.len()), durable_below: 0 }
    }

    fn step(&self, laid: &Laid) -> &'a Step {
        &self.steps[laid.position as usize]
    }

    /// A step record, the last of `laid`, was executed.
    pub(super) fn executed(&mut self, laid: &[Laid]) {
        self.survivors.push(u32::try_from(laid.len() - 1).unwrap_or(u32::MAX));
    }

    /// A (re)start went on with step `resumed_at`: survivors at or after it are discarded.
    /// `from_storage`: the state came from a checkpoint, which shows that one holds the steps before.
    pub(super) fn resumed(&mut self, start: usize, resumed_at: u64, from_storage: bool, laid: &mut [Laid]) {
        let mut rolled_back = false;
        while let Some(&record) = self.survivors.last() {
            let step = self.step(&laid[record as usize]);
            let discarded = at_or_after(step, resumed_at);
            if discarded == 0 {
                break;
            }
            rolled_back = true;
            let record = &mut laid[record as usize];
            record.discarded = discarded;
            record.discarded_by = u32::try_from(start).unwrap_or(u32::MAX);
            if discarded < step.count.max(1) {
                break;
            }
            self.survivors.pop();
        }
        if from_storage || rolled_back {
            self.durable_below = resumed_at;
        }
    }

    /// A checkpoint that holds the update of `step` was committed. It cannot hold steps that were
    /// not executed yet.
    pub(super) fn committed(&mut self, step: u64, laid: &[Laid]) {
        let executed = self.survivors.last().map_or(0, |&last| end_number(self.step(&laid[last as usize])));
        self.durable_below = self.durable_below.max(step.saturating_add(1).min(executed));
    }

    /// The job finished and committed its result.
    pub(super) fn finished(&mut self, laid: &[Laid]) {
        self.committed(u64::MAX, laid);
    }

    /// Where commits are recorded, survivors that none holds are pending.
    pub(super) fn settle_pending(self, laid: &mut [Laid]) {
        for &record in self.survivors.iter().rev() {
            let open = at_or_after(self.step(&laid[record as usize]), self.durable_below);
            if open == 0 {
                break;
            }
            let record = &mut laid[record as usize];
            record.pending = open.saturating_sub(record.discarded);
        }
    }
}
