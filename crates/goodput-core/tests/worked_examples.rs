//! Worked examples: exact values from their inputs, and the figures as their text rounds them.

use goodput_core::composed::{Cadence, PreemptionCost, RuntimeInputs};
use goodput_core::cost::Cost;
use goodput_core::elastic::{ReferenceRate, Running, Schedule, Stage};
use goodput_core::factors::Factors;
use goodput_core::frontier::{Choice, frontier};
use goodput_core::planning::{days_at_shortfall, trace_bytes};
use goodput_core::program::{Mfu, NodeBaseline, ScalingEfficiency, ideal_time};
use goodput_core::serving::readiness_share;
use goodput_core::tiers::{NoRuntimeGoodput, ProductiveReference, UtilizationTiers};
use goodput_core::trade::{Ratio, Trade, Verdict, headroom, may_give_up};
use goodput_core::value::{Ceiling, rank_ceilings, rank_levers};
use goodput_core::{Boundary, CapacityTime, Ledger, Levels, Loss, Pattern, Timestamp, Window};

/// Runtime goodput of the modelled job (example 3).
const RUNTIME: f64 = 0.9039451741972573;
/// Program goodput of its steps (example 5).
const PROGRAM: f64 = 0.48041208394378987;

const MINUTE_S: f64 = 60.0;
const HOUR_S: f64 = 3600.0;
const DAY_S: f64 = 86_400.0;

/// `actual` equals `expected` to a relative 1e-9.
#[track_caller]
fn exactly(actual: f64, expected: f64) {
    let error = (actual - expected).abs();
    assert!(error <= 1e-9 * expected.abs(), "{actual} is not {expected}");
}

/// `actual` rounds to `text` at that many decimals.
#[track_caller]
fn rounds_to(actual: f64, text: f64, decimals: i32) {
    let scale = 10f64.powi(decimals);
    assert_eq!((actual * scale).round() / scale, text, "{actual}");
}

fn week() -> Window {
    Window::new(Timestamp::from_seconds(0), Timestamp::from_seconds(604_800)).expect("a week is a window")
}

/// The 70B job on 128 devices: one week held, one forced preemption a day.
fn job() -> RuntimeInputs {
    RuntimeInputs {
        held_s: 7.0 * DAY_S,
        launches: 1,
        startup_s: 5.2 * MINUTE_S,
        input_wait_share: 0.05 / 0.65,
        checkpoint_write_s: 9.8,
        cadence: Cadence::YoungDaly,
        mtbf_s: Some(302.0 * HOUR_S),
        recovery_s: 6.2 * MINUTE_S,
        preemptions_per_day: 1.0,
        preemption: PreemptionCost::Stated { cost_s: 20.2 * MINUTE_S },
    }
}

/// The unrounded factors of examples 2, 3 and 5.
fn fleet() -> Factors {
    Factors::estimate(0.65, RUNTIME, PROGRAM, "a pool's snapshot, a modelled job, and its steps")
        .expect("all three are factors")
}

#[test]
fn e1_shares_of_a_held_run() {
    let run = Factors::estimate(1.0, 0.90, 0.41, "factors of different windows").unwrap();
    exactly(run.loss_share(Boundary::Runtime), 0.10);
    exactly(run.loss_share(Boundary::Program), 0.531);
    exactly(run.mpg(), 0.369);
    assert_eq!(run.loss_share(Boundary::Scheduling), 0.0);
    rounds_to(run.loss_share(Boundary::Program), 0.53, 2);
    rounds_to(run.mpg(), 0.37, 2);
    assert!(run.basis().to_string().starts_with("estimate: "));
}

#[test]
fn e2_shared_pool_snapshot() {
    // 1,000 devices: 800 assigned, 150 of them in incomplete gangs; 50 of the 650 held wait for input.
    let devices = |n: u64| CapacityTime::of(n, week().duration_ns());
    let levels =
        Levels { offered: devices(1000), held: devices(650), retained: devices(600), ideal: devices(600) };
    let losses = vec![
        Loss::new(Pattern::UnheldUnsettled, devices(200)),
        Loss::new(Pattern::PartialGangHold, devices(150)),
        Loss::new(Pattern::InputWait, devices(50)),
    ];
    let ledger = Ledger::new(week(), levels, losses).unwrap();
    assert_eq!(ledger.chain().factor(Boundary::Scheduling).settled, Some(0.65));
    assert_eq!(ledger.chain().loss_share(Boundary::Scheduling), Some(0.35));
    let input = ledger.amount(Pattern::InputWait).share_of(levels.held).unwrap();
    exactly(input, 0.0769230769230769);
    let levers = rank_levers(&ledger, None);
    let admission = levers.iter().find(|l| l.pattern == Pattern::PartialGangHold).unwrap();
    exactly(admission.ceiling.unwrap(), 0.80);
    assert_eq!(admission.condition, Some("only if other jobs take the freed devices"));
}

