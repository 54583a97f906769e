//! Attention: fused (FlashAttention) from published rates, unfused as two batched products and a softmax.

use std::sync::LazyLock;

use serde::Deserialize;

use super::memory_bound::{Access, Traffic};
use super::{Format, KernelError, KernelTables};
use crate::{Basis, Estimate};

/// Which keys a query sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mask {
    /// All.
    Full,
    /// Those up to its own place; the last query sees all keys.
    Causal,
    /// Of these the last so many.
    Window(u64),
}

/// What computes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttentionKernel {
    /// The scores are written to memory: two batched products with scale, mask, softmax between.
    Unfused,
    /// FlashAttention 2.
    Flash2,
    /// FlashAttention 3, or cuDNN on Hopper.
    Flash3,
    /// FlashAttention 4, or cuDNN on Blackwell.
    Flash4,
}

/// Attention of one device's heads over one micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attention {
    /// Sequences.
    pub batch: u64,
    /// Query heads on this device.
    pub heads: u64,
    /// Key and value heads on this device.
    pub kv_heads: u64,
    /// Queries of a sequence.
    pub queries: u64,
    /// Keys of a sequence.
    pub keys: u64,
    /// Length of a query and a key.
    pub head_dim: u64,
    /// Length of a value: less than `head_dim` in MLA.
    pub value_dim: u64,
    /// Which keys a query sees.
    pub mask: Mask,
    /// bf16, fp16 or fp8 (the forward pass alone; the backward pass is then bf16).
    pub format: Format,
}

/// Forward or backward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Forward.
    Forward,
    /// Backward: all gradients.
    Backward,
}

impl Attention {
    /// Causal bf16 self-attention of `batch` sequences of `length` tokens.
    #[must_use]
    pub const fn causal(batch: u64, length: u64, heads: u64, kv_heads: u64, head_dim: u64) -> Self {
        Self {
            batch,
            heads,
            kv_heads,
            queries: length,
            keys: length,
            head_dim,
            value_dim: head_dim,
            mask: Mask::Causal,
            format: Format::Bf16,
        }
    }

    /// Pairs of a query and a key that the mask keeps, in one head of one sequence. A causal diagonal counts half.
    #[must_use]
    pub fn pairs(&self) -> f64 {
        let (queries, keys) = (self.queries as f64, self.keys as f64);
        // Queries stand at the end of the keys; one that sees fewer than `width` sees all up to its place.
        let banded = |width: f64| {
            let first = keys - queries;
            let rising = (width.min(keys) - first).clamp(0.0, queries);
            rising * (first + rising / 2.0) + (queries - rising) * width
        };
        match self.mask {
            Mask::Full => queries * keys,
            Mask::Causal => queries * (keys - queries / 2.0),
            Mask::Window(width) => banded((width as f64).min(keys)),
        }
    }

    /// FLOPs of the kept pairs. The backward pass computes the scores again: five products for two.
    #[must_use]
    pub fn flops(&self, direction: Direction) -> f64 {
        let (key, value) = (self.head_dim as f64, self.value_dim as f64);
        let per_pair = match direction {
            Direction::Forward => key + value,
            Direction::Backward => 3.0 * key + 2.0 * value,
        };
        2.0 * (self.batch * self.heads) as f64 * self.pairs() * per_pair
    }

    /// Bytes of queries, keys, values and results, each moved once; gradients too in the backward pass.
    fn bytes(&self, direction: Direction) -> f64 {
        let width = (self.head_dim + self.value_dim) as f64;
        let tokens = (self.heads * self.queries + self.kv_heads * self.keys) as f64;
        let times = if direction == Direction::Forward { 1.0 } else { 2.0 };
        times * 2.0 * self.batch as f64 * tokens * width
    }

    /// What device `rank` computes when `degree` devices gather all keys and values, and each holds an early and a late
    /// chunk of the queries.
    #[must_use]
    pub fn gathered(&self, degree: u64, rank: u64) -> Vec<Self> {
        let chunk = self.queries / (2 * degree);
        let first = self.keys - self.queries;
        let chunks = [rank, 2 * degree - 1 - rank];
        let seen = |place: u64| if self.mask == Mask::Full { self.keys } else { first + (place + 1) * chunk };
        chunks.map(|place| Self { queries: chunk, keys: seen(place), ..*self }).to_vec()
    }

