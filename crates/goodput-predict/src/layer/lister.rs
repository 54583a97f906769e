//! Puts kernels and exchanges of a layer in their passes, each with its time.

use super::paired::ExpertExchanges;
use super::{Exchanges, Part, Passes, Term, calls};
use crate::Estimate;
use crate::collective::CollectiveTime;
use crate::kernel::{
    Access, Accumulator, Direction, ExpertGemm, Format, Fusion, Gemm, HostWork, KernelError, KernelTables,
    Operation, Pass, Traffic,
};
use crate::run::{Module, Modules, Run};

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
    /// Modules that what is listed now belongs to.
    pub modules: Modules,
    /// Of the layer of experts that was listed.
    pub expert_exchanges: Option<ExpertExchanges>,
}

type Listed = Result<(), KernelError>;

impl<'a> Lister<'a> {
    pub fn new(run: &'a Run, tables: &'a KernelTables, exchanges: &'a Exchanges) -> Self {
        Self {
            run,
            tables,
            exchanges,
            passes: Passes::default(),
            modules: Modules::NONE,
            expert_exchanges: None,
        }
    }

    /// Lists parts of a module.
    pub fn within(&mut self, module: Module, list: impl FnOnce(&mut Self) -> Listed) -> Listed {
        let around = self.modules;
        self.modules = around.and(module);
        let listed = list(self);
        self.modules = around;
        listed
    }

