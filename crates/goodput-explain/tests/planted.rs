//! Traces of a known job with one difference planted: the term that holds it is named.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use goodput_explain::Explanation;
use goodput_explain::gap::Gap;
use goodput_explain::measured::Measured;
use goodput_explain::predicted::Predicted;
use goodput_explain::rule::Rule;
use goodput_explain::same_job::{Subject, Verdict};
use goodput_explain::term::Term;
use goodput_model::device::Catalogue;
use goodput_predict::run::Run;
use goodput_simulate::step_trace::{Scenario, Straggler, simulate};
use goodput_trace::analysis::{Analysis, AnalysisOptions, analyse};
use goodput_trace::read::{ReadOptions, read_traces};

/// Of a prediction that is the base job itself.
const DEVIATION: f64 = 0.03;

fn run(layout: &str, devices: u32) -> Run {
    let text = format!(
        "model: llama3.1-8b\ncluster: DGX H100\ndevices: {devices}\nlayout: {layout}\n\
         batch: {{sequence: 2048, micro: 1, global: 16}}\n"
    );
    Run::from_yaml("run.yaml", &text, Path::new(".")).unwrap()
}

fn traced(scenario: &Scenario) -> Analysis {
    let folder = tempfile::tempdir().unwrap();
    let paths = simulate(scenario).write(folder.path()).unwrap();
    let set = read_traces(&paths, &ReadOptions::default()).unwrap();
    analyse(set.ranks, AnalysisOptions::new(Catalogue::built_in()))
}

fn as_measured(run: &Run, scenario: &Scenario) -> Predicted {
    let measured = Measured::of(run, &traced(scenario));
    let terms: Vec<(Term, f64)> =
        Term::ALL.iter().map(|term| (*term, measured.mean(measured.term_ns(*term)))).collect();
    Predicted::stated(&terms, DEVIATION)
}

/// Term and rules of the second job, measured against the first.
fn explained(run: &Run, base: &Scenario, planted: &Scenario) -> (Gap, Vec<Rule>) {
    let predicted = as_measured(run, base);
    let explanation = Explanation::new(run, |_| predicted.clone(), &traced(planted));
    let rules = explanation.findings.iter().map(|finding| finding.rule).collect();
    (explanation.gap, rules)
}

fn named(name: &str) -> Scenario {
    Scenario {
        jitter_permille: 0,
        stragglers: Vec::new(),
        stalls: Vec::new(),
        ..Scenario::named(name).unwrap()
    }
}

#[test]
fn every_nanosecond_of_every_rank_is_in_one_term() {
    for (name, layout, devices) in [
        ("data_parallel", "{dp: 4}", 4),
        ("tensor_parallel", "{tp: 4}", 4),
        ("pipeline_1f1b", "{pp: 4}", 4),
        ("cut_captures", "{tp: 2, dp: 2}", 4),
        ("hybrid", "{tp: 2, dp: 4, pp: 2}", 16),
    ] {
        let run = run(layout, devices);
        let analysis = traced(&Scenario::named(name).unwrap());
        let measured = Measured::of(&run, &analysis);
        for (rank, of) in measured.ranks.iter().zip(&analysis.ranks) {
            let windows: i64 = of.judged().map(|window| window.window_ns()).sum();
            assert_eq!(rank.window_ns, windows, "{name}");
            assert_eq!(Term::ALL.iter().map(|term| rank.term_ns(*term)).sum::<i64>(), windows, "{name}");
        }
        for term in Term::ALL {
            let parts: i64 = measured.parts(*term).iter().map(|(_, ns)| ns).sum();
            assert_eq!(parts, measured.term_ns(*term), "{name} {term:?}");
        }
        let all: i64 = Term::ALL.iter().map(|term| measured.term_ns(*term)).sum();
        assert_eq!(all, analysis.amounts().values().sum::<i64>(), "{name}");
    }
}

