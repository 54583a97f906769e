//! The view of `goodput explain`: a predicted step and the traced one, term by term.

use std::collections::BTreeMap;

use goodput_explain::Explanation;
use goodput_explain::exchange::Exchange;
use goodput_explain::finding::Finding;
use goodput_explain::gap::{Gap, Line};
use goodput_explain::measured::MeasuredRank;
use goodput_explain::same_job::{Check, Verdict};
use goodput_explain::term::Term;
use goodput_predict::run::Run;
use goodput_predict::step::Prediction;
use serde::Serialize;

use super::predict::{PredictedRunView, PredictionView};
use super::settings::ViewSettings;

/// A predicted and a traced step, ready to be printed. Times are nanoseconds of a step, the mean over traced device-steps
/// unless they say total.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplainView {
    /// `goodput.explain/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// Title, when the user gave one.
    pub title: Option<String>,
    /// What was predicted.
    pub run: PredictedRunView,
    /// What was traced.
    pub traced: TracedStepsView,
    /// Whether nothing says that the traces are of another job.
    pub same_job: bool,
    /// What both sides say of the job.
    pub checks: Vec<SameJobView>,
    /// Predicted step.
    pub predicted_ns: f64,
    /// Its relative standard deviation.
    pub deviation: f64,
    /// Measured step.
    pub measured_ns: f64,
    /// Measured less predicted.
    pub gap_ns: f64,
    /// The same over the prediction.
    pub gap_share: f64,
    /// Whether the gap is within two standard deviations of the prediction.
    pub within_noise: bool,
    /// The term that holds most of the gap; `null` where none is beyond its noise.
    pub holder: Option<&'static str>,
    /// The same in words.
    pub holder_label: Option<&'static str>,
    /// Every term. Predicted ones sum to the predicted step, measured totals to `traced.total_ns`.
    pub terms: Vec<ExplainedTermView>,
    /// Of the terms, what is computed again.
    pub recompute: RecomputeView,
    /// Exchanges by axis, hidden or not.
    pub exchanges: Vec<ExchangeView>,
    /// Speed of matrix products, where shapes are recorded.
    pub products: Option<ProductRateView>,
    /// The same on each traced stage; empty for one stage, or where ranks are not known.
    pub stages: Vec<ExplainedStageView>,
    /// Each traced rank.
    pub ranks: Vec<ExplainedRankView>,
    /// What to check, the largest amount first.
    pub findings: Vec<ExplainFindingView>,
    /// What questions a figure.
    pub warnings: Vec<String>,
}

/// What was traced.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TracedStepsView {
    /// Traces.
    pub ranks: usize,
    /// Judged steps of all ranks.
    pub device_steps: u64,
    /// Their device-time.
    pub total_ns: i64,
    /// Whether the prediction is that of the traced ranks' stages, rather than the mean over all devices.
    pub by_stage: bool,
}

/// One comparison of run and traces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SameJobView {
    /// What is compared.
    pub subject: &'static str,
    /// In words.
    pub label: &'static str,
    /// What the run says.
    pub run: String,
    /// What the traces say.
    pub trace: String,
    /// `agrees`, `differs`, `other_job` or `unknown`.
    pub verdict: &'static str,
}

/// One term.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplainedTermView {
    /// The word for programs.
    pub term: &'static str,
    /// In words.
    pub label: &'static str,
    /// Which it is, for colours.
    #[serde(skip)]
    pub kind: Term,
    /// Predicted.
    pub predicted_ns: f64,
    /// Relative standard deviation of the prediction.
    pub deviation: f64,
    /// Measured.
    pub measured_ns: f64,
    /// Measured, over all device-steps.
    pub measured_total_ns: i64,
    /// Measured less predicted.
    pub difference_ns: f64,
    /// Of the gap; `null` without a gap worth a name.
    pub gap_share: Option<f64>,
    /// Whether the difference is beyond the prediction's noise, and above 1 % of the step.
    pub beyond_noise: bool,
    /// Kernels that compute in it, as predicted.
    pub predicted_kernels: Option<f64>,
    /// The same as measured.
    pub measured_kernels: Option<f64>,
    /// The prediction's own terms that it is the sum of.
    pub predicted_parts: Vec<PartView>,
    /// The trace's own charges that it is the sum of.
    pub measured_parts: Vec<PartView>,
}

/// A part of a term.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartView {
    /// In words.
    pub label: &'static str,
    /// Its time.
    pub time_ns: f64,
}

