//! Who made the others wait, and communication: hidden, exposed, and what hiding it costs.

use goodput_trace::partition::Charge;
use goodput_trace::trace::CollectiveKind;
use plotly::Trace;
use plotly::common::{HoverInfo, Line, Marker, TextPosition};
use plotly::layout::BarMode;

use super::{
    Chart, Key, Stack, THICKNESS, charge_marker, labelled_axis, layout, palette, plain, row_bar, rows,
    time_unit,
};
use crate::number::{count, duration, percent, thousands};
use crate::view::{AmountsView, OverlapView, PeersView};

/// Ranks or kernels drawn; the tables list more.
const DRAWN: usize = 16;
/// Communication beside computation: blue, and quiet, for it costs no time of its own.
const HIDDEN: &str = "#a9cbe8";

/// Skew by the rank that came last. `None` without any. `name` of a rank by its number.
pub(in crate::html) fn blame(peers: &PeersView, name: impl Fn(u32) -> String) -> Option<Chart> {
    let drawn: Vec<_> = peers.blame.iter().filter(|b| b.skew_ns > 0).take(DRAWN).collect();
    let longest_ns = drawn.first()?.skew_ns;
    let (unit, unit_ns) = time_unit(longest_ns);
    let texts: Vec<_> =
        drawn.iter().map(|b| format!("{} · {}", duration(b.skew_ns), percent(Some(b.share)))).collect();
    let hovers: Vec<_> = drawn
        .iter()
        .map(|b| {
            let doing = if b.doing.is_empty() {
                String::new()
            } else {
                format!("; meanwhile it {}", plain(&b.doing, 80))
            };
            format!(
                "{} came last {} times and made the others wait {}{doing}",
                plain(&name(b.rank), 24),
                count(b.times_last),
                duration(b.skew_ns)
            )
        })
        .collect();
    let bar: Box<dyn Trace> =
        row_bar(drawn.iter().map(|b| b.skew_ns as f64 / unit_ns).collect(), (0..drawn.len()).collect())
            .name("skew")
            .marker(Marker::new().color(palette::charge(Charge::PeerWait)))
            .width(THICKNESS)
            .text_array(texts)
            .text_position(TextPosition::Outside)
            .clip_on_axis(false)
            .hover_text_array(hovers)
            .hover_info(HoverInfo::Text);
    let layout = layout()
        .bar_mode(BarMode::Overlay)
        .x_axis(labelled_axis(
            &format!("skew of the collectives it joined last ({unit})"),
            std::iter::once(longest_ns as f64 / unit_ns),
            0.5,
        ))
        .y_axis(rows(drawn.iter().map(|b| plain(&name(b.rank), 24)).collect()));
    let title = "Who came last, and how long the others waited for it";
    Some(Chart::new("blame", title, drawn.len() * 30 + 80, Vec::new(), vec![bar], layout).titled(title))
}

/// Communication of an average step: what computation hides and what it does not. `None` without any.
pub(in crate::html) fn communication(stacks: &[Stack<'_>]) -> Option<Chart> {
    let longest_ns = stacks.iter().map(|stack| stack.per_step(stack.amounts.comm_total_ns)).max()?;
    if longest_ns == 0 {
        return None;
    }
    let (unit, unit_ns) = time_unit(longest_ns);
    let any = CollectiveKind::AllReduce;
    let charges =
        [Charge::Transfer(any), Charge::CommunicationNotSplit(any), Charge::PeerWait, Charge::Bubble];
    let hidden =
        ("hidden by computation", Key::plain("hidden by computation", HIDDEN), Marker::new().color(HIDDEN));
    let parts = std::iter::once((hidden, None)).chain(
        charges.map(|charge| ((charge.label(), Key::of_charge(charge), charge_marker(charge)), Some(charge))),
    );
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    let mut legend = Vec::new();
    for ((name, key, marker), charge) in parts {
        let of = |amounts: &AmountsView| charge.map_or(amounts.overlap_ns, |charge| amounts.of(charge));
        let lengths_ns: Vec<i64> = stacks.iter().map(|stack| stack.per_step(of(stack.amounts))).collect();
        if lengths_ns.iter().all(|&ns| ns == 0) {
            continue;
        }
        legend.push(key);
        let texts = stacks.iter().zip(&lengths_ns).map(|(stack, &ns)| {
            let share = ns as f64 / stack.per_step(stack.amounts.comm_total_ns).max(1) as f64;
            format!(
                "{}: {name} {}, {} of its communication",
                plain(&stack.name, 48),
                duration(ns),
                percent(Some(share))
            )
        });
        let texts = texts.collect::<Vec<_>>();
        traces.push(
            row_bar(lengths_ns.iter().map(|&ns| ns as f64 / unit_ns).collect(), (0..stacks.len()).collect())
                .name(name)
                .marker(marker.line(Line::new().width(0.0)))
                .width(THICKNESS)
                .hover_text_array(texts)
                .hover_info(HoverInfo::Text),
        );
    }
    let layout = layout()
        .bar_mode(BarMode::Stack)
        .x_axis(labelled_axis(
            &format!("communication of an average step ({unit})"),
            std::iter::once(longest_ns as f64 / unit_ns),
            0.02,
        ))
        .y_axis(rows(stacks.iter().map(|stack| plain(&stack.name, 28)).collect()));
    let title = "Communication: hidden and exposed";
    let height = stacks.len() * if stacks.len() > 12 { 18 } else { 30 } + 80;
    Some(Chart::new("communication", title, height, legend, traces, layout).titled(title))
}

/// Kernels that communication slows most. `None` when none could be compared. `name` of a rank by its index.
pub(in crate::html) fn slowdowns(overlap: &OverlapView, name: impl Fn(usize) -> String) -> Option<Chart> {
    let drawn: Vec<_> =
        overlap.kernels.iter().filter(|kernel| kernel.slowdown.is_finite()).take(DRAWN).collect();
    if drawn.is_empty() {
        return None;
    }
    let texts: Vec<_> = drawn.iter().map(|k| format!("{}x", thousands(k.slowdown, 2))).collect();
    let hovers: Vec<_> = drawn
        .iter()
        .map(|k| {
            format!(
                "{}, {}: median {} alone, {} beside communication; {} runs, which adds {}",
                plain(&name(k.index), 20),
                plain(&k.name, 60),
                duration(k.undisturbed_median_ns),
                duration(k.overlapped_median_ns),
                count(k.overlapped),
                duration(k.extra_ns)
            )
        })
        .collect();
    let bar: Box<dyn Trace> = row_bar(drawn.iter().map(|k| k.slowdown).collect(), (0..drawn.len()).collect())
        .name("slowdown")
        .marker(Marker::new().color(palette::charge(Charge::Transfer(CollectiveKind::AllReduce))))
        .width(THICKNESS)
        .text_array(texts)
        .text_position(TextPosition::Outside)
        .clip_on_axis(false)
        .hover_text_array(hovers)
        .hover_info(HoverInfo::Text);
    let names =
        drawn.iter().map(|k| format!("{} · {}", plain(&name(k.index), 20), plain(&k.name, 20))).collect();
    let layout = layout()
        .bar_mode(BarMode::Overlay)
        .x_axis(labelled_axis("times as long as alone (medians)", drawn.iter().map(|k| k.slowdown), 0.3))
        .y_axis(rows(names));
    let title = "What communication does to the kernels beside it";
    Some(Chart::new("slowdowns", title, drawn.len() * 30 + 80, Vec::new(), vec![bar], layout).titled(title))
}
