//! Capacity-time as a clock: how much of it the job had held by each instant.

use super::executions::SizeChange;
use super::{HeldInterval, Segment, Use};
use crate::capacity::CapacityTime;
use crate::time::{Interval, Timestamp, Window};

/// What the job had held by some instant, inside the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Reading {
    /// Held time in nanoseconds, whatever the number of devices.
    pub time_ns: i128,
    /// Device-nanoseconds of the active devices.
    pub active: i128,
    /// Device-nanoseconds of active and spare devices.
    pub held: i128,
}

impl Reading {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            time_ns: self.time_ns + other.time_ns,
            active: self.active + other.active,
            held: self.held + other.held,
        }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self {
            time_ns: self.time_ns - other.time_ns,
            active: self.active - other.active,
            held: self.held - other.held,
        }
    }
}

/// From `at` on, until the next knot.
#[derive(Debug, Clone, Copy)]
struct Knot {
    at: Timestamp,
    before: Reading,
    active: u64,
    standby: u64,
    /// The held interval; `None` while nothing is held.
    lane: Option<usize>,
}

/// A job's held capacity-time as a function of time. It is flat where nothing is held and outside the
/// window. Differences of its readings add up whatever the order of the stamps they are taken at, so
/// the parts of held time sum to it exactly, even where a clock steps back.
#[derive(Debug)]
pub(super) struct HeldClock {
    knots: Vec<Knot>,
}

impl HeldClock {
    /// The clock of `held` inside `window`, with the sizes that the log gives. `total_known`: the
    /// intervals' devices include the spares (else they are the active ones, as logs say).
    pub(super) fn new(
        held: &[HeldInterval],
        sizes: &[(Timestamp, SizeChange)],
        window: Window,
        total_known: bool,
    ) -> Self {
        let mut sizes = sizes.to_vec();
        sizes.sort_by_key(|&(at, _)| at);
        let mut clock = Self { knots: Vec::with_capacity(2 * held.len() + sizes.len()) };
        let mut changes = sizes.into_iter().peekable();
        for (lane, interval) in held.iter().enumerate() {
            let inside = window.clip(interval.interval);
            if inside.is_empty() {
                continue;
            }
            let mut size =
                Size { active: interval.devices, standby: 0, total: total_known.then_some(interval.devices) };
            while changes.next_if(|&(at, _)| at < interval.interval.start).is_some() {}
            while let Some((_, change)) = changes.next_if(|&(at, _)| at <= inside.start) {
                size.change(change);
            }
            clock.push(inside.start, size, Some(lane));
            while let Some((at, change)) = changes.next_if(|&(at, _)| at < inside.end) {
                size.change(change);
                clock.push(at, size, Some(lane));
            }
            clock.push(inside.end, Size { active: 0, standby: 0, total: None }, None);
        }
        clock
    }

    fn push(&mut self, at: Timestamp, size: Size, lane: Option<usize>) {
        let before = self.read(at);
        self.knots.push(Knot { at, before, active: size.active, standby: size.standby, lane });
    }

    /// What had been held by `at`.
    pub(super) fn read(&self, at: Timestamp) -> Reading {
        let next = self.knots.partition_point(|k| k.at <= at);
        let Some(knot) = next.checked_sub(1).map(|i| self.knots[i]) else { return Reading::default() };
        if knot.lane.is_none() {
            return knot.before;
        }
        let ns = at - knot.at;
        Reading {
            time_ns: knot.before.time_ns + i128::from(ns),
            active: knot.before.active + CapacityTime::of(knot.active, ns).device_ns(),
            held: knot.before.held
                + CapacityTime::of(knot.active.saturating_add(knot.standby), ns).device_ns(),
        }
    }

    /// Everything held, as time, in nanoseconds.
    pub(super) fn total_time_ns(&self) -> i64 {
        i64::try_from(self.total().time_ns).unwrap_or(i64::MAX)
    }

    /// Everything held.
    pub(super) fn total(&self) -> Reading {
        self.read(Timestamp::from_nanos(i64::MAX))
    }

    /// Active devices at the first instant held.
    pub(super) fn first_devices(&self) -> Option<u64> {
        self.knots.first().map(|k| k.active.saturating_add(k.standby))
    }

    /// Draws a stretch into the lanes of the held intervals that it crosses; merges it with the
    /// segment before when nothing changed.
    pub(super) fn draw(&self, lanes: &mut [Vec<Segment>], stretch: Interval, used_for: Use) {
        if stretch.is_empty() {
            return;
        }
        let first = self.knots.partition_point(|k| k.at <= stretch.start).saturating_sub(1);
        for (i, knot) in self.knots.iter().enumerate().skip(first) {
            if knot.at >= stretch.end {
                break;
            }
            let Some(lane) = knot.lane else { continue };
            let to = self.knots.get(i + 1).map_or(stretch.end, |next| next.at);
            let interval = stretch.intersect(Interval::new(knot.at, to));
            if interval.is_empty() {
                continue;
            }
            match lanes[lane].last_mut() {
                Some(last)
                    if last.interval.end == interval.start
                        && (last.used_for, last.devices) == (used_for, knot.active) =>
                {
                    last.interval.end = interval.end;
                }
                _ => lanes[lane].push(Segment { interval, used_for, devices: knot.active }),
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Size {
    active: u64,
    standby: u64,
    /// Devices of the allocation, when they are stated apart from the active ones.
    total: Option<u64>,
}

impl Size {
    /// An elastic gang counts its active size between reconfigurations; spares are held beside it.
    fn change(&mut self, change: SizeChange) {
        match change {
            SizeChange::Active(devices) => {
                self.active = devices;
                self.total = self.total.map(|_| devices.saturating_add(self.standby));
            }
            SizeChange::Standby(devices) => {
                self.standby = devices;
                if let Some(total) = self.total {
                    self.standby = devices.min(total);
                    self.active = total - self.standby;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::SourceRef;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    #[test]
    fn reads_active_and_spare_devices_inside_the_window_only() {
        let held = |from, to, devices| HeldInterval {
            interval: Interval::new(at(from), at(to)),
            devices,
            ended_by: None,
            suspended_ns: 0,
            source: SourceRef::default(),
        };
        let sizes = [(at(20), SizeChange::Standby(2)), (at(60), SizeChange::Active(3))];
        let window = Window::new(at(10), at(100)).unwrap();
        let clock = HeldClock::new(&[held(0, 40, 8), held(50, 200, 4)], &sizes, window, true);
        let s = 1_000_000_000;
        assert_eq!(
            clock.read(at(30)),
            Reading { time_ns: 20 * i128::from(s), active: 140 * i128::from(s), held: 160 * i128::from(s) }
        );
        // 10 x 8 + 20 x 8, then 10 x 4 + 40 x 3: a new allocation starts without spares.
        assert_eq!(clock.total().held, (240 + 160) * i128::from(s));
        assert_eq!(clock.total().active, (80 + 120 + 160) * i128::from(s));
        // Back and forth adds up.
        let parts = [at(-5), at(35), at(25), at(80), at(300)]
            .windows(2)
            .map(|p| clock.read(p[1]).held - clock.read(p[0]).held)
            .sum::<i128>();
        assert_eq!(parts, clock.total().held);
    }
}
