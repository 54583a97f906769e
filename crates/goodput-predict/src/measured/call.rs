//! What was timed.

use crate::collective::Operation as Exchange;
use crate::kernel::{
    Attention, AttentionKernel, Direction, Dispatch, ExpertGemm, Format, Fusion, Kernel, KernelTables,
    MemoryKind, Power,
};

/// One call of a kernel, an exchange or the host, as its shape tells it apart from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// Products of a linear layer; more than one expert is a grouped product.
    Gemm(ExpertGemm),
    /// Attention of all heads.
    Attention(Attention, Direction, AttentionKernel),
    /// What the bytes it moves bound, on so many values.
    Memory(MemoryKind, Direction, Fusion, u64),
    /// A copy on the device; bytes read and written.
    Copy(u64),
    /// An exchange of `bytes`, as nccl-tests counts them, among `ranks` devices on `nodes` nodes (NVLink domains).
    Exchange {
        /// What is exchanged.
        operation: Exchange,
        /// Devices.
        ranks: u32,
        /// Nodes.
        nodes: u32,
        /// Numbers of one byte; all others count alike.
        one_byte: bool,
        /// Size.
        bytes: u64,
    },
    /// The host enqueues one kernel, of the forward or of the backward pass.
    Host(Dispatch, Direction),
}

/// A timed call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timed {
    /// What was timed.
    pub call: Call,
    /// At what clock.
    pub power: Power,
    /// Nanoseconds of one call.
    pub ns: f64,
    /// Relative spread of the measurements behind it, where the table states it.
    pub spread: Option<f64>,
    /// Measurements behind it.
    pub repeats: u64,
}

impl Call {
    /// What tables call its kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Gemm(gemm) if gemm.experts == 1 => "gemm",
            Self::Gemm(_) => "grouped_gemm",
            Self::Attention(..) => "attention",
            Self::Memory(kind, ..) => kind.name(),
            Self::Copy(_) => "copy",
            Self::Exchange { operation, .. } => exchange_name(*operation),
            Self::Host(..) => "host",
        }
    }

    /// The kernel that it is; none for copies, exchanges and the host.
    #[must_use]
    pub const fn kernel(&self) -> Option<Kernel> {
        match *self {
            Self::Gemm(gemm) => Some(Kernel::Gemm(gemm)),
            Self::Attention(attention, direction, kernel) => {
                Some(Kernel::Attention(attention, direction, kernel))
            }
            Self::Memory(kind, direction, fusion, values) => {
                Some(Kernel::Operation(kind.operation(values), direction, fusion))
            }
            Self::Copy(_) | Self::Exchange { .. } | Self::Host(..) => None,
        }
    }

    /// Its size, and in what.
    #[must_use]
    pub fn size(&self) -> (f64, &'static str) {
        match self {
            Self::Gemm(gemm) => (gemm.experts as f64 * gemm.each.flops(), "FLOP"),
            Self::Attention(attention, direction, _) => (attention.flops(*direction), "FLOP"),
            Self::Memory(.., values) => (*values as f64, "values"),
            Self::Copy(bytes) | Self::Exchange { bytes, .. } => (*bytes as f64, "B"),
            Self::Host(..) => (1.0, "kernel"),
        }
    }

    /// Why it cannot have taken `ns` on the device.
    #[must_use]
    pub fn impossible(&self, ns: f64, tables: &KernelTables) -> Option<String> {
        let above = |found: f64, unit: &str, limit: f64, what: &str| {
            (found > limit).then(|| {
                format!(
                    "{found:.1} {unit} is above the device's {what} of {limit:.1}: is the time that of the whole call, in the \
                     column's unit?"
                )
            })
        };
        let of_peak = |format: Format, flops: f64| match tables.peak_flops(format) {
            Some(peak) => above(flops / ns / 1e3, "TFLOP/s", peak / 1e12, &format!("{} peak", format.name())),
            None => Some(format!("the device has no {} peak that is known", format.name())),
        };
        let of_bandwidth = |bytes: f64| {
            let bandwidth = tables.bandwidth()? / 1e9;
            // What fits in a cache can be faster than the memory, by a few times on any device so far.
            let (limit, what) = if bytes < CACHED_BYTES {
                (CACHE_SPEED * bandwidth, "caches (4 times its memory bandwidth)")
            } else {
                (bandwidth, "memory bandwidth")
            };
            above(bytes / ns, "GB/s", limit, what)
        };
        match self {
            Self::Gemm(gemm) => of_peak(gemm.each.format, gemm.experts as f64 * gemm.each.flops()),
            Self::Attention(attention, direction, _) => {
                // The scores of a backward pass need not be computed again where they are kept.
                let flops = match direction {
                    Direction::Forward => attention.flops(Direction::Forward),
                    Direction::Backward => 2.0 * attention.flops(Direction::Forward),
                };
                of_peak(attention.format, flops)
            }
            Self::Memory(kind, direction, _, values) => {
                of_bandwidth(kind.least_bytes(*direction) * *values as f64)
            }
            Self::Copy(bytes) => of_bandwidth(*bytes as f64),
            // No byte arrives faster than memory takes it.
            Self::Exchange { operation, ranks, bytes, .. } => {
                of_bandwidth(operation.bus_factor(*ranks) * *bytes as f64)
            }
            Self::Host(..) => None,
        }
    }
}

/// More than any device's caches hold.
const CACHED_BYTES: f64 = 512e6;
/// Of caches over memory; L2 of A100 and H100 is about 2 to 3 times as fast.
const CACHE_SPEED: f64 = 4.0;

/// What tables call an exchange.
pub(super) const fn exchange_name(operation: Exchange) -> &'static str {
    match operation {
        Exchange::AllReduce => "all_reduce",
        Exchange::AllGather => "all_gather",
        Exchange::ReduceScatter => "reduce_scatter",
        Exchange::AllToAll => "all_to_all",
        Exchange::Broadcast => "broadcast",
        Exchange::Reduce => "reduce",
        Exchange::SendReceive => "send_receive",
    }
}

/// Every exchange.
pub(super) const EXCHANGES: [Exchange; 7] = [
    Exchange::AllReduce,
    Exchange::AllGather,
    Exchange::ReduceScatter,
    Exchange::AllToAll,
    Exchange::Broadcast,
    Exchange::Reduce,
    Exchange::SendReceive,
];
