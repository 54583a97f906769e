//! The marks that divide a trace into steps, by the best evidence there is.

use std::collections::BTreeMap;

use goodput_core::records::Symbol;
use rustc_hash::FxHashMap;

use super::Evidence;
use super::period::{self, Period};
use crate::trace::{HostKind, HostRange, RankTrace};

/// One step as marked, on the host's or the device's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub number: Option<i64>,
    pub name: Symbol,
    pub start_ns: i64,
    pub end_ns: i64,
}

/// Marks by start.
#[derive(Debug)]
pub(super) struct Marks {
    pub evidence: Evidence,
    pub marks: Vec<Mark>,
    pub period: Option<Period>,
}

/// The first kind of evidence that marks anything.
pub(super) fn find(trace: &RankTrace) -> Marks {
    type Marker = fn(&RankTrace) -> Vec<Mark>;
    let markers: [(Evidence, Marker); 6] = [
        (Evidence::ProfilerStep, profiler_steps),
        (Evidence::DeviceAnnotation, device_annotations),
        (Evidence::OptimizerEnds, optimizer_ends),
        (Evidence::DataLoaderStarts, data_loader_starts),
        (Evidence::IterationRanges, |trace| iterations(trace, false)),
        (Evidence::ServingIterations, |trace| iterations(trace, true)),
    ];
    for (evidence, marker) in markers {
        let marks = marker(trace);
        if !marks.is_empty() {
            return Marks { evidence, marks, period: None };
        }
    }
    if let Some((period, marks)) = period::find(trace) {
        return Marks { evidence: Evidence::KernelPeriod, marks, period: Some(period) };
    }
    let whole = host_span(trace).or(trace.device_window()).map(|(start_ns, end_ns)| Mark {
        number: None,
        name: Symbol::EMPTY,
        start_ns,
        end_ns,
    });
    Marks { evidence: Evidence::WholeTrace, marks: whole.into_iter().collect(), period: None }
}

fn mark(range: &HostRange) -> Mark {
    let number = match range.kind {
        HostKind::Step(number) | HostKind::Iteration(number) => number,
        _ => None,
    };
    Mark { number, name: range.name, start_ns: range.start_ns, end_ns: range.end_ns }
}

/// First start to last end of what the host did.
fn host_span(trace: &RankTrace) -> Option<(i64, i64)> {
    let launches = trace.launches.iter().map(|l| (l.start_ns, l.end_ns));
    let operators = trace.operators.iter().map(|o| (o.start_ns, o.end_ns));
    let ranges = trace.ranges.iter().map(|r| (r.start_ns, r.end_ns));
    launches
        .chain(operators)
        .chain(ranges)
        .reduce(|span, (start_ns, end_ns)| (span.0.min(start_ns), span.1.max(end_ns)))
}

/// Of ranges on several threads or of several names, those of the thread and name that cover most; of nested ones
/// the outermost. Ranges come by start.
fn main_ranges<'a, K: Eq + std::hash::Hash>(
    ranges: impl Iterator<Item = &'a HostRange>,
    key: impl Fn(&HostRange) -> K,
) -> Vec<HostRange> {
    let mut groups: FxHashMap<(u32, K), (i64, Vec<HostRange>)> = FxHashMap::default();
    for range in ranges {
        let (covered_ns, group) = groups.entry((range.thread, key(range))).or_default();
        if group.last().is_none_or(|last| last.start_ns < range.start_ns && last.end_ns < range.end_ns) {
            *covered_ns += range.end_ns - range.start_ns;
            group.push(*range);
        }
    }
    let covers_more = |(covered_ns, group): &(i64, Vec<HostRange>)| {
        (*covered_ns, std::cmp::Reverse(group.first().map(|range| (range.start_ns, range.thread))))
    };
    groups.into_values().max_by_key(covers_more).map(|(_, group)| group).unwrap_or_default()
}

fn of_kind(trace: &RankTrace, is: impl Fn(HostKind) -> bool) -> impl Iterator<Item = &HostRange> {
    trace.ranges.iter().filter(move |range| is(range.kind))
}

fn profiler_steps(trace: &RankTrace) -> Vec<Mark> {
    let steps = main_ranges(of_kind(trace, |kind| matches!(kind, HostKind::Step(_))), |_| ());
    steps.iter().map(mark).collect()
}

/// The profiler's steps as the device ran them, over all streams.
fn device_annotations(trace: &RankTrace) -> Vec<Mark> {
    let mut by_number: BTreeMap<i64, Mark> = BTreeMap::new();
    for annotation in &trace.annotations {
        let HostKind::Step(Some(number)) = HostKind::of_range(trace.name(annotation.name)) else { continue };
        let (start_ns, end_ns) = (annotation.start_ns, annotation.end_ns);
        let mark = by_number.entry(number).or_insert(Mark {
            number: Some(number),
            name: annotation.name,
            start_ns,
            end_ns,
        });
        mark.start_ns = mark.start_ns.min(start_ns);
        mark.end_ns = mark.end_ns.max(end_ns);
    }
    let mut marks: Vec<_> = by_number.into_values().collect();
    marks.sort_by_key(|mark| mark.start_ns);
    marks
}

/// A step ends with the optimizer's: of several optimizers with the one that covers most.
fn optimizer_ends(trace: &RankTrace) -> Vec<Mark> {
    let steps = main_ranges(of_kind(trace, |kind| kind == HostKind::Optimizer), |range| range.name);
    let mut start_ns = if steps.is_empty() { 0 } else { host_span(trace).map_or(0, |span| span.0) };
    steps
        .iter()
        .map(|range| {
            let mark = Mark { start_ns, ..mark(range) };
            start_ns = range.end_ns;
            mark
        })
        .collect()
}

/// A step begins with the wait for its batch; the last one lasts as long as the host does anything.
fn data_loader_starts(trace: &RankTrace) -> Vec<Mark> {
    let waits = main_ranges(of_kind(trace, |kind| kind == HostKind::DataLoader), |range| range.name);
    if waits.is_empty() {
        return Vec::new();
    }
    let ends_ns = waits.iter().skip(1).map(|next| next.start_ns);
    let last_ns = host_span(trace).map(|span| span.1);
    let ends_ns = ends_ns.chain(last_ns);
    waits.iter().zip(ends_ns).map(|(range, end_ns)| Mark { end_ns, ..mark(range) }).collect()
}

/// Ranges that name an iteration, those of serving engines apart from others. Names that differ in their numbers only
/// are one kind of range.
fn iterations(trace: &RankTrace, of_engine: bool) -> Vec<Mark> {
    let is_of_engine = |name: &str| name.starts_with("execute_") || name.starts_with("step[");
    let ranges = of_kind(trace, |kind| matches!(kind, HostKind::Iteration(_)))
        .filter(|range| is_of_engine(trace.name(range.name)) == of_engine);
    let stem = |range: &HostRange| {
        let name = trace.name(range.name);
        name.split(|c: char| c.is_ascii_digit()).next().unwrap_or(name).to_owned()
    };
    main_ranges(ranges, stem).iter().map(mark).collect()
}
