//! A replica's events as stretches of held time, each with one use.

use crate::pattern::Pattern;
use crate::records::Symbol;
use crate::time::{Interval, Timestamp};
use crate::warning::Warning;

use super::records::{ReplicaEvent, ReplicaEventKind as Kind};

/// What held time of a replica was used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeldUse {
    /// Able to answer: what crosses the runtime boundary.
    Ready,
    /// Fetching and loading weights.
    WeightLoad,
    /// Compilation or graph capture.
    Compilation,
    /// Warm-up, to the first traffic.
    WarmUp,
    /// Becoming ready, and the log does not divide it.
    ColdStart,
    /// From a failure until it is ready again, or released.
    Restart,
    /// Draining.
    Drain,
    /// No event says.
    Unsettled,
}

impl HeldUse {
    /// Every use, in the order of a report.
    pub const ALL: [Self; 8] = [
        Self::Ready,
        Self::WeightLoad,
        Self::Compilation,
        Self::WarmUp,
        Self::ColdStart,
        Self::Restart,
        Self::Drain,
        Self::Unsettled,
    ];

    /// The loss of the ledger; `None` for ready time.
    pub const fn pattern(self) -> Option<Pattern> {
        match self {
            Self::Ready => None,
            Self::WeightLoad | Self::Compilation | Self::WarmUp | Self::ColdStart => {
                Some(Pattern::ReplicaColdStart)
            }
            Self::Restart => Some(Pattern::ReplicaRestart),
            Self::Drain => Some(Pattern::ReplicaDrain),
            Self::Unsettled => Some(Pattern::RuntimeUnsettled),
        }
    }

    /// The word in JSON and metrics.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::WeightLoad => "weight_load",
            Self::Compilation => "compilation",
            Self::WarmUp => "warm_up",
            Self::ColdStart => "cold_start_undivided",
            Self::Restart => "restart",
            Self::Drain => "draining",
            Self::Unsettled => "unsettled",
        }
    }

    /// The name that a report shows.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::WeightLoad => "weight load",
            Self::Compilation => "compilation",
            Self::WarmUp => "warm-up",
            Self::ColdStart => "cold start, undivided",
            Self::Restart => "failure and restart",
            Self::Drain => "draining",
            Self::Unsettled => "held, use unsettled",
        }
    }
}

/// A stretch with one use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// When.
    pub interval: Interval,
    /// What for.
    pub used_for: HeldUse,
}

/// A replica from placement to release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    /// Devices.
    pub devices: u64,
    /// Pool of its placement.
    pub pool: Symbol,
    /// Device of its placement.
    pub device: Symbol,
    /// When it was asked for, if the log says.
    pub requested: Option<Timestamp>,
    /// Whether its end is a release; otherwise it is the end of the records.
    pub released: bool,
    /// In order and without a hole, from placement to the end.
    pub stretches: Vec<Stretch>,
}

impl Life {
    /// Placement to release, or to the end of the records.
    pub fn held(&self) -> Interval {
        let first = self.stretches.first().map(|stretch| stretch.interval.start);
        let last = self.stretches.last().map(|stretch| stretch.interval.end);
        Interval::new(first.unwrap_or_default(), last.or(first).unwrap_or_default())
    }

    /// Nanoseconds of one use.
    pub fn used_ns(&self, used_for: HeldUse) -> i64 {
        let of_use = self.stretches.iter().filter(|stretch| stretch.used_for == used_for);
        of_use.map(|stretch| stretch.interval.duration_ns()).sum()
    }
}

/// How far a start has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Placed,
    Loaded,
    Compiled,
    Warm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Starting(Stage),
    Ready,
    Draining,
    /// Failed and not ready again.
    Down,
}

struct Open {
    life: Life,
    state: State,
    since: Timestamp,
    last: ReplicaEvent,
}

/// The lives of one replica. `events` are its own, in time order; `work` are the starts of its samples, in order: work
/// shows that a replica was ready whose log lacks the event. Life that no release ends lasts until `end`.
pub fn lives(
    events: &[ReplicaEvent],
    work: &[Timestamp],
    end: Timestamp,
    warnings: &mut Vec<Warning>,
) -> Vec<Life> {
    let mut reading = Reading { work, warnings, lives: Vec::new(), open: None, requested: None };
    for event in events {
        reading.event(event);
    }
    reading.finish(end);
    reading.lives
}

struct Reading<'a> {
    work: &'a [Timestamp],
    warnings: &'a mut Vec<Warning>,
    lives: Vec<Life>,
    open: Option<Open>,
    requested: Option<Timestamp>,
}

