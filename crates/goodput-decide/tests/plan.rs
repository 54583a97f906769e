//! Plans answered: the worked examples, published anchors, and what is refused.
#![allow(clippy::unwrap_used, clippy::panic)]

use goodput_decide::plan::{Answer, PlanError, Sheet};
use rstest::rstest;

fn answers(yaml: &str) -> Result<Vec<Answer>, PlanError> {
    Sheet::read(yaml, &mut |file| Err(format!("{file} is not there")))?.answers()
}

#[track_caller]
fn one(yaml: &str) -> Answer {
    answers(yaml).unwrap().remove(0)
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found}, expected {expected}");
}

#[track_caller]
fn figure(answer: &Answer, key: &str) -> f64 {
    answer.get(key).unwrap_or_else(|| panic!("{key}: {:?}", answer.figures))
}

/// A cell by title of the rows, name of the row, and key of the column.
#[track_caller]
fn cell(answer: &Answer, title: &str, row: &str, column: &str) -> f64 {
    let rows = answer.rows.iter().find(|rows| rows.title.starts_with(title)).unwrap();
    let at = rows.columns.iter().position(|(key, ..)| *key == column).unwrap();
    rows.rows.iter().find(|r| r.name == row).unwrap().cells[at].unwrap()
}

/// The chapter's job: 128 devices, held for a week.
const JOB: &str = "
job: {devices: 128, held: 7 d}
reliability: {mtbf: 302 h, recovery: 6.2 min}
checkpoint: {write: 9.8 s}
preemption: {per_day: 1, lost_work: 15 min, restart: 5.2 min}
startup: 5.2 min
input_wait: 0.05/0.65
";

#[test]
fn the_composed_loss_of_the_running_example() {
    let answer = one(&format!("{JOB}\nquestions: [runtime]"));
    near(figure(&answer, "interval_s") / 60.0, 76.936_337_318_590_89);
    near(figure(&answer, "loss"), 0.096_054_825_802_742_66);
    near(figure(&answer, "runtime_goodput"), 0.903_945_174_197_257_3);
    assert!(answer.warnings.is_empty());
    let terms = &answer.rows[0].rows;
    let expected = [
        0.000_515_873_015_873_015_9,
        0.076_923_076_923_076_93,
        0.002_122_967_365_303_28,
        0.002_122_967_365_303_280_6,
        0.000_342_163_355_408_388_5,
        0.014_027_777_777_777_778,
    ];
    for (term, expected) in terms.iter().zip(expected) {
        near(term.cells[0].unwrap(), expected);
    }
}

#[test]
fn more_preemptions_and_shorter_jobs() {
    let often = one(&format!("{JOB}\nquestions: [{{ask: runtime, preemption: {{per_day: 12}}}}]"));
    near(often.rows[0].rows[5].cells[0].unwrap(), 0.168_333_333_333_333_33);
    assert!((figure(&often, "loss") - 0.25036).abs() < 5e-6);
    assert!(often.warnings[0].contains("first-order sum"), "{:?}", often.warnings);
    let hour = one(&format!("{JOB}\nquestions: [{{ask: runtime, job: {{held: 1 h}}}}]"));
    near(hour.rows[0].rows[0].cells[0].unwrap(), 5.2 / 60.0);
    let cadence = one(&format!("{JOB}\nquestions: [cadence]"));
    near(figure(&cadence, "young_daly_s") / 60.0, 76.936_337_318_590_89);
    near(figure(&cadence, "young_daly_with_preemptions_s") / 60.0, 20.875_088_626_239_99);
}

/// A deadline that every draw meets, or none, is not met with certainty.
#[test]
fn a_deadline_beyond_the_draws() {
    let ask = |deadline: &str| {
        one(&format!(
            "{JOB}factors: {{program: 0.48}}
questions: [{{ask: time, job: {{ideal: 9300 device-hours}}, queue_wait: 0 s, deadline: {deadline}, draws: 100}}]"
        ))
        .verdict
    };
    assert!(ask("1 d").contains("met in none of 100 draws"), "{}", ask("1 d"));
    assert!(ask("100 d").contains("met in all of 100 draws"), "{}", ask("100 d"));
    assert!(!ask("7 d").contains("100.0 %"), "{}", ask("7 d"));
}

