//! The rules: the first that matches names the operation.
//!
//! Patterns are pieces of [`Words`]: `_` is the border of a word. A rule looks at the function's own name, or at its
//! template arguments too where libraries wrap the operation (`cutlass::device_kernel<…>`). The order matters: a
//! fused attention is built from matrix products, an implicit convolution is a product, and a quantised product is
//! still a product.

use super::Class::{self, *};
use super::name::Words;

/// Where the patterns of a rule are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The function and its namespaces.
    Head,
    /// The function and its template arguments.
    Whole,
    /// The template arguments.
    Arguments,
    /// The beginning of the name.
    Start,
}
use Place::{Arguments, Head, Start, Whole};

/// The class of a kernel by the words of its name.
pub(super) fn class_of(words: &Words) -> Class {
    generated(&words.head).or_else(|| wrapped(words)).unwrap_or_else(|| by_table(words))
}

/// Kernels of `torch.compile`: the template tells what they do, and the operators listed after it include
/// neighbours that were not fused.
fn generated(head: &str) -> Option<Class> {
    let rest = head.strip_prefix("_triton_")?;
    let has = |patterns: &[&str]| patterns.iter().any(|p| rest.contains(p));
    let (kind, _) = rest.split_once('_')?;
    Some(match kind {
        "poi" | "unk" | "fused" | "" => Elementwise,
        "per" | "red" if has(&["layer_norm", "rms_norm", "group_norm", "batch_norm", "instance_norm"]) => {
            Normalisation
        }
        "per" | "red" => Reduce,
        "spl" => SortScan,
        "for" => Optimizer,
        "tem" if has(&["attention", "flex_"]) => Attention,
        "tem" if has(&["conv"]) => Convolution,
        "tem" | "mm" | "bmm" => Gemm,
        // `triton__0d1d2d` of the first releases.
        _ if kind.starts_with("0d1") => Elementwise,
        _ => return None,
    })
}

/// Wrappers of ATen, cub and rocPRIM that are named after the way they iterate: the functor tells.
fn wrapped(words: &Words) -> Option<Class> {
    let head = |patterns: &[&str]| contains_any(&words.head, patterns);
    if head(&["_elementwise_kernel", "_elementwise_grid_stride_kernel", "_kernel_pointwise_apply"]) {
        if head(&["_index_elementwise", "_scatter_", "_gather_"]) {
            return Some(CopyLayout);
        }
        return Some(first_match(FUNCTORS, words).unwrap_or(Elementwise));
    }
    if head(&["_native_reduce_kernel_"]) {
        return Some(Reduce);
    }
    if head(&["_multi_tensor_apply", "_foreach_"]) {
        let copies = contains_any(&words.arguments, &["_copy_functor_", "_copy_op_", "_functor_copy_"]);
        return Some(if copies { CopyLayout } else { Optimizer });
    }
    // TensorFlow's pointwise work and reductions are expressions of Eigen.
    if head(&["_eigen_meta_kernel_", "_reduction_init_kernel_", "_full_reduction_kernel_"]) {
        return Some(first_match(EXPRESSIONS, words).unwrap_or(Elementwise));
    }
    if head(&["_cub_", "_rocprim_", "_hipcub_", "_thrust_"]) {
        return Some(first_match(PRIMITIVES, words).unwrap_or(Elementwise));
    }
    None
}

fn by_table(words: &Words) -> Class {
    first_match(OPERATIONS, words).unwrap_or(Other)
}

type Rule = (Class, Place, &'static [&'static str]);

fn first_match(rules: &[Rule], words: &Words) -> Option<Class> {
    rules
        .iter()
        .find(|(_, place, patterns)| match place {
            Head => contains_any(&words.head, patterns),
            Whole => contains_any(&words.head, patterns) || contains_any(&words.arguments, patterns),
            Arguments => contains_any(&words.arguments, patterns),
            Start => patterns.iter().any(|pattern| words.head.starts_with(pattern)),
        })
        .map(|&(class, ..)| class)
}

fn contains_any(text: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| text.contains(pattern))
}

