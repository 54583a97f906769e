//! Simulated schedules against closed forms, small steps worked by hand, and what must hold of every step.

mod pipelines;

use std::collections::BTreeMap;

use goodput_predict::run::Schedule;
use goodput_predict::schedule::{
    Bucket, Exchange, Host, Part, Pass, Pipeline, Simulator, Timeline, Unschedulable, closed, positions,
};
use pipelines::pipelines;
use proptest::prelude::*;
use rstest::rstest;

const F: f64 = 300.0;
const B: f64 = 320.0;
const W: f64 = 250.0;

fn part(share: f64) -> Part {
    Part {
        forward_ns: F * share,
        input_gradient_ns: B * share,
        weight_gradient_ns: W * share,
        activation: 1.0,
        weight_activation: 0.5,
        ..Part::default()
    }
}

fn run(pipeline: &Pipeline) -> Timeline {
    Simulator::default().run(pipeline).expect("has a schedule").clone()
}

#[rstest]
#[case(Schedule::GPipe, 1)]
#[case(Schedule::OneForwardOneBackward, 1)]
#[case(Schedule::Interleaved { parts: 2 }, 2)]
#[case(Schedule::Interleaved { parts: 5 }, 5)]
fn equal_stages_lose_what_the_closed_form_says(#[case] schedule: Schedule, #[case] parts: u32) {
    for (stages, micro_batches) in [(2, 2), (4, 4), (4, 16), (8, 64), (3, 2049)] {
        let timeline = run(&Pipeline::equal(schedule, stages, micro_batches, part(1.0 / f64::from(parts))));
        let ideal = micro_batches as f64 * (F + B + W);
        for stage in &timeline.stages {
            let share = closed::bubble(stages as u32, parts, micro_batches as u32);
            assert!(
                (stage.bubble_ns / ideal - share).abs() < 1e-4 * share,
                "{schedule:?} {stages} {micro_batches}"
            );
            assert_eq!(stage.total_ns(), timeline.step_ns);
        }
    }
}

#[test]
fn weight_gradients_moved_to_the_end_save_two_thirds() {
    let pipeline = |schedule, input, weight| {
        let part =
            Part { forward_ns: F, input_gradient_ns: input, weight_gradient_ns: weight, ..Part::default() };
        let mut pipeline = Pipeline::equal(schedule, 8, 32, part);
        pipeline.optimizers_wait = false;
        run(&pipeline).step_ns - 32.0 * (F + input + weight)
    };
    assert_eq!(pipeline(Schedule::ZeroBubbleH1, B, W), closed::bubble_ns(8, [F, B, W], closed::Split::H1));
    assert_eq!(pipeline(Schedule::ZeroBubbleH1, F, F) * 3.0, pipeline(Schedule::OneForwardOneBackward, F, F));
    assert_eq!(pipeline(Schedule::ZeroBubble2p, F, F), 0.0);
}

/// The figures of the MFU guide for four stages and 2,048 micro-batches.
#[test]
fn three_phases_count_idle_time_twice() {
    assert!((closed::three_phases(4, 1, 2048) - 0.00366).abs() < 5e-6);
    let timeline = run(&Pipeline::equal(Schedule::OneForwardOneBackward, 4, 2048, part(1.0)));
    let share = timeline.stages[0].bubble_ns / (2048.0 * (F + B + W));
    assert!((share - 0.00146).abs() < 5e-6, "{share}");
}

/// (PP / 2 - 1) (F&B + B - 3 W) of the stage that idles most, and PP + 1 micro-batches (DeepSeek-V3, arXiv:2412.19437, table 2; its B is
/// the whole backward).
#[test]
fn dual_pipe_from_both_ends() {
    for (stages, pair) in [(2, 2.75), (4, 2.75), (8, 2.75), (8, 3.0), (16, 2.5)] {
        let part = Part { beside_backward_ns: Some(pair * F), activation: 1.0, ..part(1.0) };
        let part = Part { input_gradient_ns: F, weight_gradient_ns: F, ..part };
        let timeline = run(&Pipeline::equal(Schedule::DualPipe, stages, 4 * stages, part));
        let paper = (stages as f64 / 2.0 - 1.0) * (pair * F + 2.0 * F - 3.0 * F);
        let most = timeline.stages.iter().map(|stage| stage.bubble_ns).fold(0.0, f64::max);
        assert_eq!(most, paper);
        for stage in &timeline.stages {
            assert_eq!(stage.peak_activation, stages as f64 + 1.0);
        }
    }
}

