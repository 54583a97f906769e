//! Nodes as JSON: `scontrol show node --json` (24.11) and the nodes of `sinfo --json` (22.05).

use goodput_core::Timestamp;
use goodput_core::records::FleetRecords;
use serde::Deserialize;

use super::node_state::NodeState;
use super::nodes::{Inventory, NodeRecord};
use super::reading::Reading;
use super::times::epoch_seconds;
use crate::ReadError;

#[derive(Deserialize)]
struct Document {
    nodes: Option<Vec<NodeObject>>,
    #[serde(default)]
    last_update: Number,
}

#[derive(Deserialize)]
struct NodeObject {
    #[serde(default)]
    name: String,
    state: Option<Words>,
    #[serde(default)]
    state_flags: Vec<String>,
    partitions: Option<Vec<String>>,
    #[serde(default)]
    tres: String,
    tres_used: Option<String>,
    #[serde(default)]
    gres: String,
    gres_used: Option<String>,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    reason_changed_at: Number,
}

/// One word, or a list from 23.11 on.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    List(Vec<String>),
}

/// A plain number, or `{set, infinite, number}` from data parser v0.0.40 on.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(u64),
    Wrapped { set: bool, number: u64 },
    Other(serde::de::IgnoredAny),
}

impl Default for Number {
    fn default() -> Self {
        Self::Plain(0)
    }
}

impl Number {
    fn instant(&self) -> Option<Timestamp> {
        let seconds = match *self {
            Self::Plain(number) | Self::Wrapped { set: true, number } => number,
            Self::Wrapped { .. } | Self::Other(_) => return None,
        };
        epoch_seconds(seconds).ok().flatten()
    }
}

pub(super) fn read(
    reading: &mut Reading<'_>,
    bytes: &[u8],
    at: Option<Timestamp>,
    records: &mut FleetRecords,
) -> Result<(), ReadError> {
    const REMEDY: &str = "export with: scontrol show node --json";
    let document: Document = serde_json::from_slice(bytes).map_err(|error| {
        let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
        reading.error(line, format!("no node JSON: {error}"), REMEDY)
    })?;
    let Some(nodes) = document.nodes else {
        return Err(reading.error(
            0,
            "JSON without nodes (sinfo --json of later versions holds groups)",
            REMEDY,
        ));
    };
    reading.report.format = "node JSON".to_owned();
    // Nothing has changed between the last update and the writing of the file.
    let at = at.or_else(|| document.last_update.instant());
    let mut inventory = Inventory::new(records);
    for (index, node) in nodes.iter().enumerate() {
        let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let state_text = node.state_text();
        let record = NodeRecord {
            name: &node.name,
            state: NodeState::from_text(&state_text),
            state_text: &state_text,
            partitions: node.partitions.iter().flatten().map(String::as_str).collect(),
            tres: &node.tres,
            tres_used: node.tres_used.as_deref().unwrap_or_default(),
            gres: &node.gres,
            gres_used: node.gres_used.as_deref(),
            reason: &node.reason,
            reason_since: node.reason_changed_at.instant(),
        };
        reading.report.rows += 1;
        let outcome = inventory.take(&record, line, at, reading, records);
        reading.settle(line, outcome)?;
    }
    Ok(())
}

impl NodeObject {
    /// The state's words joined as `scontrol` joins them.
    fn state_text(&self) -> String {
        let words: Vec<&str> = match &self.state {
            None => Vec::new(),
            Some(Words::One(word)) => vec![word],
            Some(Words::List(words)) => words.iter().map(String::as_str).collect(),
        };
        words.into_iter().chain(self.state_flags.iter().map(String::as_str)).collect::<Vec<_>>().join("+")
    }
}
