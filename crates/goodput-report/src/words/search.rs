//! Sentences about a search.

use crate::number::{count, counted};
use crate::view::{LayoutView, SearchView};

pub(crate) fn search_title(view: &SearchView) -> String {
    let own = || format!("Layouts of {} on {}, the best first", view.model, view.cluster);
    view.title.clone().unwrap_or_else(own)
}

pub(crate) fn searched(view: &SearchView) -> String {
    let by = match view.ranked_by {
        "device_time" => "device-time a step",
        "time_to_result" => "time to the result",
        _ => "step time",
    };
    format!(
        "{} looked at, {} predicted, {} can run; ranked by {by}",
        counted(view.candidates, "layout"),
        count(view.predicted),
        count(view.feasible)
    )
}

/// A layout in short.
pub(crate) fn layout(of: &LayoutView) -> String {
    format!(
        "{} devices: tp {}{} cp {} pp {} ep {} dp {}, micro {}, {}, recompute {}",
        of.devices,
        of.tp,
        if of.sp { " + sp" } else { "" },
        of.cp,
        stages(of),
        of.ep,
        of.dp,
        of.micro_batch,
        of.schedule,
        of.recompute
    )
}

/// Stages and parts, with what the ends lack.
pub(crate) fn stages(of: &LayoutView) -> String {
    match of.uneven_ends {
        [0, 0] => format!("{} x {}", of.pp, of.vpp),
        [first, last] => format!("{} x {} (-{first} -{last})", of.pp, of.vpp),
    }
}
