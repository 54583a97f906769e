//! The measurement contract in sentences.

use crate::number::counted;
use crate::view::{FactorStatisticsView, KnownConditions};

/// How much of the contract is known, and whether the windows are long enough: a line each.
pub(crate) fn contract(known: &KnownConditions, statistics: &[FactorStatisticsView]) -> Vec<String> {
    let stated = known.conditions.iter().filter(|c| c.source == "stated").count();
    let recorded = known.conditions.len() - stated;
    let unknown: Vec<&str> = known.unknown().collect();
    const NAMED: usize = 4;
    let mut missing = unknown.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if unknown.len() > NAMED {
        missing.push_str(&format!(" and {} more", unknown.len() - NAMED));
    }
    let missing =
        if missing.is_empty() { String::new() } else { format!("; not stated: {missing} (--contract)") };
    let mut lines = vec![format!(
        "contract: {} from records, {stated} stated; {}{missing}",
        counted(recorded as u64, "condition"),
        known.gate()
    )];
    for of in statistics {
        let mark = if of.adequate { "window" } else { "window too short" };
        lines.push(format!("{mark}: {}", of.sentence));
    }
    lines
}
