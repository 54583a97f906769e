//! `ask: preemption`, `lending` and `placement`: levers that move capacity between jobs, judged on the pool.

use goodput_core::Boundary;
use goodput_core::trade::{Ratio, Trade, Verdict};

use super::answer::{Answer, Unit};
use super::error::PlanError;
use super::fields::Fields;
use super::quantity::Quantity;
use super::words::{digits, time};

/// A pool over a window, and what a lever moves in it.
struct Moved {
    /// Device-seconds.
    offered: f64,
    scheduling: f64,
    runtime: f64,
    /// Held device-seconds that the lever adds.
    gained: f64,
    /// Retained device-seconds that it costs.
    lost: f64,
}

/// A pool's devices and the window in which it is judged.
struct Pool {
    devices: f64,
    window_s: f64,
}

impl Pool {
    fn read(fields: &Fields<'_>) -> Result<Self, PlanError> {
        let pool = fields
            .under("pool")?
            .ok_or_else(|| fields.missing("pool", "as in {devices: 1024, window: 7 d}"))?;
        pool.only(&["devices", "window"])?;
        Ok(Self {
            devices: pool.need("devices", Quantity::Count)?,
            window_s: pool.need("window", Quantity::Span)?,
        })
    }

    /// Refuses a part of the pool that has more devices than the pool, or lasts longer than its window.
    fn holds(&self, part: &Fields<'_>, devices: f64, lasts: Option<(&str, f64)>) -> Result<(), PlanError> {
        if devices > self.devices {
            let message = format!(
                "{devices} devices of a pool of {}: expected no more than `pool.devices`",
                self.devices
            );
            return Err(part.refuse("devices", message));
        }
        match lasts.filter(|(_, lasts_s)| *lasts_s > self.window_s) {
            Some((key, lasts_s)) => {
                let message = format!(
                    "{} in a window of {}: expected no longer than `pool.window`",
                    time(lasts_s),
                    time(self.window_s)
                );
                Err(part.refuse(key, message))
            }
            None => Ok(()),
        }
    }
}

impl Moved {
    fn read(fields: &Fields<'_>, pool: &Pool, gained: f64, lost: f64) -> Result<Self, PlanError> {
        let moved = Self {
            offered: pool.devices * pool.window_s,
            scheduling: fields.need("factors.scheduling", Quantity::Factor)?,
            runtime: fields.need("factors.runtime", Quantity::Factor)?,
            gained,
            lost,
        };
        let unheld = moved.offered * (1.0 - moved.scheduling);
        if gained > unheld {
            let message = format!(
                "{} device-hours cannot be gained: at this factor the pool leaves {} unheld in its window; expected \
                 factors and lever over the same window",
                digits(gained / 3600.0),
                digits(unheld / 3600.0)
            );
            return Err(fields.refuse("factors.scheduling", message));
        }
        Ok(moved)
    }

    /// The pool's scheduling and runtime ratios; its program factor stays.
    /// `loses` is where the loss is stated.
    fn judge(&self, fields: &Fields<'_>, loses: &Fields<'_>, answer: &mut Answer) -> Result<(), PlanError> {
        let held = self.offered * self.scheduling;
        let scheduling = (held + self.gained) / held;
        let runtime = 1.0 - self.lost / (self.runtime * (held + self.gained));
        if runtime <= 0.0 {
            let message = format!(
                "{} device-hours are lost, and the pool retains {} in its window: expected a loss below that",
                digits(self.lost / 3600.0),
                digits(self.runtime * (held + self.gained) / 3600.0)
            );
            return Err(loses.refuse("lost_work", message));
        }
        let trade = Trade::judge(&[
            Ratio { boundary: Boundary::Scheduling, value: scheduling },
            Ratio { boundary: Boundary::Runtime, value: runtime },
        ])
        .map_err(PlanError::range(fields.path()))?;
        answer
            .figure(
                "gained_device_hours",
                "held device-hours gained",
                self.gained / 3600.0,
                Unit::DeviceHours,
            )
            .figure("lost_device_hours", "retained device-hours lost", self.lost / 3600.0, Unit::DeviceHours)
            .figure(
                "scheduling_ratio",
                "scheduling goodput of the pool, after over before",
                scheduling,
                Unit::Number,
            )
            .figure("runtime_ratio", "runtime goodput of the pool, after over before", runtime, Unit::Number)
            .figure("product", "product of the ratios", trade.product, Unit::Number);
        answer.verdict = format!(
            "{}: the pool's product is {:.5} of what it was. {}",
            said(trade.verdict),
            trade.product,
            answer.verdict
        );
        Ok(())
    }
}

