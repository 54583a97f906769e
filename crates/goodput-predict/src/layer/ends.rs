//! What only the first and the last stage do.

use goodput_model::architecture::TextModel;

use super::Term;
use super::lister::{Linear, Lister, Split};
use crate::kernel::{Access, Fusion, KernelError, Operation, Pass, Traffic};

type Listed = Result<(), KernelError>;

impl Lister<'_> {
    /// Tokens and learned positions. The vocabulary is split over tensor ranks, whose results are summed.
    pub(super) fn embedding(&mut self, text: &TextModel) -> Listed {
        let values = self.tokens() * text.width;
        let fusion = self.run.framework.fusion;
        self.operation("embedding", Term::Embedding, Operation::Embedding { values }, fusion)?;
        self.embedding_gradient(text)?;
        if let Some(tensor) = &self.exchanges.tensor {
            let bytes = self.bytes(values);
            if self.run.layout.sequence_parallel {
                let sum = tensor.called(tensor.reduce_scatter.time(bytes));
                let gather = tensor.called(tensor.all_gather.time(bytes));
                self.exchange("embedding sum", Term::TensorExchange, Pass::Forward, sum, sum.estimate.ns);
                self.exchange(
                    "embedding gather",
                    Term::TensorExchange,
                    Pass::WeightGradient,
                    gather,
                    gather.estimate.ns,
                );
            } else {
                let sum = tensor.called(tensor.all_reduce.time(bytes));
                self.exchange("embedding sum", Term::TensorExchange, Pass::Forward, sum, sum.estimate.ns);
            }
        }
        let own = self.own_tokens() * text.width;
        if text.positions > 0 {
            self.operation("positions", Term::Embedding, Operation::Residual { values: own }, fusion)?;
        }
        if text.embedding_norm {
            self.norm_of("embedding norm", text.norm, own)?;
        }
        if self.run.framework.dropout {
            let dropout = Operation::Dropout { values: own, residual: false };
            self.operation("embedding dropout", Term::Elementwise, dropout, fusion)?;
        }
        Ok(())
    }

    /// Autograd makes the gradient of the whole table: set to zero before rows are added to it, and added to the gradients of other
    /// micro-batches (or to the buffer that products write to by themselves) after.
    fn embedding_gradient(&mut self, text: &TextModel) -> Listed {
        let framework = &self.run.framework;
        let rows = framework.padded_vocabulary(text.vocabulary, self.run.layout.tensor) / self.tensor();
        let table = (rows * text.width) as f64;
        let zeros = Traffic::new(2.0 * table, Access::Stream);
        let sum = 2.0 + 2.0 * f64::from(self.run.precision.gradient_bytes);
        let sum = Traffic::new(sum * table, Access::Stream);
        let adds = framework.fused_accumulation || self.run.micro_batches() != Some(1);
        let kernels = [zeros, sum];
        let kernels = if adds { &kernels[..] } else { &kernels[..1] };
        self.traffic("embedding gradient", Term::Embedding, Pass::WeightGradient, kernels)
    }

    /// Two streams of the model's width made one.
    pub(super) fn join(&mut self, width: u64) -> Listed {
        let join = Linear::new("join", 2 * width, width / self.tensor());
        self.linears(Split::Outputs, self.tokens(), self.run.precision.products, &[join])
    }

    /// Logits in 16 bits and their loss. Ranks exchange a maximum, the target's logit and a sum for each token.
    pub(super) fn head(&mut self, text: &TextModel) -> Listed {
        let (tokens, tensor) = (self.tokens(), self.tensor());
        let framework = &self.run.framework;
        let vocabulary = framework.padded_vocabulary(text.vocabulary, self.run.layout.tensor) / tensor;
        let loss = if framework.fused_loss { Fusion::Fused } else { framework.fusion.min(Fusion::Joined) };
        if text.head.transform {
            self.linears(
                Split::Whole,
                tokens,
                self.run.precision.wide(),
                &[Linear::new("head transform", text.width, text.width)],
            )?;
        }
        let head = Linear::new("head", text.width, vocabulary).bias(text.head.bias);
        self.linears(Split::Outputs, tokens, self.run.precision.wide(), &[head])?;
        self.operation("loss", Term::Loss, Operation::CrossEntropy { values: tokens * vocabulary }, loss)?;
        if let Some(exchanges) = &self.exchanges.tensor {
            let time = exchanges.called(exchanges.all_reduce.time(4.0 * tokens as f64));
            for _ in 0..3 {
                self.exchange("loss sums", Term::TensorExchange, Pass::Forward, time, time.estimate.ns);
            }
        }
        // The mean over tokens.
        let mean = Traffic::new(4.0 * tokens as f64, Access::Rows);
        self.traffic("loss mean", Term::Loss, Pass::Forward, &[mean])
    }
}
