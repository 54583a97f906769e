//! How a framework runs the step: which kernels are fused, what runs beside what, how kernels are launched.

use crate::collective::Release;
use crate::kernel::{AttentionKernel, Dispatch, Fusion};

/// How a framework runs the step.
#[derive(Debug, Clone, PartialEq)]
pub struct Framework {
    /// Its name.
    pub name: String,
    /// How kernels are launched.
    pub dispatch: Dispatch,
    /// Which elementwise kernels are fused.
    pub fusion: Fusion,
    /// Whether a norm is one kernel made for it (Apex, Transformer Engine).
    pub fused_norm: bool,
    /// Whether the loss is one kernel made for it.
    pub fused_loss: bool,
    /// Whether attention is one fused kernel.
    pub fused_attention: bool,
    /// Which, where the device has it: PyTorch's own attention stayed FlashAttention 2 on Hopper. What the device runs by default
    /// where it is not stated.
    pub attention: Option<AttentionKernel>,
    /// Whether a token goes once to each node that holds one of its experts and is spread there (DeepEP, HybridEP), not once to
    /// each expert.
    pub token_once_a_node: bool,
    /// Whether dropout is on.
    pub dropout: bool,
    /// Whether queries, keys and values, and gate and up projection, are products of their own.
    pub separate_projections: bool,
    /// Whether tensor-parallel exchanges of the backward pass run beside the products of the same layer: input gradients
    /// reduced beside the weight gradient, inputs gathered again beside the input gradient.
    pub overlap_backward: bool,
    /// Whether what tensor ranks gather for a product is cast to its format before (Transformer Engine: `gather_along_first_dim`
    /// with a quantizer).
    pub gathers_operands: bool,
    /// Multiprocessors that a product whose result is summed in pieces beside it leaves free for as long as it runs.
    pub reserved_multiprocessors: u32,
    /// Whether weight gradients are added to the gradient buffer by the product itself.
    pub fused_accumulation: bool,
    /// Whether sharded parameters of a block are views of one flat tensor (PyTorch's FSDP 1), not tensors of their own.
    pub flat_parameters: bool,
    /// Whether a product that adds to the gradient buffer still hands autograd an empty gradient, kept for each shape of weight
    /// (Transformer Engine from 2.8, Megatron's head).
    pub placeholder_gradients: bool,
    /// Whether a sent activation is split over the tensor ranks and gathered where it arrives.
    pub scatter_gather: bool,
    /// Whether a stage waits until what it sends has arrived, and its host for what it receives (Megatron without overlap of
    /// point-to-point exchanges). Zero-bubble schedules never wait.
    pub blocking_sends: bool,
    /// The vocabulary is padded to a multiple of this and of the tensor degree.
    pub vocabulary_multiple: u64,
    /// The release of NCCL; the newest that is known where it is not stated.
    pub nccl: Option<&'static Release>,
}

/// `num_sm` of the pipelined sums (`proj_fprop`, `fc2_fprop`, `set_sm_margin: 1`) in NVIDIA's recipes for H100 is 24 and 20 (GPT-3), 16
/// and 24 (Llama 3.1 70B), 24 and 8 (405B): NVIDIA/dgxc-benchmarking v25.02.
const RESERVED_BY_USER_BUFFERS: u32 = 20;

/// No profile has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("framework {name:?} is not known: expected {}", Framework::NAMES.join(", "))]
pub struct UnknownFramework {
    /// The name as given.
    pub name: String,
}

impl Framework {
    /// The names of all profiles.
    pub const NAMES: [&'static str; 7] = [
        "megatron-lm",
        "megatron-lm-2022",
        "megatron-bridge",
        "torchtitan",
        "mosaic-llm-foundry",
        "zero-bubble",
        "vtrain",
    ];

