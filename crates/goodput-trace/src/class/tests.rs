//! Names of many libraries, each with the operation that it does.

use super::Class::{self, *};

/// Names that a plain search for a word would class wrongly.
const TRAPS: &[(Class, &str)] = &[
    // "lamb" in lambda, "roll" in unroll, "relu" in a fused convolution, "fill" in prefill.
    (
        Elementwise,
        "void at::native::elementwise_kernel_manual_unroll<128, 8, at::native::gpu_kernel_impl_nocast<at::native::(anonymous namespace)::lerp_scalar_kernel(at::TensorIteratorBase&, c10::Scalar const&)::{lambda()#2}::operator()() const::{lambda(float, float)#1}>(at::TensorIteratorBase&)::{lambda(int, bool)#1}>(int)",
    ),
    (Convolution, "turing_fp16_s1688cudnn_fp16_256x64_ldg8_relu_f2f_exp_small_nhwc_tn_v1"),
    (Attention, "void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<>>(Params)"),
    // A library or a namespace named after another operation.
    (
        Quantise,
        "void fbgemm_gpu::_get_8bit_qparam_cuda_kernel_quantize<float>(float const*, int, int, unsigned char*)",
    ),
    (
        Normalisation,
        "void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, unsigned int)",
    ),
    (
        Elementwise,
        "void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &silu>(__nv_bfloat16*, int)",
    ),
    (
        SortScan,
        "void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u, 32, int>(float*, int*, unsigned int)",
    ),
    (Normalisation, "MIOpenBatchNormBwdSpatialDScaleDBias"),
    (Convolution, "miopenSp3AsmConv_v21_1_3_gfx9_fp16_dot2_edc_stride1"),
    (Memory, "__amd_rocclr_copyBuffer"),
    (Communication, "void ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
    // The words of other operations in a fused or generated name.
    (
        Attention,
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0",
    ),
    (Attention, "cudnn_generated_fort_native_sdpa_sm80_flash_bprop_f16_knob_31_64x64x128_4x1x1_kernel0_0"),
    (Elementwise, "triton_poi_fused_native_layer_norm_backward_embedding_0"),
    (Reduce, "triton_per_fused_addmm_sum_2"),
    (Normalisation, "triton_per_fused__to_copy_native_layer_norm_view_0"),
    (Gemm, "triton_tem_fused_addmm_relu_3"),
    (Attention, "triton_tem_fused_flex_attention_backward_1"),
    (Convolution, "triton_tem_fused_convolution_7"),
    // A copy with a cache's or an attention's name.
    (
        CopyLayout,
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char>(__nv_bfloat16 const*)",
    ),
    (CopyLayout, "create_flashinfer_kv_indices_triton"),
    // Softmax inside an attention, and a masked softmax on its own.
    (
        SoftmaxLoss,
        "void scaled_upper_triang_masked_softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 11>(c10::BFloat16*)",
    ),
    (
        MixtureOfExperts,
        "void vllm::moe::topkGatingSoftmax<4, 64, 4, 8>(float const*, bool const*, float*, int, int*)",
    ),
    // "rope" in property, "scan" of a state-space model, "embedding" in a rotation.
    (Other, "query_device_property_kernel"),
    (Other, "void selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<128, 16, 1>>(SSMParamsBase)"),
    (Rope, "void sglang::BatchQKApplyRotaryPosIdsCosSinCacheEnhancedKernel<true, 128u>(float*)"),
    // Reductions that belong to a product or to attention.
    (
        Gemm,
        "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float>(cublasLt::cublasSplitKParams<float>)",
    ),
    (
        Attention,
        "void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128>, 4, 5, true>(flash::Flash_fwd_params)",
    ),
    (Gemm, "Cijk_Alik_Bljk_S_B_Bias_PostGSU8_VW4"),
    // Int8 products against implicit convolutions.
    (Gemm, "ampere_int32_i16832gemm_int8_128x128_ldg16_stages_64x3_tn"),
    (Convolution, "igemm_bwd_gtcx_nhwc_fp16_bx0_ex0_bt128x128x16"),
    // A driver's copy against a kernel that copies.
    (Memory, "Memcpy DtoD (Device -> Device)"),
    (Memory, "Memset (Device)"),
    (
        CopyLayout,
        "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
    ),
    // A gather of tokens against a gather of ranks.
    (
        CopyLayout,
        "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long)",
    ),
    (Communication, "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
    (
        CopyLayout,
        "void at::native::_scatter_gather_elementwise_kernel<256, 4, at::native::_cuda_scatter_gather_internal_kernel<true, float>>(int)",
    ),
    // An optimizer inside an embedding.
    (Embedding, "void split_embedding_backward_codegen_lamb_unweighted_kernel_cta_per_row_1<float>(float*)"),
    (Other, "Kernel"),
    (Other, "kernel"),
    (Other, ""),
];

/// Names as the libraries write them.
const NAMES: &[(Class, &str)] = &[
    // Communication.
    (Communication, "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)"),
    (Communication, "nccl:all_reduce"),
    (
        Communication,
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)",
    ),
    (Communication, "void sglang::cross_device_reduce_2stage<nv_bfloat16, 4>(RankData*)"),
    (Communication, "void two_shot_all_reduce_kernel<c10::BFloat16, 16, 8>(c10::BFloat16**, unsigned long)"),
    (
        Communication,
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(AllReduceFusionPattern)1, __nv_bfloat16, 8, true>(Params)",
    ),
    (Communication, "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, int*)"),
    (Communication, "void deep_ep::internode_ll::combine<true, 7168, 9>(void*)"),
    (Communication, "_ZN7deep_ep9intranode7combineI13__nv_bfloat16Li8ELi768ELi4096EEEvPT_Pf"),
    (Communication, "void mscclKernel_Sum_bf16_LL(ncclDevComm*, mscclAlgo*, mscclWork*)"),
    (Communication, "nvshmemi_proxy_barrier_kernel"),
    (Communication, "all-reduce.1"),
    (Communication, "all-gather-start.12"),
    (Communication, "reduce-scatter.3"),
    (Communication, "collective-permute-done.2"),
    (Communication, "all-to-all.5"),
    (Communication, "hcom_allReduce__123_0"),
    (Communication, "void transformer_engine::userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int, int)"),
    (
        Communication,
        "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half>>(__half const*)",
    ),
    // Products.
    (Gemm, "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn"),
    (
        Gemm,
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>>>(Params)",
    ),
    (Gemm, "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTN"),
    (
        Gemm,
        "void gemv2N_kernel<int, int, float, float, float, float, 128, 32, 4, 4, 1, false>(cublasGemvParams)",
    ),
    (Gemm, "void dot_based_gemvx::kernel<int>(cublasGemvParams)"),
    (
        Gemm,
        "void deep_gemm::sm90_fp8_gemm_1d2d_impl<(cute::UMMA::Major)0, 0u, 4096u, 7168u, 1u, 64u>(float*)",
    ),
    (Gemm, "_w8a8_block_fp8_matmul"),
    (Gemm, "matmul_kernel_persistent"),
    (Gemm, "void marlin::Marlin<__nv_bfloat16, 1125899906842624l, 256, 1, 8, 8, true, 4>(int4 const*)"),
    (Gemm, "void kgemm_4bit_inference_naive<__nv_bfloat16, 128, 16>(int, int, int, __nv_bfloat16*)"),
    (Gemm, "void wvSplitK_hf_sml_<__hip_bfloat16, 64, 4, 16, 8, 2, 4>(int, int, __hip_bfloat16 const*)"),
    (
        Gemm,
        "_ZN2ck27kernel_gemm_xdl_cshuffle_v3INS_34GridwiseGemm_xdl_cshuffle_v3INS_13tensor_layout4gemm8RowMajorEEEEEvT_",
    ),
    (Gemm, "gemm_fusion_dot.42"),
    (Gemm, "__cublas$lt$matmul"),
    (
        Gemm,
        "sm90_xmma_gemm_f16f16_f16f32_f32_nt_n_tilesize128x128x64_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas",
    ),
    (Gemm, "void cublasLt::epilogue::impl::globalKernel<8, 32, float, __nv_bfloat16>(int)"),
    (
        Gemm,
        "std::enable_if<true, void>::type internal::gemvx::kernel<int, int, __half, __half, __half, float>(Params)",
    ),
    (Gemm, "dot.7"),
    (Gemm, "BatchMatMulV2"),
    (Gemm, "triton_gemm_dot.12"),
    // Attention.
    (
        Attention,
        "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2>>>>(Params)",
    ),
    (
        Attention,
        "void flash::flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<128, 64, 128>>(flash::Flash_bwd_params)",
    ),
    (
        Attention,
        "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<>::Params)",
    ),
    (
        Attention,
        "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u, 8u>(Params)",
    ),
    (
        Attention,
        "void vllm::paged_attention_v2_reduce_kernel<unsigned short, 128, 128, 512>(unsigned short*)",
    ),
    (Attention, "_attn_bwd_dkdv"),
    (Attention, "_fwd_grouped_kernel_stage1"),
    (Attention, "_fwd_kernel_stage2"),
    (Attention, "aiter::fmha_fwd_hd128_bf16_causal"),
    (Attention, "_ZN5aiter38fmha_bwd_hd128_bf16_a32_rtne_pss"),
    (Attention, "kn_mla_reduce_v1_ps"),
    (
        Attention,
        "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<pytorch_flash::Flash_bwd_kernel_traits<64>>(Params)",
    ),
    (Attention, "micro_sdpa"),
    (Attention, "void xformers::merge_attentions_kernel<float>(float*)"),
    (Attention, "fused_recurrent_gated_delta_rule_fwd_kernel"),
    // Convolutions.
    (
        Convolution,
        "void cudnn::cnn::conv2d_grouped_direct_kernel<false, true, false, false, 0, 0, int, __half>(Params)",
    ),
    (
        Convolution,
        "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>(int, int, int)",
    ),
    (Convolution, "sm86_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckcrs_nhwc_tilesize128x128x32"),
    (
        Convolution,
        "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>(Params)",
    ),
    (
        Convolution,
        "void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128, 4, false, c10::BFloat16>>(ConvParamsBase)",
    ),
    (Convolution, "naive_conv_ab_nonpacked_fwd_nchw_half_double_half"),
    (Convolution, "_ZN2ck12_GLOBAL__N_133kernel_grouped_conv_bwd_weight_xdlINS_3FooEEEvT_"),
    (Convolution, "gen_conv_fwd"),
    (Convolution, "convolution.12"),
    (
        Convolution,
        "void xmma_cudnn::gemm::kernel<xmma_cudnn::implicit_gemm::fprop::Kernel_traits<int>>(Params)",
    ),
    (Convolution, "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(Params)"),
    // Mixture of experts.
    (MixtureOfExperts, "fused_moe_kernel"),
    (MixtureOfExperts, "void vllm::moe::moe_align_block_size_kernel<int, int>(int*, int*, int*)"),
    (
        MixtureOfExperts,
        "void tensorrt_llm::kernels::cutlass_kernels::finalizeMoeRoutingKernel<__nv_bfloat16>(int)",
    ),
    (MixtureOfExperts, "_row_id_map_pass_1_kernel"),
    (MixtureOfExperts, "_fwd_kernel_ep_scatter_1"),
    (MixtureOfExperts, "_ZN7ck_tile15MoeSortingKernelINS_25MoeSortingProblemExILi8EEEEE"),
    // Embedding.
    (
        Embedding,
        "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float, float, long>(long const*)",
    ),
    (
        Embedding,
        "void at::native::(anonymous namespace)::EmbeddingBag_updateOutputKernel_sum_mean<float, long>(long const*)",
    ),
    (Embedding, "void at::native::(anonymous namespace)::compute_grad_weight<float, long>(long const*)"),
    (Embedding, "liger_embedding_forward_kernel"),
    // Normalisation.
    (
        Normalisation,
        "void transformer_engine::normalization::ln_fwd_tuned_kernel<transformer_engine::normalization::Kernel_traits<>>(Params)",
    ),
    (Normalisation, "void transformer_engine::normalization::rmsnorm_bwd_finalize_tuned_kernel<int>(Params)"),
    (Normalisation, "void cuApplyLayerNorm<float, float, c10::BFloat16>(c10::BFloat16*, float*, float*)"),
    (Normalisation, "void cuComputeGradInput<c10::BFloat16, float, c10::BFloat16>(c10::BFloat16 const*)"),
    (Normalisation, "_layer_norm_fwd_1pass_kernel"),
    (Normalisation, "_rms_norm_backward_kernel"),
    (Normalisation, "_rms_layernorm_forward"),
    (
        Normalisation,
        "void vllm::rms_norm_static_fp8_quant_kernel<c10::BFloat16, c10::Float8_e4m3fn, 8>(Params)",
    ),
    (
        Normalisation,
        "void at::native::batch_norm_collect_statistics_channels_last_kernel<at::native::Var, float>(float const*)",
    ),
    (
        Normalisation,
        "void at::native::(anonymous namespace)::ComputeFusedParamsCUDAKernel<float>(long, long)",
    ),
    (Normalisation, "void cudnn::bn_fw_inf_1C11_kernel_NHWC<float, float, true, 1>(float)"),
    (Normalisation, "void welford_kernel<c10::Half, float, float>(c10::Half const*)"),
    // Softmax and losses.
    (
        SoftmaxLoss,
        "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*)",
    ),
    (SoftmaxLoss, "liger_cross_entropy_kernel"),
    (SoftmaxLoss, "_chunked_cross_entropy_forward"),
    (
        SoftmaxLoss,
        "void at::native::(anonymous namespace)::nll_loss2d_forward_kernel<float, float, long>(float*)",
    ),
    (SoftmaxLoss, "triton_softmax.7"),
    // Rotation.
    (Rope, "_rope_embedding"),
    (Rope, "_triton_rope"),
    (Rope, "void transformer_engine::fused_rope_forward_kernel<__nv_bfloat16>(__nv_bfloat16 const*)"),
    // Optimizers.
    (
        Optimizer,
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*>(Params)",
    ),
    (
        Optimizer,
        "void multi_tensor_apply_kernel<TensorListMetadata<2>, L2NormFunctor<float>, float*, float*, bool, int>(long)",
    ),
    (Optimizer, "void kOptimizerStatic8bit2StateBlockwise<float, 0, 256, 1>(float*)"),
    (Optimizer, "void kPreconditionOptimizer32bit1State<__nv_bfloat16, 2, 4096, 8>(__nv_bfloat16*)"),
    (Optimizer, "triton_for_fused_3"),
    (
        CopyLayout,
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::CopyFunctor<float, float, 2, 1, 1>, at::native::Copy<float, float> >(long)",
    ),
    // Quantisation.
    (
        Quantise,
        "void vllm::dynamic_per_token_scaled_fp8_quant_kernel<c10::BFloat16, c10::Float8_e4m3fn>(Params)",
    ),
    (
        Quantise,
        "void transformer_engine::cast_transpose_general_kernel<16ul, 16ul, __nv_bfloat16, __nv_fp8_e4m3>(Params)",
    ),
    (Quantise, "void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>(float*, unsigned char*)"),
    (Quantise, "_per_token_group_quant_8bit_colmajor"),
    (
        Quantise,
        "void transformer_engine::delayed_scaling_recipe::(anonymous namespace)::kernel_bulk(AmaxParams)",
    ),
    // Sort and scan.
    (
        SortScan,
        "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<Policy900, false, long, long, int>(int*)",
    ),
    (
        SortScan,
        "void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float> >(float*, float const*)",
    ),
    (SortScan, "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(Params)"),
    (
        SortScan,
        "void at::native::mbtopk::radixFindKthValues<float, unsigned int, unsigned int, 4, 2>(Params)",
    ),
    (SortScan, "void at::native::bitonicSortKVInPlace<-2, -1, 16, 16, float, long>(Params)"),
    (SortScan, "void at_cuda_detail::cub::DeviceSelectSweepKernel<Policy, long*>(long*)"),
    (SortScan, "sort.3"),
    // Reductions.
    (
        Reduce,
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float, float, float>, unsigned int, float, 4, 4> >(Params)",
    ),
    (
        Reduce,
        "void at_cuda_detail::cub::DeviceReduceSingleTileKernel<Policy600, int*, int*, int, cub::Sum>(int*)",
    ),
    (Reduce, "input_reduce_fusion.3"),
    (Reduce, "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4ELi4EEEEEvT1_"),
    // Copies by kernels.
    (
        CopyLayout,
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy_alignedK_contig<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 2, 64, 64, 16>(Params)",
    ),
    (
        CopyLayout,
        "void at::native::split_with_sizes_copy_out_contiguous_no_cast_kernel<unsigned char>(char**)",
    ),
    (CopyLayout, "void at::native::detail::chunk_cat_cuda_kernel<float, c10::BFloat16>(float**)"),
    (CopyLayout, "void at::native::im2col_kernel<float>(long, float const*)"),
    (
        CopyLayout,
        "void at::native::(anonymous namespace)::indexSelectSmallIndex<float, long, unsigned int, 2, 2, -2>(Params)",
    ),
    (CopyLayout, "wrapped_transpose"),
    (CopyLayout, "loop_dynamic_update_slice_fusion"),
    (CopyLayout, "copy.14"),
    (CopyLayout, "wrapped_concatenate"),
    (
        CopyLayout,
        "void at::native::roll_cuda_kernel<float>(float const*, float*, long, long, long, long, long, long)",
    ),
    (
        CopyLayout,
        "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE7_clEvEUlN3c108BFloat16EE_EEvS4_RKT_EUlibE_EEviT1_",
    ),
    // Pointwise work.
    (Elementwise, "loop_multiply_fusion"),
    (Elementwise, "wrapped_convert"),
    (
        Elementwise,
        "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&)), true>(Params)",
    ),
    (
        Elementwise,
        "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float, unsigned int, 1, 4, bool>(Params)",
    ),
    (Elementwise, "void at::native::triu_tril_kernel<float, int, true, 2, false>(Params)"),
    (Elementwise, "_swiglu_forward_kernel"),
    (Elementwise, "_fg_kernel_swiglu"),
    (
        Elementwise,
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
    ),
    (
        Elementwise,
        "void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out(c10::Scalar const&)::{lambda(long)#1}>(int)",
    ),
    (Elementwise, "OpTensorFwdBias"),
    (Elementwise, "triton__0d1d2d3de"),
    (
        Elementwise,
        "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::hardtanh_backward_kernel(at::TensorIterator&)>(int)",
    ),
    // Eigen's expressions, llama.cpp, aiter.
    (
        Elementwise,
        "void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<Eigen::Tensor<float, 1>>>>>(long)",
    ),
    (
        Reduce,
        "void Eigen::internal::FullReductionKernel<256, 128, Eigen::TensorEvaluator<Eigen::TensorReductionOp<Eigen::internal::SumReducer<float>>>>(long)",
    ),
    (Optimizer, "void tensorflow::functor::ApplyAdamKernel<float>(int, float*, float*)"),
    (Gemm, "void mul_mat_vec_q<(ggml_type)12, 1, true, false>(void const*, void const*)"),
    (Quantise, "quantize_q8_1(float const*, void*, long, long, long)"),
    (Rope, "void rope_neox<true, false, float>(float const*, float*, int)"),
    (Elementwise, "void k_bin_bcast<&op_add, float, float, float>(float const*, float const*, float*)"),
    (Attention, "void flash_attn_ext_f16<128, 128, 8, 8>(char const*, char const*)"),
    (MixtureOfExperts, "_ZN5aiter51fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_ps_32x256E"),
    (Rope, "fused_qk_rope_cat_and_cache_mla_kernel"),
    // Anything else.
    (Other, "void at::native::(anonymous namespace)::avg_pool2d_out_cuda_frame<float, float>(int)"),
    (Other, "void cudnn::pooling_fw_4d_kernel<float, float, cudnn::averpooling_func<float>, 0>(Params)"),
    (Other, "void at::native::(anonymous namespace)::adaptive_average_pool<float>(float const*)"),
    (Other, "fusion.12"),
];

#[test]
fn traps_are_classed_by_what_they_do() {
    check(TRAPS);
}

#[test]
fn libraries_are_told_by_their_conventions() {
    check(NAMES);
}

fn check(names: &[(Class, &str)]) {
    let wrong: Vec<_> = names
        .iter()
        .filter(|(class, name)| Class::of_kernel(name) != *class)
        .map(|(class, name)| format!("{} taken as {}: {name}", class.key(), Class::of_kernel(name).key()))
        .collect();
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), names.len(), wrong.join("\n"));
}