/// Functors of ATen's pointwise wrappers; any other is pointwise.
#[rustfmt::skip]
const FUNCTORS: &[Rule] = &[
    (Normalisation, Arguments, &["_norm_", "layer_norm", "batch_norm", "group_norm", "rms_norm"]),
    (Quantise, Arguments, &["quant", "hfp8", "_float_to_fp8", "_fp8_to_float"]),
    (SoftmaxLoss, Arguments, &[
        "softmax", "_mse_", "_smooth_l1_", "_huber_", "cross_entropy", "_kl_div_", "_nll_", "_loss_",
    ]),
    (CopyLayout, Arguments, &[
        "_copy_", "_index_", "_gather_", "_scatter_", "_flip_", "_roll_", "_take_", "_put_", "_cat_",
    ]),
];

/// Parallel primitives of cub and rocPRIM; any other is a transform.
#[rustfmt::skip]
const PRIMITIVES: &[Rule] = &[
    (SortScan, Whole, &[
        "_sort", "_merge_", "_scan_", "_lookback_", "_select_", "_partition_", "_unique_", "_compact_",
        "_run_length_", "_histogram_", "_by_key_", "_top_k_", "_topk_", "_block_sort", "_binary_search_",
        "_lower_bound_", "_upper_bound_",
    ]),
    (Reduce, Whole, &["_reduce_", "_reduction_"]),
    (CopyLayout, Whole, &["_batched_copy_", "_batch_memcpy_", "_copy_if_"]),
];

/// Expressions of Eigen; any other is pointwise.
#[rustfmt::skip]
const EXPRESSIONS: &[Rule] = &[
    (Reduce, Whole, &["_reducer_", "_reduction_"]),
    (CopyLayout, Arguments, &["_tensor_shuffling_", "_tensor_concatenation_", "_tensor_padding_", "_tensor_slicing_"]),
];

