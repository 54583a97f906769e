//! The kernels that a simulated job launches, named as the libraries name theirs.

macro_rules! operations {
    ($( $(#[$doc:meta])* $name:ident => $key:literal; )+) => {
        /// What a kernel computes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Operation { $( $(#[$doc])* $name, )+ }

        impl Operation {
            /// The word used in JSON.
            pub fn key(self) -> &'static str {
                match self { $( Self::$name => $key, )+ }
            }
        }
    };
}

operations! {
    /// A matrix product.
    Gemm => "gemm";
    /// Fused attention.
    Attention => "attention";
    /// Normalisation.
    Normalisation => "norm";
    /// Pointwise work.
    Elementwise => "elementwise";
    /// Router and expert products.
    MixtureOfExperts => "moe";
    /// Look-up of a table.
    Embedding => "embedding";
    /// Softmax and loss.
    SoftmaxLoss => "softmax_loss";
    /// The optimizer's update.
    Optimizer => "optimizer";
}

/// Which exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exchange {
    /// Every rank gets the sum.
    AllReduce,
    /// Every rank sends a part to every other.
    AllToAll,
    /// Point to point, sending side.
    Send,
    /// Point to point, receiving side.
    Receive,
}

impl Exchange {
    /// The word used in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllToAll => "all_to_all",
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }

    /// `Collective name` as NCCL's recorder writes it.
    pub(super) fn recorded_name(self) -> &'static str {
        match self {
            Self::AllReduce => "allreduce",
            Self::AllToAll => "all_to_allv",
            Self::Send => "send",
            Self::Receive => "recv",
        }
    }

    pub(super) fn kernel(self) -> Kernel {
        let (name, operator) = match self {
            Self::AllReduce => (
                "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                "nccl:all_reduce",
            ),
            Self::AllToAll => ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "nccl:all_to_all"),
            Self::Send => ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "nccl:send"),
            Self::Receive => ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "nccl:recv"),
        };
        Kernel { name, operator }
    }
}

/// A kernel or copy, and the operator that launches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kernel {
    pub name: &'static str,
    pub operator: &'static str,
}

const fn kernel(operator: &'static str, name: &'static str) -> Kernel {
    Kernel { name, operator }
}

pub(super) const COPY_IN: Kernel = kernel("aten::copy_", "Memcpy HtoD (Pinned -> Device)");
pub(super) const COPY_OUT: Kernel = kernel("aten::_to_copy", "Memcpy DtoH (Device -> Pageable)");
pub(super) const FILL: Kernel = kernel("aten::zero_", "Memset (Device)");
pub(super) const EMBEDDING: Kernel = kernel(
    "aten::embedding",
    "void simulated::embedding_forward_kernel<bf16, long>(bf16*, bf16 const*, long const*, int)",
);
pub(super) const LOSS: Kernel = kernel(
    "aten::_log_softmax",
    "void simulated::cunn_SoftMaxForward<8, bf16, float, LogSoftMaxForwardEpilogue>(float*, bf16 const*, int)",
);
pub(super) const OPTIMIZER: Kernel = kernel(
    "aten::_fused_adamw_",
    "void simulated::multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor<float, 4>, float>(int)",
);
pub(super) const NORM: Kernel = kernel(
    "aten::_fused_rms_norm",
    "void simulated::rms_norm_forward_kernel<bf16, float, 8>(int, float, bf16 const*, bf16*)",
);
pub(super) const NORM_BACKWARD: Kernel = kernel(
    "aten::_fused_rms_norm_backward",
    "void simulated::rms_norm_backward_kernel<bf16, float, 8>(int, bf16 const*, bf16 const*, bf16*)",
);
pub(super) const MATMUL: Kernel = kernel("aten::mm", "sm90_gemm_bf16bf16_f32_128x256x64_tn_simulated");
pub(super) const MATMUL_BACKWARD: Kernel =
    kernel("aten::mm", "sm90_gemm_bf16bf16_f32_128x256x64_nt_simulated");
pub(super) const ATTENTION: Kernel = kernel(
    "aten::_flash_attention_forward",
    "void simulated::flash_fwd_kernel<128, 128, 64, bf16>(Flash_fwd_params)",
);
pub(super) const ATTENTION_BACKWARD: Kernel = kernel(
    "aten::_flash_attention_backward",
    "void simulated::flash_bwd_kernel<128, 64, 128, bf16>(Flash_bwd_params)",
);
pub(super) const ACTIVATION: Kernel = kernel(
    "aten::silu",
    "void simulated::vectorized_elementwise_kernel<4, silu_functor<bf16>, Array<char*, 2>>(int)",
);
pub(super) const RESIDUAL: Kernel = kernel(
    "aten::add",
    "void simulated::vectorized_elementwise_kernel<4, CUDAFunctor_add<bf16>, Array<char*, 3>>(int)",
);
pub(super) const EXPERTS: Kernel =
    kernel("simulated::moe_experts", "moe_grouped_expert_products_bf16_simulated");
pub(super) const ROUTER: Kernel = kernel("simulated::moe_router", "moe_topk_gating_softmax_bf16_simulated");
