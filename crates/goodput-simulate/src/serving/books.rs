//! The fleet's own books, in device-nanoseconds.

use std::collections::BTreeMap;

use goodput_core::serving::HeldUse;
use serde_json::{Map, Value, json};

use super::{EPOCH_NS, Scenario};

/// Free devices of the pool by cause, in device-nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolTruth {
    /// No replica waits.
    pub no_demand: i128,
    /// A replica waits that would fit.
    pub placement_wait: i128,
    /// A replica waits, and the devices stand on nodes that are not whole.
    pub incomplete: i128,
    /// Free devices on nodes that are not whole, in all.
    pub scattered: i128,
    /// Replica-nanoseconds of waiting.
    pub waiting: i128,
}

/// What an accounting of the log must find.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServingTruth {
    /// First instant, nanoseconds since the epoch.
    pub from_ns: i64,
    /// First instant after.
    pub to_ns: i64,
    /// Held time by use.
    pub uses: BTreeMap<HeldUse, i128>,
    /// Lives.
    pub lives: u64,
    /// Ready time in which decode ran.
    pub decode_busy: i128,
    /// Decode steps.
    pub decode_steps: u128,
    /// Tokens generated.
    pub decode_tokens: u128,
    /// Bytes of keys and values that the steps read.
    pub kv_bytes: u128,
    /// Decode time at the floor of the weights.
    pub decode_ideal_weights: i128,
    /// Decode time at the floor of weights and cache.
    pub decode_ideal_weights_and_kv: i128,
    /// Exposed dispatch.
    pub dispatch: i128,
    /// Exposed exchange.
    pub exchange: i128,
    /// Ready time in which prefill ran.
    pub prefill_busy: i128,
    /// Prompts.
    pub prompts: u128,
    /// Prompt tokens.
    pub prefill_tokens: u128,
    /// Prefill time at the arithmetic peak.
    pub prefill_ideal: i128,
    /// Free devices.
    pub pool: PoolTruth,
}

impl ServingTruth {
    /// Held.
    pub fn held(&self) -> i128 {
        self.uses.values().sum()
    }

    /// Ready.
    pub fn ready(&self) -> i128 {
        self.uses.get(&HeldUse::Ready).copied().unwrap_or(0)
    }

    /// Ready and without work.
    pub fn headroom(&self) -> i128 {
        self.ready() - self.decode_busy - self.prefill_busy
    }

    pub(super) fn used(&mut self, used_for: HeldUse, device_ns: i128) {
        if device_ns > 0 {
            *self.uses.entry(used_for).or_insert(0) += device_ns;
        }
    }

    /// Ideals, from the sums.
    pub(super) fn settle(&mut self, scenario: &Scenario) {
        let at = |amount: u128, rate: u64| (amount * 1_000_000_000 / u128::from(rate)).cast_signed();
        let weights = self.decode_steps * u128::from(scenario.weight_bytes);
        self.decode_ideal_weights = at(weights, scenario.bytes_per_second);
        self.decode_ideal_weights_and_kv = at(weights + self.kv_bytes, scenario.bytes_per_second);
        let flops = self.prefill_tokens * u128::from(scenario.flops_per_token);
        self.prefill_ideal = at(flops, scenario.flops_per_second);
        (self.from_ns, self.to_ns) = (EPOCH_NS, EPOCH_NS + scenario.end_ns());
    }

    pub(super) fn json(&self) -> Vec<u8> {
        let uses: Map<String, Value> = self
            .uses
            .iter()
            .map(|(used, ns)| (format!("{}_ns", used.key()), json!(ns.to_string())))
            .collect();
        let pool = &self.pool;
        let document = json!({
            "schema": "goodput.serving-truth/1",
            "window": {"from_ns": self.from_ns.to_string(), "to_ns": self.to_ns.to_string()},
            "held_ns": self.held().to_string(),
            "uses": uses,
            "lives": self.lives,
            "headroom_ns": self.headroom().to_string(),
            "decode": {
                "busy_ns": self.decode_busy.to_string(),
                "steps": self.decode_steps.to_string(),
                "tokens": self.decode_tokens.to_string(),
                "ideal_weights_ns": self.decode_ideal_weights.to_string(),
                "ideal_weights_and_kv_ns": self.decode_ideal_weights_and_kv.to_string(),
                "dispatch_ns": self.dispatch.to_string(),
                "exchange_ns": self.exchange.to_string(),
            },
            "prefill": {
                "busy_ns": self.prefill_busy.to_string(),
                "prompts": self.prompts.to_string(),
                "tokens": self.prefill_tokens.to_string(),
                "ideal_ns": self.prefill_ideal.to_string(),
            },
            "pool": {
                "no_demand_ns": pool.no_demand.to_string(),
                "replica_placement_wait_ns": pool.placement_wait.to_string(),
                "incomplete_replica_ns": pool.incomplete.to_string(),
                "scattered_ns": pool.scattered.to_string(),
                "waiting_replica_ns": pool.waiting.to_string(),
            },
        });
        let mut text = serde_json::to_vec_pretty(&document).unwrap_or_default();
        text.push(b'\n');
        text
    }
}