#[test]
fn activations_held() {
    let peaks = |schedule, stages, micro_batches| {
        let timeline = run(&Pipeline::equal(schedule, stages, micro_batches, part(1.0)));
        timeline.stages.iter().map(|stage| stage.peak_activation).collect::<Vec<_>>()
    };
    assert_eq!(peaks(Schedule::GPipe, 3, 7), [7.0; 3]);
    assert_eq!(peaks(Schedule::OneForwardOneBackward, 4, 100), [4.0, 3.0, 2.0, 1.0]);
    assert_eq!(peaks(Schedule::OneForwardOneBackward, 4, 2), [2.0, 2.0, 2.0, 1.0]);
    // Megatron's warm-up, and the one that follows it: 2 (p - s - 1) + (v - 1) p + 1.
    assert_eq!(peaks(Schedule::Interleaved { parts: 3 }, 4, 16), [15.0, 13.0, 11.0, 9.0]);
    // (p - i + 1) M_B + (i - 1) M_W (arXiv:2401.10241, 2.3).
    assert_eq!(peaks(Schedule::ZeroBubbleH1, 4, 100), [4.0, 3.5, 3.0, 2.5]);
    let twice = peaks(Schedule::ZeroBubble2p, 4, 100);
    assert!(twice.iter().all(|&held| held <= 8.0) && twice[0] > 6.0, "{twice:?}");
}

#[test]
fn gradients_are_reduced_beside_the_last_backward() {
    let mut pipeline = Pipeline::equal(Schedule::OneForwardOneBackward, 2, 4, part(1.0));
    let halves = |ns| [0.5, 1.0].map(|share| Bucket { part: 0, share, ns }).to_vec();
    pipeline.exchanges = vec![Exchange { reductions: halves(100.0), gathers: Vec::new() }; 2];
    pipeline.optimizer_ns = vec![70.0, 50.0];
    let timeline = run(&pipeline);
    let alone = 5.0 * (F + B + W);
    // The first stage ends last: its first bucket is hidden by half a backward, its second one shows.
    assert_eq!(timeline.step_ns, alone + 100.0 + 70.0);
    assert_eq!(timeline.stages[0].reduce_ns, 100.0);
    assert_eq!(timeline.stages[0].bubble_ns, F + B + W);
    assert_eq!(timeline.stages[1].bubble_ns, F + B + W + 20.0);
    // Longer than half a backward each: the second waits for the first.
    pipeline.exchanges[0].reductions = halves(400.0);
    assert_eq!(run(&pipeline).stages[0].reduce_ns, 800.0 - (B + W) / 2.0);
    // Without overlap all of it shows.
    pipeline.exchanges[0].reductions = vec![Bucket { part: 0, share: 1.0, ns: 123.0 }];
    assert_eq!(run(&pipeline).stages[0].reduce_ns, 123.0);
}

#[test]
fn parameters_are_gathered_before_and_beside_the_first_forward() {
    let mut pipeline = Pipeline::equal(Schedule::OneForwardOneBackward, 1, 4, part(1.0));
    let gathers = [0.0, 0.5].map(|share| Bucket { part: 0, share, ns: 200.0 }).to_vec();
    pipeline.exchanges = vec![Exchange { reductions: Vec::new(), gathers }];
    let timeline = run(&pipeline);
    // 200 before the start, then 150 of forward hide as much of the second.
    assert_eq!(timeline.stages[0].gather_ns, 250.0);
    assert_eq!(timeline.step_ns, 4.0 * (F + B + W) + 250.0);
    // A stage that starts later has them by then.
    let mut two = Pipeline::equal(Schedule::OneForwardOneBackward, 2, 4, part(1.0));
    two.exchanges = vec![Exchange::default(), pipeline.exchanges[0].clone()];
    assert_eq!(run(&two).stages[1].gather_ns, 0.0);
}

