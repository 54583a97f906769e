//! A lane a replica: what it did over time.

use std::collections::BTreeMap;
use std::fmt::Write;

use goodput_core::serving::HeldUse;
use goodput_core::{NS_PER_SECOND, Timestamp};

use super::{Drawing, WIDTH, escaped, svg};
use crate::html::charts::Key;
use crate::html::palette;
use crate::number::{duration, instant};
use crate::view::{ReplicaLanesView, WindowView};

const LEFT: f64 = 150.0;
const ROW: f64 = 24.0;
const AXIS: f64 = 26.0;
/// Units of the longest label of the axis, a date with a time in seconds.
const LABEL: f64 = 133.0;
/// Labels that the axis has at most, the gap between two wider than a label.
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
    for (at, label) in ticks(from, length) {
        // A label near an end of the axis stays inside it.
        let anchor = match x(at) {
            x if x < LEFT + LABEL / 2.0 => "start",
            x if x > WIDTH - LABEL / 2.0 => "end",
            _ => "middle",
        };
        // Writing to a string cannot fail.
        let _ = write!(
            content,
            "<path class=\"grid\" d=\"M{:.1} 0V{bottom:.0}\"/><text class=\"quiet\" x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{label}</text>",
            x(at),
            x(at),
            bottom + 18.0,
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

/// Round instants inside the window and their labels: the date on the first one and wherever a day begins, else the time.
fn ticks(from: i64, length: i64) -> Vec<(i64, String)> {
    const DAY_S: i64 = 86_400;
    const STEPS_S: [i64; 18] = [
        1,
        2,
        5,
        10,
        30,
        60,
        120,
        300,
        600,
        1800,
        3600,
        7200,
        10_800,
        21_600,
        43_200,
        DAY_S,
        2 * DAY_S,
        7 * DAY_S,
    ];
    let fits = |step: &i64| step * TICKS >= length / NS_PER_SECOND;
    let longest = || (length / NS_PER_SECOND / TICKS / (7 * DAY_S) + 1) * 7 * DAY_S;
    let step_s = STEPS_S.into_iter().find(fits).unwrap_or_else(longest);
    let step = step_s * NS_PER_SECOND;
    let first = from + (-from).rem_euclid(step);
    let mut at: Vec<i64> =
        (0..=TICKS).map(|tick| first + tick * step).filter(|at| *at <= from + length).collect();
    if at.is_empty() {
        at.push(from);
    }
    let label = |(index, at): (usize, i64)| {
        let text = instant(Timestamp::from_nanos(at));
        let short = match text.split_once(' ') {
            Some((date, _)) if step_s >= DAY_S => date.to_owned(),
            Some((date, "00:00")) if index > 0 => date.to_owned(),
            Some((_, time)) if index > 0 => time.to_owned(),
            _ => text,
        };
        (at, short)
    };
    at.into_iter().enumerate().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30 00:00.
    const NIGHT: i64 = 1_795_996_800 * NS_PER_SECOND;

    #[test]
    fn labels_never_overlap() {
        for from in [0, 1, 1_234_567] {
            for seconds in [1, 7, 59, 61, 3599, 14_400, 100_000, 604_800, 2_592_000, 31_536_000, 315_360_000]
            {
                let (from, length) = (NIGHT + from * NS_PER_SECOND, seconds * NS_PER_SECOND);
                let ticks = ticks(from, length);
                assert!((1..=7).contains(&ticks.len()), "{seconds}: {ticks:?}");
                // Letters take 7 units. The first label may stand right of its tick, and the last one left of it.
                let wide = |label: &str| 7.0 * label.len() as f64;
                for (index, pair) in ticks.windows(2).enumerate() {
                    let gap = (pair[1].0 - pair[0].0) as f64 / length as f64 * (WIDTH - LEFT - 10.0);
                    let (before, after) = (wide(&pair[0].1), wide(&pair[1].1));
                    let needed = match index {
                        0 => before + after / 2.0,
                        _ => before / 2.0 + after,
                    };
                    assert!(gap > needed, "{seconds}: {pair:?} {gap} {needed}");
                }
            }
        }
    }

    #[test]
    fn labels_are_round_and_name_each_day() {
        let labels =
            |from, length| ticks(from, length).into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        let hour = 3600 * NS_PER_SECOND;
        assert_eq!(labels(NIGHT + 1, 4 * hour)[..2], ["2026-11-30 01:00", "02:00"]);
        assert_eq!(
            labels(NIGHT + 17 * hour, 14 * hour),
            ["2026-11-30 18:00", "21:00", "2026-12-01", "03:00", "06:00"]
        );
        assert_eq!(labels(NIGHT, 7 * 24 * hour), ["2026-12-01", "2026-12-03", "2026-12-05", "2026-12-07"]);
    }
}
