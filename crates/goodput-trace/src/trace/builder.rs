//! Columns in the order of a file become a trace: sorted and linked.

use std::path::Path;

use goodput_core::records::{Symbol, Symbols};
use rustc_hash::FxHashMap;

use super::nesting::innermost;
use super::{
    CollectiveArgs, DeviceAnnotation, DeviceInfo, DeviceWork, Epoch, HostRange, Identity, Launch,
    MemorySample, Operator, RankTrace, Stream, StreamWait, Thread,
};
use crate::reading::Format;

/// What ties a launch to its device work, or an operator to what it launched. A reader makes it unique within the
/// trace: Nsight's correlation ids are unique within a process only.
pub type LinkKey = u64;

/// Collects the events of one rank in any order. Readers fill it, [`TraceBuilder::finish`] sorts and links.
#[derive(Debug, Default)]
pub struct TraceBuilder {
    /// The strings of the trace.
    pub names: Symbols,
    /// Which rank.
    pub identity: Option<Identity>,
    /// Samples of the allocator.
    pub memory: Vec<MemorySample>,
    /// Devices.
    pub devices: Vec<DeviceInfo>,
    /// Software by name and version.
    pub software: Vec<(&'static str, String)>,
    /// Host ranges.
    pub ranges: Vec<HostRange>,
    /// Annotations on the device's timeline.
    pub annotations: Vec<DeviceAnnotation>,
    /// Waits.
    pub waits: Vec<StreamWait>,
    /// Whether work that names no operator belongs to the innermost one around its launch. For formats whose
    /// operators carry no id.
    pub operators_by_nesting: bool,
    collectives: Vec<CollectiveArgs>,
    work: Vec<(DeviceWork, Option<LinkKey>, Option<LinkKey>)>,
    launches: Vec<(Launch, LinkKey)>,
    operators: Vec<(Operator, Option<LinkKey>)>,
    streams: Vec<Stream>,
    stream_index: FxHashMap<Stream, u32>,
    threads: Vec<Thread>,
    thread_index: FxHashMap<Thread, u32>,
}

impl TraceBuilder {
    /// The index of a stream.
    pub fn stream(&mut self, stream: Stream) -> u32 {
        index_of(stream, &mut self.streams, &mut self.stream_index)
    }

    /// The index of a thread.
    pub fn thread(&mut self, thread: Thread) -> u32 {
        index_of(thread, &mut self.threads, &mut self.thread_index)
    }

    /// Keeps a collective's arguments; the index goes into [`DeviceWork::collective`].
    pub fn collective(&mut self, args: CollectiveArgs) -> u32 {
        self.collectives.push(args);
        as_index(self.collectives.len() - 1)
    }

    /// Device work, with the keys of its launch and of its operator. `launch` and `operator` of `work` are set later.
    pub fn work(&mut self, work: DeviceWork, launch: Option<LinkKey>, operator: Option<LinkKey>) {
        self.work.push((work, launch, operator));
    }

    /// A runtime or driver call.
    pub fn launch(&mut self, launch: Launch, key: LinkKey) {
        self.launches.push((launch, key));
    }

    /// A framework operator, with the key by which device work names it.
    pub fn operator(&mut self, operator: Operator, key: Option<LinkKey>) {
        self.operators.push((operator, key));
    }

    /// Pieces of device work so far.
    pub fn work_count(&self) -> usize {
        self.work.len()
    }

