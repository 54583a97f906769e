//! What ready time did, summed in integers: decode and prefill apart, since their ideals measure different resources.

use crate::capacity::CapacityTime;
use crate::time::NS_PER_SECOND;

use super::records::{RowIdeal, WorkSample};

/// The bandwidth floor that decode is measured against. The two are printed side by side and never mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Floor {
    /// Every step reads the weights once.
    Weights,
    /// And the keys and values of its batch.
    WeightsAndKv,
}

impl Floor {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Weights, Self::WeightsAndKv];

    /// The word in JSON and metrics.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::WeightsAndKv => "weights_and_kv",
        }
    }

    /// The name that a report shows.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Weights => "weights floor",
            Self::WeightsAndKv => "weights + KV floor",
        }
    }
}

/// `amount * by / over`, rounded down, exact wherever the result fits.
fn scaled(amount: u128, by: u64, over: u64) -> u128 {
    let (by, over) = (u128::from(by), u128::from(over.max(1)));
    (amount / over).saturating_mul(by).saturating_add(amount % over * by / over)
}

/// Device-time in which `amount` passes at a device's peak, rounded down: `None` without one.
fn device_time(amount: u128, per_second: Option<u64>) -> Option<CapacityTime> {
    let per_second = per_second.filter(|rate| *rate > 0)?;
    let ns = scaled(amount, NS_PER_SECOND.unsigned_abs(), per_second);
    Some(CapacityTime::from_device_ns(i128::try_from(ns).unwrap_or(i128::MAX)))
}

/// Part of a sample's work.
fn part(amount: u128, share: Share) -> u128 {
    scaled(amount, share.part_ns, share.whole_ns)
}

/// How much of a sample lies in ready time inside the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub part_ns: u64,
    pub whole_ns: u64,
}

impl Share {
    pub(super) fn of_ns(self, ns: i64) -> i64 {
        let scaled = part(u128::from(ns.unsigned_abs()), self);
        i64::try_from(scaled).unwrap_or(i64::MAX)
    }
}

/// A sample as it is charged: its replica's devices, and the time that it takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Charged<'a> {
    pub sample: &'a WorkSample,
    pub devices: u64,
    pub share: Share,
    /// Of one device.
    pub busy_ns: i64,
}

impl Charged<'_> {
    fn busy(&self) -> CapacityTime {
        CapacityTime::of(self.devices, self.busy_ns)
    }

    /// Device-nanoseconds that each step's exposed term takes.
    fn of_steps(&self, each_ns: i64) -> CapacityTime {
        let ns = u128::from(self.sample.steps) * u128::from(each_ns.unsigned_abs());
        let ns = part(ns.saturating_mul(self.devices.into()), self.share);
        CapacityTime::from_device_ns(i128::try_from(ns).unwrap_or(i128::MAX))
    }

    /// Whether `amount` of the whole sample takes longer at the peak than the sample did.
    fn beats(&self, amount: u128, per_second: Option<u64>, whole_busy_ns: i64) -> bool {
        let actual = CapacityTime::of(self.devices, whole_busy_ns);
        device_time(amount, per_second).is_some_and(|ideal| ideal > actual)
    }
}

/// Decode of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeTime {
    /// Samples used.
    pub samples: u64,
    /// Ready time in which it ran.
    pub busy: CapacityTime,
    /// Of samples faster than their hardware, which are not used: what their time did is unsettled.
    pub refused: CapacityTime,
    /// Samples refused so.
    pub refused_samples: u64,
    /// Steps.
    pub steps: u128,
    /// Tokens generated.
    pub tokens: u128,
    /// Bytes of keys and values that the steps read.
    pub kv_bytes: u128,
    /// Busy time of the samples that say how much cache they read.
    pub kv_known: CapacityTime,
    /// Exposed host dispatch.
    pub dispatch: CapacityTime,
    /// Busy time of the samples that say it.
    pub dispatch_known: CapacityTime,
    /// Exposed exchange between the devices of a replica.
    pub exchange: CapacityTime,
    /// Busy time of the samples that say it.
    pub exchange_known: CapacityTime,
    /// Bytes moved, as counters say.
    pub traffic_bytes: u128,
    /// Busy time of the samples that say it.
    pub traffic_known: CapacityTime,
}

