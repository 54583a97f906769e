//! What a step should contain against what its trace shows.

use super::{Expected, Mesh, Observed, Settled};
use crate::trace::CollectiveKind;

/// Sizes within this share are the same: frameworks pad messages.
const SAME_SIZE: f64 = 0.02;
/// Totals within this share are the same: padding, and scalars summed beside them.
const SAME_TOTAL: f64 = 0.05;
/// Unexpected messages below this are no finding: norms of gradients, losses, counts of tokens.
const SMALL_BYTES: u64 = 65_536;

/// The audit of one step of one rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// What was expected, and what became of it.
    pub lines: Vec<Line>,
    /// What was not expected.
    pub extra: Vec<Extra>,
    /// Axes meant to stay within a node that span several.
    pub misplaced: Vec<Misplaced>,
}

/// An expected exchange, and what the trace shows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What was expected.
    pub expected: Expected,
    /// How many the trace shows.
    pub count: u64,
    /// Bytes of all of them, as far as the trace tells sizes.
    pub bytes: u64,
    /// The comparison.
    pub verdict: Verdict,
}

/// How an expected exchange compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As expected.
    AsExpected,
    /// This many are missing.
    Missing(u64),
    /// They have another size, in bytes each; of exchanges settled by their total, in bytes of all.
    OtherSize(u64),
    /// They run on another group.
    OtherAxis {
        /// Its axes, or what the trace calls it.
        axis: String,
        /// Nodes that it spans, when its ranks are known.
        nodes: Option<usize>,
    },
}

/// An exchange that nothing in the plan explains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extra {
    /// What the trace shows; its count is what is left over.
    pub observed: Observed,
    /// Its axes, when the mesh has them.
    pub axis: Option<String>,
    /// Nodes that it spans, when its ranks are known.
    pub nodes: Option<usize>,
    /// What it looks like.
    pub looks_like: LooksLike,
}

/// What an unexpected exchange looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LooksLike {
    /// So many in each layer: annotations conflict, and tensors change their layout back and forth.
    Resharding {
        /// Exchanges of each layer.
        per_layer: u64,
    },
    /// A few numbers: norms, losses, counts.
    Bookkeeping,
    /// Nothing known.
    Unknown,
}

/// An axis meant to stay within a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misplaced {
    /// The axis.
    pub axis: String,
    /// Nodes that its widest group spans.
    pub nodes: usize,
}

impl Audit {
    /// Whether the step communicates what the plan says and nothing else of size.
    pub fn is_clean(&self) -> bool {
        self.misplaced.is_empty()
            && self.lines.iter().all(|line| line.verdict == Verdict::AsExpected)
            && self.extra.iter().all(|extra| extra.looks_like == LooksLike::Bookkeeping)
    }
}

/// Compares one step of one rank, which holds `layers` layers.
pub fn compare(mesh: &Mesh, expected: &[Expected], observed: &[Observed], layers: usize) -> Audit {
    let mut left: Vec<Left> = observed.iter().map(|observed| Left::of(mesh, expected, observed)).collect();
    let mut lines: Vec<Line> = expected
        .iter()
        .map(|expected| Line {
            expected: expected.clone(),
            count: 0,
            bytes: 0,
            verdict: Verdict::Missing(expected.count_per_step),
        })
        .collect();
    // What the plan settles fully takes its own first, so that totals do not take it.
    for settled in [Settled::Fully, Settled::Count, Settled::Total] {
        for line in lines.iter_mut().filter(|line| line.expected.settled == settled) {
            line.take(&mut left);
        }
    }
    for line in &mut lines {
        line.explain_missing(mesh, &mut left);
    }
    let extra = left.iter().filter(|left| left.count > 0).map(|left| left.extra(mesh, layers)).collect();
    let within = mesh.axes.iter().filter(|axis| axis.within_node);
    let spans = within
        .map(|axis| Misplaced { axis: axis.name.clone(), nodes: mesh.nodes_spanned(&[axis.name.as_str()]) });
    Audit { lines, extra, misplaced: spans.filter(|axis| axis.nodes > 1).collect() }
}

/// Observed exchanges that no line has taken yet.
struct Left<'a> {
    observed: &'a Observed,
    axis: Option<String>,
    count: u64,
}

