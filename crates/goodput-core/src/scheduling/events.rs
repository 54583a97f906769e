//! Everything that changes the state of the fleet inside the window, in time order.

use crate::time::{Timestamp, Window};

use super::spread::sort_spread;

/// What happens. Order matters at one instant: releases come before holds, so that a device that changes hands is
/// never counted twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// An attempt ceases to wait without holding anything.
    WaitEnd,
    /// An attempt releases its devices.
    Release,
    /// A member is given back, or its gang is complete.
    PartialEnd,
    /// Capacity, an outage, or a sample of a series: an entry of a list.
    Change,
    /// A member is bound to an incomplete gang.
    PartialStart,
    /// A gang is complete.
    Hold,
    /// An attempt that waited is complete: its wait ends and it holds. One event, since most attempts have it.
    Start,
    /// An attempt begins to wait.
    WaitStart,
    /// A snapshot, which sees all of the above: an entry of the same list.
    Snapshot,
}

const KINDS: [Kind; 9] = [
    Kind::WaitEnd,
    Kind::Release,
    Kind::PartialEnd,
    Kind::Change,
    Kind::PartialStart,
    Kind::Hold,
    Kind::Start,
    Kind::WaitStart,
    Kind::Snapshot,
];

/// Positions take the low bits of a code, the kind the high ones.
const POSITION_BITS: u32 = 28;

/// The largest position that an event can name.
pub(super) const MAX_POSITION: usize = (1 << POSITION_BITS) - 1;

/// Time since the window's start (high and low word) and code: 12 bytes an event keep a million attempts small.
type Packed = [u32; 3];

fn since(&[high, low, _]: &Packed) -> u64 {
    (u64::from(high) << 32) | u64::from(low)
}

/// Events, packed.
#[derive(Debug)]
pub(super) struct Events {
    from: Timestamp,
    to: Timestamp,
    packed: Vec<Packed>,
}

impl Events {
    pub fn new(window: Window, capacity: usize) -> Self {
        Self { from: window.from(), to: window.to(), packed: Vec::with_capacity(capacity) }
    }

    /// Adds an event at `at`, moved to the window's start when earlier; one at or after its end is left out.
    pub fn push(&mut self, at: Timestamp, kind: Kind, position: usize) {
        if at >= self.to {
            return;
        }
        let since = u64::try_from(at - self.from).unwrap_or(0);
        let code = ((kind as u32) << POSITION_BITS) | u32::try_from(position & MAX_POSITION).unwrap_or(0);
        self.packed.push([(since >> 32) as u32, since as u32, code]);
    }

    /// Sorts by time, then kind.
    pub fn sort(&mut self) {
        let whole = u64::try_from(self.to - self.from).unwrap_or(0);
        let bits = u64::BITS - whole.leading_zeros();
        sort_spread(&mut self.packed, bits, since, |event| (since(event), event[2]));
    }

    /// The events in order.
    pub fn iter(&self) -> impl Iterator<Item = (Timestamp, Kind, usize)> + '_ {
        self.packed.iter().map(|event| {
            let at = self.from + i64::try_from(since(event)).unwrap_or(i64::MAX);
            let code = event[2];
            let kind = KINDS[(code >> POSITION_BITS) as usize % KINDS.len()];
            (at, kind, code as usize & MAX_POSITION)
        })
    }
}
