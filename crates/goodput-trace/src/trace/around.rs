//! What the host was in when it launched: the operators and ranges around a call on its thread.

use goodput_core::records::Symbol;

use super::{HostKind, RankTrace};

/// An operator or a range around a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Around {
    pub start_ns: i64,
    pub end_ns: i64,
    pub name: Symbol,
    /// The kind of a range; `None` for an operator.
    pub kind: Option<HostKind>,
}

/// Calls `visit` with the index of each piece of device work that has a launch, and with what is around the start of
/// its launch on the launching thread, outermost first. Work comes in the order of its launches.
pub(crate) fn around_launches(trace: &RankTrace, mut visit: impl FnMut(usize, &[Around])) {
    let launch_of = |work: usize| trace.work[work].launch;
    let mut launched: Vec<usize> = (0..trace.work.len()).filter(|&work| launch_of(work).is_some()).collect();
    launched.sort_by_key(|&work| launch_of(work));

    let mut opens = opens(trace).into_iter().peekable();
    let mut stacks: Vec<Vec<Around>> = vec![Vec::new(); trace.threads.len()];
    for work in launched {
        let Some(launch) = trace.launch_of(&trace.work[work]) else { continue };
        while let Some((thread, around)) = opens.next_if(|(_, a)| a.start_ns <= launch.start_ns) {
            if let Some(stack) = stacks.get_mut(thread as usize) {
                stack.retain(|outer| outer.end_ns > around.start_ns);
                stack.push(around);
            }
        }
        if let Some(stack) = stacks.get_mut(launch.thread as usize) {
            stack.retain(|outer| outer.end_ns > launch.start_ns);
            visit(work, stack);
        }
    }
}

/// Operators and ranges with their threads, by start, the longer of one start first.
fn opens(trace: &RankTrace) -> Vec<(u32, Around)> {
    let operators = trace.operators.iter().map(|operator| {
        let &super::Operator { start_ns, end_ns, name, thread, .. } = operator;
        (thread, Around { start_ns, end_ns, name, kind: None })
    });
    let ranges = trace.ranges.iter().map(|range| {
        let &super::HostRange { start_ns, end_ns, name, thread, kind } = range;
        (thread, Around { start_ns, end_ns, name, kind: Some(kind) })
    });
    let mut opens: Vec<_> = ranges.chain(operators).collect();
    opens.sort_by_key(|(_, around)| (around.start_ns, -around.end_ns));
    opens
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Class;
    use crate::trace::sketch::{MAIN, Sketch};

    #[test]
    fn a_launch_is_inside_what_is_open_on_its_thread() {
        let mut sketch = Sketch::default();
        sketch
            .range(HostKind::Step(Some(1)), "step", 0, 100)
            .range(HostKind::Optimizer, "optimizer", 10, 20)
            .range_of(2, HostKind::Backward, "backward", 0, 100);
        for launch_ns in [5, 10, 20, 100] {
            sketch.launched(launch_ns, 7, 200, 201, Class::Gemm);
        }
        sketch.launched_by(2, 50, 7, (200, 201), Class::Gemm, "k");
        let trace = sketch.trace();
        let mut seen = Vec::new();
        around_launches(&trace, |index, around| {
            let names: Vec<_> = around.iter().map(|a| trace.name(a.name)).collect();
            seen.push((trace.launch_of(&trace.work[index]).unwrap().start_ns, names.join("/")));
        });
        let expected = [(5, "step"), (10, "step/optimizer"), (20, "step"), (50, "backward"), (100, "")];
        assert_eq!(seen, expected.map(|(at, names)| (at, names.to_owned())));
        assert_eq!(MAIN, 1);
    }
}
