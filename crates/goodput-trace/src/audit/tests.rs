use goodput_model::Architecture;
use rstest::rstest;

use super::*;
use crate::trace::CollectiveKind as Kind;

/// A mesh of the running example with other sharding.
fn plan(axes: &str, sharding: &str, batch: &str) -> Plan {
    let text = format!(
        "model: llama3.1-70b\nmesh: {{axes: [{axes}], devices_per_node: 8}}\nsharding: {{{sharding}}}\nbatch: {{{batch}}}\n"
    );
    Plan::from_yaml(&text, "mesh.yaml").unwrap()
}

fn expected(plan: &Plan, rank: u32) -> Vec<Expected> {
    plan.expected(&Architecture::known(&plan.model).unwrap(), rank).unwrap()
}

/// Operation, axis, count and bytes of each line.
fn rows(plan: &Plan, rank: u32) -> Vec<(Kind, String, u64, u64)> {
    let row = |e: Expected| (e.operation, e.axis(), e.count_per_step, e.bytes_each);
    expected(plan, rank).into_iter().map(row).collect()
}

const MODEL: &str = "{name: data, size: 16}, {name: model, size: 8, within_node: true}";
/// One activation of the running example: 2217 tokens of 8192 channels in two bytes.
const ACTIVATION: u64 = 2217 * 8192 * 2;

#[test]
fn e12_tensor_parallel_floor() {
    let plan = plan(MODEL, "tensor: {axis: model}, data: {axis: data}", "tokens: 2217");
    let expected = expected(&plan, 0);
    let sums = &expected[0];
    assert_eq!((sums.count_per_step, sums.group_size), (80 * 4, 8));
    assert_eq!(format!("{:.1} MB", sums.bytes_each as f64 / 1e6), "36.3 MB");
    // NVLink of an H100 node: 450 GB/s each way.
    assert_eq!(format!("{:.1} ms", sums.floor_seconds(450e9) * 1e3), "45.2 ms");
    let gradients = &expected[1];
    assert_eq!((gradients.axis().as_str(), gradients.group_size, gradients.nodes), ("data", 16, 16));
    assert_eq!(gradients.settled, Settled::Total);
    // An eighth of the matrices, in fp32.
    let whole = Architecture::known("llama3.1-70b").unwrap().parameters().unwrap().total;
    let share = gradients.bytes_each as f64 / 4.0 / whole as f64;
    assert!((0.12..0.16).contains(&share), "{share}");
}

#[test]
fn sequence_parallel_gathers_and_scatters() {
    let tokens = "tokens: 2217, micro_batches: 2";
    let rows_of = |tensor: &str| rows(&plan(MODEL, &format!("tensor: {{axis: model, {tensor}}}"), tokens), 0);
    let model = || "model".to_owned();
    assert_eq!(
        rows_of("sequence_parallel: true"),
        [
            (Kind::AllGather, model(), 160 * 2 * 3, ACTIVATION),
            (Kind::ReduceScatter, model(), 160 * 2 * 2, ACTIVATION)
        ]
    );
    assert_eq!(rows_of("sequence_parallel: true, gathers_again: false")[0].2, 160 * 2 * 2);
    let vocabulary = rows_of("vocabulary: true");
    assert_eq!(vocabulary[1..3], [(Kind::AllReduce, model(), 2, ACTIVATION), vocabulary[1].clone()]);
    assert_eq!(vocabulary[3], (Kind::AllReduce, model(), 6, 2217 * 4));
}

#[rstest]
#[case("none", &[(Kind::AllReduce, 1)])]
#[case("optimizer", &[(Kind::ReduceScatter, 1), (Kind::AllGather, 1)])]
#[case("gradients", &[(Kind::ReduceScatter, 4), (Kind::AllGather, 1)])]
#[case("parameters", &[(Kind::AllGather, 4), (Kind::ReduceScatter, 4), (Kind::AllGather, 640), (Kind::ReduceScatter, 320)])]
fn what_replicas_share_decides_what_they_exchange(#[case] shards: &str, #[case] counts: &[(Kind, u64)]) {
    let sharding = format!("data: {{axis: data, shards: {shards}}}");
    let plan = plan("{name: data, size: 128}", &sharding, "tokens: 8192, micro_batches: 4");
    let found: Vec<_> = rows(&plan, 0).into_iter().map(|(kind, _, count, _)| (kind, count)).collect();
    assert_eq!(found, counts);
    let parameters = Architecture::known("llama3.1-70b").unwrap().parameters().unwrap().total;
    // However it is cut, every parameter's gradient is reduced, once or in every micro-batch.
    let reduced: u64 = expected(&plan, 0)
        .iter()
        .filter(|row| row.operation != Kind::AllGather)
        .map(Expected::bytes_per_step)
        .sum();
    let times = if matches!(shards, "gradients" | "parameters") { 4 } else { 1 };
    assert_eq!(u128::from(reduced), parameters * 4 * times);
}

