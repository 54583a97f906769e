//! Small logs whose right answers follow by hand from docs/method.md, through the built binary.

mod command;
mod job_log;

use command::run;
use job_log::*;
use serde_json::{Value, json};

#[test]
fn an_eviction_with_a_save_on_notice_pays_from_the_save_to_the_next_step_without_the_queue() {
    let save = entry(json!({"event_type": "save", "step": 19, "reached_preemption": true,
        "checkpoint_manager_blocking_start_time": T0 + 150, "checkpoint_manager_blocking_duration_secs": 10.0}));
    let log = [
        ml_start(0),
        ml_steps(0..20, 110.0),
        vec![save],
        ml_start(770),
        ml_steps(20..30, 880.0),
        ml_end(900),
    ];
    // The save ends at 160, the release is at 170; 110 s from the second launch to its first step; 5 s to the release.
    let losses = [("startup", 110.0), ("checkpoint_pause", 10.0), ("preemption", 120.0), ("teardown", 5.0)];
    let report = Case::new(&log).held(0, 170).held(770, 905).is(305.0, 60.0, &losses);
    assert_eq!(report["queue_wait_ns"], "600000000000");
    // Slurm calls it preempted, or only requeued: the log knows why.
    for state in ["PREEMPTED", "REQUEUED"] {
        let attempts = [(state, 0, 170, "00:00:00", 1), ("COMPLETED", 770, 905, "00:00:00", 1)];
        Case::new(&log).sacct(&attempts).is(305.0, 60.0, &losses);
    }
}

#[test]
fn a_node_failure_by_the_schedulers_record_is_recovery_and_rework() {
    let log = [ml_start(0), ml_steps(0..20, 110.0), ml_start(500), ml_steps(10..30, 610.0), ml_end(650)];
    let attempts = |state| [(state, 0, 200, "00:00:00", 1), ("COMPLETED", 500, 650, "00:00:00", 1)];
    // Steps 10-19 again: 20 s. Their last counts 2 s and ends at 150, the release is at 200; then 110 s of restart.
    let fault = [("startup", 110.0), ("rework", 20.0), ("recovery", 160.0)];
    Case::new(&log).sacct(&attempts("NODE_FAIL")).is(350.0, 60.0, &fault);
    let evicted = [("startup", 110.0), ("preemption", 180.0)];
    Case::new(&log).sacct(&attempts("PREEMPTED")).is(350.0, 60.0, &evicted);
}

#[test]
fn an_elastic_job_counts_its_active_size_between_reconfigurations() {
    let log = [
        header(json!({"devices": 8})),
        launch(0),
        steps(0..10, 100, 2, json!({})),
        phase("reconfiguration", 120, 150),
        event("resize", 150, json!({"devices": 4})),
        steps(10..20, 150, 3, json!({})),
        stop("ended", 180),
    ];
    // 8 x 150 + 4 x 30 held; steps of 2 s on 8 and of 3 s on 4, each at the pace of its size.
    let losses = [("startup", 800.0), ("reconfiguration", 240.0)];
    Case::new(&log).is(1320.0, 280.0, &losses);
    Case::new(&log).held(0, 180).arg(&["--devices", "8"]).is(1320.0, 280.0, &losses);
}

#[test]
fn declared_events_win_over_the_step_and_the_first_of_two_over_the_other() {
    let around = |events: Vec<Vec<Value>>, next: f64| {
        let before = [ml_start(0), ml_steps(0..11, 110.0)].concat();
        Case::new(&[before, events.concat(), ml_steps(11..21, next), ml_end(next as i64 + 20)])
    };
    // Step 10 runs 130-142 with an evaluation at 131-141: 2 s are its own.
    let evaluated = vec![ml_custom("eval_step", "start", 131), ml_custom("eval_step", "end", 141)];
    around(evaluated, 142.0).is(162.0, 42.0, &[("startup", 110.0), ("evaluation", 10.0)]);
    let crossed = vec![
        ml_custom("eval_step", "start", 131),
        ml_custom("upload", "start", 135),
        ml_custom("eval_step", "end", 141),
        ml_custom("upload", "end", 150),
    ];
    around(crossed, 151.0).is(
        171.0,
        42.0,
        &[("startup", 110.0), ("evaluation", 10.0), ("declared_work", 9.0)],
    );
    let nested = vec![
        ml_custom("upload", "start", 131),
        ml_custom("eval_step", "start", 135),
        ml_custom("eval_step", "end", 141),
        ml_custom("upload", "end", 150),
    ];
    around(nested, 151.0).is(171.0, 42.0, &[("startup", 110.0), ("declared_work", 19.0)]);
}

