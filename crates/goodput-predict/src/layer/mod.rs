//! One layer on one rank as a list of kernels and exchanges, each with its time.
//!
//! A list is what a person can check against a trace: every part has a name, a term, a time with what it rests on, what
//! it asks of the host and how many FLOPs it does. Input and weight gradients stand apart, since schedules may move them
//! apart.

mod attention;
mod calls;
mod cost;
mod ends;
mod exchanges;
mod feed_forward;
mod lister;
mod paired;
mod term;

use goodput_model::architecture::{Blocks, Mixer, Norm, TextModel};

use crate::Estimate;
use crate::kernel::{Fusion, HostWork, KernelError, KernelTables, NormKind, Operation, Pass};
use crate::run::{Module, Modules, Recompute, Run};

pub use cost::Cost;
pub use term::{Term, Terms};

pub(crate) use exchanges::{Exchanges, collectives};
use lister::Lister;

/// A kernel, a chain of kernels or an exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// What it is: `qkv`, `attention`, `mlp up`, …
    pub name: &'static str,
    /// What its time is spent on.
    pub term: Term,
    /// Its time; of an exchange what nothing hides.
    pub estimate: Estimate,
    /// What the host does for it.
    pub host: HostWork,
    /// FLOPs of products and attention, ranks' own share.
    pub flops: f64,
    /// Modules that it belongs to.
    pub modules: Modules,
}

/// The passes of a layer for one micro-batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Passes {
    /// The forward pass.
    pub forward: Vec<Part>,
    /// What is computed again before the backward pass.
    pub recompute: Vec<Part>,
    /// Gradients of activations, and all of the backward pass that others wait for.
    pub input_gradient: Vec<Part>,
    /// Gradients of weights.
    pub weight_gradient: Vec<Part>,
    /// What is hidden of the exchanges of the forward and of the backward pass where each runs beside the other pass of another
    /// micro-batch, ns.
    pub hidden_ns: [f64; 2],
}

impl Passes {
    fn append(&mut self, mut other: Self) {
        self.forward.append(&mut other.forward);
        self.recompute.append(&mut other.recompute);
        self.input_gradient.append(&mut other.input_gradient);
        self.weight_gradient.append(&mut other.weight_gradient);
        for (ours, theirs) in self.hidden_ns.iter_mut().zip(other.hidden_ns) {
            *ours += theirs;
        }
    }

    fn of(&mut self, pass: Pass) -> &mut Vec<Part> {
        match pass {
            Pass::Forward => &mut self.forward,
            Pass::InputGradient => &mut self.input_gradient,
            Pass::WeightGradient => &mut self.weight_gradient,
        }
    }
}

/// Times of one layer's passes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PassCosts {
    /// The forward pass.
    pub forward: Cost,
    /// What is computed again before the backward pass.
    pub recompute: Cost,
    /// Gradients of activations.
    pub input_gradient: Cost,
    /// Gradients of weights.
    pub weight_gradient: Cost,
    /// As [`Passes::hidden_ns`].
    pub hidden_ns: [f64; 2],
}

impl PassCosts {
    /// Of a list.
    #[must_use]
    pub fn of(passes: &Passes) -> Self {
        Self {
            forward: Cost::of(&passes.forward),
            recompute: Cost::of(&passes.recompute),
            input_gradient: Cost::of(&passes.input_gradient),
            weight_gradient: Cost::of(&passes.weight_gradient),
            hidden_ns: passes.hidden_ns,
        }
    }

    /// Adds so many times another's.
    pub fn add_times(&mut self, other: &Self, times: f64) {
        self.forward.add_times(&other.forward, times);
        self.recompute.add_times(&other.recompute, times);
        self.input_gradient.add_times(&other.input_gradient, times);
        self.weight_gradient.add_times(&other.weight_gradient, times);
        for (ours, theirs) in self.hidden_ns.iter_mut().zip(other.hidden_ns) {
            *ours += theirs * times;
        }
    }
}

/// Lists the layers of a run.
#[derive(Debug, Clone)]
pub struct Layers<'a> {
    run: &'a Run,
    tables: &'a KernelTables,
    exchanges: Exchanges,
}

impl<'a> Layers<'a> {
    /// Of a run that [`Run::check`] has passed, on a device's kernels.
    #[must_use]
    pub fn new(run: &'a Run, tables: &'a KernelTables) -> Self {
        Self { run, tables, exchanges: Exchanges::new(run) }
    }

    pub(crate) const fn exchanges(&self) -> &Exchanges {
        &self.exchanges
    }

    /// One block of a group; `recomputed`: whether it is one of those that full recomputation runs again.
    ///
    /// # Errors
    /// [`KernelError`] where the device has no time for a kernel.
    pub fn block(&self, text: &TextModel, blocks: &Blocks, recomputed: bool) -> Result<Passes, KernelError> {
        let mut lister = Lister::new(self.run, self.tables, &self.exchanges);
        lister.host_only("modules", Pass::Forward, calls::REST[0]);
        lister.host_only("modules", Pass::InputGradient, calls::REST[1]);
        lister.within(Module::Norms, |lister| lister.norm("attention norm", text, text.width))?;
        match &blocks.mixer {
            Mixer::Attention(attention) => lister.attention(text, attention)?,
            Mixer::LatentAttention(attention) => lister.latent_attention(text, attention)?,
            // `Run::check` refuses others.
            _ => {}
        }
        lister.residual(text.width)?;
        lister.within(Module::Norms, |lister| lister.norm("feed-forward norm", text, text.width))?;
        lister.feed_forward(text.width, &blocks.feed_forward)?;
        lister.residual(text.width)?;
        lister.passes.hidden_ns = lister.hidden_by_pairs();
        Ok(self.with_recomputation(lister.passes, recomputed))
    }

