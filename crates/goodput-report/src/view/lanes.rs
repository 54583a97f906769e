//! Lanes: what each attempt of the largest jobs did over time, thinned for a picture.

use std::cmp::Reverse;

use goodput_core::runtime::{Segment, Use};
use goodput_core::{Interval, Pattern, Timestamp, Window};
use serde::Serialize;

use super::exact::Exact;

/// Lanes of the largest jobs that have a timeline.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LanesView {
    /// Jobs drawn.
    pub jobs: u64,
    /// Jobs with a timeline that are not drawn.
    pub jobs_omitted: u64,
    /// Stretches shorter than this are drawn as part of what fills most of it. The figures are exact.
    pub resolution_ns: Exact,
    /// One lane an attempt.
    pub lanes: Vec<LaneView>,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LaneView {
    /// The job.
    pub job: String,
    /// Attempt, from one.
    pub attempt: u64,
    /// Devices at its start.
    pub devices: u64,
    /// In time order.
    pub segments: Vec<SegmentView>,
}

/// A stretch with one use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SegmentView {
    /// Nanoseconds since the Unix epoch.
    pub from_ns: Exact,
    /// Nanoseconds since the Unix epoch.
    pub to_ns: Exact,
    /// `productive`, or the pattern it is lost to.
    pub used_for: &'static str,
    /// The pattern, for renderers; `None` for productive time.
    #[serde(skip)]
    pub pattern: Option<Pattern>,
}

/// Stretches that one lane can show: more would be thinner than a pixel.
const STRETCHES: i64 = 600;

impl LanesView {
    pub(crate) fn new(window: Window) -> Self {
        Self { resolution_ns: (window.duration_ns() / STRETCHES).max(1).into(), ..Self::default() }
    }

    pub(crate) fn push_job(&mut self, job: &str, lanes: &[Vec<Segment>]) {
        self.jobs += 1;
        let resolution_ns = self.resolution_ns.as_i64();
        for (i, segments) in lanes.iter().enumerate() {
            let Some(first) = segments.first() else { continue };
            self.lanes.push(LaneView {
                job: job.to_owned(),
                attempt: i as u64 + 1,
                devices: first.devices,
                segments: thin(segments, resolution_ns),
            });
        }
    }
}

fn view(interval: Interval, used_for: Use) -> SegmentView {
    let pattern = match used_for {
        Use::Productive => None,
        Use::Lost(pattern) => Some(pattern),
    };
    SegmentView {
        from_ns: interval.start.into(),
        to_ns: interval.end.into(),
        used_for: pattern.map_or("productive", Pattern::key),
        pattern,
    }
}

/// At most two stretches a resolution step: segments shorter than it are gathered until they fill
/// one, and drawn as the use that takes most of it.
fn thin(segments: &[Segment], resolution_ns: i64) -> Vec<SegmentView> {
    let mut thinned: Vec<SegmentView> = Vec::new();
    let mut emit = |interval: Interval, used_for: Use| {
        let next = view(interval, used_for);
        match thinned.last_mut() {
            Some(last) if last.pattern == next.pattern && last.to_ns == next.from_ns => {
                last.to_ns = next.to_ns
            }
            _ => thinned.push(next),
        }
    };
    let mut gathered = Gathered::default();
    for segment in segments.iter().filter(|s| !s.interval.is_empty()) {
        if segment.interval.duration_ns() >= resolution_ns {
            if let Some((interval, used_for)) = gathered.take() {
                emit(interval, used_for);
            }
            emit(segment.interval, segment.used_for);
            continue;
        }
        if gathered.end.is_some_and(|end| end != segment.interval.start)
            && let Some((interval, used_for)) = gathered.take()
        {
            emit(interval, used_for);
        }
        if gathered.add(segment) >= resolution_ns
            && let Some((interval, used_for)) = gathered.take()
        {
            emit(interval, used_for);
        }
    }
    if let Some((interval, used_for)) = gathered.take() {
        emit(interval, used_for);
    }
    thinned
}

/// Adjacent short segments, with the time that each use takes.
#[derive(Default)]
struct Gathered {
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    uses: Vec<(Use, i64)>,
}

impl Gathered {
    fn add(&mut self, segment: &Segment) -> i64 {
        let start = *self.start.get_or_insert(segment.interval.start);
        self.end = Some(segment.interval.end);
        let duration_ns = segment.interval.duration_ns();
        match self.uses.iter_mut().find(|(used_for, _)| *used_for == segment.used_for) {
            Some((_, ns)) => *ns += duration_ns,
            None => self.uses.push((segment.used_for, duration_ns)),
        }
        segment.interval.end - start
    }

    fn take(&mut self) -> Option<(Interval, Use)> {
        let (start, end) = (self.start.take()?, self.end.take()?);
        let used_for = self.uses.iter().max_by_key(|(used_for, ns)| (*ns, Reverse(*used_for)))?.0;
        self.uses.clear();
        Some((Interval::new(start, end), used_for))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(from: i64, to: i64, used_for: Use) -> Segment {
        let interval = Interval::new(Timestamp::from_nanos(from), Timestamp::from_nanos(to));
        Segment { interval, used_for, devices: 8 }
    }

    #[test]
    fn gathers_what_a_picture_cannot_show() {
        let wait = Use::Lost(Pattern::InputWait);
        let mut segments = Vec::new();
        for i in 0..100 {
            segments.push(segment(i * 10, i * 10 + 9, Use::Productive));
            segments.push(segment(i * 10 + 9, i * 10 + 10, wait));
        }
        segments.push(segment(1000, 1500, Use::Lost(Pattern::Recovery)));
        let thinned = thin(&segments, 50);
        assert_eq!(thinned.len(), 2);
        assert_eq!((thinned[0].from_ns, thinned[0].to_ns), (Exact(0), Exact(1000)));
        assert_eq!(thinned[1].used_for, "recovery");
    }

    #[test]
    fn keeps_gaps_open() {
        let segments = [segment(0, 10, Use::Productive), segment(30, 40, Use::Productive)];
        assert_eq!(thin(&segments, 100).len(), 2);
    }
}
