use super::*;
use crate::class::Class;
use crate::partition::{Splits, partition};
use crate::trace::sketch::Sketch;
use crate::trace::{DeviceAnnotation, HostKind, Stream};

/// A step of 1 000 ns on the host that launches `kernels` kernels, which run one step later.
fn train(sketch: &mut Sketch, number: i64, kernels: i64) {
    let start = number * 1_000;
    sketch.step(number, start, start + 990);
    for kernel in 0..kernels {
        let at = start + 10 + kernel * 50;
        sketch.launched(at, 0, at + 1_000, at + 1_040, Class::Gemm);
    }
}

fn numbers(steps: &Steps) -> Vec<Option<i64>> {
    steps.steps.iter().map(|step| step.number).collect()
}

/// Windows of all steps, and of what is around them, cover the device's time once.
fn covered(trace: &RankTrace, steps: &Steps) -> bool {
    let windows =
        steps.before.into_iter().chain(steps.steps.iter().filter_map(|s| s.device)).chain(steps.after);
    let (mut at, end) = trace.device_window().unwrap();
    for (from, to) in windows {
        assert!(from == at && from <= to);
        at = to;
    }
    at == end
}

#[test]
fn work_belongs_to_the_step_that_launched_it() {
    let mut sketch = Sketch::default();
    (1..=3).for_each(|number| train(&mut sketch, number, 10));
    let trace = sketch.trace();
    let steps = Steps::of(&trace);
    assert_eq!((steps.evidence, numbers(&steps)), (Evidence::ProfilerStep, vec![Some(1), Some(2), Some(3)]));
    assert_eq!(steps.steps.iter().map(|step| step.work).collect::<Vec<_>>(), [10, 10, 10]);
    let second = &steps.steps[1];
    assert_eq!((second.host, second.turn), (Some((2_000, 2_990)), (2_000, 3_000)));
    assert_eq!(second.device, Some((2_500, 3_500)));
    assert_eq!(steps.steps[0].device, Some((2_010, 2_500)));
    assert!(covered(&trace, &steps));
    let cut: Vec<_> = steps.steps.iter().map(|step| (step.may_lack_start, step.may_lack_end)).collect();
    assert_eq!(cut, [(true, false), (false, false), (false, true)]);
    assert!(steps.steps.iter().all(|step| !step.incomplete));
}

#[test]
fn two_steps_of_100_us_are_both_listed() {
    let mut sketch = Sketch::default();
    for number in [1, 2] {
        let at = number * 1_000_000;
        sketch.step(number, at, at + 500_000).launched(at + 10, 7, at + 1_000, at + 101_000, Class::Gemm);
    }
    let trace = sketch.trace();
    let steps = Steps::of(&trace);
    let compute =
        |step: &Step| partition(&trace, step.device.unwrap(), &Splits::default(), |_, _| true).compute_ns();
    assert_eq!(steps.steps.iter().map(compute).collect::<Vec<_>>(), [100_000, 100_000]);
}

#[test]
fn stream_zero_is_a_stream_like_any_other() {
    let mut sketch = Sketch::default();
    let trace = sketch.step(1, 0, 100).step(2, 100, 200).launched(50, 0, 150, 160, Class::Gemm).trace();
    let steps = Steps::of(&trace);
    assert_eq!(steps.members, [Member::Step(0)]);
    assert_eq!((steps.steps[0].device, steps.steps[1].device), (Some((150, 160)), None));
}

#[test]
fn work_launched_before_the_capture_belongs_to_an_earlier_step() {
    let mut sketch = Sketch::default();
    sketch.work(7, 0, 40, Class::Gemm).work(7, 45, 80, Class::Gemm);
    train(&mut sketch, 0, 4);
    sketch.work(0, 1_300, 1_310, Class::Memory).launched(2_000, 0, 2_010, 2_020, Class::Gemm);
    let trace = sketch.trace();
    let steps = Steps::of(&trace);
    // Stream 7 has no launch at all and runs before any launched work; the copy follows its stream.
    assert_eq!(steps.launched_before_capture, 2);
    assert_eq!(steps.before, Some((0, 80)));
    assert_eq!((steps.steps[0].work, steps.steps[0].kernels), (5, 4));
    assert_eq!(steps.steps[0].device, Some((80, 1_310)));
    assert_eq!(steps.after, Some((1_310, 2_020)));
    assert!(covered(&trace, &steps));
}