const fn said(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accept => "Accept",
        Verdict::Even => "Even",
        Verdict::Reject => "Reject",
    }
}

/// An urgent gang forms by preempting instead of by draining.
pub(super) fn preemption(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name", "pool", "urgent", "victims", "cascade"])?;
    let section = |key, example| fields.under(key)?.ok_or_else(|| fields.missing(key, example));
    let urgent = section("urgent", "as in {devices: 512, drain: 6 h, free_while_draining: 0.5}")?;
    urgent.only(&["devices", "drain", "free_while_draining"])?;
    let pool = Pool::read(fields)?;
    let devices = urgent.need("devices", Quantity::Count)?;
    let drain_s = urgent.need("drain", Quantity::Duration)?;
    pool.holds(&urgent, devices, Some(("drain", drain_s)))?;
    let gained = devices * drain_s * urgent.need("free_while_draining", Quantity::Share)?;
    let victims = section("victims", "as in {count: 4, devices: 128, lost_work: 15 min, restart: 5 min}")?;
    victims.only(&["count", "devices", "lost_work", "restart"])?;
    let each_s =
        victims.need("lost_work", Quantity::Duration)? + victims.need("restart", Quantity::Duration)?;
    let victim_devices = victims.need("devices", Quantity::Count)?;
    pool.holds(&victims, victim_devices, None)?;
    let direct = victims.need("count", Quantity::Count)? * victim_devices * each_s;
    let cascade = cascade(fields)?;
    let mut answer = Answer::default();
    if direct > 0.0 {
        let even = Moved::read(fields, &pool, gained, 0.0)?.runtime * gained / direct;
        answer.figure(
            "break_even_cascade",
            "cascade at which the pool neither gains nor loses",
            even,
            Unit::Number,
        );
    }
    answer.figure("urgent_sooner_s", "the urgent job starts sooner by", drain_s, Unit::Seconds);
    answer.verdict = format!("The urgent job starts {} sooner.", time(drain_s));
    Moved::read(fields, &pool, gained, direct * cascade)?.judge(fields, &victims, &mut answer)?;
    Ok(answer)
}

