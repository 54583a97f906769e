//! What a host range or a runtime call does, told by its name. The names are the frameworks' and the runtimes' own.

use super::HostKind;

impl HostKind {
    /// The kind of a range that a framework or a user named (`ProfilerStep#3`, an NVTX or roctx range).
    pub fn of_range(name: &str) -> Self {
        if let Some(number) = name.strip_prefix("ProfilerStep#") {
            return Self::Step(number.parse().ok());
        }
        // PyTorch's data loader: `enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__`.
        if name.starts_with("enumerate(DataLoader)#") || name.starts_with("enumerate(DataPipe)#") {
            return Self::DataLoader;
        }
        if name.starts_with("Optimizer.step#") {
            return Self::Optimizer;
        }
        if name.starts_with("autograd::engine::evaluate_function") {
            return Self::Backward;
        }
        if is_compilation(name) {
            return Self::Compile;
        }
        if is_garbage_collection(name) {
            return Self::GarbageCollection;
        }
        match iteration(name) {
            Some(number) => Self::Iteration(number),
            None => Self::Annotation,
        }
    }

    /// The kind of an operator of the framework that the partition asks for. Old traces of PyTorch write the
    /// profiler's and the user's ranges as operators too.
    pub fn of_operator(name: &str) -> Option<Self> {
        if matches!(name, "aten::item" | "aten::_local_scalar_dense") {
            return Some(Self::HostSync);
        }
        match Self::of_range(name) {
            Self::Annotation | Self::Iteration(_) => None,
            kind => Some(kind),
        }
    }

    /// The kind of a call of the CUDA or HIP runtime or driver that the partition asks for.
    pub fn of_call(name: &str) -> Option<Self> {
        let name = unversioned(name);
        let call = ["cuda", "hip", "cu"].iter().find_map(|prefix| name.strip_prefix(prefix))?;
        let is_sync = matches!(
            call,
            "StreamSynchronize"
                | "DeviceSynchronize"
                | "EventSynchronize"
                | "CtxSynchronize"
                | "ThreadSynchronize"
        );
        // A copy that is not asynchronous returns when the device has done it.
        let is_copy = call.starts_with("Memcpy") && !call.contains("Async") && !call.contains("Peer");
        if is_sync || is_copy {
            return Some(Self::HostSync);
        }
        const ALLOCATIONS: [&str; 9] = [
            "Malloc",
            "Free",
            "HostAlloc",
            "HostMalloc",
            "HostFree",
            "MemAlloc",
            "MemFree",
            "ExtMalloc",
            "HostRegister",
        ];
        const VIRTUAL_MEMORY: [&str; 6] =
            ["MemCreate", "MemMap", "MemUnmap", "MemRelease", "MemAddressReserve", "MemAddressFree"];
        let allocates = ALLOCATIONS.iter().chain(&VIRTUAL_MEMORY).any(|stem| call.starts_with(stem));
        allocates.then_some(Self::Allocator)
    }
}

/// Whether a call of the runtime or driver may enqueue device work. Some only ask: in a trace of training they are
/// half of all calls.
pub(crate) fn may_enqueue(name: &str) -> bool {
    const ASK: [&str; 6] = ["Get", "Query", "IsCapturing", "Occupancy", "PeekAtLastError", "Attribute"];
    !ASK.iter().any(|word| name.contains(word)) && !name.ends_with("Synchronize")
}

/// Names that TorchDynamo, Inductor and Triton give to compilation. Running what was compiled
/// (`Torch-Compiled Region`, `CompiledFunction`) and looking it up (`TorchDynamo Cache Lookup`) are not.
fn is_compilation(name: &str) -> bool {
    const NAMES: [&str; 12] = [
        "(dynamo_timed)",
        "compile_inner",
        "compile_fx",
        "compile_attempt",
        "entire_frame_compile",
        "backend_compile",
        "inductor_compile",
        "call_user_compiler",
        "async_compile",
        "triton_compile",
        "torch._dynamo.",
        "torch._inductor.",
    ];
    NAMES.iter().any(|word| name.contains(word))
}

/// Python's collector, as PyTorch's profiler (`Python GC`) or the user names it.
pub(crate) fn is_garbage_collection(name: &str) -> bool {
    name.starts_with("Python GC") || matches!(name, "gc" | "GC" | "gc.collect" | "garbage collection")
}

/// The name of a call without the version that CUPTI appends: `cudaLaunchKernel_v7000`, `cudaLaunchKernel_ptsz_v7000`.
pub(crate) fn unversioned(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((call, version)) if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) => {
            call
        }
        _ => name,
    }
}

/// The operator that a range of PyTorch's `emit_nvtx` names, without its numbers: `aten::mm, seq = 3, op_id = 7`.
pub(crate) fn operator_of_range(text: &str) -> Option<&str> {
    let (name, number) = text.rsplit_once(", op_id = ")?;
    number.parse::<u64>().ok()?;
    Some(name.rsplit_once(", seq = ").map_or(name, |(name, _)| name))
}