    /// The profile of a name.
    ///
    /// - `megatron-lm`: Megatron-Core with Transformer Engine: norms, losses and attention fused, no dropout.
    /// - `megatron-lm-2022`: Megatron-LM of Korthikanti et al.: attention in memory with its softmax fused, Apex norms,
    ///   jitted bias, GELU and dropout, dropout on; NCCL of the time.
    /// - `megatron-bridge`: as `megatron-lm`, with captured graphs.
    /// - `torchtitan`: `torch.compile`, FSDP2, attention by `scaled_dot_product_attention`,
    ///   whose flash kernel is FlashAttention 2 on every device.
    /// - `mosaic-llm-foundry`: eager MPT under FSDP 1, with the FlashAttention 1 that its benchmarks ran until 2024.
    /// - `zero-bubble`: the fork of Megatron-LM that measured zero-bubble schedules: as `megatron-lm-2022`. That its attention is not fused is what its memory says: the 10 GiB of scores that the 14.6B model keeps.
    /// - `vtrain`: Megatron-DeepSpeed as vTrain measured it: as `megatron-lm-2022` without overlap in the backward pass.
    ///
    /// In any case, with `_` or a space for `-`; also `megatron`, `megatron-core`, `mcore`, `nemo` (megatron-lm), `fsdp2`, `titan`
    /// (torchtitan), `llm-foundry`, `composer` (mosaic-llm-foundry), `megatron-deepspeed` (vtrain).
    ///
    /// # Errors
    /// [`UnknownFramework`] lists the names.
    pub fn named(name: &str) -> Result<Self, UnknownFramework> {
        let lower = Self::canonical(name);
        let release = |version| Release::of_version(version).ok();
        let core = Self {
            name: lower.clone(),
            dispatch: Dispatch::Eager,
            fusion: Fusion::Fused,
            fused_norm: true,
            fused_loss: true,
            fused_attention: true,
            attention: None,
            token_once_a_node: false,
            dropout: false,
            separate_projections: false,
            overlap_backward: true,
            gathers_operands: true,
            reserved_multiprocessors: RESERVED_BY_USER_BUFFERS,
            fused_accumulation: true,
            flat_parameters: false,
            placeholder_gradients: true,
            scatter_gather: true,
            blocking_sends: false,
            vocabulary_multiple: 128,
            nccl: None,
        };
        let of_2022 = Self {
            dispatch: Dispatch::Eager,
            fusion: Fusion::Joined,
            fused_loss: false,
            fused_attention: false,
            placeholder_gradients: false,
            dropout: true,
            blocking_sends: true,
            nccl: release("2.12"),
            ..core.clone()
        };
        Ok(match lower.as_str() {
            "megatron-lm" => core,
            "megatron-bridge" => Self { dispatch: Dispatch::Graph, ..core },
            "megatron-lm-2022" => of_2022,
            "zero-bubble" => Self { nccl: release("2.18"), ..of_2022 },
            "vtrain" => Self { overlap_backward: false, fused_accumulation: false, ..of_2022 },
            "torchtitan" => Self {
                dispatch: Dispatch::Compiled,
                fusion: Fusion::Joined,
                fused_norm: false,
                fused_loss: false,
                attention: Some(AttentionKernel::Flash2),
                separate_projections: true,
                overlap_backward: false,
                gathers_operands: false,
                reserved_multiprocessors: 0,
                fused_accumulation: false,
                placeholder_gradients: false,
                scatter_gather: false,
                vocabulary_multiple: 1,
                ..core
            },
            "mosaic-llm-foundry" => Self {
                dispatch: Dispatch::Eager,
                fusion: Fusion::Eager,
                fused_norm: true,
                fused_loss: true,
                attention: Some(AttentionKernel::Flash1),
                overlap_backward: false,
                gathers_operands: false,
                reserved_multiprocessors: 0,
                fused_accumulation: false,
                flat_parameters: true,
                placeholder_gradients: false,
                scatter_gather: false,
                vocabulary_multiple: 1,
                ..core
            },
            _ => return Err(UnknownFramework { name: name.to_owned() }),
        })
    }

    /// A profile's name from what people call the framework.
    fn canonical(name: &str) -> String {
        let lower = name.trim().to_ascii_lowercase().replace(['_', ' '], "-");
        let known = match lower.as_str() {
            // NeMo runs Megatron-Core; its performance recipes are Megatron-Bridge's.
            "megatron" | "megatron-core" | "mcore" | "nemo" | "nemo2" | "nemo-2" => "megatron-lm",
            "bridge" | "nemo-megatron-bridge" => "megatron-bridge",
            "titan" | "fsdp2" | "pytorch-torchtitan" => "torchtitan",
            "llm-foundry" | "mosaic" | "composer" => "mosaic-llm-foundry",
            "megatron-deepspeed" => "vtrain",
            other => other,
        };
        known.to_owned()
    }

    /// Rows of the embedding with padding, on `tensor` ranks.
    #[must_use]
    pub fn padded_vocabulary(&self, vocabulary: u64, tensor: u32) -> u64 {
        vocabulary.next_multiple_of((self.vocabulary_multiple * u64::from(tensor)).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_profile_and_another_is_refused_with_the_list() {
        for name in Framework::NAMES {
            assert_eq!(Framework::named(name).unwrap().name, name);
        }
        for (alias, name) in [
            ("NeMo", "megatron-lm"),
            ("mcore", "megatron-lm"),
            ("Megatron_LM", "megatron-lm"),
            ("FSDP2", "torchtitan"),
        ] {
            assert_eq!(Framework::named(alias).unwrap().name, name);
        }
        let error = Framework::named("pytorch").unwrap_err().to_string();
        assert!(error.contains("\"pytorch\"") && error.contains("torchtitan"), "{error}");
    }

    #[test]
    fn megatron_pads_the_vocabulary() {
        let megatron = Framework::named("megatron-lm").unwrap();
        assert_eq!(megatron.padded_vocabulary(50_257, 8), 51_200);
        assert_eq!(Framework::named("torchtitan").unwrap().padded_vocabulary(128_256, 1), 128_256);
    }
}