#[test]
fn hybrid_shards_are_summed_over_replicas() {
    let sharding = "data: {axis: shard, replicate_axis: replica, shards: parameters}";
    let plan = plan("{name: replica, size: 4}, {name: shard, size: 8}", sharding, "tokens: 4096");
    let rows = rows(&plan, 0);
    let sum = rows.iter().find(|row| row.0 == Kind::AllReduce && row.2 == 80).unwrap();
    let scatter = rows.iter().find(|row| row.0 == Kind::ReduceScatter && row.2 == 80).unwrap();
    assert_eq!((sum.1.as_str(), scatter.1.as_str()), ("replica", "shard"));
    assert_eq!(sum.3, scatter.3 / 8);
}

#[test]
fn stages_send_to_their_neighbours() {
    let of = |rank, parts| {
        let sharding = format!("pipeline: {{axis: pipe, parts_per_rank: {parts}}}");
        let plan = plan("{name: pipe, size: 4}", &sharding, "tokens: 2217, micro_batches: 8");
        rows(&plan, rank).into_iter().map(|row| (row.0, row.2)).collect::<Vec<_>>()
    };
    assert_eq!(of(0, 1), [(Kind::Receive, 8), (Kind::Send, 8)]);
    assert_eq!(of(1, 1), [(Kind::Receive, 16), (Kind::Send, 16)]);
    assert_eq!(of(3, 2), [(Kind::Receive, 24), (Kind::Send, 24)]);
}

#[test]
fn experts_exchange_tokens_and_reduce_apart() {
    let text = "
model: mixtral-8x7b
mesh: {axes: [{name: data, size: 4}, {name: expert, size: 8}], devices_per_node: 8}
sharding: {expert: {axis: expert}, data: {axis: data}}
batch: {tokens: 4096}
";
    let plan = Plan::from_yaml(text, "mesh.yaml").unwrap();
    let rows = rows(&plan, 0);
    assert_eq!(rows[0], (Kind::AllToAll, "expert".into(), 32 * 4, 4096 * 2 * 4096 * 2));
    assert_eq!((rows[1].1.as_str(), rows[2].1.as_str()), ("data+expert", "data"));
    let parameters = Architecture::known("mixtral-8x7b").unwrap().parameters().unwrap();
    assert_eq!(u128::from(rows[2].3), parameters.routed_experts / 8 * 4);
}

#[rstest]
#[case("ring", &[(Kind::Send, 80 * 3 * 3), (Kind::Receive, 80 * 3 * 3)])]
#[case("all_gather", &[(Kind::AllGather, 160), (Kind::ReduceScatter, 80)])]
#[case("ulysses", &[(Kind::AllToAll, 160)])]
fn context_is_split_three_ways(#[case] method: &str, #[case] counts: &[(Kind, u64)]) {
    let sharding = format!("context: {{axis: context, method: {method}}}");
    let plan = plan("{name: context, size: 4}", &sharding, "tokens: 131072");
    let found: Vec<_> = rows(&plan, 0).into_iter().map(|(kind, _, count, _)| (kind, count)).collect();
    assert_eq!(found, counts);
}

#[rstest]
#[case(
    "sharding: {tensor: {axis: modle}}",
    "sharding.tensor.axis: found axis modle; expected an axis of the mesh: data, model"
)]
#[case(
    "sharding: {tensor: {axis: data}, data: {axis: data}}",
    "sharding.data.axis: found axis data; expected an axis of its own, since sharding.tensor.axis uses this one"
)]
#[case(
    "sharding: {data: {axis: data, replicate_axis: model}}",
    "sharding.data.replicate_axis: found an axis; expected shards: parameters beside it (HSDP)"
)]
#[case(
    "element_bytes: {activation: 0}",
    "element_bytes: found 0, 2, 4; expected 1 to 8 bytes for each of activation, parameter, gradient"
)]
fn a_wrong_plan_says_which_field(#[case] part: &str, #[case] message: &str) {
    let text = format!(
        "model: llama3.1-70b\nmesh: {{axes: [{MODEL}], devices_per_node: 8}}\n{part}\nbatch: {{tokens: 1}}\n"
    );
    assert_eq!(Plan::from_yaml(&text, "mesh.yaml").unwrap_err().to_string(), message);
    let unknown = Plan::from_yaml(&text.replace("batch:", "btach: {}\nbatch:"), "mesh.yaml").unwrap_err();
    assert!(unknown.to_string().starts_with("mesh.yaml: ") && unknown.to_string().contains("btach"));
}