/// The optimum for exponential interruptions is no worse than any other interval, and near the first-order one where
/// losses are small, however long a save takes to be durable.
#[test]
fn the_optimum_with_saves_in_flight() {
    for durable in ["0 s", "10 s", "1 min", "5 min", "12 min"] {
        for contention in ["1 %", "5 %", "20 %"] {
            let answer = one(&format!(
                "reliability: {{mtbf: 302 h, recovery: 6.2 min}}
checkpoint: {{mode: async, write: 1 s, contention: {contention}, durable_after: {durable}}}
preemption: {{per_day: 4, restart: 5 min}}
questions: [cadence]"
            ));
            let (best, exact) = (figure(&answer, "best_interval_s"), figure(&answer, "exact_interval_s"));
            assert!((exact / best - 1.0).abs() < 0.15, "{durable}, {contention}: {exact} s beside {best} s");
        }
    }
}

#[test]
fn the_composed_loss_against_job_size() {
    let sizes = [128, 256, 512, 1024, 2048, 4096, 8192, 16_384];
    let answer = one(&format!("{JOB}\nquestions: [{{ask: runtime, sizes: {sizes:?}}}]"));
    let expected = [
        (0.425, 0.034, 9.61),
        (0.600, 0.068, 9.82),
        (0.849, 0.137, 10.13),
        (1.201, 0.274, 10.62),
        (1.698, 0.547, 11.39),
        (2.402, 1.095, 12.64),
        (3.397, 2.190, 14.73),
        (4.804, 4.380, 18.33),
    ];
    for (size, (checkpoint, recovery, loss)) in sizes.into_iter().zip(expected) {
        let row = format!("{size} devices");
        let percent = |column| cell(&answer, "Against", &row, column) * 100.0;
        assert!((percent("checkpoint") - checkpoint).abs() < 5e-4, "{row}");
        assert!((percent("recovery") - recovery).abs() < 5e-4, "{row}");
        assert!((percent("loss") - loss).abs() < 5e-3, "{row}");
    }
    assert!((figure(&answer, "failures_overtake_input_devices") - 12_857.14).abs() < 5e-3);
    // A job that never waits for input has no crossing, and is answered all the same.
    let answer = one(&format!("{JOB}\nquestions: [{{ask: runtime, input_wait: 0, sizes: {sizes:?}}}]"));
    assert_eq!(answer.rows[1].rows.len(), sizes.len());
    assert!(answer.figures.iter().all(|figure| figure.key != "failures_overtake_input_devices"));
}

#[test]
fn the_whole_fleet() {
    let answer = one(&format!(
        "{JOB}
factors: {{scheduling: 0.65, program: 14.9/31.01504}}
price: {{per_device_hour: 2.00, currency: USD}}
questions: [{{ask: fleet, ceilings: {{scheduling: 0.80, runtime: 0.980868251, program: 0.65}}}}]"
    ));
    near(figure(&answer, "job_product"), 0.434_266_184_907_036_5);
    near(figure(&answer, "mpg"), 0.282_273_020_189_573_72);
    let losses =
        [("scheduling", 0.35), ("runtime", 0.062_435_636_771_782_765), ("program", 0.305_291_343_038_643_5)];
    for (boundary, loss) in losses {
        near(cell(&answer, "Factors", boundary, "loss_share"), loss);
    }
    for (boundary, value) in [("scheduling", 0.43427), ("runtime", 0.31227), ("program", 0.58756)] {
        assert!((cell(&answer, "Factors", boundary, "marginal") - value).abs() < 5e-6);
    }
    let ranked: Vec<_> = answer.rows[1].rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(ranked, ["program", "scheduling", "runtime"]);
    for (boundary, mpg, gain) in
        [("scheduling", 0.3474, 0.231), ("runtime", 0.3063, 0.085), ("program", 0.3819, 0.353)]
    {
        assert!((cell(&answer, "Ceilings", boundary, "mpg") - mpg).abs() < 5e-5);
        assert!((cell(&answer, "Ceilings", boundary, "gain") - gain).abs() < 5e-4);
    }
    near(figure(&answer, "cost_per_useful_device_hour"), 7.085_338_863_263_679);
    assert!((figure(&answer, "multiplier") - 3.5427).abs() < 5e-5);
    assert!((figure(&answer, "chargeback_multiplier") - 2.3027).abs() < 5e-5);
    // The program lever may give up this much of runtime goodput; removing every runtime loss gains less.
    assert!((cell(&answer, "Ceilings", "program", "may_give_up") - 0.2609).abs() < 5e-5);
    assert!((cell(&answer, "Factors", "runtime", "headroom") - 0.1063).abs() < 5e-5);
}

