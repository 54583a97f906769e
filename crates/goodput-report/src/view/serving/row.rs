//! One deployment on one kind of device: its levels, its losses, and its measures under their full names.

use goodput_core::serving::{DeploymentRow, Floor, HeldUse, ServingAccount, ServingRecords};
use goodput_core::{CapacityTime, Owner};
use serde::Serialize;

use super::step::{self, DecodeModelView, DecodeTermView, ServingLeverView};
use super::{ServingBasis, ServingView};
use crate::view::{Exact, Keyed, ViewSettings};

/// A row. It is added to no other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServingRowView {
    /// Deployment as its log names it.
    pub deployment: String,
    /// Model as named.
    pub model: Option<String>,
    /// What the ideals rest on.
    pub basis: ServingBasis,
    /// Pools of its replicas.
    pub pools: Vec<String>,
    /// Replicas that hold devices in the window.
    pub replicas: u64,
    /// Their lives, placement to release.
    pub lives: u64,
    /// Lives that no release ends: held to the end of the records.
    pub not_released: u64,
    /// Devices of a replica, the most that one has.
    pub devices_per_replica: u64,
    /// Held by whole replicas.
    pub held_ns: Exact,
    /// Held time by use; they sum to `held_ns`.
    pub uses: Keyed<Exact>,
    /// Ready.
    pub ready_ns: Exact,
    /// Every loss between held and ideal, once; decode under the weights floor.
    pub losses: Vec<ServingLossView>,
    /// Every measure under its full name.
    pub measures: Vec<ServingMeasureView>,
    /// What was served.
    pub work: ServingWorkView,
    /// Terms of the decode time.
    pub decode_terms: Vec<DecodeTermView>,
    /// What a model of the decode step says.
    pub decode_model: Option<DecodeModelView>,
    /// Levers, the largest term first.
    pub levers: Vec<ServingLeverView>,
    /// Whole days of the window, from its start: what confidence intervals are made from.
    pub days: Vec<ServingDayView>,
    /// Price of the held time, when a price is given.
    pub held_cost: Option<f64>,
    /// Its currency.
    pub currency: Option<String>,
    /// Price of a million tokens generated, of all held time.
    pub cost_per_million_tokens: Option<f64>,
}

/// A day of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ServingDayView {
    /// Its start.
    pub from_ns: Exact,
    /// Held and free devices of the pool, where it is the row's alone and sampled all day.
    pub offered_ns: Option<Exact>,
    /// Held by whole replicas.
    pub held_ns: Exact,
    /// Ready.
    pub ready_ns: Exact,
    /// Decode time at the floor of the weights.
    pub decode_ideal_ns: Option<Exact>,
    /// Prefill time at the arithmetic peak.
    pub prefill_ideal_ns: Option<Exact>,
}

impl ServingDayView {
    fn new(account: &ServingAccount, row: &DeploymentRow) -> Self {
        Self {
            from_ns: account.window.from().into(),
            offered_ns: own_pool(account, row).map(|pool| pool.offered().into()),
            held_ns: row.held().into(),
            ready_ns: row.ready().into(),
            decode_ideal_ns: row.decode.ideal(Floor::Weights, &row.ideal).map(Exact::from),
            prefill_ideal_ns: row.prefill.ideal(&row.ideal).map(Exact::from),
        }
    }
}

/// A figure with all that names it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServingMeasureView {
    /// A stable word.
    pub key: &'static str,
    /// The full name: which goodput, which ideal.
    pub name: &'static str,
    /// The figure; `None` where the records do not give it.
    pub value: Option<f64>,
    /// What it divides by.
    pub denominator: &'static str,
    /// Why there is none.
    pub missing: Option<String>,
}

/// One loss.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServingLossView {
    /// `runtime` or `program`.
    pub boundary: &'static str,
    /// The pattern of the ledger.
    pub pattern: &'static str,
    /// The class within it.
    pub class: &'static str,
    /// The name that a report shows.
    pub label: &'static str,
    /// Device-nanoseconds.
    pub amount_ns: Exact,
    /// Of held time.
    pub share_of_held: Option<f64>,
    /// Who can recover it.
    pub owner: &'static str,
}