#[test]
fn the_same_job_has_no_gap() {
    let run = run("{dp: 4}", 4);
    let base = Scenario::named("data_parallel").unwrap();
    let (gap, rules) = explained(&run, &base, &Scenario { seed: 7, ..base.clone() });
    assert_eq!((gap.holder(), rules), (None, Vec::new()));
    assert!(gap.is_within_noise());
}

#[test]
fn a_slower_network_is_named_on_each_axis_and_told_from_less_overlap() {
    for (name, layout, term) in [
        ("data_parallel", "{dp: 4, overlap_gradients: true}", Term::DataExchange),
        ("tensor_parallel", "{tp: 4}", Term::TensorExchange),
    ] {
        let base = named(name);
        let mut slow = base.clone();
        slow.network.local_bytes_per_us /= 5;
        let run = run(layout, 4);
        let (gap, rules) = explained(&run, &base, &slow);
        assert_eq!(gap.holder(), Some(term), "{name}");
        assert!(
            rules.contains(&Rule::SlowerTransfer) && !rules.contains(&Rule::LessOverlap),
            "{name} {rules:?}"
        );
    }
}

#[test]
fn fewer_buckets_are_less_overlap() {
    let mut base = named("data_parallel");
    base.messages.layers_per_bucket = 1;
    // As fast as the links of the run's cluster.
    base.network.local_bytes_per_us = 350_000;
    let mut one_bucket = base.clone();
    one_bucket.messages.layers_per_bucket = 4;
    let (gap, rules) = explained(&run("{dp: 4, overlap_gradients: true}", 4), &base, &one_bucket);
    assert_eq!(gap.holder(), Some(Term::DataExchange));
    assert_eq!(rules, [Rule::LessOverlap]);
}

#[test]
fn a_straggler_is_waited_for() {
    let base = named("data_parallel");
    let slow = Straggler { rank: 2, from_step: 0, to_step: 3, slower_permille: 250 };
    let planted = Scenario { stragglers: vec![slow], ..base.clone() };
    let (gap, rules) = explained(&run("{dp: 4}", 4), &base, &planted);
    assert_eq!(gap.holder(), Some(Term::Waiting));
    assert_eq!(rules[0], Rule::Stragglers);
}

#[test]
fn host_input_and_kernels_are_named() {
    let base = named("data_parallel");
    let plant = |change: fn(&mut Scenario)| {
        let mut planted = base.clone();
        change(&mut planted);
        let (gap, rules) = explained(&run("{dp: 4}", 4), &base, &planted);
        (gap.holder().unwrap(), rules[0])
    };
    assert_eq!(plant(|s| s.host.data_loader_ns = 4_000_000), (Term::Input, Rule::InputWait));
    assert_eq!(plant(|s| s.host.optimizer_ns = 30_000_000), (Term::Host, Rule::HostLate));
    assert_eq!(plant(|s| s.host.allocations = 12), (Term::Host, Rule::MemoryFragmented));
    assert_eq!(plant(|s| s.host.dispatch_ns = 400_000), (Term::Host, Rule::HostLate));
    assert_eq!(plant(|s| s.kernels.matmul_ns *= 2), (Term::Products, Rule::SlowProducts));
    assert_eq!(plant(|s| s.kernels.matmul_ns /= 2), (Term::Products, Rule::FastProducts));
    assert_eq!(plant(|s| s.kernels.attention_ns *= 2), (Term::Attention, Rule::OtherAttention));
    assert_eq!(plant(|s| s.kernels.elementwise_ns *= 5), (Term::MemoryBound, Rule::SlowMemoryBound));
    assert_eq!(plant(|s| s.kernels.optimizer_ns *= 3), (Term::Optimizer, Rule::SlowOptimizer));
}

