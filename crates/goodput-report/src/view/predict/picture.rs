//! What every stage does when, thinned to what a page can show.

use std::collections::BTreeMap;

use goodput_predict::schedule::{Doing, Picture, Row, Span};

/// The step of a pipeline, ready to be drawn: whole, and where that is too fine to be seen its two ends.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureView {
    /// What is drawn.
    pub windows: Vec<PictureWindowView>,
    /// Stages that have no row: the first and the last of a deep pipeline are drawn.
    pub stages_omitted: usize,
}

/// A stretch of the step.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureWindowView {
    /// What it shows.
    pub title: &'static str,
    /// Start, from the start of the step.
    pub from_ns: f64,
    /// End.
    pub to_ns: f64,
    /// Spans shorter than this are drawn as part of what fills most of them; `None` when each span is drawn.
    pub resolution_ns: Option<f64>,
    /// The stages.
    pub rows: Vec<DrawnRowView>,
}

/// One stage.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnRowView {
    /// Its number.
    pub stage: usize,
    /// What it does.
    pub spans: Vec<DrawnSpanView>,
    /// Exchanges with replicas beside it.
    pub beside: Vec<DrawnSpanView>,
}

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrawnSpanView {
    /// What it shows; of several spans what takes the most time.
    pub doing: Doing,
    /// Start.
    pub start_ns: f64,
    /// How long it is.
    pub duration_ns: f64,
    /// Spans that it stands for.
    pub count: usize,
}

/// Rows of a picture, and rectangles of a window: what a page holds in a megabyte and a browser draws at once.
const ROWS: usize = 64;
const RECTANGLES: usize = 6_000;

impl PictureView {
    pub(super) fn new(picture: &Picture) -> Self {
        let rows: Vec<(usize, &Row)> = picture.rows.iter().enumerate().collect();
        let omitted = rows.len().saturating_sub(ROWS);
        let shown: Vec<_> = if omitted > 0 {
            rows[..ROWS / 2].iter().chain(&rows[rows.len() - ROWS / 2..]).copied().collect()
        } else {
            rows
        };
        let end = |row: &Row| row.spans.last().map_or(0.0, |span| span.start_ns + span.duration_ns);
        let to_ns = picture.rows.iter().map(end).fold(picture.step_ns, f64::max);
        let mut windows = vec![PictureWindowView::new("The whole step", 0.0, to_ns, &shown)];
        if windows[0].resolution_ns.is_some() {
            let (filled, drains) = ends(picture, to_ns);
            windows.push(PictureWindowView::new("How the pipeline fills", 0.0, filled, &shown));
            windows.push(PictureWindowView::new("How it drains", drains, to_ns, &shown));
        }
        Self { windows, stages_omitted: omitted }
    }
}

/// Until the first stage has done a few backward passes; from the last stage's last few forward passes.
fn ends(picture: &Picture, to_ns: f64) -> (f64, f64) {
    const PASSES: usize = 4;
    let starts = |row: &Row, forward: bool| -> Vec<f64> {
        let of = |span: &Span| match span.doing {
            Doing::Pass { pass, .. } if pass.is_forward() == forward => Some(span.start_ns),
            _ => None,
        };
        row.spans.iter().filter_map(of).collect()
    };
    let filled = picture.rows.first().and_then(|row| starts(row, false).get(PASSES).copied());
    let drains = picture.rows.last().and_then(|row| starts(row, true).iter().rev().nth(PASSES).copied());
    (filled.unwrap_or(to_ns / 10.0), drains.unwrap_or(to_ns * 0.9))
}