    /// A part of the modules at hand.
    pub fn part(&self, name: &'static str, term: Term, estimate: Estimate) -> Part {
        Part { name, term, estimate, host: HostWork::NONE, flops: 0.0, modules: self.modules }
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
            for (sum, ns) in
                times.iter_mut().zip(self.products(linear, tokens, format, self.pieces(split))?)
            {
                *sum += ns;
            }
        }
        let Some(first) = linears.first() else { return Ok(()) };
        match split {
            Split::Whole => {}
            Split::Outputs => self.around_outputs(tokens * first.inputs, format, times, before),
            Split::Inputs => self.around_inputs(tokens * first.outputs, format, times, before[1]),
        }
        Ok(())
    }

    /// Into how many pieces each of the three products is cut. With overlapped tensor exchanges those beside a gather or a sum of
    /// their own are; exchanges beside another product (Transformer Engine's bulk overlap) leave it whole.
    fn pieces(&self, split: Split) -> [u64; 3] {
        let layout = &self.run.layout;
        let cut = if layout.overlap_tensor && layout.sequence_parallel { self.tensor() } else { 1 };
        match split {
            Split::Whole => [1; 3],
            Split::Outputs => [cut, 1, 1],
            Split::Inputs => [cut, cut, 1],
        }
    }

    /// The three products of a linear layer; their times in ns.
    fn products(
        &mut self,
        linear: &Linear,
        tokens: u64,
        format: Format,
        pieces: [u64; 3],
    ) -> Result<[f64; 3], KernelError> {
        let gemm =
            Gemm::new(tokens, linear.outputs, linear.inputs).format(format).accumulate(self.accumulator());
        let mut times = [0.0; 3];
        for ((time, pass), pieces) in times.iter_mut().zip(Pass::ALL).zip(pieces) {
            let estimate = self.tables.gemm_in_pieces(&gemm.pass(pass), pieces)?;
            *time = estimate.ns;
            let cast = if format.is_quantised() { pieces } else { 0 };
            let calls = calls::LINEAR[usize::from(pass != Pass::Forward)];
            let host = HostWork { calls, products: pieces as f64, ..HostWork::launches(cast as usize) };
            let part = Part { host, flops: gemm.flops(), ..self.part(linear.name, Term::Gemm, estimate) };
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
    fn around_outputs(
        &mut self,
        values: u64,
        format: Format,
        [forward, input, weight]: [f64; 3],
        before: [usize; 2],
    ) {
        let Some(tensor) = &self.exchanges.tensor else { return };
        let bytes = self.bytes(values);
        let in_pieces = self.run.layout.overlap_tensor;
        let called = |time| if in_pieces { time } else { tensor.called(time) };
        let (sum, gather) = if self.run.layout.sequence_parallel {
            (
                called(tensor.reduce_scatter.time(bytes)),
                Some(called(tensor.all_gather.time(self.gathered_bytes(values, format)))),
            )
        } else {
            (called(tensor.all_reduce.time(bytes)), None)
        };
        if let Some(gather) = gather {
            let exposed = self.gathered_in_pieces(gather, forward);
            let part = self.exchanged("input gather", gather, exposed);
            self.passes.forward.insert(before[0], part);
            let exposed = self.beside_product(gather, input);
            let part = self.exchanged("input gather again", gather, exposed);
            self.passes.input_gradient.insert(before[1], part);
        }
        let exposed = self.beside_product(sum, weight);
        let part = self.exchanged("input gradient sum", sum, exposed);
        self.passes.input_gradient.push(part);
    }

    /// Results are summed over ranks; with sequence parallelism each keeps its part, and the gradient is gathered.
    fn around_inputs(&mut self, values: u64, format: Format, [forward, input, _]: [f64; 3], before: usize) {
        let Some(tensor) = &self.exchanges.tensor else { return };
        let bytes = self.bytes(values);
        let in_pieces = self.run.layout.overlap_tensor;
        let called = |time| if in_pieces { time } else { tensor.called(time) };
        if self.run.layout.sequence_parallel {
            let sum = called(tensor.reduce_scatter.time(bytes));
            let gather = called(tensor.all_gather.time(self.gathered_bytes(values, format)));
            let part = self.exchanged("result sum", sum, self.summed_in_pieces(sum, forward));
            self.passes.forward.push(part);
            let exposed = self.gathered_in_pieces(gather, input);
            let part = self.exchanged("gradient gather", gather, exposed);
            self.passes.input_gradient.insert(before, part);
        } else {
            let sum = called(tensor.all_reduce.time(bytes));
            let part = self.exchanged("result sum", sum, self.summed_in_pieces(sum, forward));
            self.passes.forward.push(part);
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

    /// Calls for which no kernel runs.
    pub fn host_only(&mut self, name: &'static str, pass: Pass, calls: f64) {
        let host = HostWork::calls(calls);
        let part = Part { host, ..self.part(name, Term::Elementwise, Estimate::NOTHING) };
        self.passes.of(pass).push(part);
    }

    pub fn bytes(&self, values: u64) -> f64 {
        values as f64 * f64::from(self.run.precision.activation_bytes)
    }

    /// What is gathered for a product; some frameworks cast it first.
    fn gathered_bytes(&self, values: u64, format: Format) -> f64 {
        let cast = self.run.framework.gathers_operands && format.is_quantised();
        if cast { values as f64 * format.operand_bytes() } else { self.bytes(values) }
    }

    /// What remains of an exchange beside `window_ns` of work.
    pub fn beside(&self, time: CollectiveTime, window_ns: f64) -> f64 {
        self.tables.exposed_ns(time.sm_count, time.estimate.ns, window_ns)
    }

    /// The same of a tensor-parallel exchange beside a product in the backward pass, where the framework overlaps them.
    fn beside_product(&self, time: CollectiveTime, product_ns: f64) -> f64 {
        if self.run.framework.overlap_backward {
            self.tables.exposed_beside_a_product_ns(time.sm_count, time.estimate.ns, product_ns)
        } else {
            time.estimate.ns
        }
    }

    /// With overlap a gather is cut into as many pieces as ranks. The first is a rank's own and the others come by copy engines
    /// beside the product of the piece before (Transformer Engine's ring exchange, PyTorch's asynchronous tensor parallelism).
    fn gathered_in_pieces(&self, time: CollectiveTime, window_ns: f64) -> f64 {
        if !self.run.layout.overlap_tensor {
            return time.estimate.ns;
        }
        let others = 1.0 - 1.0 / self.tensor() as f64;
        (time.estimate.ns - window_ns * others).max(0.0)
    }

    /// With overlap a sum is cut into as many pieces as ranks, of which the last cannot be hidden.
    fn summed_in_pieces(&self, time: CollectiveTime, window_ns: f64) -> f64 {
        if !self.run.layout.overlap_tensor {
            return time.estimate.ns;
        }
        let alone = time.estimate.ns;
        let last = alone / self.tensor() as f64;
        let beside = match self.run.framework.reserved_multiprocessors {
            0 => self.beside(time, window_ns),
            // The product runs on the others from its first piece to its last.
            reserved => {
                let slowed_ns = window_ns * self.tables.contention_ratio(reserved);
                slowed_ns - window_ns + (alone - last - slowed_ns).max(0.0)
            }
        };
        (last + beside).min(alone)
    }

    /// A tensor-parallel exchange of which `exposed_ns` are not hidden.
    fn exchanged(&self, name: &'static str, time: CollectiveTime, exposed_ns: f64) -> Part {
        let estimate = Estimate { ns: exposed_ns, ..time.estimate };
        Part { host: HostWork::EXCHANGE, ..self.part(name, Term::TensorExchange, estimate) }
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
        let part = Part { term, ..self.exchanged(name, time, exposed_ns) };
        self.passes.of(pass).push(part);
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
            let estimate = self.tables.operation(&operation, direction, fusion)?;
            let host = HostWork::launches(operation.kernels(direction, fusion).len());
            let part = Part { host, ..self.part(name, term, estimate) };
            self.passes.of(pass).push(part);
        }
        Ok(())
    }

    pub fn traffic(&mut self, name: &'static str, term: Term, pass: Pass, kernels: &[Traffic]) -> Listed {
        let estimate = self.tables.memory_bound(kernels)?;
        let part = Part { host: HostWork::launches(kernels.len()), ..self.part(name, term, estimate) };
        self.passes.of(pass).push(part);
        Ok(())
    }

    /// The products of the experts of a rank, each on `each` rows.
    pub fn expert_linear(&mut self, experts: u64, rows: u64, linear: &Linear) -> Listed {
        let format = self.run.precision.products;
        let gemm =
            Gemm::new(rows, linear.outputs, linear.inputs).format(format).accumulate(self.accumulator());
        for pass in Pass::ALL {
            let estimate = self.tables.expert_gemm(&ExpertGemm { experts, each: gemm.pass(pass) })?;
            // Of the rank's even share.
            let flops = experts as f64 * gemm.flops() / self.run.expert_imbalance.max(1.0);
            // One call, which launches a product an expert.
            let host = HostWork { products: 1.0, ..HostWork::launches(experts as usize) };
            let part = Part { host, flops, ..self.part(linear.name, Term::Gemm, estimate) };
            self.passes.of(pass).push(part);
        }
        self.add_to_gradients(experts * linear.inputs * linear.outputs)
    }
}
