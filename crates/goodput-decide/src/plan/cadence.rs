//! `ask: cadence`: how often to save.

use goodput_core::composed::{Cadence, RuntimeInputs};
use goodput_core::ettr::EttrInputs;

use super::answer::{Answer, Picture, Row, Rows, Unit};
use super::error::PlanError;
use super::fields::Fields;
use super::quantity::Quantity;
use super::run::{Eviction, JobRun};
use super::words::{percent, time};

/// Intervals of the curve, as multiples of the best one.
const CURVE: [f64; 11] = [0.125, 0.25, 0.354, 0.5, 0.707, 1.0, 1.414, 2.0, 2.83, 4.0, 8.0];

/// The flat region: intervals whose loss to saves and rework is at most this much above the least.
const FLAT: f64 = 1.05;

pub(super) fn answer(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name"])?;
    let run = JobRun::read(fields)?;
    let held_s = fields.or("job.held", Quantity::Span, 604_800.0)?;
    let range = PlanError::range(fields.path());
    let Some(interval_s) = run.interval_s(fields)? else {
        return Err(PlanError::new(
            fields.at("reliability.mtbf"),
            "nothing rolls this job back: state reliability.mtbf, or preemptions that lose work",
        ));
    };
    let loss = run.loss(held_s, Some(interval_s)).map_err(&range)?;
    run.retained(fields, held_s, Some(interval_s))?;
    let mut answer = Answer::default();
    answer.figure("interval_s", "training between two saves", interval_s, Unit::Seconds);
    let composed = run.composed(held_s, Some(interval_s));
    let young_daly = |cadence| RuntimeInputs { cadence, ..composed }.checkpoint_interval_s();
    if let Some(seconds) = young_daly(Cadence::YoungDaly).filter(|s| *s > 0.0) {
        answer.figure("young_daly_s", "Young-Daly, failures alone", seconds, Unit::Seconds);
    }
    if run.evictions_per_s > 0.0
        && let Some(seconds) = young_daly(Cadence::YoungDalyWithPreemptions).filter(|s| *s > 0.0)
    {
        answer.figure(
            "young_daly_with_preemptions_s",
            "Young-Daly, preemptions as interruptions",
            seconds,
            Unit::Seconds,
        );
    }
    answer.figure("loss", "runtime loss there, first order", loss.runtime(), Unit::Share);
    let best_s = run.best_interval_s();
    if let (Some(best_s), Some(exact_s)) = (best_s, run.exact_interval_s()) {
        let moved = |interval_s| run.loss(held_s, Some(interval_s)).map(|loss| moved_by_cadence(&run, &loss));
        let least = moved(best_s).map_err(&range)?;
        answer.figure("best_interval_s", "best, first order", best_s, Unit::Seconds);
        answer.figure("exact_interval_s", "optimum for exponential interruptions", exact_s, Unit::Seconds);
        let (from_s, to_s) = flat(&run, best_s);
        answer
            .figure(
                "flat_from_s",
                "saves and rework at most 5 % above the least, from",
                from_s,
                Unit::Seconds,
            )
            .figure("flat_to_s", "to", to_s, Unit::Seconds);
        answer.verdict = format!(
            "Save every {}: {} of held time goes to saves and rework. Between {} and {} it costs at most a twentieth \
             more of that.",
            time(best_s),
            percent(least),
            time(from_s),
            time(to_s)
        );
        if let Some(every_s) = run.every_s {
            let over = moved(every_s).map_err(&range)? - least;
            answer.figure("over_best", "what the stated interval costs beyond the best", over, Unit::Share);
            answer.verdict += &format!(
                " The stated interval of {} costs {} of held time more.",
                time(every_s),
                percent(over)
            );
        }
        curve(&mut answer, &run, best_s, held_s).map_err(&range)?;
    } else {
        answer.verdict = format!(
            "At {} between saves, {} of held time is lost.",
            time(interval_s),
            percent(loss.runtime())
        );
    }
    if run.durable_after_s > 0.0 {
        answer
            .figure(
                "contention",
                "slower steps while a save is in flight (program loss)",
                loss.contention,
                Unit::Share,
            )
            .figure("not_durable", "rework of generations not durable yet", loss.not_durable, Unit::Share);
    }
    if run.evictions_per_s > 0.0 {
        answer.verdict += match (run.graceful, run.eviction) {
            (true, _) => " Preemptions save on their notice, so they do not shorten the interval.",
            (false, Eviction::RollsBack(_)) => {
                " Preemptions lose what was not saved, so they shorten the interval."
            }
            (false, Eviction::Costs(_)) => " Preemptions cost what is stated, whatever the interval.",
        };
        on_notice(&mut answer, fields, &run, held_s)?;
    }
    ettr(&mut answer, fields, &run, interval_s)?;
    answer.warnings.extend(loss.composed.left_small_loss_regime().map(|left| left.to_string()));
    Ok(answer)
}

/// Loss that depends on the interval.
fn moved_by_cadence(run: &JobRun, loss: &super::run::RunLoss) -> f64 {
    let rollbacks = match run.eviction {
        Eviction::RollsBack(restart_s) => loss.composed.preemption - run.evictions_per_s * restart_s,
        Eviction::Costs(_) => 0.0,
    };
    loss.composed.checkpoint() + rollbacks + loss.contention
}

