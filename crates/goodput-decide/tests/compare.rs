//! Comparisons of simulated histories with planted changes, and the chapter's trades.
#![allow(clippy::unwrap_used)]

mod history;

use goodput_core::Boundary;
use goodput_decide::compare::coupling::Coupling;
use goodput_decide::compare::{Comparison, Lever, Options, Refused, Verdict, compare};
use goodput_decide::contract::Source;
use goodput_decide::report::{Day, Exact, Factor, Report, StatedCondition, TimelineReport};
use history::{Job, USUAL};

fn job(report: &mut Report) -> &mut TimelineReport {
    match report {
        Report::Timeline(job) => job,
        Report::Account(_) => unreachable!(),
    }
}

fn pair(after: &Job, seed: u64) -> (Report, Report) {
    (USUAL.report(2 * seed, 0), after.report(2 * seed + 1, 60))
}

fn compared(after: &Job, seed: u64) -> Comparison {
    let (before, after) = pair(after, seed);
    compare(&before, &after, &Options { resamples: 400, ..Options::default() }).unwrap()
}

/// Of 200 pairs without a change, at 95 % at most 5 % may be accepted; the bound adds two standard errors.
#[test]
fn no_change_is_seldom_accepted() {
    let accepted = (0..200).filter(|&seed| compared(&USUAL, 5000 + seed).verdict == Verdict::Accept).count();
    let rate = accepted as f64 / 200.0;
    assert!(rate <= 0.05 + 2.0 * (0.05f64 * 0.95 / 200.0).sqrt(), "{rate}");
}

#[test]
fn a_planted_change_is_found() {
    let faster = Job { step_s: USUAL.step_s * 0.9, ..USUAL };
    let slower = Job { step_s: USUAL.step_s * 1.1, ..USUAL };
    for seed in 0..20 {
        let found = compared(&faster, seed);
        assert_eq!(found.verdict, Verdict::Accept, "{:?}", found.reasons);
        assert!(found.time_to_result.unwrap().after_s < found.time_to_result.unwrap().before_s);
        assert_eq!(compared(&slower, seed).verdict, Verdict::Reject);
    }
}

/// The interval holds the true ratio about as often as it says.
#[test]
fn the_interval_covers_the_truth() {
    let after = Job { step_s: USUAL.step_s * 0.97, recovery_s: USUAL.recovery_s * 1.5, ..USUAL };
    let truth = after.expected_product() / USUAL.expected_product();
    let covered = (0..200).filter(|&seed| {
        let interval = compared(&after, 9000 + seed).product.interval.unwrap();
        interval.low <= truth && truth <= interval.high
    });
    let rate = covered.count() as f64 / 200.0;
    assert!(rate >= 0.95 - 3.0 * (0.05f64 * 0.95 / 200.0).sqrt(), "{rate}");
}

/// E7: P x1.10 and R x11/12.
#[test]
fn a_tenth_of_program_goodput_against_a_twelfth_of_runtime_goodput() {
    let (mut before, mut after) = pair(&USUAL, 1);
    let set = |report: &mut Report, runtime: f64, program: f64| {
        let bounds = &mut job(report).factor_bounds;
        bounds.runtime.settled = Some(runtime);
        bounds.program.settled = Some(program);
    };
    set(&mut before, 0.84, 0.40);
    set(&mut after, 0.77, 0.44);
    let found = compare(&before, &after, &Options::default()).unwrap();
    assert!((found.product.value - 1.1 * 11.0 / 12.0).abs() < 1e-12);
    // What the rise from 0.4804 to 0.65 may give up, and what is left above a runtime goodput of 0.9039.
    set(&mut before, 0.903_945_174_197_257_3, 0.480_412_083_943_789_87);
    set(&mut after, 0.903_945_174_197_257_3, 0.65);
    let found = compare(&before, &after, &Options::default()).unwrap();
    let of = |boundary| found.factors.iter().find(|f| f.boundary == boundary).unwrap().clone();
    let may_give_up = of(Boundary::Program).may_give_up.unwrap();
    assert!((may_give_up - (1.0 - 0.480_412_083_943_789_87 / 0.65)).abs() < 1e-12);
    assert!((may_give_up - 0.2609).abs() < 5e-5);
    assert!((of(Boundary::Runtime).headroom.unwrap() - 1.1063).abs() < 5e-5);
}

