//! The judgement: gate, contract, ratios, product, verdict.

use goodput_core::Boundary;
use goodput_core::trade::{self, Trade};

use super::blocks::Blocks;
use super::bootstrap::{self, Deviations, Interval, Series};
use super::coupling::{self, Moved, Pace};
use super::statistical::StatisticalEfficiency;
use super::{Comparison, Options, Refused, TimeToResult};
use crate::adequacy::{self, Adequacy};
use crate::contract::{Contract, Difference, Gate, Touches};
use crate::report::{CapacityTime, Report, WindowStamps};

/// Windows whose lengths differ by up to this share are of equal length.
const EQUAL_LENGTH: f64 = 0.05;

pub(super) const SIDES: [&str; 2] = ["BEFORE", "AFTER"];

/// Whose product decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lever {
    /// The job's: runtime x program goodput. For levers inside one allocation.
    Job,
    /// The pool's MPG. For levers that move capacity between jobs.
    Pool,
    /// A serving deployment's: serving runtime x serving program goodput.
    Deployment,
}

impl Lever {
    /// The word for programs.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Pool => "pool",
            Self::Deployment => "deployment",
        }
    }
}

/// What follows from a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Keep the change: the interval lies above one.
    Accept,
    /// Undo it: the interval lies below one, or the quality gate failed.
    Reject,
    /// The evidence does not tell.
    NotDecided,
}

impl Verdict {
    /// The word for programs.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::NotDecided => "not_decided",
        }
    }
}

/// A ratio, after over before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// After over before.
    pub value: f64,
    /// Its interval; `None` where there is too little to draw from.
    pub interval: Option<Interval>,
}

impl Ratio {
    /// The product of the ratios of the deciding factors, with what the bootstrap made of each.
    pub(super) fn of_product(
        factors: &[FactorMove],
        deviations: Vec<Option<Deviations>>,
        options: &Options,
    ) -> Result<Self, Refused> {
        let ratios: Vec<trade::Ratio> = factors
            .iter()
            .filter(|f| f.decides)
            .map(|f| trade::Ratio { boundary: f.boundary, value: f.ratio.value })
            .collect();
        let judged = Trade::judge(&ratios)?;
        let deciding: Option<Vec<Deviations>> =
            factors.iter().zip(deviations).filter(|(f, _)| f.decides).map(|(_, d)| d).collect();
        let interval = deciding
            .and_then(|parts| bootstrap::product(&parts))
            .and_then(|drawn| bootstrap::interval(judged.product, &drawn, options.confidence));
        Ok(Self { value: judged.product, interval })
    }
}

/// One factor before and after.
#[derive(Debug, Clone, PartialEq)]
pub struct FactorMove {
    /// The factor.
    pub boundary: Boundary,
    /// Whether the deciding product holds it.
    pub decides: bool,
    /// Before and after on the settled share; `None` where the ratio is one of step times.
    pub values: Option<[f64; 2]>,
    /// The settled shares.
    pub coverage: [f64; 2],
    /// The ratio.
    pub ratio: Ratio,
    /// What was drawn: steps, cycles or days, before and after.
    pub samples: [usize; 2],
    /// Their name.
    pub unit: &'static str,
    /// Samples of a block of the bootstrap.
    pub block: [usize; 2],
    /// The most that this factor's own levers can multiply the product by from here.
    pub headroom: Option<f64>,
    /// The share of another factor that the rise of this one may give up before the product falls.
    pub may_give_up: Option<f64>,
}

