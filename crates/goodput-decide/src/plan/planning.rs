//! `ask: days`, `trace_volume` and `tiers`: plans against a rate, the volume of a trace, an orchestrator's tiers.

use goodput_core::planning::{days_at_shortfall, trace_bytes};
use goodput_core::tiers::{ProductiveReference, UtilizationTiers};

use super::answer::{Answer, Unit};
use super::error::PlanError;
use super::fields::Fields;
use super::quantity::Quantity;
use super::words::{digits, percent, time};

/// How long a plan takes at a lower rate.
pub(super) fn days(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name", "planned", "shortfall"])?;
    let planned_s = fields.need("planned", Quantity::Span)?;
    let shortfall = fields.need("shortfall", Quantity::Share)?;
    if shortfall >= 1.0 {
        return Err(fields.refuse("shortfall", "nothing is left of the rate: expected below 1"));
    }
    let days = days_at_shortfall(planned_s / 86_400.0, shortfall)
        .map_err(PlanError::range(&fields.place("shortfall")))?;
    let mut answer = Answer::default();
    answer.figure("takes_s", "takes", days * 86_400.0, Unit::Seconds);
    answer.verdict = format!(
        "{} below the planned rate, {} become {}.",
        percent(shortfall),
        time(planned_s),
        time(days * 86_400.0)
    );
    Ok(answer)
}

/// Bytes of a trace over all devices.
pub(super) fn trace_volume(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name", "mb_per_device"])?;
    let megabytes = fields.need("mb_per_device", Quantity::Positive)?;
    let devices = fields.need("job.devices", Quantity::Count)?;
    let gigabytes = trace_bytes((megabytes * 1e6) as u64, devices as u64) as f64 / 1e9;
    let mut answer = Answer::default();
    answer.figure("gigabytes", "GB over all devices", gigabytes, Unit::Number);
    answer.verdict = format!("{} GB over {devices} devices.", digits(gigabytes));
    Ok(answer)
}

/// Whether an orchestrator's productive tier is runtime goodput.
pub(super) fn tiers(fields: &Fields<'_>) -> Result<Answer, PlanError> {
    fields.keys(&["ask", "name", "allocated", "active", "productive", "reference"])?;
    let reference = fields.word("reference", &["own_rate", "peak", "not_stated"], "not_stated")?;
    let tiers = UtilizationTiers {
        allocated: fields.need("allocated", Quantity::Positive)?,
        active: fields.need("active", Quantity::Number)?,
        productive: fields.need("productive", Quantity::Number)?,
        reference: match reference {
            "own_rate" => ProductiveReference::OwnFaultFreeRate,
            "peak" => ProductiveReference::HardwarePeak,
            _ => ProductiveReference::NotStated,
        },
    };
    // Tiers nest in what is allocated. Active and productive do not nest in each other: a job at its own rate may leave
    // engines idle.
    for (tier, devices) in [("active", tiers.active), ("productive", tiers.productive)] {
        if devices > tiers.allocated {
            let message = format!(
                "{devices} of {} allocated: expected no more than `allocated`, in the same devices or device-hours",
                tiers.allocated
            );
            return Err(fields.refuse(tier, message));
        }
    }
    let mut answer = Answer::default();
    answer.figure(
        "productive_share",
        "productive over allocated",
        tiers.productive / tiers.allocated,
        Unit::Share,
    );
    match tiers.runtime_goodput() {
        Ok(goodput) => {
            answer.figure("runtime_goodput", "runtime goodput", goodput, Unit::Factor);
            answer.verdict = format!("Runtime goodput {goodput:.3}.");
        }
        Err(why) => {
            answer.verdict = "No runtime goodput follows from these tiers.".to_owned();
            answer.warnings.push(why.to_string());
        }
    }
    Ok(answer)
}
