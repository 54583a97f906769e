//! Rows of stretches that add up: terms of stages and of layouts, parts of the memory.

use std::fmt::Write;

use super::{Drawing, WIDTH, escaped, svg};
use crate::html::charts::Key;

/// One row.
pub(in crate::html) struct StackRow {
    /// Its name, on the left.
    pub name: String,
    /// What it is made of, from the left.
    pub segments: Vec<Segment>,
    /// What stands behind it.
    pub total: String,
}

/// One stretch.
pub(in crate::html) struct Segment {
    pub name: &'static str,
    pub colour: &'static str,
    pub value: f64,
    /// The value with its unit.
    pub text: String,
}

/// A line across all rows.
pub(in crate::html) struct Mark {
    pub value: f64,
    pub name: String,
}

const ROW: f64 = 26.0;
const RIGHT: f64 = 110.0;

pub(in crate::html) fn stacks(
    id: &str,
    title: Option<String>,
    label: &str,
    rows: &[StackRow],
    mark: Option<&Mark>,
) -> Drawing {
    // Names in the page's font take about 8 units a letter.
    let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let left = (longest as f64 * 7.6 + 12.0).clamp(70.0, 520.0);
    let sum = |row: &StackRow| row.segments.iter().map(|segment| segment.value).sum::<f64>();
    let most = rows.iter().map(sum).chain(mark.map(|mark| mark.value)).fold(0.0, f64::max);
    let scale = if most > 0.0 { (WIDTH - left - RIGHT) / most } else { 0.0 };
    let (mut content, mut legend): (String, Vec<(&str, &str)>) = Default::default();
    let top = if mark.is_some() { 22.0 } else { 2.0 };
    for (index, row) in rows.iter().enumerate() {
        let y = top + index as f64 * ROW;
        let _ = write!(content, "<text x=\"0\" y=\"{:.0}\">{}</text>", y + 16.0, escaped(&row.name));
        let mut x = left;
        for segment in &row.segments {
            let width = segment.value * scale;
            let _ = write!(
                content,
                "<rect class=\"e\" x=\"{x:.1}\" y=\"{y:.0}\" width=\"{width:.1}\" height=\"{:.0}\" fill=\"{}\"><title>{}: {}, {}</title></rect>",
                ROW - 4.0,
                segment.colour,
                escaped(&row.name),
                segment.name,
                segment.text
            );
            x += width;
            if !legend.contains(&(segment.name, segment.colour)) {
                legend.push((segment.name, segment.colour));
            }
        }
        let _ = write!(
            content,
            "<text x=\"{:.1}\" y=\"{:.0}\">{}</text>",
            x + 8.0,
            y + 16.0,
            escaped(&row.total)
        );
    }
    let bottom = top + rows.len() as f64 * ROW;
    if let Some(mark) = mark {
        let x = left + mark.value * scale;
        let anchor = if x > WIDTH * 0.75 { "end" } else { "start" };
        let _ = write!(
            content,
            "<path class=\"mark\" d=\"M{x:.1} 4V{bottom:.0}\"/><text x=\"{:.1}\" y=\"15\" text-anchor=\"{anchor}\">{}</text>",
            if anchor == "end" { x - 6.0 } else { x + 6.0 },
            escaped(&mark.name)
        );
    }
    let legend = legend.into_iter().map(|(name, colour)| Key::plain(name, colour)).collect();
    Drawing { id: id.to_owned(), title, legend, svg: svg(bottom + 4.0, label, &content) }
}
