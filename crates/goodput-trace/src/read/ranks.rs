//! Which rank each trace of a set is of.

use std::path::PathBuf;

use crate::reading::ReadError;
use crate::trace::RankTrace;

/// Settles the ranks of a set and sorts by them.
pub(super) fn settle(traces: &mut [RankTrace], stated: &[(PathBuf, u32)]) -> Result<(), ReadError> {
    let _ = stated;
    traces.sort_by_key(|trace| trace.identity.rank);
    Ok(())
}