/// What was served.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServingWorkView {
    /// Tokens generated.
    pub decode_tokens: Exact,
    /// Decode steps.
    pub decode_steps: Exact,
    /// Tokens a step.
    pub tokens_per_step: Option<f64>,
    /// Ready time in which decode ran.
    pub decode_ns: Exact,
    /// Decode time at the floor of the weights.
    pub decode_ideal_weights_ns: Option<Exact>,
    /// Decode time at the floor of weights and cache.
    pub decode_ideal_weights_and_kv_ns: Option<Exact>,
    /// Memory traffic over what the steps must read (weights and cache), where counters say.
    pub traffic_over_required: Option<f64>,
    /// Prompts.
    pub prompts: Exact,
    /// Prompt tokens.
    pub prefill_tokens: Exact,
    /// Ready time in which prefill ran.
    pub prefill_ns: Exact,
    /// Prefill time at the arithmetic peak.
    pub prefill_ideal_ns: Option<Exact>,
    /// Ready time without work: burst headroom and warm pools.
    pub headroom_ns: Exact,
    /// Ready time of which no usable sample tells what it did.
    pub work_unknown_ns: Exact,
    /// Requests that ended, where samples count them.
    pub requests: u64,
    /// Of them, within both latency targets.
    pub requests_within_targets: u64,
}

impl ServingRowView {
    pub(super) fn new(
        account: &ServingAccount,
        records: &ServingRecords,
        row: &DeploymentRow,
        basis: &ServingBasis,
        settings: &ViewSettings,
    ) -> Self {
        let declared = records.deployments.get(row.deployment as usize);
        let name = |symbol| records.symbols.get(symbol).to_owned();
        let held_cost =
            settings.price.as_ref().map(|price| price.per_device_hour() * row.held().device_hours());
        let tokens = row.decode.tokens;
        Self {
            deployment: declared.map(|d| d.name.clone()).unwrap_or_default(),
            model: declared.and_then(|d| d.model.clone()),
            basis: basis.clone(),
            pools: row.pools.iter().map(|pool| name(*pool)).collect(),
            replicas: row.replicas,
            lives: row.lives,
            not_released: row.not_released,
            devices_per_replica: row.devices,
            held_ns: row.held().into(),
            uses: Keyed(
                HeldUse::ALL.iter().map(|u| (format!("{}_ns", u.key()), row.used(*u).into())).collect(),
            ),
            ready_ns: row.ready().into(),
            losses: losses(row),
            measures: measures(account, row, basis),
            work: work(row),
            decode_terms: step::terms(row),
            decode_model: step::model(row, basis),
            levers: step::levers(row),
            days: Vec::new(),
            held_cost,
            currency: settings.price.as_ref().map(|price| price.currency().to_owned()),
            cost_per_million_tokens: held_cost.filter(|_| tokens > 0).map(|cost| cost / tokens as f64 * 1e6),
        }
    }
}

impl ServingView {
    /// Adds the accounts of the window's days. A row that holds nothing on a day has no sample of it.
    pub fn add_days(&mut self, account: &ServingAccount, days: &[ServingAccount]) {
        for (view, row) in self.rows.iter_mut().zip(&account.rows) {
            let same = |day: &DeploymentRow| (day.deployment, day.device) == (row.deployment, row.device);
            let of = |day: &ServingAccount| {
                let row = day.rows.iter().find(|row| same(row))?;
                Some(ServingDayView::new(day, row))
            };
            view.days = days.iter().filter_map(of).collect();
        }
    }
}

