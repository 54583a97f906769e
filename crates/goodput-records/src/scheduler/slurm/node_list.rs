//! Host-list expressions: `gpu[001-004,007],a100-1`.

use goodput_core::records::{FleetRecords, NodeSet, Symbol};
use rustc_hash::FxHashMap;

use super::times::quoted;

/// Nodes that one list may name. The largest machines have some 160,000.
pub const MAX_NODES: usize = 262_144;

/// Nodes that all lists of one file may name together, so that a hostile file cannot take all memory.
const MAX_NODES_IN_ALL: usize = 64 * 1024 * 1024;

/// Why a text is no node list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeListError {
    /// Brackets or ranges that do not fit together.
    #[error("{0:?} is no node list: expected names such as gpu[001-004,007],a100-1")]
    Malformed(String),
    /// More nodes than any cluster has.
    #[error("{0:?} names more than {MAX_NODES} nodes")]
    TooMany(String),
}

/// The names in a host-list expression, in the order of the text; none for Slurm's words for
/// "no node" (empty, `None assigned`, `(null)`, `None`, `N/A`).
///
/// ```
/// use goodput_records::scheduler::slurm::node_list::expand;
/// assert_eq!(expand("gpu[008-010],a100-1")?, ["gpu008", "gpu009", "gpu010", "a100-1"]);
/// assert_eq!(expand("r[1-2]n[0,5]")?, ["r1n0", "r1n5", "r2n0", "r2n5"]);
/// assert!(expand("n[1-999999999]").is_err());
/// # Ok::<(), goodput_records::scheduler::slurm::node_list::NodeListError>(())
/// ```
///
/// # Errors
/// [`NodeListError`] when brackets or ranges are malformed, or the list names more than
/// [`MAX_NODES`] nodes.
pub fn expand(text: &str) -> Result<Vec<String>, NodeListError> {
    let text = text.trim();
    let mut names = Vec::new();
    if matches!(text, "" | "None assigned" | "(null)" | "None" | "N/A") {
        return Ok(names);
    }
    let fault = |fault| match fault {
        Fault::Malformed => NodeListError::Malformed(quoted(text.as_bytes())),
        Fault::TooMany => NodeListError::TooMany(quoted(text.as_bytes())),
    };
    for term in outer_terms(text) {
        expand_term(term.map_err(fault)?, &mut names).map_err(fault)?;
    }
    Ok(names)
}

enum Fault {
    Malformed,
    TooMany,
}

/// The parts between commas that stand outside brackets.
fn outer_terms(text: &str) -> impl Iterator<Item = Result<&str, Fault>> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let current = rest?;
        let mut is_inside = false;
        for (at, byte) in current.bytes().enumerate() {
            match byte {
                b'[' if !is_inside => is_inside = true,
                b']' if is_inside => is_inside = false,
                b'[' | b']' => {
                    rest = None;
                    return Some(Err(Fault::Malformed));
                }
                b',' if !is_inside => {
                    rest = Some(&current[at + 1..]);
                    return Some(Ok(&current[..at]));
                }
                _ => {}
            }
        }
        rest = None;
        Some(if is_inside { Err(Fault::Malformed) } else { Ok(current) })
    })
}

/// One term: literal text and bracketed sets in turn, each set multiplying the names so far.
fn expand_term(term: &str, names: &mut Vec<String>) -> Result<(), Fault> {
    let mut prefixes = vec![String::new()];
    let mut rest = term;
    while let Some((literal, tail)) = rest.split_once('[') {
        let (set, tail) = tail.split_once(']').ok_or(Fault::Malformed)?;
        let members = members(set, MAX_NODES / prefixes.len())?;
        prefixes = prefixes
            .iter()
            .flat_map(|prefix| members.iter().map(move |member| format!("{prefix}{literal}{member}")))
            .collect();
        rest = tail;
    }
    if term.is_empty() || term.contains(char::is_whitespace) {
        return Err(Fault::Malformed);
    }
    if names.len() + prefixes.len() > MAX_NODES {
        return Err(Fault::TooMany);
    }
    names.extend(prefixes.into_iter().map(|prefix| prefix + rest));
    Ok(())
}

/// The members of a bracketed set, ranges counted out with their zero padding.
fn members(set: &str, most: usize) -> Result<Vec<String>, Fault> {
    let mut members = Vec::new();
    for part in set.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (number(first)?, number(last)?);
        if from > to {
            return Err(Fault::Malformed);
        }
        if to - from >= most.saturating_sub(members.len()) as u64 {
            return Err(Fault::TooMany);
        }
        let width = first.len();
        members.extend((from..=to).map(|n| format!("{n:0width$}")));
    }
    Ok(members)
}