#[test]
fn a_trade_by_its_ratios() {
    let answer = one("questions: [{ask: trade, ratios: {program: 1.10, runtime: 11/12}}]");
    assert!((figure(&answer, "product") - 1.00833).abs() < 5e-6);
    assert!(answer.verdict.starts_with("Accept"));
}

const SIZING: &str = "
questions:
  - ask: sizing
    reference: {devices: 128, units_per_hour: 1}
    window: 24 h
    target_units: 64
    schedules:
      - {name: stay, last: {devices: 128, efficiency: 1}}
      - {name: wait, stages: [{wait: 4 h}], last: {devices: 512, efficiency: 0.80}}
      - name: step up
        stages: [{run: 4 h, devices: 128, efficiency: 1}, {pause: 10 min, devices: 256}]
        last: {devices: 256, efficiency: 0.90}
";

#[test]
fn elastic_sizing() {
    let answer = one(SIZING);
    let at = |row, column| cell(&answer, "Schedules", row, column);
    near(at("stay", "units_in_window"), 24.0);
    near(at("wait", "units_in_window"), 64.0);
    near(at("step up", "units_in_window"), 39.7);
    assert!((1.0 - at("step up", "units_in_window") / 64.0 - 0.3797).abs() < 5e-5);
    for (row, hours, held, goodput) in
        [("stay", 64.0, 8192.0, 1.0), ("wait", 24.0, 10_240.0, 0.8), ("step up", 37.5, 9088.0, 0.9014)]
    {
        near(at(row, "time_s") / 3600.0, hours);
        near(at(row, "held_device_hours"), held);
        assert!((at(row, "relative_goodput") - goodput).abs() < 5e-5);
    }
    near(figure(&answer, "break_even_pause_s") / 3600.0, 20.0 - 20.0 / 1.8);
    assert!(answer.rows[0].rows.iter().all(|row| row.mark.is_none()), "none dominates at one price");
}

