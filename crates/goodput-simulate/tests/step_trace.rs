//! The simulated step traces agree with themselves, and show what their scenario says.

use std::collections::BTreeMap;

use goodput_simulate::step_trace::{
    Charge, Exchange, HostCause, Scenario, SimulatedTraces, WindowTruth, simulate,
};
use serde_json::Value;

fn named(name: &str) -> SimulatedTraces {
    simulate(&Scenario::named(name).expect("a scenario of this name"))
}

/// Charges of a scenario over the device windows of all ranks and steps.
fn charges(traces: &SimulatedTraces) -> BTreeMap<Charge, i64> {
    let mut sum = BTreeMap::new();
    for step in traces.truth.ranks.iter().flat_map(|rank| &rank.steps) {
        for (charge, ns) in &step.device.charges {
            *sum.entry(*charge).or_default() += ns;
        }
    }
    sum
}

#[test]
fn the_charges_of_a_window_sum_to_it() {
    let check = |window: &WindowTruth| {
        assert_eq!(window.charges.values().sum::<i64>(), window.end_ns - window.start_ns);
        assert!(window.end_ns > window.start_ns);
    };
    for name in Scenario::NAMES {
        for rank in &named(name).truth.ranks {
            for steps in rank.steps.windows(2) {
                assert_eq!(steps[0].host.end_ns, steps[1].host.start_ns);
                assert_eq!(steps[0].device.end_ns, steps[1].device.start_ns);
            }
            for step in &rank.steps {
                check(&step.host);
                check(&step.device);
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let scenario = Scenario::named("pipeline_1f1b").expect("a scenario");
    let (one, two) = (simulate(&scenario), simulate(&scenario));
    assert_eq!(one.ranks, two.ranks);
    assert_eq!(one.truth.to_json(), two.truth.to_json());
    let other = simulate(&Scenario { seed: 2, ..scenario });
    assert_ne!(one.ranks, other.ranks);
}

#[test]
fn traces_are_json_and_small() {
    for name in Scenario::NAMES {
        for (rank, text) in &named(name).ranks {
            let trace: Value = serde_json::from_str(text).expect("JSON");
            assert_eq!(trace["distributedInfo"]["rank"], *rank);
            assert!(text.len() < 2_000_000, "{name}: {} bytes", text.len());
        }
    }
}

#[test]
fn a_straggler_is_blamed_and_its_peers_wait() {
    let traces = named("straggler");
    let blame: Vec<_> = traces.truth.ranks.iter().map(|rank| rank.blame_ns).collect();
    assert!(blame[2] > 3 * blame.iter().sum::<i64>() / 4, "{blame:?}");
    let wait = |rank: usize, step: usize| {
        traces.truth.ranks[rank].steps[step].device.sum_ns(|charge| charge == Charge::PeerWait)
    };
    assert!(wait(0, 1) > 5 * wait(2, 1));
    assert!(wait(0, 1) > 5 * wait(0, 2));
}

#[test]
fn each_scenario_shows_what_it_is_named_for() {
    let share = |name: &str, wanted: fn(Charge) -> bool| {
        let charges = charges(&named(name));
        let part: i64 = charges.iter().filter(|(charge, _)| wanted(**charge)).map(|(_, ns)| ns).sum();
        part as f64 / charges.values().sum::<i64>() as f64
    };
    let is_bubble = |charge| charge == Charge::Bubble;
    assert_eq!(share("data_parallel", is_bubble), 0.0);
    let bubble = share("pipeline_1f1b", is_bubble);
    assert!((0.2..0.5).contains(&bubble), "{bubble}");
    assert!(share("tensor_parallel", |c| c == Charge::Transfer(Exchange::AllReduce)) > 0.1);
    assert!(share("expert", |c| c == Charge::Transfer(Exchange::AllToAll)) > 0.05);
    assert!(share("host_bound", |c| c == Charge::HostLate(HostCause::Dispatch)) > 0.5);
    assert!(share("input_bound", |c| c == Charge::HostLate(HostCause::DataLoader)) > 0.15);
    assert!(share("cut_captures", |c| matches!(c, Charge::NotSplit(_))) > 0.05);
}

#[test]
fn skewed_clocks_change_the_stamps_and_nothing_else() {
    let (skewed, right) = (named("clock_skew"), named("data_parallel"));
    for (skewed, right) in skewed.truth.ranks.iter().zip(&right.truth.ranks) {
        for (skewed_step, right_step) in skewed.steps.iter().zip(&right.steps) {
            assert_eq!(skewed_step.device.charges, right_step.device.charges);
            assert_eq!(skewed_step.device.start_ns - right_step.device.start_ns, skewed.clock_offset_ns);
        }
        assert_eq!(skewed.blame_ns, right.blame_ns);
    }
}

#[test]
fn contention_stretches_and_overlap_still_gains() {
    let traces = named("overlap_contention");
    let alone =
        simulate(&Scenario { contention_permille: 0, ..Scenario::named("overlap_contention").expect("it") });
    for (beside, alone) in traces.truth.ranks.iter().zip(&alone.truth.ranks) {
        for (beside, alone) in beside.steps.iter().zip(&alone.steps) {
            assert_eq!(alone.stretched_ns, 0);
            let longer = beside.device.sum_ns(|charge| matches!(charge, Charge::Compute(_)))
                - alone.device.sum_ns(|charge| matches!(charge, Charge::Compute(_)));
            assert!(beside.stretched_ns > 100_000);
            assert_eq!(longer, beside.stretched_ns, "one stream computes: what is stretched is charged");
        }
    }
}

#[test]
fn a_cut_capture_marks_its_steps() {
    let traces = named("cut_captures");
    assert_eq!(traces.ranks.len(), 3);
    let whole: Vec<_> = traces.truth.ranks[0].steps.iter().map(|step| step.is_whole).collect();
    assert!(!whole[0] && whole[1], "{whole:?}");
    assert!(traces.truth.ranks[2].steps.iter().all(|step| step.is_whole));
    assert!(!traces.truth.ranks[3].is_traced);
}
