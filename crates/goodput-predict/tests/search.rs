//! The search against brute force: the space against every combination that `Run::check` lets through, and the best and the Pareto set
//! against those of all predictions.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use goodput_predict::run::{ContextMethod, Layout, Recompute, Run, Schedule, Sharding};
use goodput_predict::search::{
    Answer, Candidate, Evaluate, Family, Goal, Needs, Outlook, Predicted, Progress, Rank, Refusal, Rule,
    Shared, Space, search,
};
use rstest::rstest;

fn run(model: &str, devices: u32, batch: &str) -> Run {
    let text = format!(
        "model: {model}\ncluster: DGX A100\ndevices: {devices}\nlayout: {{dp: {devices}}}\nbatch: {batch}\n"
    );
    Run::from_yaml("run.yaml", &text, Path::new(".")).expect("a run")
}

/// Everything on, so that every list of the space is used.
fn wide(run: &Run) -> Space {
    let both = || vec![false, true];
    Space {
        tensor_across_nodes: true,
        schedules: vec![
            Schedule::OneForwardOneBackward,
            Schedule::Interleaved { parts: 2 },
            Schedule::ZeroBubbleH1,
            Schedule::DualPipe,
        ],
        context_methods: vec![ContextMethod::Ring, ContextMethod::Ulysses],
        sequence_parallel: both(),
        sharding: vec![Sharding::None, Sharding::Optimizer],
        overlap_gradients: both(),
        overlap_parameters: both(),
        overlap_tensor: both(),
        recompute: vec![Recompute::None, Recompute::Layers(2), Recompute::Full],
        ..Space::of(run)
    }
}

#[rstest]
#[case("megatron-22b", 16, "{sequence: 2048, micro: 1, global: 48}")]
#[case("mixtral-8x7b", 16, "{sequence: 1536, micro: 1, global: 16}")]
#[case("gemma2-9b", 16, "{sequence: 1024, micro: 1, global: 16}")]
fn families_are_those_that_a_check_lets_through(
    #[case] model: &str,
    #[case] devices: u32,
    #[case] batch: &str,
) {
    let base = run(model, devices, batch);
    let space = wide(&base);
    let name = |layout: &Layout, micro: u64| format!("{layout:?} {micro}");
    let ours: Vec<String> =
        space.families(&base).iter().map(|family| name(&family.layout, family.micro)).collect();
    let unique: BTreeSet<String> = ours.iter().cloned().collect();
    assert_eq!(ours.len(), unique.len(), "a family comes once");

    let mut theirs = BTreeSet::new();
    let upto = |end: u32| 1..=end;
    let has_experts = model.starts_with("mixtral");
    for (tensor, context, pipeline) in upto(devices).flat_map(move |tensor| {
        upto(devices).flat_map(move |context| upto(devices).map(move |pipeline| (tensor, context, pipeline)))
    }) {
        if !devices.is_multiple_of(tensor * context * pipeline) {
            continue;
        }
        let schedules = [Schedule::OneForwardOneBackward, Schedule::ZeroBubbleH1, Schedule::DualPipe];
        let interleaved = (2..=48).map(|parts| Schedule::Interleaved { parts });
        let layers: u64 =
            base.architecture.text.iter().flat_map(|text| &text.decoder).map(|group| group.blocks).sum();
        // Ends lack layers only where the stages do not split evenly, and are left one at least.
        let most = if layers.is_multiple_of(pipeline.into()) { 0 } else { layers as u32 / pipeline };
        let ends = upto(most + 1).flat_map(|one| upto(most + 1).map(move |other| [one - 1, other - 1]));
        for (schedule, uneven_ends) in schedules
            .into_iter()
            .chain(interleaved)
            .flat_map(|schedule| ends.clone().map(move |ends| (schedule, ends)))
        {
            let parts = if let Schedule::Interleaved { parts } = schedule { parts } else { 1 };
            let lack: u32 = uneven_ends.iter().sum();
            let each = (layers + u64::from(lack)) / u64::from(pipeline * parts);
            if lack > 0 && (lack >= pipeline * parts || u64::from(uneven_ends[0].max(uneven_ends[1])) >= each)
            {
                continue;
            }
            for (expert, expert_tensor) in upto(devices).flat_map(|e| upto(devices).map(move |t| (e, t))) {
                for context_method in [ContextMethod::Ring, ContextMethod::Ulysses] {
                    let data = devices / tensor / context / pipeline;
                    let mut run = base.clone();
                    run.layout = Layout {
                        tensor,
                        context,
                        context_method,
                        pipeline,
                        schedule,
                        uneven_ends,
                        expert,
                        expert_tensor,
                        data,
                        ..base.layout.clone()
                    };
                    if context == 1 && context_method != ContextMethod::Ring
                        || pipeline == 1 && schedule != Schedule::OneForwardOneBackward
                        || !has_experts && (expert, expert_tensor) != (1, 1)
                    {
                        continue;
                    }
                    for micro in 1..=base.batch.global {
                        run.batch.micro = micro;
                        let dual = schedule == Schedule::DualPipe
                            && run.micro_batches().is_some_and(|count| {
                                pipeline % 2 == 1 || count % 2 == 1 || count < 2 * u64::from(pipeline)
                            });
                        if !dual && run.check("run.yaml").is_ok() {
                            theirs.insert(name(&run.layout, micro));
                        }
                    }
                }
            }
        }
    }
    assert!(theirs.len() > 100, "{}", theirs.len());
    assert_eq!(unique, theirs);
}

