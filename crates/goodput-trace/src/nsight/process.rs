//! The processes of an export, each a trace of its own.

use std::path::Path;

use goodput_core::records::Symbol;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::class::Class;
use crate::reading::Format;
use crate::trace::{Epoch, Identity, RankTrace, Stream, Thread, TraceBuilder};

/// What `globalPid` and `globalTid` hold (Nsight Systems User Guide, "Common SQLite Examples"): hardware and VM ids, the
/// process in 24 bits, and the thread in the low 24 bits.
const LOW_BITS: i64 = 0xff_ffff;

/// `globalPid` of a `globalTid`.
pub(super) fn process_of(global_tid: i64) -> i64 {
    global_tid & !LOW_BITS
}

/// The thread of a `globalTid`.
pub(super) fn thread_of(global_tid: i64) -> Thread {
    Thread { process: (global_tid >> 24) & LOW_BITS, id: global_tid & LOW_BITS }
}

/// The processes by `globalPid`.
#[derive(Default)]
pub(super) struct Processes {
    all: Vec<Process>,
    by_id: FxHashMap<i64, usize>,
    /// Device rows do not name their process (minimal exports): everything is one trace.
    is_single: bool,
}

impl Processes {
    /// The process of a device row.
    pub fn of_device_row(&mut self, global_pid: Option<i64>) -> &mut Process {
        self.is_single |= global_pid.is_none() && self.all.is_empty();
        let id = if self.is_single { 0 } else { global_pid.unwrap_or(0) };
        self.of(id)
    }

    /// The process of a host row.
    pub fn of_host_row(&mut self, global_tid: Option<i64>) -> &mut Process {
        let id = if self.is_single { 0 } else { process_of(global_tid.unwrap_or(0)) };
        self.of(id)
    }

    fn of(&mut self, id: i64) -> &mut Process {
        let next = self.all.len();
        let index = *self.by_id.entry(id).or_insert(next);
        if index == next {
            self.all.push(Process::new(id));
        }
        &mut self.all[index]
    }

    /// The processes with device work; all of them where none has any.
    pub fn traced(&mut self) -> Vec<&mut Process> {
        let any_works = self.all.iter().any(Process::has_work);
        self.all.iter_mut().filter(|process| !any_works || process.has_work()).collect()
    }

    /// One trace a process with device work, else one for each process, else an empty one.
    pub fn finish(mut self, path: &Path, has_epoch: bool) -> Vec<RankTrace> {
        if self.all.is_empty() {
            self.of(0);
        }
        if self.all.iter().any(Process::has_work) {
            self.all.retain(Process::has_work);
        }
        let epoch = if has_epoch { Epoch::Unix } else { Epoch::Own };
        self.all.sort_by_key(|process| process.global_pid);
        self.all.into_iter().map(|process| process.builder.finish(path, Format::Nsight, epoch)).collect()
    }
}

/// One process.
pub(super) struct Process {
    pub global_pid: i64,
    pub builder: TraceBuilder,
    /// Symbols of `StringIds` rows, with the class of a kernel of that name.
    names: FxHashMap<i64, (Symbol, Class)>,
    /// Correlation ids of device work. Unique within a process only.
    pub launched: FxHashSet<u64>,
    /// Devices that it drove.
    pub devices: Vec<i64>,
}

impl Process {
    fn new(global_pid: i64) -> Self {
        // NVTX ranges of operators carry no id that device work would name.
        let mut builder = TraceBuilder::default();
        builder.operators_by_nesting = true;
        Self {
            global_pid,
            builder,
            names: FxHashMap::default(),
            launched: FxHashSet::default(),
            devices: Vec::new(),
        }
    }

    fn has_work(&self) -> bool {
        self.builder.work_count() > 0
    }

    /// Process id on its host.
    pub fn pid(&self) -> i64 {
        (self.global_pid >> 24) & LOW_BITS
    }

    /// The index of a stream, and the device noted.
    pub fn stream(&mut self, device: i64, id: i64) -> u32 {
        if !self.devices.contains(&device) {
            self.devices.push(device);
        }
        self.builder.stream(Stream { device, id })
    }

    /// The name and class of a kernel whose name is `text`, row `id` of the strings.
    pub fn kernel(&mut self, id: i64, text: &str) -> (Symbol, Class) {
        *self.names.entry(id).or_insert_with(|| (self.builder.names.intern(text), Class::of_kernel(text)))
    }

    /// Names the trace after the process and its devices.
    pub fn identify(&mut self, name: Option<&str>, identity: Identity) {
        self.devices.sort_unstable();
        let mut part = format!("{} {}", name.unwrap_or("process"), self.pid());
        if let [first, rest @ ..] = self.devices.as_slice() {
            part += &format!(", device {first}");
            for device in rest {
                part += &format!("+{device}");
            }
        }
        self.builder.identity = Some(Identity { part: Some(part), ..identity });
    }
}
