//! Drawings: SVG with a text on each shape. They need no script, so that a page of thousands of passes stays small; colours of text and
//! lines are the page's.

mod gantt;
mod replicas;
mod scatter;
mod stacks;

pub(super) use gantt::gantt;
pub(super) use replicas::replicas;
pub(super) use scatter::{Point, scatter};
pub(super) use stacks::{Mark, Segment, StackRow, stacks};

use super::charts::Key;
use crate::name::printable;

/// A drawing of the page.
pub(super) struct Drawing {
    /// Element id.
    pub id: String,
    /// A heading of its own, where the section's does not say enough.
    pub title: Option<String>,
    /// Names and colours.
    pub legend: Vec<Key>,
    /// The element.
    pub svg: String,
}

/// Units of a drawing's width; it is as wide as the page.
const WIDTH: f64 = 1200.0;

/// Text inside an element or an attribute.
fn escaped(text: &str) -> String {
    printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// An element of a given height around its content.
fn svg(height: f64, label: &str, content: &str) -> String {
    format!(
        "<svg class=\"drawing\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{}\">{content}</svg>",
        escaped(label)
    )
}

/// Evenly spaced round numbers from nothing up to `largest`, about six.
fn ticks(from: f64, to: f64) -> Vec<f64> {
    let rough = (to - from) / 6.0;
    if !(rough.is_finite() && rough > 0.0) {
        return Vec::new();
    }
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|times| times * power)
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    let first = (from / step).ceil() as i64;
    (first..).map(|at| at as f64 * step).take_while(|tick| *tick <= to).collect()
}

/// A tick without needless digits.
fn tick_text(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 13.75), [0.0, 5.0, 10.0]);
        assert_eq!(ticks(90.0, 100.0), [90.0, 92.0, 94.0, 96.0, 98.0, 100.0]);
        assert!(ticks(0.0, 0.0).is_empty());
        assert_eq!((tick_text(0.5), tick_text(20.0)), ("0.5".to_owned(), "20".to_owned()));
    }

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(escaped("<a href=\"&\">"), "&lt;a href=&quot;&amp;&quot;&gt;");
    }
}