/// Compares two reports.
///
/// # Errors
/// [`Refused`] names the field that keeps them apart and what is needed.
pub fn compare(before: &Report, after: &Report, options: &Options) -> Result<Comparison, Refused> {
    options.check()?;
    comparable(before, after)?;
    let contracts = [measured(before, 0)?, measured(after, 1)?];
    let differences = contracts[0].differences(&contracts[1]);
    let (lever, lever_because) = lever(before, &differences, options)?;
    let drawn = factors(before, after, &differences, lever, options)?;
    let (factors, deviations): (Vec<FactorMove>, Vec<Option<Deviations>>) = drawn.into_iter().unzip();

    let product = Ratio::of_product(&factors, deviations, options)?;
    let statistical = StatisticalEfficiency::between(&contracts[0], &contracts[1]);
    let gates = contracts.each_ref().map(Contract::gate);
    let adequacy = [adequacy_of(before, &contracts[0]), adequacy_of(after, &contracts[1])];
    let policy = differences.iter().any(|d| d.condition.touches == Touches::Policy);
    let judged = Judged {
        gates: &gates,
        factors: &factors,
        product,
        adequacy: &adequacy,
        statistical: statistical.as_ref(),
    };
    let (verdict, reasons) = verdict(judged, policy && lever == Lever::Job);
    let program = factors.iter().find(|f| f.boundary == Boundary::Program);
    // Where only step times are known, the ratio of any two program factors will do: it cancels in the pace.
    let programs = program.map(|f| f.values.unwrap_or_else(|| relative(f.ratio.value)));
    let time_to_result = programs.and_then(|p| TimeToResult::between(before, after, p, statistical.as_ref()));
    let of = |boundary| factors.iter().find(|f| f.boundary == boundary).map(|f| f.ratio.value);
    let coupling = of(Boundary::Runtime).zip(of(Boundary::Program)).and_then(|(runtime, program)| {
        let moved = Moved { scheduling: of(Boundary::Scheduling), runtime, program };
        coupling::recognise(moved, pace(before).zip(pace(after)))
    });
    let notes = notes(before, after, &factors);
    Ok(Comparison {
        verdict,
        reasons,
        lever,
        lever_because,
        gates,
        statistical,
        factors,
        product,
        differences,
        adequacy,
        time_to_result,
        coupling,
        notes,
    })
}

fn relative(ratio: f64) -> [f64; 2] {
    if ratio >= 1.0 { [ratio.recip(), 1.0] } else { [1.0, ratio] }
}

