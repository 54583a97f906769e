//! Ranges and calls of the host.

use crate::trace::HostKind;

/// What a runtime or driver call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    /// It may enqueue device work.
    pub enqueues: bool,
    /// What keeps the host while it lasts, where the partition asks for it.
    pub kind: Option<HostKind>,
}

/// A call of CUDA's or HIP's runtime or driver. Nsight's version suffix (`_v7000`) does not matter.
pub(crate) fn call(name: &str) -> Call {
    let bare = ["cuda", "hip", "cu"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    let bare = bare.split("_v").next().unwrap_or(bare);
    let is_async = bare.contains("Async");
    let asks = ["Get", "Query", "IsCapturing", "Occupancy", "PeekAtLastError", "ElapsedTime", "SetAttribute"];
    if asks.iter().any(|word| bare.contains(word)) {
        Call { enqueues: false, kind: None }
    } else if bare.contains("Synchronize") {
        Call { enqueues: false, kind: Some(HostKind::HostSync) }
    } else if !is_async && ALLOCATOR.iter().any(|word| bare.starts_with(word)) {
        Call { enqueues: false, kind: Some(HostKind::Allocator) }
    } else if bare.starts_with("Memcpy") && !is_async && !bare.contains("Peer") {
        // hipMemcpyWithStream waits for its copy too.
        Call { enqueues: true, kind: Some(HostKind::HostSync) }
    } else {
        Call { enqueues: true, kind: None }
    }
}

/// Calls by which an allocator takes memory from the driver or gives it back.
const ALLOCATOR: [&str; 9] = [
    "Malloc",
    "Free",
    "HostAlloc",
    "HostMalloc",
    "HostFree",
    "MemAlloc",
    "MemFree",
    "MemHostAlloc",
    "MemCreate",
];

/// A range that the framework, a library or the user named.
pub(crate) fn annotation_kind(name: &str) -> HostKind {
    if let Some(number) = name.strip_prefix("ProfilerStep#") {
        HostKind::Step(number.parse().ok())
    } else if name.starts_with("enumerate(Data") {
        HostKind::DataLoader
    } else if name.starts_with("Optimizer.step#") {
        HostKind::Optimizer
    } else if let Some(iteration) = iteration(name) {
        HostKind::Iteration(iteration)
    } else if is_compilation(name) {
        HostKind::Compile
    } else if is_garbage_collection(name) {
        HostKind::GarbageCollection
    } else {
        HostKind::Annotation
    }
}

/// An operator of the framework that is a range of its own kind.
pub(crate) fn operator_kind(name: &str) -> Option<HostKind> {
    if name.starts_with("autograd::engine::evaluate_function") {
        Some(HostKind::Backward)
    } else if matches!(name, "aten::item" | "aten::_local_scalar_dense") {
        Some(HostKind::HostSync)
    } else {
        match annotation_kind(name) {
            HostKind::Annotation | HostKind::Iteration(_) => None,
            kind => Some(kind),
        }
    }
}

/// Iterations: `execute_32_context_…` of vLLM, `step[…]` of SGLang, `iteration 12`, `train_step_3` and the like.
fn iteration(name: &str) -> Option<Option<i64>> {
    if name.starts_with("execute_") && name.contains('(') {
        return Some(None);
    }
    let word_ends = name.find(|c: char| !(c.is_ascii_alphabetic() || c == '_')).unwrap_or(name.len());
    let (word, rest) = name.split_at(word_ends);
    let word = word.trim_end_matches('_').to_ascii_lowercase();
    if !matches!(word.as_str(), "step" | "iter" | "iteration" | "train_step" | "training_step" | "train_iter")
    {
        return None;
    }
    let number = rest.trim_matches([' ', '#', ':', '=', '-', '[', ']', '(', ')']);
    let is_numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_numbered || rest.starts_with('[')).then(|| number.parse().ok())
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
fn is_garbage_collection(name: &str) -> bool {
    name.starts_with("Python GC") || matches!(name, "gc" | "GC" | "gc.collect" | "garbage collection")
}

/// The same of the bytes that spell it: for the many frames of Python that are no concern else.
pub(crate) fn is_garbage_collection_bytes(name: &[u8]) -> bool {
    name.len() < 32 && std::str::from_utf8(name).is_ok_and(is_garbage_collection)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("cudaLaunchKernel", true, None)]
    #[case("cudaLaunchKernel_v7000", true, None)]
    #[case("cuLaunchKernelEx", true, None)]
    #[case("hipGraphLaunch", true, None)]
    #[case("cudaMemcpyAsync", true, None)]
    #[case("INVALID", true, None)]
    #[case("cudaMemcpy_v3020", true, Some(HostKind::HostSync))]
    #[case("hipMemcpyWithStream", true, Some(HostKind::HostSync))]
    #[case("cudaStreamSynchronize", false, Some(HostKind::HostSync))]
    #[case("cuCtxSynchronize", false, Some(HostKind::HostSync))]
    #[case("hipEventSynchronize", false, Some(HostKind::HostSync))]
    #[case("cudaMalloc", false, Some(HostKind::Allocator))]
    #[case("cudaHostAlloc", false, Some(HostKind::Allocator))]
    #[case("hipFree", false, Some(HostKind::Allocator))]
    #[case("cudaMallocAsync", true, None)]
    #[case("cudaStreamGetPriority", false, None)]
    #[case("cudaEventQuery", false, None)]
    #[case("hipStreamIsCapturing", false, None)]
    fn calls(#[case] name: &str, #[case] enqueues: bool, #[case] kind: Option<HostKind>) {
        assert_eq!(call(name), Call { enqueues, kind });
    }

    #[rstest]
    #[case("ProfilerStep#12", HostKind::Step(Some(12)))]
    #[case("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", HostKind::DataLoader)]
    #[case("enumerate(DataPipe)#IterableWrapper", HostKind::DataLoader)]
    #[case("Optimizer.step#SGD.step", HostKind::Optimizer)]
    #[case("Optimizer.zero_grad#SGD.zero_grad", HostKind::Annotation)]
    #[case(
        "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk1sqsq32sqsk1)",
        HostKind::Iteration(None)
    )]
    #[case("step[DECODE bs=32]", HostKind::Iteration(None))]
    #[case("step[7]", HostKind::Iteration(Some(7)))]
    #[case("iteration 12", HostKind::Iteration(Some(12)))]
    #[case("train_step_3", HostKind::Iteration(Some(3)))]
    #[case("step", HostKind::Annotation)]
    #[case("stepping 3", HostKind::Annotation)]
    #[case("_compile.compile_inner (dynamo_timed)", HostKind::Compile)]
    #[case("CompiledFunction", HostKind::Annotation)]
    #[case("TorchDynamo Cache Lookup", HostKind::Annotation)]
    #[case("Torch-Compiled Region: 0/0", HostKind::Annotation)]
    #[case("Python GC", HostKind::GarbageCollection)]
    #[case("## forward ##", HostKind::Annotation)]
    fn annotations(#[case] name: &str, #[case] expected: HostKind) {
        assert_eq!(annotation_kind(name), expected);
    }

    #[rstest]
    #[case("autograd::engine::evaluate_function: MmBackward0", Some(HostKind::Backward))]
    #[case("aten::item", Some(HostKind::HostSync))]
    #[case("aten::_local_scalar_dense", Some(HostKind::HostSync))]
    #[case("ProfilerStep#5", Some(HostKind::Step(Some(5))))]
    #[case("aten::mm", None)]
    #[case("CompiledFunctionBackward", None)]
    fn operators(#[case] name: &str, #[case] expected: Option<HostKind>) {
        assert_eq!(operator_kind(name), expected);
    }
}