    /// The embedding at the front of the first stage.
    ///
    /// # Errors
    /// As [`Layers::block`].
    pub fn embedding(&self, text: &TextModel) -> Result<Passes, KernelError> {
        let mut lister = Lister::new(self.run, self.tables, &self.exchanges);
        lister.embedding(text)?;
        Ok(lister.passes)
    }

    /// Final norm, head and loss at the end of the last stage.
    ///
    /// # Errors
    /// As [`Layers::block`].
    pub fn head(&self, text: &TextModel) -> Result<Passes, KernelError> {
        let mut lister = Lister::new(self.run, self.tables, &self.exchanges);
        if text.final_norm {
            lister.norm("final norm", text, text.width)?;
        }
        lister.head(text)?;
        Ok(lister.passes)
    }

    /// A multi-token prediction module behind the last block: two normed streams joined by a product, a block of the last kind, the
    /// shared head and its loss (DeepSeek-V3, equations 21 to 23).
    ///
    /// # Errors
    /// As [`Layers::block`].
    pub fn multi_token_prediction(
        &self,
        text: &TextModel,
        last: &Blocks,
        recomputed: bool,
    ) -> Result<Passes, KernelError> {
        let mut lister = Lister::new(self.run, self.tables, &self.exchanges);
        for name in ["hidden norm", "embedding norm"] {
            lister.norm(name, text, text.width)?;
        }
        lister.join(text.width)?;
        let mut passes = lister.passes;
        passes.append(self.block(text, last, recomputed)?);
        passes.append(self.head(text)?);
        Ok(passes)
    }

    fn with_recomputation(&self, mut passes: Passes, whole: bool) -> Passes {
        let mut products = 0;
        let named = self.run.recompute.modules();
        let mut again = |part: &Part| match self.run.recompute {
            Recompute::Full | Recompute::Layers(_) => whole,
            Recompute::AttentionCore | Recompute::Modules(_) => part.modules.meets(named),
            Recompute::Cheap => part.term == Term::Norm || part.name == "activation",
            Recompute::EveryOtherProduct if part.term == Term::Gemm => {
                products += 1;
                products % 2 == 0
            }
            Recompute::EveryOtherProduct => part.term.is_compute() && part.term != Term::Attention,
            Recompute::None => false,
        };
        passes.recompute = passes.forward.iter().filter(|part| again(part)).copied().collect();
        if whole {
            let host = |calls| Part { host: HostWork::calls(calls), ..HOST_ONLY };
            passes.forward.push(host(calls::CHECKPOINT[0]));
            passes.recompute.push(host(calls::CHECKPOINT[1]));
        }
        passes
    }
}

const HOST_ONLY: Part = Part {
    name: "checkpoint",
    term: Term::Elementwise,
    estimate: Estimate::NOTHING,
    host: HostWork::NONE,
    flops: 0.0,
    modules: Modules::NONE,
};

impl Lister<'_> {
    fn norm(&mut self, name: &'static str, text: &TextModel, width: u64) -> Result<(), KernelError> {
        let values = self.own_tokens() * width;
        self.norm_of(name, text.norm, values)
    }

    fn norm_of(&mut self, name: &'static str, norm: Norm, values: u64) -> Result<(), KernelError> {
        let kind = if norm == Norm::Layer { NormKind::Layer } else { NormKind::Rms };
        let framework = &self.run.framework;
        let fusion = if framework.fused_norm { Fusion::Fused } else { framework.fusion };
        let tokens = self.own_tokens().max(1);
        self.add_vector_gradients(values / tokens, if norm == Norm::Layer { 2 } else { 1 })?;
        self.operation(name, Term::Norm, Operation::Norm { kind, values, residual: false }, fusion)
    }

    /// Bias, dropout and the addition to the residual stream. In the backward pass the two ways' gradients are added.
    fn residual(&mut self, width: u64) -> Result<(), KernelError> {
        let values = self.own_tokens() * width;
        let fusion = self.run.framework.fusion;
        if !self.run.framework.dropout {
            return self.operation("residual", Term::Elementwise, Operation::Residual { values }, fusion);
        }
        if self.run.layout.sequence_parallel {
            self.host_only("random state", Pass::Forward, calls::RANDOM_STATE);
        }
        let dropout = Operation::Dropout { values, residual: true };
        self.operation("dropout and residual", Term::Elementwise, dropout, fusion)?;
        let sum = Operation::Residual { values }.kernels(crate::kernel::Direction::Backward, fusion);
        self.traffic("residual", Term::Elementwise, Pass::InputGradient, &sum)
    }
}
