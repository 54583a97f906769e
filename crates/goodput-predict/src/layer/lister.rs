//! Puts kernels and exchanges of a layer in their passes, each with its time.

use super::{Exchanges, Part, Passes, Term};
use crate::Estimate;
use crate::collective::CollectiveTime;
use crate::kernel::{
    Access, Accumulator, Direction, ExpertGemm, Format, Fusion, Gemm, KernelError, KernelTables, Operation,
    Pass, Traffic,
};
use crate::run::Run;

/// How a product is split over the tensor ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    /// Not at all.
    Whole,
    /// Its outputs: all ranks need all inputs.
    Outputs,
    /// Its inputs: the ranks' results are summed.
    Inputs,
}

/// One product of a linear layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Linear {
    pub name: &'static str,
    pub inputs: u64,
    pub outputs: u64,
    pub bias: bool,
}

impl Linear {
    pub const fn new(name: &'static str, inputs: u64, outputs: u64) -> Self {
        Self { name, inputs, outputs, bias: false }
    }

    pub const fn bias(self, bias: bool) -> Self {
        Self { bias, ..self }
    }
}

pub(super) struct Lister<'a> {
    pub run: &'a Run,
    pub tables: &'a KernelTables,
    pub exchanges: &'a Exchanges,
    pub passes: Passes,
}

type Listed = Result<(), KernelError>;

/// Host work of a collective beside its kernel: an event on each side and the call.
const LAUNCHES_OF_AN_EXCHANGE: u32 = 2;

impl<'a> Lister<'a> {
    pub fn new(run: &'a Run, tables: &'a KernelTables, exchanges: &'a Exchanges) -> Self {
        Self { run, tables, exchanges, passes: Passes::default() }
    }

    /// Tokens of a micro-batch on a context rank.
    pub fn tokens(&self) -> u64 {
        self.run.batch.micro * self.run.batch.sequence / u64::from(self.run.layout.context)
    }

    /// Of them those that a rank holds between tensor-parallel products.
    pub fn own_tokens(&self) -> u64 {
        let split = if self.run.layout.sequence_parallel { u64::from(self.run.layout.tensor) } else { 1 };
        self.tokens() / split
    }

    pub fn tensor(&self) -> u64 {
        u64::from(self.run.layout.tensor)
    }

    fn accumulator(&self) -> Accumulator {
        match (self.run.precision.gradient_bytes, self.run.framework.fused_accumulation) {
            (4, true) => Accumulator::Fp32,
            (_, true) => Accumulator::Half,
            (_, false) => Accumulator::None,
        }
    }

    /// Products of one input of `tokens` rows, side by side, with what tensor ranks exchange for them.
    pub fn linears(&mut self, split: Split, tokens: u64, format: Format, linears: &[Linear]) -> Listed {
        let before = [self.passes.forward.len(), self.passes.input_gradient.len()];
        let mut times = [0.0; 3];
        for linear in linears {
            for (sum, ns) in times.iter_mut().zip(self.products(linear, tokens, format)?) {
                *sum += ns;
            }
        }
        let Some(first) = linears.first() else { return Ok(()) };
        match split {
            Split::Whole => {}
            Split::Outputs => self.around_outputs(tokens * first.inputs, times, before),
            Split::Inputs => self.around_inputs(tokens * first.outputs, times, before[1]),
        }
        Ok(())
    }

    /// The three products of a linear layer; their times in ns.
    fn products(&mut self, linear: &Linear, tokens: u64, format: Format) -> Result<[f64; 3], KernelError> {
        let gemm =
            Gemm::new(tokens, linear.outputs, linear.inputs).format(format).accumulate(self.accumulator());
        let mut times = [0.0; 3];
        for (time, pass) in times.iter_mut().zip(Pass::ALL) {
            let estimate = self.tables.gemm(&gemm.pass(pass))?;
            *time = estimate.ns;
            let launches = if format.is_quantised() { 2 } else { 1 };
            let part = Part { name: linear.name, term: Term::Gemm, estimate, launches, flops: gemm.flops() };
            self.passes.of(pass).push(part);
        }
        if linear.bias {
            let sum = [Traffic::new(2.0 * (tokens * linear.outputs) as f64, Access::Columns)];
            self.traffic("bias gradient", Term::Elementwise, Pass::WeightGradient, &sum)?;
            self.add_vector_gradients(linear.outputs, 1)?;
        }
        self.add_to_gradients(linear.inputs * linear.outputs)?;
        Ok(times)
    }

    /// Where the product does not add to the gradient buffer itself, another kernel does.
    pub fn add_to_gradients(&mut self, weights: u64) -> Listed {
        if self.run.framework.fused_accumulation || self.run.micro_batches() == Some(1) {
            return Ok(());
        }
        let bytes = 2.0 + 2.0 * f64::from(self.run.precision.gradient_bytes);
        let add = [Traffic::new(bytes * weights as f64, Access::Stream)];
        self.traffic("gradient sum", Term::Elementwise, Pass::WeightGradient, &add)
    }

    /// With sequence parallelism the input is gathered, in the backward pass again, for the weight gradient; its gradient is
    /// scattered. Without, the gradient is summed. `before`: where the products' parts begin in the lists.
    fn around_outputs(&mut self, values: u64, [forward, input, weight]: [f64; 3], before: [usize; 2]) {
        let Some(tensor) = &self.exchanges.tensor else { return };
        let bytes = self.bytes(values);
        let beside = |window: f64| if self.run.framework.overlap_backward { window } else { 0.0 };
        let (sum, gather) = if self.run.layout.sequence_parallel {
            (tensor.reduce_scatter.time(bytes), Some(tensor.all_gather.time(bytes)))
        } else {
            (tensor.all_reduce.time(bytes), None)
        };
        if let Some(gather) = gather {
            let exposed = self.pipelined(gather, forward);
            self.passes.forward.insert(before[0], exchanged("input gather", gather, exposed));
            let exposed = self.beside(gather, beside(input));
            self.passes.input_gradient.insert(before[1], exchanged("input gather again", gather, exposed));
        }
        let exposed = self.beside(sum, beside(weight));
        self.passes.input_gradient.push(exchanged("input gradient sum", sum, exposed));
    }