#[test]
fn the_host_is_a_second_clock() {
    let mut pipeline = Pipeline::equal(Schedule::OneForwardOneBackward, 1, 10, part(1.0));
    let host =
        |forward_ns, backward_ns, waits_for_receives| Host { forward_ns, backward_ns, waits_for_receives };
    pipeline.host = Some(host(1000.0, 2000.0, false));
    let slow = run(&pipeline);
    assert_eq!(slow.step_ns, 30_000.0);
    assert_eq!(slow.stages[0].host_ns, 30_000.0 - 10.0 * (F + B + W));
    // A faster host runs ahead; the device waits for nothing.
    pipeline.host = Some(host(10.0, 20.0, false));
    assert_eq!(run(&pipeline).stages[0].host_ns, 0.0);
    // Two stages: a host that waits for each receive cannot run ahead, and costs more.
    let step = |waits| {
        let mut pipeline = Pipeline::equal(Schedule::OneForwardOneBackward, 2, 10, part(1.0));
        pipeline.host = Some(host(280.0, 600.0, waits));
        run(&pipeline).step_ns
    };
    assert!(step(true) > step(false));
}

#[test]
fn gradients_of_a_late_host_come_as_it_enqueues_them() {
    let halves = [0.5, 1.0].map(|share| Bucket { part: 0, share, ns: 300.0 }).to_vec();
    let step = |backward_ns| {
        let part = Part { input_gradient_ns: backward_ns, weight_gradient_ns: 0.0, ..part(1.0) };
        let mut pipeline = Pipeline::equal(Schedule::GPipe, 1, 3, part);
        pipeline.host = Some(Host { forward_ns: 1000.0, backward_ns: 2000.0, waits_for_receives: false });
        pipeline.exchanges = vec![Exchange { reductions: halves.clone(), gathers: Vec::new() }];
        run(&pipeline).step_ns
    };
    // Half of the last backward's gradients are there 1,000 ns before its end, however little the device does.
    assert_eq!(step(0.0), 3.0 * 3000.0 + 300.0);
    assert_eq!(step(500.0), step(0.0));
}

#[test]
fn a_blocking_send_keeps_its_stage() {
    let sends = Part { send_forward_ns: 40.0, send_backward_ns: 40.0, ..part(1.0) };
    let mut pipeline = Pipeline::equal(Schedule::OneForwardOneBackward, 2, 4, sends);
    let overlapped = run(&pipeline);
    pipeline.blocking_sends = true;
    let blocking = run(&pipeline);
    assert_eq!(blocking.step_ns, overlapped.step_ns + 40.0, "the last gradient's send comes before the last");
    assert!(blocking.stages[1].send_ns > overlapped.stages[1].send_ns);
}

#[rstest]
#[case(Schedule::Interleaved { parts: 2 }, 4, 6, Unschedulable::Groups { micro_batches: 6, stages: 4 })]
#[case(Schedule::Interleaved { parts: 2 }, 1, 6, Unschedulable::OneStage)]
#[case(Schedule::Interleaved { parts: 0 }, 4, 8, Unschedulable::Nothing)]
#[case(Schedule::OneForwardOneBackward, 4, 0, Unschedulable::Nothing)]
#[case(Schedule::DualPipe, 3, 8, Unschedulable::OddStages { stages: 3 })]
#[case(Schedule::DualPipe, 4, 6, Unschedulable::TwoEnds { micro_batches: 6, stages: 4 })]
fn what_has_no_schedule_is_refused(
    #[case] schedule: Schedule,
    #[case] stages: usize,
    #[case] micro_batches: usize,
    #[case] why: Unschedulable,
) {
    let pipeline = Pipeline::equal(schedule, stages, micro_batches, part(1.0));
    assert_eq!(Simulator::default().run(&pipeline), Err(why));
}

