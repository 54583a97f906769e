//! Published figures beside a report's own: the MFU of training runs, and what software alone does.

use plotly::Trace;
use plotly::common::{HoverInfo, Marker, MarkerSymbol, Mode, Position, TextPosition};
use plotly::layout::BarMode;

use super::{Chart, Key, THICKNESS, axis, labelled_axis, layout, palette, plain, row_bar, rows};
use crate::number::{count, percent};
use crate::published;

/// An MFU of the report.
pub(in crate::html) struct OwnMfu {
    /// The job.
    pub name: String,
    /// Its MFU over retained steps.
    pub mfu: f64,
    /// Its convention.
    pub convention: String,
}

/// The report's own MFU above those of published runs, one row each. `None` without an own one.
pub(in crate::html) fn published_mfu(own: &[OwnMfu]) -> Option<Chart> {
    if own.is_empty() {
        return None;
    }
    let published = published::mfu();
    let points = |values: Vec<f64>, rows: Vec<usize>, hover: Vec<String>, marker: Marker| -> Box<dyn Trace> {
        let text: Vec<String> = values.iter().map(|value| percent(Some(value / 100.0))).collect();
        plotly::Scatter::new(values, rows)
            .mode(Mode::MarkersText)
            .marker(marker.size(11))
            .text_array(text)
            .text_position(Position::MiddleRight)
            .hover_text_array(hover)
            .hover_info(HoverInfo::Text)
    };
    let own_points = points(
        own.iter().map(|own| own.mfu * 100.0).collect(),
        (0..own.len()).collect(),
        own.iter()
            .map(|own| format!("{}: convention {}", plain(&own.name, 60), plain(&own.convention, 40)))
            .collect(),
        Marker::new().color(palette::USEFUL).symbol(MarkerSymbol::Diamond),
    );
    let others = points(
        published.iter().map(|run| run.mfu * 100.0).collect(),
        (own.len()..own.len() + published.len()).collect(),
        published.iter().map(|run| plain(&run.source, 80)).collect(),
        Marker::new().color(palette::LEVEL),
    );
    let names: Vec<String> = own
        .iter()
        .map(|own| plain(&own.name, 32))
        .chain(published.iter().map(|run| match run.devices {
            Some(devices) => format!("{} · {} devices · {}", run.system, count(devices), run.year),
            None => format!("{} · {}", run.system, run.year),
        }))
        .collect();
    let drawn = names.len();
    let largest =
        own.iter().map(|own| own.mfu).chain(published.iter().map(|run| run.mfu)).fold(0.0, f64::max);
    let layout = layout()
        .x_axis(labelled_axis("MFU", std::iter::once(largest * 100.0), 0.2).tick_suffix("%"))
        .y_axis(rows(names));
    let legend = vec![Key::plain("this report", palette::USEFUL), Key::plain("published", palette::LEVEL)];
    let label = "MFU of this report beside the MFU that training runs published";
    Some(Chart::new("published-mfu", label, drawn * 28 + 70, legend, vec![own_points, others], layout))
}

/// How to read it.
pub(in crate::html) fn published_mfu_note() -> String {
    let mut sources: Vec<&str> = published::mfu().iter().map(|run| run.source.as_str()).collect();
    sources.dedup();
    format!(
        "Published figures differ in hardware, workload, convention, peak and in whether restarts are inside: the strip places a figure, \
         it does not rank systems. Sources: {}.",
        sources.join("; ")
    )
}

/// Throughput after upgrades of software alone, over before.
pub(in crate::html) fn software_gains() -> Option<Chart> {
    let gains = &published::software()?.gains;
    let values: Vec<f64> = gains.iter().map(|gain| gain.gain).collect();
    let bars = row_bar(values.clone(), (0..gains.len()).collect())
        .marker(Marker::new().color(palette::LEVEL))
        .width(THICKNESS)
        .text_array(values.iter().map(|gain| format!("{gain:.1}x")).collect::<Vec<_>>())
        .text_position(TextPosition::Outside)
        .clip_on_axis(false)
        .hover_info(HoverInfo::Skip);
    let layout = layout()
        .bar_mode(BarMode::Overlay)
        .x_axis(
            axis("throughput over the first submission, hardware unchanged")
                .range(vec![0.0, 3.1])
                .tick_suffix("x")
                .fixed_range(true),
        )
        .y_axis(rows(gains.iter().map(|gain| gain.workload.clone()).collect()));
    let label = "Throughput of one system after upgrades of its software alone, over before";
    Some(Chart::new("software-gains", label, gains.len() * 32 + 70, Vec::new(), vec![bars], layout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_figure_stands_first() {
        assert!(published_mfu(&[]).is_none());
        let own = [OwnMfu { name: "job 7".to_owned(), mfu: 0.48, convention: "exact".to_owned() }];
        let chart = published_mfu(&own).unwrap();
        assert!(chart.json.contains("job 7") && chart.json.contains("Llama 3 405B"));
        assert!(chart.json.find("job 7") < chart.json.find("GPT-3"));
        assert!(software_gains().unwrap().json.contains("2.7x"));
    }
}