fn losses(row: &DeploymentRow) -> Vec<ServingLossView> {
    let held = row.held();
    let mut losses = Vec::new();
    let mut push = |boundary, pattern, class, label, amount: CapacityTime, owner: Owner| {
        if !amount.is_zero() {
            losses.push(ServingLossView {
                boundary,
                pattern,
                class,
                label,
                amount_ns: amount.into(),
                share_of_held: amount.share_of(held),
                owner: owner.key(),
            });
        }
    };
    for used in HeldUse::ALL {
        if let Some(pattern) = used.pattern() {
            let owner =
                if used == HeldUse::Compilation { Owner::PerformanceEngineering } else { pattern.owner() };
            push("runtime", pattern.key(), used.key(), used.label(), row.used(used), owner);
        }
    }
    let (decode, prefill) = (&row.decode, &row.prefill);
    match decode.ideal(Floor::Weights, &row.ideal) {
        Some(ideal) => push(
            "program",
            "decode_below_ideal",
            "decode_below_weights_floor",
            "decode below its weights floor",
            decode.busy - ideal,
            Owner::PerformanceEngineering,
        ),
        None => push(
            "program",
            "unsettled",
            "decode_unknown_ideal",
            "decode, ideal unknown",
            decode.busy,
            Owner::Evidence,
        ),
    }
    match prefill.ideal(&row.ideal) {
        Some(ideal) => push(
            "program",
            "arithmetic_below_peak",
            "prefill_below_ideal",
            "prefill below its arithmetic ideal",
            prefill.busy - ideal,
            Owner::PerformanceEngineering,
        ),
        None => {
            push(
                "program",
                "unsettled",
                "prefill_unknown_ideal",
                "prefill, ideal unknown",
                prefill.busy,
                Owner::Evidence,
            );
        }
    }
    push("program", "headroom", "headroom", "headroom: ready without work", row.headroom(), Owner::Serving);
    push("program", "unsettled", "work_unknown", "ready, work unknown", row.work_unknown(), Owner::Evidence);
    losses
}

fn measures(account: &ServingAccount, row: &DeploymentRow, basis: &ServingBasis) -> Vec<ServingMeasureView> {
    let missing = |value: Option<f64>, why: &str| value.is_none().then(|| why.to_owned());
    let mut measures = Vec::new();
    let mut push = |key, name, value: Option<f64>, denominator, why: &str| {
        measures.push(ServingMeasureView { key, name, value, denominator, missing: missing(value, why) });
    };
    push(
        "runtime",
        "serving runtime goodput",
        row.ready().share_of(row.held()),
        "held time",
        "nothing is held",
    );
    let ideals = basis.missing.join("; ");
    let of_ready = |ideal: Option<CapacityTime>| ideal.and_then(|ideal| ideal.share_of(row.ready()));
    if row.decode.samples > 0 {
        let weights = row.decode.ideal(Floor::Weights, &row.ideal);
        let both = row.decode.ideal(Floor::WeightsAndKv, &row.ideal);
        let no_kv = if row.decode.kv_known == row.decode.busy {
            ideals.clone()
        } else {
            "kv_tokens are missing in samples, or kv_bytes_per_token is not known".to_owned()
        };
        push(
            "program_decode_weights",
            "serving program goodput (decode, MBU, weights floor)",
            of_ready(weights),
            "ready time",
            &ideals,
        );
        push(
            "program_decode_weights_and_kv",
            "serving program goodput (decode, MBU, weights + KV floor)",
            of_ready(both),
            "ready time",
            &no_kv,
        );
        let of_busy = |ideal: Option<CapacityTime>| ideal.and_then(|ideal| ideal.share_of(row.decode.busy));
        push("mbu_weights", "MBU while decoding (weights floor)", of_busy(weights), "decode time", &ideals);
        push(
            "mbu_weights_and_kv",
            "MBU while decoding (weights + KV floor)",
            of_busy(both),
            "decode time",
            &no_kv,
        );
    }
    if row.prefill.samples > 0 {
        let ideal = row.prefill.ideal(&row.ideal);
        push(
            "program_prefill",
            "serving program goodput (prefill, MFU, arithmetic ideal)",
            of_ready(ideal),
            "ready time",
            &ideals,
        );
        let of_busy = ideal.and_then(|ideal| ideal.share_of(row.prefill.busy));
        push("mfu_prefill", "MFU while prefilling (arithmetic ideal)", of_busy, "prefill time", &ideals);
    }
    // The product needs the three factors of one window and of these replicas alone.
    if let Some(pool) = own_pool(account, row) {
        let offered = pool.offered();
        push(
            "scheduling",
            "serving scheduling goodput",
            pool.scheduling_goodput(),
            "held and free devices of the pool",
            "",
        );
        let mpg = |ideal: Option<CapacityTime>| ideal.and_then(|ideal| ideal.share_of(offered));
        if row.decode.samples > 0 {
            let weights = row.decode.ideal(Floor::Weights, &row.ideal);
            push(
                "mpg_decode_weights",
                "serving MPG (decode, weights floor)",
                mpg(weights),
                "held and free devices of the pool",
                &ideals,
            );
        }
        if row.prefill.samples > 0 {
            push(
                "mpg_prefill",
                "serving MPG (prefill, arithmetic ideal)",
                mpg(row.prefill.ideal(&row.ideal)),
                "held and free devices of the pool",
                &ideals,
            );
        }
    }
    if row.latency.requests > 0 {
        let share = row.latency.within_targets as f64 / row.latency.requests as f64;
        let name = "share of requests within their TTFT and TPOT targets (behind SLO goodput of requests, no factor of MPG)";
        push("slo_share", name, Some(share), "requests that ended", "");
        let rate = row.latency.within_targets as f64 / (account.window.duration_ns() as f64 / 1e9);
        push(
            "slo_goodput",
            "SLO goodput of requests, requests/s within both targets",
            Some(rate),
            "the window",
            "",
        );
    }
    measures
}