#[test]
fn a_compilation_build() {
    let answer = one("
questions:
  - ask: build
    executions_per_second: 120
    parts:
      - {name: matmul, share: 0.50}
      - {name: elementwise, share: 0.35, removes: 0.70}
      - {name: launch, share: 0.15, removes: 0.80}
    builds: [{name: autotune, time: 15 min}, {name: default, time: 1 min}]
    replicas: 128
    replica_lifetime: 1 h
    recompile: {every_executions: 300, takes: 40 s}
");
    near(figure(&answer, "compiled"), 0.635);
    assert!((figure(&answer, "compiled_s") * 1e3 - 5.2916).abs() < 1e-4);
    assert!((figure(&answer, "speedup") - 1.5748).abs() < 5e-5);
    assert!((figure(&answer, "break_even_executions") - 295_890.41).abs() < 5e-3);
    near(cell(&answer, "Builds", "autotune", "whole_executions"), 295_891.0);
    assert!((figure(&answer, "break_even_s") / 60.0 - 26.10).abs() < 5e-3);
    assert!((cell(&answer, "Builds", "default", "executions") - 19_726.0).abs() < 0.5);
    assert!((figure(&answer, "shared_s") - 12.23).abs() < 5e-3);
    near(cell(&answer, "Builds", "autotune", "per_replica_device_hours"), 32.0);
    near(figure(&answer, "of_lifetime"), 0.25);
    // Compiling 40 s for 300 executions that save 0.9 s in all is charged to the steps, and loses.
    assert!(figure(&answer, "speedup_with_recompiles") < 1.0);
}

#[test]
fn training_that_compiles_at_every_start() {
    let answer = one(&format!(
        "{JOB}\nquestions: [{{ask: build, step: 245 ms, compiled: 0.9, relaunches: count, builds: [{{time: 20 min}}]}}]"
    ));
    let starts_per_s = 1.0 / 604_800.0 + 1.0 / (302.0 * 3600.0) + 1.0 / 86_400.0;
    near(figure(&answer, "every_start_loss"), 1200.0 * starts_per_s);
    near(figure(&answer, "cached_loss"), 1200.0 / 604_800.0);
    assert!(figure(&answer, "cached_product") > figure(&answer, "every_start_product"));
    // A build at a start holds the job's 128 devices for its 20 minutes.
    let builds = answer.rows.iter().find(|rows| rows.title == "Builds").unwrap();
    let at = builds.columns.iter().position(|(key, ..)| key.contains("device_hours")).unwrap();
    near(builds.rows[0].cells[at].unwrap(), 128.0 / 3.0);
}

#[test]
fn plans_against_rates() {
    for (shortfall, days) in [("10 %", 30.0 / 0.9), ("0.20", 37.5)] {
        let answer = one(&format!("questions: [{{ask: days, planned: 30 d, shortfall: {shortfall}}}]"));
        near(figure(&answer, "takes_s") / 86_400.0, days);
    }
    let volume = one("job: {devices: 1024}\nquestions: [{ask: trace_volume, mb_per_device: 500}]");
    near(figure(&volume, "gigabytes"), 512.0);
    let slow = one("questions: [{ask: straggler, pace: 0.9, restart: 6 min, replay: 38 min}]");
    near(figure(&slow, "program_loss"), 0.1);
    near(figure(&slow, "break_even_persistence_s"), 44.0 * 60.0 / 0.1);
    let tiers = |reference: &str| {
        one(&format!(
            "questions: [{{ask: tiers, allocated: 500, active: 350, productive: 280, reference: {reference}}}]"
        ))
    };
    near(figure(&tiers("own_rate"), "runtime_goodput"), 0.56);
    assert_eq!(tiers("peak").get("runtime_goodput"), None);
}

/// Kokolis et al., HPCA 2025.
#[test]
fn published_ettr_anchors() {
    let ettr = |nodes: u32, every: &str| {
        one(&format!(
            "reliability: {{failures_per_node_day: 6.5e-3, nodes: {nodes}, recovery: 5 min}}
checkpoint: {{write: 0 s, every: {every}}}\nquestions: [cadence]"
        ))
    };
    let hourly = ettr(2000, "60 min");
    assert!((figure(&hourly, "expected_ettr") - 0.684).abs() < 5e-4);
    assert!((figure(&ettr(2000, "5 min"), "expected_ettr") - 0.932).abs() < 5e-4);
    assert!((figure(&ettr(2048, "60 min"), "mttf_s") / 3600.0 - 1.803).abs() < 5e-4);
    assert!((figure(&ettr(16_384, "5 min"), "mttf_s") / 3600.0 - 0.225).abs() < 5e-4);
}

#[test]
fn graceful_preemption_needs_notice_for_a_save() {
    let job = "reliability: {mtbf: 302 h, recovery: 6 min}\ncheckpoint: {write: 10 s}\n";
    let forced = one(&format!("{job}preemption: {{per_day: 4, restart: 5 min}}\nquestions: [cadence]"));
    let graceful =
        one(&format!("{job}preemption: {{per_day: 4, restart: 5 min, notice: 30 s}}\nquestions: [cadence]"));
    let short =
        one(&format!("{job}preemption: {{per_day: 4, restart: 5 min, notice: 5 s}}\nquestions: [cadence]"));
    assert!(figure(&forced, "interval_s") < figure(&graceful, "interval_s"));
    assert!(figure(&forced, "loss") > figure(&graceful, "loss"));
    near(figure(&short, "loss"), figure(&forced, "loss"));
    assert!(short.warnings[0].contains("too short"));
    near(figure(&graceful, "loss_forced"), figure(&forced, "loss"));
}

#[test]
fn asynchronous_saves_cost_contention_and_a_generation() {
    let job = "reliability: {mtbf: 20 h, recovery: 6 min}\n";
    let staged = one(&format!(
        "{job}checkpoint: {{mode: async, write: 1 s, contention: 5 %, durable_after: 120 s}}\nquestions: [cadence]"
    ));
    near(figure(&staged, "not_durable"), 120.0 / 72_000.0);
    let interval_s = figure(&staged, "interval_s");
    near(interval_s, (2.0 * (1.0 + 120.0 * 0.05 / 1.05) * 72_000.0_f64).sqrt());
    near(figure(&staged, "contention"), 120.0 / interval_s * 0.05 / 1.05);
    assert!((figure(&staged, "exact_interval_s") / interval_s - 1.0).abs() < 0.05);
    let judge = |contention: &str| {
        one(&format!(
            "{job}checkpoint: {{write: 40 s, contention: {contention}, durable_after: 120 s}}
questions: [{{ask: staging, stage: 1 s}}]"
        ))
    };
    assert!(judge("2 %").verdict.starts_with("Stage"));
    assert!(judge("90 %").verdict.starts_with("Stay"));
}

/// The chapter's spot points lack inputs; the rule does not.
#[test]
fn spot_pays_while_its_goodput_ratio_is_above_its_price_ratio() {
    let ask = |price: f64| {
        one(&format!(
            "reliability: {{mtbf: 302 h, recovery: 6 min}}
checkpoint: {{write: 10 s}}
factors: {{program: 0.48}}
questions:
  - ask: capacity
    options:
      - {{name: reserved, price: {{per_device_hour: 2}}}}
      - {{name: spot, price: {{per_device_hour: {price}}}, preemption: {{per_day: 20, restart: 5 min}}}}"
        ))
    };
    let cheap = ask(0.7);
    let ratio = cell(&cheap, "Capacity", "spot", "goodput_ratio");
    assert!(ratio > 0.35 && ratio < 1.0, "{ratio}");
    assert_eq!(cheap.rows[0].rows[0].name, "spot");
    let (just, over) = (ask(2.0 * ratio * 0.999), ask(2.0 * ratio * 1.001));
    assert_eq!(just.rows[0].rows[0].name, "spot");
    assert_eq!(over.rows[0].rows[0].name, "reserved");
    assert!(cell(&cheap, "Capacity", "spot", "break_even_per_day") > 20.0);
}

#[test]
fn moves_between_jobs_are_judged_on_the_pool() {
    let pool = "factors: {scheduling: 0.65, runtime: 0.90}\n";
    let preempt = |cascade: f64| {
        one(&format!(
            "{pool}questions: [{{ask: preemption, pool: {{devices: 1024, window: 7 d}}, cascade: {cascade},
  urgent: {{devices: 512, drain: 6 h, free_while_draining: 0.5}},
  victims: {{count: 4, devices: 128, lost_work: 45 min, restart: 15 min}}}}]"
        ))
    };
    let once = preempt(1.0);
    // 1536 device-hours are held sooner, of which 0.9 would be retained; the victims lose 512 for each turn of the cascade.
    near(figure(&once, "break_even_cascade"), 0.9 * 1536.0 / 512.0);
    assert!(once.verdict.starts_with("Accept"));
    assert!(preempt(2.8).verdict.starts_with("Reject"));
    let lend = |count: u32| {
        one(&format!(
            "{pool}questions: [{{ask: lending, pool: {{devices: 1024, window: 7 d}}, lent: {{devices: 128, time: 20 h}},
  reclaims: {{count: {count}, lost_work: 60 min, restart: 30 min, owner_wait: 5 min}}}}]"
        ))
    };
    let break_even = figure(&lend(1), "break_even_reclaims");
    assert!(lend(break_even as u32).verdict.starts_with("Accept"));
    assert!(lend(break_even as u32 + 1).verdict.starts_with("Reject"));
    let place = |kept_free: f64| {
        one(&format!(
            "job: {{held: 10 h}}\nquestions: [{{ask: placement, wait: 2 h, kept_free: {kept_free}, program_now: 0.40, program_compact: 0.44}}]"
        ))
    };
    assert!(place(1.0).verdict.starts_with("Reject"));
    assert!(place(0.0).verdict.starts_with("Accept"));
    near(figure(&place(0.0), "break_even_wait_s"), 36_000.0 * (1.0 - 0.40 / 0.44));
}

