//! The exchanges of a run's groups, prepared once.

use goodput_model::architecture::FeedForward;

use crate::Basis;
use crate::collective::expert::{ExpertExchange, Phase, PreparedExchange};
use crate::collective::{CollectiveTime, Collectives, GroupShape, Operation, Prepared};
use crate::kernel::HostCost;
use crate::run::{ContextMethod, Run};

/// Exchanges of tensor, context and expert ranks and between stages. Ranks count tensor, context, data, stage from the
/// inside out, as Megatron's do; expert ranks lie inside the same devices, expert-tensor ranks innermost.
#[derive(Debug, Clone)]
pub(crate) struct Exchanges {
    pub tensor: Option<TensorExchanges>,
    /// Keys and values to the next context rank, or gathered, or heads for tokens.
    pub context: Option<Prepared>,
    /// The gradient of gathered keys and values.
    pub context_back: Option<Prepared>,
    /// Tokens to the ranks of their experts.
    pub expert: Option<Prepared>,
    /// The same, each token once to a node.
    pub expert_once: Option<PreparedExchange>,
    /// The same tokens to the ranks that share an expert, and their sum.
    pub expert_tensor: Option<(Prepared, Prepared)>,
    /// An activation to the next stage.
    pub stage: Option<Prepared>,
    /// The part of it that each tensor rank sent, gathered where it arrives.
    pub stage_gather: Option<Prepared>,
    /// The gradient of an embedding that the first and the last stage share.
    pub tied: Option<Prepared>,
}

#[derive(Debug, Clone)]
pub(crate) struct TensorExchanges {
    pub all_reduce: Prepared,
    pub all_gather: Prepared,
    pub reduce_scatter: Prepared,
    gap_ns: f64,
}

impl TensorExchanges {
    /// An exchange as the framework calls it; in pieces beside their products it needs no other stream's event. The user's own
    /// measurements are of such calls.
    pub fn called(&self, mut time: CollectiveTime) -> CollectiveTime {
        if time.estimate.basis != Basis::UserTable {
            time.estimate.ns += self.gap_ns;
        }
        time
    }
}

/// Multiprocessors that DeepEP's kernels get by default.
const EXPERT_SMS: u32 = 20;

/// The exchange of the largest layer of experts, where tokens go once to a node. In training both ways carry 16-bit numbers, as
/// the measured way back.
fn once_a_node(run: &Run) -> Option<ExpertExchange> {
    if !run.framework.token_once_a_node || run.layout.expert == 1 {
        return None;
    }
    let text = run.architecture.text.as_ref()?;
    let experts = text.decoder.iter().rev().find_map(|blocks| match &blocks.feed_forward {
        FeedForward::Experts(experts) => Some(experts),
        _ => None,
    })?;
    let narrow = |value: u64| u32::try_from(value).ok();
    Some(ExpertExchange {
        phase: Phase::Combine,
        hidden: narrow(text.width)?,
        topk: narrow(experts.active)?,
        experts: narrow(experts.experts)?,
        sms: EXPERT_SMS,
        number_bytes: f64::from(run.precision.activation_bytes),
    })
}

/// Collectives on the run's cluster with its release of NCCL.
pub(crate) fn collectives(run: &Run) -> Collectives<'_> {
    let newest = Collectives::new(&run.cluster);
    run.framework.nccl.map_or(newest, |release| newest.with_release(release))
}

impl Exchanges {
    pub fn new(run: &Run) -> Self {
        let all = collectives(run);
        let (layout, cluster) = (&run.layout, &run.cluster);
        let bytes = run.precision.activation_bytes;
        let group = |size: u32, stride: u32| GroupShape::strided(cluster, size, stride);
        let tensor_group = group(layout.tensor, 1);
        let tensor = (layout.tensor > 1).then(|| TensorExchanges {
            all_reduce: all.prepare(Operation::AllReduce, tensor_group, bytes),
            all_gather: all.prepare(Operation::AllGather, tensor_group, bytes),
            reduce_scatter: all.prepare(Operation::ReduceScatter, tensor_group, bytes),
            gap_ns: HostCost::of(run.framework.dispatch).exchange_gap_us * 1e3,
        });
        let context_group = group(layout.context, layout.tensor);
        let context = (layout.context > 1).then(|| match layout.context_method {
            ContextMethod::Ring => all.prepare(
                Operation::SendReceive,
                GroupShape { size: 2, ..group(2.min(layout.context), layout.tensor) },
                bytes,
            ),
            ContextMethod::AllGather => all.prepare(Operation::AllGather, context_group, bytes),
            ContextMethod::Ulysses => all.prepare(Operation::AllToAll, context_group, bytes),
        });
        let context_back = (layout.context > 1 && layout.context_method == ContextMethod::AllGather)
            .then(|| all.prepare(Operation::ReduceScatter, context_group, bytes));
        let expert = (layout.expert > 1)
            .then(|| all.prepare(Operation::AllToAll, group(layout.expert, layout.expert_tensor), bytes));
        let expert_once = once_a_node(run)
            .map(|exchange| exchange.prepare(cluster, group(layout.expert, layout.expert_tensor)));
        let shared = group(layout.expert_tensor, 1);
        let expert_tensor = (layout.expert_tensor > 1).then(|| {
            (
                all.prepare(Operation::AllGather, shared, bytes),
                all.prepare(Operation::ReduceScatter, shared, bytes),
            )
        });
        let of_a_stage = run.devices / layout.pipeline.max(1);
        let piped = layout.pipeline > 1;
        let stage = piped.then(|| all.prepare(Operation::SendReceive, group(2, of_a_stage), bytes));
        let gathers = piped && layout.tensor > 1 && !layout.sequence_parallel && run.framework.scatter_gather;
        let stage_gather = gathers.then(|| all.prepare(Operation::AllGather, tensor_group, bytes));
        let is_tied = run.architecture.text.as_ref().is_some_and(|text| text.tied);
        let far = group(2, of_a_stage.saturating_mul(layout.pipeline - 1));
        let tied =
            (piped && is_tied).then(|| all.prepare(Operation::AllReduce, far, run.precision.gradient_bytes));
        Self { tensor, context, context_back, expert, expert_once, expert_tensor, stage, stage_gather, tied }
    }

    /// The time to hand `bytes` of a tensor rank's activation to the next stage, ns.
    pub fn stage_ns(&self, run: &Run, bytes: f64) -> Option<CollectiveTime> {
        let send = self.stage.as_ref()?;
        let tensor = f64::from(run.layout.tensor);
        let Some(gather) = &self.stage_gather else { return Some(send.time(bytes)) };
        let mut time = send.time(bytes / tensor);
        time.estimate = time.estimate.and(gather.time(bytes).estimate);
        Some(time)
    }
}