#[test]
fn candidates_can_run_and_come_once() {
    let base = run("megatron-22b", 16, "{sequence: 2048, micro: 1, global: 16}");
    let space = wide(&base);
    let mut seen = BTreeSet::new();
    for family in space.families(&base) {
        for candidate in space.candidates(&family) {
            let mut run = base.clone();
            candidate.apply(&mut run);
            assert_eq!(run.check("run.yaml"), Ok(()), "{candidate:?}");
            assert!(seen.insert(format!("{candidate:?}")), "{candidate:?}");
        }
    }
}

#[test]
fn constraints_narrow() {
    let base = run("megatron-22b", 16, "{sequence: 2048, micro: 1, global: 16}");
    let mut space = wide(&base);
    for constraint in ["tp<=4", "tp >= 2", "pp=2", "micro<=2", "vpp=1"] {
        space.constrain(constraint).expect("a constraint");
    }
    let families = space.families(&base);
    assert!(!families.is_empty());
    for family in families {
        assert!((2..=4).contains(&family.layout.tensor) && family.layout.pipeline == 2 && family.micro <= 2);
        assert!(!matches!(family.layout.schedule, Schedule::Interleaved { .. }));
    }
    let mut space = wide(&base);
    for constraint in [
        "nodes=2",
        "memory<=70",
        "sp=on",
        "zero=1,3",
        "recompute=none,full,4",
        "schedule=zb-h1,interleaved",
        "overlap_tensor=off",
    ] {
        space.constrain(constraint).expect("a constraint");
    }
    assert_eq!((space.memory_bytes, &space.sequence_parallel), (70e9, &vec![true]));
    assert_eq!(space.recompute, [Recompute::None, Recompute::Full, Recompute::Layers(4)]);
    assert!(space.families(&base).iter().all(|family| family.devices == 16));
    space.constrain("nodes>=3").expect("a constraint");
    assert!(space.families(&base).is_empty());
    for bad in [
        "tp",
        "xp=2",
        "tp<=x",
        "tp<2",
        "memory>=3",
        "memory<=-1",
        "zero=4",
        "sp<=on",
        "recompute=0",
        "schedule=x",
    ] {
        let message = space.constrain(bad).expect_err("refused").to_string();
        assert!(message.contains(bad), "{message}");
    }
}

#[test]
fn what_does_not_divide_is_counted_by_rule() {
    let mut base = run("megatron-22b", 16, "{sequence: 2048, micro: 1, global: 16}");
    base.batch.global = 12;
    let (families, refused) = Space::of(&base).families_and_refused(&base);
    assert!(!families.is_empty());
    let counts: Vec<(Rule, u64)> = refused.iter().collect();
    // 16 replicas do not split 12 sequences; 16 tensor ranks leave a node of 8.
    assert!(counts.iter().any(|(rule, count)| *rule == Rule::Batch && *count > 0), "{counts:?}");
    assert!(counts.contains(&(Rule::AcrossNodes, 1)), "{counts:?}");
}