#[test]
fn a_slow_node_is_replaced_when_it_stays_slow() {
    let ask = |persistence: &str| {
        one(&format!(
            "questions: [{{ask: straggler, pace: 0.8, restart: 10 min, replay: 10 min, persistence: {persistence}}}]"
        ))
    };
    near(figure(&ask("{mean: 3 h}"), "expected_value_s"), 3.0 * 3600.0 * 0.2 - 1200.0);
    assert!(ask("{mean: 1 h}").verdict.contains("Leave it"));
    // Most slowdowns pass in minutes, some stay for a day: watching first loses least.
    let mixed = ask("{samples: [2 min, 3 min, 4 min, 5 min, 24 h]}");
    near(figure(&mixed, "patience_s"), 300.0);
}

#[test]
fn time_to_result_and_its_spread() {
    let yaml = format!(
        "{JOB}
seed: 3
factors: {{program: 0.48}}
queue_wait: {{median: 1 h, p90: 4 h}}
questions: [{{ask: time, job: {{ideal: 9000 device-hours}}, deadline: 8 d, draws: 4000}}]"
    );
    let answer = one(&yaml);
    let (expected, mean) = (figure(&answer, "expected_s"), figure(&answer, "mean_s"));
    assert!((mean / expected - 1.0).abs() < 0.01, "{mean} against {expected}");
    assert!(figure(&answer, "p10_s") < figure(&answer, "p50_s"));
    assert!(figure(&answer, "p50_s") < figure(&answer, "p90_s"));
    assert_eq!(answer, one(&yaml), "the same seed draws the same");
    let source = |field: &str| &answer.inputs.iter().find(|input| input.field == field).unwrap().source;
    assert!(!source("reliability.mtbf").is_measured());
}