#[test]
fn e3_composed_runtime_loss() {
    let loss = job().loss().unwrap();
    let interval_min = loss.checkpoint_interval_s.unwrap() / MINUTE_S;
    exactly(interval_min, 76.93633731859089);
    rounds_to(interval_min, 77.0, 0);
    exactly(loss.startup, 0.0005158730158730159);
    exactly(loss.input_wait, 0.07692307692307693);
    exactly(loss.checkpoint_write, 0.00212296736530328);
    exactly(loss.rework, 0.0021229673653032806);
    exactly(loss.recovery, 0.0003421633554083885);
    exactly(loss.preemption, 0.014027777777777778);
    exactly(loss.total(), 0.09605482580274266);
    exactly(loss.runtime_goodput(), RUNTIME);
    rounds_to(loss.runtime_goodput(), 0.90, 2);
    assert_eq!(loss.largest().0, Pattern::InputWait);
    assert_eq!(loss.left_small_loss_regime(), None);
}

#[test]
fn e3_preemptions_shorten_the_interval() {
    let counted = RuntimeInputs { cadence: Cadence::YoungDalyWithPreemptions, ..job() };
    let interval_min = counted.checkpoint_interval_s().unwrap() / MINUTE_S;
    exactly(interval_min, 20.87508862623999);
    rounds_to(interval_min, 21.0, 0);
}

#[test]
fn e3_twelve_preemptions_a_day_leave_the_small_loss_regime() {
    let loss = RuntimeInputs { preemptions_per_day: 12.0, ..job() }.loss().unwrap();
    exactly(loss.preemption, 12.0 * 20.2 / 1440.0);
    rounds_to(loss.preemption, 0.168, 3);
    rounds_to(loss.total(), 0.25036, 5);
    let warning = loss.left_small_loss_regime().unwrap();
    assert_eq!(warning.term, Pattern::Preemption);
    assert!(warning.low < warning.high);
    // The term alone is too large as well.
    let alone = RuntimeInputs { input_wait_share: 0.0, preemptions_per_day: 12.0, ..job() }.loss().unwrap();
    assert!(alone.left_small_loss_regime().is_some());
}

#[test]
fn e3_an_hour_long_evaluation_job_pays_for_its_startup() {
    let evaluation = RuntimeInputs { held_s: HOUR_S, ..job() }.loss().unwrap();
    exactly(evaluation.startup, 5.2 / 60.0);
    rounds_to(evaluation.startup, 0.09, 2);
}

#[test]
fn e4_loss_against_job_size() {
    let rows = [
        (128, 0.425, 0.034, 9.61),
        (256, 0.600, 0.068, 9.82),
        (512, 0.849, 0.137, 10.13),
        (1024, 1.201, 0.274, 10.62),
        (2048, 1.698, 0.547, 11.39),
        (4096, 2.402, 1.095, 12.64),
        (8192, 3.397, 2.190, 14.73),
        (16_384, 4.804, 4.380, 18.33),
    ];
    let curve = job().size_curve(128, &rows.map(|(n, ..)| n)).unwrap();
    for ((size, loss), (n, checkpoint, recovery, total)) in curve.into_iter().zip(rows) {
        assert_eq!(size, n);
        rounds_to(loss.checkpoint() * 100.0, checkpoint, 3);
        rounds_to(loss.recovery * 100.0, recovery, 3);
        rounds_to(loss.total() * 100.0, total, 2);
    }
    // In closed form: a x sqrt(N) + b x N = input wait.
    let mtbf_s_of_one_device = 302.0 * HOUR_S * 128.0;
    let (a, b) = ((2.0 * 9.8 / mtbf_s_of_one_device).sqrt(), 6.2 * MINUTE_S / mtbf_s_of_one_device);
    let root = (-a + (a * a + 4.0 * b * 0.05 / 0.65).sqrt()) / (2.0 * b);
    let crossing = job().size_where_failures_overtake_input(128).unwrap().unwrap();
    exactly(crossing, root * root);
    rounds_to(crossing, 12_857.14, 2);
    rounds_to(crossing / 1000.0, 13.0, 0);
}

