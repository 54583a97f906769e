//! What one rank's host does in one step, in order.

use crate::random::{Purpose, Stream as Draws};

use super::kernel::{self, Exchange, Kernel, Operation};
use super::layout::{Axis, Group, Place};
use super::schedule::{Pass, one_forward_one_backward};
use super::{HostCause, Scenario};

/// A stream of the device, by its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Stream {
    Compute,
    Tensor,
    Expert,
    Data,
    ForwardReceive,
    ForwardSend,
    BackwardReceive,
    BackwardSend,
}

impl Stream {
    pub(super) const COUNT: usize = 8;

    /// The id that the trace shows.
    pub(super) fn id(self) -> u32 {
        7 + 13 * self as u32
    }
}

/// One thing that the host does.
#[derive(Debug, Clone, Copy)]
pub(super) enum HostOp {
    /// A step ends, and the next begins.
    Step,
    /// A range begins.
    Enter(HostCause),
    /// It ends.
    Leave,
    /// Host code.
    Work(i64),
    /// A call of `cudaMalloc`.
    Allocate(i64),
    /// The next work of a stream waits for the last of another (`cudaStreamWaitEvent`).
    Wait { stream: Stream, on: Stream },
    /// The host waits for a stream (`cudaStreamSynchronize`).
    Synchronise(Stream),
    /// An operator enqueues device work.
    Launch(Launch),
}

/// Device work to enqueue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Launch {
    pub kernel: Kernel,
    pub stream: Stream,
    pub work: Work,
    /// Framework time before the call.
    pub dispatch_ns: i64,
}

/// What the device does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    Compute { operation: Operation, ns: i64 },
    Copy { bytes: u64, ns: i64 },
    Fill { bytes: u64, ns: i64 },
    Exchange(Message),
}

/// One rank's part of an exchange.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    pub exchange: Exchange,
    /// Index of the group.
    pub group: usize,
    /// The other side of a send or receive.
    pub peer: Option<u32>,
    pub bytes: u64,
    pub ns: i64,
}

/// The program of a rank in a step (counted from zero).
pub(super) fn program(scenario: &Scenario, groups: &[Group], rank: u32, step: u32) -> Vec<HostOp> {
    let mut program = Program {
        scenario,
        groups,
        rank,
        step,
        place: scenario.layout.place(rank),
        draws: Draws::new(scenario.seed, Purpose::Kernel, u64::from(rank), u64::from(step)),
        ops: Vec::new(),
    };
    program.step();
    program.ops
}

struct Program<'a> {
    scenario: &'a Scenario,
    groups: &'a [Group],
    rank: u32,
    step: u32,
    place: Place,
    draws: Draws,
    ops: Vec<HostOp>,
}

