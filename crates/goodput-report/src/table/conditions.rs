//! The conditions of a contract.

use super::Column::Text;
use super::{Cell, Table};
use crate::view::{ConditionView, KnownConditions};

/// Every known condition, and those that nobody states.
pub(crate) fn conditions(known: &KnownConditions) -> Table {
    let row = |c: &ConditionView| -> Vec<Cell> {
        let source = if c.source == "records" { "from records" } else { "stated" };
        vec![c.label.into(), c.value.clone().into(), source.into()]
    };
    let unknown: Vec<&str> = known.unknown().collect();
    let notes = match unknown.is_empty() {
        true => Vec::new(),
        false => vec![format!("Not stated: {}.", unknown.join(", "))],
    };
    Table {
        columns: vec![Text("condition"), Text("value"), Text("known")],
        rows: known.conditions.iter().map(row).collect(),
        notes,
    }
}