#[test]
fn pauses_and_evaluations_among_discarded_steps_keep_their_category() {
    let log = [
        header(json!({"commits": true})),
        launch(0),
        steps(0..10, 100, 2, json!({})),
        phase("checkpoint_pause", 120, 125),
        commit(9, 126),
        steps(10..15, 125, 2, json!({})),
        phase("checkpoint_pause", 135, 140),
        phase("evaluation", 140, 150),
        steps(15..18, 150, 2, json!({})),
        stop("fault", 156),
        launch(200),
        phase("checkpoint_load", 220, 225),
        event("restore", 225, json!({"step": 9})),
        steps(10..20, 230, 2, json!({})),
        commit(19, 251),
        stop("finished", 251),
    ];
    // Eight discarded steps of 2 s; 156 to 230 is recovery, the load included; 250 to 251 winds down.
    let losses = [
        ("startup", 100.0),
        ("checkpoint_pause", 10.0),
        ("evaluation", 10.0),
        ("rework", 16.0),
        ("recovery", 74.0),
        ("teardown", 1.0),
    ];
    Case::new(&log).is(251.0, 40.0, &losses);
}

#[test]
fn steps_after_the_last_commit_are_pending_until_the_log_settles_them() {
    let until = |end: Vec<Value>| {
        Case::new(&[
            header(json!({"commits": true})),
            launch(0),
            steps(0..10, 100, 2, json!({})),
            phase("checkpoint_pause", 120, 125),
            commit(9, 130),
            steps(10..15, 125, 2, json!({})),
            end,
        ])
    };
    let paused = [("startup", 100.0), ("checkpoint_pause", 5.0)];
    let with = |more: &[(&'static str, f64)]| [&paused[..], more].concat();
    until(vec![]).is(135.0, 20.0, &with(&[("pending", 10.0)]));
    until(vec![]).window(0, 1000).is(1000.0, 20.0, &with(&[("pending", 10.0), ("hang", 865.0)]));
    until(stop("fault", 136)).is(136.0, 20.0, &with(&[("pending", 10.0), ("teardown", 1.0)]));
    until(stop("finished", 136)).is(136.0, 30.0, &with(&[("teardown", 1.0)]));
    until(commit(14, 140)).is(140.0, 30.0, &with(&[("pending", 5.0)]));
    // A restart from step 10 loses them and holds its own open.
    let again = [launch(200), steps(10..20, 260, 2, json!({}))].concat();
    until(again).is(280.0, 20.0, &with(&[("rework", 10.0), ("recovery", 125.0), ("pending", 20.0)]));
}

#[test]
fn a_window_outside_the_jobs_life_is_refused_with_both_spans() {
    let open = [header(json!({})), launch(0), steps(0..10, 100, 10, json!({}))];
    let ended = [&open[..], &[stop("ended", 200)]].concat();
    for log in [&open[..], &ended] {
        for (from, to) in [(-500, -100), (300, 400), (200, 300)] {
            let case = Case::new(log).window(from, to);
            let args: Vec<&str> =
                ["timeline"].into_iter().chain(case.args.iter().map(String::as_str)).collect();
            let refused = run(&args);
            assert_eq!(refused.status.code(), Some(2), "{from} to {to}: {}", refused.stdout);
            assert!(refused.stderr.contains("say nothing about it"), "{}", refused.stderr);
            assert!(refused.stderr.contains("choose --from and --to"), "{}", refused.stderr);
        }
        // Startup alone, and the last second, lie inside.
        Case::new(log).window(0, 50).is(50.0, 0.0, &[("startup", 50.0)]);
        Case::new(log).window(199, 260).report();
    }
    // A live job that went silent is held.
    Case::new(&open).arg(&["--live", "--from", &(T0 + 300).to_string()]).report();
}

#[test]
fn a_window_cuts_steps_and_evidence_outside_it_settles_what_lies_inside() {
    let ideal =
        json!({"devices": 2, "device": "X", "peak_tflops": 1, "dtype": "bf16", "model_flops_per_token": 1e9});
    let ten = || [header(ideal.clone()), launch(0), steps(0..10, 100, 10, json!({"tokens": 1000}))].concat();
    // 90 of 100 s of steps on two devices; 9,000 tokens x 1e9 FLOPs at 1e12 are 9 of 180 device-seconds.
    let cut = Case::new(&[ten(), stop("ended", 200)]).window(105, 195).is(180.0, 180.0, &[]);
    assert_eq!(cut["work"]["tokens"], "9000");
    assert_eq!(cut["capacity_time"]["ideal_ns"], "9000000000");
    Case::new(&[ten(), stop("ended", 200)]).window(150, 200).is(100.0, 100.0, &[]);
    // A restart at step 5 after the window discards five steps inside it.
    let restarted = [ten(), stop("fault", 201), launch(250), steps(5..15, 300, 10, json!({}))];
    Case::new(&restarted).window(0, 200).is(400.0, 100.0, &[("startup", 200.0), ("rework", 100.0)]);
    Case::new(&restarted).window(300, 350).is(100.0, 100.0, &[]);
    // A commit after the window holds the steps inside it.
    let open =
        [header(json!({"commits": true})), launch(0), steps(0..10, 100, 10, json!({})), commit(9, 250)];
    Case::new(&open).window(0, 200).is(200.0, 100.0, &[("startup", 100.0)]);
    // A log that begins in the middle of a run knows nothing of what came before.
    let midway = [header(json!({})), steps(500..520, 100, 2, json!({}))];
    Case::new(&midway).held(0, 140).is(140.0, 40.0, &[("unsettled", 100.0)]);
}

#[test]
fn suspension_of_the_job_record_lies_in_the_silence_of_the_log() {
    let attempt = [("COMPLETED", 0, 440, "00:05:00", 1)];
    let without_ends = |lines: Vec<Value>| {
        let mut lines = lines;
        lines.iter_mut().for_each(|line| drop(line.as_object_mut().unwrap().remove("end")));
        lines
    };
    let two = [steps(0..10, 100, 2, json!({})), steps(10..20, 420, 2, json!({}))].concat();
    for lines in [two.clone(), without_ends(two)] {
        let log = [header(json!({})), launch(0), lines, stop("ended", 440)];
        Case::new(&log).sacct(&attempt).is(440.0, 40.0, &[("startup", 100.0), ("suspension", 300.0)]);
    }
    // No silence has room for it but 98 s of the startup.
    let busy = [header(json!({})), launch(0), steps(0..170, 100, 2, json!({})), stop("ended", 440)];
    let report = Case::new(&busy).sacct(&attempt).is(440.0, 340.0, &[("startup", 2.0), ("suspension", 98.0)]);
    assert!(warns(&report, "suspension_not_located"));
}

#[test]
fn hot_spares_are_held_beside_the_active_devices() {
    let log = [
        header(json!({"devices": 8})),
        launch(0),
        event("standby", 0, json!({"devices": 2})),
        steps(0..10, 100, 2, json!({})),
        stop("finished", 120),
    ];
    let losses = [("startup", 800.0), ("standby", 240.0)];
    Case::new(&log).is(1200.0, 160.0, &losses);
    Case::new(&log).sacct(&[("COMPLETED", 0, 120, "00:00:00", 10)]).is(1200.0, 160.0, &losses);
}

#[test]
fn the_slowest_rank_is_named() {
    let rank = |step: i64, rank: i64| {
        let duration = if rank == 2 { 2.0 } else { 1.5 + rank as f64 * 0.01 };
        json!({"rank": rank, "host": format!("n{}", rank / 2), "step": step, "duration_s": duration})
    };
    let ranks = (0..10).flat_map(|step| (0..4).map(move |r| rank(step, r))).collect();
    let log = [header(json!({})), launch(0), steps(0..10, 100, 2, json!({})), ranks];
    let report = Case::new(&log).report();
    let ranks = &report["ranks"];
    assert_eq!((&ranks["slowest_rank"], &ranks["slowest_host"]), (&json!(2), &json!("n1")));
    assert_eq!(
        (&ranks["slowest_p50_ns"], &ranks["typical_p50_ns"]),
        (&json!("2000000000"), &json!("1510000000"))
    );
}

#[test]
fn an_allocation_that_outlives_the_log_is_teardown_zombie_or_hang_by_its_evidence() {
    let ran = || [header(json!({})), launch(0), steps(0..10, 100, 2, json!({}))].concat();
    let of = |pattern, s| [("startup", 100.0), (pattern, s)];
    Case::new(&[ran(), stop("finished", 120)]).held(0, 150).is(150.0, 20.0, &of("teardown", 30.0));
    Case::new(&[ran(), stop("finished", 120)]).held(0, 10_000).is(10_000.0, 20.0, &of("zombie", 9880.0));
    Case::new(&[ran()]).held(0, 10_000).is(10_000.0, 20.0, &of("hang", 9880.0));
    let released = |state, end| Case::new(&[ran()]).sacct(&[(state, 0, end, "00:00:00", 1)]);
    released("COMPLETED", 150).is(150.0, 20.0, &of("teardown", 30.0));
    released("TIMEOUT", 5000).is(5000.0, 20.0, &of("hang", 4880.0));
}

#[test]
fn clocks_that_disagree_are_shown_with_both_values() {
    let log = [header(json!({})), launch(0), steps(0..10, 100, 2, json!({})), stop("finished", 120)];
    // Launched 30 s before the scheduler's start: held time is the scheduler's.
    let early = Case::new(&log).held(30, 140).is(110.0, 20.0, &[("startup", 70.0), ("teardown", 20.0)]);
    let message =
        early["warnings"].as_array().unwrap().iter().find(|w| w["code"] == "clocks_disagree").unwrap();
    let message = message["message"].as_str().unwrap();
    assert!(message.contains(&T0.to_string()) && message.contains(&(T0 + 30).to_string()), "{message}");
    // Half a second of rounding is none.
    assert!(!warns(&Case::new(&log).held(1, 140).report(), "clocks_disagree"));
    let late = Case::new(&log).held(110, 200).is(90.0, 10.0, &[("teardown", 80.0)]);
    assert!(warns(&late, "outside_held"));
    // A log that ended before the allocation began says nothing of it.
    let apart = Case::new(&log).held(5000, 6000).is(1000.0, 0.0, &[("unsettled", 1000.0)]);
    assert!(warns(&apart, "outside_held"));
}

#[test]
fn a_job_without_steps_is_startup_until_it_works() {
    let launched = || [header(json!({})), launch(0), phase("launch", 0, 60)].concat();
    Case::new(&[launched()]).held(0, 600).is(600.0, 0.0, &[("startup", 600.0)]);
    let evaluates = || [launched(), phase("evaluation", 60, 500), phase("evaluation", 510, 1000)].concat();
    let worked = [("startup", 60.0), ("evaluation", 930.0), ("unsettled", 10.0)];
    let then = |more| [&worked[..], &[more]].concat();
    Case::new(&[evaluates(), stop("finished", 1010)]).is(1010.0, 0.0, &then(("teardown", 10.0)));
    Case::new(&[evaluates()]).held(0, 9000).is(9000.0, 0.0, &then(("hang", 8000.0)));
    let one_instant = run(&["timeline", &Case::new(&[header(json!({})), launch(0)]).args[0]]);
    assert_eq!(one_instant.status.code(), Some(2));
}

#[test]
fn input_wait_is_its_own_in_steady_steps_and_recoverys_in_a_warm_up() {
    let waiting = steps(0..10, 100, 3, json!({"input_wait_s": 1.0}));
    Case::new(&[header(json!({})), launch(0), waiting]).is(
        130.0,
        20.0,
        &[("startup", 100.0), ("input_wait", 10.0)],
    );
    // f = 2. Step 20 takes 10 s of which it waits 3, step 21 takes 5 s and waits 1: each counts f, 11 s are recovery.
    let log = [
        header(json!({})),
        launch(0),
        steps(0..20, 100, 2, json!({})),
        stop("fault", 140),
        launch(150),
        steps(20..21, 200, 10, json!({"input_wait_s": 3})),
        steps(21..22, 210, 5, json!({"input_wait_s": 1})),
        steps(22..40, 215, 2, json!({})),
        stop("finished", 251),
    ];
    Case::new(&log).is(251.0, 80.0, &[("startup", 100.0), ("recovery", 71.0)]);
}

#[test]
fn stamps_are_read_to_the_nanosecond_in_both_forms() {
    let step = |i: i64| json!({"step": i, "start": format!("2026-01-01T01:0{i}:00.000000001+01:00"), "end": format!("2026-01-01T01:0{i}:59.5+01:00")});
    let log = [header(json!({})), launch(0), (1..5).map(step).collect()];
    let report = Case::new(&log).report();
    let capacity = &report["capacity_time"];
    assert_eq!(capacity["held_ns"], "299500000000");
    assert_eq!(capacity["retained_ns"], (4_i64 * 59_499_999_999).to_string());
    assert_eq!(capacity["runtime_losses"]["startup_ns"], "60000000001");
    assert_eq!(capacity["runtime_losses"]["unsettled_ns"], (3_i64 * 500_000_001).to_string());
}

#[test]
fn the_program_factor_rests_on_tokens_or_flops_a_peak_and_nothing_else() {
    let device =
        json!({"devices": 4, "device": "X", "peak_tflops": 1000, "dtype": "bf16", "planned_steps": 30});
    let with = |more: Value, work: Vec<Value>| {
        let mut fields = device.clone();
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Case::new(&[header(fields), launch(0), work, stop("finished", 120)]).report()
    };
    let (tokens, flops) = (json!({"tokens": 4_000_000}), json!({"model_flops": 4_000_000_000_000_000_u64}));
    let all = |work: &Value| steps(0..10, 100, 2, work.clone());
    let halves = |first: &Value, second: &Value| {
        [steps(0..5, 100, 2, first.clone()), steps(5..10, 110, 2, second.clone())].concat()
    };
    let per_token = json!({"model_flops_per_token": 1e9});
    // 4e15 FLOPs at 1e15 FLOP/s are 4 of a step's 8 device-seconds.
    for (more, work, coverage) in [
        (&per_token, all(&tokens), 1.0),
        (&json!({}), all(&flops), 1.0),
        (&per_token, halves(&tokens, &flops), 1.0),
        (&json!({}), halves(&flops, &json!({})), 0.5),
        (&json!({}), halves(&flops, &tokens), 0.5),
    ] {
        let report = with(more.clone(), work);
        assert_eq!(report["factors"]["program"], 0.5);
        assert_eq!(report["contract"]["coverage"]["program"], coverage);
        assert_eq!((&report["steps"]["planned"], &report["steps"]["retained"]), (&json!(30), &json!(10)));
    }
    // Nothing is assumed: no FLOPs per token, no peak.
    for (more, work) in [(json!({}), all(&tokens)), (json!({"peak_tflops": null}), all(&flops))] {
        assert_eq!(with(more, work)["factors"]["program"], Value::Null);
    }
    let above = with(json!({"peak_tflops": 100}), all(&flops));
    assert_eq!(above["factors"]["program"], Value::Null);
    assert!(warns(&above, "program_refused"));
    for bad in ["--peak-tflops=0", "--flops-per-token=nan", "--peak-tflops=-1", "--devices=0"] {
        let log = Case::new(&[header(device.clone()), launch(0), all(&flops)]);
        assert_eq!(run(&["timeline", &log.args[0], bad]).status.code(), Some(2), "{bad}");
    }
}

#[test]
fn a_live_job_is_held_until_now_and_the_page_names_both_ways() {
    let log =
        Case::new(&[header(json!({})), launch(-1000 * 86_400), steps(0..10, -999 * 86_400, 2, json!({}))]);
    let closed = log.report();
    let message = &closed["warnings"][0]["message"];
    assert!(
        message.as_str().unwrap().contains("--live") && message.as_str().unwrap().contains("--to"),
        "{message}"
    );
    let live = log.arg(&["--live"]).report();
    let hang = &live["capacity_time"]["runtime_losses"]["hang_ns"];
    assert!(hang.as_str().unwrap().parse::<i64>().unwrap() > 86_400_000_000_000, "{hang}");
    let both = run(&["timeline", "timelines/final-eval.jsonl", "--live", "--to", "2026-01-01"]);
    assert_eq!(both.status.code(), Some(2));
}
