//! How fast a search goes through a space: `cargo run --release -p goodput-predict --example search_speed`. GPT-3 175B on 64 A100s,
//! predicted (and nothing else with the argument `predicted`); then, for the search alone, with simple times of this file (work over devices, some cost of each degree) and the
//! schedule really simulated.

use std::path::Path;
use std::time::Instant;

use goodput_predict::run::{ContextMethod, Layout, Recompute, Run, Schedule, Sharding};
use goodput_predict::schedule::{Part, Pipeline, Simulator, parts_of_a_stage};
use goodput_predict::search::{
    Answer, Candidate, Evaluate, Family, Goal, Needs, Predicted, Rank, Refusal, Space, search,
};

struct Simple {
    global: u64,
    /// Whether bounds are used.
    bounded: bool,
}

impl Simple {
    /// Time of all forwards of a stage for one micro-batch.
    fn forward_ns(layout: &Layout, micro: u64) -> f64 {
        let tensor = f64::from(layout.tensor);
        let split = 1.0 + 0.02 * tensor.ln() + 0.05 * f64::from(layout.context).ln();
        let small = 1.0 + 0.1 / micro as f64;
        5e9 * micro as f64 * split * small / (tensor * f64::from(layout.context) * f64::from(layout.pipeline))
    }

    fn bound(&self, layout: &Layout, micro: u64) -> Needs {
        let count = (self.global / (micro * u64::from(layout.data))) as f64;
        let parts = parts_of_a_stage(layout.schedule) as f64;
        let busy = 3.0 * Self::forward_ns(layout, micro);
        Needs { step_ns: busy * (count + f64::from(layout.pipeline - 1) / parts), bytes: 0.0 }
    }
}

impl Evaluate for Simple {
    type Worker = Simulator;

    fn worker(&self) -> Simulator {
        Simulator::default()
    }

    fn family_bound(&self, _: &mut Simulator, family: &Family) -> Needs {
        if self.bounded { self.bound(&family.layout, family.micro) } else { Needs::default() }
    }

    fn lower_bound(&self, _: &mut Simulator, candidate: &Candidate) -> Result<Needs, Refusal> {
        Ok(if self.bounded { self.bound(&candidate.layout, candidate.micro) } else { Needs::default() })
    }

    fn predict(&self, simulator: &mut Simulator, candidate: &Candidate) -> Result<Needs, Refusal> {
        let layout = &candidate.layout;
        let parts = parts_of_a_stage(layout.schedule) as f64;
        let forward_ns = Self::forward_ns(layout, candidate.micro) / parts;
        let again = match candidate.recompute {
            Recompute::Full => 1.0,
            Recompute::Layers(count) => f64::from(count) / 96.0,
            Recompute::AttentionCore => 0.05,
            _ => 0.0,
        };
        let part = Part {
            forward_ns,
            input_gradient_ns: forward_ns * (1.0 + again),
            weight_gradient_ns: forward_ns,
            send_forward_ns: 1e6,
            send_backward_ns: 1e6,
            activation: 1.0,
            ..Part::default()
        };
        let count = self.global / (candidate.micro * u64::from(layout.data));
        let pipeline = Pipeline::equal(layout.schedule, layout.pipeline as usize, count as usize, part);
        let timeline = simulator.run(&pipeline).map_err(|_| Refusal::NoTime)?;
        let bytes = timeline.stages.first().map_or(0.0, |stage| stage.peak_activation);
        Ok(Needs { step_ns: timeline.step_ns, bytes })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = "model: gpt3-175b\ncluster: DGX A100\ndevices: 64\nlayout: {dp: 64}\nbatch: {sequence: 2048, micro: 1, global: 512}\n";
    let run = Run::from_yaml("run.yaml", text, Path::new("."))?;
    let both = || vec![false, true];
    let space = Space {
        schedules: vec![
            Schedule::OneForwardOneBackward,
            Schedule::Interleaved { parts: 2 },
            Schedule::ZeroBubbleH1,
        ],
        context_methods: vec![ContextMethod::Ring, ContextMethod::AllGather, ContextMethod::Ulysses],
        sequence_parallel: both(),
        sharding: vec![
            Sharding::None,
            Sharding::Optimizer,
            Sharding::Gradients,
            Sharding::Parameters { reshard_after_forward: true },
        ],
        overlap_gradients: both(),
        overlap_parameters: both(),
        overlap_tensor: both(),
        recompute: [Recompute::None, Recompute::AttentionCore, Recompute::Cheap, Recompute::Full]
            .into_iter()
            .chain([1, 2, 4, 8, 16, 32, 64].map(Recompute::Layers))
            .collect(),
        ..Space::of(&run)
    };
    let goal = Goal { top: 10, rank: Rank::Time, pareto: false };
    let predicted = Predicted::new(&run)?;
    let began = Instant::now();
    report("predicted", began, &search(&space, &run, &predicted, goal.clone(), &|_| {}));
    if std::env::args().nth(1).is_some_and(|only| only == "predicted") {
        return Ok(());
    }
    for (what, bounded) in [("simple times, bounded", true), ("simple times, every layout simulated", false)]
    {
        let simple = Simple { global: run.batch.global, bounded };
        let began = Instant::now();
        report(what, began, &search(&space, &run, &simple, goal.clone(), &|_| {}));
    }
    Ok(())
}

fn report(what: &str, began: Instant, answer: &Answer) {
    let (seconds, progress) = (began.elapsed().as_secs_f64(), answer.progress);
    println!(
        "{what}: {} layouts, {} predicted, {} can run, {seconds:.2} s, {:.2} M layouts/s; best {:.1} ms",
        progress.candidates,
        progress.predicted,
        progress.feasible,
        progress.candidates as f64 / seconds / 1e6,
        answer.best.first().map_or(f64::NAN, |found| found.needs.step_ns / 1e6)
    );
    if let Some(found) = answer.best.first() {
        println!(
            "  {:?} micro {} {:?}",
            found.candidate.layout, found.candidate.micro, found.candidate.recompute
        );
    }
}
