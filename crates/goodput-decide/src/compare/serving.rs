//! Two reports of a serving fleet: the product of serving runtime and serving program goodput of one deployment. Its program
//! goodput has an ideal of its own, so that it has a ratio with nothing else.

use goodput_core::{Boundary, trade};

use super::bootstrap::{self, Deviations, Levels, Series};
use super::judge::{FactorMove, Judged, Lever, Ratio, SIDES, equal_lengths, verdict};
use super::{Comparison, Options, Refused};
use crate::adequacy::{Adequacy, ServingEvidence, judge_serving};
use crate::contract::Contract;
use crate::report::{Exact, ServingDay, ServingReport, ServingRow};

/// What is drawn.
pub(super) const DAYS: &str = "whole days";

/// The phase whose ideal program goodput has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ideal {
    Decode,
    Prefill,
}

impl Ideal {
    const fn measure(self) -> &'static str {
        match self {
            Self::Decode => "program_decode_weights",
            Self::Prefill => "program_prefill",
        }
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Decode => "decode, MBU, weights floor",
            Self::Prefill => "prefill, MFU, arithmetic ideal",
        }
    }

    fn of_day(self, day: &ServingDay) -> Option<Exact> {
        match self {
            Self::Decode => day.decode_ideal_ns,
            Self::Prefill => day.prefill_ideal_ns,
        }
    }

    /// What the row divides by, in words.
    fn of(self, row: &ServingRow) -> String {
        let basis = &row.basis;
        let number = |n: Option<u64>| n.map_or_else(|| "unknown".to_owned(), |n| format!("{:.4e}", n as f64));
        match self {
            Self::Decode => format!(
                "weights of {} bytes at {} bytes/s a device",
                number(basis.weight_bytes),
                number(basis.bytes_per_second)
            ),
            Self::Prefill => format!(
                "{} FLOP/s a device ({})",
                number(basis.flops_per_second),
                basis.dtype.as_deref().unwrap_or("unknown dtype")
            ),
        }
    }
}

/// Compares two reports of a serving fleet.
///
/// # Errors
/// [`Refused`] names the field that keeps them apart and what is needed.
pub fn compare_serving(
    before: &ServingReport,
    after: &ServingReport,
    options: &Options,
) -> Result<Comparison, Refused> {
    options.check()?;
    let rows = comparable(before, after, options)?;
    let reports = [before, after];
    let measured = |side: usize| {
        let unknown = |field| Refused::UnknownCondition { side: SIDES[side], field };
        reports[side].contract.measured().map_err(unknown)
    };
    let contracts = [measured(0)?, measured(1)?];
    let differences = contracts[0].differences(&contracts[1]);
    let ideal = ideal(rows)?;
    let (factors, deviations): (Vec<FactorMove>, Vec<Option<Deviations>>) =
        factors(rows, ideal, options)?.into_iter().unzip();
    let product = Ratio::of_product(&factors, deviations, options)?;
    let gates = contracts.each_ref().map(Contract::gate);
    let adequacy = [adequacy(before, rows[0]), adequacy(after, rows[1])];
    let judged = Judged { gates: &gates, factors: &factors, product, adequacy: &adequacy, statistical: None };
    let (verdict, reasons) = verdict(judged, false);
    let because = format!("each report is of one deployment, and program goodput that of {}", ideal.label());
    Ok(Comparison {
        verdict,
        reasons,
        lever: Lever::Deployment,
        lever_because: because,
        gates,
        statistical: None,
        factors,
        product,
        differences,
        adequacy,
        time_to_result: None,
        coupling: None,
        notes: [same_hours(before, after, rows), notes(rows, ideal)].concat(),
    })
}

/// The one row of each report; refuses reports that have no ratio.
fn comparable<'a>(
    before: &'a ServingReport,
    after: &'a ServingReport,
    options: &Options,
) -> Result<[&'a ServingRow; 2], Refused> {
    if options.lever.is_some() {
        return Err(Refused::NoLever);
    }
    if before == after {
        return Err(Refused::Same);
    }
    equal_lengths([&before.contract.window, &after.contract.window])?;
    let row = |report: &'a ServingReport, side| match report.rows.as_slice() {
        [row] => Ok(row),
        rows => Err(Refused::Deployments {
            side,
            names: rows.iter().map(ServingRow::name).collect::<Vec<_>>().join("; "),
        }),
    };
    Ok([row(before, SIDES[0])?, row(after, SIDES[1])?])
}

