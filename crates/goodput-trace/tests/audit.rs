//! The collective audit of simulated traces, and the example that ships.

use goodput_model::Architecture;
use goodput_simulate::step_trace::{self, Layout, Scenario};
use goodput_trace::audit::{Audit, LooksLike, Plan, Verdict, compare, observed};
use goodput_trace::read::{ReadOptions, read_traces};
use goodput_trace::steps::Steps;
use goodput_trace::trace::CollectiveKind;

/// Four layers of 4096 channels: what a named scenario exchanges, an activation of 16 MiB.
fn architecture() -> Architecture {
    let text = "
name: four-layers
text:
  width: 4096
  vocabulary: 32000
  decoder:
    - blocks: 4
      mixer: {attention: {heads: 32, kv_heads: 8, head_dim: 128}}
      feed_forward: {dense: {inner: 14336}}
";
    Architecture::from_yaml(text, "four-layers.yaml").expect("an architecture")
}

fn plan(sharding: &str) -> Plan {
    let text = format!(
        "
model: four-layers
mesh: {{axes: [{{name: data, size: 2}}, {{name: model, size: 2}}], devices_per_node: 8}}
sharding: {sharding}
batch: {{tokens: 2048}}
"
    );
    Plan::from_yaml(&text, "mesh.yaml").expect("a plan")
}

/// The audit of one step of rank 1 of a job that is sharded as `DONE`, by another plan.
fn audit(plan: &Plan) -> Audit {
    let done = plan_of_the_job().expected(&architecture(), 1).expect("expected");
    let gradients = done.iter().find(|row| row.axis() == "data").expect("gradients");
    let mut scenario = Scenario::named("tensor_parallel").expect("a scenario");
    scenario.layout = Layout { tensor: 2, ..Layout::replicas(2) };
    scenario.messages.gradient_bytes_per_layer = gradients.bytes_each / 4;

    let dir = tempfile::tempdir().expect("a directory");
    let paths = step_trace::simulate(&scenario).write(dir.path()).expect("written");
    let set = read_traces(&paths, &ReadOptions::default()).expect("read");
    let (trace, steps) = (&set.ranks[1], Steps::of(&set.ranks[1]));
    let expected = plan.expected(&architecture(), 1).expect("expected");
    compare(&plan.mesh, &expected, &observed(trace, steps.work_of(1)), 4)
}

fn plan_of_the_job() -> Plan {
    plan("{tensor: {axis: model}, data: {axis: data}}")
}

#[test]
fn a_job_that_does_what_its_plan_says_is_clean() {
    let audit = audit(&plan_of_the_job());
    assert!(audit.is_clean(), "{audit:?}");
    // Two blocks of four layers, forward and backward; gradients in two buckets of two layers.
    assert_eq!(audit.lines.iter().map(|line| line.count).collect::<Vec<_>>(), [16, 2]);
}

#[test]
fn a_job_that_ignores_its_plan_is_told() {
    let audit = audit(&plan("{tensor: {axis: model, sequence_parallel: true}, data: {axis: data}}"));
    let verdicts: Vec<_> = audit.lines.iter().map(|line| line.verdict.clone()).collect();
    assert_eq!(verdicts, [Verdict::Missing(24), Verdict::Missing(16), Verdict::AsExpected]);
    let [extra] = &audit.extra[..] else { panic!("{:?}", audit.extra) };
    assert_eq!((extra.observed.operation, extra.observed.count), (CollectiveKind::AllReduce, 16));
    assert_eq!((extra.axis.as_deref(), extra.looks_like), (Some("model"), LooksLike::Unknown));
}

#[test]
fn the_example_is_the_running_example() {
    let text = include_str!("../../../examples/mesh.yaml");
    let plan = Plan::from_yaml(text, "examples/mesh.yaml").expect("a plan");
    let expected = plan.expected(&Architecture::known(&plan.model).expect("known"), 0).expect("expected");
    let rows: Vec<_> = expected.iter().map(|row| (row.operation, row.axis())).collect();
    let [model, data] = ["model", "data"].map(str::to_owned);
    assert_eq!(
        rows,
        [
            (CollectiveKind::AllReduce, model),
            (CollectiveKind::ReduceScatter, data.clone()),
            (CollectiveKind::AllGather, data)
        ]
    );
}
