//! A lane a replica: what it did over time.

use std::collections::BTreeMap;
use std::fmt::Write;

use goodput_core::Timestamp;
use goodput_core::serving::HeldUse;

use super::{Drawing, WIDTH, escaped, svg};
use crate::html::charts::Key;
use crate::html::palette;
use crate::number::{duration, instant};
use crate::view::{ReplicaLanesView, WindowView};

const LEFT: f64 = 150.0;
const ROW: f64 = 24.0;
const AXIS: f64 = 26.0;
const TICKS: i64 = 6;

pub(in crate::html) fn replicas(view: &ReplicaLanesView, window: &WindowView) -> Option<Drawing> {
    if view.lanes.is_empty() {
        return None;
    }
    let (from, length) = (window.from_ns.as_i64(), window.duration_ns.as_i64().max(1));
    let x = |ns: i64| LEFT + (ns - from) as f64 / length as f64 * (WIDTH - LEFT - 10.0);
    let mut content = String::new();
    let mut seen: BTreeMap<HeldUse, Key> = BTreeMap::new();
    let bottom = view.lanes.len() as f64 * ROW;
    for tick in 0..=TICKS {
        let at = from + length / TICKS * tick;
        let anchor = if tick == TICKS { "end" } else { "start" };
        // Writing to a string cannot fail.
        let _ = write!(
            content,
            "<path class=\"grid\" d=\"M{:.1} 0V{bottom:.0}\"/><text class=\"quiet\" x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{}</text>",
            x(at),
            x(at),
            bottom + 18.0,
            instant(Timestamp::from_nanos(at))
        );
    }
    for (index, lane) in view.lanes.iter().enumerate() {
        let top = index as f64 * ROW;
        let name = escaped(&crate::name::cut(&lane.replica, 20));
        let _ = write!(content, "<text x=\"0\" y=\"{:.1}\">{name}</text>", top + 15.5);
        for stretch in &lane.stretches {
            let (start, end) = (stretch.from_ns.as_i64(), stretch.to_ns.as_i64());
            let colour = palette::held_use(stretch.used);
            seen.entry(stretch.used).or_insert_with(|| Key::plain(stretch.used.label(), colour));
            let _ = write!(
                content,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"><title>{name}: {}, {} from {}</title></rect>",
                x(start),
                top + 2.0,
                (x(end) - x(start)).max(0.6),
                ROW - 5.0,
                stretch.used.label(),
                duration(end - start),
                instant(Timestamp::from_nanos(start))
            );
        }
    }
    let label = format!("What each of {} replicas did over time", view.lanes.len());
    Some(Drawing {
        id: "replicas".to_owned(),
        title: None,
        legend: seen.into_values().collect(),
        svg: svg(bottom + AXIS, &label, &content),
    })
}
