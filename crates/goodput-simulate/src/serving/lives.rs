//! What befalls each replica from placement to release.

use goodput_core::serving::HeldUse;

use super::books::ServingTruth;
use super::{DEVICES, S, Scenario, stamp};
use crate::random::{Purpose, Stream};

/// A stretch of ready time that may hold work.
pub(super) struct ReadyTime {
    pub replica: String,
    pub from: i64,
    pub to: i64,
    pub works: bool,
}

/// From a request to its placement, and to the release.
pub(super) struct Placement {
    pub requested: i64,
    pub placed: i64,
    pub released: i64,
    /// From when small jobs had some devices of its node, up to its placement.
    pub lent_from: Option<i64>,
}

/// The fleet's history as it forms.
pub(super) struct Fleet {
    pub lines: Vec<(i64, String)>,
    pub truth: ServingTruth,
    pub ready: Vec<ReadyTime>,
    pub placements: Vec<Placement>,
}

impl Fleet {
    pub(super) fn run(scenario: &Scenario) -> Self {
        let mut fleet = Self {
            lines: Vec::new(),
            truth: ServingTruth::default(),
            ready: Vec::new(),
            placements: Vec::new(),
        };
        let end = scenario.end_ns();
        for number in 0..scenario.replicas + scenario.warm_pool {
            let works = number < scenario.replicas;
            let name = if works { format!("serve-{number}") } else { format!("warm-{number}") };
            // One stands from the first instant on, so that the log covers the window.
            let mut run = Run::new(scenario, &mut fleet, name, u64::from(number), works);
            let first = if number == 0 { 0 } else { run.draw_ns(20.0) };
            run.serve(first, first, end, true, None);
        }
        for day in 0..i64::from(scenario.days.max(1)) {
            for number in 0..scenario.burst_replicas {
                let key = 1_000 + (day.unsigned_abs() << 16) + u64::from(number);
                let name = format!("burst-{day}-{number}");
                let mut run = Run::new(scenario, &mut fleet, name, key, true);
                let requested = (day * 24 + 14) * 3600 * S + run.draw_ns(120.0);
                let placed = requested + run.draw_ns(240.0);
                let lent_from = (number > 0).then_some(day * 86_400 * S);
                run.serve(requested, placed, (placed + 3600 * S).min(end), false, lent_from);
            }
        }
        fleet
    }

    fn event(&mut self, replica: &str, at: i64, event: &str) {
        let more = match event {
            "placed" => format!(",\"devices\":{DEVICES},\"pool\":\"serving\""),
            _ => String::new(),
        };
        let line = format!("{{\"replica\":\"{replica}\",\"at\":{},\"event\":\"{event}\"{more}}}", stamp(at));
        self.lines.push((at, line));
    }
}

/// One replica's history.
struct Run<'a> {
    scenario: &'a Scenario,
    fleet: &'a mut Fleet,
    name: String,
    draws: Stream,
    works: bool,
}

impl<'a> Run<'a> {
    fn new(scenario: &'a Scenario, fleet: &'a mut Fleet, name: String, key: u64, works: bool) -> Self {
        let draws = Stream::new(scenario.seed, Purpose::Replica, key, 0);
        Self { scenario, fleet, name, draws, works }
    }

    /// Half to one and a half times the mean, at least a nanosecond.
    fn draw_ns(&mut self, mean_s: f64) -> i64 {
        ((mean_s * self.draws.between(0.5, 1.5) * 1e9) as i64).max(1)
    }

    fn event(&mut self, at: i64, event: &str) {
        self.fleet.event(&self.name, at, event);
    }

    fn charge(&mut self, used_for: HeldUse, from: i64, to: i64) {
        self.fleet.truth.used(used_for, i128::from(to - from) * i128::from(DEVICES));
    }

