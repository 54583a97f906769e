//! What the launching operators say of a kernel.
//!
//! An operator of a certain kind settles what a kernel's name leaves open: a matrix product under `aten::convolution`
//! is a convolution. It never turns communication or a copy by the driver into computation, or the reverse: what a
//! nanosecond is charged to first is the kernel's own.

use goodput_core::records::Symbol;
use rustc_hash::FxHashMap;

use super::Class::{self, *};
use super::name::Words;
use crate::trace::{Around, HostKind, RankTrace, around_launches};

/// Kinds of operators by words of their names; the first that matches.
#[rustfmt::skip]
const KINDS: &[(Class, &[&str])] = &[
    (Communication, &["_c10d_", "_nccl", "_record_param_comms_", "_all_reduce", "_all_gather", "_all_to_all"]),
    (Other, &["pool"]),
    (Attention, &["attention", "_attn_", "_sdpa_", "_fmha_"]),
    (Convolution, &["convolution", "_conv1d_", "_conv2d_", "_conv3d_", "_conv_transpose"]),
    (MixtureOfExperts, &["_moe_", "_fused_experts_"]),
    (Gemm, &[
        "_mm_", "_addmm_", "_bmm_", "_baddbmm_", "_mv_", "_addmv_", "_linear_", "_matmul_", "_gemm", "_einsum_",
    ]),
    (Rope, &["rotary", "_rope_"]),
    (Embedding, &["embedding"]),
    (Normalisation, &["layer_norm", "rms_norm", "rmsnorm", "batch_norm", "group_norm", "instance_norm"]),
    (SoftmaxLoss, &["softmax", "cross_entropy", "_loss_", "_loss2d_"]),
    (Quantise, &["quant"]),
    (SortScan, &["_sort_", "_argsort_", "_topk_", "_cumsum_", "_cumprod_", "_nonzero_", "_unique"]),
    (CopyLayout, &["_copy_", "_cat_", "_clone_", "_contiguous_", "_index_put_", "_stack_"]),
    (Reduce, &["_sum_", "_mean_", "_amax_", "_amin_", "_max_", "_min_", "_argmax_", "_any_", "_all_", "_norm_"]),
    (Elementwise, &[
        "_add_", "_sub_", "_mul_", "_div_", "_pow_", "_exp_", "_neg_", "_sqrt_", "_rsqrt_", "_fill_", "_zero_",
        "_where_", "_clamp_", "_gelu_", "_silu_", "_relu_", "_threshold_", "_sigmoid_", "_tanh_", "_dropout_",
    ]),
];

/// The kind of an operator, when its name makes it certain.
fn kind(operator: &str) -> Option<Class> {
    let words = Words::of(operator).head;
    // Generated kernels run under operators of their own name, which lists neighbours.
    if words.starts_with("_triton_") {
        return None;
    }
    KINDS.iter().find(|(_, parts)| parts.iter().any(|part| words.contains(part))).map(|&(class, _)| class)
}

/// Whether a kernel of class `kernel` is part of an operation of class `operator`.
fn settles(operator: Class, kernel: Class) -> bool {
    let parts: &[Class] = match operator {
        Attention | Convolution => &[Gemm, Other],
        MixtureOfExperts => &[Gemm, SortScan, Other],
        Embedding => &[CopyLayout, Other],
        Normalisation | SoftmaxLoss | Optimizer => &[Elementwise, Reduce, Other],
        Rope | Quantise => &[Elementwise, Other],
        Communication | Memory | Other => &[],
        Gemm | SortScan | Reduce | CopyLayout | Elementwise => &[Other],
    };
    parts.contains(&kernel)
}

/// The class of a kernel below operators of certain kinds, innermost first.
fn below(kernel: Class, operators: impl IntoIterator<Item = Class>) -> Class {
    operators.into_iter().find(|&operator| operator == kernel || settles(operator, kernel)).unwrap_or(kernel)
}

impl Class {
    /// The class of a kernel by its name and by the operator that launched it.
    ///
    /// ```
    /// use goodput_trace::class::Class;
    /// let gemm = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(Params)";
    /// assert_eq!(Class::of_work(gemm, Some("aten::cudnn_convolution")), Class::Convolution);
    /// assert_eq!(Class::of_work(gemm, Some("aten::addmm")), Class::Gemm);
    /// assert_eq!(Class::of_work("ncclDevKernel_AllReduce", Some("aten::mm")), Class::Communication);
    /// ```
    pub fn of_work(kernel: &str, operator: Option<&str>) -> Self {
        below(Self::of_kernel(kernel), operator.and_then(kind))
    }
}

