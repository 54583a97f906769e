//! `ask: staging`: saves in the background against saves that halt training, each at its own best interval.

use goodput_core::Boundary;
use goodput_core::trade::{Ratio, Trade, Verdict};

use super::answer::{Answer, Row, Rows, Unit};
use super::error::PlanError;
use super::fields::Fields;
use super::quantity::Quantity;
use super::run::{Eviction, JobRun};
use super::words::{percent, time};

pub(super) fn answer(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name", "stage"])?;
    let synchronous = JobRun { durable_after_s: 0.0, contention: 0.0, ..JobRun::read(fields)? };
    let staged = JobRun {
        pause_s: fields.need("stage", Quantity::Duration)?,
        contention: fields.need("checkpoint.contention", Quantity::Share)?,
        durable_after_s: fields.need("checkpoint.durable_after", Quantity::Duration)?,
        eviction: match synchronous.eviction {
            // A save on notice has to be durable before the devices go.
            Eviction::Costs(cost_s) if synchronous.graceful => Eviction::Costs(
                cost_s - synchronous.pause_s
                    + fields.need("stage", Quantity::Duration)?
                    + fields.need("checkpoint.durable_after", Quantity::Duration)?,
            ),
            other => other,
        },
        ..synchronous
    };
    let goodput = |run: &JobRun| -> Result<(f64, f64, f64), PlanError> {
        let interval_s = run.interval_s(fields)?.ok_or_else(|| {
            PlanError::new(
                fields.at("reliability.mtbf"),
                "nothing rolls this job back: expected reliability.mtbf, or preemptions that lose work",
            )
        })?;
        let interval_s = interval_s.max(run.durable_after_s);
        Ok((interval_s, run.expected(fields, Some(interval_s))?, run.pace(Some(interval_s))))
    };
    let (one, other) = (goodput(&synchronous)?, goodput(&staged)?);
    let trade = Trade::judge(&[
        Ratio { boundary: Boundary::Runtime, value: other.1 / one.1 },
        Ratio { boundary: Boundary::Program, value: other.2 / one.2 },
    ])
    .map_err(PlanError::range(fields.path()))?;
    let mut answer = Answer::default();
    answer
        .figure("runtime_ratio", "runtime goodput, staged over synchronous", other.1 / one.1, Unit::Number)
        .figure("program_ratio", "program goodput, staged over synchronous", other.2 / one.2, Unit::Number)
        .figure("product", "product of the ratios", trade.product, Unit::Number);
    // The steps may be slower by as much as the pauses that go away, while a flush is in flight.
    let room = 1.0 - one.1 / other.1;
    let in_flight = staged.durable_after_s.min(other.0) / other.0;
    if room > 0.0 && in_flight > 0.0 && room < in_flight {
        answer.figure(
            "break_even_contention",
            "contention at which both give the same",
            room / (in_flight - room),
            Unit::Share,
        );
    }
    let row = |name: &str, figures: (f64, f64, f64)| Row {
        name: name.to_owned(),
        cells: vec![Some(figures.0), Some(figures.1), Some(figures.2), Some(figures.1 * figures.2)],
        mark: None,
    };
    answer.rows.push(Rows {
        title: "Saves",
        columns: vec![
            ("interval_s", "interval", Unit::Seconds),
            ("runtime_goodput", "runtime goodput", Unit::Factor),
            ("pace", "pace of the steps", Unit::Factor),
            ("product", "product", Unit::Factor),
        ],
        rows: vec![row("synchronous", one), row("staged", other)],
    });
    answer.verdict = format!(
        "{}: staged saves change runtime goodput by {} and the pace of steps by {}; the product is {:.5} of what it was. \
         A generation is durable {} after its pause.",
        match trade.verdict {
            Verdict::Accept => "Stage",
            Verdict::Even => "Even",
            Verdict::Reject => "Stay synchronous",
        },
        percent(other.1 / one.1 - 1.0),
        percent(other.2 / one.2 - 1.0),
        trade.product,
        time(staged.durable_after_s)
    );
    Ok(answer)
}