/// What is computed again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecomputeView {
    /// Predicted.
    pub predicted_ns: f64,
    /// Measured; `null` where the traces do not tell.
    pub measured_ns: Option<f64>,
}

/// Exchanges along one axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExchangeView {
    /// The term of its exposed part.
    pub term: &'static str,
    /// In words.
    pub label: &'static str,
    /// Exchanges a step.
    pub messages: f64,
    /// Their time without known waiting, hidden or not.
    pub transfer_ns: f64,
    /// Of all exchanges the share whose waiting for peers is not known.
    pub not_split_share: f64,
    /// Of all exchanges the share whose size and waiting are known.
    pub sized_share: f64,
    /// Exposed time beyond the prediction.
    pub exposed_difference_ns: f64,
    /// Of this, what the transfers take longer than predicted for the same sizes.
    pub by_transfer_ns: Option<f64>,
    /// Of this, what is hidden less, or exchanged more.
    pub by_overlap_ns: Option<f64>,
    /// Measured bus bandwidth, GB/s.
    pub measured_bus_gb_per_s: Option<f64>,
    /// Predicted for the same messages, GB/s.
    pub predicted_bus_gb_per_s: Option<f64>,
}

/// Speed of matrix products.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProductRateView {
    /// Measured, FLOP/s.
    pub measured_flops_per_s: f64,
    /// Predicted, FLOP/s.
    pub predicted_flops_per_s: f64,
    /// Of a device in a step, measured.
    pub measured_flops: f64,
    /// The same as predicted.
    pub predicted_flops: f64,
    /// Of the time of products the share whose shapes are recorded.
    pub coverage: f64,
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplainedStageView {
    /// Its number.
    pub stage: usize,
    /// Traced ranks on it.
    pub ranks: usize,
    /// Measured step.
    pub measured_ns: f64,
    /// The term that holds most of its gap.
    pub holder: Option<&'static str>,
    /// The same in words.
    pub holder_label: Option<&'static str>,
    /// Every term: predicted and measured.
    pub terms: BTreeMap<&'static str, PairView>,
}

/// Both times of a term.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairView {
    /// Predicted.
    pub predicted_ns: f64,
    /// Measured.
    pub measured_ns: f64,
}

/// One traced rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplainedRankView {
    /// Its number.
    pub rank: Option<u32>,
    /// Its stage.
    pub stage: Option<usize>,
    /// Judged steps.
    pub steps: u64,
    /// Their device-time. The terms sum to it.
    pub total_ns: i64,
    /// Each term over all its steps.
    pub terms: BTreeMap<&'static str, i64>,
}

/// A rule that fired.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplainFindingView {
    /// The rule.
    pub rule: &'static str,
    /// The term it shows in.
    pub term: &'static str,
    /// In words.
    pub term_label: &'static str,
    /// What is seen.
    pub symptom: &'static str,
    /// What it adds to the step.
    pub amount_ns: f64,
    /// Of the longer of the two steps.
    pub share: f64,
    /// The numbers behind it.
    pub evidence: Vec<String>,
    /// What to check first.
    pub check: &'static str,
    /// The lever to try.
    pub lever: &'static str,
    /// Who can.
    pub owner: &'static str,
}

impl ExplainView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.explain/1";

    /// The view of an explanation.
    pub fn new(
        run: &Run,
        prediction: &Prediction,
        explanation: &Explanation,
        warnings: Vec<String>,
        settings: &ViewSettings,
    ) -> Self {
        let Explanation { gap, measured, predicted, .. } = explanation;
        let holder = gap.holder();
        Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            title: settings.title.clone(),
            run: PredictionView::new(run, prediction, &[], settings).run,
            traced: TracedStepsView {
                ranks: measured.ranks.len(),
                device_steps: measured.steps(),
                total_ns: measured.window_ns(),
                by_stage: !explanation.stages.is_empty(),
            },
            same_job: explanation.other_job().next().is_none(),
            checks: explanation.checks.iter().map(check).collect(),
            predicted_ns: gap.predicted_ns,
            deviation: gap.deviation,
            measured_ns: gap.measured_ns,
            gap_ns: gap.ns(),
            gap_share: gap.share(),
            within_noise: gap.is_within_noise(),
            holder: holder.map(Term::key),
            holder_label: holder.map(Term::label),
            terms: gap.lines.iter().map(|line| term(explanation, line)).collect(),
            recompute: RecomputeView {
                predicted_ns: predicted.recompute_ns,
                measured_ns: measured.recomputed_ns(),
            },
            exchanges: explanation.exchanges.iter().map(exchange).collect(),
            products: explanation.products.map(|products| ProductRateView {
                measured_flops_per_s: products.measured_flops_per_s,
                predicted_flops_per_s: products.predicted_flops_per_s,
                measured_flops: products.measured_flops,
                predicted_flops: products.predicted_flops,
                coverage: products.coverage,
            }),
            stages: explanation.stages.iter().map(|of| stage(of.stage, of.ranks, &of.gap)).collect(),
            ranks: measured.ranks.iter().map(rank).collect(),
            findings: explanation.findings.iter().map(|found| finding(found, gap)).collect(),
            warnings,
        }
    }

    /// Whether the step is as predicted, of this job, and read in full.
    pub fn is_as_predicted(&self) -> bool {
        self.same_job && self.within_noise
    }

    /// Why the traces are of another job.
    pub fn other_job(&self) -> impl Iterator<Item = &SameJobView> {
        self.checks.iter().filter(|check| check.verdict == Verdict::OtherJob.key())
    }
}