#[test]
fn a_faster_step_explains_the_dip_of_runtime_goodput() {
    let (mut before, mut after) = pair(&USUAL, 1);
    let set = |report: &mut Report, productive: i128, steps: u64| {
        let job = job(report);
        job.steps.retained = steps;
        job.capacity_time.retained_ns = Exact(productive);
        job.capacity_time.held_ns = Exact(productive + 100_000_000 * i128::from(steps));
        let runtime = productive as f64 / job.capacity_time.held_ns.0 as f64;
        job.factor_bounds.runtime.settled = Some(runtime);
        job.factor_bounds.program.settled = Some(0.4 * 1e9 * steps as f64 / productive as f64);
    };
    set(&mut before, 1_000_000_000_000, 1000);
    set(&mut after, 850_000_000_000, 1000);
    let found = compare(&before, &after, &Options::default()).unwrap();
    let (coupling, why) = found.coupling.unwrap();
    assert_eq!(coupling, Coupling::DeviceBound);
    assert!(found.product.value > 1.0 && why.contains("no regression"));
}

fn stated(report: &mut Report, conditions: &[(&str, &str)]) {
    let condition = |&(field, value): &(&str, &str)| StatedCondition {
        field: field.to_owned(),
        value: value.to_owned(),
        source: Source::Stated,
    };
    job(report).contract.conditions = conditions.iter().map(condition).collect();
}

#[test]
fn the_quality_gate_comes_first() {
    let faster = Job { step_s: USUAL.step_s * 0.8, ..USUAL };
    let (before, mut after) = pair(&faster, 1);
    stated(&mut after, &[("quality.metric", "loss"), ("quality.passed", "false")]);
    let found = compare(&before, &after, &Options::default()).unwrap();
    assert_eq!(found.verdict, Verdict::Reject);
    assert!(found.reasons[0].contains("loss"));
}

/// A faster step of a larger batch that needs more examples than it gains is no gain; the product stays what it is.
#[test]
fn statistical_efficiency_gates_the_gain_and_leaves_the_product() {
    let faster = Job { step_s: USUAL.step_s * 0.9, ..USUAL };
    let (mut before, mut after) = pair(&faster, 1);
    let plain = compare(&before, &after, &Options::default()).unwrap();
    stated(&mut before, &[("statistical_efficiency.steps_to_quality", "1000")]);
    stated(&mut after, &[("statistical_efficiency.steps_to_quality", "1300")]);
    let found = compare(&before, &after, &Options::default()).unwrap();
    assert_eq!((plain.verdict, found.verdict), (Verdict::Accept, Verdict::Reject));
    assert_eq!(plain.product, found.product);
}

#[test]
fn a_policy_is_not_decided_by_one_job() {
    let faster = Job { step_s: USUAL.step_s * 0.9, ..USUAL };
    let (mut before, mut after) = pair(&faster, 1);
    stated(&mut before, &[("system.scheduler_policy", "fifo")]);
    stated(&mut after, &[("system.scheduler_policy", "priority")]);
    let found = compare(&before, &after, &Options::default()).unwrap();
    assert_eq!(found.verdict, Verdict::NotDecided);
    assert!(found.reasons[0].contains("account"), "{:?}", found.reasons);
    let pool = compare(&before, &after, &Options { lever: Some(Lever::Pool), ..Options::default() });
    assert!(matches!(pool, Err(Refused::NoPool)));
}