#[test]
fn the_frontier_of_a_grid() {
    let answer = one(&format!(
        "{JOB}
factors: {{program: 0.48}}
questions:
  - ask: frontier
    job: {{ideal: 9000 device-hours}}
    grid:
      size:
        - {{name: 128, job: {{devices: 128}}}}
        - {{name: 512, job: {{devices: 512}}, efficiency: 0.80, queue_wait: 4 h}}
        - {{name: 1024, job: {{devices: 1024}}, efficiency: 0.5, memory: {{needed_gb: 90, device_gb: 80}}}}
      tier:
        - {{name: reserved, price: {{per_device_hour: 2}}, preemption: {{per_day: 0}}}}
        - {{name: dear, price: {{per_device_hour: 3}}, preemption: {{per_day: 0}}}}"
    ));
    assert_eq!(figure(&answer, "configurations"), 6.0);
    assert_eq!(figure(&answer, "infeasible"), 2.0);
    let mark = |name: &str| answer.rows[0].rows.iter().find(|row| row.name == name).unwrap().mark.clone();
    assert_eq!(mark("128, reserved"), None);
    assert_eq!(mark("128, dear").unwrap(), "dominated by 128, reserved");
    assert_eq!(mark("1024, dear").unwrap(), "not feasible: memory: needs 90 GB of 80 GB");
}