#[test]
fn e5_one_node_to_128_devices() {
    let fleet = Mfu::of_step(14.9e15, 128, 989e12, 0.245).unwrap();
    exactly(fleet.value(), PROGRAM);
    rounds_to(fleet.value(), 0.48, 2);
    let efficiency = ScalingEfficiency::between(0.180, 0.245).unwrap();
    exactly(efficiency.value(), 180.0 / 245.0);
    rounds_to(efficiency.value(), 0.7347, 4);
    rounds_to(efficiency.beyond_node(), 0.2653, 4);
    let node = NodeBaseline::of_step(14.9e15 / 16.0, 8, 989e12, 0.180).unwrap();
    rounds_to(node.mfu().value(), 0.65389, 5);
    // Node x efficiency is the fleet's figure; a second multiplication does not compile (see `Mfu`).
    exactly(node.scaled(efficiency).value(), fleet.value());
    exactly(ScalingEfficiency::of(fleet, node).unwrap().value(), efficiency.value());
    let rounded_node = NodeBaseline::stated(0.65).unwrap();
    rounds_to(rounded_node.scaled(efficiency).value(), 0.4776, 4);
    rounds_to(ScalingEfficiency::of(fleet, rounded_node).unwrap().value(), 0.74, 2);
    // The same figure in integers: ideal over actual device-nanoseconds.
    let ideal = ideal_time(14_900_000_000_000_000, 989e12).unwrap();
    let measured = Mfu::of_times(ideal, CapacityTime::of(128, 245_000_000)).unwrap();
    exactly(measured.value(), fleet.value());
}

#[test]
fn e6_the_whole_fleet() {
    let fleet = fleet();
    exactly(fleet.job_product(), 0.4342661849070365);
    exactly(fleet.mpg(), 0.28227302018957373);
    let lost = Boundary::ALL.map(|b| fleet.loss_share(b));
    exactly(lost[0], 0.35);
    exactly(lost[1], 0.062435636771782765);
    exactly(lost[2], 0.3052913430386435);
    assert!((lost.iter().sum::<f64>() + fleet.mpg() - 1.0).abs() <= f64::EPSILON);
    for (boundary, point) in Boundary::ALL.into_iter().zip([43.43, 31.23, 58.76]) {
        rounds_to(fleet.marginal_value(boundary) * 100.0, point, 2);
    }
    rounds_to(fleet.gain_of_perfect(Boundary::Scheduling), 0.1520, 4);
    // A run with S = 1, R = 0.90, P = 0.41 on this pool.
    rounds_to(Factors::estimate(0.65, 0.90, 0.41, "moved to this pool").unwrap().mpg(), 0.24, 2);
}

#[test]
fn e6_the_parts_of_a_ledger_add_to_exactly_one() {
    let fleet = fleet();
    let offered = CapacityTime::of(1000, week().duration_ns());
    let crossing = |arrived: CapacityTime, boundary| {
        CapacityTime::from_device_ns((arrived.device_ns() as f64 * fleet.get(boundary)).round() as i128)
    };
    let held = crossing(offered, Boundary::Scheduling);
    let retained = crossing(held, Boundary::Runtime);
    let ideal = crossing(retained, Boundary::Program);
    let ledger = Ledger::new(
        week(),
        Levels { offered, held, retained, ideal },
        vec![
            Loss::new(Pattern::UnheldUnsettled, offered - held),
            Loss::new(Pattern::InputWait, held - retained),
            Loss::new(Pattern::TermUnsettled, retained - ideal),
        ],
    )
    .unwrap();
    assert_eq!(ledger.losses().iter().map(|l| l.amount).sum::<CapacityTime>() + ideal, offered);
    exactly(Factors::of_chain(ledger.chain()).unwrap().mpg(), fleet.mpg());
    // Scheduling loses most, yet the program lever gains most.
    let levers = rank_levers(&ledger, Some(2.0));
    assert_eq!(levers[0].boundary(), Boundary::Program);
    assert_eq!(levers[1].boundary(), Boundary::Scheduling);
}

#[test]
fn e6_levers_at_their_ceilings() {
    let fleet = fleet();
    let ceilings = [
        ("atomic group admission", Boundary::Scheduling, 0.80),
        ("no input waits", Boundary::Runtime, fleet.get(Boundary::Runtime) + 0.05 / 0.65),
        ("node baseline", Boundary::Program, 0.65),
    ]
    .map(|(name, boundary, value)| Ceiling { name: name.to_owned(), boundary, value });
    let ranked = rank_ceilings(&fleet, &ceilings).unwrap();
    let names: Vec<_> = ranked.iter().map(|g| g.name.as_str()).collect();
    assert_eq!(names, ["node baseline", "atomic group admission", "no input waits"]);
    for (gain, (mpg, percent)) in ranked.iter().zip([(0.3819, 35.3), (0.3474, 23.1), (0.3063, 8.5)]) {
        rounds_to(gain.mpg, mpg, 4);
        rounds_to(gain.relative_gain * 100.0, percent, 1);
    }
    rounds_to(ranked[2].to, 0.98087, 5);
    rounds_to(ranked[2].relative_gain * 100.0, 9.0, 0);
    rounds_to(ranked[0].cost_reduction * 100.0, 26.09, 2);
    assert_eq!(ranked[1].condition, Some("only if other jobs take the freed devices"));
    assert_eq!(ranked[0].condition, None);
}

