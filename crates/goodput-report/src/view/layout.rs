//! A layout's settings in words.

use goodput_predict::run::{Recompute, Schedule, Sharding};

pub(super) const fn schedule(schedule: Schedule) -> &'static str {
    match schedule {
        Schedule::GPipe => "gpipe",
        Schedule::OneForwardOneBackward => "1f1b",
        Schedule::Interleaved { .. } => "interleaved",
        Schedule::ZeroBubbleH1 => "zb-h1",
        Schedule::ZeroBubble2p => "zb-2p",
        Schedule::DualPipe => "dualpipe",
    }
}

pub(super) const fn sharding(sharding: Sharding) -> &'static str {
    match sharding {
        Sharding::None => "none",
        Sharding::Optimizer => "optimizer",
        Sharding::Gradients => "gradients",
        Sharding::Parameters { .. } => "parameters",
    }
}

pub(super) fn recompute(recompute: Recompute) -> String {
    match recompute {
        Recompute::None => "none".to_owned(),
        Recompute::AttentionCore => "attention core".to_owned(),
        Recompute::Cheap => "cheap modules".to_owned(),
        Recompute::Modules(modules) => modules.names().collect::<Vec<_>>().join(" + "),
        Recompute::EveryOtherProduct => "every other product".to_owned(),
        Recompute::Full => "full".to_owned(),
        Recompute::Layers(count) => format!("{count} layers a stage"),
    }
}
