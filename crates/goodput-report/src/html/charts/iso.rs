//! Factors against each other, with curves of one product: where a change moved the job or the pool, and the room that
//! is left.

use plotly::common::{DashType, ErrorData, ErrorType, HoverInfo, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::Annotation;
use plotly::{Scatter, Trace};

use super::{Chart, Key, axis, layout, palette};
use crate::number::percent;
use crate::view::{CompareView, FactorMoveView};

/// Products of the thin curves.
const CURVES: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// One axis: what it measures on both sides, and the factors in it.
struct Side<'a> {
    name: &'static str,
    points: [f64; 2],
    factors: Vec<&'a FactorMoveView>,
}

impl<'a> Side<'a> {
    /// `None` where a factor is not known on both sides.
    fn of(name: &'static str, factors: Vec<&'a FactorMoveView>) -> Option<Self> {
        let product = |side: fn(&FactorMoveView) -> Option<f64>| {
            factors.iter().map(|&f| side(f)).product::<Option<f64>>()
        };
        let points = [product(|f| f.before)?, product(|f| f.after)?];
        Some(Self { name, points, factors })
    }

    /// The interval of the ratio, where the axis is one factor.
    fn interval(&self) -> Option<ErrorData> {
        match self.factors[..] {
            [factor] => interval(factor),
            _ => None,
        }
    }
}

/// What lies across, what goes up, and what their product is.
fn sides(factors: &[FactorMoveView]) -> Option<(Side<'_>, Side<'_>, &'static str)> {
    let find = |name: &str| factors.iter().find(|f| f.factor == name);
    let (runtime, program) = (find("runtime")?, find("program")?);
    // Three factors on two axes: where the pool decides, its jobs' product lies across and scheduling goodput up.
    // On the plane of the other two, curves at one scheduling goodput would hide what changed in it.
    let pool = find("scheduling").filter(|f| f.decides).and_then(|f| Side::of("scheduling goodput", vec![f]));
    Some(match pool {
        Some(scheduling) => {
            (Side::of("runtime x program goodput", vec![runtime, program])?, scheduling, "MPG")
        }
        None => (
            Side::of("program goodput", vec![program])?,
            Side::of("runtime goodput", vec![runtime])?,
            "product",
        ),
    })
}

/// The two points among the curves; `None` where a factor is not known on both sides.
pub(in crate::html) fn iso_product(view: &CompareView) -> Option<Chart> {
    let (across, up, name) = sides(&view.factors)?;
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    let mut labels = Vec::new();
    for product in CURVES {
        let line = Line::new().color(palette::OTHER).width(1.0);
        traces.push(curve(product, line));
        // Where the curve meets the right edge.
        labels.push(label_at(1.015, product, &format!("{product:.1}")));
    }
    let bold = Line::new().color(palette::KINDS[0]).width(2.5);
    traces.push(curve(across.points[0] * up.points[0], bold));
    let after = (across.points[1], up.points[1]);
    // The room: up to where each factor's own loss would be gone. On a shared axis the shorter one lies on the longer.
    let mut rooms: Vec<(&FactorMoveView, (f64, f64))> = Vec::new();
    rooms.extend(across.factors.iter().filter_map(|&f| Some((f, (after.0 / f.after?, after.1)))));
    rooms.extend(up.factors.iter().filter_map(|&f| Some((f, (after.0, after.1 / f.after?)))));
    rooms.sort_by(|(_, a), (_, b)| (b.0 + b.1).total_cmp(&(a.0 + a.1)));
    for &(factor, to) in &rooms {
        let text = format!(
            "all of {} goodput's loss removed: x{:.3}",
            factor.factor,
            factor.headroom.unwrap_or(1.0)
        );
        traces.push(
            Scatter::new(vec![after.0, to.0], vec![after.1, to.1])
                .mode(Mode::Lines)
                .line(Line::new().color(palette::boundary(factor.boundary)).width(2.0).dash(DashType::Dot))
                .text(&text)
                .hover_info(HoverInfo::Text),
        );
    }
    for i in 0..2 {
        let (x, y) = (across.points[i], up.points[i]);
        let (side, colour, symbol) = match i {
            0 => ("before", palette::KINDS[0], MarkerSymbol::Circle),
            _ => ("after", palette::USEFUL, MarkerSymbol::Diamond),
        };
        let hover = format!("{side}: {} {x:.4}, {} {y:.4}, {name} {:.4}", across.name, up.name, x * y);
        let mut point = Scatter::new(vec![x], vec![y])
            .mode(Mode::Markers)
            .marker(Marker::new().color(colour).size(12).symbol(symbol))
            .hover_text_array(vec![hover])
            .hover_info(HoverInfo::Text);
        // Below and outside, clear of the room above and beside, and of the other point.
        let rightward = across.points[0] <= across.points[1];
        let aside = if (i == 0) == rightward { -0.03 } else { 0.03 };
        labels.push(label_at(x + aside, y - 0.035, side));
        if i == 1 {
            if let Some(bars) = across.interval() {
                point = point.error_x(bars);
            }
            if let Some(bars) = up.interval() {
                point = point.error_y(bars);
            }
        }
        traces.push(point);
    }
    let ticks: Vec<f64> = (0..=5).map(|i| f64::from(i) * 0.2).collect();
    let square = |title: &str| {
        axis(title).range(vec![0.0, 1.04]).tick_values(ticks.clone()).fixed_range(true).show_grid(false)
    };
    let layout = layout().x_axis(square(across.name)).y_axis(square(up.name)).annotations(labels);
    let mut legend = vec![
        Key::plain(format!("before, and the curve of its {name}"), palette::KINDS[0]),
        Key::plain(
            format!("after, with the {} interval of the ratio of one factor", percent(Some(view.confidence))),
            palette::USEFUL,
        ),
    ];
    for (factor, _) in &rooms {
        legend.push(Key::plain(
            format!("room of {} goodput", factor.factor),
            palette::boundary(factor.boundary),
        ));
    }
    let label = format!(
        "{} {:.3} and {} {:.3} before, {:.3} and {:.3} after, among curves of one {name}",
        across.name, across.points[0], up.name, up.points[0], after.0, after.1
    );
    let title = match name {
        "MPG" => "Curves of one MPG",
        _ => "Curves of one product",
    };
    Some(Chart::new("iso", label, 520, legend, traces, layout).titled(title))
}

