//! Projections and attention, split over tensor and context ranks.

use goodput_model::Mask as ModelMask;
use goodput_model::architecture::{Attention as Heads, LatentAttention, Norm, QkNorm, TextModel};

use super::lister::{Linear, Lister, Split};
use super::{Part, Term, calls};
use crate::collective::CollectiveTime;
use crate::kernel::{
    Access, Attention, AttentionKernel, Direction, Fusion, HostWork, KernelError, Mask, Operation, Pass,
    Traffic,
};
use crate::run::{ContextMethod, Module};

type Listed = Result<(), KernelError>;

/// Whether positions turn queries and keys. Families that add a bias to the scores (ALiBi) or positions to the embedding do
/// not.
fn has_rotary_positions(family: &str, text: &TextModel) -> bool {
    text.positions == 0 && text.relative_buckets == 0 && !matches!(family, "bloom" | "mpt")
}

impl Lister<'_> {
    pub(super) fn attention(&mut self, text: &TextModel, heads: &Heads) -> Listed {
        let (tokens, tensor) = (self.tokens(), self.tensor());
        let format = self.run.precision.products;
        let bias = heads.bias != goodput_model::architecture::AttentionBias::None;
        let own_heads = heads.heads / tensor;
        // Fewer key and value heads than ranks are held several times.
        let own_kv = (heads.kv_heads / tensor).max(1);
        let (queries, keys) = (own_heads * heads.head_dim, own_kv * heads.head_dim);
        let queries_and_gate = if heads.output_gate { 2 * queries } else { queries };
        if self.run.framework.separate_projections {
            let projections = [("query", queries_and_gate), ("key", keys), ("value", keys)]
                .map(|(name, outputs)| Linear::new(name, text.width, outputs).bias(bias));
            self.linears(Split::Outputs, tokens, format, &projections)?;
        } else {
            let qkv = Linear::new("qkv", text.width, queries_and_gate + 2 * keys).bias(bias);
            self.linears(Split::Outputs, tokens, format, &[qkv])?;
        }
        match heads.qk_norm {
            QkNorm::None => {}
            QkNorm::Head | QkNorm::Width => {
                self.norm_of("query and key norm", Norm::Rms, tokens * (queries + keys))?;
            }
        }
        if has_rotary_positions(&self.run.architecture.family, text) {
            let rope = Operation::Rope { values: tokens * (queries + keys) };
            self.operation("rope", Term::Elementwise, rope, self.run.framework.fusion)?;
        }
        let core =
            Core { heads: own_heads, kv_heads: own_kv, head_dim: heads.head_dim, value_dim: heads.head_dim };
        self.within(Module::AttentionCore, |lister| lister.core(core, heads.mask))?;
        let out = Linear::new("out projection", queries, text.width);
        self.linears(Split::Inputs, tokens, format, &[out])
    }

    /// Compressed queries, keys and values are made on each rank's own tokens, then expanded to its heads.
    pub(super) fn latent_attention(&mut self, text: &TextModel, latent: &LatentAttention) -> Listed {
        let (tokens, own_tokens) = (self.tokens(), self.own_tokens());
        let format = self.run.precision.products;
        let heads = latent.heads / self.tensor();
        let query_width = latent.qk_head_dim();
        match latent.q_rank {
            Some(rank) => {
                let down = Linear::new("query down", text.width, rank);
                self.linears(Split::Whole, own_tokens, format, &[down])?;
                let up = Linear::new("query up", rank, heads * query_width);
                self.within(Module::LatentExpansion, |lister| {
                    lister.norm_of("query norm", Norm::Rms, own_tokens * rank)?;
                    lister.linears(Split::Outputs, tokens, format, &[up])
                })?;
            }
            None => {
                let query = Linear::new("query", text.width, heads * query_width);
                self.linears(Split::Outputs, tokens, format, &[query])?;
            }
        }
        let down = Linear::new("key and value down", text.width, latent.kv_rank + latent.rope_head_dim);
        self.linears(Split::Whole, own_tokens, format, &[down])?;
        let expanded = heads * (latent.nope_head_dim + latent.v_head_dim);
        let up = Linear::new("key and value up", latent.kv_rank, expanded);
        // Queries' rotary channels of each head, keys' of one; then both are joined with the others, a copy each.
        let rope = Operation::Rope { values: tokens * (heads + 1) * latent.rope_head_dim };
        let joined = Traffic::new(4.0 * (2 * tokens * heads * query_width) as f64, Access::Stream);
        self.within(Module::LatentExpansion, |lister| {
            lister.norm_of("key and value norm", Norm::Rms, own_tokens * latent.kv_rank)?;
            lister.linears(Split::Outputs, tokens, format, &[up])?;
            lister.operation("rope", Term::Elementwise, rope, lister.run.framework.fusion)?;
            for pass in [Pass::Forward, Pass::InputGradient] {
                lister.traffic("rotary and other channels joined", Term::Elementwise, pass, &[joined])?;
            }
            Ok(())
        })?;
        let core = Core { heads, kv_heads: heads, head_dim: query_width, value_dim: latent.v_head_dim };
        self.within(Module::AttentionCore, |lister| lister.core(core, latent.mask))?;
        let out = Linear::new("out projection", heads * latent.v_head_dim, text.width);
        self.linears(Split::Inputs, tokens, format, &[out])
    }

    fn core(&mut self, core: Core, mask: ModelMask) -> Listed {
        let run = self.run;
        let fused = run.framework.fused_attention;
        let stated = run.framework.attention.filter(|kernel| self.tables.runs_attention(*kernel));
        let kernel = match stated.unwrap_or_else(|| self.tables.default_attention()) {
            _ if !fused => AttentionKernel::Unfused,
            AttentionKernel::Unfused => AttentionKernel::Flash2,
            known => known,
        };
        let format =
            if run.precision.low_precision_attention { run.precision.products } else { run.precision.wide() };
        let attention = |sequences: u64, tokens: u64| {
            let (batch, mask) = masked(sequences, tokens, mask);
            let length = tokens * sequences / batch;
            Attention {
                batch,
                heads: core.heads,
                kv_heads: core.kv_heads,
                queries: length,
                keys: length,
                head_dim: core.head_dim,
                value_dim: core.value_dim,
                mask,
                format,
            }
        };
        let degree = u64::from(run.layout.context);
        let pieces = |whole: Attention| match run.layout.context_method {
            _ if degree == 1 => vec![whole],
            ContextMethod::Ring => whole.ring(degree),
            ContextMethod::AllGather => whole.gathered(degree, 0),
            ContextMethod::Ulysses => {
                vec![Attention {
                    heads: whole.heads / degree,
                    kv_heads: (whole.kv_heads / degree).max(1),
                    ..whole
                }]
            }
        };
        // Unfused scores are of the whole sequence, masked.
        let documents =
            if fused { run.packing.documents(run.batch.sequence) } else { vec![(run.batch.sequence, 1)] };
        let all: u64 = documents.iter().map(|(_, count)| count).sum();
        let chunks = if degree == 1 { 1 } else { 2 * degree };
        let mut window = [0.0; 2];
        let mut steps = 1;
        for (direction, pass) in
            [(Direction::Forward, Pass::Forward), (Direction::Backward, Pass::InputGradient)]
        {
            // One kernel runs all documents: each length at the rate of as many of its kind, for its share of them.
            for (index, &(length, count)) in documents.iter().enumerate() {
                let share = count as f64 / all as f64;
                let whole = attention(run.batch.micro * all, length.next_multiple_of(chunks));
                let pieces = pieces(whole);
                steps = pieces.len();
                for piece in &pieces {
                    let estimate = self.tables.attention(piece, direction, kernel)?.times(share);
                    // The model's own products, without the scores that a fused backward pass computes again.
                    let flops = share
                        * piece.flops(Direction::Forward)
                        * if direction == Direction::Forward { 1.0 } else { 2.0 };
                    let host = match (index, fused) {
                        (0, true) => FUSED[direction as usize],
                        (0, false) => UNFUSED[direction as usize],
                        _ => HostWork::NONE,
                    };
                    window[direction as usize] += estimate.ns;
                    let part = Part { host, flops, ..self.part("attention", Term::Attention, estimate) };
                    self.passes.of(pass).push(part);
                }
            }
        }
        if !fused {
            self.beside_unfused(&attention(run.batch.micro, run.batch.sequence))?;
        }
        self.context_exchange(core, steps, window);
        if degree > 1 && run.layout.context_method == ContextMethod::Ring {
            let is_causal = matches!(masked(1, run.batch.sequence, mask).1, Mask::Causal);
            self.around_ring(core, degree, is_causal)?;
        }
        Ok(())
    }

    /// Dropout of the scores, and the copies that batched products need: results to tokens, and gradients of queries, keys
    /// and values into one.
    fn beside_unfused(&mut self, whole: &Attention) -> Listed {
        if self.run.framework.dropout {
            let scores = (whole.batch * whole.heads * whole.queries).saturating_mul(whole.keys);
            let dropout = Operation::Dropout { values: scores, residual: false };
            self.host_only("random state", Pass::Forward, calls::RANDOM_STATE);
            self.operation("attention dropout", Term::Attention, dropout, Fusion::Joined)?;
        }
        let values = (self.tokens() * whole.heads * whole.value_dim) as f64;
        let copy = Traffic::new(4.0 * values, Access::Stream);
        self.traffic("attention copy", Term::Elementwise, Pass::Forward, &[copy])?;
        self.traffic("attention copy", Term::Elementwise, Pass::InputGradient, &[copy, copy, copy, copy])
    }

    /// Copies around a ring's pieces, as Transformer Engine makes them (`AttnFuncWithCPAndKVP2P`): keys and values joined in a
    /// buffer; results of the steps rescaled and summed into one that begins at zero; gradients of queries, and of keys and values,
    /// copied or added step by step. Under a causal mask a later step takes half of the queries or half of the keys and values,
    /// the one as often as the other, each copied first.
    fn around_ring(&mut self, core: Core, degree: u64, is_causal: bool) -> Listed {
        let tokens = self.tokens() as f64;
        let queries = tokens * (core.heads * core.head_dim) as f64;
        let results = tokens * (core.heads * core.value_dim) as f64;
        let pairs = tokens * (core.kv_heads * (core.head_dim + core.value_dim)) as f64;
        let stream = |bytes: f64| Traffic::new(bytes, Access::Stream);
        // Of queries or pairs, what a later step works on, and what of it is copied, on the mean.
        let (share, copied) = if is_causal { (0.75, 0.25) } else { (1.0, 0.0) };
        let mut forward = vec![stream(4.0 * pairs), stream(2.0 * results), stream(6.0 * results)];
        let mut backward = vec![stream(4.0 * pairs), stream(4.0 * queries), stream(8.0 * pairs)];
        for _ in 1..degree {
            forward.extend([stream(4.0 * copied * (queries + pairs)), stream(6.0 * share * results)]);
            let copies = copied * (queries + 2.0 * results + pairs);
            backward.extend([
                stream(4.0 * copies),
                stream(6.0 * share * queries),
                stream(10.0 * share * pairs),
            ]);
        }
        self.traffic("ring copies", Term::Elementwise, Pass::Forward, &forward)?;
        self.traffic("ring copies", Term::Elementwise, Pass::InputGradient, &backward)
    }

    fn context_exchange(&mut self, core: Core, steps: usize, window: [f64; 2]) {
        let Some(prepared) = &self.exchanges.context else { return };
        let tokens = self.tokens();
        let keys_and_values = tokens * core.kv_heads * (core.head_dim + core.value_dim);
        let degree = u64::from(self.run.layout.context);
        let term = Term::ContextExchange;
        match self.run.layout.context_method {
            ContextMethod::Ring => {
                // One step's exchange beside one step's attention; the last step needs none. Backward also carries
                // the gradients of keys and values.
                let hops = (degree - 1) as f64;
                for (pass, times, window) in
                    [(Pass::Forward, 1, window[0]), (Pass::InputGradient, 2, window[1])]
                {
                    let one = prepared.time(self.bytes(times * keys_and_values));
                    let exposed = hops * self.beside(one, window / steps as f64);
                    self.exchange("context ring", term, pass, one, exposed);
                }
            }
            ContextMethod::AllGather => {
                let gathered = self.bytes(degree * keys_and_values);
                let gather = prepared.time(gathered);
                self.exchange("context gather", term, Pass::Forward, gather, gather.estimate.ns);
                self.exchange("context gather again", term, Pass::InputGradient, gather, gather.estimate.ns);
                if let Some(sum) = self.exchanges.context_back.as_ref().map(|sum| sum.time(gathered)) {
                    self.exchange("context gradient sum", term, Pass::InputGradient, sum, sum.estimate.ns);
                }
            }
            ContextMethod::Ulysses => {
                let queries = tokens * core.heads * core.head_dim;
                let results = tokens * core.heads * core.value_dim;
                for pass in [Pass::Forward, Pass::InputGradient] {
                    for (name, values) in
                        [("heads for tokens", queries + keys_and_values), ("tokens for heads", results)]
                    {
                        let time: CollectiveTime = prepared.time(self.bytes(values));
                        self.exchange(name, term, pass, time, time.estimate.ns);
                    }
                }
            }
        }
    }
}

