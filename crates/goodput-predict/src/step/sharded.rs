//! Parameters that are gathered for each block and gradients that are reduced after it (ZeRO 3, FSDP).

use goodput_model::architecture::{Dense, FeedForward, Mixer, TextModel};

use super::parts::{Holding, Units};
use super::replicas::{Replicas, shards_parameters};
use crate::kernel::{Access, KernelError, KernelTables, Traffic};
use crate::layer::{Cost, PassCosts, Term};
use crate::memory::RankParameters;
use crate::run::{Optimizer, Run, Sharding};
use crate::{Basis, Estimate};

/// Multiprocessors that a gather or a reduction holds beside computation: NCCL's channels of a large ring.
const MULTIPROCESSORS: u32 = 24;
/// Of such exchanges: that of NCCL's tuner across nodes.
pub(super) const DEVIATION: f64 = 0.15;

/// Adds to each block what is left of its exchanges beside its own computation: the next block is gathered while one computes.
pub(super) fn add_exchanges(
    run: &Run,
    text: &TextModel,
    tables: &KernelTables,
    replicas: &Replicas,
    units: &mut Units,
) -> Result<(), KernelError> {
    if !shards_parameters(run) {
        return Ok(());
    }
    let again = matches!(run.layout.sharding, Sharding::Parameters { reshard_after_forward: true });
    let exposed = |exchange: f64, [products, window]: [f64; 2], overlaps: bool| {
        let ns = match overlaps && window > 0.0 {
            false => exchange,
            true => tables.exposed_beside_products_ns(MULTIPROCESSORS, exchange, window, products / window),
        };
        Estimate { ns, deviation: DEVIATION, basis: Basis::Analytic }
    };
    let layout = &run.layout;
    let add = |costs: &mut PassCosts, [gather, reduce]: [f64; 2], [after, before]: [Estimate; 2]| {
        let window = |passes: &[&Cost]| {
            passes
                .iter()
                .fold([0.0; 2], |[products, all], cost| [products + cost.terms.of(Term::Gemm), all + cost.ns])
        };
        let forward = exposed(gather, window(&[&costs.forward]), layout.overlap_parameters);
        let window = window(&[&costs.recompute, &costs.input_gradient, &costs.weight_gradient]);
        let gathered = if again { gather } else { 0.0 };
        // Both travel over the same links.
        let backward = exposed(gathered + reduce, window, layout.overlap_gradients);
        costs.forward.push(Term::DataExchange, forward);
        costs.input_gradient.push(Term::DataExchange, backward);
        costs.forward.push(Term::Elementwise, after);
        if again {
            costs.input_gradient.push(Term::Elementwise, after);
        }
        costs.input_gradient.push(Term::Elementwise, before);
    };
    for (group, costs) in text.decoder.iter().zip(&mut units.blocks) {
        let held = RankParameters::of_block(run, text, group);
        if let Some(exchange) = replicas.of_a_block(run, held) {
            let copies = copies(run, tables, held)?;
            costs.iter_mut().for_each(|costs| add(costs, exchange, copies));
        }
    }
    // Embedding and head are one unit of their own: the first gather and the last reduction have nothing beside them.
    let mut ends = RankParameters::of_embedding(run, text);
    ends.add_times(RankParameters::of_head(run, text, true), 1);
    if let Some([gather, reduce]) = replicas.of_a_block(run, ends) {
        let estimate = |ns| Estimate { ns, deviation: DEVIATION, basis: Basis::Analytic };
        units.embedding.forward.push(Term::DataExchange, estimate(gather));
        units.embedding.input_gradient.push(Term::DataExchange, estimate(reduce));
        let [after, before] = copies(run, tables, ends)?;
        units.embedding.forward.push(Term::Elementwise, after);
        units.embedding.input_gradient.push(Term::Elementwise, before);
    }
    Ok(())
}