#[test]
fn stages_must_divide_the_layers() {
    let plan = plan("{name: pipe, size: 3}", "pipeline: {axis: pipe}", "tokens: 1");
    let error = plan.expected(&Architecture::known("llama3.1-70b").unwrap(), 0).unwrap_err().to_string();
    assert!(error.contains("3 stages of 1 parts for 80 layers"), "{error}");
    for other in ["t5-large", "flux.1-dev"] {
        let error = plan.expected(&Architecture::known(other).unwrap(), 0).unwrap_err().to_string();
        assert!(error.contains("decoders of text"), "{error}");
    }
}

fn seen(operation: Kind, ranks: &[u32], bytes: u64, count: u64) -> Observed {
    let group_size = u32::try_from(ranks.len()).ok();
    Observed { operation, ranks: Some(ranks.to_vec()), group_size, group: None, bytes: Some(bytes), count }
}

const NODE: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// The running example, audited against what `change` makes of the right trace.
fn audit(change: impl Fn(&mut Vec<Observed>)) -> Audit {
    let plan = plan(MODEL, "tensor: {axis: model}, data: {axis: data}", "tokens: 2217");
    let expected = expected(&plan, 0);
    let replicas: Vec<u32> = (0..16).map(|node| node * 8).collect();
    let bucket = expected[1].bytes_each / 40;
    let mut shown = vec![
        seen(Kind::AllReduce, &NODE, ACTIVATION, 320),
        seen(Kind::AllReduce, &replicas, bucket, 40),
        seen(Kind::AllReduce, &replicas, 4, 2),
    ];
    change(&mut shown);
    compare(&plan.mesh, &expected, &shown, 80)
}

#[test]
fn what_is_as_planned_is_clean() {
    let audit = audit(|_| ());
    assert!(audit.is_clean(), "{audit:?}");
    assert_eq!(audit.extra[0].looks_like, LooksLike::Bookkeeping);
}

#[test]
fn an_all_gather_in_every_layer_is_resharding() {
    let audit = audit(|shown| shown.push(seen(Kind::AllGather, &NODE, ACTIVATION, 160)));
    let extra = audit.extra.iter().find(|extra| extra.observed.operation == Kind::AllGather).unwrap();
    assert_eq!(extra.looks_like, LooksLike::Resharding { per_layer: 2 });
    assert_eq!((extra.axis.as_deref(), extra.nodes), (Some("model"), Some(1)));
    assert!(!audit.is_clean());
}

#[test]
fn missing_resized_and_moved_exchanges_are_told_apart() {
    let verdict = |change: &dyn Fn(&mut Vec<Observed>)| audit(change).lines[0].verdict.clone();
    assert_eq!(verdict(&|shown| shown[0].count = 300), Verdict::Missing(20));
    assert_eq!(verdict(&|shown| shown[0].bytes = Some(2 * ACTIVATION)), Verdict::OtherSize(2 * ACTIVATION));
    let scattered: Vec<u32> = (0..8).map(|node| node * 8).collect();
    let moved = verdict(&|shown| shown[0].ranks = Some(scattered.clone()));
    assert_eq!(moved, Verdict::OtherAxis { axis: "unknown".into(), nodes: Some(8) });
    let more = audit(|shown| shown[0].count = 330);
    assert_eq!((more.extra[0].observed.count, more.extra[0].looks_like), (10, LooksLike::Unknown));
    let halved = audit(|shown| shown[1].count = 20);
    assert!(matches!(halved.lines[1].verdict, Verdict::OtherSize(_)));
}

#[test]
fn groups_without_ranks_are_told_by_name_or_size() {
    let by_name = audit(|shown| {
        for (row, name) in shown.iter_mut().zip(["model", "data", "data"]) {
            (row.ranks, row.group_size, row.group) = (None, None, Some(name.to_owned()));
        }
    });
    assert!(by_name.is_clean(), "{by_name:?}");
    let by_size = audit(|shown| shown.iter_mut().for_each(|row| row.ranks = None));
    assert!(by_size.is_clean(), "{by_size:?}");
}

#[test]
fn an_axis_that_leaves_its_node_is_misplaced() {
    let mut plan = plan(MODEL, "tensor: {axis: model}", "tokens: 2217");
    plan.mesh.devices_per_node = 4;
    let expected = expected(&plan, 0);
    assert_eq!(expected[0].nodes, 2);
    let audit = compare(&plan.mesh, &expected, &[seen(Kind::AllReduce, &NODE, ACTIVATION, 320)], 80);
    assert_eq!(audit.misplaced, [Misplaced { axis: "model".into(), nodes: 2 }]);
    assert!(!audit.is_clean());
}
