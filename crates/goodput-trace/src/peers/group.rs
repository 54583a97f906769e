//! Which ranks exchange together.

use rustc_hash::FxHashMap;

use super::NotSplitReason;
use crate::trace::{CollectiveArgs, RankTrace};

/// Ranks that exchange together: a process group, or, where the trace names none, a stream over all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Name of the process group.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its ranks, when the traces list them.
    pub ranks: Option<Vec<u32>>,
    /// How many members it has, when the traces tell.
    pub size: Option<u32>,
    /// Traces in which it communicates, by index.
    pub traces: Vec<u32>,
    /// How its members are known.
    pub evidence: GroupEvidence,
    /// Why its exchanges cannot be split, whatever they are.
    pub(super) obstacle: Option<NotSplitReason>,
}

/// How the members of a group are known, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupEvidence {
    /// The traces list its ranks.
    Ranks,
    /// The traces tell its size.
    Size,
    /// The traces name no group: all ranks of the job, whose number they tell.
    World,
    /// The traces name no group and no number of ranks: all ranks given.
    Given,
}

/// What tells groups apart over all traces.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// Ranks with the same name may be members of different groups: PyTorch's split groups.
    Named(Option<String>, Option<Vec<u32>>),
    /// A stream by its place among those that communicate.
    Lane(u32),
}

/// The groups of all traces.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub rows: Vec<Group>,
    by_key: FxHashMap<Key, u32>,
}

impl Groups {
    /// The group that a collective's arguments name, `None` when they name none.
    pub fn named(&mut self, trace: u32, of: &RankTrace, args: &CollectiveArgs) -> Option<u32> {
        let name = args.group.map(|name| of.name(name)).filter(|name| !name.is_empty());
        if name.is_none() && args.ranks.is_none() {
            return None;
        }
        let listed = of.identity.groups.iter().find(|group| Some(group.name.as_str()) == name);
        let ranks = args
            .ranks
            .clone()
            .or_else(|| listed.map(|group| group.ranks.clone()).filter(|ranks| !ranks.is_empty()));
        let size = ranks
            .as_ref()
            .and_then(|ranks| u32::try_from(ranks.len()).ok())
            .or(args.group_size)
            .or_else(|| listed.and_then(|group| group.size));
        let description = args
            .description
            .map(|text| of.name(text).to_owned())
            .or_else(|| listed.map(|group| group.description.clone()))
            .filter(|text| !text.is_empty());
        let key = Key::Named(name.map(str::to_owned), ranks.clone());
        let evidence = if ranks.is_some() { GroupEvidence::Ranks } else { GroupEvidence::Size };
        Some(self.join(trace, key, || Group {
            name: name.map(str::to_owned),
            description,
            ranks,
            size,
            traces: Vec::new(),
            evidence,
            obstacle: None,
        }))
    }

    /// The group of a stream that communicates without naming one.
    pub fn lane(&mut self, trace: u32, of: &RankTrace, lane: u32, size: Option<u32>) -> u32 {
        let evidence = match (size, of.identity.world_size) {
            (Some(_), _) => GroupEvidence::Size,
            (None, Some(_)) => GroupEvidence::World,
            (None, None) => GroupEvidence::Given,
        };
        self.join(trace, Key::Lane(lane), || Group {
            name: None,
            description: None,
            ranks: None,
            size: size.or(of.identity.world_size),
            traces: Vec::new(),
            evidence,
            obstacle: None,
        })
    }

    fn join(&mut self, trace: u32, key: Key, new: impl FnOnce() -> Group) -> u32 {
        let rows = &mut self.rows;
        let index = *self.by_key.entry(key).or_insert_with(|| {
            rows.push(new());
            u32::try_from(rows.len() - 1).unwrap_or(u32::MAX)
        });
        if let Some(group) = self.rows.get_mut(index as usize)
            && group.traces.last() != Some(&trace)
        {
            group.traces.push(trace);
        }
        index
    }

    /// Settles, once all traces have joined, which groups have all their members here.
    pub fn settle(mut self, traces: &[RankTrace]) -> Vec<Group> {
        let is_divided = traces.iter().any(has_subgroups);
        for group in &mut self.rows {
            group.obstacle = obstacle(group, traces, is_divided);
        }
        self.rows
    }
}

/// Whether the job has groups that are neither all ranks nor one.
fn has_subgroups(trace: &RankTrace) -> bool {
    let world = trace.identity.world_size;
    trace.identity.groups.iter().any(|group| {
        let size = group.size.or_else(|| u32::try_from(group.ranks.len()).ok().filter(|&size| size > 0));
        size.is_some_and(|size| size > 1 && Some(size) != world)
    })
}

fn obstacle(group: &Group, traces: &[RankTrace], is_divided: bool) -> Option<NotSplitReason> {
    let here = u32::try_from(group.traces.len()).unwrap_or(u32::MAX);
    match group.evidence {
        GroupEvidence::Ranks => {
            let is_given = |rank: &u32| traces.iter().any(|trace| trace.identity.rank == Some(*rank));
            let all_given = group.ranks.iter().flatten().all(is_given);
            (!all_given).then_some(NotSplitReason::MissingTrace)
        }
        GroupEvidence::Size => match group.size {
            Some(size) if here < size => Some(NotSplitReason::MissingTrace),
            Some(size) if here == size => None,
            // Several groups of one name.
            _ => Some(NotSplitReason::UnknownGroup),
        },
        GroupEvidence::World | GroupEvidence::Given if is_divided => Some(NotSplitReason::UnknownGroup),
        GroupEvidence::World => group
            .size
            .is_some_and(|size| traces.len() < size as usize)
            .then_some(NotSplitReason::MissingTrace),
        GroupEvidence::Given => (traces.len() < 2).then_some(NotSplitReason::MissingTrace),
    }
}

impl Group {
    /// Members that an exchange must have to be complete.
    pub(super) fn required(&self, traces: usize) -> usize {
        match self.size {
            Some(size) => size as usize,
            None => traces,
        }
    }

    /// Whether it carries activations between the stages of a pipeline.
    pub fn is_pipeline(&self) -> bool {
        [&self.name, &self.description].into_iter().flatten().any(|text| {
            let text = text.to_ascii_lowercase();
            text.contains("pipeline") || text == "pp" || text.ends_with("_pp")
        })
    }
}