    /// Adds `delta_ns` to every stamp: the base time of a trace may only be known at its end.
    pub fn shift(&mut self, delta_ns: i64) {
        let shift = |start: &mut i64, end: &mut i64| {
            *start = start.saturating_add(delta_ns);
            *end = end.saturating_add(delta_ns);
        };
        self.work.iter_mut().for_each(|(work, ..)| shift(&mut work.start_ns, &mut work.end_ns));
        self.launches.iter_mut().for_each(|(launch, _)| shift(&mut launch.start_ns, &mut launch.end_ns));
        self.operators
            .iter_mut()
            .for_each(|(operator, _)| shift(&mut operator.start_ns, &mut operator.end_ns));
        self.ranges.iter_mut().for_each(|range| shift(&mut range.start_ns, &mut range.end_ns));
        self.annotations.iter_mut().for_each(|note| shift(&mut note.start_ns, &mut note.end_ns));
        self.waits.iter_mut().for_each(|wait| shift(&mut wait.start_ns, &mut wait.end_ns));
        self.memory.iter_mut().for_each(|sample| sample.at_ns = sample.at_ns.saturating_add(delta_ns));
    }

    /// Sorts and links.
    pub fn finish(mut self, path: &Path, format: Format, epoch: Epoch) -> RankTrace {
        self.launches.sort_by_key(|(launch, _)| launch.start_ns);
        self.operators.sort_by_key(|(operator, _)| (operator.start_ns, -operator.end_ns));
        self.work.sort_by_key(|(work, ..)| (work.start_ns, work.correlation));

        let mut used_launches = FxHashMap::with_capacity_and_hasher(self.work.len(), Default::default());
        let mut used_operators = FxHashMap::default();
        for &(_, launch, operator) in &self.work {
            if let Some(key) = launch {
                used_launches.insert(key, None);
            }
            if let Some(key) = operator {
                used_operators.insert(key, None);
            }
        }
        // Several calls may carry one correlation (cudaLaunchKernelExC and cuLaunchKernelEx): the earliest launched.
        for (index, (_, key)) in self.launches.iter().enumerate() {
            if let Some(first @ None) = used_launches.get_mut(key) {
                *first = Some(as_index(index));
            }
        }
        // An operator and those inside it may carry one id: the innermost, which starts last.
        for (index, (_, key)) in self.operators.iter().enumerate() {
            if let Some(last) = key.and_then(|key| used_operators.get_mut(&key)) {
                *last = Some(as_index(index));
            }
        }
        let launches: Vec<Launch> = self.launches.into_iter().map(|(launch, _)| launch).collect();
        let operators: Vec<Operator> = self.operators.into_iter().map(|(operator, _)| operator).collect();
        let around = if self.operators_by_nesting { innermost(&launches, &operators) } else { Vec::new() };
        let work = self
            .work
            .into_iter()
            .map(|(mut work, launch, operator)| {
                work.launch = launch.and_then(|key| used_launches.get(&key).copied().flatten());
                work.operator = operator
                    .and_then(|key| used_operators.get(&key).copied().flatten())
                    .or_else(|| around.get(work.launch? as usize).copied().flatten());
                work
            })
            .collect();

        self.ranges.sort_by_key(|range| (range.start_ns, -range.end_ns));
        self.annotations.sort_by_key(|annotation| annotation.start_ns);
        self.waits.sort_by_key(|wait| wait.start_ns);
        self.memory.sort_by_key(|sample| sample.at_ns);
        RankTrace {
            path: path.to_owned(),
            format,
            identity: self.identity.unwrap_or(Identity::UNKNOWN),
            epoch,
            names: self.names,
            work,
            streams: self.streams,
            collectives: self.collectives,
            launches,
            operators,
            ranges: self.ranges,
            threads: self.threads,
            annotations: self.annotations,
            waits: self.waits,
            memory: self.memory,
            devices: self.devices,
            software: self.software,
        }
    }

    /// The symbol of a text.
    pub fn intern(&mut self, text: &str) -> Symbol {
        self.names.intern(text)
    }
}

fn index_of<T: Copy + Eq + std::hash::Hash>(
    item: T,
    items: &mut Vec<T>,
    index: &mut FxHashMap<T, u32>,
) -> u32 {
    *index.entry(item).or_insert_with(|| {
        items.push(item);
        as_index(items.len() - 1)
    })
}

/// Rows of one trace: four billion events would be a file of a terabyte.
fn as_index(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
