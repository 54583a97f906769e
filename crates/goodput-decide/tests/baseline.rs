//! The check on simulated histories: how often it cries wolf, what it finds, and what it names.
#![allow(clippy::unwrap_used)]

mod simulated;

use goodput_decide::baseline::{
    Check, Kind, Metric, Row, Settings, SlowestFigures, StepFigures, Tested, Tier,
};
use simulated::{HARSH, Noise, PLAIN, days, generator, history, job, pool, program, row, series, weekdays};

/// Share of series without a change whose p-value is at most `level`.
fn alarms(seed: u64, noise: Noise, length: usize, series_count: usize, level: f64) -> f64 {
    let mut rng = generator(seed);
    let alarm = |_: usize| {
        let days = days(&mut rng, noise, length);
        Tested::new(&series(&mut rng, noise, &days), Some(&weekdays(&days))).unwrap().p_value <= level
    };
    (0..series_count).map(alarm).filter(|alarm| *alarm).count() as f64 / series_count as f64
}

#[test]
fn a_series_without_a_change_alarms_as_often_as_stated() {
    const SERIES: usize = 800;
    for (level, length) in [(0.05, 28), (0.05, 90), (0.01, 45), (0.05, 200)] {
        let error = (level * (1.0 - level) / SERIES as f64).sqrt();
        // At the autocorrelation that the table is made for: what is stated, within three standard errors.
        let at_bound = alarms(1, PLAIN, length, SERIES, level);
        assert!((at_bound - level).abs() <= 3.0 * error, "{length}: {at_bound} of {level}");
        // Below it, with a weekly cycle, outliers and missing days: no more than that.
        let harsh = alarms(2, HARSH, length, SERIES, level);
        assert!(length < 56 || harsh <= level + 3.0 * error, "{length}: {harsh} of {level}");
        let white = alarms(3, Noise { autocorrelation: 0.0, ..PLAIN }, length, SERIES, level);
        assert!(white <= level + 3.0 * error, "{length}: {white} of {level}");
    }
}

#[test]
fn a_check_of_histories_without_a_change_finds_nothing_as_often_as_stated() {
    const CHECKS: usize = 40;
    let settings = Settings { threshold: 0.0, ..Settings::default() };
    let alarms = (0..CHECKS as u64)
        .filter(|seed| {
            let mut rng = generator(100 + seed);
            let mut rows: Vec<Row> =
                (0..6).flat_map(|i| job(&mut rng, &format!("job {i}"), HARSH, 70)).collect();
            rows.extend(pool(&mut rng, "train", HARSH, 70));
            !Check::new(&history(&rows), &settings).changes.is_empty()
        })
        .count();
    let rate = settings.false_alarms;
    let error = (rate * (1.0 - rate) / CHECKS as f64).sqrt();
    assert!(alarms as f64 / CHECKS as f64 <= rate + 3.0 * error, "{alarms} of {CHECKS}");
}

/// A fleet of jobs of which the first loses `loss` of its MFU at report `at`, when NCCL changes.
fn fleet_with_loss(seed: u64, loss: f64, at: usize) -> Vec<Row> {
    let mut rng = generator(seed);
    let mut rows: Vec<Row> = (0..10).flat_map(|i| job(&mut rng, &format!("job {i}"), HARSH, 90)).collect();
    for row in &mut rows[at..90] {
        row.software = row.software.with("nccl", "2.27");
        let program = row.program.as_mut().unwrap();
        program.mfu *= 1.0 - loss;
    }
    history(&rows)
}

#[test]
fn a_planted_loss_is_found_dated_sized_and_tied_to_its_release() {
    let found = (0..20)
        .filter(|seed| {
            let check = Check::new(&fleet_with_loss(*seed, 0.1, 60), &Settings::default());
            let named = |finding: &&goodput_decide::baseline::Finding| {
                finding.metric == Metric::Mfu
                    && finding.subject == "job 0"
                    && finding.stands()
                    && finding.causes.iter().any(|cause| cause.what == "nccl" && cause.after == "2.27")
            };
            let Some(finding) = check.changes.iter().find(named) else { return false };
            let (low, high) = finding.interval.unwrap();
            assert!((finding.size() + 0.1).abs() < 0.03, "{}", finding.size());
            assert!(low < -0.05 && high < -0.02, "{low} {high}");
            assert!(check.regressions(&Settings::default()) >= 1);
            true
        })
        .count();
    assert!(found >= 19, "{found} of 20");
}

#[test]
fn a_gain_is_reported_and_is_no_regression() {
    let settings = Settings::default();
    let check = Check::new(&fleet_with_loss(3, -0.1, 60), &settings);
    let gain = check.changes.iter().find(|finding| finding.metric == Metric::Mfu).unwrap();
    assert!(!gain.worse && gain.size() > 0.07);
    assert_eq!(check.regressions(&settings), 0);
}

