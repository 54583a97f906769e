//! The time of attention on a device.

use super::rates::{MEASURED_LENGTHS, OfHeadDim, Rates, between, curve, other};
use super::{Attention, AttentionKernel, Direction, Mask};
use crate::kernel::memory_bound::{Access, Traffic};
use crate::kernel::settings::Settings;
use crate::kernel::{Format, KernelError, KernelTables};
use crate::{Basis, Estimate};

impl KernelTables {
    /// The fused kernel that the device runs by default; unfused where no fused one is known.
    #[must_use]
    pub fn default_attention(&self) -> AttentionKernel {
        self.attention_rates.map_or(AttentionKernel::Unfused, |rates| rates.kernel)
    }

    /// The kernels that a stated name can choose on the device, as far as rates are known; the default one first.
    #[must_use]
    pub fn attention_kernels(&self) -> Vec<AttentionKernel> {
        use AttentionKernel::{Flash1, Flash2, Flash3, Flash4, Unfused};
        let default = match self.default_attention() {
            // A device without rates is assumed to run it.
            Unfused => Flash2,
            known => known,
        };
        let others = [Flash1, Flash2, Flash3, Flash4].into_iter();
        let others = others.filter(|kernel| *kernel != default && self.runs_attention(*kernel));
        std::iter::once(default).chain(others).chain([Unfused]).collect()
    }

    /// Whether a fused kernel runs on the device, as far as is known.
    #[must_use]
    pub fn runs_attention(&self, kernel: AttentionKernel) -> bool {
        self.default_attention() == kernel
            || Rates::of(&self.machine.name, |rates| rates.kernel == kernel).is_some()
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
        let modelled = self.modelled_attention(attention, direction, kernel)?;
        Ok(self.corrected_attention(attention, direction, kernel, modelled))
    }

    /// The same without the user's rows.
    pub(in crate::kernel) fn modelled_attention(
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
        let launch = Settings::built_in().roofline.launch_us;
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
            let other = other();
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
            deviation: Settings::built_in().deviation.extrapolated,
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use goodput_model::device::Catalogue;

    use super::*;

    fn tables(name: &str) -> KernelTables {
        KernelTables::new(Catalogue::built_in().find(name).unwrap())
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

    #[test]
    fn unfused_scores_cost_their_way_through_memory() {
        let a100 = tables("A100 SXM4 80GB");
        let attention = Attention::causal(1, 2048, 12, 12, 128);
        let time = |direction, kernel| a100.attention(&attention, direction, kernel).unwrap().ns;
        let (forward, backward) = (Direction::Forward, Direction::Backward);
        let scores = 12.0 * 2048.0 * 2048.0;
        // At least the softmax's four bytes a score and its two products' results and operands.
        let unfused = time(forward, AttentionKernel::Unfused);
        assert!(unfused > 8.0 * scores / 2.039e12 * 1e9, "{unfused}");
        assert!(unfused > 2.0 * time(forward, AttentionKernel::Flash2));
        let ratio = time(backward, AttentionKernel::Unfused) / unfused;
        assert!((1.5..2.5).contains(&ratio), "{ratio}");
    }
}