/// Where the product is one value.
fn curve(product: f64, line: Line) -> Box<Scatter<f64, f64>> {
    const POINTS: i32 = 60;
    let from = product.min(1.0);
    let at = |i: i32| from + (1.0 - from) * f64::from(i) / f64::from(POINTS);
    let across: Vec<f64> = (0..=POINTS).map(at).filter(|x| *x > 0.0).collect();
    let up = across.iter().map(|x| (product / x).min(1.0)).collect();
    Scatter::new(across, up).mode(Mode::Lines).line(line).hover_info(HoverInfo::Skip)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use goodput_core::Boundary;
    use rstest::rstest;

    use super::*;
    use crate::view::RatioView;

    fn factor(
        name: &'static str,
        boundary: Boundary,
        decides: bool,
        before: f64,
        after: f64,
    ) -> FactorMoveView {
        FactorMoveView {
            factor: name,
            boundary,
            decides,
            basis: "factors",
            before: Some(before),
            after: Some(after),
            coverage_before: 1.0,
            coverage_after: 1.0,
            ratio: RatioView { value: after / before, low: None, high: None },
            unit: "days",
            samples_before: 14,
            samples_after: 14,
            block_before: 1,
            block_after: 1,
            headroom: None,
            may_give_up: None,
        }
    }

    /// A point lies above the curve of before exactly when the deciding product rose.
    #[rstest]
    #[case::the_pool_gains_what_its_jobs_lose(true, 0.70, true)]
    #[case::the_pool_loses_with_its_jobs(true, 0.61, false)]
    #[case::one_job(false, 0.70, false)]
    fn after_lies_on_the_side_of_the_deciding_product(
        #[case] pool: bool,
        #[case] scheduling: f64,
        #[case] gained: bool,
    ) {
        let factors = [
            factor("scheduling", Boundary::Scheduling, pool, 0.62, scheduling),
            factor("runtime", Boundary::Runtime, true, 0.98, 0.97),
            factor("program", Boundary::Program, true, 0.38, 0.37),
        ];
        let (across, up, _) = sides(&factors).unwrap();
        let deciding = |side: fn(&FactorMoveView) -> Option<f64>| -> f64 {
            factors.iter().filter(|f| f.decides).map(|f| side(f).unwrap()).product()
        };
        let on_plane = [0, 1].map(|side| across.points[side] * up.points[side]);
        for (found, expected) in on_plane.into_iter().zip([deciding(|f| f.before), deciding(|f| f.after)]) {
            assert!((found / expected - 1.0).abs() < 1e-12, "{found}, expected {expected}");
        }
        assert_eq!(on_plane[1] > on_plane[0], gained);
    }
}