/// Refines the classes, which readers set by the kernels' names, by the operators and the optimizer ranges around the
/// launches. Whether work is computation, communication or a copy does not change.
pub fn refine(trace: &mut RankTrace) {
    let mut kinds = FxHashMap::<Symbol, Option<Class>>::default();
    for operator in &trace.operators {
        kinds.entry(operator.name).or_insert_with(|| kind(trace.names.get(operator.name)));
    }
    let kind = |around: &Around| match around.kind {
        Some(_) => None,
        None => kinds.get(&around.name).copied().flatten(),
    };

    let mut refined = Vec::new();
    around_launches(trace, |index, around| {
        let work = &trace.work[index];
        let linked = trace.operator_of(work).and_then(|op| kinds.get(&op.name).copied().flatten());
        let mut class = below(work.class, linked.into_iter().chain(around.iter().rev().filter_map(kind)));
        if around.iter().any(|a| a.kind == Some(HostKind::Optimizer)) {
            class = below(class, [Optimizer]);
        }
        if class != work.class {
            refined.push((index, class));
        }
    });
    for (index, class) in refined {
        trace.work[index].class = class;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Operator;
    use crate::trace::sketch::Sketch;

    #[test]
    fn operators_settle_what_the_name_leaves_open() {
        let pointwise =
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)";
        for (class, kernel, operator) in [
            (Gemm, "Kernel", "aten::bmm"),
            (Gemm, "Kernel", "MmBackward0"),
            (Attention, "kernel", "flash_attn::_flash_attn_forward"),
            (
                Attention,
                "void cutlass::Kernel2<s1688gemm>()",
                "aten::_scaled_dot_product_efficient_attention",
            ),
            (Normalisation, pointwise, "aten::native_layer_norm_backward"),
            (Elementwise, pointwise, "aten::cudnn_convolution"),
            (CopyLayout, "void cudnn::ops::nchwToNhwcKernel<float>()", "aten::cudnn_convolution"),
            (Embedding, "void at::native::indexSelectLargeIndex<float>()", "aten::embedding"),
            (Reduce, "triton_red_fused_native_foo_0", "triton_red_fused_native_layer_norm_0"),
            (Communication, "ncclDevKernel_Generic_1", "aten::convolution"),
            (Memory, "Memcpy DtoD (Device -> Device)", "aten::mm"),
            (Other, "Kernel", "c10d::allreduce_"),
            (Other, "Kernel", "aten::max_pool2d_with_indices"),
            (Other, "Kernel", "ProfilerStep#1"),
        ] {
            assert_eq!(Class::of_work(kernel, Some(operator)), class, "{kernel} under {operator}");
        }
    }

    #[test]
    fn no_operator_moves_work_between_computation_communication_and_copies() {
        for &kernel in Class::ALL {
            for &operator in Class::ALL {
                assert_eq!(below(kernel, [operator]).coarse(), kernel.coarse());
            }
        }
    }

    #[test]
    fn the_innermost_certain_operator_around_the_launch_decides() {
        let mut sketch = Sketch::default();
        // Unfused attention: its products and its softmax stay what they are; what has no name belongs to it.
        for (name, start_ns, end_ns) in [
            ("aten::scaled_dot_product_attention", 0, 100),
            ("aten::bmm", 10, 20),
            ("aten::_softmax", 30, 40),
            ("aten::embedding", 200, 300),
            ("aten::index_select", 210, 290),
        ] {
            let name = sketch.builder.intern(name);
            let thread = sketch.builder.thread(crate::trace::Thread { process: 1, id: 1 });
            let none = Symbol::EMPTY;
            let operator = Operator {
                start_ns,
                end_ns,
                name,
                thread,
                input_shapes: none,
                input_types: none,
                input_values: none,
            };
            sketch.builder.operator(operator, None);
        }
        sketch
            .launched(15, 7, 1000, 1001, Gemm)
            .launched(35, 7, 1001, 1002, SoftmaxLoss)
            .launched(50, 7, 1002, 1003, Other)
            .launched(250, 7, 1003, 1004, CopyLayout)
            .range(HostKind::Optimizer, "Optimizer.step#AdamW.step", 400, 500)
            .launched(450, 7, 1004, 1005, Elementwise)
            .launched(460, 7, 1005, 1006, Gemm)
            .launched(470, 7, 1006, 1007, Communication);
        let mut trace = sketch.trace();
        refine(&mut trace);
        let classes: Vec<_> = trace.work.iter().map(|work| work.class).collect();
        assert_eq!(classes, [Gemm, SoftmaxLoss, Attention, Embedding, Optimizer, Gemm, Communication]);
    }
}