/// The pool that holds this row's replicas and no other's, with samples over the whole window.
fn own_pool<'a>(
    account: &'a ServingAccount,
    row: &DeploymentRow,
) -> Option<&'a goodput_core::serving::PoolAccount> {
    let mut pools = row.pools.iter();
    let pool = pools.next().filter(|_| row.pools.len() == 1)?;
    let shared = account.rows.iter().filter(|other| other.pools.contains(pool)).count() > 1;
    let found = account.pools.iter().find(|account| account.pool == *pool)?;
    (!shared && found.covered == account.window.interval()).then_some(found)
}

fn work(row: &DeploymentRow) -> ServingWorkView {
    let (decode, prefill) = (&row.decode, &row.prefill);
    let whole = |n: u128| Exact(i128::try_from(n).unwrap_or(i128::MAX));
    let required = decode.required_bytes(Floor::WeightsAndKv, &row.ideal);
    let is_counted = !decode.traffic_known.is_zero() && decode.traffic_known == decode.busy;
    let traffic = required.filter(|required| is_counted && *required > 0);
    ServingWorkView {
        decode_tokens: whole(decode.tokens),
        decode_steps: whole(decode.steps),
        tokens_per_step: (decode.steps > 0).then(|| decode.tokens as f64 / decode.steps as f64),
        decode_ns: decode.busy.into(),
        decode_ideal_weights_ns: decode.ideal(Floor::Weights, &row.ideal).map(Exact::from),
        decode_ideal_weights_and_kv_ns: decode.ideal(Floor::WeightsAndKv, &row.ideal).map(Exact::from),
        traffic_over_required: traffic.map(|required| decode.traffic_bytes as f64 / required as f64),
        prompts: whole(prefill.prompts),
        prefill_tokens: whole(prefill.tokens),
        prefill_ns: prefill.busy.into(),
        prefill_ideal_ns: prefill.ideal(&row.ideal).map(Exact::from),
        headroom_ns: row.headroom().into(),
        work_unknown_ns: row.work_unknown().into(),
        requests: row.latency.requests,
        requests_within_targets: row.latency.within_targets,
    }
}
