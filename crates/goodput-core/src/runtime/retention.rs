//! Which steps a later attempt rolled back behind, and which a commit holds.

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

/// Step numbers that a record covers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    /// First step.
    pub first: u64,
    /// How many.
    pub count: u32,
}

impl Numbers {
    /// One past the last step.
    fn end(self) -> u64 {
        self.first.saturating_add(u64::from(self.count))
    }

    /// How many of them are numbered `from` or later.
    fn at_or_after(self, from: u64) -> u32 {
        u32::try_from(self.end().saturating_sub(from.max(self.first))).unwrap_or(u32::MAX)
    }
}

/// Follows the surviving steps through rollbacks and commits.
///
/// Survivors form a stack of increasing step numbers: a start that resumes at step k discards those
/// numbered k or more from its top, so each record is pushed and popped once however many
/// rollbacks there are.
#[derive(Debug, Default)]
pub(super) struct Retention {
    survivors: Vec<(u32, Numbers)>,
    /// Steps numbered below this are held by a checkpoint.
    durable_below: u64,
}

impl Retention {
    /// A step record was executed.
    pub(super) fn executed(&mut self, record: usize, numbers: Numbers) {
        self.survivors.push((u32::try_from(record).unwrap_or(u32::MAX), numbers));
    }

    /// A (re)start went on with step `resumed_at`: survivors at or after it are discarded.
    /// `from_storage`: the state came from a checkpoint, which shows that one holds the steps before.
    pub(super) fn resumed(&mut self, start: usize, resumed_at: u64, from_storage: bool, laid: &mut [Laid]) {
        let mut rolled_back = false;
        while let Some(&(record, numbers)) = self.survivors.last() {
            let discarded = numbers.at_or_after(resumed_at);
            if discarded == 0 {
                break;
            }
            rolled_back = true;
            let step = &mut laid[record as usize];
            step.discarded = discarded;
            step.discarded_by = u32::try_from(start).unwrap_or(u32::MAX);
            if discarded < numbers.count {
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
    pub(super) fn committed(&mut self, step: u64) {
        let executed = self.survivors.last().map_or(0, |(_, n)| n.end());
        self.durable_below = self.durable_below.max(step.saturating_add(1).min(executed));
    }

    /// The job finished and committed its result.
    pub(super) fn finished(&mut self) {
        self.committed(u64::MAX);
    }

    /// Where commits are recorded, survivors that none holds are pending.
    pub(super) fn settle_pending(self, laid: &mut [Laid]) {
        for &(record, numbers) in self.survivors.iter().rev() {
            let open = numbers.at_or_after(self.durable_below);
            if open == 0 {
                break;
            }
            let step = &mut laid[record as usize];
            step.pending = open.saturating_sub(step.discarded);
        }
    }
}
