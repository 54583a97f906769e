//! `ask: sizing`: an elastic job waits for all its devices, stays small, or steps up.

use goodput_core::elastic::{ReferenceRate, Running, Schedule, Stage};

use super::answer::{Answer, Row, Rows, Unit};
use super::error::PlanError;
use super::fields::Fields;
use super::quantity::Quantity;
use super::words::{digits, time};

pub(super) fn answer(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name", "reference", "window", "target_units", "schedules"])?;
    let reference = fields
        .under("reference")?
        .ok_or_else(|| fields.missing("reference", "as in {devices: 128, units_per_hour: 1}"))?;
    reference.only(&["devices", "units_per_hour"])?;
    let reference = ReferenceRate {
        devices: reference.need("devices", Quantity::Count)?,
        units_per_hour: reference.need("units_per_hour", Quantity::Positive)?,
    };
    let window_h = fields.need("window", Quantity::Span)? / 3600.0;
    let listed = fields.named("schedules")?;
    if listed.is_empty() {
        return Err(fields.missing("schedules", "a list of {name, stages, last}"));
    }
    let mut schedules = Vec::new();
    for (name, option) in &listed {
        option.only(&["name", "stages", "last", "price"])?;
        schedules.push((name.clone(), schedule(reference, option)?, price(option)?));
    }
    let most =
        |units: f64, (_, schedule, _): &(String, Schedule, _)| units.max(schedule.units_within(window_h));
    let target =
        fields.get("target_units", Quantity::Positive)?.unwrap_or_else(|| schedules.iter().fold(0.0, most));
    if target <= 0.0 {
        let message =
            "no schedule runs before it ends, so nothing compares them: expected a window in which one runs";
        return Err(fields.refuse("window", message));
    }
    let has_price = |(_, _, price): &(String, Schedule, Option<f64>)| price.is_some();
    if let (Some(priced), Some(unpriced)) =
        (schedules.iter().position(has_price), schedules.iter().position(|schedule| !has_price(schedule)))
    {
        let message = format!(
            "{} has a price and this schedule has none: expected {} of every schedule, or of none",
            schedules[priced].0,
            Quantity::Positive.expected()
        );
        return Err(PlanError::new(listed[unpriced].1.at("price.per_device_hour"), message));
    }
    compare(fields, &schedules, window_h, target)
}

fn compare(
    fields: &Fields<'_>,
    schedules: &[(String, Schedule, Option<f64>)],
    window_h: f64,
    target: f64,
) -> Result<Answer, PlanError> {
    let range = PlanError::range(fields.path());
    let mut points = Vec::new();
    for (name, schedule, price) in schedules {
        let reached = schedule.reach(target).map_err(&range)?;
        let goodput = schedule.relative_goodput(target).map_err(&range)?;
        points.push((name, schedule.units_within(window_h), reached, goodput, *price));
    }
    let priced = points.iter().all(|point| point.4.is_some());
    // At one price, device-hours are the cost; at several, only money compares.
    let cost = |point: &(_, _, goodput_core::elastic::Reached, f64, Option<f64>)| {
        point.2.held_device_hours * point.4.unwrap_or(1.0)
    };
    let mut rows = Vec::new();
    for point in &points {
        let (name, units, reached, goodput, _) = point;
        let better = points.iter().find(|other| {
            let (no_worse_time, no_worse_cost) = (other.2.hours <= reached.hours, cost(other) <= cost(point));
            no_worse_time && no_worse_cost && (other.2.hours < reached.hours || cost(other) < cost(point))
        });
        rows.push(Row {
            name: (*name).clone(),
            cells: vec![
                Some(*units),
                Some(reached.hours * 3600.0),
                Some(reached.held_device_hours),
                Some(*goodput),
                priced.then(|| cost(point)),
            ],
            mark: better.map(|other| format!("dominated by {}", other.0)),
        });
    }
    let most = points.iter().max_by(|one, other| one.1.total_cmp(&other.1));
    let least = points.iter().min_by(|one, other| cost(one).total_cmp(&cost(other)));
    let mut answer = Answer::default();
    if let (Some(most), Some(least)) = (most, least) {
        answer.verdict = format!(
            "{} gets furthest in the window ({} units); {} reaches {} units at the least {} ({} held).",
            most.0,
            digits(most.1),
            least.0,
            digits(target),
            if priced { "cost" } else { "device-time" },
            format_args!("{} device-hours", digits(least.2.held_device_hours)),
        );
    }
    for (name, schedule, _) in schedules {
        for (other_name, other, _) in schedules {
            let apart = name != other_name && schedule.has_pause();
            if let Some(hours) = schedule.break_even_pause_hours(other, window_h).filter(|_| apart) {
                answer.verdict += &format!(
                    " {name} stays ahead of {other_name} with pauses up to {}.",
                    time(hours * 3600.0)
                );
                answer.figure(
                    "break_even_pause_s",
                    "pause that cancels the advantage of changing size",
                    hours * 3600.0,
                    Unit::Seconds,
                );
            }
        }
    }
    answer.figure("target_units", "units to reach", target, Unit::Number);
    answer.rows.push(Rows {
        title: "Schedules",
        columns: vec![
            ("units_in_window", "units in the window", Unit::Number),
            ("time_s", "time to the target", Unit::Seconds),
            ("held_device_hours", "held, device-hours", Unit::DeviceHours),
            ("relative_goodput", "useful work a held device-hour, against the reference", Unit::Factor),
            ("cost", "cost", Unit::Money),
        ],
        rows,
    });
    Ok(answer)
}

fn price(option: &Fields<'_>) -> Result<Option<f64>, PlanError> {
    option.get("price.per_device_hour", Quantity::Positive)
}

fn running(fields: &Fields<'_>) -> Result<Running, PlanError> {
    Ok(Running {
        devices: fields.need("devices", Quantity::Count)?,
        efficiency: fields.need("efficiency", Quantity::Factor)?,
    })
}

fn schedule(reference: ReferenceRate, option: &Fields<'_>) -> Result<Schedule, PlanError> {
    let mut stages = Vec::new();
    for stage in option.list("stages")? {
        stage.only(&["wait", "pause", "run", "devices", "efficiency"])?;
        let hours = |key| stage.get(key, Quantity::Duration).map(|s| s.map(|s| s / 3600.0));
        stages.push(match (hours("wait")?, hours("pause")?, hours("run")?) {
            (Some(hours), None, None) => Stage::Wait { hours },
            (None, Some(hours), None) => Stage::Pause { devices: stage.need("devices", Quantity::Count)?, hours },
            (None, None, Some(hours)) => Stage::Run { running: running(&stage)?, hours },
            _ => {
                return Err(PlanError::new(
                    stage.path(),
                    "expected one of `wait: 4 h`, `run: 4 h` with devices and efficiency, `pause: 10 min` with devices",
                ));
            }
        });
    }
    let last = option
        .under("last")?
        .ok_or_else(|| option.missing("last", "as in {devices: 512, efficiency: 0.8}"))?;
    last.only(&["devices", "efficiency"])?;
    Schedule::new(reference, stages, running(&last)?).map_err(PlanError::range(option.path()))
}