/// All other kernels.
#[rustfmt::skip]
const OPERATIONS: &[Rule] = &[
    // A product that communicates on the way computes.
    (Gemm, Head, &[
        "_gemm_all", "_gemm_rs_", "_ag_gemm_", "gemm_reduce_scatter", "all_gather_gemm", "gemm_ar_",
    ]),
    (Communication, Head, &[
        "_nccl", "rccl_", "_hccl", "_hcom_", "_oneccl", "_mscclpp", "_msccl", "nvshmem", "rocshmem",
        "_deep_ep_", "_all_reduce", "allreduce", "_all_gather", "allgather", "_reduce_scatter",
        "reducescatter", "_all_to_all", "alltoall", "_all2all", "_a2a_", "cross_device_reduce", "multimem_",
        "_twoshot_", "quick_reduce", "quickreduce", "userbuffers", "_collective_", "_send_recv_",
        "_sendrecv_", "_symm_mem_", "_internode_", "_intranode_", "_p2p_",
    ]),
    (Communication, Start, &["_send_", "_recv_"]),
    (Memory, Head, &["_rocclr_copy", "_rocclr_fill"]),
    (Memory, Start, &[
        "_memcpy", "_memset", "_memory_copy", "_cuda_memcpy", "_cuda_memset", "_copy_host_to_device",
        "_copy_device_to_", "_fill_buffer",
    ]),
    // Writing the cache of keys and values, and the indices of its pages, attends to nothing.
    (CopyLayout, Head, &[
        "reshape_and_cache", "concat_and_cache", "store_kvcache", "store_kv_cache", "store_cache",
        "set_kv_buffer", "append_paged_kv", "copy_blocks", "swap_blocks", "kv_indices", "gather_cache",
        "gather_and_maybe_dequant", "kv_cache_copy", "write_kv", "copy_kv", "transfer_kv",
    ]),
    // A rotation on the way into the cache or into attention.
    (Rope, Head, &["_qk_rope_", "rope_cat_and_cache", "_rope_quantize", "_rope_and_cache"]),
    // State-space scans are none of sort and scan.
    (Other, Head, &[
        "_selective_scan", "_chunk_scan_", "_chunk_state_", "_state_passing_", "_ssd_", "_selective_state_",
    ]),
    (Attention, Whole, &[
        "_flash_", "flash_attn", "_flash2", "_flash3", "fmha", "_attn_", "attention", "_sdpa_", "_mla_",
        "flashmla", "flash_mla", "mem_eff_", "_paged_kv_", "paged_kvcache", "ragged_kv", "with_kvcache",
        "with_kv_cache", "_sage_", "sageattn", "_mqa_", "_gqa_", "_mha_", "_mmha_", "merge_state",
        "delta_rule", "retention",
    ]),
    // Triton's tutorial names of an attention's passes.
    (Attention, Head, &[
        "_fwd_kernel_stage", "_fwd_grouped_kernel_stage", "_dkdv_", "_dk_dv_", "_do_o_", "_dq_kernel_",
        "_bwd_dq_", "_bwd_preprocess_", "_bwd_kernel_fuse_", "_kernel_dq_",
    ]),
    (CopyLayout, Head, &["im2col", "col2im", "im2d2col", "col2im2d", "_vol2col", "_col2vol"]),
    (Convolution, Whole, &[
        "fprop", "dgrad", "wgrad", "winograd", "convolve", "implicit_gemm", "scudnn", "hcudnn", "icudnn",
        "4cudnn", "8cudnn", "6cudnn", "_igemm_fwd_", "_igemm_bwd_", "_igemm_wrw_", "_bwd_weight",
        "_bwd_data", "_wrw_", "_conv_", "_conv1", "_conv2", "_conv3", "_convolution", "grouped_conv",
        "asm_conv", "naive_conv", "mlo_conv", "gcgemm", "depthwise", "xdlops_conv",
    ]),
    (Convolution, Head, &[
        "_cask_cudnn", "_fft2d_", "_fft1d_", "_fft3d_", "mi_open_conv", "_sp3_asm_conv", "_gcn_asm_",
        "_compute_offsets_", "_compute_b_offsets_", "_flip_filter", "_precompute_indices_",
    ]),
    (Convolution, Whole, &["_cudnn_train_reduction_", "_cudnn_infer_reduction_", "_cudnn_reduction_"]),
    (MixtureOfExperts, Whole, &[
        "_moe_", "_moe2", "_fused_moe", "_fmoe_", "matmul_ogs", "topk_gating", "top_k_gating", "_routing_", "_expert",
        "row_id_map", "_unpermute_", "sort_chunks_by", "_ep_scatter_", "_ep_gather_", "topk_softmax",
        "grouped_topk", "biased_grouped",
    ]),
    // Level-1 BLAS, whose template arguments name cuBLAS types of products.
    (Reduce, Head, &["_dot_kernel_", "_reduce_1_block_", "_reduce_1block_", "_asum_", "_nrm2_", "_iamax_"]),
    (Elementwise, Head, &["_scal_kernel_", "_axpy_"]),
    (CopyLayout, Head, &["marlin_repack", "_repack_", "_transpose_float_", "_shuffle_weight"]),
    (Gemm, Whole, &[
        "gemm", "gemv", "_cijk_", "_nvjet", "tensorop", "_wmma_", "_bmm_", "matmul", "_mm_", "_addmm_",
        "_split_kreduce", "_splitk", "split_k_", "_wv_split", "_symm_kernel", "_syrk_", "_trsm_", "_magma_",
        "_marlin_", "_machete_", "_mul_mat_", "_einsum_", "_w8a8_block_", "_w4a16_", "_exllama",
    ]),
    (Gemm, Head, &["_cublas", "_rocblas_", "_hipblas", "_dot_", "_mat_mul", "_epilogue_impl_"]),
    (Rope, Head, &["rotary", "_rope_", "_mrope_"]),
    (Embedding, Head, &[
        "embedding", "_embs_", "_tbe_", "partials_per_segment", "partial_segment", "_sum_and_scatter_",
        "compute_grad_weight", "_lxu_", "bucketize_sparse", "permute_2_d_data", "permute_indices_weights",
        "permute_1_d_data", "bounds_check_indices", "linearize_index", "_offsets_range_",
    ]),
    (Normalisation, Whole, &[
        "layer_norm", "layernorm", "rms_norm", "rmsnorm", "batch_norm", "batchnorm", "group_norm",
        "groupnorm", "instance_norm", "l2norm", "_ln_fwd", "_ln_bwd", "_bn_fw", "_bn_bw", "_welford_",
        "gamma_beta", "rowwise_moments", "compute_internal_gradients", "fused_params_cuda",
        "_normalization_", "_ada_norm", "_local_response_", "_lrn_",
    ]),
    (Normalisation, Head, &[
        "_cu_compute_grad_input_", "_qk_norm_", "_norm_fwd", "_norm_bwd", "_fused_norm", "_add_norm",
    ]),
    (SoftmaxLoss, Head, &[
        "softmax", "soft_max", "cross_entropy", "nll_loss", "criterion", "_loss_", "logsumexp",
        "log_sum_exp", "_fused_classifier_", "_kl_div_", "_jsd_", "_mse_", "_ctc_", "_bce_", "_dpo_", "_grpo_",
    ]),
    (Optimizer, Head, &[
        "_adam", "_lamb_", "_sgd_", "_adagrad_", "_adafactor_", "_lion_", "_muon_", "_rmsprop_",
        "optimizer", "non_finite_check", "_amp_update_scale", "_update_scale_", "grad_norm",
        "lpnorm_cleanup", "clip_grad",
    ]),
    (Quantise, Head, &[
        "quant", "_fp8", "fp8_", "_mxfp", "mxfp4", "mxfp8", "nvfp4", "_fp4_", "_hfp8", "_e4m3", "_e5m2",
        "cast_transpose", "_delayed_scaling_", "_amax_", "_swizzle_scal", "compute_scale", "block_scale",
    ]),
    (Other, Head, &[
        "_pool_", "_pool1", "_pool2", "_pool3", "pooling", "_max_pool", "_avg_pool", "grid_sampl", "_spin_",
    ]),
    (SortScan, Head, &[
        "_sort_", "radix_sort", "sort_kv", "bitonic", "top_k", "topk", "_scan_", "cumsum", "cumprod",
        "_cummax_", "_unique_", "_compact_", "nonzero", "_flag_kernel", "_searchsorted_", "histogram",
        "bincount", "_bucketize_", "kth_value", "_median_", "_sampling_", "_top_p_", "_masked_select",
        "_merge_sort", "_argsort_",
    ]),
    (CopyLayout, Head, &[
        "_cat_", "concat", "transpose", "nchw_to_", "nhwc_to_", "nchw2", "nhwc2", "gather", "scatter",
        "_index", "_copy", "copy_", "memcpy", "permute", "_split_", "_slice_", "_pad_", "padding", "_roll_",
        "_flip_", "_take_", "_pack_", "_unpack_", "_recat_", "interleave", "jagged_to", "to_jagged",
        "to_dense", "_swizzle_", "upsample", "sub_tensor_op_with_cast", "_reverse_", "_reorder",
        "_trans_data", "_narrow_", "_bitcast_", "_reshape_", "_chunk_cat", "dynamic_update_slice",
        "_compute_cuda_kernel_", "_layout_", "_expand_rows", "_pixel_shuffle_", "_cpy_", "_get_rows_", "_swap_dimension",
        "_shuffle_in_tensor",
    ]),
    (Reduce, Head, &[
        "reduce", "reduction", "_sum_", "_mean_", "_argmax_", "_argmin_", "_amin_", "_norm_kernel_",
        "_l2_norm_", "_var_mean_", "_prod_kernel_",
    ]),
    (Elementwise, Head, &[
        "elementwise", "element_wise", "pointwise", "act_and_mul", "activation", "silu", "gelu", "glu_",
        "relu", "dropout", "_fill", "_add_", "_sub_", "_mul_", "_div_", "multiply", "subtract", "divide",
        "sigmoid", "tanh", "_exp_", "exponential", "_log_", "_pow", "_sqrt", "rsqrt", "_cast_", "convert",
        "_bias_", "random", "_rng_", "philox", "distribution", "bernoulli", "arange", "linspace", "iota",
        "_triu", "_tril", "_where_", "_select_fusion", "_clamp_", "_compare_", "_lerp_", "addcmul",
        "addcdiv", "_abs_", "_neg", "_residual_", "op_tensor", "_generic_tensor_", "_cell_", "op_with_scalar", "op1d_tensor",
        "op2d_tensor", "tensor_op", "_unary_", "_binary_", "_loop_", "_mask_", "_broadcast_", "_scale_",
        "_swish_", "_mish_", "_zero", "_sin_", "_cos_", "_max_fusion", "_transform_", "_and_", "_or_",
        "_not_", "_maximum_", "_minimum_", "_clone_", "_bcast_",
    ]),
];