/// A team's unused quota is lent, and taken back when the team needs it.
pub(super) fn lending(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name", "pool", "lent", "reclaims", "cascade"])?;
    let section = |key, example| fields.under(key)?.ok_or_else(|| fields.missing(key, example));
    let lent = section("lent", "as in {devices: 128, time: 20 h}")?;
    lent.only(&["devices", "time"])?;
    let devices = lent.need("devices", Quantity::Count)?;
    let time_s = lent.need("time", Quantity::Duration)?;
    let pool = Pool::read(fields)?;
    pool.holds(&lent, devices, Some(("time", time_s)))?;
    let lent_s = devices * time_s;
    let reclaims =
        section("reclaims", "as in {count: 3, lost_work: 15 min, restart: 5 min, owner_wait: 2 min}")?;
    reclaims.only(&["count", "lost_work", "restart", "owner_wait"])?;
    let count = reclaims.need("count", Quantity::Number)?;
    let each_s =
        reclaims.need("lost_work", Quantity::Duration)? + reclaims.need("restart", Quantity::Duration)?;
    let owner_s = reclaims.or("owner_wait", Quantity::Duration, 0.0)?;
    let gained = lent_s - count * devices * owner_s;
    if gained < 0.0 {
        let message = format!(
            "{count} reclaims of {} each take longer than the {} lent: expected waits within the lent time",
            time(owner_s),
            time(time_s)
        );
        return Err(reclaims.refuse("owner_wait", message));
    }
    let direct = devices * each_s;
    let mut answer = Answer::default();
    let cascade = cascade(fields)?;
    if direct > 0.0 {
        let runtime = Moved::read(fields, &pool, gained, 0.0)?.runtime;
        let even = runtime * lent_s / (direct * cascade + runtime * devices * owner_s);
        answer.figure(
            "break_even_reclaims",
            "reclaims at which lending neither gains nor loses",
            even,
            Unit::Number,
        );
    }
    answer.verdict =
        format!("Each reclaim costs the borrower {} and its owner {}.", time(each_s), time(owner_s));
    Moved::read(fields, &pool, gained, direct * count * cascade)?.judge(fields, &reclaims, &mut answer)?;
    Ok(answer)
}

fn cascade(fields: &Fields<'_>) -> Result<f64, PlanError> {
    let cascade = fields.or("cascade", Quantity::Positive, 1.0)?;
    if cascade < 1.0 {
        let message = format!(
            "found {cascade}, expected 1 or more: the victims themselves, and those that they displace"
        );
        return Err(PlanError::new(fields.at("cascade"), message));
    }
    Ok(cascade)
}

/// A gang waits for a compact placement.
pub(super) fn placement(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name", "wait", "kept_free", "program_now", "program_compact"])?;
    let wait_s = fields.need("wait", Quantity::Duration)?;
    let kept_free = fields.need("kept_free", Quantity::Share)?;
    let now = fields.need("program_now", Quantity::Factor)?;
    let compact = fields.need("program_compact", Quantity::Factor)?;
    let held_s = fields.need("job.held", Quantity::Span)?;
    // The same work takes less held time at the better placement.
    let compact_s = held_s * now / compact;
    let scheduling = compact_s / (compact_s + wait_s * kept_free);
    let trade = Trade::judge(&[
        Ratio { boundary: Boundary::Scheduling, value: scheduling },
        Ratio { boundary: Boundary::Program, value: compact / now },
    ])
    .map_err(PlanError::range(fields.path()))?;
    let saved_s = held_s - compact_s;
    let mut answer = Answer::default();
    answer
        .figure("program_ratio", "program goodput, compact over now", compact / now, Unit::Number)
        .figure("scheduling_ratio", "scheduling goodput of the job's capacity", scheduling, Unit::Number)
        .figure("product", "product of the ratios", trade.product, Unit::Number)
        .figure("time_now_s", "time to result, now", held_s, Unit::Seconds)
        .figure("time_compact_s", "time to result, after the wait", wait_s + compact_s, Unit::Seconds)
        .figure(
            "break_even_wait_s",
            "wait that the faster steps repay in time to result",
            saved_s,
            Unit::Seconds,
        );
    if kept_free > 0.0 {
        answer.figure(
            "break_even_kept_free_s",
            "wait that they repay in capacity",
            saved_s.max(0.0) / kept_free,
            Unit::Seconds,
        );
    }
    let capacity = if kept_free > 0.0 {
        format!("{}: the product is {:.5} of what it was", said(trade.verdict), trade.product)
    } else {
        format!(
            "{}: others use the devices meanwhile, so the wait costs no capacity, only time to result",
            said(trade.verdict)
        )
    };
    answer.verdict = format!(
        "{capacity}. The result comes {} {}.",
        time((saved_s - wait_s).abs()),
        if saved_s >= wait_s { "sooner" } else { "later" }
    );
    Ok(answer)
}