impl PictureWindowView {
    fn new(title: &'static str, from_ns: f64, to_ns: f64, rows: &[(usize, &Row)]) -> Self {
        let inside = |spans: &[Span]| -> Vec<DrawnSpanView> {
            let cut = |span: &Span| {
                let start_ns = span.start_ns.max(from_ns);
                let duration_ns = (span.start_ns + span.duration_ns).min(to_ns) - start_ns;
                let drawn = duration_ns > 0.0 && span.doing != Doing::Bubble;
                drawn.then_some(DrawnSpanView { doing: span.doing, start_ns, duration_ns, count: 1 })
            };
            spans.iter().filter_map(cut).collect()
        };
        let mut rows: Vec<DrawnRowView> = rows
            .iter()
            .map(|(stage, row)| DrawnRowView {
                stage: *stage,
                spans: inside(&row.spans),
                beside: inside(&row.beside),
            })
            .collect();
        let all: usize = rows.iter().map(|row| row.spans.len() + row.beside.len()).sum();
        let resolution_ns = (all > RECTANGLES).then(|| {
            // Neighbours of one kind become one, so that a deep pipeline may have more columns than its share.
            let columns = (RECTANGLES / rows.len().max(1)).max(150) as f64;
            (to_ns - from_ns) / columns
        });
        if let Some(resolution_ns) = resolution_ns {
            for row in &mut rows {
                row.spans = thinned(&row.spans, resolution_ns);
                row.beside = thinned(&row.beside, resolution_ns);
            }
        }
        Self { title, from_ns, to_ns, resolution_ns, rows }
    }
}

/// Neighbours that are shorter than the resolution become one rectangle of what takes most of its time.
fn thinned(spans: &[DrawnSpanView], resolution_ns: f64) -> Vec<DrawnSpanView> {
    let mut drawn: Vec<DrawnSpanView> = Vec::new();
    let mut group: Vec<DrawnSpanView> = Vec::new();
    let close = |group: &mut Vec<DrawnSpanView>, drawn: &mut Vec<DrawnSpanView>| {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
        let mut by_kind: BTreeMap<&str, (f64, Doing)> = BTreeMap::new();
        for span in group.iter() {
            by_kind.entry(span.doing.name()).or_insert((0.0, span.doing)).0 += span.duration_ns;
        }
        let most = by_kind.into_values().max_by(|one, other| one.0.total_cmp(&other.0));
        let merged = DrawnSpanView {
            doing: most.map_or(first.doing, |(_, doing)| doing),
            start_ns: first.start_ns,
            duration_ns: last.start_ns + last.duration_ns - first.start_ns,
            count: group.len(),
        };
        group.clear();
        // Neighbours of one kind are drawn as one.
        match drawn.last_mut() {
            Some(before)
                if before.count > 1
                    && merged.count > 1
                    && before.doing.name() == merged.doing.name()
                    && merged.start_ns <= before.start_ns + before.duration_ns =>
            {
                before.duration_ns = merged.start_ns + merged.duration_ns - before.start_ns;
                before.count += merged.count;
            }
            _ => drawn.push(merged),
        }
    };
    for &span in spans {
        let gap = group
            .last()
            .is_some_and(|last| span.start_ns - (last.start_ns + last.duration_ns) > resolution_ns);
        if gap || span.duration_ns >= resolution_ns {
            close(&mut group, &mut drawn);
        }
        if span.duration_ns >= resolution_ns {
            drawn.push(span);
            continue;
        }
        group.push(span);
        let Some(first) = group.first() else { continue };
        if span.start_ns + span.duration_ns - first.start_ns >= resolution_ns {
            close(&mut group, &mut drawn);
        }
    }
    close(&mut group, &mut drawn);
    drawn
}

#[cfg(test)]
mod tests {
    use goodput_predict::run::Schedule;
    use goodput_predict::schedule::{Part, Pipeline, Simulator};

    use super::*;

    fn view(stages: usize, micro_batches: usize) -> PictureView {
        let part =
            Part { forward_ns: 1e6, input_gradient_ns: 1e6, weight_gradient_ns: 1e6, ..Part::default() };
        let pipeline = Pipeline::equal(Schedule::OneForwardOneBackward, stages, micro_batches, part);
        PictureView::new(&Simulator::default().picture(&pipeline).unwrap())
    }

    #[test]
    fn a_small_step_is_drawn_pass_by_pass() {
        let view = view(4, 8);
        assert_eq!((view.windows.len(), view.windows[0].resolution_ns), (1, None));
        assert!(view.windows[0].rows.iter().all(|row| row.spans.len() == 16));
    }

    #[test]
    fn a_long_step_is_thinned_and_its_ends_are_drawn_pass_by_pass() {
        let view = view(64, 2048);
        assert_eq!(view.windows.len(), 3);
        for window in &view.windows {
            let drawn: usize = window.rows.iter().map(|row| row.spans.len()).sum();
            assert!(drawn <= 2 * RECTANGLES, "{}: {drawn}", window.title);
        }
    }
}
