//! Waiting for peers against transfer.
//!
//! Nobody finishes a synchronising collective before the last member has come: `[start, last start)` waits, the rest
//! transfers. A receive waits for the start of its send. A send waits for the start of its receive, but no longer than
//! leaves time for the fastest transfer of such a message: a send whose data a buffer took waits for nobody.

use rustc_hash::FxHashMap;

use super::clock::{Clocks, spread};
use super::exchange::Exchange;
use super::matching::{Joined, Role};
use super::{Member, NotSplitReason};
use crate::partition::{Split, WaitKind};
use crate::trace::CollectiveKind;

/// One exchange over its members. Instants are on the corrected clock that the members share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Index into [`PeerAnalysis::groups`](super::PeerAnalysis::groups).
    pub group: u32,
    /// Which exchange; [`CollectiveKind::Send`] for a sender and its receiver.
    pub kind: CollectiveKind,
    /// The kernels that took part, by trace; of a sender and its receiver the sender first.
    pub members: Vec<Member>,
    /// The first start, in nanoseconds.
    pub first_start_ns: i64,
    /// The last start, in nanoseconds.
    pub last_start_ns: i64,
    /// The trace that started last; of several the first.
    pub last: u32,
    /// Latest end minus earliest end, in nanoseconds.
    pub end_spread_ns: i64,
    /// Median end in nanoseconds, the lower one of two.
    pub median_end_ns: i64,
    /// Duration of the shortest member, in nanoseconds.
    pub shortest_ns: i64,
    /// Duration of the longest member, in nanoseconds.
    pub longest_ns: i64,
    /// What a member waits for, or why it is not divided.
    pub outcome: Result<WaitKind, NotSplitReason>,
}

impl Match {
    /// Last start minus first start, in nanoseconds.
    pub fn skew_ns(&self) -> i64 {
        self.last_start_ns.saturating_sub(self.first_start_ns)
    }

    /// From the last start to the median end, in nanoseconds: what the exchange itself took.
    pub fn transfer_ns(&self) -> i64 {
        self.median_end_ns.saturating_sub(self.last_start_ns).max(0)
    }
}

/// The fastest send of each size between two ranks, the receiver being there, in nanoseconds.
#[derive(Default)]
pub(super) struct FastestSends(FxHashMap<(u32, u32, u64), i64>);

impl FastestSends {
    pub fn among(joined: &[Joined], exchanges: &[Vec<Exchange>], clocks: &Clocks) -> Self {
        let mut fastest = Self::default();
        for pair in joined.iter().filter(|pair| pair.role == Role::Pair && pair.obstacle.is_none()) {
            let &[send, receive] = pair.members.as_slice() else { continue };
            let [sent, received] = [send, receive].map(|(trace, at)| &exchanges[trace as usize][at as usize]);
            if clocks.corrected_ns(receive.0, received.start_ns) <= clocks.corrected_ns(send.0, sent.start_ns)
            {
                let slot = fastest.0.entry((send.0, receive.0, sent.signature)).or_insert(i64::MAX);
                *slot = sent.duration_ns().min(*slot);
            }
        }
        fastest
    }

    /// Zero when none is known.
    fn of(&self, send: &Exchange, pair: &Joined) -> i64 {
        let &[(sender, _), (receiver, _)] = pair.members.as_slice() else { return 0 };
        self.0.get(&(sender, receiver, send.signature)).copied().unwrap_or(0)
    }
}

/// Divides an exchange: the match, and the splits of its members, none when it is not divided.
pub(super) fn divide(
    joined: &Joined,
    exchanges: &[Vec<Exchange>],
    clocks: &Clocks,
    fastest: &FastestSends,
) -> (Match, Vec<Split>) {
    let exchange = |&(trace, index): &(u32, u32)| &exchanges[trace as usize][index as usize];
    let start = |member: &(u32, u32)| clocks.corrected_ns(member.0, exchange(member).start_ns);
    let end = |member: &(u32, u32)| clocks.corrected_ns(member.0, exchange(member).end_ns);
    let durations = || joined.members.iter().map(|member| exchange(member).duration_ns());
    let mut ends: Vec<i64> = joined.members.iter().map(end).collect();
    ends.sort_unstable();
    let (mut last, mut last_start_ns) = (0, i64::MIN);
    for member in &joined.members {
        let start_ns = start(member);
        if start_ns > last_start_ns {
            (last, last_start_ns) = (member.0, start_ns);
        }
    }
    let mut found = Match {
        group: joined.group,
        kind: joined.kind,
        members: joined
            .members
            .iter()
            .map(|member| Member { trace: member.0, work: exchange(member).work })
            .collect(),
        first_start_ns: joined.members.iter().map(start).min().unwrap_or(0),
        last_start_ns,
        last,
        end_spread_ns: spread(ends.iter().copied()),
        median_end_ns: ends.get(ends.len().saturating_sub(1) / 2).copied().unwrap_or(0),
        shortest_ns: durations().min().unwrap_or(0),
        longest_ns: durations().max().unwrap_or(0),
        outcome: Err(NotSplitReason::NotRecorded),
    };
    found.outcome = outcome(joined, &found, clocks, start, end);
    let Ok(wait) = found.outcome else { return (found, Vec::new()) };
    let splits = joined
        .members
        .iter()
        .enumerate()
        .map(|(at, member)| {
            let own = exchange(member);
            let (until_ns, wait) = match (joined.role, at) {
                (Role::Collective | Role::Neighbours, _) => (last_start_ns, wait),
                (Role::Pair, 0) => {
                    let until_ns = joined.members.get(1).map(start).filter(|&came_ns| came_ns < end(member));
                    let latest_ns = end(member).saturating_sub(fastest.of(own, joined));
                    (until_ns.map_or(i64::MIN, |came_ns| came_ns.min(latest_ns)), WaitKind::Peers)
                }
                (Role::Pair, _) => (joined.members.first().map_or(i64::MIN, start), WaitKind::Upstream),
            };
            let until_ns = clocks.own_ns(member.0, until_ns);
            Split { waits_until_ns: until_ns.min(own.end_ns).max(own.start_ns), wait }
        })
        .collect();
    (found, splits)
}

fn outcome(
    joined: &Joined,
    found: &Match,
    clocks: &Clocks,
    start: impl Fn(&(u32, u32)) -> i64,
    end: impl Fn(&(u32, u32)) -> i64,
) -> Result<WaitKind, NotSplitReason> {
    if let Some(reason) = joined.obstacle {
        return Err(reason);
    }
    let is_loose = match (joined.role, joined.members.as_slice()) {
        (Role::Pair, [send, receive]) => {
            if !clocks.share_clock(send.0, receive.0) {
                return Err(NotSplitReason::NoCommonClock);
            }
            // What is received has been sent.
            end(receive) < start(send)
        }
        _ => found.end_spread_ns > found.shortest_ns,
    };
    match joined.role {
        _ if is_loose => Err(NotSplitReason::LooseClocks),
        Role::Collective => Ok(WaitKind::Peers),
        Role::Neighbours | Role::Pair => Ok(WaitKind::Upstream),
    }
}
