//! Runtime loss against job size, term by term, with the size from which failures cost more than input waits.

use goodput_core::Pattern;
use plotly::common::{DashType, HoverInfo, Line, Mode, Position};
use plotly::layout::BarMode;
use plotly::{Bar, Scatter, Trace};

use super::{Chart, Key, axis, layout, marker, palette};
use crate::number::{count, percent};
use crate::view::{ComposedView, SizePointView};

/// `None` where no failure was seen: nothing of the model depends on size then.
pub(in crate::html) fn size_curve(id: &str, model: &ComposedView) -> Option<Chart> {
    // Beyond the whole of held time a sum of shares says nothing.
    let points: Vec<&SizePointView> = model.size_curve.iter().take_while(|p| p.modelled < 1.0).collect();
    if points.len() < 2 {
        return None;
    }
    let places: Vec<f64> = (0..points.len()).map(|i| i as f64).collect();
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    let mut legend = Vec::new();
    let patterns: Vec<Pattern> = points[0].terms.iter().map(|&(pattern, _)| pattern).collect();
    for (term, &pattern) in patterns.iter().enumerate() {
        let shares: Vec<f64> = points.iter().map(|p| p.terms[term].1 * 100.0).collect();
        if shares.iter().all(|&share| share <= 0.0) {
            continue;
        }
        legend.push(Key::of(pattern));
        let hover: Vec<String> = points
            .iter()
            .map(|p| {
                format!(
                    "{} devices · {}: {} of held time",
                    count(p.devices),
                    pattern.label(),
                    percent(Some(p.terms[term].1))
                )
            })
            .collect();
        traces.push(
            Bar::new(places.clone(), shares)
                .name(pattern.label())
                .marker(marker(pattern))
                .width(0.7)
                .hover_text_array(hover)
                .hover_info(HoverInfo::Text),
        );
    }
    let tallest = points.iter().map(|p| p.modelled).fold(0.0, f64::max) * 100.0;
    let best: Vec<f64> = points.iter().map(|p| p.modelled_at_best * 100.0).collect();
    traces.push(
        Scatter::new(places.clone(), best)
            .name("at the best checkpoint interval of each size")
            .mode(Mode::LinesMarkers)
            .line(Line::new().color(palette::LEVEL).width(2.0))
            .hover_text_array(
                points
                    .iter()
                    .map(|p| {
                        format!(
                            "{} devices · at the best interval: {}",
                            count(p.devices),
                            percent(Some(p.modelled_at_best))
                        )
                    })
                    .collect::<Vec<_>>(),
            )
            .hover_info(HoverInfo::Text),
    );
    legend.push(Key::plain("at the best checkpoint interval of each size", palette::LEVEL));
    let mut label = "Modelled runtime loss against job size, by term".to_owned();
    if let Some((devices, place)) = crossing(model, &points) {
        label =
            format!("{label}; checkpoints and recovery overtake input waits near {} devices", count(devices));
        traces.push(
            Scatter::new(vec![place, place], vec![0.0, tallest * 1.08])
                .mode(Mode::LinesText)
                .line(Line::new().color(palette::USEFUL).width(2.0).dash(DashType::Dash))
                .text_array(vec![String::new(), format!("failures overtake input waits: {}", count(devices))])
                .text_position(if place > points.len() as f64 / 2.0 {
                    Position::MiddleLeft
                } else {
                    Position::MiddleRight
                })
                .hover_info(HoverInfo::Skip),
        );
    }
    let layout = layout()
        .bar_mode(BarMode::Stack)
        .x_axis(
            axis("devices of the job")
                .tick_values(places)
                .tick_text(points.iter().map(|p| count(p.devices)).collect())
                .fixed_range(true)
                .show_grid(false),
        )
        .y_axis(axis("of held time").range(vec![0.0, tallest * 1.15]).tick_suffix("%").fixed_range(true));
    Some(Chart::new(id, label, 340, legend, traces, layout))
}

/// The size at which checkpoints and recovery cost as much as input waits, and its place between the sizes drawn; sizes double
/// from place to place.
fn crossing(model: &ComposedView, points: &[&SizePointView]) -> Option<(u64, f64)> {
    let devices = model.failures_overtake_input_devices?;
    let above = points.iter().position(|p| p.devices as f64 >= devices).filter(|&i| i > 0)?;
    let (from, to) = (points[above - 1].devices as f64, points[above].devices as f64);
    let place = (above - 1) as f64 + (devices / from).ln() / (to / from).ln();
    Some((devices.round() as u64, place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::modelled_curve;
    use goodput_core::composed::{Cadence, PreemptionCost, RuntimeInputs};

    /// The composition of worked example E4: failures overtake input waits near 12,857 devices.
    #[test]
    fn the_crossing_is_drawn() {
        let inputs = RuntimeInputs {
            held_s: 7.0 * 86_400.0,
            launches: 1,
            startup_s: 312.0,
            input_wait_share: 0.05 / 0.65,
            checkpoint_write_s: 9.8,
            cadence: Cadence::YoungDaly,
            mtbf_s: Some(302.0 * 3600.0),
            recovery_s: 372.0,
            preemptions_per_day: 1.0,
            preemption: PreemptionCost::Stated { cost_s: 1212.0 },
        };
        let (size_curve, crossing) = modelled_curve(&inputs, 128);
        let at =
            |devices| size_curve.iter().find(|p: &&SizePointView| p.devices == devices).unwrap().modelled;
        assert!((at(128) - 0.0961).abs() < 5e-5 && (at(8192) - 0.1473).abs() < 5e-5);
        let model = ComposedView {
            checkpoint_interval_s: None,
            mtbf_s: inputs.mtbf_s,
            best_interval_s: None,
            best_interval_with_preemptions_s: None,
            terms: Vec::new(),
            modelled: at(128),
            residual: 0.0,
            caveat: None,
            size_curve,
            failures_overtake_input_devices: crossing,
        };
        // Sizes end at 64 times the job's own, 8,192: the crossing lies beyond what is drawn.
        let chart = super::size_curve("size", &model).unwrap();
        assert_eq!(crossing.unwrap().round(), 12_857.0);
        assert!(!chart.label.contains("12,857"));
        let larger = modelled_curve(&inputs.at_size(128.0, 1024.0), 1024);
        let model = ComposedView { size_curve: larger.0, failures_overtake_input_devices: larger.1, ..model };
        assert!(super::size_curve("size", &model).unwrap().label.contains("12,857"));
    }
}
