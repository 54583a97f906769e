//! Simulated histories: autocorrelated noise, a weekly cycle, outliers, missing days, and planted changes.
#![allow(dead_code, reason = "each test file and example uses its part")]
#![allow(clippy::unwrap_used)]

use std::f64::consts::TAU;

use goodput_decide::baseline::{
    AllocationFigures, EventFigures, FactorFigures, Kind, ProgramFigures, Row, StepFigures, Versions,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub const DAY_NS: i64 = 86_400_000_000_000;

/// How a series scatters.
#[derive(Debug, Clone, Copy)]
pub struct Noise {
    /// Correlation of neighbouring days.
    pub autocorrelation: f64,
    /// Amplitude of the weekly cycle over the standard deviation.
    pub weekly: f64,
    /// Share of days that are off by ten standard deviations.
    pub outliers: f64,
    /// Share of days without a report.
    pub missing: f64,
}

pub const PLAIN: Noise = Noise { autocorrelation: 0.5, weekly: 0.0, outliers: 0.0, missing: 0.0 };
pub const HARSH: Noise = Noise { autocorrelation: 0.3, weekly: 1.5, outliers: 0.03, missing: 0.1 };

pub fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Box and Muller.
pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (radius, angle): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - radius).ln()).sqrt() * (TAU * angle).cos()
}

/// `length` days with a report.
pub fn days(rng: &mut ChaCha8Rng, noise: Noise, length: usize) -> Vec<i64> {
    (20_000..).filter(|_| rng.random::<f64>() >= noise.missing).take(length).collect()
}

/// A value of unit scatter for each of `days`.
pub fn series(rng: &mut ChaCha8Rng, noise: Noise, days: &[i64]) -> Vec<f64> {
    let mut state = normal(rng);
    let fresh = (1.0 - noise.autocorrelation.powi(2)).sqrt();
    days.iter()
        .map(|day| {
            state = noise.autocorrelation * state + fresh * normal(rng);
            let weekend = if day.rem_euclid(7) >= 5 { -noise.weekly } else { 0.0 };
            let outlier = if rng.random::<f64>() < noise.outliers { 10.0 } else { 0.0 };
            state + weekend + outlier
        })
        .collect()
}

/// The weekday of each day, as the check counts them.
pub fn weekdays(days: &[i64]) -> Vec<u8> {
    days.iter().map(|day| day.rem_euclid(7) as u8).collect()
}

/// A blank daily row.
pub fn row(kind: Kind, name: &str, day: i64) -> Row {
    Row {
        schema: Row::SCHEMA.into(),
        kind,
        day: format!("day {day}").into(),
        from_ns: day * DAY_NS,
        to_ns: (day + 1) * DAY_NS,
        job: (kind != Kind::Pool).then(|| name.into()),
        pool: (kind == Kind::Pool).then(|| name.into()),
        model: None,
        policy: None,
        devices: 256,
        software: Versions::default().with("nccl", "2.26"),
        program: None,
        steps: None,
        slowest: None,
        events: None,
        allocation: None,
        factors: FactorFigures::default(),
        contract: "c".into(),
        report: format!("{name}-{day}"),
    }
}

/// A job that logs, day by day: every figure scatters on its own, MFU by 2 %.
pub fn job(rng: &mut ChaCha8Rng, name: &str, noise: Noise, length: usize) -> Vec<Row> {
    let days = days(rng, noise, length);
    let [mfu, step, tail, startup, pause, input] = std::array::from_fn(|_| series(rng, noise, &days));
    days.iter()
        .enumerate()
        .map(|(i, day)| {
            let p50_s = 2.0 * (0.01 * step[i]).exp();
            Row {
                program: Some(program(0.4 * (0.02 * mfu[i]).exp().min(2.0))),
                steps: Some(StepFigures {
                    count: 40_000,
                    p50_s,
                    p90_s: 1.02 * p50_s,
                    p99_s: 1.2 * p50_s * (0.01 * tail[i]).exp().max(0.9),
                    max_s: 9.0 * p50_s,
                }),
                events: Some(EventFigures {
                    held_s: 86_400.0,
                    launches: 1,
                    startup_s: 300.0 * (0.1 * startup[i]).exp(),
                    failures: u64::from(rng.random::<f64>() < 0.1),
                    commits: 24,
                    pause_s: 240.0 * (0.1 * pause[i]).exp(),
                    input_wait_s: 86_400.0 * (0.03 + 0.004 * input[i]).max(0.0),
                    ..EventFigures::default()
                }),
                ..row(Kind::Job, name, *day)
            }
        })
        .collect()
}

/// A pool, day by day, its queue longer on working days.
pub fn pool(rng: &mut ChaCha8Rng, name: &str, noise: Noise, length: usize) -> Vec<Row> {
    let days = days(rng, noise, length);
    let (wait, fragmentation) = (series(rng, noise, &days), series(rng, noise, &days));
    let with = |(i, day): (usize, &i64)| Row {
        allocation: Some(AllocationFigures {
            offered_device_hours: 24_576.0,
            waits: 100,
            wait_p50_s: Some(600.0 * (0.3 * wait[i]).exp()),
            wait_p90_s: Some(3600.0 * (0.3 * wait[i]).exp()),
            partial_gang: 0.0,
            fragmentation: (0.05 + 0.005 * fragmentation[i]).clamp(0.0, 1.0),
        }),
        ..row(Kind::Pool, name, *day)
    };
    days.iter().enumerate().map(with).collect()
}

pub fn program(mfu: f64) -> ProgramFigures {
    ProgramFigures {
        mfu,
        ideal: "compute".into(),
        device: "H100-SXM5".into(),
        dtype: "bf16".into(),
        peak_flops_per_second: 989e12,
        convention: "model FLOPs".into(),
        coverage: 1.0,
    }
}

/// Rows as a history holds them.
pub fn history(rows: &[Row]) -> Vec<Row> {
    let mut text = String::new();
    for row in rows {
        text += &serde_json::to_string(row).expect("a row is JSON");
        text.push('\n');
    }
    let history = goodput_decide::baseline::History::read(text.as_bytes()).unwrap();
    assert_eq!(history.refused, []);
    history.rows
}
