//! The measurement contract in sentences.

use crate::number::counted;
use crate::view::ContractView;

/// How much of the contract is known, and whether the windows are long enough: a line each.
pub(crate) fn contract(contract: &ContractView) -> Vec<String> {
    let stated = contract.conditions.iter().filter(|c| c.source == "stated").count();
    let recorded = contract.conditions.len() - stated;
    let unknown: Vec<&str> = contract.unknown().collect();
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
        contract.gate()
    )];
    for of in &contract.statistics {
        let mark = if of.adequate { "window" } else { "window too short" };
        lines.push(format!("{mark}: {}", of.sentence));
    }
    lines
}
