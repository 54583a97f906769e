//! The job, event by event: hosts, streams, and exchanges among ranks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::device::Device;
use super::kernel::Exchange;
use super::layout::Group;
use super::program::{HostOp, Launch, Message, Stream, Work, program};
use super::record::{Activity, Record, Task, WaitCall};
use super::{HostCause, Scenario, SendMode};

/// Everything that happened.
pub(super) struct History {
    pub groups: Vec<Group>,
    pub records: Vec<Record>,
    pub meetings: Vec<Meeting>,
}

/// One exchange, of all its ranks.
#[derive(Debug)]
pub(super) struct Meeting {
    pub exchange: Exchange,
    pub group: usize,
    pub sequence: u64,
    /// How many must come.
    expected: usize,
    /// Who came, and when: rank, task, instant.
    pub arrivals: Vec<(usize, usize, i64)>,
    /// When the last had come.
    pub complete_ns: Option<i64>,
}

impl Meeting {
    /// Whether the task still waits for others.
    fn waits(&self, mode: SendMode, exchange: Exchange) -> bool {
        let is_free = exchange == Exchange::Send && mode == SendMode::Buffered;
        self.complete_ns.is_none() && !is_free
    }
}

/// Lets the job run.
pub(super) fn run(scenario: &Scenario) -> History {
    let groups = scenario.layout.groups();
    let mut machine = Machine {
        scenario,
        hosts: (0..scenario.layout.ranks()).map(Host::new).collect(),
        devices: (0..scenario.layout.ranks()).map(|_| Device::new(scenario)).collect(),
        records: (0..scenario.layout.ranks()).map(|_| Record::default()).collect(),
        groups,
        meetings: Vec::new(),
        meeting_index: BTreeMap::new(),
        events: BinaryHeap::new(),
        scheduled: 0,
    };
    for rank in 0..machine.hosts.len() {
        machine.schedule(0, What::Host { rank });
    }
    while let Some(Reverse(event)) = machine.events.pop() {
        machine.handle(event.at_ns, event.what);
    }
    History { groups: machine.groups, records: machine.records, meetings: machine.meetings }
}

/// Something that happens at an instant; of several at one instant, in the order they were scheduled.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at_ns: i64,
    order: u64,
    what: What,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// The host goes on.
    Host { rank: usize },
    /// Work may start.
    Start { rank: usize, stream: Stream },
    /// Work ends, unless its end has moved since.
    End { rank: usize, stream: Stream, version: u64 },
}

struct Host {
    rank: u32,
    steps: u32,
    ops: VecDeque<HostOp>,
    entered: Option<(HostCause, i64)>,
    waits_for: Option<(Stream, i64)>,
    /// What the next work of each stream waits for, and the calls that said so.
    pending: [Vec<(usize, (i64, i64))>; Stream::COUNT],
    last: [Option<usize>; Stream::COUNT],
    sequences: BTreeMap<(usize, u32, u32), u64>,
    correlation: u64,
}

impl Host {
    fn new(rank: u32) -> Self {
        Self {
            rank,
            steps: 0,
            ops: VecDeque::new(),
            entered: None,
            waits_for: None,
            pending: Default::default(),
            last: Default::default(),
            sequences: BTreeMap::new(),
            correlation: 0,
        }
    }

    fn next_correlation(&mut self) -> u64 {
        self.correlation += 1;
        self.correlation
    }
}

struct Machine<'a> {
    scenario: &'a Scenario,
    groups: Vec<Group>,
    hosts: Vec<Host>,
    devices: Vec<Device>,
    records: Vec<Record>,
    meetings: Vec<Meeting>,
    /// By group, sender and receiver (zero for collectives), and number.
    meeting_index: BTreeMap<(usize, u32, u32, u64), usize>,
    events: BinaryHeap<Reverse<Event>>,
    scheduled: u64,
}

