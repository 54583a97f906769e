//! Series for pictures: equal stretches of the window whose means keep the integrals.

use crate::time::{Timestamp, Window};

use super::SeriesPoint;

#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    offered_ns: i128,
    held_ns: i128,
    waiting_jobs: u64,
    waiting_devices: u64,
    largest_gang_nodes: Option<u32>,
    seen: bool,
}

/// The state of a pool while nothing changes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Level {
    pub offered: i64,
    pub held: i64,
    pub waiting_jobs: u64,
    pub waiting_devices: u64,
    pub largest_gang_nodes: Option<u32>,
}

/// Collects levels into stretches.
#[derive(Debug, Default)]
pub(super) struct Series {
    from: Timestamp,
    to: Timestamp,
    width_ns: i64,
    stretches: Vec<Stretch>,
    /// The stretch that time has reached, and its end.
    current: usize,
    current_end: Timestamp,
}

impl Series {
    /// At most `points` stretches over `window`.
    pub fn new(window: Window, points: usize) -> Self {
        let points = i64::try_from(points).unwrap_or(i64::MAX);
        if points == 0 {
            return Self::default();
        }
        let whole_ns = window.duration_ns();
        let width_ns = (whole_ns / points + i64::from(whole_ns % points != 0)).max(1);
        let count = whole_ns / width_ns + i64::from(whole_ns % width_ns != 0);
        let stretches = vec![Stretch::default(); usize::try_from(count).unwrap_or(0)];
        let current_end = window.from() + width_ns;
        Self { from: window.from(), to: window.to(), width_ns, stretches, current: 0, current_end }
    }

    /// `level` held from `since` to `until`: the next piece of the window.
    pub fn add(&mut self, since: Timestamp, until: Timestamp, level: &Level) {
        let mut at = since;
        while at < until {
            if at >= self.current_end {
                self.current += 1;
                self.current_end = self.current_end + self.width_ns;
            }
            let Some(stretch) = self.stretches.get_mut(self.current) else { return };
            let end = self.current_end.min(until);
            let ns = i128::from(end - at);
            stretch.offered_ns += i128::from(level.offered) * ns;
            stretch.held_ns += i128::from(level.held) * ns;
            stretch.waiting_jobs = stretch.waiting_jobs.max(level.waiting_jobs);
            stretch.waiting_devices = stretch.waiting_devices.max(level.waiting_devices);
            stretch.largest_gang_nodes = match (stretch.seen, level.largest_gang_nodes) {
                (false, largest) => largest,
                (true, Some(largest)) => stretch.largest_gang_nodes.map(|smallest| smallest.min(largest)),
                (true, None) => None,
            };
            stretch.seen = true;
            at = end;
        }
    }

    /// One point a stretch, with `unit` counted units a device.
    pub fn into_points(self, unit: f64) -> Vec<SeriesPoint> {
        let point = |(index, stretch): (usize, &Stretch)| {
            let at = self.from + self.width_ns.saturating_mul(i64::try_from(index).unwrap_or(i64::MAX));
            let ns = (self.to - at).min(self.width_ns).max(1) as f64;
            SeriesPoint {
                at,
                offered: stretch.offered_ns as f64 / ns / unit,
                held: stretch.held_ns as f64 / ns / unit,
                waiting_jobs: stretch.waiting_jobs,
                waiting_devices: (stretch.waiting_devices as f64 / unit).ceil() as u64,
                largest_gang_nodes: stretch.largest_gang_nodes,
            }
        };
        self.stretches.iter().enumerate().map(point).collect()
    }
}
