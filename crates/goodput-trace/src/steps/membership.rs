//! Which device work belongs to which step, and the windows that follow from it.

use super::marks::Marks;
use super::{Evidence, Member, Step, Steps};
use crate::trace::{RankTrace, WorkKind};

/// Assigns the device work of a trace to its marks.
pub(super) fn assign(trace: &RankTrace, found: Marks) -> Steps {
    let Marks { evidence, marks, period } = found;
    let turns: Vec<(i64, i64)> = marks
        .iter()
        .enumerate()
        .map(|(index, mark)| (mark.start_ns, marks.get(index + 1).map_or(mark.end_ns, |next| next.start_ns)))
        .collect();
    let launches_known = trace.work.iter().any(|work| work.launch.is_some());
    let by_device_time = !evidence.is_of_device() && !launches_known;
    let mut launched_before_capture = 0;
    let members = if evidence == Evidence::WholeTrace {
        vec![Member::Step(0); trace.work.len()]
    } else if evidence.is_of_device() || by_device_time {
        trace.work.iter().map(|work| at(&turns, work.start_ns)).collect()
    } else {
        by_launch(trace, &turns, &mut launched_before_capture)
    };

    let mut steps: Vec<Step> = marks
        .iter()
        .zip(&turns)
        .map(|(mark, &turn)| Step {
            number: mark.number,
            name: mark.name,
            host: (!evidence.is_of_device()).then_some((mark.start_ns, mark.end_ns.min(turn.1))),
            turn,
            device: None,
            work: 0,
            kernels: 0,
            may_lack_start: false,
            may_lack_end: false,
            incomplete: false,
            warm_up: false,
        })
        .collect();
    let (before, after) = set_device_windows(trace, &members, &mut steps);
    Steps { evidence, period, steps, members, by_device_time, before, after, launched_before_capture }
}

/// Where an instant falls among the turns, which follow each other.
fn at(turns: &[(i64, i64)], at_ns: i64) -> Member {
    match turns.partition_point(|turn| turn.0 <= at_ns).checked_sub(1) {
        None => Member::Before,
        Some(last) if last + 1 == turns.len() && turns[last].1 <= at_ns => Member::After,
        Some(step) => Member::Step(step as u32),
    }
}

/// By launch. A stream runs its work in order: work whose launch is not recorded belongs to the step of the launched work
/// before it on its stream; where there is none, it was launched before the capture. On a stream without any recorded
/// launch it goes with the work launched last on the others.
fn by_launch(trace: &RankTrace, turns: &[(i64, i64)], before_capture: &mut usize) -> Vec<Member> {
    let mut has_launches = vec![false; trace.streams.len()];
    for work in trace.work.iter().filter(|work| work.launch.is_some()) {
        has_launches[work.stream as usize] = true;
    }
    let mut last_on_stream = vec![None; trace.streams.len()];
    let mut last_on_any = None;
    let member = |work| {
        let work: &crate::trace::DeviceWork = work;
        let stream = work.stream as usize;
        if let Some(launch) = trace.launch_of(work) {
            let member = at(turns, launch.start_ns);
            last_on_stream[stream] = Some(member);
            last_on_any = Some(member);
            return member;
        }
        let last = if has_launches[stream] { last_on_stream[stream] } else { last_on_any };
        last.unwrap_or_else(|| {
            *before_capture += 1;
            Member::Before
        })
    };
    trace.work.iter().map(member).collect()
}

/// Sets the device windows of the steps and counts their work; the windows before the first step and after the last.
#[expect(clippy::type_complexity, reason = "two optional windows")]
fn set_device_windows(
    trace: &RankTrace,
    members: &[Member],
    steps: &mut [Step],
) -> (Option<(i64, i64)>, Option<(i64, i64)>) {
    let Some((mut at_ns, end_ns)) = trace.device_window() else { return (None, None) };
    let mut before_end_ns = None;
    let mut ends_ns = vec![None; steps.len()];
    for (work, &member) in trace.work.iter().zip(members) {
        let end_ns = match member {
            Member::Before => &mut before_end_ns,
            Member::After => continue,
            Member::Step(step) => {
                let step = step as usize;
                steps[step].work += 1;
                steps[step].kernels += usize::from(matches!(work.kind, WorkKind::Kernel | WorkKind::Graph));
                &mut ends_ns[step]
            }
        };
        *end_ns = (*end_ns).max(Some(work.end_ns));
    }
    // Work of an earlier step may outlast a later one's: then the later one has a window of no length.
    let mut until = |end_ns: i64| {
        let from_ns = at_ns;
        at_ns = at_ns.max(end_ns);
        (from_ns, at_ns)
    };
    let before = before_end_ns.map(&mut until);
    for (step, end_ns) in steps.iter_mut().zip(ends_ns) {
        step.device = end_ns.map(&mut until);
    }
    let after = until(end_ns);
    (before, (after.0 < after.1).then_some(after))
}