/// The ideal that both rows have, the same on both sides.
fn ideal(rows: [&ServingRow; 2]) -> Result<Ideal, Refused> {
    let known = |ideal: Ideal| rows.map(|row| row.measure(ideal.measure()).is_some());
    let ideal = if known(Ideal::Decode) == [false; 2] && known(Ideal::Prefill) != [false; 2] {
        Ideal::Prefill
    } else {
        Ideal::Decode
    };
    if let [one, other] = rows.map(|row| ideal.of(row))
        && known(ideal) == [true; 2]
        && one != other
    {
        return Err(Refused::Floors { before: one, after: other });
    }
    Ok(ideal)
}

type Drawn = Vec<(FactorMove, Option<Deviations>)>;

fn factors(rows: [&ServingRow; 2], ideal: Ideal, options: &Options) -> Result<Drawn, Refused> {
    let keys = [
        (Boundary::Scheduling, "scheduling"),
        (Boundary::Runtime, "runtime"),
        (Boundary::Program, ideal.measure()),
    ];
    let mut known = Vec::new();
    for (boundary, key) in keys {
        // Scheduling goodput stands beside the product, where both have a pool of their own.
        if boundary == Boundary::Scheduling && rows.iter().any(|row| row.measure(key).is_none()) {
            continue;
        }
        known.push((boundary, values(rows, boundary, key)?));
    }
    let pooled = known.first().is_some_and(|(boundary, _)| *boundary == Boundary::Scheduling);
    let [one, other] = rows.map(|row| series(row, ideal, pooled));
    let both = one.as_ref().zip(other.as_ref());
    let levels: Vec<(usize, usize)> =
        known.iter().map(|(boundary, _)| (*boundary as usize + 1, *boundary as usize)).collect();
    let mut rng = bootstrap::generator(options.seed);
    let joint =
        both.and_then(|(one, other)| bootstrap::deviations(one, other, &levels, options.resamples, &mut rng));
    let factor = |(i, (boundary, values)): (usize, (Boundary, [f64; 2]))| {
        let deviations = joint.as_ref().map(|joint| joint[i].clone());
        let value = values[1] / values[0];
        let interval =
            deviations.as_ref().and_then(|drawn| bootstrap::interval(value, drawn, options.confidence));
        let decides = boundary != Boundary::Scheduling;
        let give_up = || trade::may_give_up(values[0], values[1]).ok().filter(|share| *share > 0.0);
        let moved = FactorMove {
            boundary,
            decides,
            values: Some(values),
            coverage: rows.map(|row| coverage(row, boundary)),
            ratio: Ratio { value, interval },
            samples: both.map_or([0; 2], |(one, other)| [one.count(), other.count()]),
            unit: DAYS,
            block: both.map_or([0; 2], |(one, other)| [one.block(), other.block()]),
            headroom: trade::headroom(values[1]).ok().filter(|_| decides),
            may_give_up: give_up().filter(|_| decides),
        };
        (moved, deviations)
    };
    Ok(known.into_iter().enumerate().map(factor).collect())
}

fn values(rows: [&ServingRow; 2], boundary: Boundary, key: &str) -> Result<[f64; 2], Refused> {
    let mut values = [0.0; 2];
    for ((value, row), side) in values.iter_mut().zip(rows).zip(SIDES) {
        let no_factor =
            |found: &str, needed| Refused::NoFactor { side, boundary, found: found.to_owned(), needed };
        let found = row.measure(key).ok_or_else(|| {
            no_factor("not known", "`rows[0].measures` says what is missing; state --model, --device or --dtype to goodput serving")
        })?;
        if !(found.is_finite() && (0.0..=1.0).contains(&found)) {
            return Err(Refused::BadFigure { side, field: format!("measures.{key}"), value: found });
        }
        if found == 0.0 {
            return Err(no_factor(
                "0",
                "nothing crosses that boundary in the window; choose one in which replicas work",
            ));
        }
        *value = found;
    }
    Ok(values)
}