    /// What each device computes, one after the other, when `degree` devices pass keys and values round a ring and each
    /// holds two chunks of the sequence, the one as early as the other is late.
    #[must_use]
    pub fn ring(&self, degree: u64) -> Vec<Self> {
        let local = Self { queries: self.queries / degree, keys: self.keys / degree, ..*self };
        let other = match self.mask {
            Mask::Full => local,
            // Of another's two chunks either all queries see one, or half of the queries see both.
            Mask::Causal | Mask::Window(_) => Self { keys: local.keys / 2, mask: Mask::Full, ..local },
        };
        std::iter::once(local).chain((1..degree).map(|_| other)).collect()
    }
}

/// An entry of `data/kernels/attention.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rates {
    kernel: AttentionKernel,
    devices: Vec<String>,
    measured_on: Vec<String>,
    deviation: f64,
    forward: Vec<OfHeadDim>,
    backward: Vec<OfHeadDim>,
    #[serde(default)]
    pads_values: bool,
    #[serde(default)]
    fp8_speedup: Vec<(f64, f64)>,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OfHeadDim {
    head_dim: f64,
    causal: (f64, f64),
    full: (f64, f64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Other {
    deviation: f64,
    forward: (f64, f64),
    backward: (f64, f64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    kernels: Vec<Rates>,
    other: Other,
}

fn file() -> Option<&'static File> {
    // A test reads the file, so that its absence is never seen.
    static FILE: LazyLock<Option<File>> =
        LazyLock::new(|| serde_saphyr::from_str(include_str!("../../data/kernels/attention.yaml")).ok());
    FILE.as_ref()
}

/// Lengths between which the sources measured.
const MEASURED_LENGTHS: std::ops::RangeInclusive<f64> = 512.0..=16_384.0;

/// Share of the peak at a sequence length.
fn curve((most, half): (f64, f64), length: f64) -> f64 {
    let length = length.min(*MEASURED_LENGTHS.end());
    most * length / (length + half)
}

/// A value at a place between ascending points, linear in the logarithm of the place and level beyond the ends.
fn between(points: impl Iterator<Item = (f64, f64)>, place: f64) -> Option<f64> {
    let mut below: Option<(f64, f64)> = None;
    for (at, value) in points {
        match below {
            _ if at < place => below = Some((at, value)),
            None => return Some(value),
            Some((low, start)) => {
                return Some(start + (value - start) * (place / low).ln() / (at / low).ln());
            }
        }
    }
    below.map(|(_, value)| value)
}

impl KernelTables {
    /// The fused kernel that the device runs by default; unfused where no fused one is known.
    #[must_use]
    pub fn default_attention(&self) -> AttentionKernel {
        self.attention_rates.map_or(AttentionKernel::Unfused, |rates| rates.kernel)
    }

    /// The time of attention of all heads.
    ///
    /// Fused: FLOPs of the kept pairs over a published rate that falls off with short sequences, at the sustained clock;
    /// never less than the one tile that sees all keys takes on its SM, nor than the bytes. A device that no source
    /// measured has an assumed share of its peak, and the estimate says so.
    ///
    /// # Errors
    /// [`KernelError::NoAttention`] if the device has no such kernel, [`KernelError::NoRate`] as [`KernelTables::gemm`].
    pub fn attention(
        &self,
        attention: &Attention,
        direction: Direction,
        kernel: AttentionKernel,
    ) -> Result<Estimate, KernelError> {
        if attention.flops(direction) == 0.0 {
            return Ok(Estimate::NOTHING);
        }
        if kernel == AttentionKernel::Unfused {
            return self.unfused_attention(attention, direction);
        }
        let rates =
            match self.attention_rates {
                Some(rates) if rates.kernel == kernel => Some(rates),
                Some(_) => {
                    let found = Rates::of(&self.machine.name, |rates| rates.kernel == kernel);
                    Some(found.ok_or_else(|| KernelError::NoAttention {
                        device: self.machine.name.clone(),
                        kernel,
                    })?)
                }
                None => None,
            };
        // What runs, where it is more than what is asked for.
        let padded = Attention { value_dim: attention.value_dim.max(attention.head_dim), ..*attention };
        let attention = if rates.is_some_and(|rates| rates.pads_values) { &padded } else { attention };
        let peak = self.machine.peak(Format::Bf16).or_else(|| self.machine.peak(Format::Fp16));
        let peak = peak.ok_or_else(|| self.no_rate(attention.format))?;
        let share = self.share_of_peak(rates, attention, direction);
        let rate = peak * share.rate;
        let sustained = self.sustained_ratio(Format::Bf16, attention.flops(direction));
        let compute = attention.flops(direction) / rate * sustained;
        // Tiles of 128 queries; the last one of a causal mask sees every key.
        let per_pair =
            attention.flops(direction) / attention.pairs() / (attention.batch * attention.heads) as f64;
        let longest = match (self.machine.engines, attention.mask) {
            (Some(engines), Mask::Full | Mask::Causal) => {
                128.0f64.min(attention.queries as f64) * attention.keys as f64 * per_pair * f64::from(engines)
                    / (peak * share.most)
            }
            _ => 0.0,
        };
        let memory = attention.bytes(direction) / self.machine.bandwidth.unwrap_or(f64::INFINITY);
        let launch = super::shipped::Settings::built_in().roofline.launch_us;
        Ok(Estimate {
            ns: (launch + compute.max(longest).max(memory)) * 1e3,
            deviation: share.deviation.hypot(self.sustained_deviation()),
            basis: share.basis,
        })
    }

    fn share_of_peak(&self, rates: Option<&Rates>, attention: &Attention, direction: Direction) -> Share {
        let length = match attention.mask {
            Mask::Window(width) => attention.keys.min(2 * width) as f64,
            Mask::Full | Mask::Causal => attention.keys as f64,
        };
        let dim = (attention.head_dim + attention.value_dim) as f64 / 2.0;
        let Some(rates) = rates else {
            let other = file().map(|file| &file.other);
            let (most, half) = other.map_or((0.4, 500.0), |other| match direction {
                Direction::Forward => other.forward,
                Direction::Backward => other.backward,
            });
            let deviation = other.map_or(0.3, |other| other.deviation);
            return Share { rate: curve((most, half), length), most, deviation, basis: Basis::Analytic };
        };
        let curves = match direction {
            Direction::Forward => &rates.forward,
            Direction::Backward => &rates.backward,
        };
        let of = |of: &OfHeadDim| if attention.mask == Mask::Full { of.full } else { of.causal };
        let at = |value: fn((f64, f64), f64) -> f64| {
            between(curves.iter().map(|curve| (curve.head_dim, value(of(curve), length))), dim)
        };
        let is_fp8 = attention.format.is_quantised() && direction == Direction::Forward;
        let faster =
            if is_fp8 { between(rates.fp8_speedup.iter().copied(), dim).unwrap_or(1.0) } else { 1.0 };
        let dims = (curves.first().map(|of| of.head_dim), curves.last().map(|of| of.head_dim));
        let is_measured = rates.measured_on.contains(&self.machine.name)
            && MEASURED_LENGTHS.contains(&length)
            && dims.0.is_some_and(|least| least <= dim)
            && dims.1.is_some_and(|most| dim <= most);
        Share {
            rate: at(curve).unwrap_or(1.0) * faster,
            most: at(|(most, _), _| most).unwrap_or(1.0) * faster,
            deviation: if is_measured { rates.deviation } else { rates.deviation.hypot(0.1) },
            basis: if is_measured { Basis::Table } else { Basis::Extrapolated },
        }
    }

    /// Two batched products with the scores between them in memory, and what is done to the scores.
    fn unfused_attention(
        &self,
        attention: &Attention,
        direction: Direction,
    ) -> Result<Estimate, KernelError> {
        let Attention { batch, heads, queries, keys, head_dim, value_dim, .. } = *attention;
        let rows = batch * heads * queries;
        // A batched product is like one whose rows are all batches' rows: few bytes are the weights' share.
        let products: &[[u64; 3]] = match direction {
            Direction::Forward => &[[rows, keys, head_dim], [rows, value_dim, keys]],
            Direction::Backward => {
                let keyed = batch * heads * keys;
                &[
                    [rows, keys, value_dim],
                    [keyed, value_dim, queries],
                    [rows, head_dim, keys],
                    [keyed, head_dim, queries],
                ]
            }
        };
        let mut ns = 0.0;
        for shape in products {
            let burst = self.product(attention.format, *shape)?;
            let flops = shape.iter().fold(2.0, |product, length| product * *length as f64);
            ns += burst.us * 1e3 * self.sustained_ratio(attention.format, flops);
        }
        let scores = rows as f64 * keys as f64;
        // Scale, mask and softmax in one kernel: 2 bytes read and 2 written for each score, three in the backward pass.
        let softmax = match direction {
            Direction::Forward => Traffic::new(4.0 * scores, Access::Rows),
            Direction::Backward => Traffic::new(6.0 * scores, Access::Rows),
        };
        let softmax = self.memory_bound(&[softmax])?;
        let products = Estimate {
            ns,
            deviation: super::shipped::Settings::built_in().deviation.extrapolated,
            basis: Basis::Extrapolated,
        };
        Ok(products.and(softmax))
    }
}

/// A rate as a share of the bf16 peak.
struct Share {
    rate: f64,
    /// Of long sequences.
    most: f64,
    deviation: f64,
    basis: Basis,
}

impl Rates {
    /// The first entry of a device that is accepted.
    pub fn of(device: &str, accepts: impl Fn(&Self) -> bool) -> Option<&'static Self> {
        let mut entries = file()?.kernels.iter();
        entries.find(|rates| accepts(rates) && rates.devices.iter().any(|name| name == device))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use goodput_model::device::Catalogue;

    use super::*;

    fn tables(name: &str) -> KernelTables {
        KernelTables::new(Catalogue::built_in().find(name).unwrap())
    }

    #[test]
    fn counts_the_pairs_that_a_mask_keeps() {
        let causal = Attention::causal(1, 8, 1, 1, 64);
        assert_eq!(causal.pairs(), 32.0);
        assert_eq!(Attention { mask: Mask::Full, ..causal }.pairs(), 64.0);
        // Two queries see 1 and 2 keys (counted as a triangle of 2), the other six the last 2.
        assert_eq!(Attention { mask: Mask::Window(2), ..causal }.pairs(), 14.0);
        // Four queries at the end of eight keys.
        assert_eq!(Attention { queries: 4, ..causal }.pairs(), 24.0);
    }

    #[test]
    fn backward_is_five_products_for_two() {
        let attention = Attention::causal(2, 1024, 8, 8, 128);
        let ratio = attention.flops(Direction::Backward) / attention.flops(Direction::Forward);
        assert_eq!(ratio, 2.5);
        let mla = Attention { head_dim: 192, ..attention };
        assert_eq!(
            mla.flops(Direction::Backward) / mla.flops(Direction::Forward),
            (3.0 * 192.0 + 256.0) / 320.0
        );
    }

    #[test]
    fn context_parallelism_keeps_every_pair() {
        let whole = Attention::causal(1, 8192, 4, 4, 128);
        let pairs: f64 = whole.ring(4).iter().map(Attention::pairs).sum();
        assert_eq!(pairs * 4.0, whole.pairs());
        for rank in 0..4 {
            let pairs: f64 = whole.gathered(4, rank).iter().map(Attention::pairs).sum();
            assert_eq!(pairs * 4.0, whole.pairs());
        }
        let full = Attention { mask: Mask::Full, ..whole };
        assert_eq!(full.ring(4).iter().map(Attention::pairs).sum::<f64>() * 4.0, full.pairs());
    }

    #[test]
    fn a_device_runs_its_own_kernel_and_refuses_another_generation() {
        let attention = Attention::causal(1, 4096, 32, 8, 128);
        let time = |device: &str, kernel| tables(device).attention(&attention, Direction::Forward, kernel);
        assert_eq!(tables("H100 SXM5").default_attention(), AttentionKernel::Flash3);
        assert_eq!(tables("A100 SXM4 80GB").default_attention(), AttentionKernel::Flash2);
        assert!(
            time("H100 SXM5", AttentionKernel::Flash2).unwrap().ns
                > time("H100 SXM5", AttentionKernel::Flash3).unwrap().ns
        );
        assert!(matches!(
            time("A100 SXM4 80GB", AttentionKernel::Flash3),
            Err(KernelError::NoAttention { .. })
        ));
        assert_eq!(time("MI300X", AttentionKernel::Flash2).unwrap().basis, Basis::Analytic);
    }

    #[test]
    fn few_heads_wait_for_the_tile_that_sees_every_key() {
        let a100 = tables("A100 SXM4 80GB");
        let time = |heads| {
            let attention = Attention::causal(1, 4096, heads, 1, 128);
            a100.attention(&attention, Direction::Forward, AttentionKernel::Flash2).unwrap().ns
        };
        assert_eq!(time(2), time(4));
        assert!(time(64) > 3.5 * time(16));
    }
}