impl<'a> Left<'a> {
    /// The axis by the group's ranks, else by its name, else by its size if only one expected axis has it.
    fn of(mesh: &Mesh, expected: &[Expected], observed: &'a Observed) -> Self {
        let by_ranks = || mesh.axes_of(observed.ranks.as_deref()?).map(|axes| axes.join("+"));
        let named = |expected: &&Expected| observed.group.as_deref() == Some(expected.axis().as_str());
        let sized = |expected: &&Expected| {
            Some(expected.group_size) == observed.group_size && expected.operation == observed.operation
        };
        let by_size = || {
            let mut axes: Vec<_> = expected.iter().filter(sized).map(Expected::axis).collect();
            axes.sort_unstable();
            axes.dedup();
            if axes.len() == 1 { axes.pop() } else { None }
        };
        let axis = match observed.ranks {
            Some(_) => by_ranks(),
            None => expected.iter().find(named).map(Expected::axis).or_else(by_size),
        };
        Self { observed, axis, count: observed.count }
    }

    fn is_small(&self) -> bool {
        self.observed.bytes.is_some_and(|bytes| bytes < SMALL_BYTES)
    }

    fn is_of(&self, expected: &Expected) -> bool {
        self.observed.operation == expected.operation
    }

    fn is_along(&self, expected: &Expected) -> bool {
        self.axis.as_deref() == Some(expected.axis().as_str())
    }

    fn has_size_of(&self, expected: &Expected) -> bool {
        self.observed.bytes.is_none_or(|bytes| is_close(bytes, expected.bytes_each, SAME_SIZE))
    }

    fn extra(&self, mesh: &Mesh, layers: usize) -> Extra {
        let layers = layers as u64;
        let is_layered = layers > 0 && self.count.is_multiple_of(layers);
        let looks_like = match self.observed.operation {
            _ if self.is_small() => LooksLike::Bookkeeping,
            CollectiveKind::AllGather | CollectiveKind::AllToAll if is_layered => {
                LooksLike::Resharding { per_layer: self.count / layers }
            }
            _ => LooksLike::Unknown,
        };
        Extra {
            observed: Observed { count: self.count, ..self.observed.clone() },
            axis: self.axis.clone(),
            nodes: self.observed.ranks.as_deref().map(|ranks| mesh.nodes_of(ranks)),
            looks_like,
        }
    }
}

impl Line {
    /// Takes what is the line's own.
    fn take(&mut self, left: &mut [Left<'_>]) {
        let expected = self.expected.clone();
        let is_own = |left: &&mut Left<'_>| {
            let fits = match expected.settled {
                Settled::Fully => left.has_size_of(&expected),
                Settled::Total | Settled::Count => !left.is_small() || expected.bytes_each < SMALL_BYTES,
            };
            left.is_of(&expected) && left.is_along(&expected) && fits
        };
        for left in left.iter_mut().filter(is_own) {
            let wanted = match expected.settled {
                Settled::Total => left.count,
                Settled::Fully | Settled::Count => left.count.min(expected.count_per_step - self.count),
            };
            left.count -= wanted;
            self.count += wanted;
            self.bytes = self.bytes.saturating_add(wanted.saturating_mul(left.observed.bytes.unwrap_or(0)));
        }
        let missing = expected.count_per_step.saturating_sub(self.count);
        self.verdict = match expected.settled {
            _ if self.count == 0 => Verdict::Missing(expected.count_per_step),
            Settled::Total
                if self.bytes > 0 && !is_close(self.bytes, expected.bytes_per_step(), SAME_TOTAL) =>
            {
                Verdict::OtherSize(self.bytes)
            }
            Settled::Fully | Settled::Count if missing > 0 => Verdict::Missing(missing),
            _ => Verdict::AsExpected,
        };
    }

    /// What is missing may be there in another size, or on another group.
    fn explain_missing(&mut self, mesh: &Mesh, left: &mut [Left<'_>]) {
        let Verdict::Missing(missing) = self.verdict else { return };
        let expected = &self.expected;
        let fits = |left: &Left<'_>| left.count == missing && left.is_of(expected) && !left.is_small();
        let resized = |left: &Left<'_>| fits(left) && left.is_along(expected);
        let moved = |left: &Left<'_>| fits(left) && !left.is_along(expected) && left.has_size_of(expected);
        let Some(found) = left.iter().position(resized).or_else(|| left.iter().position(moved)) else {
            return;
        };
        let found = &mut left[found];
        self.verdict = match found.observed.bytes {
            Some(bytes) if found.is_along(expected) => Verdict::OtherSize(bytes),
            _ => Verdict::OtherAxis {
                axis: (found.axis.clone().or_else(|| found.observed.group.clone()))
                    .unwrap_or_else(|| "unknown".to_owned()),
                nodes: found.observed.ranks.as_deref().map(|ranks| mesh.nodes_of(ranks)),
            },
        };
        self.count += found.count;
        self.bytes = self.bytes.saturating_add(found.count.saturating_mul(found.observed.bytes.unwrap_or(0)));
        found.count = 0;
    }
}

fn is_close(found: u64, expected: u64, share: f64) -> bool {
    found.abs_diff(expected) as f64 <= share * expected as f64
}
