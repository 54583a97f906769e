//! What a job's steps are made of.

use super::Layout;

/// A job whose steps are traced. Durations are integer nanoseconds; a count of zero leaves its part out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// Name.
    pub name: String,
    /// Seed of every draw: the same scenario with the same seed gives the same bytes.
    pub seed: u64,
    /// The ranks.
    pub layout: Layout,
    /// Steps.
    pub steps: u32,
    /// Number of the first step.
    pub first_step: i64,
    /// Transformer layers of one pipeline stage.
    pub layers_per_stage: u32,
    /// Micro-batches of a step.
    pub micro_batches: u32,
    /// Durations of the kernels when nothing runs beside them.
    pub kernels: KernelTimes,
    /// Largest deviation of a kernel's duration and of a dispatch, in thousandths.
    pub jitter_permille: u32,
    /// What the host does.
    pub host: HostTimes,
    /// What is sent.
    pub messages: Messages,
    /// How fast it is sent.
    pub network: Network,
    /// How much longer, in thousandths, a computing kernel runs while a communication kernel is resident beside it.
    pub contention_permille: u32,
    /// Ranks that compute slower than others.
    pub stragglers: Vec<Straggler>,
    /// Batches that came late.
    pub stalls: Vec<Stall>,
    /// What each rank's clock shows above the true time, in nanoseconds; ranks beyond the list are right.
    pub clock_offsets_ns: Vec<i64>,
    /// Captures that do not cover the whole job.
    pub captures: Vec<Capture>,
    /// Ranks of which there is no trace.
    pub missing_ranks: Vec<u32>,
}

/// Durations of the kernels of one layer and micro-batch in the forward pass. In the backward pass products and
/// attention take twice as long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelTimes {
    /// One matrix product.
    pub matmul_ns: i64,
    /// Fused attention.
    pub attention_ns: i64,
    /// One normalisation.
    pub norm_ns: i64,
    /// One pointwise kernel.
    pub elementwise_ns: i64,
    /// Router and expert products, when the layers are mixtures of experts.
    pub experts_ns: i64,
    /// Look-up of the embedding table, on the first stage.
    pub embedding_ns: i64,
    /// Loss, on the last stage.
    pub loss_ns: i64,
    /// One of the optimizer's kernels.
    pub optimizer_ns: i64,
    /// The optimizer's kernels.
    pub optimizer_kernels: u32,
}

/// What the host does, and how long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostTimes {
    /// The framework's work before each launch.
    pub dispatch_ns: i64,
    /// A runtime call.
    pub call_ns: i64,
    /// From the start of the call to the earliest start of the kernel.
    pub launch_latency_ns: i64,
    /// Waiting for the next batch.
    pub data_loader_ns: i64,
    /// The optimizer's own code before its first launch.
    pub optimizer_ns: i64,
    /// Each `cudaMalloc`.
    pub allocation_ns: i64,
    /// Calls of `cudaMalloc` in a step.
    pub allocations: u32,
    /// Whether the host reads the loss at the end of each step, which waits for the device.
    pub reads_loss: bool,
    /// From the end of what the host waits for to its return.
    pub wake_ns: i64,
}

/// Bytes that a rank sends. Zero leaves the exchange out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Messages {
    /// An activation: of each tensor-parallel all-reduce (two a layer and pass), each pipeline send.
    pub activation_bytes: u64,
    /// Gradients of one layer.
    pub gradient_bytes_per_layer: u64,
    /// Layers whose gradients are summed together.
    pub layers_per_bucket: u32,
    /// Tokens of each expert exchange (two a layer and pass).
    pub expert_bytes: u64,
    /// The batch that is copied to the device.
    pub batch_bytes: u64,
}

/// How fast data moves: `latency + bytes / rate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// Time of an empty message.
    pub latency_ns: i64,
    /// Within a node.
    pub local_bytes_per_us: u64,
    /// When a group spans nodes.
    pub remote_bytes_per_us: u64,
    /// Between host and device.
    pub host_bytes_per_us: u64,
    /// From the end of work on one stream to the start of work on another that waits for it.
    pub stream_wait_ns: i64,
    /// Between two kernels of one stream.
    pub stream_gap_ns: i64,
    /// When a send ends.
    pub send: SendMode,
}

/// When a send ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendMode {
    /// After the transfer, whether or not the receiver has come: the peer has buffers.
    Buffered,
    /// With its receive, after both have come.
    Rendezvous,
}

/// A rank that computes slower in some steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Straggler {
    /// The rank.
    pub rank: u32,
    /// Steps, counted from zero.
    pub from_step: u32,
    /// One after the last.
    pub to_step: u32,
    /// How much longer its kernels run, in thousandths.
    pub slower_permille: u32,
}

/// A batch that came late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// The rank.
    pub rank: u32,
    /// The step, counted from zero.
    pub step: u32,
    /// How much longer it took.
    pub longer_ns: i64,
}

/// The part of the job that one rank's trace covers, in true time since the job began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capture {
    /// The rank.
    pub rank: u32,
    /// What began earlier is not in the trace.
    pub from_ns: i64,
    /// What ended later is not in the trace.
    pub to_ns: i64,
}

impl Scenario {
    /// What the clock of a rank shows above the true time.
    pub fn clock_offset_ns(&self, rank: u32) -> i64 {
        self.clock_offsets_ns.get(rank as usize).copied().unwrap_or(0)
    }

    /// The part of the job that a rank's trace covers.
    pub(super) fn capture(&self, rank: u32) -> Capture {
        let whole = Capture { rank, from_ns: i64::MIN, to_ns: i64::MAX };
        self.captures.iter().find(|capture| capture.rank == rank).copied().unwrap_or(whole)
    }

    /// A kernel's time on a rank in a step, before jitter.
    pub(super) fn on_rank(&self, ns: i64, rank: u32, step: u32) -> i64 {
        let slower: u32 = (self.stragglers.iter())
            .filter(|s| s.rank == rank && (s.from_step..s.to_step).contains(&step))
            .map(|s| s.slower_permille)
            .sum();
        ns * (1000 + i64::from(slower)) / 1000
    }

    /// How much longer than usual the batch of a step takes.
    pub(super) fn stall_ns(&self, rank: u32, step: u32) -> i64 {
        self.stalls.iter().filter(|stall| stall.rank == rank && stall.step == step).map(|s| s.longer_ns).sum()
    }

    /// Time of a message among ranks.
    pub(super) fn transfer_ns(&self, bytes: u64, ranks: &[u32]) -> i64 {
        let node = |rank: &u32| rank / self.layout.devices_per_node.max(1);
        let is_local = ranks.iter().map(node).min() == ranks.iter().map(node).max();
        let rate = if is_local { self.network.local_bytes_per_us } else { self.network.remote_bytes_per_us };
        self.network.latency_ns + time_ns(bytes, rate)
    }

    /// Time of a copy between host and device.
    pub(super) fn copy_ns(&self, bytes: u64) -> i64 {
        1_000 + time_ns(bytes, self.network.host_bytes_per_us)
    }
}

fn time_ns(bytes: u64, bytes_per_us: u64) -> i64 {
    let ns = u128::from(bytes) * 1000 / u128::from(bytes_per_us.max(1));
    i64::try_from(ns).unwrap_or(i64::MAX / 4)
}
