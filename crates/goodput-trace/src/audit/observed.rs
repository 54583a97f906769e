//! The exchanges that a trace shows.

use std::collections::BTreeMap;

use crate::peers::message_bytes;
use crate::trace::{CollectiveKind, RankTrace};

/// Exchanges of one kind, group and size that a step of a trace contains.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Observed {
    /// Which exchange.
    pub operation: CollectiveKind,
    /// Ranks of the group, when the trace lists them.
    pub ranks: Option<Vec<u32>>,
    /// Size of the group, when the trace tells.
    pub group_size: Option<u32>,
    /// What the group is for, or its name, when the trace tells.
    pub group: Option<String>,
    /// Bytes of the whole message, when the trace tells.
    pub bytes: Option<u64>,
    /// How many.
    pub count: u64,
}

/// The exchanges among pieces of device work, by index: those of one step of one rank.
pub fn observed(trace: &RankTrace, work: impl IntoIterator<Item = usize>) -> Vec<Observed> {
    let mut counts: BTreeMap<Observed, u64> = BTreeMap::new();
    for work in work.into_iter().filter_map(|index| trace.work.get(index)) {
        if work.class != crate::class::Class::Communication {
            continue;
        }
        let operation = trace.collective_kind(work);
        let args = trace.collective_of(work);
        let key = Observed {
            operation,
            ranks: args.and_then(|args| args.ranks.clone()),
            group_size: args.and_then(|args| args.group_size),
            group: (args.and_then(|args| args.description.or(args.group)))
                .map(|symbol| trace.name(symbol).to_owned()),
            bytes: args.and_then(|args| message_bytes(trace, operation, args)),
            count: 0,
        };
        *counts.entry(key).or_default() += 1;
    }
    counts.into_iter().map(|(key, count)| Observed { count, ..key }).collect()
}
