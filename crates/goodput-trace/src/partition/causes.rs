//! What each host thread did, one cause at every instant.

use super::HostCause;
use super::layers::{Span, first_wins, over};
use crate::trace::{HostKind, RankTrace};

impl HostCause {
    /// The cause that a host range stands for, if any.
    pub fn of(kind: HostKind) -> Option<Self> {
        Some(match kind {
            HostKind::DataLoader => Self::DataLoader,
            HostKind::HostSync => Self::HostSync,
            HostKind::Optimizer => Self::Optimizer,
            HostKind::Compile => Self::Compile,
            HostKind::GarbageCollection => Self::GarbageCollection,
            HostKind::Allocator => Self::Allocator,
            HostKind::ProfilerOverhead => Self::ProfilerOverhead,
            HostKind::Step(_) | HostKind::Iteration(_) | HostKind::Backward | HostKind::Annotation => {
                return None;
            }
        })
    }
}

/// Disjoint causes of every thread, by start.
#[derive(Debug)]
pub(super) struct Causes {
    by_thread: Vec<Vec<Span<HostCause>>>,
}

impl Causes {
    pub fn of(trace: &RankTrace) -> Self {
        let mut layers = vec![Layers::default(); trace.threads.len()];
        // A profiler's own work stands on a thread of no process (Kineto: pid -1): it holds up every thread.
        let mut everywhere = Layers::default();
        for range in &trace.ranges {
            let Some(cause) = HostCause::of(range.kind) else { continue };
            let span = Span { start_ns: range.start_ns, end_ns: range.end_ns, of: cause };
            let thread = range.thread as usize;
            match trace.threads.get(thread) {
                Some(owner) if owner.process >= 0 => layers[thread].add(span),
                _ => everywhere.add(span),
            }
        }
        let everywhere = everywhere.flatten();
        let by_thread = layers.into_iter().map(|layers| over(layers.flatten(), everywhere.clone())).collect();
        Self { by_thread }
    }

    /// Divides `[from_ns, to_ns)` of a thread among the causes.
    pub fn divide(&self, thread: u32, from_ns: i64, to_ns: i64, mut part: impl FnMut(Span<HostCause>)) {
        let spans = self.by_thread.get(thread as usize).map_or(&[][..], Vec::as_slice);
        let mut at_ns = from_ns;
        let mut give = |end_ns: i64, of| {
            if at_ns < end_ns {
                part(Span { start_ns: at_ns, end_ns, of });
                at_ns = end_ns;
            }
        };
        let first = spans.partition_point(|span| span.end_ns <= from_ns);
        for span in spans[first..].iter().take_while(|span| span.start_ns < to_ns) {
            give(span.start_ns, HostCause::Dispatch);
            give(span.end_ns.min(to_ns), span.of);
        }
        give(to_ns, HostCause::Dispatch);
    }
}

/// The ranges of one thread by cause, in the order of [`HostCause::ALL`].
#[derive(Debug, Clone, Default)]
struct Layers([Vec<Span<HostCause>>; HostCause::ALL.len()]);

impl Layers {
    /// Ranges come by start.
    fn add(&mut self, span: Span<HostCause>) {
        self.0[span.of as usize].push(span);
    }

    fn flatten(self) -> Vec<Span<HostCause>> {
        self.0.into_iter().fold(Vec::new(), |upper, mut lower| {
            first_wins(&mut lower);
            over(upper, lower)
        })
    }
}