#[test]
fn a_short_window_does_not_decide() {
    let day = Job { held_s: 86_400.0, mtbf_s: 302.0 * 3600.0, ..USUAL };
    let (before, after) = (day.report(1, 0), Job { step_s: 6.0, ..day }.report(2, 3));
    let found = compare(&before, &after, &Options::default()).unwrap();
    assert_eq!(found.verdict, Verdict::NotDecided);
    assert!(found.reasons.iter().any(|r| r.contains("several cycles")), "{:?}", found.reasons);
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_field() {
    let (before, after) = pair(&USUAL, 1);
    let options = Options::default();
    let refused = |change: &dyn Fn(&mut TimelineReport)| {
        let mut after = after.clone();
        change(job(&mut after));
        compare(&before, &after, &options).unwrap_err().to_string()
    };
    assert!(matches!(compare(&before, &before, &options), Err(Refused::Same)));
    assert!(refused(&|j| j.contract.window.to_ns = j.contract.window.from_ns).contains("empty"));
    assert!(refused(&|j| j.contract.window.to_ns.0 += 20 * 86_400_000_000_000).contains("equal length"));
    assert!(refused(&|j| j.contract.denominator = "installed".to_owned()).contains("--denominator"));
    assert!(refused(&|j| j.contract.scope = "fleet".to_owned()).contains("one verb"));
    assert!(refused(&|j| j.contract.ideals[0].ideal = "bandwidth".to_owned()).contains("ideals"));
    assert!(refused(&|j| j.factor_bounds.runtime.settled = Some(0.0)).contains("no ratio"));
    assert!(refused(&|j| j.factor_bounds.runtime.settled = Some(1.4)).contains("damaged"));
    assert!(refused(&|j| j.factor_bounds.runtime.settled = Some(f64::NAN)).contains("damaged"));
    assert!(
        refused(&|j| {
            j.job = Some("job-2".to_owned());
            j.contract.window = match &before {
                Report::Timeline(b) => b.contract.window,
                Report::Account(_) => unreachable!(),
            };
        })
        .contains("both windows hold")
    );
    let bad = Options { confidence: 1.0, ..options };
    assert!(matches!(compare(&before, &after, &bad), Err(Refused::OutOfRange(_))));
}

/// A fleet is judged on days, in which the factors move together.
#[test]
fn a_fleet_is_judged_on_its_days() {
    let fleet = |held: i128, shift: i128| {
        let Report::Timeline(job) = USUAL.report(7, shift) else { unreachable!() };
        let days: Vec<Day> = (0..56i128)
            .map(|d| {
                // Demand rises and falls over the week; what is held is kept and used alike.
                let wave = [0, 20, 30, 25, 10, -40, -45][d as usize % 7] + (d * 7919 % 11) - 5;
                let held = held + wave;
                Day {
                    from_ns: Exact((shift + d) * 86_400_000_000_000),
                    offered_ns: Exact(1000),
                    held_ns: Exact(held),
                    retained_ns: Exact(held * 9 / 10),
                    ideal_ns: Exact(held * 9 / 20),
                }
            })
            .collect();
        let sum = |of: fn(&Day) -> i128| Exact(days.iter().map(of).sum());
        let (offered, held) = (sum(|d| d.offered_ns.0), sum(|d| d.held_ns.0));
        let factor = |v: f64| Factor { settled: Some(v), coverage: 1.0, low: v, high: v };
        let scheduling = factor(held.0 as f64 / offered.0 as f64);
        let mut account = goodput_decide::report::AccountReport {
            title: None,
            contract: job.contract.clone(),
            capacity_time: job.capacity_time.clone(),
            factor_bounds: job.factor_bounds,
            losses: Vec::new(),
            pools: Vec::new(),
            jobs: Vec::new(),
            days,
        };
        account.contract.scope = "fleet".to_owned();
        account.contract.denominator = "in_service".to_owned();
        account.factor_bounds.scheduling = Some(scheduling);
        account.factor_bounds.runtime = factor(0.9);
        account.factor_bounds.program = factor(0.5);
        Report::Account(Box::new(account))
    };
    let (before, after) = (fleet(600, 0), fleet(720, 60));
    let found = compare(&before, &after, &Options::default()).unwrap();
    assert_eq!(found.lever, Lever::Pool);
    let interval = found.product.interval.unwrap();
    assert!(interval.low > 1.0 && interval.high < 1.5, "{interval:?}");
    assert_eq!(found.coupling.unwrap().0, Coupling::SchedulingLever);
    // No job of the fleet has a log, so that nobody knows how many interruptions the weeks held.
    assert_eq!(found.verdict, Verdict::NotDecided);
    // Scheduler records alone settle scheduling goodput: its ratio is given, the verdict stays open.
    let unlogged = |mut report: Report| {
        if let Report::Account(account) = &mut report {
            account.factor_bounds.runtime.settled = None;
            account.factor_bounds.program.settled = None;
        }
        report
    };
    let found = compare(&unlogged(before.clone()), &unlogged(after.clone()), &Options::default()).unwrap();
    assert_eq!((found.factors.len(), found.verdict), (1, Verdict::NotDecided));
    assert!(found.product.interval.is_some_and(|i| i.low > 1.0), "{:?}", found.product);
    // Without days there is no interval.
    let bare = |mut report: Report| {
        if let Report::Account(account) = &mut report {
            account.days.clear();
        }
        report
    };
    let found = compare(&bare(before), &bare(after), &Options::default()).unwrap();
    assert!(found.reasons[0].contains("--blocks day"), "{:?}", found.reasons);
}