/// Forward and backward: one call; the backward pass prepares its sums first.
const FUSED: [HostWork; 2] = [
    HostWork { calls: calls::FUSED_ATTENTION[0], ..HostWork::PRODUCT },
    HostWork { launches: 1.0, calls: calls::FUSED_ATTENTION[1], ..HostWork::PRODUCT },
];
/// Two products and a softmax; four products and a softmax.
const UNFUSED: [HostWork; 2] = [
    HostWork { launches: 1.0, products: 2.0, exchanges: 0.0, calls: calls::UNFUSED_ATTENTION[0] },
    HostWork { launches: 1.0, products: 4.0, exchanges: 0.0, calls: calls::UNFUSED_ATTENTION[1] },
];

/// Heads of one rank.
#[derive(Debug, Clone, Copy)]
struct Core {
    heads: u64,
    kv_heads: u64,
    head_dim: u64,
    value_dim: u64,
}

/// Sequences and mask as a kernel sees them: chunks are sequences of their own.
fn masked(micro: u64, sequence: u64, mask: ModelMask) -> (u64, Mask) {
    match mask {
        ModelMask::Causal | ModelMask::Prefix => (micro, Mask::Causal),
        ModelMask::SlidingWindow(width) if width < sequence => (micro, Mask::Window(width)),
        ModelMask::Chunked(chunk) if chunk > 0 && chunk < sequence && sequence.is_multiple_of(chunk) => {
            (micro * (sequence / chunk), Mask::Causal)
        }
        ModelMask::SlidingWindow(_) | ModelMask::Chunked(_) => (micro, Mask::Causal),
        ModelMask::Bidirectional => (micro, Mask::Full),
    }
}