impl Reading<'_> {
    fn event(&mut self, event: &ReplicaEvent) {
        match event.kind {
            Kind::Requested => self.requested = Some(event.at),
            Kind::Placed { devices } => self.placed(event, devices),
            kind => self.of_life(event, kind),
        }
    }

    fn warn(&mut self, code: &'static str, event: &ReplicaEvent, message: &str) {
        let message = format!("{} at {}: {message}", event.kind.key(), event.at);
        self.warnings.push(Warning { code, message, source: Some(event.source) });
    }

    fn placed(&mut self, event: &ReplicaEvent, devices: u64) {
        if let Some(open) = self.open.take() {
            self.warn(
                "placed_twice",
                event,
                "the replica was placed already and not released; the time since its last event is unsettled",
            );
            self.close(open, event.at, None);
        }
        let life = Life {
            devices,
            pool: event.pool,
            device: event.device,
            requested: self.requested.take(),
            released: false,
            stretches: Vec::new(),
        };
        let state = State::Starting(Stage::Placed);
        self.open = Some(Open { life, state, since: event.at, last: *event });
    }

    fn of_life(&mut self, event: &ReplicaEvent, kind: Kind) {
        let Some(mut open) = self.open.take() else {
            let message = "the replica holds no devices then, so the event is not used; is its placement in another file?";
            self.warn("before_placed", event, message);
            return;
        };
        open.last = *event;
        if kind == Kind::Released {
            self.close(open, event.at, Some(kind));
            return;
        }
        match next(open.state, kind) {
            Some(state) => {
                self.stretch(&mut open, event.at, Some(kind));
                open.state = state;
            }
            None => {
                let message = "it does not follow from what the replica did before, and is not used";
                self.warn("event_out_of_place", event, message);
            }
        }
        self.open = Some(open);
    }

    /// Ends the life: by its release, by a placement that shows that a release is missing, or with the records.
    fn close(&mut self, mut open: Open, at: Timestamp, ended_by: Option<Kind>) {
        self.stretch(&mut open, at, ended_by);
        open.life.released = ended_by == Some(Kind::Released);
        self.lives.push(open.life);
    }

    fn finish(&mut self, end: Timestamp) {
        if let Some(open) = self.open.take() {
            let end = end.max(open.last.at);
            self.close(open, end, Some(Kind::Requested));
        }
    }

    /// Charges the time since the last change, up to an event; `None` where only a missing release can explain it.
    fn stretch(&mut self, open: &mut Open, at: Timestamp, event: Option<Kind>) {
        let (since, state) = (open.since, open.state);
        open.since = at;
        let Some(event) = event else {
            push(open, since, at, HeldUse::Unsettled);
            return;
        };
        let first_work = match state {
            State::Starting(_) | State::Down if event != Kind::Ready => self.first_work(since, at),
            _ => None,
        };
        if let Some(ready) = first_work {
            push(open, since, ready, used_until(state, Kind::Ready));
            push(open, ready, at, HeldUse::Ready);
            self.warnings.push(Warning {
                code: "ready_from_work",
                message: format!(
                    "the log says no ready, and samples show work from {ready}: it counts as ready from there"
                ),
                source: Some(open.last.source),
            });
            return;
        }
        push(open, since, at, used_until(state, event));
    }

    fn first_work(&self, from: Timestamp, to: Timestamp) -> Option<Timestamp> {
        let at = self.work.partition_point(|start| *start < from);
        self.work.get(at).copied().filter(|start| *start < to)
    }
}

fn push(open: &mut Open, from: Timestamp, to: Timestamp, used_for: HeldUse) {
    // An empty life still has an end.
    if from < to || open.life.stretches.is_empty() {
        let interval = Interval::new(from, to);
        match open.life.stretches.last_mut() {
            Some(last) if last.used_for == used_for => last.interval.end = to,
            _ => open.life.stretches.push(Stretch { interval, used_for }),
        }
    }
}

/// The state after an event, `None` where the event cannot follow.
fn next(state: State, event: Kind) -> Option<State> {
    let reached = match event {
        Kind::Ready if state != State::Ready => return Some(State::Ready),
        Kind::Draining if state != State::Draining => return Some(State::Draining),
        Kind::Failed if state != State::Down => return Some(State::Down),
        // After a failure the whole way back is the failure's.
        Kind::Restarting if state == State::Down => return Some(State::Down),
        Kind::Restarting => return Some(State::Starting(Stage::Placed)),
        Kind::WeightsLoaded => Stage::Loaded,
        Kind::Compiled => Stage::Compiled,
        Kind::Warm => Stage::Warm,
        _ => return None,
    };
    match state {
        State::Starting(stage) if stage < reached => Some(State::Starting(reached)),
        State::Down => Some(State::Down),
        _ => None,
    }
}

/// What a stretch in `state` was used for that `event` ends; [`Kind::Requested`] stands for the end of the records.
fn used_until(state: State, event: Kind) -> HeldUse {
    match (state, event) {
        (State::Ready, _) => HeldUse::Ready,
        (State::Draining, _) => HeldUse::Drain,
        (State::Down, _) => HeldUse::Restart,
        (State::Starting(Stage::Placed), Kind::WeightsLoaded) => HeldUse::WeightLoad,
        (State::Starting(Stage::Placed), _) => HeldUse::ColdStart,
        (State::Starting(Stage::Loaded), Kind::Compiled) => HeldUse::Compilation,
        // Warm and never ready: nothing says whether it took traffic.
        (State::Starting(Stage::Warm), event) if event != Kind::Ready => HeldUse::Unsettled,
        (State::Starting(_), _) => HeldUse::WarmUp,
    }
}