#[test]
fn steps_that_overlap_are_cut_at_the_next_start() {
    let mut sketch = Sketch::default();
    sketch.step(1, 0, 130).step(2, 100, 230).step(3, 200, 300).launched(120, 7, 125, 140, Class::Gemm);
    let steps = Steps::of(&sketch.trace());
    let host: Vec<_> = steps.steps.iter().map(|step| step.host.unwrap()).collect();
    assert_eq!(host, [(0, 100), (100, 200), (200, 300)]);
    assert_eq!(steps.members, [Member::Step(1)]);
}

#[test]
fn a_step_that_lost_its_first_kernels_is_incomplete() {
    let mut sketch = Sketch::default();
    [9, 10, 10, 10].iter().zip(1..).for_each(|(&kernels, number)| train(&mut sketch, number, kernels));
    let incomplete = |steps: &Steps| steps.steps.iter().map(|step| step.incomplete).collect::<Vec<_>>();
    assert_eq!(incomplete(&Steps::of(&sketch.trace())), [true, false, false, false]);

    // Gradient accumulation: every other step updates.
    let mut sketch = Sketch::default();
    [10, 14, 10, 14, 10].iter().zip(1..).for_each(|(&kernels, number)| train(&mut sketch, number, kernels));
    assert_eq!(incomplete(&Steps::of(&sketch.trace())), [false; 5]);

    // Counts that vary by nature.
    let mut sketch = Sketch::default();
    [18, 19, 17, 20, 11].iter().zip(1..).for_each(|(&kernels, number)| train(&mut sketch, number, kernels));
    assert_eq!(incomplete(&Steps::of(&sketch.trace())), [false, false, false, false, true]);

    let mut sketch = Sketch::default();
    [10, 0].iter().zip(1..).for_each(|(&kernels, number)| train(&mut sketch, number, kernels));
    assert_eq!(incomplete(&Steps::of(&sketch.trace())), [false, true]);
}

#[test]
fn the_first_steps_warm_up_until_one_is_steady() {
    let mut sketch = Sketch::default();
    let mut at = 0;
    for (number, length) in [(1, 900), (2, 130), (3, 100), (4, 120), (5, 100), (6, 102)] {
        sketch.step(number, at, at + length).launched(at + 1, 7, at + length - 10, at + length, Class::Gemm);
        at += length;
    }
    let steps = Steps::of(&sketch.trace());
    // The device window of the first step begins with its work: 10 ns.
    assert_eq!(steps.steps.iter().filter(|step| step.warm_up).count(), 0);

    let mut sketch = Sketch::default();
    sketch.launched(-100, 7, -50, -40, Class::Gemm);
    let mut at = 0;
    for (number, length) in [(1, 900), (2, 130), (3, 100), (4, 120), (5, 100), (6, 102)] {
        sketch.step(number, at, at + length).launched(at + 1, 7, at + length - 10, at + length, Class::Gemm);
        at += length;
    }
    let steps = Steps::of(&sketch.trace());
    let warm: Vec<_> = steps.steps.iter().map(|step| step.warm_up).collect();
    assert_eq!(warm, [true, true, false, false, false, false]);
}

