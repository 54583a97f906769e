//! Planes, lines and events of an XSpace (openxla/xla, `tsl/profiler/protobuf/xplane.proto`). A line holds events, the
//! names of which stand in its plane, after the lines.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::wire::{Fields, Value};

/// One plane: a device or the host.
pub(super) struct Plane<'a> {
    pub name: Cow<'a, str>,
    lines: Vec<&'a [u8]>,
    events: FxHashMap<i64, EventMetadata<'a>>,
    stat_names: FxHashMap<i64, Cow<'a, str>>,
    stats: Vec<&'a [u8]>,
    /// Where the plane can no longer be read.
    pub broken_at: Option<usize>,
}

/// What events of one kind share.
#[derive(Default)]
pub(super) struct EventMetadata<'a> {
    pub name: Cow<'a, str>,
    /// A shorter name, empty if there is none.
    pub display_name: Cow<'a, str>,
    stats: Vec<&'a [u8]>,
}

/// One line: a stream, a thread, or a row that the profiler derived from others.
pub(super) struct Line<'a> {
    pub id: i64,
    pub name: Cow<'a, str>,
    timestamp_ns: i64,
    bytes: &'a [u8],
}

/// One event.
pub(super) struct Event<'a> {
    /// Which kind of event, a key of its plane.
    pub metadata_id: i64,
    /// Start and end in nanoseconds, floored from picoseconds. `None` where the event counts occurrences instead.
    pub span_ns: Option<(i64, i64)>,
    bytes: &'a [u8],
}

/// A statistic of a plane or an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stat<'a> {
    Number(i64),
    Text(Cow<'a, str>),
    Other,
}

impl Stat<'_> {
    /// A whole number.
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Number(value) => Some(*value),
            _ => None,
        }
    }

    /// A whole number that is not negative.
    pub fn unsigned(&self) -> Option<u64> {
        self.number()?.try_into().ok()
    }

    /// A text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'a> Plane<'a> {
    /// The plane that `bytes` hold.
    pub fn of(bytes: &'a [u8]) -> Self {
        let mut plane = Self {
            name: Cow::default(),
            lines: Vec::new(),
            events: FxHashMap::default(),
            stat_names: FxHashMap::default(),
            stats: Vec::new(),
            broken_at: None,
        };
        let mut fields = Fields::of(bytes);
        for (number, value) in fields.by_ref() {
            match number {
                2 => plane.name = text(value),
                3 => plane.lines.push(value.bytes()),
                4 => plane.events.extend([map_entry(value, EventMetadata::of)]),
                5 => plane.stat_names.extend([map_entry(value, |bytes| {
                    Fields::of(bytes)
                        .filter(|field| field.0 == 2)
                        .last()
                        .map_or(Cow::default(), |field| text(field.1))
                })]),
                6 => plane.stats.push(value.bytes()),
                _ => {}
            }
        }
        plane.broken_at = fields.broken_at();
        plane
    }

    pub fn lines(&self) -> impl Iterator<Item = Line<'a>> {
        self.lines.iter().map(|bytes| Line::of(bytes))
    }

    /// What is known of an event's kind.
    pub fn metadata(&self, event: &Event<'a>) -> Option<&EventMetadata<'a>> {
        self.events.get(&event.metadata_id)
    }

    /// A statistic of the plane.
    pub fn stat(&self, name: &str) -> Option<Stat<'a>> {
        self.stats.iter().find_map(|bytes| self.named_stat(bytes, name))
    }

    /// A statistic of an event, or else of all events of its kind.
    pub fn event_stat(&self, event: &Event<'a>, name: &str) -> Option<Stat<'a>> {
        let own = Fields::of(event.bytes).filter(|field| field.0 == 4).map(|field| field.1.bytes());
        let shared = self.metadata(event).into_iter().flat_map(|metadata| metadata.stats.iter().copied());
        own.chain(shared).find_map(|bytes| self.named_stat(bytes, name))
    }

    fn named_stat(&self, bytes: &'a [u8], name: &str) -> Option<Stat<'a>> {
        let mut id = 0;
        let mut stat = Stat::Other;
        for (number, value) in Fields::of(bytes) {
            match number {
                1 => id = value.signed(),
                3 | 4 => stat = Stat::Number(value.signed()),
                5 => stat = Stat::Text(text(value)),
                // A reference to a text among the names of statistics.
                7 => {
                    stat = self
                        .stat_names
                        .get(&value.signed())
                        .map_or(Stat::Other, |text| Stat::Text(text.clone()));
                }
                _ => {}
            }
        }
        (self.stat_names.get(&id)? == name).then_some(stat)
    }
}

impl<'a> EventMetadata<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let mut metadata = Self::default();
        for (number, value) in Fields::of(bytes) {
            match number {
                2 => metadata.name = text(value),
                4 => metadata.display_name = text(value),
                5 => metadata.stats.push(value.bytes()),
                _ => {}
            }
        }
        metadata
    }
}

impl<'a> Line<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let mut line = Self { id: 0, name: Cow::default(), timestamp_ns: 0, bytes };
        for (number, value) in Fields::of(bytes) {
            match number {
                1 => line.id = value.signed(),
                2 => line.name = text(value),
                3 => line.timestamp_ns = value.signed(),
                _ => {}
            }
        }
        line
    }

    /// The events, and where the line can no longer be read.
    pub fn events(&self) -> (Vec<Event<'a>>, Option<usize>) {
        let mut fields = Fields::of(self.bytes);
        let events = fields
            .by_ref()
            .filter(|field| field.0 == 4)
            .map(|field| Event::of(field.1.bytes(), self.timestamp_ns))
            .collect();
        (events, fields.broken_at())
    }
}

/// Picoseconds in a nanosecond.
const PS_PER_NS: i64 = 1_000;

impl<'a> Event<'a> {
    fn of(bytes: &'a [u8], timestamp_ns: i64) -> Self {
        let (mut metadata_id, mut offset_ps, mut duration_ps, mut counts) = (0, 0i64, 0i64, false);
        for (number, value) in Fields::of(bytes) {
            match number {
                1 => metadata_id = value.signed(),
                2 => offset_ps = value.signed(),
                3 => duration_ps = value.signed(),
                // Occurrences of an aggregated event.
                5 => counts = true,
                _ => {}
            }
        }
        let at = |ps: i64| timestamp_ns.saturating_add(ps.div_euclid(PS_PER_NS));
        let span_ns = (!counts).then(|| (at(offset_ps), at(offset_ps.saturating_add(duration_ps))));
        Self { metadata_id, span_ns, bytes }
    }
}

fn text(value: Value<'_>) -> Cow<'_, str> {
    String::from_utf8_lossy(value.bytes())
}

/// Key and value of an entry of a map with `int64` keys.
fn map_entry<'a, T: Default>(value: Value<'a>, read: impl Fn(&'a [u8]) -> T) -> (i64, T) {
    let mut entry = (0, T::default());
    for (number, value) in Fields::of(value.bytes()) {
        match number {
            1 => entry.0 = value.signed(),
            2 => entry.1 = read(value.bytes()),
            _ => {}
        }
    }
    entry
}
