//! Oddities met on the way: counted by kind, each kept with the first record that shows it.

use std::collections::BTreeMap;

use crate::records::SourceRef;
use crate::warning::Warning;

/// What each kind of oddity means and what settles it.
const MEANINGS: &[(&str, &str)] = &[
    (
        "overlapping_rows",
        "rows of one job overlap (Slurm 22.05 repeats the original start after a resize); the later row was cut to begin where the earlier one ended",
    ),
    (
        "open_row_superseded",
        "rows without an end are followed by a later submission of the same id; they were ended there (see sacctmgr show runawayjobs)",
    ),
    ("no_end", "rows are neither running nor pending and have no end; they hold until the records end"),
    ("ends_before_start", "rows end before they start; they held nothing"),
    (
        "negative_wait",
        "rows start before their own submit (a resize repeats the original start); they are no wait",
    ),
    (
        "devices_oversubscribed",
        "attempts hold more devices of one node than it has; two records claim one device",
    ),
    (
        "unknown_node",
        "node lists name nodes that no inventory or capacity record lists; those devices are held, and where they lie is unknown",
    ),
    (
        "uneven_devices",
        "devices do not divide evenly over the node list; how many are held on each node is unknown",
    ),
    (
        "pool_guessed",
        "attempts name a partition that spans several pools and no node; they are charged to its largest pool (give node lists, or name the pools)",
    ),
    (
        "pool_unknown",
        "attempts name neither a known node nor a known partition; they are charged to the largest pool",
    ),
    (
        "pool_split",
        "attempts spread over several pools and their devices do not divide evenly over the nodes; each is charged to the pool that holds most of its nodes",
    ),
    (
        "partial_amount_unknown",
        "records give the first assignment of a gang and not how many devices were assigned; the whole gang counts as assigned, as far as devices were free",
    ),
    (
        "maintenance_unknown",
        "maintenance reservations list no nodes, so what they took out of service is unknown and stays offered (supply `scontrol show reservation`)",
    ),
    (
        "reservation_unknown",
        "reservations list no nodes, so what they held idle is unknown and counts as free (supply `scontrol show reservation`)",
    ),
    ("outside_capacity", "node states name nodes of no pool; they were not counted"),
];

/// Collects oddities and ready-made warnings.
#[derive(Debug, Default)]
pub(super) struct Notes {
    counted: BTreeMap<&'static str, (u64, Option<SourceRef>)>,
    warnings: Vec<Warning>,
}

impl Notes {
    /// Counts one more oddity of a kind listed in [`MEANINGS`].
    pub fn note(&mut self, code: &'static str, source: SourceRef) {
        let entry = self.counted.entry(code).or_insert((0, Some(source)));
        entry.0 += 1;
    }

    /// Adds a warning that is said once.
    pub fn warn(&mut self, code: &'static str, message: String, source: Option<SourceRef>) {
        self.warnings.push(Warning { code, message, source });
    }

    /// Every warning, those of the whole account first.
    pub fn into_warnings(self) -> Vec<Warning> {
        let mut warnings = self.warnings;
        for (code, (count, source)) in self.counted {
            let meaning = MEANINGS.iter().find(|(c, _)| *c == code).map_or(code, |(_, meaning)| meaning);
            warnings.push(Warning { code, message: format!("{count} x {meaning}"), source });
        }
        warnings
    }
}