#[test]
fn without_profiler_steps_the_best_of_the_rest_marks_them() {
    let build = |ranges: &[(HostKind, &str, i64, i64)]| {
        let mut sketch = Sketch::default();
        for &(kind, name, start, end) in ranges {
            sketch.range(kind, name, start, end);
        }
        sketch.launched(5, 7, 10, 20, Class::Gemm).launched(105, 7, 110, 120, Class::Gemm);
        sketch.launched(195, 7, 196, 200, Class::Gemm);
        Steps::of(&sketch.trace())
    };
    let loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    let steps = build(&[
        (HostKind::DataLoader, loader, 0, 3),
        (HostKind::Optimizer, "Optimizer.step#SGD.step", 80, 90),
        (HostKind::DataLoader, loader, 91, 100),
        (HostKind::Optimizer, "Optimizer.step#SGD.step", 180, 190),
    ]);
    assert_eq!(steps.evidence, Evidence::OptimizerEnds);
    assert_eq!(steps.steps.iter().map(|s| s.host.unwrap()).collect::<Vec<_>>(), [(0, 90), (90, 190)]);
    assert_eq!(steps.members, [Member::Step(0), Member::Step(1), Member::After]);

    let steps = build(&[(HostKind::DataLoader, loader, 0, 3), (HostKind::DataLoader, loader, 91, 100)]);
    assert_eq!(steps.evidence, Evidence::DataLoaderStarts);
    assert_eq!(steps.steps.iter().map(|s| s.turn).collect::<Vec<_>>(), [(0, 91), (91, 196)]);

    let steps = build(&[
        (HostKind::Iteration(Some(7)), "iteration 7", 0, 90),
        (HostKind::Iteration(Some(1)), "microbatch 1", 10, 20),
        (HostKind::Iteration(Some(8)), "iteration 8", 95, 210),
    ]);
    assert_eq!((steps.evidence, numbers(&steps)), (Evidence::IterationRanges, vec![Some(7), Some(8)]));

    let steps = build(&[(HostKind::Iteration(None), "execute_32_context_0(0)_generation_32(32)", 0, 210)]);
    assert_eq!((steps.evidence, steps.steps.len()), (Evidence::ServingIterations, 1));

    let steps = build(&[]);
    assert_eq!((steps.evidence, steps.steps.len()), (Evidence::WholeTrace, 1));
    assert!(steps.evidence.is_fallback());
    assert_eq!(steps.steps[0].device, Some((10, 200)));
}

#[test]
fn annotations_on_the_device_mark_steps_by_device_time() {
    let mut sketch = Sketch::default();
    let stream = sketch.builder.stream(Stream { device: 0, id: 7 });
    for (number, start_ns, end_ns) in [(3, 0, 90), (4, 100, 190), (4, 95, 180)] {
        let name = sketch.builder.intern(&format!("ProfilerStep#{number}"));
        sketch.builder.annotations.push(DeviceAnnotation { start_ns, end_ns, name, stream });
    }
    let trace = sketch.launched(0, 7, 50, 60, Class::Gemm).launched(1, 7, 96, 120, Class::Gemm).trace();
    let steps = Steps::of(&trace);
    assert_eq!((steps.evidence, numbers(&steps)), (Evidence::DeviceAnnotation, vec![Some(3), Some(4)]));
    assert_eq!(steps.members, [Member::Step(0), Member::Step(1)]);
    assert_eq!(steps.steps[1].turn, (95, 190));
}

#[test]
fn a_sequence_of_kernels_that_repeats_marks_steps() {
    let mut sketch = Sketch::default();
    let mut at = 0;
    // Six steps of 4 layers of 6 kernels, a head of 5, and a pause before the embedding.
    for _ in 0..6 {
        at += 500;
        let layer = (0..4).flat_map(|_| (0..6).map(|kernel| format!("layer_{kernel}")));
        let head = (0..5).map(|kernel| format!("head_{kernel}"));
        for name in std::iter::once("embed".to_owned()).chain(layer).chain(head) {
            sketch.add(Stream { device: 0, id: 7 }, (at, at + 8), Class::Gemm, &name, None);
            at += 10;
        }
    }
    let trace = sketch.trace();
    let steps = Steps::of(&trace);
    assert_eq!((steps.evidence, steps.period.map(|p| p.kernels)), (Evidence::KernelPeriod, Some(30)));
    assert_eq!(steps.steps.iter().map(|step| step.work).collect::<Vec<_>>(), [30; 6]);
    assert!(covered(&trace, &steps));

    // Nothing repeats.
    let mut sketch = Sketch::default();
    for at in 0..200_i64 {
        let name = format!("kernel_{}", (at * at * 7 + at * 13) % 199);
        sketch.add(Stream { device: 0, id: 7 }, (at * 10, at * 10 + 5), Class::Gemm, &name, None);
    }
    assert_eq!(Steps::of(&sketch.trace()).evidence, Evidence::WholeTrace);
}

#[test]
fn a_trace_of_the_host_alone_has_steps_without_device_windows() {
    let mut sketch = Sketch::default();
    let steps = Steps::of(&sketch.step(1, 0, 10).step(2, 10, 20).trace());
    assert_eq!(steps.steps.iter().map(|step| step.device).collect::<Vec<_>>(), [None, None]);
    assert!(steps.steps.iter().all(|step| !step.incomplete));
    assert!(Steps::of(&Sketch::default().trace()).steps.is_empty());
}