/// A queue that makes the larger job the later one.
fn outlook() -> Outlook {
    Outlook {
        steps: 100.0,
        queue_wait_ns: vec![(None, 1e9), (Some(16), 5e9)],
        runtime_goodput: vec![(None, 0.9)],
    }
}

/// Cheap, rugged and bounded: a smooth part that the bound knows, and a hash that it does not.
struct Fake {
    /// Share of the smooth time that the bound knows.
    tight: f64,
    shared: Shared<(u32, u32), f64>,
    predicted: Mutex<u64>,
}

impl Fake {
    fn new(tight: f64) -> Self {
        Self { tight, shared: Shared::default(), predicted: Mutex::new(0) }
    }

    fn smooth(&self, layout: &Layout, devices: u32) -> Needs {
        let (tensor, pipeline) = (f64::from(layout.tensor), f64::from(layout.pipeline));
        let exchange = self.shared.get((layout.tensor, layout.context), |&(t, c)| f64::from(t * c).ln());
        let step_ns = 1e9 / f64::from(devices) * (1.0 + 0.1 * exchange + 0.05 * pipeline);
        Needs { step_ns: step_ns.round(), bytes: (1e9 / (tensor * pipeline)).round() }
    }
}

impl Evaluate for Fake {
    type Worker = ();

    fn worker(&self) {}

    fn family_bound(&self, (): &mut (), family: &Family) -> Needs {
        let Needs { step_ns, bytes } = self.smooth(&family.layout, family.devices);
        Needs { step_ns: step_ns * self.tight, bytes: bytes * self.tight }
    }

    fn lower_bound(&self, (): &mut (), candidate: &Candidate) -> Result<Needs, Refusal> {
        let Needs { step_ns, bytes } = self.smooth(&candidate.layout, candidate.devices);
        Ok(Needs { step_ns: step_ns * self.tight, bytes: bytes * self.tight })
    }

    fn predict(&self, (): &mut (), candidate: &Candidate) -> Result<Needs, Refusal> {
        *self.predicted.lock().expect("no panic before") += 1;
        let text = format!("{candidate:?}");
        let hash = text.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let Needs { step_ns, bytes } = self.smooth(&candidate.layout, candidate.devices);
        // Coarse, so that there are ties.
        let rough = |shift: u64| 1.0 + (hash >> shift) as f64 % 8.0 / 10.0;
        if hash % 5 == 0 {
            return Err(Refusal::Memory);
        }
        Ok(Needs { step_ns: step_ns * rough(7), bytes: bytes * rough(23) })
    }
}

fn ask(run: &Run, space: &Space, fake: &Fake, goal: Goal) -> Answer {
    search(space, run, fake, goal, &|_| {})
}