#[rstest]
#[case("title: x", "questions: there is none")]
#[case("questions: []", "questions: there is none")]
#[case("questions: [cadense]", "questions[0].ask: cadense is not known: did you mean `cadence`?")]
#[case("questions: [{name: x}]", "questions[0].ask: missing")]
#[case("relability: {mtbf: 3 h}\nquestions: [cadence]", "did you mean `reliability`?")]
#[case(
    "reliability: {mtfb: 3 h}\nquestions: [cadence]",
    "reliability.mtfb: is not known: did you mean `mtbf`?"
)]
#[case("questions: [{ask: runtime, sises: [1]}]", "questions[0].sises: is not known: did you mean `sizes`?")]
#[case(
    "job: {held: 7}\nquestions: [runtime]",
    "job.held: found 7, expected a duration above zero with its unit"
)]
#[case("job: {held: -7 d}\nquestions: [runtime]", "job.held: found -7 d")]
#[case("job: {held: .nan}\nquestions: [runtime]", "job.held: found .nan, expected a duration")]
#[case("job: {held: nan h}\nquestions: [runtime]", "job.held: found nan h")]
#[case("job: {held: 7 d}\ninput_wait: 1.3\nquestions: [runtime]", "input_wait: found 1.3, expected a share")]
#[case(
    "reliability: {mtbf: 5 min, recovery: 6 min}\ncheckpoint: {write: 9 s}\nquestions: [cadence]",
    "reliability.mtbf: a failure every 300 s and a recovery of 360 s"
)]
#[case("reliability: {mtbf: 5 h}\nquestions: [cadence]", "reliability.recovery: missing")]
#[case(
    "reliability: {mtbf: 5 h, recovery: 1 min}\nquestions: [cadence]",
    "checkpoint.write: a save that costs nothing"
)]
#[case("questions: [cadence]", "nothing rolls this job back")]
#[case(
    "job: {devices: 0, ideal: 5 device-hours}\nquestions: [time]",
    "job.devices: found 0, expected a whole number above zero"
)]
#[case("job: {devices: 8}\nquestions: [time]", "job.ideal: missing")]
#[case("job: {devices: 8, ideal: 5 h}\nquestions: [time]", "job.ideal: found 5 h, expected device-time")]
#[case(
    "job: {devices: 8, ideal: 5 device-hours}\nfactors: {program: 1.2}\nquestions: [time]",
    "factors.program: found 1.2, expected a factor"
)]
#[case(
    "factors: {program: 0.4}\nquestions: [{ask: capacity, options: [{name: a}, {name: b}]}]",
    "questions[0].options[0].price.per_device_hour: missing"
)]
#[case(
    "job: {devices: 8, ideal: 5 device-hours}\nfactors: {program: 0.4}\nquestions: [{ask: frontier, options: [{name: a}]}]",
    "questions[0].options[0].price.per_device_hour: missing"
)]
#[case(
    "questions: [{ask: build, step: 1 s, parts: [{share: 0.4}], builds: [{time: 1 min}]}]",
    "parts: the shares add to 0.4, expected 1"
)]
#[case("startup: {from: gone.json}\nquestions: [cadence]", "startup.from: gone.json is not there")]
#[case(
    "startup: {value: 5 min, mesured: true}\nquestions: [runtime]",
    "startup.mesured: is not known: did you mean `measured`?"
)]
#[case(
    "job: {devices: 8, ideal: 5e6 device-hours}\nfactors: {program: 0.4}\nreliability: {mtbf: 10 min, recovery: 6 min}\n\
     checkpoint: {write: 9 s, every: 2 h}\nquestions: [time]",
    "checkpoint.every: an interruption every"
)]
#[case("- 1", "expected a mapping")]
#[case("a: [", "the file: ")]
fn what_cannot_be_answered_names_its_field(#[case] yaml: &str, #[case] message: &str) {
    let error = answers(yaml).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

#[test]
fn a_report_of_another_schema_is_refused() {
    let yaml = "startup: {from: a.json}\nquestions: [runtime]";
    let error = Sheet::read(yaml, &mut |_| Ok(br#"{"schema": "goodput.flops/1"}"#.to_vec())).unwrap_err();
    assert_eq!(error.field, "startup.from");
    assert!(error.message.contains("goodput.account/1"), "{error}");
}

#[test]
fn inputs_say_where_they_came_from() {
    let answer = one(
        "job: {held: 7 d}\nstartup: {value: 5.2 min, measured: true}\nquestions: [{ask: runtime, name: calm, input_wait: 2 %}]",
    );
    assert_eq!(answer.name.as_deref(), Some("calm"));
    let input = |field: &str| answer.inputs.iter().find(|input| input.field == field).unwrap();
    assert!(input("startup").source.is_measured());
    assert!(!input("questions[0].input_wait").source.is_measured());
    assert_eq!(input("questions[0].input_wait").value, 0.02);
}
