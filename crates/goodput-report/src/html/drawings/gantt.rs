//! The step of a pipeline: a row a stage.

use std::collections::BTreeMap;
use std::fmt::Write;

use goodput_predict::schedule::{Doing, Pass};

use super::{Drawing, WIDTH, svg, tick_text, ticks};
use crate::html::charts::{Key, time_unit};
use crate::html::palette;
use crate::number::duration;
use crate::view::{DrawnRowView, DrawnSpanView, PictureWindowView};

const LEFT: f64 = 74.0;
const RIGHT: f64 = 14.0;
const AXIS: f64 = 34.0;
/// Width from which a micro-batch's number fits.
const NUMBERED: f64 = 15.0;

pub(in crate::html) fn gantt(id: String, view: &PictureWindowView) -> Drawing {
    let rows = view.rows.len();
    let row_height = if rows > 32 {
        14.0
    } else if rows > 16 {
        20.0
    } else {
        30.0
    };
    let scale = (WIDTH - LEFT - RIGHT) / (view.to_ns - view.from_ns).max(1.0);
    let place = Place { view, scale, row_height };
    let mut content = String::new();
    place.axis(&mut content);
    // Colours by their place in the legend: what is drawn shares one.
    let mut seen: BTreeMap<u8, Key> = BTreeMap::new();
    for (index, row) in view.rows.iter().enumerate() {
        place.row(&mut content, index, row);
        for span in row.spans.iter().chain(&row.beside) {
            let (order, name) = kind(span.doing);
            seen.entry(order).or_insert_with(|| Key::plain(name, palette::doing(span.doing)));
        }
    }
    seen.insert(u8::MAX, Key::plain("bubble", palette::OPEN_GROUND));
    let height = rows as f64 * row_height + AXIS;
    let label = format!("{}: what each of {rows} stages does", view.title);
    let title = Some(view.title.to_owned());
    Drawing { id, title, legend: seen.into_values().collect(), svg: svg(height, &label, &content) }
}

struct Place<'a> {
    view: &'a PictureWindowView,
    scale: f64,
    row_height: f64,
}

impl Place<'_> {
    fn x(&self, ns: f64) -> f64 {
        LEFT + (ns - self.view.from_ns) * self.scale
    }

    fn axis(&self, out: &mut String) {
        let (unit, unit_ns) = time_unit(self.view.to_ns as i64);
        let bottom = self.view.rows.len() as f64 * self.row_height;
        for tick in ticks(self.view.from_ns / unit_ns, self.view.to_ns / unit_ns) {
            let x = self.x(tick * unit_ns);
            let _ = write!(
                out,
                "<path class=\"grid\" d=\"M{x:.1} 0V{:.0}\"/><text class=\"quiet\" x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{} {unit}</text>",
                bottom + 4.0,
                bottom + 20.0,
                tick_text(tick)
            );
        }
    }

    fn row(&self, out: &mut String, index: usize, row: &DrawnRowView) {
        let top = index as f64 * self.row_height + 1.0;
        let height = self.row_height - 2.0;
        let strip = if row.beside.is_empty() { 0.0 } else { (height / 5.0).max(3.0) };
        // The ground is what a stage is when it does nothing.
        let _ = write!(
            out,
            "<rect class=\"idle\" x=\"{LEFT}\" y=\"{top}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            WIDTH - LEFT - RIGHT,
            height - strip
        );
        if self.row_height >= 20.0 || index.is_multiple_of(4) {
            let _ =
                write!(out, "<text x=\"0\" y=\"{:.1}\">stage {}</text>", top + height / 2.0 + 4.5, row.stage);
        }
        for span in &row.spans {
            self.span(out, row.stage, span, top, height - strip);
        }
        for span in &row.beside {
            self.span(out, row.stage, span, top + height - strip + 1.0, strip - 1.0);
        }
    }

    fn span(&self, out: &mut String, stage: usize, span: &DrawnSpanView, top: f64, height: f64) {
        let (x, width) = (self.x(span.start_ns), (span.duration_ns * self.scale).max(0.4));
        let colour = palette::doing(span.doing);
        let part = match span.doing {
            Doing::Pass { part, .. } => part,
            _ => 0,
        };
        let faded = if part % 2 == 1 { " fill-opacity=\".7\"" } else { "" };
        let edge = if width > 4.0 { " class=\"e\"" } else { "" };
        let _ = write!(
            out,
            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"{faded}{edge}><title>{}</title></rect>",
            text(stage, span)
        );
        if let (Doing::Pass { micro_batch, .. }, 1) = (span.doing, span.count)
            && height > 16.0
            && width > NUMBERED
        {
            let _ = write!(
                out,
                "<text class=\"n\" x=\"{:.1}\" y=\"{:.1}\">{micro_batch}</text>",
                x + width / 2.0,
                top + height / 2.0 + 4.0
            );
        }
    }
}

fn text(stage: usize, span: &DrawnSpanView) -> String {
    let (length, from) = (duration(span.duration_ns as i64), duration(span.start_ns as i64));
    let name = span.doing.name();
    match span.doing {
        _ if span.count > 1 => {
            format!("stage {stage}: {} stretches, mostly {name}, {length} from {from}", span.count)
        }
        Doing::Pass { micro_batch, part, .. } => {
            format!("stage {stage}: {name} of micro-batch {micro_batch}, part {part}: {length} from {from}")
        }
        _ => format!("stage {stage}: {name}, {length} from {from}"),
    }
}

/// Place in the legend, and the word there.
const fn kind(doing: Doing) -> (u8, &'static str) {
    match doing {
        Doing::Pass { pass: Pass::Forward, .. } => (0, "forward (micro-batch; paler: odd parts of a stage)"),
        Doing::Pass { pass: Pass::Backward, .. } => (1, "backward"),
        Doing::Pass { pass: Pass::InputGradient, .. } => (2, "input gradient"),
        Doing::Pass { pass: Pass::WeightGradient, .. } => (3, "weight gradient"),
        Doing::Pass { .. } => (4, "forward beside backward"),
        Doing::Send => (5, "exchange between stages"),
        Doing::Gather => (6, "parameters gathered"),
        Doing::Reduce => (7, "gradients reduced"),
        Doing::Host => (8, "waits for the host"),
        Doing::Optimizer => (9, "optimizer"),
        Doing::Bubble => (u8::MAX, "bubble"),
    }
}