impl Program<'_> {
    fn step(&mut self) {
        let Scenario { host, kernels, messages, .. } = *self.scenario;
        self.ops.push(HostOp::Step);
        let load_ns = self.jittered(host.data_loader_ns) + self.scenario.stall_ns(self.rank, self.step);
        if load_ns > 0 {
            self.ops.extend([HostOp::Enter(HostCause::DataLoader), HostOp::Work(load_ns), HostOp::Leave]);
        }
        if messages.batch_bytes > 0 {
            let (bytes, ns) = (messages.batch_bytes, self.scenario.copy_ns(messages.batch_bytes));
            self.launch(kernel::COPY_IN, Stream::Compute, Work::Copy { bytes, ns });
        }
        for _ in 0..host.allocations {
            self.ops.push(HostOp::Allocate(host.allocation_ns));
        }
        let gradients = messages.gradient_bytes_per_layer * u64::from(self.scenario.layers_per_stage);
        if gradients > 0 {
            // A fill runs at the speed of the memory: some terabytes a second.
            let ns = 1_000 + i64::try_from(gradients / 2_000).unwrap_or(i64::MAX / 4);
            self.launch(kernel::FILL, Stream::Compute, Work::Fill { bytes: gradients, ns });
        }

        let micro_batches = self.scenario.micro_batches;
        for pass in one_forward_one_backward(self.place.stage, self.scenario.layout.pipeline, micro_batches) {
            match pass {
                Pass::Forward(_) => self.forward(),
                Pass::Backward(micro_batch) => self.backward(micro_batch + 1 == micro_batches),
            }
        }

        self.ops.push(HostOp::Wait { stream: Stream::Compute, on: Stream::Data });
        if kernels.optimizer_kernels > 0 {
            self.ops.push(HostOp::Enter(HostCause::Optimizer));
            let ns = self.jittered(host.optimizer_ns);
            self.ops.push(HostOp::Work(ns));
            for _ in 0..kernels.optimizer_kernels {
                self.compute(kernel::OPTIMIZER, Operation::Optimizer, kernels.optimizer_ns);
            }
            self.ops.push(HostOp::Leave);
        }
        if host.reads_loss {
            self.launch(kernel::COPY_OUT, Stream::Compute, Work::Copy { bytes: 4, ns: 1_200 });
            self.ops.push(HostOp::Synchronise(Stream::Compute));
        }
    }

    fn forward(&mut self) {
        let kernels = self.scenario.kernels;
        let activation = self.scenario.messages.activation_bytes;
        match self.stage_before() {
            Some(peer) => {
                self.point_to_point(Exchange::Receive, peer, Stream::ForwardReceive, activation);
                self.ops.push(HostOp::Wait { stream: Stream::Compute, on: Stream::ForwardReceive });
            }
            None => self.compute(kernel::EMBEDDING, Operation::Embedding, kernels.embedding_ns),
        }
        for _ in 0..self.scenario.layers_per_stage {
            self.compute(kernel::NORM, Operation::Normalisation, kernels.norm_ns);
            self.compute(kernel::MATMUL, Operation::Gemm, kernels.matmul_ns);
            self.compute(kernel::ATTENTION, Operation::Attention, kernels.attention_ns);
            self.compute(kernel::MATMUL, Operation::Gemm, kernels.matmul_ns);
            self.blocking(Exchange::AllReduce, Axis::Tensor, Stream::Tensor, activation);
            self.compute(kernel::NORM, Operation::Normalisation, kernels.norm_ns);
            if self.has_experts() {
                self.experts(kernels.experts_ns);
            } else {
                self.compute(kernel::MATMUL, Operation::Gemm, kernels.matmul_ns);
                self.compute(kernel::ACTIVATION, Operation::Elementwise, kernels.elementwise_ns);
                self.compute(kernel::MATMUL, Operation::Gemm, kernels.matmul_ns);
            }
            self.blocking(Exchange::AllReduce, Axis::Tensor, Stream::Tensor, activation);
            self.compute(kernel::RESIDUAL, Operation::Elementwise, kernels.elementwise_ns);
        }
        match self.stage_after() {
            Some(peer) => self.point_to_point(Exchange::Send, peer, Stream::ForwardSend, activation),
            None => self.compute(kernel::LOSS, Operation::SoftmaxLoss, kernels.loss_ns),
        }
    }

    fn backward(&mut self, is_last_micro_batch: bool) {
        let kernels = self.scenario.kernels;
        let messages = self.scenario.messages;
        if let Some(peer) = self.stage_after() {
            self.point_to_point(Exchange::Receive, peer, Stream::BackwardReceive, messages.activation_bytes);
            self.ops.push(HostOp::Wait { stream: Stream::Compute, on: Stream::BackwardReceive });
        }
        let mut bucket = 0;
        for layer in (0..self.scenario.layers_per_stage).rev() {
            if self.has_experts() {
                self.experts(2 * kernels.experts_ns);
            } else {
                self.compute(kernel::MATMUL_BACKWARD, Operation::Gemm, 2 * kernels.matmul_ns);
                self.compute(kernel::ACTIVATION, Operation::Elementwise, kernels.elementwise_ns);
                self.compute(kernel::MATMUL_BACKWARD, Operation::Gemm, 2 * kernels.matmul_ns);
            }
            self.compute(kernel::NORM_BACKWARD, Operation::Normalisation, kernels.norm_ns);
            self.blocking(Exchange::AllReduce, Axis::Tensor, Stream::Tensor, messages.activation_bytes);
            self.compute(kernel::MATMUL_BACKWARD, Operation::Gemm, 2 * kernels.matmul_ns);
            self.compute(kernel::ATTENTION_BACKWARD, Operation::Attention, 2 * kernels.attention_ns);
            self.compute(kernel::MATMUL_BACKWARD, Operation::Gemm, 2 * kernels.matmul_ns);
            self.compute(kernel::NORM_BACKWARD, Operation::Normalisation, kernels.norm_ns);
            self.blocking(Exchange::AllReduce, Axis::Tensor, Stream::Tensor, messages.activation_bytes);
            bucket += 1;
            if is_last_micro_batch && (bucket == messages.layers_per_bucket || layer == 0) {
                let bytes = messages.gradient_bytes_per_layer * u64::from(bucket);
                self.collective(Exchange::AllReduce, Axis::Data, Stream::Data, bytes);
                bucket = 0;
            }
        }
        if let Some(peer) = self.stage_before() {
            self.point_to_point(Exchange::Send, peer, Stream::BackwardSend, messages.activation_bytes);
        }
    }

    /// Tokens go to their experts, and come back.
    fn experts(&mut self, ns: i64) {
        let bytes = self.scenario.messages.expert_bytes;
        self.compute(kernel::ROUTER, Operation::MixtureOfExperts, self.scenario.kernels.elementwise_ns);
        self.blocking(Exchange::AllToAll, Axis::Expert, Stream::Expert, bytes);
        self.compute(kernel::EXPERTS, Operation::MixtureOfExperts, ns);
        self.blocking(Exchange::AllToAll, Axis::Expert, Stream::Expert, bytes);
    }

    fn has_experts(&self) -> bool {
        self.scenario.layout.expert > 1
    }

    fn stage_before(&self) -> Option<u32> {
        let stage = self.place.stage.checked_sub(1)?;
        Some(self.scenario.layout.rank(Place { stage, ..self.place }))
    }

    fn stage_after(&self) -> Option<u32> {
        let stage = self.place.stage + 1;
        let exists = stage < self.scenario.layout.pipeline;
        exists.then(|| self.scenario.layout.rank(Place { stage, ..self.place }))
    }

    fn compute(&mut self, kernel: Kernel, operation: Operation, ns: i64) {
        if ns > 0 {
            let ns = self.jittered(self.scenario.on_rank(ns, self.rank, self.step));
            self.launch(kernel, Stream::Compute, Work::Compute { operation, ns });
        }
    }

    /// A collective whose result the next computation needs.
    fn blocking(&mut self, exchange: Exchange, axis: Axis, stream: Stream, bytes: u64) {
        if self.collective(exchange, axis, stream, bytes) {
            self.ops.push(HostOp::Wait { stream: Stream::Compute, on: stream });
        }
    }

    /// A collective over the rank's group on an axis, which waits for what was computed before; false without a group.
    fn collective(&mut self, exchange: Exchange, axis: Axis, stream: Stream, bytes: u64) -> bool {
        let group = self.groups.iter().position(|g| g.axis == axis && g.ranks.contains(&self.rank));
        let Some(group) = group.filter(|_| bytes > 0) else { return false };
        let ranks = &self.groups[group].ranks;
        // A ring moves every byte twice, less one part.
        let parts = ranks.len() as u64;
        let moved = match exchange {
            Exchange::AllReduce => bytes * 2 * (parts - 1) / parts,
            _ => bytes * (parts - 1) / parts,
        };
        let ns = self.scenario.transfer_ns(moved, ranks);
        self.send(stream, Message { exchange, group, peer: None, bytes, ns });
        true
    }

    fn point_to_point(&mut self, exchange: Exchange, peer: u32, stream: Stream, bytes: u64) {
        let group = self.groups.iter().position(|g| g.axis == Axis::Pipeline && g.ranks.contains(&self.rank));
        let Some(group) = group else { return };
        let ns = self.scenario.transfer_ns(bytes, &[self.rank, peer]);
        self.send(stream, Message { exchange, group, peer: Some(peer), bytes, ns });
    }

    fn send(&mut self, stream: Stream, message: Message) {
        self.ops.push(HostOp::Wait { stream, on: Stream::Compute });
        self.launch(message.exchange.kernel(), stream, Work::Exchange(message));
    }

    fn launch(&mut self, kernel: Kernel, stream: Stream, work: Work) {
        let dispatch_ns = self.jittered(self.scenario.host.dispatch_ns);
        self.ops.push(HostOp::Launch(Launch { kernel, stream, work, dispatch_ns }));
    }

    fn jittered(&mut self, ns: i64) -> i64 {
        let jitter = f64::from(self.scenario.jitter_permille);
        let permille = self.draws.between(-jitter, jitter);
        // Below a nanosecond in a thousand seconds a double is exact enough, and the same everywhere.
        (ns + (ns as f64 * permille / 1000.0) as i64).max(0)
    }
}