/// The copies around gathers and reductions of every block and of the ends, and how often a micro-batch makes them over all stages.
pub(super) fn copied(
    run: &Run,
    text: &TextModel,
    tables: &KernelTables,
    replicas: &Replicas,
) -> Result<Vec<(Estimate, f64)>, KernelError> {
    let again = matches!(run.layout.sharding, Sharding::Parameters { reshard_after_forward: true });
    let mut ends = RankParameters::of_embedding(run, text);
    ends.add_times(RankParameters::of_head(run, text, true), 1);
    let blocks =
        text.decoder.iter().map(|group| (RankParameters::of_block(run, text, group), group.blocks, again));
    let mut all = Vec::new();
    for (held, count, again) in blocks.chain([(ends, 1, false)]) {
        if replicas.of_a_block(run, held).is_some() {
            let [after, before] = copies(run, tables, held)?;
            all.push((after, count as f64 * if again { 2.0 } else { 1.0 }));
            all.push((before, count as f64));
        }
    }
    Ok(all)
}

/// Copies of a unit's parameters after a gather, and of its gradients before a reduction.
///
/// FSDP 2 copies what it gathered into each parameter (`split_with_sizes_copy`) and gradients into the buffer that is reduced
/// (`chunk_cat`). FSDP 1 computes on views of one flat tensor, whose gradient autograd joins from theirs; it is cast to the
/// format of the reduction and divided before it (`_post_backward_hook`). Megatron's buffers need neither.
fn copies(run: &Run, tables: &KernelTables, held: RankParameters) -> Result<[Estimate; 2], KernelError> {
    if run.framework.fused_accumulation {
        return Ok([Estimate::NOTHING; 2]);
    }
    let values = held.total() as f64;
    let parameter_bytes = f64::from(run.precision.parameter_bytes);
    let gradient_bytes = f64::from(run.precision.gradient_bytes);
    let stream = |bytes: f64| Traffic::new(bytes * values, Access::Stream);
    let cast = if gradient_bytes == 2.0 { 0.0 } else { 2.0 + gradient_bytes };
    let (after, before) = if run.framework.flat_parameters {
        (vec![], vec![stream(4.0), stream(cast), stream(2.0 * gradient_bytes)])
    } else {
        (vec![stream(2.0 * parameter_bytes)], vec![stream(2.0 + gradient_bytes)])
    };
    Ok([tables.memory_bound(&after)?, tables.memory_bound(&before)?])
}

/// Weight matrices of a part for an optimizer that works on whole ones: rows, columns, how many.
pub(super) fn matrices(run: &Run, text: &TextModel, holding: &Holding) -> Vec<(u64, u64, u64)> {
    if run.optimizer != Optimizer::Muon {
        return Vec::new();
    }
    let tensor = u64::from(run.layout.tensor);
    let mut all = Vec::new();
    let width = text.width;
    let mut dense = |dense: &Dense, split: u64, count: u64| {
        all.push((width, dense.inner / split, count * if dense.gated { 3 } else { 2 }));
    };
    for (blocks, count) in text.decoder.iter().zip(&holding.blocks) {
        match &blocks.feed_forward {
            FeedForward::Dense(of) => dense(of, tensor, *count),
            FeedForward::Experts(experts) => {
                let one = Dense { inner: experts.inner, gated: experts.gated, bias: false };
                let held = experts.experts / u64::from(run.layout.expert);
                dense(&one, u64::from(run.layout.expert_tensor), count * held);
            }
            FeedForward::None => {}
        }
    }
    for (blocks, count) in text.decoder.iter().zip(&holding.blocks) {
        if let Mixer::Attention(attention) = &blocks.mixer {
            let queries = attention.heads / tensor * attention.head_dim;
            let keys = (attention.kv_heads / tensor).max(1) * attention.head_dim;
            all.push((width, queries, 2 * count));
            all.push((width, keys, 2 * count));
        }
    }
    all
}
