//! `ask: fleet`: the three factors, their product, what a point of each is worth, and what useful work costs. `ask:
//! trade`: a change that moves several factors.

use goodput_core::Boundary;
use goodput_core::cost::Cost;
use goodput_core::factors::Factors;
use goodput_core::trade::{Ratio, Trade, Verdict, headroom, may_give_up};
use goodput_core::value::{Ceiling, rank_ceilings};

use super::answer::{Answer, Row, Rows, Unit};
use super::error::PlanError;
use super::fields::Fields;
use super::quantity::Quantity;
use super::run::JobRun;
use super::words::{digits, percent};

const KEYS: [&str; 3] = ["scheduling", "runtime", "program"];

pub(super) fn answer(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name", "ceilings"])?;
    let range = PlanError::range(fields.path());
    let runtime = match fields.get("factors.runtime", Quantity::Factor)? {
        Some(runtime) => runtime,
        None => {
            let run = JobRun::read(fields)?;
            let held_s = fields.get("job.held", Quantity::Span)?.ok_or_else(|| {
                fields.missing(
                    "factors.runtime",
                    "a factor, or job.held with the job's interruptions to model it",
                )
            })?;
            run.retained(fields, held_s, run.interval_s(fields)?)?
        }
    };
    let factors = Factors::estimate(
        fields.need("factors.scheduling", Quantity::Factor)?,
        runtime,
        fields.need("factors.program", Quantity::Factor)?,
        "stated or modelled in the plan",
    )
    .map_err(&range)?;
    let mut answer = Answer::default();
    answer
        .figure("mpg", "MPG, an estimate", factors.mpg(), Unit::Factor)
        .figure("job_product", "runtime x program goodput", factors.job_product(), Unit::Factor)
        .figure("runtime_goodput", "runtime goodput", runtime, Unit::Factor);
    let shares = Boundary::ALL.map(|boundary| factors.loss_share(boundary));
    let marginal = Boundary::ALL.map(|boundary| factors.marginal_value(boundary));
    let rows = Boundary::ALL.into_iter().zip(shares).zip(marginal).map(|((boundary, share), value)| Row {
        name: boundary.key().to_owned(),
        cells: vec![
            Some(factors.get(boundary)),
            Some(share),
            Some(value),
            headroom(factors.get(boundary)).ok().map(|most| most - 1.0),
        ],
        mark: None,
    });
    answer.rows.push(Rows {
        title: "Factors",
        columns: vec![
            ("factor", "factor", Unit::Factor),
            ("loss_share", "loss, of offered", Unit::Share),
            ("marginal", "MPG a point", Unit::Number),
            ("headroom", "most that it can add", Unit::Share),
        ],
        rows: rows.collect(),
    });
    answer.verdict = format!("MPG {:.3} (an estimate from the plan's factors).", factors.mpg());
    if let Some(ceilings) = fields.under("ceilings")? {
        rank(&mut answer, &ceilings, &factors)?;
    }
    if let Some(price) = fields.get("price.per_device_hour", Quantity::Positive)? {
        let cost = Cost::of(&factors, price).map_err(&range)?;
        answer
            .figure(
                "cost_per_useful_device_hour",
                "a useful device-hour costs",
                cost.per_useful_device_hour,
                Unit::Money,
            )
            .figure("multiplier", "offered device-hours for a useful one", cost.multiplier, Unit::Number)
            .figure(
                "chargeback_multiplier",
                "held ones for a useful one",
                cost.chargeback_multiplier,
                Unit::Number,
            );
        answer.verdict += &format!(" A useful device-hour costs {}.", digits(cost.per_useful_device_hour));
    }
    Ok(answer)
}

fn rank(answer: &mut Answer, ceilings: &Fields<'_>, factors: &Factors) -> Result<(), PlanError> {
    ceilings.only(&KEYS)?;
    let range = PlanError::range(ceilings.path());
    let mut stated = Vec::new();
    for (key, boundary) in KEYS.into_iter().zip(Boundary::ALL) {
        if let Some(value) = ceilings.get(key, Quantity::Factor)? {
            let now = factors.get(boundary);
            if value < now {
                let message = format!(
                    "a ceiling of {value} below the factor itself, {now:.4}: expected the value that the lever could \
                     raise it to, {now:.4} to 1"
                );
                return Err(ceilings.refuse(key, message));
            }
            stated.push(Ceiling { name: key.to_owned(), boundary, value });
        }
    }
    let gains = rank_ceilings(factors, &stated).map_err(&range)?;
    if let Some(first) = gains.first() {
        answer.verdict += &format!(
            " The {} lever gains most at its ceiling ({}).",
            first.name,
            percent(first.relative_gain)
        );
    }
    let mut rows = Vec::new();
    for gain in &gains {
        let from = gain.from;
        rows.push(Row {
            name: gain.name.clone(),
            cells: vec![
                Some(from),
                Some(gain.to),
                Some(gain.mpg),
                Some(gain.relative_gain),
                Some(may_give_up(from, gain.to).map_err(&range)?),
            ],
            mark: None,
        });
    }
    answer.rows.push(Rows {
        title: "Ceilings, one at a time: gains do not add",
        columns: vec![
            ("factor", "now", Unit::Factor),
            ("ceiling", "ceiling", Unit::Factor),
            ("mpg", "MPG there", Unit::Factor),
            ("gain", "gain", Unit::Share),
            ("may_give_up", "other factors may give up", Unit::Share),
        ],
        rows,
    });
    Ok(())
}

/// Ratios of the factors that a change moves.
pub(super) fn trade(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name", "ratios"])?;
    let ratios = fields
        .under("ratios")?
        .ok_or_else(|| fields.missing("ratios", "as in {program: 1.10, runtime: 11/12}"))?;
    ratios.only(&KEYS)?;
    let mut moved = Vec::new();
    for (key, boundary) in KEYS.into_iter().zip(Boundary::ALL) {
        if let Some(value) = ratios.get(key, Quantity::Positive)? {
            moved.push(Ratio { boundary, value });
        }
    }
    if moved.is_empty() {
        return Err(
            fields.missing("ratios", "at least one of scheduling, runtime, program, after over before")
        );
    }
    let trade = Trade::judge(&moved).map_err(PlanError::range(fields.path()))?;
    let mut answer = Answer::default();
    answer.figure("product", "product of the ratios", trade.product, Unit::Number);
    let word = match trade.verdict {
        Verdict::Accept => "Accept",
        Verdict::Even => "Even",
        Verdict::Reject => "Reject",
    };
    answer.verdict = format!("{word}: the product is {:.5} of what it was.", trade.product);
    Ok(answer)
}
