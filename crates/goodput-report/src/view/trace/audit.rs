//! The collective audit in a view.

use goodput_trace::audit::{Audit, Extra, Line, LooksLike, Verdict};
use serde::Serialize;

/// What a step communicates against what its mesh and sharding ask for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditView {
    /// The rank that was audited.
    pub rank: u32,
    /// Its step.
    pub step: String,
    /// Whether the step communicates what the plan says and nothing else of size.
    pub clean: bool,
    /// Expected exchanges.
    pub lines: Vec<AuditLineView>,
    /// Exchanges that nothing in the plan explains.
    pub extra: Vec<AuditExtraView>,
    /// Axes meant to stay within a node that span several.
    pub misplaced: Vec<MisplacedAxisView>,
}

/// An expected exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditLineView {
    /// Kind.
    pub collective: &'static str,
    /// The same in words.
    pub label: &'static str,
    /// Axes of the mesh.
    pub axis: String,
    /// Members.
    pub group_size: u32,
    /// Nodes that a group spans.
    pub nodes: usize,
    /// How many a step should contain.
    pub expected_count: u64,
    /// Bytes of each.
    pub expected_bytes: u64,
    /// How many the trace shows.
    pub count: u64,
    /// Bytes of all that it shows.
    pub bytes: u64,
    /// `as_expected`, `missing`, `other_size` or `other_axis`.
    pub verdict: &'static str,
    /// The verdict in words.
    pub verdict_label: String,
    /// Which part of the plan asks for it.
    pub why: String,
}

/// An exchange that nothing explains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditExtraView {
    /// Kind.
    pub collective: &'static str,
    /// The same in words.
    pub label: &'static str,
    /// Axes of the mesh, or what the trace calls the group.
    pub group: String,
    /// Nodes that it spans, when known.
    pub nodes: Option<usize>,
    /// How many.
    pub count: u64,
    /// Bytes of each, when the trace tells.
    pub bytes: Option<u64>,
    /// `resharding`, `bookkeeping` or `unknown`.
    pub looks_like: &'static str,
    /// The same in words.
    pub looks_like_label: String,
}

/// An axis meant to stay within a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MisplacedAxisView {
    /// The axis.
    pub axis: String,
    /// Nodes that its widest group spans.
    pub nodes: usize,
}

impl AuditView {
    /// The view of the audit of one step of one rank.
    pub fn new(rank: u32, step: String, audit: &Audit) -> Self {
        Self {
            rank,
            step,
            clean: audit.is_clean(),
            lines: audit.lines.iter().map(AuditLineView::from).collect(),
            extra: audit.extra.iter().map(AuditExtraView::from).collect(),
            misplaced: audit
                .misplaced
                .iter()
                .map(|m| MisplacedAxisView { axis: m.axis.clone(), nodes: m.nodes })
                .collect(),
        }
    }
}

impl From<&Line> for AuditLineView {
    fn from(line: &Line) -> Self {
        let expected = &line.expected;
        let (verdict, verdict_label) = match &line.verdict {
            Verdict::AsExpected => ("as_expected", "as expected".to_owned()),
            Verdict::Missing(count) => ("missing", format!("{count} missing")),
            Verdict::OtherSize(bytes) => ("other_size", format!("other size: {bytes} bytes")),
            Verdict::OtherAxis { axis, nodes } => {
                let nodes = nodes.map_or_else(String::new, |nodes| format!(", over {nodes} nodes"));
                ("other_axis", format!("on another group: {axis}{nodes}"))
            }
        };
        Self {
            collective: expected.operation.key(),
            label: expected.operation.label(),
            axis: expected.axis(),
            group_size: expected.group_size,
            nodes: expected.nodes,
            expected_count: expected.count_per_step,
            expected_bytes: expected.bytes_each,
            count: line.count,
            bytes: line.bytes,
            verdict,
            verdict_label,
            why: expected.why.clone(),
        }
    }
}

impl From<&Extra> for AuditExtraView {
    fn from(extra: &Extra) -> Self {
        let observed = &extra.observed;
        let (looks_like, looks_like_label) = match extra.looks_like {
            LooksLike::Resharding { per_layer } => {
                ("resharding", format!("resharding: {per_layer} in every layer, annotations conflict"))
            }
            LooksLike::Bookkeeping => ("bookkeeping", "a few numbers: norms, losses, counts".to_owned()),
            LooksLike::Unknown => ("unknown", "not explained by the plan".to_owned()),
        };
        Self {
            collective: observed.operation.key(),
            label: observed.operation.label(),
            group: extra.axis.clone().or_else(|| observed.group.clone()).unwrap_or_default(),
            nodes: extra.nodes,
            count: observed.count,
            bytes: observed.bytes,
            looks_like,
            looks_like_label,
        }
    }
}
