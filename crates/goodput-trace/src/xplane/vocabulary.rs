//! The names that XLA's profiler gives to planes, lines and events, in XSpace and in the Chrome traces made of it
//! (openxla/xla, `xla/tsl/profiler/utils/xplane_schema.cc`).

use super::hlo;
use crate::class::Class;
use crate::trace::{HostKind, WorkKind};

/// Kind and number of the device that a plane is of (`/device:GPU:0`). Planes of chips, sparse cores and custom tracers
/// are none.
pub(crate) fn device_of(plane: &str) -> Option<(&str, i64)> {
    let (kind, number) = plane.strip_prefix("/device:")?.split_once(':')?;
    (kind != "CUSTOM").then_some((kind, number.parse().ok()?))
}

/// What a line holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Row {
    /// Kernels and copies of a stream.
    Stream,
    /// Operations of a core, which nest.
    Operations,
    /// Operations that run beside the core.
    Asynchronous,
    /// Steps as the device ran them.
    Steps,
    /// Derived from other lines.
    Derived,
}

impl Row {
    /// What a line of this name holds, on a GPU or on another device.
    pub fn of(name: &str, is_gpu: bool) -> Self {
        match name {
            _ if is_gpu && name.starts_with("Stream #") => Self::Stream,
            "XLA Ops" if !is_gpu => Self::Operations,
            "Async XLA Ops" if !is_gpu => Self::Asynchronous,
            "Steps" => Self::Steps,
            _ => Self::Derived,
        }
    }
}

/// A kernel of a GPU. ROCm marks kernel descriptors with `.kd`.
pub(crate) fn kernel(name: &str) -> (&str, WorkKind, Class) {
    let name = name.trim_end_matches(".kd");
    match WorkKind::of_name(name) {
        WorkKind::Kernel => (name, WorkKind::Kernel, Class::of_kernel(name)),
        kind => (name, kind, Class::Memory),
    }
}

/// An operation of another device than a GPU.
pub(crate) fn operation<'n>(name: &'n str, category: Option<&str>) -> (&'n str, WorkKind, Class) {
    match hlo::class_of(name, category) {
        Class::Memory => (name, WorkKind::Copy, Class::Memory),
        class => (name, WorkKind::Kernel, class),
    }
}

/// Whether an operation holds others on its own line, so that what is inside is the work. For traces in which only the name
/// tells.
pub(crate) fn holds_operations(name: &str) -> bool {
    matches!(hlo::opcode(name), "while" | "conditional" | "call")
}

/// The kind of a host event that the partition asks for. Frames of Python (`$file.py:3 name`) and the runtime's own events
/// are none.
pub(crate) fn host_kind(name: &str, step: Option<i64>) -> Option<HostKind> {
    if name.starts_with('$') {
        return None;
    }
    // jax.profiler.StepTraceAnnotation.
    if let Some(number) = step {
        return Some(HostKind::Step(Some(number)));
    }
    if let Some(kind) = HostKind::of_call(name) {
        return Some(kind);
    }
    if name.ends_with("::CollectGarbage") {
        return Some(HostKind::GarbageCollection);
    }
    if name.contains("BlockHostUntilDone")
        || name.contains("BlockUntilReady")
        || name.contains("SynchronizeAllActivity")
    {
        return Some(HostKind::HostSync);
    }
    if name.starts_with("backend_compile")
        || name.starts_with("PJRT_Client_Compile")
        || name.contains("XlaCompile")
    {
        return Some(HostKind::Compile);
    }
    match HostKind::of_range(name) {
        HostKind::Annotation => None,
        kind => Some(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("train", Some(4), Some(HostKind::Step(Some(4))))]
    #[case("hipStreamSynchronize", None, Some(HostKind::HostSync))]
    #[case("PythonRefManager::CollectGarbage", None, Some(HostKind::GarbageCollection))]
    #[case("PJRT_Client_Compile", None, Some(HostKind::Compile))]
    #[case("step 3", None, Some(HostKind::Iteration(Some(3))))]
    #[case("$train.py:7 step", None, None)]
    #[case("Thunks::Prepare", None, None)]
    fn host_events_that_the_partition_asks_for(
        #[case] name: &str,
        #[case] step: Option<i64>,
        #[case] expected: Option<HostKind>,
    ) {
        assert_eq!(host_kind(name, step), expected);
    }
}