    /// Lives one after the other until `end`; the last one of a replica that stays is not released.
    fn serve(&mut self, requested: i64, placed: i64, end: i64, stays: bool, lent_from: Option<i64>) {
        let (mut requested, mut placed) = (requested, placed);
        while placed < end {
            if requested < placed {
                self.event(requested, "requested");
            }
            let released = self.life(placed, end, stays);
            self.fleet.placements.push(Placement { requested, placed, released, lent_from });
            self.fleet.truth.lives += 1;
            (requested, placed) = (released, released + self.draw_ns(90.0));
        }
    }

    /// One life; returns its release.
    fn life(&mut self, placed: i64, end: i64, stays: bool) -> i64 {
        self.event(placed, "placed");
        let mut at = placed;
        if self.draws.happens(0.1) {
            let failed = (at + self.draw_ns(self.scenario.weight_load_s / 3.0)).min(end);
            if failed < end {
                self.charge(HeldUse::ColdStart, at, failed);
                self.event(failed, "failed");
                at = self.restart(failed, end);
            }
        } else {
            at = self.start(at, end, HeldUse::WeightLoad);
        }
        while at < end {
            let fails_after = (self.draws.exponential(self.scenario.failure_h) * 3600e9) as i64;
            let fails = at + fails_after.clamp(1, i64::MAX / 4);
            let updates = if stays { at + self.draw_ns(self.scenario.update_h * 3600.0) } else { i64::MAX };
            let until = fails.min(updates).min(end);
            self.ready(at, until);
            at = until;
            if at >= end {
                break;
            }
            if fails == until {
                self.event(at, "failed");
                at = self.restart(at, end);
                continue;
            }
            self.event(at, "draining");
            let drained = (at + self.draw_ns(self.scenario.drain_s)).min(end);
            self.charge(HeldUse::Drain, at, drained);
            at = drained;
            if at >= end {
                break;
            }
            if self.draws.happens(0.5) {
                self.event(at, "released");
                return at;
            }
            self.event(at, "restarting");
            at = self.start(at, end, HeldUse::WeightLoad);
        }
        if !stays {
            self.event(end, "released");
        }
        end
    }

    fn ready(&mut self, from: i64, to: i64) {
        self.event(from, "ready");
        self.charge(HeldUse::Ready, from, to);
        self.fleet.ready.push(ReadyTime { replica: self.name.clone(), from, to, works: self.works });
    }

    /// From a failure until it is ready again.
    fn restart(&mut self, failed: i64, end: i64) -> i64 {
        let mut at = failed + self.draw_ns(30.0);
        if at < end && self.draws.happens(0.7) {
            self.event(at, "restarting");
        }
        at += self.draw_ns(self.scenario.weight_load_s);
        if at < end {
            self.event(at, "weights_loaded");
        }
        let ready = (at + self.draw_ns(self.scenario.warm_up_s)).min(end);
        self.charge(HeldUse::Restart, failed, ready);
        ready
    }

    /// A start whose log may leave milestones out; `first` is what the time to the weights is used for.
    fn start(&mut self, from: i64, end: i64, first: HeldUse) -> i64 {
        let loaded = from + self.draw_ns(self.scenario.weight_load_s);
        let compiled = loaded + self.draw_ns(self.scenario.compile_s);
        let warm = compiled + self.draw_ns(self.scenario.warm_up_s);
        let ready = warm + self.draw_ns(1.0);
        let mut since = from;
        // What the stretch under way counts as if the next milestone is not its own.
        let mut otherwise = HeldUse::ColdStart;
        for (at, event, own) in [
            (loaded, "weights_loaded", first),
            (compiled, "compiled", HeldUse::Compilation),
            (warm, "warm", HeldUse::WarmUp),
        ] {
            if at >= end || self.draws.happens(0.15) {
                continue;
            }
            self.event(at, event);
            let is_own = match event {
                "weights_loaded" => true,
                "compiled" => otherwise == HeldUse::WarmUp,
                _ => false,
            };
            self.charge(if is_own { own } else { otherwise }, since, at);
            (since, otherwise) = (at, HeldUse::WarmUp);
            if event == "warm" && ready >= end {
                // Nothing says what becomes of it.
                otherwise = HeldUse::Unsettled;
            }
        }
        self.charge(otherwise, since, ready.min(end));
        ready.min(end)
    }
}
