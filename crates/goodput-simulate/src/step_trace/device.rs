//! One device: streams that run their work in order, beside each other.

use std::collections::VecDeque;

use super::program::{Stream, Work};
use super::record::{Hold, Holder, Record, Task};
use super::{Network, Scenario};

const STREAMS: [Stream; Stream::COUNT] = [
    Stream::Compute,
    Stream::Tensor,
    Stream::Expert,
    Stream::Data,
    Stream::ForwardReceive,
    Stream::ForwardSend,
    Stream::BackwardReceive,
    Stream::BackwardSend,
];

pub(super) struct Device {
    streams: [Queue; Stream::COUNT],
    /// Progress of a computing kernel in a nanosecond, alone; beside communication it is 1000.
    full_speed: i64,
    /// Communication kernels on the device.
    resident: usize,
    /// Until when the holders are booked.
    booked_ns: i64,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<usize>,
    running: Option<Running>,
    /// Raised whenever the end of what runs is set anew.
    version: u64,
    /// Earliest start of the next work.
    free_ns: Option<i64>,
}

struct Running {
    task: usize,
    kind: Kind,
    /// Of a computing kernel: what is left, in nanoseconds times speed, since when, and how fast.
    left: i64,
    since_ns: Option<i64>,
    speed: i64,
}

/// In the order of the charge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Compute,
    Exchange,
    Memory,
}

impl Device {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self {
            streams: Default::default(),
            full_speed: 1000 + i64::from(scenario.contention_permille),
            resident: 0,
            booked_ns: 0,
        }
    }

    pub(super) fn enqueue(&mut self, stream: Stream, task: usize) {
        self.streams[stream as usize].waiting.push_back(task);
    }

    pub(super) fn is_busy(&self, stream: Stream) -> bool {
        let queue = &self.streams[stream as usize];
        queue.running.is_some() || !queue.waiting.is_empty()
    }

    /// The next work of a stream and its earliest start; `None` while the stream runs something, has nothing, or
    /// waits for work that has not ended.
    pub(super) fn next_start(
        &self,
        stream: Stream,
        tasks: &[Task],
        network: &Network,
    ) -> Option<(usize, i64)> {
        let queue = &self.streams[stream as usize];
        let next = *queue.waiting.front().filter(|_| queue.running.is_none())?;
        let mut start_ns =
            tasks[next].ready_ns.max(queue.free_ns.map_or(i64::MIN, |ns| ns + network.stream_gap_ns));
        for &before in &tasks[next].after {
            start_ns = start_ns.max(tasks[before].end_ns? + network.stream_wait_ns);
        }
        Some((next, start_ns))
    }

    pub(super) fn begin(&mut self, stream: Stream, task: usize, work: Work) {
        let (kind, left) = match work {
            Work::Compute { ns, .. } => (Kind::Compute, ns * self.full_speed),
            Work::Exchange(_) => (Kind::Exchange, 0),
            Work::Copy { .. } | Work::Fill { .. } => (Kind::Memory, 0),
        };
        self.resident += usize::from(kind == Kind::Exchange);
        let queue = &mut self.streams[stream as usize];
        queue.waiting.pop_front();
        queue.running = Some(Running { task, kind, left, since_ns: None, speed: 0 });
    }

    pub(super) fn finish(&mut self, stream: Stream, now: i64) -> Option<usize> {
        let queue = &mut self.streams[stream as usize];
        let running = queue.running.take()?;
        queue.free_ns = Some(now);
        self.resident -= usize::from(running.kind == Kind::Exchange);
        Some(running.task)
    }

    /// New ends of the computing kernels whose speed has changed.
    pub(super) fn retime(&mut self, now: i64) -> Vec<(Stream, i64)> {
        let speed = if self.resident > 0 { 1000 } else { self.full_speed };
        let mut ends = Vec::new();
        for stream in STREAMS {
            let Some(running) = &mut self.streams[stream as usize].running else { continue };
            if running.kind != Kind::Compute || running.speed == speed {
                continue;
            }
            running.left -= (now - running.since_ns.unwrap_or(now)) * running.speed;
            running.since_ns = Some(now);
            running.speed = speed;
            let left_ns = (running.left.max(0) + speed - 1) / speed;
            ends.push((stream, now + left_ns));
        }
        ends
    }

    pub(super) fn new_version(&mut self, stream: Stream) -> u64 {
        let queue = &mut self.streams[stream as usize];
        queue.version += 1;
        queue.version
    }

    pub(super) fn is_current(&self, stream: Stream, version: u64) -> bool {
        let queue = &self.streams[stream as usize];
        queue.running.is_some() && queue.version == version
    }

    /// Streams whose next work may now start.
    pub(super) fn waiting_streams(&self) -> Vec<Stream> {
        let may_start = |stream: &Stream| {
            let queue = &self.streams[*stream as usize];
            queue.running.is_none() && !queue.waiting.is_empty()
        };
        STREAMS.into_iter().filter(may_start).collect()
    }

    /// Books who held the device until now. `waits` tells whether an exchange still waits for its peers.
    pub(super) fn book(&mut self, record: &mut Record, now: i64, waits: impl Fn(&Task) -> bool) {
        if self.booked_ns == now {
            return;
        }
        let tasks = &record.tasks;
        let mut running: Vec<_> = self
            .streams
            .iter()
            .filter_map(|queue| queue.running.as_ref())
            .map(|r| (r.kind, r.task))
            .collect();
        running.sort_by_key(|&(kind, task)| (kind, tasks[task].start_ns, tasks[task].correlation));
        let by = match running.first() {
            Some((Kind::Exchange, _)) => {
                let exchanges = running.iter().filter(|(kind, _)| *kind == Kind::Exchange);
                Holder::Exchanges(exchanges.map(|&(_, task)| (task, waits(&tasks[task]))).collect())
            }
            Some(&(_, task)) => Holder::Task(task),
            None => Holder::Idle { until: None },
        };
        record.holds.push(Hold { start_ns: self.booked_ns, end_ns: now, by });
        self.booked_ns = now;
    }
}