#[rstest]
#[case(Rank::Time, vec![16])]
#[case(Rank::Time, vec![8, 16, 12])]
#[case(Rank::DeviceTime, vec![8, 16])]
#[case(Rank::TimeToResult(outlook()), vec![8, 16])]
fn pruning_loses_nothing(#[case] rank: Rank, #[case] devices: Vec<u32>) {
    let base = run("megatron-22b", 16, "{sequence: 2048, micro: 1, global: 48}");
    let space =
        Space { devices, recompute: vec![Recompute::None], overlap_gradients: vec![true], ..wide(&base) };
    let fake = Fake::new(0.95);
    let mut all: Vec<(f64, f64, u64, Candidate)> = Vec::new();
    let mut index = 0;
    for family in space.families(&base) {
        for candidate in space.candidates(&family) {
            if let Ok(needs) = fake.predict(&mut (), &candidate) {
                all.push((needs.step_ns, needs.bytes, index, candidate));
            }
            index += 1;
        }
    }
    let score = |entry: &(f64, f64, u64, Candidate)| (rank.score(entry.0, entry.3.devices), entry.1, entry.2);
    all.sort_by(|one, other| score(one).partial_cmp(&score(other)).expect("numbers"));
    let mut front: Vec<&(f64, f64, u64, Candidate)> = Vec::new();
    let dominates = |one: &(f64, f64, u64, Candidate), other: &(f64, f64, u64, Candidate)| {
        let (a, b) = ((one.0, one.1, one.3.devices), (other.0, other.1, other.3.devices));
        a.0 <= b.0 && a.1 <= b.1 && a.2 <= b.2 && (a != b || one.2 < other.2)
    };
    for one in &all {
        if !front.iter().any(|other| dominates(other, one)) {
            front.retain(|other| !dominates(one, other));
            front.push(one);
        }
    }
    let mut front: Vec<u64> = front.into_iter().map(|entry| entry.2).collect();
    front.sort_unstable();
    for (top, pareto) in [(1, false), (20, false), (20, true), (0, true), (1_000_000, false)] {
        let fake = Fake::new(0.95);
        let answer = ask(&base, &space, &fake, Goal { top, rank: rank.clone(), pareto });
        let best: Vec<u64> = answer.best.iter().map(|found| found.index).collect();
        let expected: Vec<u64> = all.iter().take(top).map(|entry| entry.2).collect();
        assert_eq!(best, expected, "top {top}, pareto {pareto}");
        let mut found: Vec<u64> = answer.pareto.iter().map(|found| found.index).collect();
        found.sort_unstable();
        assert_eq!(found, if pareto { front.clone() } else { Vec::new() });
        let predicted = *fake.predicted.lock().expect("no panic before");
        assert_eq!(answer.progress.predicted, predicted);
        assert_eq!(answer.progress.candidates, index);
        assert_eq!(answer.progress.done, index);
        let Progress { predicted: tried, feasible, too_large, no_time, .. } = answer.progress;
        assert_eq!((tried, no_time), (feasible + too_large, 0));
        if top == 1 {
            assert!(predicted * 2 < index, "{predicted} of {index} predicted");
        }
    }
}

#[test]
fn progress_ends_at_all() {
    let base = run("megatron-22b", 16, "{sequence: 2048, micro: 1, global: 16}");
    let space = Space::of(&base);
    let last = Mutex::new(Progress::default());
    let goal = Goal { top: 3, rank: Rank::Time, pareto: false };
    let answer = search(&space, &base, &Fake::new(0.9), goal, &|progress| {
        let mut last = last.lock().expect("no panic before");
        if progress.done > last.done {
            *last = progress;
        }
    });
    assert_eq!(last.lock().expect("no panic before").done, answer.progress.candidates);
    assert_eq!(answer.best.len(), 3);
}

/// The predictor's bounds are real: no candidate is predicted below its own, or its family's.
#[rstest]
#[case("gpt3-175b", 64, "{sequence: 2048, micro: 1, global: 64}")]
#[case("mixtral-8x7b", 32, "{sequence: 4096, micro: 1, global: 64}")]
#[case("gemma2-9b", 32, "{sequence: 4096, micro: 1, global: 64}")]
fn predictions_keep_to_their_bounds(#[case] model: &str, #[case] devices: u32, #[case] batch: &str) {
    let base = run(model, devices, batch);
    let space = Space {
        sharding: vec![Sharding::Optimizer, Sharding::Parameters { reshard_after_forward: true }],
        ..wide(&base)
    };
    let predicted = Predicted::new(&base).expect("a device and a model");
    let mut worker = predicted.worker();
    let (mut count, mut shares) = (0, 0.0);
    for family in space.families(&base).iter().step_by(11) {
        let family_bound = predicted.family_bound(&mut worker, family);
        for candidate in space.candidates(family).step_by(7) {
            let Ok(bound) = predicted.lower_bound(&mut worker, &candidate) else { continue };
            assert!(family_bound.step_ns <= bound.step_ns, "{candidate:?}");
            if let Ok(needs) = predicted.predict(&mut worker, &candidate) {
                assert!(
                    bound.step_ns <= needs.step_ns && bound.bytes <= needs.bytes,
                    "{bound:?} {needs:?} {candidate:?}"
                );
                count += 1;
                shares += bound.step_ns / needs.step_ns;
            }
        }
    }
    assert!(count > 30, "{count}");
    println!("{model}: {count} candidates that fit, bounds {:.2} of their times", shares / f64::from(count));
}