#[test]
fn a_loss_that_was_undone_is_told_and_does_not_fail() {
    let mut rng = generator(8);
    let mut rows = job(&mut rng, "job", HARSH, 150);
    for row in &mut rows[50..100] {
        row.program.as_mut().unwrap().mfu *= 0.8;
    }
    let check = Check::new(&history(&rows), &Settings::default());
    let mfu: Vec<_> = check.changes.iter().filter(|finding| finding.metric == Metric::Mfu).collect();
    assert_eq!(
        mfu.iter().map(|finding| (finding.worse, finding.recovered)).filter(|(worse, _)| *worse).count(),
        1
    );
    assert!(mfu.iter().all(|finding| !finding.stands()), "{mfu:?}");
    // Nor is it looked at when it is older than what is asked for.
    let late = Settings { since_day: Some(20_130), ..Settings::default() };
    assert!(Check::new(&history(&rows), &late).changes.iter().all(|finding| finding.metric != Metric::Mfu));
}

#[test]
fn a_weekly_cycle_is_no_change_of_the_queue() {
    let mut rng = generator(5);
    let cycle = Noise { weekly: 6.0, ..PLAIN };
    let rows = pool(&mut rng, "train", cycle, 120);
    assert_eq!(Check::new(&history(&rows), &Settings::default()).changes, []);
}

#[test]
fn mfus_of_two_conventions_or_peaks_are_never_one_series() {
    let mut rng = generator(6);
    let mut rows = job(&mut rng, "job", HARSH, 120);
    for row in &mut rows[60..] {
        let program = row.program.as_mut().unwrap();
        program.mfu *= 0.5;
        program.convention = "6 N D".into();
    }
    let check = Check::new(&history(&rows), &Settings::default());
    assert!(check.changes.iter().all(|finding| finding.metric != Metric::Mfu));
    assert_eq!(check.mixed_ideals, ["job"]);
}

/// E13: one node at 0.9 x throughput in a synchronous job of 1,000 lowers the job's MFU by 10 %.
#[test]
fn one_slow_node_in_a_thousand_is_named_with_its_tenth() {
    let slow = |ratio: f64, host: &str, ranks: u64| SlowestFigures {
        ranks,
        rank: 417,
        host: host.into(),
        p50_s: 2.0 * ratio,
        typical_p50_s: 2.0,
    };
    let day = |name: &str, day: i64, slowest: SlowestFigures| Row {
        slowest: Some(slowest),
        ..row(Kind::Job, name, day)
    };
    let mut rows: Vec<Row> = (0..5).map(|i| day("big", i, slow(1.0 / 0.9, "node-0417", 1000))).collect();
    // Another job, whose slowest host is another one each day.
    rows.extend((0..5).map(|i| day("fine", i, slow(1.2, &format!("node-{i}"), 64))));
    let check = Check::new(&history(&rows), &Settings::default());
    let [host] = &check.slow_hosts[..] else { panic!("{:?}", check.slow_hosts) };
    assert_eq!((host.host.as_str(), host.jobs[0].job.as_str(), host.jobs[0].rank), ("node-0417", "big", 417));
    assert!((host.jobs[0].lost - 0.1).abs() < 1e-9);
    assert_eq!(check.regressions(&Settings::default()), 1);

    // A host that is a little slow in two jobs is slow.
    rows.extend((0..3).map(|i| day("other", i, slow(1.03, "node-0007", 64))));
    rows.extend((0..3).map(|i| day("third", i, slow(1.04, "node-0007", 64))));
    let check = Check::new(&history(&rows), &Settings::default());
    let names: Vec<_> = check.slow_hosts.iter().map(|host| (host.host.as_str(), host.jobs.len())).collect();
    assert_eq!(names, [("node-0007", 2), ("node-0417", 1)]);
}

/// A host that is slow from day `at` on in a job of 64 ranks, whose slowest rank sat anywhere before.
fn slow_from(name: &str, host: &str, at: i64, ratio: f64) -> Vec<Row> {
    let mut rng = generator(21);
    let day = |day: i64| {
        let late = day >= at;
        let ratio = (1.01 + 0.002 * simulated::normal(&mut rng)) * if late { ratio } else { 1.0 };
        let host = if late { host.to_owned() } else { format!("node-{:02}", day % 7) };
        let slowest =
            SlowestFigures { ranks: 64, rank: 17, host: host.into(), p50_s: 2.0 * ratio, typical_p50_s: 2.0 };
        Row { slowest: Some(slowest), ..row(Kind::Job, name, day) }
    };
    (0..60).map(day).collect()
}

