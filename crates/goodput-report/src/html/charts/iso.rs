//! Runtime against program goodput, with curves of one product: where a change moved the job, and the room that is left.

use plotly::common::{DashType, ErrorData, ErrorType, HoverInfo, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::Annotation;
use plotly::{Scatter, Trace};

use super::{Chart, Key, axis, layout, palette};
use crate::number::percent;
use crate::view::{CompareView, FactorMoveView};

/// Products of the thin curves.
const CURVES: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// The two points among the curves; `None` where a factor is not known on both sides.
pub(in crate::html) fn iso_product(view: &CompareView) -> Option<Chart> {
    let find = |name: &str| view.factors.iter().find(|f| f.factor == name);
    let (runtime, program) = (find("runtime")?, find("program")?);
    let points = [(program.before?, runtime.before?), (program.after?, runtime.after?)];
    // Scheduling goodput scales the curves to MPG where the deciding product holds it.
    let scheduling = find("scheduling").filter(|f| f.decides).and_then(|f| f.after);
    let name = if scheduling.is_some() { "MPG" } else { "runtime x program" };
    let scale = scheduling.unwrap_or(1.0);

    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    let mut labels = Vec::new();
    for product in CURVES {
        let line = Line::new().color(palette::OTHER).width(1.0);
        // Where the curve meets the right edge: the product at a program goodput of one.
        let at = product / scale;
        if at < 1.0 {
            traces.push(curve(at, line));
            labels.push(label_at(1.015, at, &format!("{product:.1}")));
        }
    }
    let bold = Line::new().color(palette::KINDS[0]).width(2.5);
    let (p, r) = points[0];
    traces.push(curve(p * r, bold));
    // The room: up to where each factor's own loss would be gone.
    for (to, colour) in [((1.0, points[1].1), program), ((points[1].0, 1.0), runtime)] {
        let text = format!(
            "all of {} goodput's loss removed: x{:.3}",
            colour.factor,
            colour.headroom.unwrap_or(1.0)
        );
        traces.push(
            Scatter::new(vec![points[1].0, to.0], vec![points[1].1, to.1])
                .mode(Mode::Lines)
                .line(Line::new().color(palette::boundary(colour.boundary)).width(2.0).dash(DashType::Dot))
                .text(&text)
                .hover_info(HoverInfo::Text),
        );
    }
    for (i, (p, r)) in points.into_iter().enumerate() {
        let (side, colour, symbol) = match i {
            0 => ("before", palette::KINDS[0], MarkerSymbol::Circle),
            _ => ("after", palette::USEFUL, MarkerSymbol::Diamond),
        };
        let hover = format!("{side}: program {p:.4}, runtime {r:.4}, {name} {:.4}", p * r * scale);
        let mut point = Scatter::new(vec![p], vec![r])
            .mode(Mode::Markers)
            .marker(Marker::new().color(colour).size(12).symbol(symbol))
            .hover_text_array(vec![hover])
            .hover_info(HoverInfo::Text);
        // Below and outside, clear of the room above and beside.
        let aside = if i == 0 { -0.03 } else { 0.03 };
        labels.push(label_at(p + aside, r - 0.035, side));
        if i == 1 {
            if let Some(bars) = interval(program) {
                point = point.error_x(bars);
            }
            if let Some(bars) = interval(runtime) {
                point = point.error_y(bars);
            }
        }
        traces.push(point);
    }
    let ticks: Vec<f64> = (0..=5).map(|i| f64::from(i) * 0.2).collect();
    let square = |title: &str| {
        axis(title).range(vec![0.0, 1.04]).tick_values(ticks.clone()).fixed_range(true).show_grid(false)
    };
    let layout =
        layout().x_axis(square("program goodput")).y_axis(square("runtime goodput")).annotations(labels);
    let legend = vec![
        Key::plain("before, and the curve of its product", palette::KINDS[0]),
        Key::plain(
            format!("after, with the {} interval of the ratios", percent(Some(view.confidence))),
            palette::USEFUL,
        ),
        Key::plain("room of program goodput", palette::boundary(program.boundary)),
        Key::plain("room of runtime goodput", palette::boundary(runtime.boundary)),
    ];
    let label = format!(
        "Program goodput {:.3} and runtime goodput {:.3} before, {:.3} and {:.3} after, among curves of one product",
        points[0].0, points[0].1, points[1].0, points[1].1
    );
    let title = match scheduling {
        Some(s) => format!("Curves of one MPG, at a scheduling goodput of {s:.3}"),
        None => "Curves of one product".to_owned(),
    };
    Some(Chart::new("iso", label, 520, legend, traces, layout).titled(title))
}

/// Where the product is one value.
fn curve(product: f64, line: Line) -> Box<Scatter<f64, f64>> {
    const POINTS: i32 = 60;
    let from = product.min(1.0);
    let at = |i: i32| from + (1.0 - from) * f64::from(i) / f64::from(POINTS);
    let programs: Vec<f64> = (0..=POINTS).map(at).filter(|p| *p > 0.0).collect();
    let runtimes = programs.iter().map(|p| (product / p).min(1.0)).collect();
    Scatter::new(programs, runtimes).mode(Mode::Lines).line(line).hover_info(HoverInfo::Skip)
}

fn label_at(x: f64, y: f64, text: &str) -> Annotation {
    Annotation::new().x(x).y(y).text(text).show_arrow(false)
}

/// The interval of the ratio as bars around the value after.
fn interval(factor: &FactorMoveView) -> Option<ErrorData> {
    let (after, ratio) = (factor.after?, &factor.ratio);
    let ends = |end: f64| (after * end / ratio.value - after).abs();
    let bars = ErrorData::new(ErrorType::Data)
        .array(vec![ends(ratio.high?)])
        .array_minus(vec![ends(ratio.low?)])
        .symmetric(false);
    Some(bars)
}
