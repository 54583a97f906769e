//! What else changed when a figure did: versions, policy, architecture, devices.

use std::collections::BTreeSet;

use serde::Serialize;

use super::row::Row;

/// A field that differs before and after a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cause {
    /// A piece of software, or `policy`, `model`, `devices`.
    pub what: String,
    /// Before.
    pub before: String,
    /// After.
    pub after: String,
    /// UTC day of the first row with it.
    pub day: String,
}

/// The fields in which some of `rows` differs from the one before it; `rows` runs from the last that is surely before the change
/// to the first that is surely after it.
#[must_use]
pub fn causes(rows: &[&Row]) -> Vec<Cause> {
    let mut causes = BTreeSet::new();
    for pair in rows.windows(2) {
        let [before, after] = [pair[0], pair[1]];
        let mut differs = |what: &str, one: Option<&str>, other: Option<&str>| {
            if one != other {
                let text = |value: Option<&str>| value.unwrap_or("not stated").to_owned();
                causes.insert(Cause {
                    what: what.to_owned(),
                    before: text(one),
                    after: text(other),
                    day: after.day.to_string(),
                });
            }
        };
        let names: BTreeSet<_> = before.software.keys().chain(after.software.keys()).collect();
        for name in names {
            let version = |row: &Row| row.software.get(name).cloned();
            differs(name, version(before).as_deref(), version(after).as_deref());
        }
        differs("policy", before.policy.as_deref(), after.policy.as_deref());
        differs("model", before.model.as_deref(), after.model.as_deref());
        let (one, other) = (before.devices.to_string(), after.devices.to_string());
        differs("devices", Some(&one), Some(&other));
    }
    causes.into_iter().collect()
}