/// Days of a row. A day without the ideal has none in all.
fn series(row: &ServingRow, ideal: Ideal, pooled: bool) -> Option<Series> {
    let level = |ns: Exact| ns.0 as f64;
    let day = |day: &ServingDay| -> Option<Levels> {
        let offered = if pooled { level(day.offered_ns?) } else { 0.0 };
        Some([offered, level(day.held_ns), level(day.ready_ns), level(ideal.of_day(day)?)])
    };
    Series::new(&row.days.iter().map(day).collect::<Option<Vec<Levels>>>()?)
}

/// The share of what arrived that the log settles.
fn coverage(row: &ServingRow, boundary: Boundary) -> f64 {
    let share = |open: i128, of: Exact| if of.0 > 0 { 1.0 - open as f64 / of.0 as f64 } else { 0.0 };
    match boundary {
        Boundary::Scheduling => 1.0,
        Boundary::Runtime => share(row.uses.get("unsettled_ns").map_or(0, |ns| ns.0), row.held_ns),
        Boundary::Program => share(row.work.work_unknown_ns.0, row.ready_ns),
    }
}

fn adequacy(report: &ServingReport, row: &ServingRow) -> Vec<Adequacy> {
    let window = report.contract.window;
    judge_serving(&ServingEvidence {
        lives: row.lives,
        window_ns: i64::try_from(window.to_ns.0 - window.from_ns.0).unwrap_or(i64::MAX),
        pool: row.measure("scheduling").is_some(),
    })
}

/// Logs of a canary may bear the name of the deployment beside it; the same log must not stand on both sides.
fn same_hours(before: &ServingReport, after: &ServingReport, rows: [&ServingRow; 2]) -> Vec<String> {
    let (one, other) = (before.contract.window, after.contract.window);
    let shared_ns = one.to_ns.0.min(other.to_ns.0) - one.from_ns.0.max(other.from_ns.0);
    let [name, other_name] = rows.map(ServingRow::name);
    if shared_ns <= 0 || name != other_name {
        return Vec::new();
    }
    vec![format!(
        "both windows hold the same {:.2} h of {name}: that is a comparison only where the logs are of different replicas",
        shared_ns as f64 / 3.6e12
    )]
}

/// What the product does not say: the load, and the other phase.
fn notes(rows: [&ServingRow; 2], ideal: Ideal) -> Vec<String> {
    let tokens = rows.map(|row| {
        let hours = row.held_ns.0 as f64 / 3.6e12;
        [row.work.decode_tokens, row.work.prefill_tokens].map(|tokens| tokens.0 as f64 / hours)
    });
    let [[decode, prefill], [decode_after, prefill_after]] = tokens;
    let mut notes = vec![format!(
        "a held device-hour generated {decode:.0} tokens before and {decode_after:.0} after, and computed {prefill:.0} and \
         {prefill_after:.0} prompt tokens: headroom is inside program goodput, so that another load moves it like a change does"
    )];
    if let [Some(one), Some(other)] = rows.map(|row| row.measure("mbu_weights")) {
        notes.push(format!(
            "MBU while decoding was {one:.4} and is {other:.4}: a faster step at the same load and replicas shows here alone, and as headroom"
        ));
    }
    if ideal == Ideal::Decode
        && let [Some(one), Some(other)] = rows.map(|row| row.measure("program_prefill"))
    {
        notes.push(format!(
            "prefill has another ideal and no part in the verdict: its program goodput was {one:.4} and is {other:.4}"
        ));
    }
    for boundary in [Boundary::Runtime, Boundary::Program] {
        let covered = rows.map(|row| coverage(row, boundary));
        if covered[0].min(covered[1]) < 0.95 {
            notes.push(format!(
                "the log settles {:.0}% before and {:.0}% after of what {boundary} goodput divides by; the rest counts as lost",
                100.0 * covered[0],
                100.0 * covered[1]
            ));
        }
    }
    notes
}