/// Refuses reports that have no ratio.
fn comparable(before: &Report, after: &Report) -> Result<(), Refused> {
    let (one, other) = (before.contract(), after.contract());
    if one.scope != other.scope {
        return Err(Refused::Scopes { before: one.scope.clone(), after: other.scope.clone() });
    }
    if before == after {
        return Err(Refused::Same);
    }
    equal_lengths([&one.window, &other.window])?;
    if let (Report::Timeline(a), Report::Timeline(b)) = (before, after)
        && let (Some(job), true) = (&a.job, a.job == b.job)
    {
        let shared_ns =
            one.window.to_ns.0.min(other.window.to_ns.0) - one.window.from_ns.0.max(other.window.from_ns.0);
        if shared_ns > 0 {
            return Err(Refused::Overlap { shared_h: shared_ns as f64 / 3.6e12, job: job.clone() });
        }
    }
    if one.denominator != other.denominator {
        return Err(Refused::Denominators {
            before: one.denominator.clone(),
            after: other.denominator.clone(),
        });
    }
    let ideals = |contract: &crate::report::Contract| {
        let mut names: Vec<&str> = contract.ideals.iter().map(|i| i.ideal.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    };
    let (one, other) = (ideals(one), ideals(other));
    if !one.is_empty() && !other.is_empty() && one != other {
        return Err(Refused::Ideals { before: one, after: other });
    }
    Ok(())
}

/// Refuses windows of no length, or of different ones.
pub(super) fn equal_lengths(windows: [&WindowStamps; 2]) -> Result<(), Refused> {
    let mut lengths = [0.0; 2];
    for ((window, side), length) in windows.into_iter().zip(SIDES).zip(&mut lengths) {
        let (from_ns, to_ns) = (window.from_ns.0, window.to_ns.0);
        if to_ns <= from_ns {
            return Err(Refused::EmptyWindow { side, from_ns, to_ns });
        }
        *length = (to_ns - from_ns) as f64 / 3.6e12;
    }
    let [before_h, after_h] = lengths;
    if (after_h / before_h).max(before_h / after_h) > 1.0 + EQUAL_LENGTH {
        return Err(Refused::Lengths { before_h, after_h });
    }
    Ok(())
}

fn measured(report: &Report, side: usize) -> Result<Contract, Refused> {
    report.contract().measured().map_err(|field| Refused::UnknownCondition { side: SIDES[side], field })
}

fn lever(report: &Report, differences: &[Difference], options: &Options) -> Result<(Lever, String), Refused> {
    let fleet = matches!(report, Report::Account(_));
    let policy = differences.iter().find(|d| d.condition.touches == Touches::Policy);
    match (options.lever, policy) {
        (Some(Lever::Pool), _) if !fleet => Err(Refused::NoPool),
        (Some(Lever::Deployment), _) => Err(Refused::NoDeployment),
        (Some(lever), _) => Ok((lever, "as asked with --lever".to_owned())),
        (None, Some(d)) if fleet => {
            Ok((Lever::Pool, format!("the {} differs, which moves capacity between jobs", d.condition.label)))
        }
        (None, _) if fleet => Ok((Lever::Pool, "the reports are of fleets".to_owned())),
        (None, _) => Ok((Lever::Job, "the reports are of one job".to_owned())),
    }
}

type Drawn = Vec<(FactorMove, Option<Deviations>)>;

/// The ratio of each factor with what the bootstrap made of it.
fn factors(
    before: &Report,
    after: &Report,
    differences: &[Difference],
    lever: Lever,
    options: &Options,
) -> Result<Drawn, Refused> {
    let blocks = [Blocks::of(before), Blocks::of(after)];
    let mut rng = bootstrap::generator(options.seed);
    let both = |of: fn(&Blocks) -> Option<&Series>| of(&blocks[0]).zip(of(&blocks[1]));
    let mut drawn = Vec::new();
    if let (Report::Account(_), Report::Account(_)) = (before, after) {
        let days = both(|b| b.days.as_ref());
        // A factor that neither side settles is left out, which leaves the verdict open.
        let known = |&boundary: &Boundary| {
            [before, after].iter().any(|r| r.factors().get(boundary).is_some_and(|f| f.settled.is_some()))
        };
        let boundaries: Vec<Boundary> = Boundary::ALL.into_iter().filter(known).collect();
        let levels: Vec<(usize, usize)> = boundaries.iter().map(|&b| (b as usize + 1, b as usize)).collect();
        let joint = days
            .and_then(|(one, other)| bootstrap::deviations(one, other, &levels, options.resamples, &mut rng));
        for (i, boundary) in boundaries.into_iter().enumerate() {
            let values = values(before, after, boundary)?;
            let of = joint.as_ref().map(|joint| joint[i].clone());
            let decides = lever == Lever::Pool || boundary != Boundary::Scheduling;
            let moved =
                moved(before, after, boundary, Some(values), None, (days, "days"), of.as_ref(), options);
            drawn.push((FactorMove { decides, ..moved }, of));
        }
        if !drawn.iter().any(|(moved, _)| moved.decides) {
            // Names what is missing.
            values(before, after, Boundary::Runtime)?;
        }
        return Ok(drawn);
    }
    let cycles = both(|b| b.cycles.as_ref());
    let of = cycles.and_then(|(one, other)| {
        bootstrap::deviations(one, other, &[(2, 1)], options.resamples, &mut rng)?.pop()
    });
    let runtime = values(before, after, Boundary::Runtime)?;
    let unit = (cycles, "cycles between interruptions");
    drawn
        .push((moved(before, after, Boundary::Runtime, Some(runtime), None, unit, of.as_ref(), options), of));

    let steps = both(|b| b.steps.as_ref());
    let of = steps.and_then(|(one, other)| {
        bootstrap::deviations(one, other, &[(3, 2)], options.resamples, &mut rng)?.pop()
    });
    let settled = [before, after].map(|r| r.factors().program.settled.is_some());
    let (program, ratio) = if settled == [true; 2] {
        (Some(values(before, after, Boundary::Program)?), None)
    } else {
        (None, Some(of_step_times(before, after, differences)?))
    };
    let unit = (steps, "blocks of steps");
    drawn.push((moved(before, after, Boundary::Program, program, ratio, unit, of.as_ref(), options), of));
    Ok(drawn)
}

/// The settled factor of both sides.
fn values(before: &Report, after: &Report, boundary: Boundary) -> Result<[f64; 2], Refused> {
    let mut values = [0.0; 2];
    for ((value, report), side) in values.iter_mut().zip([before, after]).zip(SIDES) {
        let no_factor = |found: String, needed| Refused::NoFactor { side, boundary, found, needed };
        let settled = report.factors().get(boundary).and_then(|f| f.settled).ok_or_else(|| {
            no_factor("not settled".to_owned(), match boundary {
                Boundary::Program => {
                    "state the work of a step (--flops-per-token, --device, --dtype), so that both sides have an ideal"
                }
                Boundary::Runtime => "give the timelines of the jobs",
                Boundary::Scheduling => "account a fleet's records",
            })
        })?;
        if !(settled.is_finite() && (0.0..=1.0).contains(&settled)) {
            let field = format!("factor_bounds.{boundary}.settled");
            return Err(Refused::BadFigure { side, field, value: settled });
        }
        if settled == 0.0 {
            return Err(no_factor(
                "0".to_owned(),
                "nothing crosses that boundary in the window, so that there is no ratio; choose a window with retained steps",
            ));
        }
        *value = settled;
    }
    Ok(values)
}

/// Of the same work a step on the same devices, program goodput is as the inverse of the step time.
fn of_step_times(before: &Report, after: &Report, differences: &[Difference]) -> Result<f64, Refused> {
    let no_factor = |side, needed| Refused::NoFactor {
        side,
        boundary: Boundary::Program,
        found: "not settled".to_owned(),
        needed,
    };
    const STATE: &str = "state the work of a step (--flops-per-token, --device, --dtype) on both sides, so that both have an ideal";
    let other_work = differences.iter().any(|d| {
        d.condition.touches == Touches::Work && d.before.is_some() && d.after.is_some()
            || matches!(d.condition.key, "system.devices" | "system.device_types")
    });
    if other_work {
        return Err(no_factor("BEFORE and AFTER", STATE));
    }
    let mean = |report: &Report, side| match report {
        Report::Timeline(job) => {
            let blocks = &job.samples.step_blocks;
            let steps: u64 = blocks.iter().map(|b| b.steps).sum();
            let time: i128 = blocks.iter().map(|b| b.productive_ns.0).sum();
            if steps == 0 || time <= 0 { Err(no_factor(side, STATE)) } else { Ok(time as f64 / steps as f64) }
        }
        Report::Account(_) => Err(no_factor(side, STATE)),
    };
    Ok(mean(before, SIDES[0])? / mean(after, SIDES[1])?)
}

#[allow(clippy::too_many_arguments, reason = "one row of the comparison, each argument a column")]
fn moved(
    before: &Report,
    after: &Report,
    boundary: Boundary,
    values: Option<[f64; 2]>,
    ratio: Option<f64>,
    (series, unit): (Option<(&Series, &Series)>, &'static str),
    deviations: Option<&Deviations>,
    options: &Options,
) -> FactorMove {
    let value = ratio.or(values.map(|[one, other]| other / one)).unwrap_or(1.0);
    let interval = deviations.and_then(|d| bootstrap::interval(value, d, options.confidence));
    let coverage = [before, after].map(|r| r.factors().get(boundary).map_or(0.0, |f| f.coverage));
    FactorMove {
        boundary,
        decides: true,
        values,
        coverage,
        ratio: Ratio { value, interval },
        samples: series.map_or([0; 2], |(one, other)| [one.count(), other.count()]),
        unit,
        block: series.map_or([0; 2], |(one, other)| [one.block(), other.block()]),
        headroom: values.and_then(|[_, after]| trade::headroom(after).ok()),
        may_give_up: values.and_then(|[one, other]| trade::may_give_up(one, other).ok()).filter(|&s| s > 0.0),
    }
}

fn adequacy_of(report: &Report, contract: &Contract) -> Vec<Adequacy> {
    let mtbf_hours = contract.number("statistics.mtbf_hours");
    adequacy::judge(&adequacy::Evidence { mtbf_hours, ..report.evidence() })
}

/// What a verdict rests on.
pub(super) struct Judged<'a> {
    pub gates: &'a [Gate; 2],
    pub factors: &'a [FactorMove],
    pub product: Ratio,
    pub adequacy: &'a [Vec<Adequacy>; 2],
    pub statistical: Option<&'a StatisticalEfficiency>,
}

/// The verdict, and why.
pub(super) fn verdict(judged: Judged<'_>, only_the_pool_tells: bool) -> (Verdict, Vec<String>) {
    let Judged { gates, factors, product, adequacy, statistical } = judged;
    if let Gate::Failed { metric } = &gates[1] {
        let reason = format!(
            "the quality gate on {metric} failed after the change: no speed makes up for a result that does not count"
        );
        return (Verdict::Reject, vec![reason]);
    }
    let mut open = Vec::new();
    for boundary in [Boundary::Runtime, Boundary::Program] {
        if !factors.iter().any(|f| f.boundary == boundary) {
            open.push(format!(
                "{boundary} goodput is settled on neither side: the product is that of the other factors"
            ));
        }
    }
    if only_the_pool_tells {
        open.push(
            "a policy that moves capacity between jobs differs: what the other jobs lost does not show in one job; compare two reports of goodput account".to_owned(),
        );
    }
    for (side, judged) in ["before", "after"].into_iter().zip(adequacy) {
        let short = judged.iter().filter(|a| !a.adequate);
        let decides = |a: &&Adequacy| factors.iter().any(|f| f.decides && f.boundary == a.boundary);
        open.extend(short.filter(decides).map(|a| format!("{side}: {}", a.sentence)));
    }
    let Some(Interval { low, high }) = product.interval else {
        let unit =
            factors.iter().find(|f| f.decides && f.ratio.interval.is_none()).map_or("samples", |f| f.unit);
        let remedy = match unit {
            "days" => ": write both reports with `goodput account --blocks day`",
            super::serving::DAYS => ": account windows of three days or more, better of whole weeks",
            _ => "",
        };
        open.insert(
            0,
            format!("the product has no interval: fewer than {} {unit} on a side{remedy}", bootstrap::FEWEST),
        );
        return (Verdict::NotDecided, open);
    };
    // What an example is worth gates the gain: a faster step towards nothing is no gain.
    let worth = statistical.map_or(1.0, |s| s.ratio);
    let what = if worth == 1.0 { "the product" } else { "the product times statistical efficiency" };
    let text = format!("the interval of {what} is {:.4} to {:.4}", low * worth, high * worth);
    if !open.is_empty() {
        open.push(text);
        return (Verdict::NotDecided, open);
    }
    if low * worth > 1.0 {
        (Verdict::Accept, vec![format!("{text}: above one")])
    } else if high * worth < 1.0 {
        (Verdict::Reject, vec![format!("{text}: below one")])
    } else {
        (Verdict::NotDecided, vec![format!("{text}: it holds one")])
    }
}

fn pace(report: &Report) -> Option<Pace> {
    let (CapacityTime { held_ns, retained_ns, runtime_losses, .. }, steps) = match report {
        Report::Timeline(job) => (&job.capacity_time, job.steps.retained),
        Report::Account(fleet) => {
            (&fleet.capacity_time, fleet.jobs.iter().filter_map(|j| j.steps).map(|s| s.retained).sum())
        }
    };
    let a_step = |ns: i128| ns as f64 / steps as f64;
    (steps > 0).then(|| Pace {
        productive: a_step(retained_ns.0),
        lost: a_step(held_ns.0 - retained_ns.0),
        input_wait: a_step(runtime_losses.get("input_wait_ns").map_or(0, |ns| ns.0)),
    })
}

fn notes(before: &Report, after: &Report, factors: &[FactorMove]) -> Vec<String> {
    let mut notes = Vec::new();
    for factor in factors {
        let least = factor.coverage[0].min(factor.coverage[1]);
        if factor.values.is_some() && least < 0.95 {
            notes.push(format!(
                "{} goodput is settled on {:.0}% before and {:.0}% after of what arrived: the ratio is that of the settled shares",
                factor.boundary,
                100.0 * factor.coverage[0],
                100.0 * factor.coverage[1]
            ));
        }
        if factor.values.is_none() {
            notes.push(
                "no ideal is known on one side: the ratio of program goodput is that of step times, for the same work a step on the same devices"
                    .to_owned(),
            );
        }
    }
    let peaks = [before, after].map(|r| r.contract().ideals.first().map(|i| i.peak_flops_per_second));
    if let [Some(one), Some(other)] = peaks
        && one != other
    {
        notes.push(format!(
            "the peaks differ ({:.4} and {:.4} PFLOP/s a device): the ratio of program goodput is of shares of different peaks, not of speeds",
            one / 1e15,
            other / 1e15
        ));
    }
    notes
}