/// `(x + 1/x)/2 = 1.05` has the ends of the region, as multiples of the optimum; no interval is shorter than the flush.
fn flat(run: &JobRun, best_s: f64) -> (f64, f64) {
    let reach = (FLAT * FLAT - 1.0_f64).sqrt();
    ((best_s * (FLAT - reach)).max(run.durable_after_s), best_s * (FLAT + reach))
}

fn curve(
    answer: &mut Answer,
    run: &JobRun,
    best_s: f64,
    held_s: f64,
) -> Result<(), goodput_core::OutOfRange> {
    let mut rows = Vec::new();
    let mut line = Vec::new();
    let mut intervals: Vec<f64> =
        CURVE.iter().map(|times| best_s * times).filter(|s| *s >= run.durable_after_s).collect();
    intervals.extend(run.every_s);
    intervals.sort_by(f64::total_cmp);
    for interval_s in intervals {
        let loss = run.loss(held_s, Some(interval_s))?;
        let moved = moved_by_cadence(run, &loss);
        line.push((interval_s / 60.0, moved));
        rows.push(Row {
            name: time(interval_s),
            cells: vec![
                Some(loss.composed.checkpoint_write + loss.contention),
                Some(moved - loss.composed.checkpoint_write - loss.contention),
                Some(moved),
                Some(run.expected_runtime_goodput(Some(interval_s))),
            ],
            mark: if interval_s == best_s {
                Some("best".to_owned())
            } else {
                (Some(interval_s) == run.every_s).then(|| "stated".to_owned())
            },
        });
    }
    answer.rows.push(Rows {
        title: "Loss against interval",
        columns: vec![
            ("saves", "saves", Unit::Share),
            ("rework", "rework", Unit::Share),
            ("both", "both", Unit::Share),
            ("runtime_goodput", "R, exponential", Unit::Factor),
        ],
        rows,
    });
    let least = run.loss(held_s, Some(best_s)).map(|loss| moved_by_cadence(run, &loss))?;
    answer.picture = Some(Picture::Curves {
        x: "training between two saves (min)",
        y: "share of held time to saves and rework",
        lines: vec![("saves and rework".to_owned(), line)],
        marks: vec![("best".to_owned(), best_s / 60.0, least)],
    });
    Ok(())
}

/// What a save on notice would change, or what it saves already.
fn on_notice(answer: &mut Answer, fields: &Fields<'_>, run: &JobRun, held_s: f64) -> Result<(), PlanError> {
    let restart_s = match run.eviction {
        Eviction::RollsBack(restart_s) => restart_s,
        Eviction::Costs(_) if run.graceful => {
            fields.get("preemption.restart", Quantity::Duration)?.unwrap_or(run.startup_s)
        }
        Eviction::Costs(_) => return Ok(()),
    };
    let save_s = run.pause_s + run.durable_after_s;
    let range = PlanError::range(fields.path());
    let total = |eviction, graceful| {
        let run = JobRun { eviction, graceful, ..*run };
        run.loss(held_s, run.every_s.or_else(|| run.best_interval_s())).map(|loss| loss.total())
    };
    let forced = total(Eviction::RollsBack(restart_s), false).map_err(&range)?;
    let graceful = total(Eviction::Costs(save_s + restart_s), true).map_err(&range)?;
    answer
        .figure("loss_forced", "loss when preemptions roll back", forced, Unit::Share)
        .figure("loss_on_notice", "loss when preemptions save on notice", graceful, Unit::Share)
        .figure("notice_needed_s", "notice that a save needs", save_s, Unit::Seconds);
    let notice_s = fields.get("preemption.notice", Quantity::Duration)?;
    if let Some(notice_s) = notice_s.filter(|notice_s| *notice_s < save_s) {
        answer.warnings.push(format!(
            "a notice of {} is too short for a save of {}: preemptions roll back",
            time(notice_s),
            time(save_s)
        ));
    }
    Ok(())
}

/// Kokolis' expected ETTR, where failures are stated by node and day.
fn ettr(answer: &mut Answer, fields: &Fields<'_>, run: &JobRun, interval_s: f64) -> Result<(), PlanError> {
    let rate = fields.get("reliability.failures_per_node_day", Quantity::Positive)?;
    let (Some(failures_per_node_day), None) = (rate, fields.get("reliability.mtbf", Quantity::Span)?) else {
        return Ok(());
    };
    let inputs = EttrInputs {
        nodes: fields.need("reliability.nodes", Quantity::Count)?,
        failures_per_node_day,
        restart_s: run.recovery_s,
        checkpoint_interval_s: interval_s,
        checkpoint_write_s: run.pause_s,
    };
    let range = PlanError::range(fields.path());
    answer
        .figure("mttf_s", "mean time to failure of the job", inputs.mttf_s().map_err(&range)?, Unit::Seconds)
        .figure(
            "expected_ettr",
            "expected ETTR without queueing (Kokolis et al. 2025)",
            inputs.expected_ettr().map_err(&range)?,
            Unit::Factor,
        );
    Ok(())
}