#[test]
fn times_that_are_none_are_refused() {
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let mut pipeline = Pipeline::equal(Schedule::GPipe, 2, 2, part(1.0));
        pipeline.parts[1].forward_ns = bad;
        assert_eq!(Simulator::default().run(&pipeline), Err(Unschedulable::Time { stage: 1 }));
    }
}

proptest! {
    #[test]
    fn a_stage_does_one_thing_at_a_time_and_all_of_it(pipeline in pipelines()) {
        let timeline = run(&pipeline);
        for stage in &timeline.stages {
            prop_assert_eq!(stage.total_ns(), timeline.step_ns);
            for ns in [stage.bubble_ns, stage.host_ns, stage.send_ns, stage.gather_ns, stage.reduce_ns] {
                prop_assert!(ns >= 0.0, "{:?}", stage);
            }
        }
        let events = Simulator::default().events(&pipeline).unwrap();
        for two in events.windows(2).filter(|two| two[0].stage == two[1].stage) {
            prop_assert!(two[0].end_ns <= two[1].start_ns);
        }
        let parts = goodput_predict::schedule::parts_of_a_stage(pipeline.schedule);
        let ends = pipeline.micro_batches * pipeline.stages * if parts == 2 && pipeline.schedule == Schedule::DualPipe { 1 } else { parts };
        let count = |passes: &[Pass]| events.iter().filter(|event| passes.contains(&event.pass)).count();
        prop_assert_eq!(count(&[Pass::Forward, Pass::PairedForward]), ends);
        prop_assert_eq!(count(&[Pass::Backward, Pass::PairedBackward, Pass::InputGradient]), ends);
        prop_assert_eq!(count(&[Pass::InputGradient]), count(&[Pass::WeightGradient]));
    }

    #[test]
    fn nothing_starts_before_what_it_needs_has_arrived(pipeline in pipelines()) {
        let events = Simulator::default().events(&pipeline).unwrap();
        let forward = |pass| matches!(pass, Pass::Forward | Pass::PairedForward);
        let by_place: BTreeMap<_, _> = events
            .iter()
            .filter(|event| event.pass != Pass::WeightGradient)
            .map(|event| ((event.stage, event.part, event.micro_batch, forward(event.pass)), event))
            .collect();
        for event in &events {
            let [before, after] = positions(pipeline.schedule, pipeline.stages, event.stage, event.part);
            let ahead = forward(event.pass);
            let own = by_place.get(&(event.stage, event.part, event.micro_batch, !ahead || event.pass == Pass::WeightGradient));
            if event.pass == Pass::WeightGradient {
                let input = by_place[&(event.stage, event.part, event.micro_batch, false)];
                prop_assert!(input.end_ns <= event.start_ns);
                continue;
            }
            if !ahead {
                prop_assert!(own.unwrap().end_ns <= event.start_ns);
            }
            let from = if ahead { before } else { after };
            // A paired backward shows its end only: its other half has the time of both.
            let Some((stage, part)) = from.filter(|_| event.pass != Pass::PairedBackward) else { continue };
            let needed = by_place[&(stage, part, event.micro_batch, ahead)];
            let of = pipeline.stage(stage)[part];
            let send = if ahead { of.send_forward_ns } else { of.send_backward_ns };
            prop_assert!(needed.end_ns + send <= event.start_ns + 0.01, "{:?} {:?}", needed, event);
        }
    }

    #[test]
    fn more_time_anywhere_is_never_less(
        pipeline in pipelines(),
        at in any::<prop::sample::Index>(),
        which in 0_usize..5,
        more in 0.0..500.0_f64,
    ) {
        // An order that is planned by the times may change with them.
        prop_assume!(pipeline.schedule != Schedule::ZeroBubble2p);
        let mut pipeline = Pipeline { optimizers_wait: true, ..pipeline };
        let before = run(&pipeline).step_ns;
        let at = at.index(pipeline.parts.len());
        let part = &mut pipeline.parts[at];
        *[
            &mut part.forward_ns,
            &mut part.input_gradient_ns,
            &mut part.weight_gradient_ns,
            &mut part.send_forward_ns,
            &mut part.send_backward_ns,
        ][which] += more;
        prop_assert!(run(&pipeline).step_ns >= before);
    }
}