/// A slow host is one regression, however its job's figures show it: the rise of slowest over typical rank names the host.
#[test]
fn a_slow_host_counts_once() {
    let settings = Settings::default();
    let rise = |check: &Check, job: &str| {
        let of = |f: &&goodput_decide::baseline::Finding| {
            f.metric == Metric::SlowestRank && f.subject == job && f.stands()
        };
        check.changes.iter().find(of).cloned().unwrap()
    };
    let mut rows = slow_from("big", "node-0417", 30, 1.1);
    let check = Check::new(&history(&rows), &settings);
    assert_eq!(check.slow_hosts.len(), 1);
    assert_eq!(rise(&check, "big").slow_host.as_deref(), Some("node-0417"));
    assert_eq!(check.regressions(&settings), 1);

    // In two jobs it is still one host.
    rows.extend(slow_from("second", "node-0417", 40, 1.1));
    let check = Check::new(&history(&rows), &settings);
    assert_eq!(rise(&check, "second").slow_host.as_deref(), Some("node-0417"));
    assert_eq!((check.slow_hosts.len(), check.regressions(&settings)), (1, 1));

    // A rise that no host explains counts for itself: below what makes a host slow, or spread over hosts.
    let lax = Settings { slow_rank: 0.5, ..Settings::default() };
    let check = Check::new(&history(&rows), &lax);
    assert_eq!((check.slow_hosts.len(), check.regressions(&lax)), (0, 2));
    for (i, row) in rows.iter_mut().enumerate() {
        row.slowest.as_mut().unwrap().host = format!("node-{:02}", i % 7).into();
    }
    let check = Check::new(&history(&rows), &settings);
    assert_eq!((check.slow_hosts.len(), check.regressions(&settings)), (0, 2));
    assert!(rise(&check, "big").slow_host.is_none());

    // Nor does a host excuse what else became worse in its job.
    let mut rows = slow_from("big", "node-0417", 30, 1.1);
    let mut rng = generator(22);
    for (day, row) in rows.iter_mut().enumerate() {
        let loss = if day >= 30 { 0.8 } else { 1.0 };
        row.program = Some(program(0.4 * loss * (0.01 * simulated::normal(&mut rng)).exp()));
    }
    let check = Check::new(&history(&rows), &settings);
    assert_eq!(check.regressions(&settings), 2);
}

#[test]
fn a_canary_whose_curve_bends_is_found_at_once() {
    let mut rng = generator(9);
    let canary = |day: i64, devices: u64, mfu: f64| Row {
        devices,
        program: Some(program(mfu)),
        ..row(Kind::Canary, "canary-8b", day)
    };
    let mut rows = Vec::new();
    for day in 0..15 {
        let noise = 1.0 + 0.004 * simulated::normal(&mut rng);
        // The last run on 64 devices: one device is as fast as ever, the curve bends.
        let bend = if day == 14 { 0.9 } else { 1.0 };
        rows.extend([canary(day, 8, 0.45 * noise), canary(day, 64, 0.42 * noise * bend)]);
    }
    let settings = Settings::default();
    let check = Check::new(&history(&rows), &settings);
    let [curve] = &check.curves[..] else { panic!("{:?}", check.curves) };
    let off: Vec<bool> = curve.points.iter().map(|point| check.is_off(point, &settings)).collect();
    assert_eq!(off, [false, true]);
    assert!((curve.points[1].change.unwrap() + 0.1).abs() < 0.01);
    assert_eq!(check.regressions(&settings), 1);
}

#[test]
fn a_run_below_its_group_is_found_and_one_of_other_software_is_not_compared() {
    let run = |name: &str, mfu: f64, nccl: &str| {
        let mut row =
            Row { program: Some(program(mfu)), model: Some("llama3.1-8b".into()), ..row(Kind::Job, name, 0) };
        row.software = row.software.with("nccl", nccl);
        row
    };
    let mut rows: Vec<Row> =
        (0..12).map(|i| run(&format!("run {i:02}"), 0.42 + f64::from(i % 4) * 1e-3, "2.26")).collect();
    rows.push(run("slow", 0.3, "2.26"));
    rows.push(run("new", 0.2, "2.27"));
    let check = Check::new(&history(&rows), &Settings::default());
    let names: Vec<&str> = check.departures.iter().map(|departure| departure.job.as_str()).collect();
    assert_eq!((names, check.without_baseline), (vec!["slow"], 1));
    assert!((check.departures[0].change + 0.29).abs() < 0.01);
}

#[test]
fn a_short_history_says_so() {
    let mut rng = generator(10);
    let check = Check::new(&history(&job(&mut rng, "job", PLAIN, 12)), &Settings::default());
    assert_eq!((check.tested(), check.longest_too_short, check.level), (0, 12, None));
    assert!(check.too_short > 5 && check.changes.is_empty());
}

#[test]
fn only_the_tiers_that_are_asked_for_are_judged() {
    let settings = Settings { tiers: vec![Tier::GrayFailure], ..Settings::default() };
    let mut rows = fleet_with_loss(1, 0.2, 60);
    for row in &mut rows[60..90] {
        row.steps = row.steps.map(|steps| StepFigures { p50_s: 3.0, p99_s: 3.6, ..steps });
    }
    let check = Check::new(&history(&rows), &settings);
    assert!(check.changes.iter().all(|finding| finding.metric.tier() == Tier::GrayFailure));
    assert!(check.changes.iter().any(|finding| finding.metric == Metric::StepTime && finding.worse));
    assert_eq!(check.tests.iter().map(|(tier, _)| *tier).collect::<Vec<_>>(), [Tier::GrayFailure]);
}