#[test]
fn e6_cost_of_useful_work() {
    let cost = Cost::of(&fleet(), 2.00).unwrap();
    exactly(cost.per_useful_device_hour, 7.085338863263679);
    rounds_to(cost.per_useful_device_hour, 7.09, 2);
    rounds_to(cost.multiplier, 3.5427, 4);
    rounds_to(cost.chargeback_multiplier, 2.3027, 4);
}

#[test]
fn e7_trades() {
    let trade = Trade::judge(&[
        Ratio { boundary: Boundary::Program, value: 1.10 },
        Ratio { boundary: Boundary::Runtime, value: 11.0 / 12.0 },
    ])
    .unwrap();
    exactly(trade.product, 1.10 * 11.0 / 12.0);
    rounds_to(trade.product, 1.00833, 5);
    assert_eq!(trade.verdict, Verdict::Accept);
    let fleet = fleet();
    rounds_to(may_give_up(fleet.get(Boundary::Program), 0.65).unwrap() * 100.0, 26.09, 2);
    rounds_to(headroom(fleet.get(Boundary::Runtime)).unwrap(), 1.1063, 4);
}

#[test]
fn e8_elastic_sizing() {
    let reference = ReferenceRate { devices: 128.0, units_per_hour: 1.0 };
    let [small, step, full] = [(128.0, 1.0), (256.0, 0.90), (512.0, 0.80)]
        .map(|(devices, efficiency)| Running { devices, efficiency });
    let stay = Schedule::new(reference, vec![], small).unwrap();
    let wait = Schedule::new(reference, vec![Stage::Wait { hours: 4.0 }], full).unwrap();
    let step_up = Schedule::new(
        reference,
        vec![Stage::Run { running: small, hours: 4.0 }, Stage::Pause { devices: 256.0, hours: 1.0 / 6.0 }],
        step,
    )
    .unwrap();

    let epochs = [&stay, &wait, &step_up].map(|s| s.units_within(24.0));
    exactly(epochs[0], 24.0);
    exactly(epochs[1], 64.0);
    exactly(epochs[2], 39.7);
    rounds_to(epochs[2] / epochs[0], 1.654, 3);
    rounds_to((1.0 - epochs[2] / epochs[1]) * 100.0, 37.97, 2);
    let pause = step_up.break_even_pause_hours(&stay, 24.0).unwrap();
    exactly(pause, 20.0 - 20.0 / 1.8);
    rounds_to(pause, 8.889, 3);

    let rows =
        [(&stay, 64.0, 8192.0, 1.0000), (&wait, 24.0, 10_240.0, 0.8000), (&step_up, 37.5, 9088.0, 0.9014)];
    let mut choices = Vec::new();
    for (schedule, hours, device_hours, goodput) in rows {
        let reached = schedule.reach(64.0).unwrap();
        exactly(reached.hours, hours);
        exactly(reached.held_device_hours, device_hours);
        rounds_to(schedule.relative_goodput(64.0).unwrap(), goodput, 4);
        choices.push(Choice { hours: reached.hours, cost: 2.0 * reached.held_device_hours });
    }
    // At one price none dominates another.
    assert_eq!(frontier(&choices), [0, 1, 2]);
}

#[test]
fn e10_readiness_of_a_replica() {
    let day = readiness_share(5.7 * MINUTE_S, DAY_S).unwrap();
    rounds_to(day * 100.0, 0.3958, 4);
    rounds_to(1.0 - day, 0.996, 3);
    let hour = readiness_share(5.7 * MINUTE_S, HOUR_S).unwrap();
    exactly(hour, 0.095);
    // The text's "about 0.91" is 0.905.
    exactly(1.0 - hour, 0.905);
}

#[test]
fn e13_planning_and_volume() {
    rounds_to(days_at_shortfall(30.0, 0.10).unwrap(), 33.3, 1);
    exactly(days_at_shortfall(30.0, 0.20).unwrap(), 37.5);
    assert_eq!(trace_bytes(500_000_000, 1024), 512_000_000_000);
    let healthy = Mfu::of_step(14.9e15, 128, 989e12, 0.245).unwrap();
    let straggling = healthy.with_straggler(0.9).unwrap();
    exactly(1.0 - straggling.value() / healthy.value(), 0.10);
}

#[test]
fn e13_orchestrator_tiers() {
    let tiers =
        |reference| UtilizationTiers { allocated: 500.0, active: 350.0, productive: 280.0, reference };
    exactly(tiers(ProductiveReference::OwnFaultFreeRate).runtime_goodput().unwrap(), 0.56);
    for reference in [ProductiveReference::HardwarePeak, ProductiveReference::NotStated] {
        let refused = tiers(reference).runtime_goodput().unwrap_err();
        assert!(matches!(refused, NoRuntimeGoodput::OtherReference { .. }), "{refused}");
    }
}