#[test]
fn stages_are_told_apart_and_fewer_micro_batches_leave_a_larger_bubble() {
    let mut base = named("pipeline_1f1b");
    base.micro_batches = 8;
    let run = run("{pp: 4}", 4);
    let predicted = as_measured(&run, &base);
    // The same work in half as many micro-batches of twice the length.
    let mut planted = base.clone();
    planted.micro_batches = 4;
    planted.kernels.matmul_ns *= 2;
    planted.kernels.attention_ns *= 2;
    planted.kernels.norm_ns *= 2;
    planted.kernels.elementwise_ns *= 2;
    let explanation = Explanation::new(&run, |_| predicted.clone(), &traced(&planted));
    assert_eq!(explanation.gap.holder(), Some(Term::Bubble));
    assert!(explanation.findings.iter().any(|finding| finding.rule == Rule::LargerBubble));
    assert_eq!(explanation.stages.iter().map(|stage| stage.stage).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn one_rank_cannot_tell_transfer_from_waiting() {
    let base = named("tensor_parallel");
    let mut slow = base.clone();
    slow.network.local_bytes_per_us /= 5;
    slow.missing_ranks = vec![1, 2, 3];
    let run = run("{tp: 4}", 4);
    let (gap, rules) = explained(&run, &base, &slow);
    assert_eq!(gap.holder(), Some(Term::TensorExchange));
    assert!(rules.contains(&Rule::NotSplit), "{rules:?}");
}

#[test]
fn traces_of_another_layout_are_of_another_job() {
    let base = named("tensor_parallel");
    let analysis = traced(&base);
    let verdict = |run: &Run, subject: Subject| {
        let predicted = Predicted::stated(&[(Term::Products, 1e7)], DEVIATION);
        let explanation = Explanation::new(run, |_| predicted.clone(), &analysis);
        explanation.checks.iter().find(|check| check.subject == subject).unwrap().verdict
    };
    assert_eq!(verdict(&run("{tp: 4}", 4), Subject::Devices), Verdict::Agrees);
    assert_eq!(verdict(&run("{tp: 4}", 4), Subject::Groups), Verdict::Agrees);
    assert_eq!(verdict(&run("{tp: 4, dp: 2}", 8), Subject::Devices), Verdict::OtherJob);
    assert_eq!(
        verdict(&run("{tp: 2, pp: 2}", 4), Subject::Groups),
        Verdict::Agrees,
        "all ranks may exchange"
    );
    let hybrid = traced(&named("hybrid"));
    let predicted = Predicted::stated(&[(Term::Products, 1e7)], DEVIATION);
    let explanation = Explanation::new(&run("{tp: 8, dp: 2}", 16), |_| predicted.clone(), &hybrid);
    let groups = explanation.checks.iter().find(|check| check.subject == Subject::Groups).unwrap();
    assert_eq!(groups.verdict, Verdict::OtherJob);
}

#[test]
fn the_number_of_kernels_tells_fusion_from_slow_kernels() {
    let run = run("{dp: 4}", 4);
    let base = named("data_parallel");
    let first_rule = |elementwise: fn(i64) -> i64, kernels_ratio: f64| {
        let mut planted = base.clone();
        planted.kernels.elementwise_ns = elementwise(base.kernels.elementwise_ns);
        let analysis = traced(&planted);
        let measured = Measured::of(&run, &analysis);
        let kernels = measured.kernels(Term::MemoryBound) as f64 / measured.steps() as f64 * kernels_ratio;
        let predicted = as_measured(&run, &base).with_kernels(Term::MemoryBound, kernels);
        let explanation = Explanation::new(&run, |_| predicted.clone(), &analysis);
        assert_eq!(explanation.gap.holder(), Some(Term::MemoryBound));
        explanation.findings.first().map(|finding| finding.rule)
    };
    assert_eq!(first_rule(|ns| 5 * ns, 0.5), Some(Rule::Unfused));
    assert_eq!(first_rule(|ns| 5 * ns, 1.0), Some(Rule::SlowMemoryBound));
    assert_eq!(first_rule(|_| 1_000, 2.0), Some(Rule::FusedFurther));
}