impl DecodeTime {
    pub(super) fn add(&mut self, charged: Charged<'_>, ideal: &RowIdeal, whole_busy_ns: i64) {
        let (sample, busy) = (charged.sample, charged.busy());
        let steps = u128::from(sample.steps);
        let weights = steps.saturating_mul(ideal.weight_bytes.unwrap_or(0).into());
        let kv = ideal
            .kv_bytes_per_token
            .zip(sample.kv_tokens)
            .map(|(bytes, tokens)| steps.saturating_mul(u128::from(tokens).saturating_mul(bytes.into())));
        let required = weights.saturating_add(kv.unwrap_or(0));
        if charged.beats(required, ideal.bytes_per_second, whole_busy_ns) {
            self.refused += busy;
            self.refused_samples += 1;
            return;
        }
        self.samples += 1;
        self.busy += busy;
        self.steps += part(steps, charged.share);
        self.tokens += part(sample.tokens.into(), charged.share);
        if let Some(kv) = kv {
            self.kv_bytes = self.kv_bytes.saturating_add(part(kv, charged.share));
            self.kv_known += busy;
        }
        if let Some(each_ns) = sample.dispatch_ns {
            self.dispatch += charged.of_steps(each_ns);
            self.dispatch_known += busy;
        }
        if let Some(each_ns) = sample.exchange_ns {
            self.exchange += charged.of_steps(each_ns);
            self.exchange_known += busy;
        }
        if let Some(bytes) = sample.traffic_bytes {
            let bytes = part(steps.saturating_mul(bytes.into()), charged.share);
            self.traffic_bytes = self.traffic_bytes.saturating_add(bytes);
            self.traffic_known += busy;
        }
    }

    /// Bytes that the steps must read.
    pub fn required_bytes(&self, floor: Floor, ideal: &RowIdeal) -> Option<u128> {
        let weights = self.steps.saturating_mul(ideal.weight_bytes?.into());
        match floor {
            Floor::Weights => Some(weights),
            Floor::WeightsAndKv if self.kv_known == self.busy => Some(weights.saturating_add(self.kv_bytes)),
            Floor::WeightsAndKv => None,
        }
    }

    /// Device-time at the floor: `None` without bandwidth or weights, or where a sample lacks what the floor needs.
    pub fn ideal(&self, floor: Floor, ideal: &RowIdeal) -> Option<CapacityTime> {
        device_time(self.required_bytes(floor, ideal)?, ideal.bytes_per_second)
    }

    /// Device-time in which the measured traffic passes at peak bandwidth.
    pub fn traffic_time(&self, ideal: &RowIdeal) -> Option<CapacityTime> {
        device_time(self.traffic_bytes, ideal.bytes_per_second)
    }
}

/// Prefill of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PrefillTime {
    /// Samples used.
    pub samples: u64,
    /// Ready time in which it ran.
    pub busy: CapacityTime,
    /// Of samples faster than their hardware, which are not used.
    pub refused: CapacityTime,
    /// Samples refused so.
    pub refused_samples: u64,
    /// Prompts.
    pub prompts: u128,
    /// Prompt tokens.
    pub tokens: u128,
    /// Model FLOPs.
    pub flops: u128,
    /// Busy time of the samples whose FLOPs are known.
    pub flops_known: CapacityTime,
}

impl PrefillTime {
    pub(super) fn add(&mut self, charged: Charged<'_>, ideal: &RowIdeal, whole_busy_ns: i64) {
        let (sample, busy) = (charged.sample, charged.busy());
        if sample.flops.is_some_and(|flops| charged.beats(flops, ideal.flops_per_second, whole_busy_ns)) {
            self.refused += busy;
            self.refused_samples += 1;
            return;
        }
        self.samples += 1;
        self.busy += busy;
        self.prompts += part(sample.steps.into(), charged.share);
        self.tokens += part(sample.tokens.into(), charged.share);
        if let Some(flops) = sample.flops {
            self.flops = self.flops.saturating_add(part(flops, charged.share));
            self.flops_known += busy;
        }
    }

    /// Device-time at the arithmetic peak: `None` without one, or where a sample's FLOPs are not known.
    pub fn ideal(&self, ideal: &RowIdeal) -> Option<CapacityTime> {
        if self.samples > 0 && self.flops_known != self.busy {
            return None;
        }
        device_time(self.flops, ideal.flops_per_second)
    }
}

/// Requests that ended, and those within both latency targets. A rate of requests, no part of any factor here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LatencyCount {
    /// Requests that ended in the samples that count them.
    pub requests: u64,
    /// Of them, those whose first token and whose output tokens met their targets.
    pub within_targets: u64,
}
