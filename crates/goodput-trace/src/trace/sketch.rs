//! Small traces for tests, written down event by event.

use super::{
    DeviceWork, Epoch, HostKind, HostRange, Launch, RankTrace, Stream, StreamWait, Thread, TraceBuilder,
    WorkKind,
};
use crate::class::{Class, Coarse};
use crate::reading::Format;

/// The thread of launches and ranges unless another is named.
pub(crate) const MAIN: i64 = 1;

/// Writes a trace down. Times are in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Sketch {
    pub builder: TraceBuilder,
    correlation: u64,
}

impl Sketch {
    /// Work of device 0 without a launch record.
    pub fn work(&mut self, stream: i64, start_ns: i64, end_ns: i64, class: Class) -> &mut Self {
        self.add(Stream { device: 0, id: stream }, (start_ns, end_ns), class, class.key(), None)
    }

    /// Work of device 0 launched by a call of [`MAIN`] that starts at `launch_ns`.
    pub fn launched(
        &mut self,
        launch_ns: i64,
        stream: i64,
        start_ns: i64,
        end_ns: i64,
        class: Class,
    ) -> &mut Self {
        self.launched_by(MAIN, launch_ns, stream, (start_ns, end_ns), class, class.key())
    }

    /// Work of device 0 launched by a thread, with a name.
    pub fn launched_by(
        &mut self,
        thread: i64,
        launch_ns: i64,
        stream: i64,
        at_ns: (i64, i64),
        class: Class,
        name: &str,
    ) -> &mut Self {
        let key = self.call(thread, launch_ns);
        self.add(Stream { device: 0, id: stream }, at_ns, class, name, Some(key))
    }

    /// Several kernels of one launch.
    pub fn graph(&mut self, launch_ns: i64, stream: i64, nodes: &[(i64, i64)], class: Class) -> &mut Self {
        let key = self.call(MAIN, launch_ns);
        for &at_ns in nodes {
            self.add(Stream { device: 0, id: stream }, at_ns, class, class.key(), Some(key));
        }
        self
    }

    /// Work of any stream, with the correlation of its launch.
    pub fn add(
        &mut self,
        stream: Stream,
        (start_ns, end_ns): (i64, i64),
        class: Class,
        name: &str,
        key: Option<u64>,
    ) -> &mut Self {
        let (name, stream) = (self.builder.intern(name), self.builder.stream(stream));
        let kind = if class.coarse() == Coarse::Memory { WorkKind::Copy } else { WorkKind::Kernel };
        self.correlation += 1;
        let work = DeviceWork {
            start_ns,
            end_ns,
            name,
            stream,
            correlation: key.unwrap_or(self.correlation),
            launch: None,
            operator: None,
            collective: None,
            bytes: None,
            kind,
            class,
        };
        self.builder.work(work, key, None);
        self
    }

    /// A call that launches, and its correlation.
    pub fn call(&mut self, thread: i64, launch_ns: i64) -> u64 {
        self.correlation += 1;
        self.call_of(self.correlation, thread, launch_ns);
        self.correlation
    }

    /// A call of a given correlation.
    pub fn call_of(&mut self, correlation: u64, thread: i64, launch_ns: i64) -> &mut Self {
        let (name, thread) = (self.builder.intern("cudaLaunchKernel"), self.thread(thread));
        let launch = Launch { start_ns: launch_ns, end_ns: launch_ns + 1, name, thread };
        self.builder.launch(launch, correlation);
        self
    }

    /// A host range of [`MAIN`].
    pub fn range(&mut self, kind: HostKind, name: &str, start_ns: i64, end_ns: i64) -> &mut Self {
        self.range_of(MAIN, kind, name, start_ns, end_ns)
    }

    /// A host range of a thread.
    pub fn range_of(
        &mut self,
        thread: i64,
        kind: HostKind,
        name: &str,
        start_ns: i64,
        end_ns: i64,
    ) -> &mut Self {
        let (name, thread) = (self.builder.intern(name), self.thread(thread));
        self.builder.ranges.push(HostRange { start_ns, end_ns, kind, name, thread });
        self
    }

    /// `ProfilerStep#number`.
    pub fn step(&mut self, number: i64, start_ns: i64, end_ns: i64) -> &mut Self {
        self.range(HostKind::Step(Some(number)), &format!("ProfilerStep#{number}"), start_ns, end_ns)
    }

    /// The host makes a stream of device 0 wait for another.
    pub fn wait(&mut self, stream: i64, start_ns: i64) -> &mut Self {
        let stream = self.builder.stream(Stream { device: 0, id: stream });
        let wait = StreamWait { start_ns, end_ns: start_ns + 1, stream: Some(stream), waits_for: None };
        self.builder.waits.push(wait);
        self
    }

    fn thread(&mut self, id: i64) -> u32 {
        self.builder.thread(Thread { process: 1, id })
    }

    /// The trace.
    pub fn trace(&mut self) -> RankTrace {
        std::mem::take(&mut self.builder).finish("sketch.json".as_ref(), Format::Chrome, Epoch::Own)
    }
}
