//! The exchanges that a step of the run should contain, against those of one traced step.

use goodput_predict::run::{ContextMethod, Recompute, Run, Sharding};
use goodput_trace::analysis::Analysis;
use goodput_trace::audit::{
    Axis, Batch, Context, ContextMethod as Method, Data, ElementBytes, Expert, Line, Mesh, Pipeline, Plan,
    Settled, Shards, Tensor, Verdict as Audited, compare, observed,
};

use crate::same_job::{Check, OTHER_JOB_FACTOR, Subject, Verdict};

/// One check an exchange; one that says why where the run's exchanges cannot be listed.
pub(crate) fn checks(run: &Run, analysis: &Analysis) -> Vec<Check> {
    if run.devices == 1 {
        return Vec::new();
    }
    let unknown = |why: String| {
        let (subject, verdict) = (Subject::Exchange, Verdict::Unknown);
        vec![Check {
            subject,
            run: "number and size".to_owned(),
            trace: format!("not compared: {why}"),
            verdict,
        }]
    };
    let plan = match plan(run) {
        Ok(plan) => plan,
        Err(why) => return unknown(why.to_owned()),
    };
    let with_steps = analysis.ranks.iter().filter(|rank| rank.judged().next().is_some());
    let Some(audited) = with_steps
        .filter(|rank| rank.trace.identity.rank.is_some_and(|rank| rank < run.devices))
        .min_by_key(|rank| rank.trace.identity.rank)
    else {
        return unknown("no trace with a step tells its rank".to_owned());
    };
    let rank = audited.trace.identity.rank.unwrap_or_default();
    let judged: Vec<usize> =
        (0..audited.windows.len()).filter(|step| audited.windows[*step].judged).collect();
    let expected = plan
        .expected(&run.architecture, rank)
        .and_then(|expected| Ok((expected, plan.layers(&run.architecture, rank)?)));
    let (expected, layers) = match expected {
        Ok(known) => known,
        Err(why) => return unknown(why.to_string()),
    };
    let seen = observed(&audited.trace, audited.steps.work_of(judged[judged.len() / 2]));
    if seen.iter().all(|exchange| exchange.bytes.is_none() && exchange.group_size.is_none())
        && !seen.is_empty()
    {
        return unknown("the traces tell neither sizes nor groups".to_owned());
    }
    compare(&plan.mesh, &expected, &seen, layers).lines.iter().map(check).collect()
}

fn check(line: &Line) -> Check {
    let expected = &line.expected;
    let size = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let (trace, verdict) = match &line.verdict {
        Audited::AsExpected => (format!("{} of them", line.count), Verdict::Agrees),
        Audited::Missing(count) => (format!("{} of them, {count} missing", line.count), Verdict::Differs),
        Audited::OtherSize(bytes) => {
            // Of exchanges settled by their total it is the bytes of all.
            let (found, wanted) = match expected.settled {
                Settled::Total => (format!("{} in all", size(*bytes)), expected.bytes_per_step()),
                _ => (format!("{} each", size(*bytes)), expected.bytes_each),
            };
            let ratio = *bytes as f64 / wanted.max(1) as f64;
            let is_other = ratio.max(1.0 / ratio) > OTHER_JOB_FACTOR;
            (
                format!("{} of another size, {found}", line.count),
                if is_other { Verdict::OtherJob } else { Verdict::Differs },
            )
        }
        Audited::OtherAxis { axis, .. } => (format!("{} along {axis}", line.count), Verdict::Differs),
    };
    let run = match expected.settled {
        Settled::Total => format!(
            "{} over {}, {} in all",
            expected.operation.label(),
            expected.axis(),
            size(expected.bytes_per_step())
        ),
        _ => format!(
            "{} {} over {} of {}",
            expected.count_per_step,
            expected.operation.label(),
            expected.axis(),
            size(expected.bytes_each)
        ),
    };
    Check { subject: Subject::Exchange, run, trace, verdict }
}

/// The run as the audit knows jobs.
fn plan(run: &Run) -> Result<Plan, &'static str> {
    let layout = &run.layout;
    let (experts, text) = (layout.expert > 1, run.architecture.text.as_ref());
    if experts && (layout.expert_tensor != layout.tensor || !layout.data.is_multiple_of(layout.expert)) {
        return Err("experts are spread across the axes of the other layers");
    }
    if matches!(run.recompute, Recompute::Layers(_)) {
        return Err("some layers are computed again and others not");
    }
    if layout.uneven_ends != [0, 0] {
        return Err("stages hold different numbers of layers");
    }
    let replicas = if experts { layout.data / layout.expert } else { layout.data };
    let shards = match layout.sharding {
        Sharding::None => Shards::None,
        Sharding::Optimizer => Shards::Optimizer,
        Sharding::Gradients => Shards::Gradients,
        Sharding::Parameters { .. } => Shards::Parameters,
    };
    let shard = layout.shard_size.filter(|shard| *shard < layout.data && shards == Shards::Parameters);
    if shard.is_some() && experts {
        return Err("experts with replicas of shards");
    }
    // Outermost first.
    let sizes = [
        ("pipeline", layout.pipeline),
        ("replica", shard.map_or(1, |shard| layout.data / shard)),
        ("data", shard.unwrap_or(replicas)),
        ("expert", if experts { layout.expert } else { 1 }),
        ("context", layout.context),
        ("tensor", layout.tensor),
    ];
    let axes: Vec<Axis> =
        sizes.iter().filter(|(_, size)| *size > 1).map(|(name, size)| Axis::new(name, *size)).collect();
    let has = |name: &str| axes.iter().any(|axis| axis.name == name);
    let name = |name: &str| name.to_owned();
    let precision = &run.precision;
    let sharding = goodput_trace::audit::Sharding {
        tensor: has("tensor").then(|| Tensor {
            axis: name("tensor"),
            sequence_parallel: layout.sequence_parallel,
            gathers_again: true,
            vocabulary: true,
        }),
        data: has("data").then(|| Data {
            axis: name("data"),
            shards,
            replicate_axis: shard.map(|_| name("replica")),
            reshards_after_forward: matches!(
                layout.sharding,
                Sharding::Parameters { reshard_after_forward: true }
            ),
        }),
        pipeline: has("pipeline").then(|| Pipeline { axis: name("pipeline"), parts_per_rank: run.parts() }),
        expert: has("expert").then(|| Expert { axis: name("expert") }),
        context: has("context").then(|| Context {
            axis: name("context"),
            method: match layout.context_method {
                ContextMethod::Ring => Method::Ring,
                ContextMethod::AllGather => Method::AllGather,
                ContextMethod::Ulysses => Method::Ulysses,
            },
        }),
    };
    let micro_batches = run.micro_batches().and_then(|count| u32::try_from(count).ok());
    let plan = Plan {
        model: text.map_or_else(String::new, |_| run.architecture.name.clone()),
        mesh: Mesh { axes, devices_per_node: run.cluster.domain_devices(), nodes: None },
        sharding,
        batch: Batch {
            tokens: run.batch.micro * run.batch.sequence,
            micro_batches: micro_batches.ok_or("the batch does not divide into micro-batches")?,
            recomputes: run.recompute == Recompute::Full,
        },
        element_bytes: ElementBytes {
            activation: precision.activation_bytes,
            parameter: precision.parameter_bytes,
            gradient: precision.gradient_bytes,
        },
    };
    Ok(plan)
}