impl Machine<'_> {
    fn schedule(&mut self, at_ns: i64, what: What) {
        self.scheduled += 1;
        self.events.push(Reverse(Event { at_ns, order: self.scheduled, what }));
    }

    fn handle(&mut self, now: i64, what: What) {
        match what {
            What::Host { rank } => self.host(rank, now),
            What::Start { rank, stream } => self.start(rank, stream, now),
            What::End { rank, stream, version } => self.end(rank, stream, version, now),
        }
    }

    /// The host does its next thing.
    fn host(&mut self, rank: usize, now: i64) {
        let host = &mut self.hosts[rank];
        if host.ops.is_empty() && host.steps < self.scenario.steps {
            host.ops = program(self.scenario, &self.groups, host.rank, host.steps).into();
            host.steps += 1;
        }
        let record = &mut self.records[rank];
        let Some(op) = host.ops.pop_front() else {
            record.step_starts_ns.push(now);
            return;
        };
        let call_ns = self.scenario.host.call_ns;
        let mut took_ns = 0;
        match op {
            HostOp::Step => record.step_starts_ns.push(now),
            HostOp::Enter(cause) => host.entered = Some((cause, now)),
            HostOp::Leave => {
                if let Some((cause, start_ns)) = host.entered.take() {
                    record.activities.push(Activity { cause, start_ns, end_ns: now });
                }
            }
            HostOp::Work(ns) => took_ns = ns,
            HostOp::Allocate(ns) => {
                record.activities.push(Activity {
                    cause: HostCause::Allocator,
                    start_ns: now,
                    end_ns: now + ns,
                });
                took_ns = ns;
            }
            HostOp::Wait { stream, on } => {
                if let Some(task) = host.last[on as usize] {
                    host.pending[stream as usize].push((task, (now, now + call_ns)));
                    let correlation = host.next_correlation();
                    record.waits.push(WaitCall {
                        start_ns: now,
                        end_ns: now + call_ns,
                        stream,
                        on,
                        correlation,
                    });
                    took_ns = call_ns;
                }
            }
            HostOp::Synchronise(stream) => {
                host.waits_for = Some((stream, now));
                self.wake(rank, now);
                return;
            }
            HostOp::Launch(launch) => {
                took_ns = launch.dispatch_ns + call_ns;
                self.launch(rank, launch, now);
            }
        }
        self.schedule(now + took_ns, What::Host { rank });
    }

    /// The host goes on if the stream it waits for has ended all its work.
    fn wake(&mut self, rank: usize, now: i64) {
        let Some((stream, since)) = self.hosts[rank].waits_for else { return };
        if self.devices[rank].is_busy(stream) {
            return;
        }
        self.hosts[rank].waits_for = None;
        let end_ns = now + self.scenario.host.wake_ns;
        self.records[rank].activities.push(Activity { cause: HostCause::HostSync, start_ns: since, end_ns });
        self.schedule(end_ns, What::Host { rank });
    }

    fn launch(&mut self, rank: usize, launch: Launch, now: i64) {
        let host = &mut self.hosts[rank];
        let (sequence, exchange) = match launch.work {
            Work::Exchange(message) => {
                let (sender, receiver) = ends(host.rank, &message);
                let count = host.sequences.entry((message.group, sender, receiver)).or_default();
                let sequence = *count;
                *count += 1;
                let key = (message.group, sender, receiver, sequence);
                let expected = match message.peer {
                    Some(_) => 2,
                    None => self.groups[message.group].ranks.len(),
                };
                let meetings = &mut self.meetings;
                let index = *self.meeting_index.entry(key).or_insert_with(|| {
                    let (exchange, group) = (message.exchange, message.group);
                    meetings.push(Meeting {
                        exchange,
                        group,
                        sequence,
                        expected,
                        arrivals: Vec::new(),
                        complete_ns: None,
                    });
                    meetings.len() - 1
                });
                (sequence, Some(index))
            }
            _ => (0, None),
        };
        let pending = std::mem::take(&mut host.pending[launch.stream as usize]);
        let call_ns = now + launch.dispatch_ns;
        let task = Task {
            launch,
            step: host.steps - 1,
            operator_ns: now,
            call_ns,
            returned_ns: call_ns + self.scenario.host.call_ns,
            ready_ns: call_ns + self.scenario.host.launch_latency_ns,
            wait_call: pending.last().map(|&(_, call)| call),
            after: pending.into_iter().map(|(task, _)| task).collect(),
            correlation: host.next_correlation(),
            sequence,
            exchange,
            start_ns: 0,
            end_ns: None,
        };
        let index = self.records[rank].tasks.len();
        host.last[launch.stream as usize] = Some(index);
        self.devices[rank].enqueue(launch.stream, index);
        let ready_ns = task.ready_ns;
        self.records[rank].tasks.push(task);
        self.schedule(ready_ns, What::Start { rank, stream: launch.stream });
    }

    /// Starts the next work of a stream if nothing holds it back.
    fn start(&mut self, rank: usize, stream: Stream, now: i64) {
        let network = &self.scenario.network;
        let Some((task, at_ns)) = self.devices[rank].next_start(stream, &self.records[rank].tasks, network)
        else {
            return;
        };
        if at_ns > now {
            self.schedule(at_ns, What::Start { rank, stream });
            return;
        }
        self.book(rank, now);
        self.records[rank].wakes(task, now);
        let started = &mut self.records[rank].tasks[task];
        started.start_ns = now;
        let (work, exchange) = (started.launch.work, started.exchange);
        self.devices[rank].begin(stream, task, work);
        match work {
            Work::Compute { .. } => self.retime(rank, now),
            Work::Copy { ns, .. } | Work::Fill { ns, .. } => self.end_at(rank, stream, now + ns),
            Work::Exchange(message) => {
                self.retime(rank, now);
                if let Some(meeting) = exchange {
                    self.arrive(meeting, rank, task, message, now);
                }
            }
        }
    }

    /// A rank comes to an exchange.
    fn arrive(&mut self, index: usize, rank: usize, task: usize, message: Message, now: i64) {
        let meeting = &mut self.meetings[index];
        meeting.arrivals.push((rank, task, now));
        let is_complete = meeting.arrivals.len() == meeting.expected;
        let stream = self.stream_of(rank, task);
        let is_buffered = message.peer.is_some() && self.scenario.network.send == SendMode::Buffered;
        if is_buffered && message.exchange == Exchange::Send {
            self.end_at(rank, stream, now + message.ns);
        }
        if !is_complete {
            return;
        }
        let arrivals = self.meetings[index].arrivals.clone();
        for &(member, ..) in &arrivals {
            self.book(member, now);
        }
        self.meetings[index].complete_ns = Some(now);
        for (member, task, came_ns) in arrivals {
            let end_ns = match self.records[member].tasks[task].launch.work {
                Work::Exchange(Message { exchange: Exchange::Send, .. }) if is_buffered => continue,
                // A receiver that comes after its sender finds the data on its way, and still has to fetch it.
                _ if is_buffered && member == rank && message.exchange == Exchange::Receive => {
                    let sent_ns = self.meetings[index].arrivals.iter().map(|&(.., ns)| ns).min();
                    (sent_ns.unwrap_or(came_ns) + message.ns).max(now + self.scenario.network.latency_ns)
                }
                _ => now + message.ns,
            };
            self.end_at(member, self.stream_of(member, task), end_ns);
        }
    }

    fn stream_of(&self, rank: usize, task: usize) -> Stream {
        self.records[rank].tasks[task].launch.stream
    }

    fn end(&mut self, rank: usize, stream: Stream, version: u64, now: i64) {
        if !self.devices[rank].is_current(stream, version) {
            return;
        }
        self.book(rank, now);
        let Some(task) = self.devices[rank].finish(stream, now) else { return };
        self.records[rank].tasks[task].end_ns = Some(now);
        self.retime(rank, now);
        for stream in self.devices[rank].waiting_streams() {
            self.start(rank, stream, now);
        }
        self.wake(rank, now);
    }

    /// Moves the ends of computing kernels after what runs beside them has changed.
    fn retime(&mut self, rank: usize, now: i64) {
        for (stream, end_ns) in self.devices[rank].retime(now) {
            self.end_at(rank, stream, end_ns);
        }
    }

    fn end_at(&mut self, rank: usize, stream: Stream, at_ns: i64) {
        let version = self.devices[rank].new_version(stream);
        self.schedule(at_ns, What::End { rank, stream, version });
    }

    /// Books who held the device until now.
    fn book(&mut self, rank: usize, now: i64) {
        let (meetings, mode) = (&self.meetings, self.scenario.network.send);
        let waits = |task: &Task| match (task.launch.work, task.exchange) {
            (Work::Exchange(message), Some(index)) => meetings[index].waits(mode, message.exchange),
            _ => false,
        };
        self.devices[rank].book(&mut self.records[rank], now, waits);
    }
}

/// Sender and receiver of a message, zeros for a collective.
fn ends(rank: u32, message: &Message) -> (u32, u32) {
    match (message.peer, message.exchange) {
        (Some(peer), Exchange::Receive) => (peer, rank),
        (Some(peer), _) => (rank, peer),
        (None, _) => (0, 0),
    }
}