fn number(digits: &str) -> Result<u64, Fault> {
    super::times::whole_number(digits.as_bytes()).ok_or(Fault::Malformed)
}

/// Node sets of one file: equal lists share one handle.
#[derive(Debug, Default)]
pub struct NodeLists {
    by_text: FxHashMap<Box<str>, NodeSet>,
    by_nodes: FxHashMap<Box<[Symbol]>, NodeSet>,
    nodes_in_all: usize,
}

impl NodeLists {
    /// The handle of the set that `text` names, added to `records` if it is new.
    ///
    /// # Errors
    /// As [`expand`], and when all lists together name more nodes than a file can.
    pub fn set(&mut self, text: &str, records: &mut FleetRecords) -> Result<NodeSet, NodeListError> {
        if let Some(&set) = self.by_text.get(text) {
            return Ok(set);
        }
        let mut nodes: Vec<Symbol> = expand(text)?.iter().map(|name| records.symbols.intern(name)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let set =
            self.set_of(nodes, records).ok_or_else(|| NodeListError::TooMany(quoted(text.as_bytes())))?;
        self.by_text.insert(text.into(), set);
        Ok(set)
    }

    fn set_of(&mut self, nodes: Vec<Symbol>, records: &mut FleetRecords) -> Option<NodeSet> {
        if nodes.is_empty() {
            return Some(NodeSet::NONE);
        }
        if let Some(&set) = self.by_nodes.get(nodes.as_slice()) {
            return Some(set);
        }
        self.nodes_in_all += nodes.len();
        if self.nodes_in_all > MAX_NODES_IN_ALL {
            return None;
        }
        if records.node_sets.is_empty() {
            records.node_sets.push(Vec::new());
        }
        let set = NodeSet(u32::try_from(records.node_sets.len()).ok()?);
        self.by_nodes.insert(nodes.as_slice().into(), set);
        records.node_sets.push(nodes);
        Some(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("gpu001", &["gpu001"])]
    #[case("gpu[001-003,007]", &["gpu001", "gpu002", "gpu003", "gpu007"])]
    #[case("a100-[1-2],gpu[09-10]", &["a100-1", "a100-2", "gpu09", "gpu10"])]
    #[case("n[98-101]", &["n98", "n99", "n100", "n101"])]
    #[case("rack[1-2]-node[1-2]-x", &["rack1-node1-x", "rack1-node2-x", "rack2-node1-x", "rack2-node2-x"])]
    #[case("None assigned", &[])]
    fn lists(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(expand(text).unwrap(), expected);
    }

    #[rstest]
    #[case("gpu[001")]
    #[case("gpu001]")]
    #[case("gpu[[1-2]]")]
    #[case("gpu[5-2]")]
    #[case("gpu[a-b]")]
    #[case("gpu[]")]
    #[case("a,,b")]
    #[case("a b")]
    fn malformed_lists_are_refused(#[case] text: &str) {
        assert!(matches!(expand(text), Err(NodeListError::Malformed(_))), "{text}");
    }

    #[rstest]
    #[case("n[1-999999999]")]
    #[case("n[1-1000]m[1-1000]")]
    #[case("n[1-200000],m[1-200000]")]
    #[case("n[1-200000,300000-500000]")]
    fn lists_larger_than_any_cluster_are_refused(#[case] text: &str) {
        assert!(matches!(expand(text), Err(NodeListError::TooMany(_))), "{text}");
    }

    #[test]
    fn equal_sets_share_a_handle() {
        let mut records = FleetRecords::new();
        let mut lists = NodeLists::default();
        let set = lists.set("n[1-2]", &mut records).unwrap();
        assert_eq!(lists.set("n2,n1", &mut records).unwrap(), set);
        assert_eq!(lists.set("", &mut records).unwrap(), NodeSet::NONE);
        assert_eq!(records.node_set(set).len(), 2);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z0-9,\\[\\]-]{0,30}|\\PC{0,20}") {
            if let Ok(names) = expand(&text) {
                prop_assert!(names.len() <= MAX_NODES);
            }
        }

        #[test]
        fn a_range_counts_its_members(from in 0_usize..500, length in 1_usize..500) {
            let names = expand(&format!("n[{from:04}-{:04}]", from + length - 1)).unwrap();
            prop_assert_eq!(names.len(), length);
            prop_assert!(names.iter().all(|name| name.len() == 5));
        }
    }
}