/// The number of a range that names an iteration, `Some(None)` when it names one without a number.
///
/// `iteration 12`, `iter_3`, `step #4`, `train_step: 5`, `global_step=6`; serving engines write `step[…]` (SGLang) and
/// `execute_32_context_0(…)_generation_32(…)` (vLLM).
fn iteration(name: &str) -> Option<Option<i64>> {
    if name.starts_with("step[") || name.starts_with("execute_") {
        return Some(None);
    }
    let lower = name.trim().to_ascii_lowercase();
    let word_end = lower.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (words, digits) = lower.split_at(word_end);
    let words = words.trim_end_matches([' ', '_', '#', ':', '=', '-', '[', '(']);
    let last = words.rsplit([' ', '_', '.', '/', ':']).next().unwrap_or_default();
    let is_iteration = matches!(last, "iteration" | "iter" | "step" | "batch");
    // Words alone may name a phase of the step (`optimizer_step`): only the bare word is an iteration.
    (is_iteration && (!digits.is_empty() || words == last)).then(|| digits.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("ProfilerStep#12", HostKind::Step(Some(12)))]
    #[case("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", HostKind::DataLoader)]
    #[case("Optimizer.step#SGD.step", HostKind::Optimizer)]
    #[case("Optimizer.zero_grad#SGD.zero_grad", HostKind::Annotation)]
    #[case("autograd::engine::evaluate_function: MmBackward0", HostKind::Backward)]
    #[case("iteration 12", HostKind::Iteration(Some(12)))]
    #[case("iter_3", HostKind::Iteration(Some(3)))]
    #[case("Step #4", HostKind::Iteration(Some(4)))]
    #[case("train_step: 5", HostKind::Iteration(Some(5)))]
    #[case("global_step=6", HostKind::Iteration(Some(6)))]
    #[case("step", HostKind::Iteration(None))]
    #[case("execute_32_context_0(0)_generation_32(32)", HostKind::Iteration(None))]
    #[case("optimizer_step", HostKind::Annotation)]
    #[case("forward", HostKind::Annotation)]
    #[case("layer12", HostKind::Annotation)]
    #[case("99999999999999999999", HostKind::Annotation)]
    #[case("_compile.compile_inner (dynamo_timed)", HostKind::Compile)]
    #[case("CompiledFunction", HostKind::Annotation)]
    #[case("TorchDynamo Cache Lookup", HostKind::Annotation)]
    #[case("Torch-Compiled Region: 0/0", HostKind::Annotation)]
    #[case("Python GC", HostKind::GarbageCollection)]
    #[case("step[DECODE bs=32]", HostKind::Iteration(None))]
    #[case("", HostKind::Annotation)]
    fn names_tell_the_kind_of_a_range(#[case] name: &str, #[case] expected: HostKind) {
        assert_eq!(HostKind::of_range(name), expected);
    }

    #[rstest]
    #[case("cudaStreamSynchronize_v3020", Some(HostKind::HostSync))]
    #[case("hipDeviceSynchronize", Some(HostKind::HostSync))]
    #[case("cuCtxSynchronize", Some(HostKind::HostSync))]
    #[case("cudaMemcpy", Some(HostKind::HostSync))]
    #[case("cuMemcpyDtoH_v2", Some(HostKind::HostSync))]
    #[case("hipMemcpyWithStream", Some(HostKind::HostSync))]
    #[case("cudaMemcpyAsync_v3020", None)]
    #[case("cuMemcpyDtoHAsync_v2", None)]
    #[case("cudaMalloc_v3020", Some(HostKind::Allocator))]
    #[case("cudaFreeHost", Some(HostKind::Allocator))]
    #[case("cuMemAddressReserve", Some(HostKind::Allocator))]
    #[case("hipExtMallocWithFlags", Some(HostKind::Allocator))]
    #[case("cudaLaunchKernel_v7000", None)]
    #[case("cuLaunchKernelEx", None)]
    #[case("cudaEventQuery", None)]
    #[case("write", None)]
    fn names_tell_the_kind_of_a_call(#[case] name: &str, #[case] expected: Option<HostKind>) {
        assert_eq!(HostKind::of_call(name), expected);
    }

    #[rstest]
    #[case("autograd::engine::evaluate_function: MmBackward0", Some(HostKind::Backward))]
    #[case("aten::item", Some(HostKind::HostSync))]
    #[case("aten::_local_scalar_dense", Some(HostKind::HostSync))]
    #[case("ProfilerStep#5", Some(HostKind::Step(Some(5))))]
    #[case("aten::mm", None)]
    #[case("CompiledFunctionBackward", None)]
    fn names_tell_the_kind_of_an_operator(#[case] name: &str, #[case] expected: Option<HostKind>) {
        assert_eq!(HostKind::of_operator(name), expected);
    }

    #[test]
    fn calls_that_only_ask_enqueue_nothing() {
        for name in
            ["cudaStreamGetPriority", "cudaEventQuery", "hipStreamIsCapturing", "cudaStreamSynchronize"]
        {
            assert!(!may_enqueue(name), "{name}");
        }
        for name in [
            "cudaLaunchKernel",
            "cuLaunchKernelEx",
            "hipGraphLaunch",
            "cudaMemcpy",
            "cudaMemsetAsync",
            "INVALID",
        ] {
            assert!(may_enqueue(name), "{name}");
        }
    }

    #[test]
    fn versions_are_no_part_of_a_name() {
        assert_eq!(unversioned("cudaStreamGetCaptureInfo_v2_v11030"), "cudaStreamGetCaptureInfo_v2");
        assert_eq!(unversioned("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
        assert_eq!(unversioned("cuLaunchKernelEx"), "cuLaunchKernelEx");
        assert_eq!(unversioned("_v"), "_v");
    }

    #[test]
    fn ranges_of_operators_end_in_their_number() {
        assert_eq!(operator_of_range("aten::mm, seq = 3, op_id = 7"), Some("aten::mm"));
        assert_eq!(operator_of_range("nccl:all_to_all, op_id = 9"), Some("nccl:all_to_all"));
        assert_eq!(
            operator_of_range("FSDP::pre_forward (a, b), op_id = 1"),
            Some("FSDP::pre_forward (a, b)")
        );
        assert_eq!(operator_of_range("forward"), None);
        assert_eq!(operator_of_range("loss, op_id = x"), None);
    }
}
