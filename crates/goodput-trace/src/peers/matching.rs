//! The same exchange on all of its members.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::NotSplitReason;
use super::align::{Item, align};
use super::exchange::Exchange;
use super::group::Group;
use crate::trace::{CollectiveKind, Epoch, RankTrace};

/// An exchange and the kernels that took part: `(trace, index of its exchange)`, by trace for a collective, sender
/// first for a pair.
#[derive(Debug, Clone)]
pub(super) struct Joined {
    pub group: u32,
    pub kind: CollectiveKind,
    pub role: Role,
    pub members: Vec<(u32, u32)>,
    pub obstacle: Option<NotSplitReason>,
}

/// Which rule an exchange obeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// All members take part alike.
    Collective,
    /// Two neighbours in a pipeline exchange in one kernel: each waits for the other.
    Neighbours,
    /// A sender and a receiver.
    Pair,
}

/// The exchanges of a set of traces, and what they need to be told apart.
pub(super) struct Matching<'a> {
    pub traces: &'a [RankTrace],
    pub groups: &'a [Group],
    pub exchanges: &'a [Vec<Exchange>],
}

/// Exchanges of one trace by index.
type OfTrace = (u32, Vec<u32>);
/// Between which ranks of which group.
type Route = (u32, u32, u32);

impl Matching<'_> {
    /// Every communication kernel of every trace, once.
    pub fn join(&self) -> Vec<Joined> {
        let mut collectives: Vec<Vec<OfTrace>> = vec![Vec::new(); self.groups.len()];
        let mut routes: FxHashMap<Route, [Vec<(u32, u32)>; 2]> = FxHashMap::default();
        let mut alone = Vec::new();
        for (trace, exchanges) in (0..).zip(self.exchanges) {
            for (index, exchange) in (0..).zip(exchanges) {
                let Some(group) = self.groups.get(exchange.group as usize) else { continue };
                match self.rule(trace, exchange, group) {
                    Rule::All => {
                        if let Some(rows) = collectives.get_mut(exchange.group as usize) {
                            match rows.last_mut() {
                                Some((last, of_trace)) if *last == trace => of_trace.push(index),
                                _ => rows.push((trace, vec![index])),
                            }
                        }
                    }
                    Rule::Between(source, destination) => {
                        let [sends, receives] =
                            routes.entry((exchange.group, source, destination)).or_default();
                        let side = if exchange.kind == CollectiveKind::Send { sends } else { receives };
                        side.push((trace, index));
                    }
                    Rule::Unknown => alone.push(Joined {
                        group: exchange.group,
                        kind: exchange.kind,
                        role: Role::Pair,
                        members: vec![(trace, index)],
                        obstacle: Some(NotSplitReason::UnknownPeer),
                    }),
                }
            }
        }
        let mut joined: Vec<Joined> =
            collectives.par_iter().map(|rows| self.join_collectives(rows)).collect::<Vec<_>>().concat();
        let mut routes: Vec<_> = routes.into_iter().collect();
        routes.sort_unstable_by_key(|&(route, _)| route);
        joined.extend(routes.iter().flat_map(|(route, sides)| self.join_route(*route, sides)));
        joined.extend(alone);
        joined
    }

    fn exchange(&self, (trace, index): (u32, u32)) -> &Exchange {
        &self.exchanges[trace as usize][index as usize]
    }

    fn items(&self, members: &[(u32, u32)]) -> Vec<Item> {
        members
            .iter()
            .map(|&member| {
                let exchange = self.exchange(member);
                Item { signature: exchange.signature, step: exchange.step, end_ns: exchange.end_ns }
            })
            .collect()
    }

    fn is_one_clock(&self, left: u32, right: u32) -> bool {
        [left, right].iter().all(|&trace| self.traces[trace as usize].epoch == Epoch::Unix)
    }

    /// The collectives of one group, of each trace in the order of its starts.
    fn join_collectives(&self, rows: &[OfTrace]) -> Vec<Joined> {
        let all = rows.iter().flat_map(|(trace, indices)| indices.iter().map(|&index| (*trace, index)));
        let members = match self.by_sequence(all) {
            Some(members) => members,
            None => self.by_order(rows),
        };
        members.into_iter().filter_map(|members| self.collective(members)).collect()
    }

    /// Members by sequence number: `None` unless every one has a number that is unique within its trace. A graph that
    /// is replayed repeats its numbers.
    fn by_sequence(&self, members: impl Iterator<Item = (u32, u32)>) -> Option<Vec<Vec<(u32, u32)>>> {
        let mut numbered = members
            .map(|member| Some((self.exchange(member).sequence?, member)))
            .collect::<Option<Vec<_>>>()?;
        numbered.sort_unstable();
        let is_unique = numbered.windows(2).all(|pair| (pair[0].0, pair[0].1.0) != (pair[1].0, pair[1].1.0));
        is_unique.then(|| {
            numbered
                .chunk_by(|left, right| left.0 == right.0)
                .map(|members| members.iter().map(|&(_, member)| member).collect())
                .collect()
        })
    }

    /// Members by order: each trace is aligned with the one that has most. What that one lacks is incomplete anyway.
    fn by_order(&self, rows: &[OfTrace]) -> Vec<Vec<(u32, u32)>> {
        let members = |(trace, indices): &OfTrace| -> Vec<(u32, u32)> {
            indices.iter().map(|&index| (*trace, index)).collect()
        };
        let Some(reference) =
            rows.iter().max_by_key(|(trace, indices)| (indices.len(), std::cmp::Reverse(*trace)))
        else {
            return Vec::new();
        };
        let items = self.items(&members(reference));
        let partners: Vec<Vec<Option<u32>>> = rows
            .par_iter()
            .map(|row| {
                if row.0 == reference.0 {
                    return (0..).take(row.1.len()).map(Some).collect();
                }
                align(&items, &self.items(&members(row)), self.is_one_clock(reference.0, row.0))
            })
            .collect();
        let mut joined: Vec<Vec<(u32, u32)>> = vec![Vec::with_capacity(rows.len()); items.len()];
        for (row, partners) in rows.iter().zip(partners) {
            for (member, partner) in members(row).into_iter().zip(partners) {
                match partner.and_then(|partner| joined.get_mut(partner as usize)) {
                    Some(members) => members.push(member),
                    None => joined.push(vec![member]),
                }
            }
        }
        joined
    }

    fn collective(&self, members: Vec<(u32, u32)>) -> Option<Joined> {
        let first = self.exchange(*members.first()?);
        let group = self.groups.get(first.group as usize)?;
        let is_alike = members.iter().all(|&member| self.exchange(member).signature == first.signature);
        let is_neighbours = first.kind == CollectiveKind::SendReceive && group.is_pipeline();
        let obstacle = if first.kind == CollectiveKind::Unknown {
            Some(NotSplitReason::UnknownKind)
        } else if !first.kind.synchronises() {
            Some(NotSplitReason::NotSynchronising)
        } else if group.obstacle.is_some() {
            group.obstacle
        } else if members.len() < group.required(self.traces.len()) {
            Some(NotSplitReason::NotRecorded)
        } else if !is_alike {
            Some(NotSplitReason::Differing)
        } else {
            None
        };
        let role = if is_neighbours { Role::Neighbours } else { Role::Collective };
        Some(Joined { group: first.group, kind: first.kind, role, members, obstacle })
    }

    fn rule(&self, trace: u32, exchange: &Exchange, group: &Group) -> Rule {
        let own = self.traces.get(trace as usize).and_then(|trace| trace.identity.rank);
        // With two members the other one is the peer.
        let other = match (own, group.ranks.as_deref()) {
            (Some(own), Some(&[left, right])) if own == left => Some(right),
            (Some(own), Some(&[left, right])) if own == right => Some(left),
            _ => None,
        };
        let ends = match exchange.kind {
            CollectiveKind::Send => (exchange.source, exchange.destination.or(other)),
            CollectiveKind::Receive => (exchange.source.or(other), exchange.destination),
            CollectiveKind::SendReceive if group.is_pipeline() && group.size != Some(2) => (None, None),
            _ => return Rule::All,
        };
        match ends {
            (Some(source), Some(destination)) => Rule::Between(source, destination),
            _ => Rule::Unknown,
        }
    }

    fn join_route(&self, (group, source, destination): Route, sides: &[Vec<(u32, u32)>; 2]) -> Vec<Joined> {
        let [sends, receives] = sides;
        let is_given = |rank: u32| self.traces.iter().any(|trace| trace.identity.rank == Some(rank));
        let lonely = if is_given(source) && is_given(destination) {
            NotSplitReason::NotRecorded
        } else {
            NotSplitReason::MissingTrace
        };
        let pair = |members: Vec<(u32, u32)>, kind: CollectiveKind| {
            let obstacle = (members.len() < 2).then_some(lonely);
            Joined { group, kind, role: Role::Pair, members, obstacle }
        };
        let mut senders = self.senders(sends, receives).into_iter();
        let mut is_paired = vec![false; sends.len()];
        let mut joined = Vec::with_capacity(sends.len().max(receives.len()));
        for &receive in receives {
            match senders.next().flatten().and_then(|at| Some((at as usize, *sends.get(at as usize)?))) {
                Some((at, send)) => {
                    is_paired[at] = true;
                    joined.push(pair(vec![send, receive], CollectiveKind::Send));
                }
                None => joined.push(pair(vec![receive], CollectiveKind::Receive)),
            }
        }
        let unpaired = sends.iter().zip(is_paired).filter(|(_, is_paired)| !is_paired);
        joined.extend(unpaired.map(|(&send, _)| pair(vec![send], CollectiveKind::Send)));
        joined
    }

    /// For each receive the index of its send. Numbers count where both sides agree on all of them in the range that
    /// both captured: in a group of more than two they may count the exchanges with other ranks too.
    fn senders(&self, sends: &[(u32, u32)], receives: &[(u32, u32)]) -> Vec<Option<u32>> {
        let numbers = |side: &[(u32, u32)]| {
            side.iter().map(|&member| self.exchange(member).sequence).collect::<Option<Vec<u64>>>()
        };
        if let (Some(sent), Some(received)) = (numbers(sends), numbers(receives))
            && agree(&sent, &received)
        {
            let by_number: FxHashMap<u64, u32> = sent.into_iter().zip(0..).collect();
            return received.iter().map(|number| by_number.get(number).copied()).collect();
        }
        let one_clock = match (sends.first(), receives.first()) {
            (Some(&(sender, _)), Some(&(receiver, _))) => self.is_one_clock(sender, receiver),
            _ => false,
        };
        align(&self.items(sends), &self.items(receives), one_clock)
    }
}

/// Who takes part in an exchange.
enum Rule {
    /// All members of the group.
    All,
    /// A sender and a receiver.
    Between(u32, u32),
    /// The trace does not tell the peer.
    Unknown,
}

/// Whether two sets of numbers are unique and equal in the range that both cover.
fn agree(left: &[u64], right: &[u64]) -> bool {
    let sorted = |side: &[u64]| {
        let mut side = side.to_vec();
        side.sort_unstable();
        side
    };
    let (left, right) = (sorted(left), sorted(right));
    let (Some(from), Some(to)) = (left.first().max(right.first()), left.last().min(right.last())) else {
        return false;
    };
    let within = |side: &[u64]| -> Vec<u64> {
        side.iter().copied().filter(|number| (from..=to).contains(&number)).collect()
    };
    let (left, right) = (within(&left), within(&right));
    !left.is_empty() && left == right && left.is_sorted_by(|a, b| a < b)
}
