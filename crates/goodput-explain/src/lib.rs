//! A predicted step against the traced one, term by term: which term holds the gap.
//!
//! | module | what it holds |
//! |---|---|
//! | [`term`] | the terms that both share; each of theirs belongs to exactly one |
//! | [`axis`] | along which axis of the run an exchange of a trace runs |
//! | [`predicted`] | the prediction in these terms, with the kernels behind them |
//! | [`measured`] | the traced steps in these terms, every nanosecond once |
//! | [`same_job`] | whether the traces are of the run |
//! | [`gap`] | the difference, term by term, and the term that holds it |
//! | [`transfer`], [`exchange`] | exposed communication: slower, or less of it hidden |
//! | [`rate`] | speed of products, and kernels counted |
//! | [`rule`], [`finding`] | the guide's troubleshooting table, where the numbers bear it out |
//!
//! ```
//! use goodput_explain::{gap::Gap, measured::Measured, predicted::Predicted, term::Term};
//! # use std::path::Path;
//! # use goodput_predict::run::Run;
//! # use goodput_trace::analysis::{AnalysisOptions, analyse};
//! # use goodput_model::device::Catalogue;
//! # let text = "model: llama3.1-8b\ncluster: DGX H100\ndevices: 8\nlayout: {dp: 8}\nbatch: {sequence: 8192, micro: 1, global: 8}\n";
//! let run = Run::from_yaml("run.yaml", text, Path::new("."))?;
//! # let traces = Vec::new();
//! let analysis = analyse(traces, AnalysisOptions::new(Catalogue::built_in()));
//! let gap = Gap::between(&Predicted::stated(&[(Term::Products, 5e6)], 0.03), &Measured::of(&run, &analysis));
//! assert_eq!(gap.lines.iter().map(|line| line.predicted_ns).sum::<f64>(), gap.predicted_ns);
//! # Ok::<(), goodput_predict::run::RunError>(())
//! ```

mod audit;
pub mod axis;
pub mod exchange;
pub mod finding;
pub mod gap;
pub mod measured;
pub mod predicted;
pub mod rate;
pub mod rule;
pub mod same_job;
pub mod term;
pub mod transfer;

use goodput_predict::run::Run;
use goodput_trace::analysis::Analysis;

use exchange::Exchange;
use finding::Finding;
use gap::Gap;
use measured::Measured;
use predicted::Predicted;
use rate::{Kernels, Products};
use same_job::{Check, Verdict};

/// A prediction and traces, compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Whether the traces are of the run.
    pub checks: Vec<Check>,
    /// The prediction.
    pub predicted: Predicted,
    /// The traced steps.
    pub measured: Measured,
    /// Their difference, term by term.
    pub gap: Gap,
    /// The same on each traced stage; empty where stages are not known or there is one.
    pub stages: Vec<StageGap>,
    /// Exchanges by axis.
    pub exchanges: Vec<Exchange>,
    /// Kernels by term.
    pub kernels: Vec<Kernels>,
    /// Speed of matrix products, where shapes are recorded.
    pub products: Option<Products>,
    /// Rules that the numbers bear out, the largest amount first.
    pub findings: Vec<Finding>,
}

/// The difference on one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageGap {
    /// The stage.
    pub stage: usize,
    /// Traced ranks on it.
    pub ranks: usize,
    /// The difference.
    pub gap: Gap,
}

impl Explanation {
    /// Compares traces with a prediction. `predict` gives it for the stages of the traced device-steps, for all devices where
    /// it is handed none.
    pub fn new(run: &Run, predict: impl Fn(&[usize]) -> Predicted, analysis: &Analysis) -> Self {
        let measured = Measured::of(run, analysis);
        let of_steps = measured.stages();
        let predicted = predict(&of_steps);
        let gap = Gap::between(&predicted, &measured);
        let kernels = rate::kernels(&predicted, &measured);
        let products = rate::products(&predicted, &measured, analysis);
        let mut checks = same_job::checks(run, analysis, &kernels, products.as_ref());
        checks.extend(audit::checks(run, analysis));
        let mut explanation = Self {
            checks,
            exchanges: exchange::exchanges(&gap, &measured),
            stages: if run.layout.pipeline > 1 { stages(&predict, &measured, &of_steps) } else { Vec::new() },
            predicted,
            measured,
            gap,
            kernels,
            products,
            findings: Vec::new(),
        };
        explanation.findings = finding::findings(run, analysis, &explanation);
        explanation
    }

    /// Why the traces are of another job, if they are.
    pub fn other_job(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.verdict == Verdict::OtherJob)
    }
}

fn stages(
    predict: &impl Fn(&[usize]) -> Predicted,
    measured: &Measured,
    of_steps: &[usize],
) -> Vec<StageGap> {
    let mut stages = of_steps.to_vec();
    stages.sort_unstable();
    stages.dedup();
    let of = |stage: usize| {
        let ranks = measured.ranks.iter().filter(|rank| rank.stage == Some(stage)).cloned().collect();
        let measured = Measured { ranks };
        let gap = Gap::between(&predict(&[stage]), &measured);
        StageGap { stage, ranks: measured.ranks.len(), gap }
    };
    stages.into_iter().map(of).collect()
}