    /// Results are summed over ranks; with sequence parallelism each keeps its part, and the gradient is gathered.
    fn around_inputs(&mut self, values: u64, [forward, input, _]: [f64; 3], before: usize) {
        let Some(tensor) = &self.exchanges.tensor else { return };
        let bytes = self.bytes(values);
        if self.run.layout.sequence_parallel {
            let (sum, gather) = (tensor.reduce_scatter.time(bytes), tensor.all_gather.time(bytes));
            self.passes.forward.push(exchanged("result sum", sum, self.pipelined(sum, forward)));
            let exposed = self.pipelined(gather, input);
            self.passes.input_gradient.insert(before, exchanged("gradient gather", gather, exposed));
        } else {
            let sum = tensor.all_reduce.time(bytes);
            self.passes.forward.push(exchanged("result sum", sum, self.pipelined(sum, forward)));
        }
    }

    /// Gradients of biases and norms are added by kernels of their own, one a vector.
    pub fn add_vector_gradients(&mut self, width: u64, vectors: usize) -> Listed {
        if !self.run.framework.fused_accumulation && self.run.micro_batches() == Some(1) {
            return Ok(());
        }
        let bytes = 2.0 + 2.0 * f64::from(self.run.precision.gradient_bytes);
        let adds = [Traffic::new(bytes * width as f64, Access::Stream); 2];
        self.traffic("gradient sum", Term::Elementwise, Pass::WeightGradient, &adds[..vectors.min(2)])
    }

    /// Work of the host for which no kernel runs, counted as so many launches.
    pub fn host_only(&mut self, name: &'static str, pass: Pass, launches: u32) {
        let estimate = Estimate::NOTHING;
        self.passes.of(pass).push(Part { name, term: Term::Elementwise, estimate, launches, flops: 0.0 });
    }

    pub fn bytes(&self, values: u64) -> f64 {
        values as f64 * f64::from(self.run.precision.activation_bytes)
    }

    /// What remains of an exchange beside `window_ns` of work: what outlasts it, or what the multiprocessors that it holds
    /// slow the work down by.
    pub fn beside(&self, time: CollectiveTime, window_ns: f64) -> f64 {
        let ratio = self.tables.contention_ratio(time.sm_count);
        let alone = time.estimate.ns;
        if alone <= window_ns * ratio { alone * (1.0 - 1.0 / ratio) } else { alone - window_ns }
    }

    /// With overlap it is cut into as many pieces as ranks, of which the first (or last) cannot be hidden.
    fn pipelined(&self, time: CollectiveTime, window_ns: f64) -> f64 {
        if !self.run.layout.overlap_tensor {
            return time.estimate.ns;
        }
        let first = time.estimate.ns / self.tensor() as f64;
        (first + self.beside(time, window_ns)).min(time.estimate.ns)
    }

    /// An exchange of which `exposed_ns` are not hidden.
    pub fn exchange(
        &mut self,
        name: &'static str,
        term: Term,
        pass: Pass,
        time: CollectiveTime,
        exposed_ns: f64,
    ) {
        self.passes.of(pass).push(Part { term, ..exchanged(name, time, exposed_ns) });
    }

    /// Forward and backward of an operation, at a degree of fusion.
    pub fn operation(
        &mut self,
        name: &'static str,
        term: Term,
        operation: Operation,
        fusion: Fusion,
    ) -> Listed {
        for (direction, pass) in
            [(Direction::Forward, Pass::Forward), (Direction::Backward, Pass::InputGradient)]
        {
            self.traffic(name, term, pass, &operation.kernels(direction, fusion))?;
        }
        Ok(())
    }

    pub fn traffic(&mut self, name: &'static str, term: Term, pass: Pass, kernels: &[Traffic]) -> Listed {
        let estimate = self.tables.memory_bound(kernels)?;
        let launches = kernels.len() as u32;
        self.passes.of(pass).push(Part { name, term, estimate, launches, flops: 0.0 });
        Ok(())
    }

    /// The products of the experts of a rank, each on `each` rows.
    pub fn expert_linear(&mut self, experts: u64, rows: u64, linear: &Linear) -> Listed {
        let format = self.run.precision.products;
        let gemm =
            Gemm::new(rows, linear.outputs, linear.inputs).format(format).accumulate(self.accumulator());
        for pass in Pass::ALL {
            let estimate = self.tables.expert_gemm(&ExpertGemm { experts, each: gemm.pass(pass) })?;
            let flops = experts as f64 * gemm.flops();
            let part =
                Part { name: linear.name, term: Term::Gemm, estimate, launches: experts as u32, flops };
            self.passes.of(pass).push(part);
        }
        self.add_to_gradients(experts * linear.inputs * linear.outputs)
    }
}

/// A tensor-parallel exchange of which `exposed_ns` are not hidden.
fn exchanged(name: &'static str, time: CollectiveTime, exposed_ns: f64) -> Part {
    let estimate = Estimate { ns: exposed_ns, ..time.estimate };
    Part { name, term: Term::TensorExchange, estimate, launches: LAUNCHES_OF_AN_EXCHANGE, flops: 0.0 }
}
