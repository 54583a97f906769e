//! How step boundaries are known.

/// How step boundaries are known, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// `ProfilerStep#N` on the host.
    ProfilerStep,
    /// `ProfilerStep#N` on the device's timeline.
    DeviceAnnotation,
    /// Ends of `Optimizer.step#…`.
    OptimizerEnds,
    /// Starts of `enumerate(DataLoader)#…`.
    DataLoaderStarts,
    /// NVTX or other ranges that name an iteration.
    IterationRanges,
    /// Iterations of a serving engine (`execute_…`, `step[…]`).
    ServingIterations,
    /// The sequence of kernel names repeats. In a trace shorter than a step what repeats is a layer.
    KernelPeriod,
    /// Nothing tells: the whole trace is one window.
    WholeTrace,
}

impl Evidence {
    /// The word used in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::ProfilerStep => "profiler_step",
            Self::DeviceAnnotation => "device_annotation",
            Self::OptimizerEnds => "optimizer_ends",
            Self::DataLoaderStarts => "data_loader_starts",
            Self::IterationRanges => "iteration_ranges",
            Self::ServingIterations => "serving_iterations",
            Self::KernelPeriod => "kernel_period",
            Self::WholeTrace => "whole_trace",
        }
    }

    /// The words that a report shows.
    pub fn label(self) -> &'static str {
        match self {
            Self::ProfilerStep => "the profiler's steps",
            Self::DeviceAnnotation => "the profiler's steps on the device",
            Self::OptimizerEnds => "ends of the optimizer's step",
            Self::DataLoaderStarts => "starts of the data loader",
            Self::IterationRanges => "ranges that name an iteration",
            Self::ServingIterations => "iterations of the serving engine",
            Self::KernelPeriod => "the period of the kernel sequence, a step or (in a short trace) a layer",
            Self::WholeTrace => "none: the whole trace is one window",
        }
    }

    /// Whether the boundaries are a fall-back, which a report says.
    pub fn is_fallback(self) -> bool {
        self > Self::DeviceAnnotation
    }

    /// Whether the boundaries are known on the device's clock only.
    pub fn is_of_device(self) -> bool {
        matches!(self, Self::DeviceAnnotation | Self::KernelPeriod)
    }
}
