//! Points over two axes: layouts by what they take.

use std::fmt::Write;

use super::{Drawing, WIDTH, escaped, svg, tick_text, ticks};
use crate::html::charts::Key;

/// One point.
pub(in crate::html) struct Point {
    pub x: f64,
    pub y: f64,
    /// Radius.
    pub size: f64,
    pub name: &'static str,
    pub colour: &'static str,
    /// What it is.
    pub text: String,
}

const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 50.0;
const TOP: f64 = 12.0;
const RIGHT: f64 = 20.0;

/// Axes named with their units. `at_most`: what no point of the upper axis may pass.
pub(in crate::html) fn scatter(
    id: &str,
    label: &str,
    [x_name, y_name]: [&str; 2],
    points: &[Point],
    at_most: Option<(f64, &str)>,
) -> Drawing {
    let range = |of: &dyn Fn(&Point) -> f64, also: Option<f64>| {
        let values = || points.iter().map(of).chain(also);
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        let room = ((high - low) * 0.06).max(high * 0.01);
        ((low - room).max(0.0), high + room)
    };
    let (xs, ys) = (range(&|point| point.x, None), range(&|point| point.y, at_most.map(|(value, _)| value)));
    let x =
        |value: f64| LEFT + (value - xs.0) / (xs.1 - xs.0).max(f64::MIN_POSITIVE) * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| {
        HEIGHT - BOTTOM - (value - ys.0) / (ys.1 - ys.0).max(f64::MIN_POSITIVE) * (HEIGHT - BOTTOM - TOP)
    };
    let mut content = String::new();
    for tick in ticks(xs.0, xs.1) {
        let at = x(tick);
        let _ = write!(
            content,
            "<path class=\"grid\" d=\"M{at:.1} {TOP}V{}\"/><text class=\"quiet\" x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 18.0,
            tick_text(tick)
        );
    }
    for tick in ticks(ys.0, ys.1) {
        let at = y(tick);
        let _ = write!(
            content,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{}\"/><text class=\"quiet\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.5,
            tick_text(tick)
        );
    }
    let _ = write!(
        content,
        "<text class=\"quiet\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{x_name}</text><text class=\"quiet\" x=\"{}\" y=\"{}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {})\">{y_name}</text>",
        f64::midpoint(LEFT, WIDTH),
        HEIGHT - 8.0,
        14.0,
        HEIGHT / 2.0,
        HEIGHT / 2.0
    );
    if let Some((value, name)) = at_most {
        let at = y(value);
        let _ = write!(
            content,
            "<path class=\"mark\" d=\"M{LEFT} {at:.1}H{}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            WIDTH - RIGHT - 4.0,
            at - 5.0,
            escaped(name)
        );
    }
    let mut legend: Vec<(&str, &str)> = Vec::new();
    for point in points {
        let _ = write!(
            content,
            "<circle class=\"e\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{:.1}\" fill=\"{}\" fill-opacity=\".85\"><title>{}</title></circle>",
            x(point.x),
            y(point.y),
            point.size,
            point.colour,
            escaped(&point.text)
        );
        if !legend.contains(&(point.name, point.colour)) {
            legend.push((point.name, point.colour));
        }
    }
    let legend = legend.into_iter().map(|(name, colour)| Key::plain(name, colour)).collect();
    Drawing { id: id.to_owned(), title: None, legend, svg: svg(HEIGHT, label, &content) }
}