fn check(check: &Check) -> SameJobView {
    SameJobView {
        subject: check.subject.key(),
        label: check.subject.label(),
        run: check.run.clone(),
        trace: check.trace.clone(),
        verdict: check.verdict.key(),
    }
}

fn term(explanation: &Explanation, line: &Line) -> ExplainedTermView {
    let Explanation { gap, measured, predicted, .. } = explanation;
    let counts = explanation.kernels.iter().find(|kernels| kernels.term == line.term);
    ExplainedTermView {
        term: line.term.key(),
        label: line.term.label(),
        kind: line.term,
        predicted_ns: line.predicted_ns,
        deviation: line.deviation,
        measured_ns: line.measured_ns,
        measured_total_ns: line.measured_total_ns,
        difference_ns: line.difference_ns(),
        gap_share: gap.is_noticeable().then(|| line.difference_ns() / gap.ns()),
        beyond_noise: line.is_beyond_noise,
        predicted_kernels: counts.map(|kernels| kernels.predicted),
        measured_kernels: counts.map(|kernels| kernels.measured),
        predicted_parts: predicted
            .term(line.term)
            .parts
            .iter()
            .map(|&(label, time_ns)| PartView { label, time_ns })
            .collect(),
        measured_parts: measured
            .parts(line.term)
            .into_iter()
            .map(|(charge, ns)| PartView { label: charge.label(), time_ns: measured.mean(ns) })
            .collect(),
    }
}

fn exchange(exchange: &Exchange) -> ExchangeView {
    ExchangeView {
        term: exchange.term.key(),
        label: exchange.term.label(),
        messages: exchange.messages,
        transfer_ns: exchange.transfer_ns,
        not_split_share: exchange.not_split_share,
        sized_share: exchange.sized_share,
        exposed_difference_ns: exchange.exposed_difference_ns,
        by_transfer_ns: exchange.by_transfer_ns,
        by_overlap_ns: exchange.by_overlap_ns(),
        measured_bus_gb_per_s: exchange.bus_gb_per_s.map(|[measured, _]| measured),
        predicted_bus_gb_per_s: exchange.bus_gb_per_s.map(|[_, predicted]| predicted),
    }
}

fn stage(stage: usize, ranks: usize, gap: &Gap) -> ExplainedStageView {
    let pair = |line: &Line| PairView { predicted_ns: line.predicted_ns, measured_ns: line.measured_ns };
    let holder = gap.holder();
    ExplainedStageView {
        stage,
        ranks,
        measured_ns: gap.measured_ns,
        holder: holder.map(Term::key),
        holder_label: holder.map(Term::label),
        terms: gap.lines.iter().map(|line| (line.term.key(), pair(line))).collect(),
    }
}

fn rank(rank: &MeasuredRank) -> ExplainedRankView {
    ExplainedRankView {
        rank: rank.rank,
        stage: rank.stage,
        steps: rank.steps,
        total_ns: rank.window_ns,
        terms: Term::ALL.iter().map(|term| (term.key(), rank.term_ns(*term))).collect(),
    }
}

fn finding(found: &Finding, gap: &Gap) -> ExplainFindingView {
    let rule = found.rule;
    ExplainFindingView {
        rule: rule.key(),
        term: found.term.key(),
        term_label: found.term.label(),
        symptom: rule.symptom(),
        amount_ns: found.amount_ns,
        share: found.amount_ns / gap.predicted_ns.max(gap.measured_ns).max(1.0),
        evidence: found.evidence.clone(),
        check: rule.check(),
        lever: rule.lever(),
        owner: rule.owner().key(),
    }
}
