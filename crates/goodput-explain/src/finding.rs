//! Rules that the numbers bear out.

use goodput_predict::run::Run;
use goodput_trace::analysis::Analysis;
use goodput_trace::partition::{Charge, HostCause};

use crate::Explanation;
use crate::exchange::Exchange;
use crate::rate::Kernels;
use crate::rule::Rule;
use crate::same_job::{SAME_FLOPS, SAME_KERNELS};
use crate::term::Term;

/// A rule that fired.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Which.
    pub rule: Rule,
    /// The term that it shows in.
    pub term: Term,
    /// What it adds to the step (or takes away, below zero), ns; the mean over device-steps.
    pub amount_ns: f64,
    /// The numbers behind it.
    pub evidence: Vec<String>,
}

/// Kernels apart by more than this are fused otherwise.
const OTHER_FUSION: f64 = 0.15;
/// Expert ranks whose products differ by more than this share have unequal loads.
const UNEVEN: f64 = 0.10;

/// All rules that fire, the largest amount first.
pub(crate) fn findings(run: &Run, analysis: &Analysis, explanation: &Explanation) -> Vec<Finding> {
    let mut found = Found { run, analysis, explanation, findings: Vec::new() };
    found.host();
    found.kernels();
    found.exchanges();
    found.waits();
    found.recomputation();
    found.findings.sort_by(|one, other| other.amount_ns.abs().total_cmp(&one.amount_ns.abs()));
    found.findings
}

struct Found<'a> {
    run: &'a Run,
    analysis: &'a Analysis,
    explanation: &'a Explanation,
    findings: Vec<Finding>,
}

impl Found<'_> {
    fn push(&mut self, rule: Rule, term: Term, amount_ns: f64, evidence: Vec<String>) {
        self.findings.push(Finding { rule, term, amount_ns, evidence });
    }

    /// The difference of a term that is beyond its noise.
    fn beyond(&self, term: Term) -> Option<f64> {
        let line = self.explanation.gap.line(term);
        line.is_beyond_noise.then(|| line.difference_ns())
    }

    /// "12.3 ms against 4.5 ms predicted".
    fn against(&self, term: Term) -> String {
        let line = self.explanation.gap.line(term);
        format!("{} against {} predicted", ms(line.measured_ns), ms(line.predicted_ns))
    }

    fn kernel_counts(&self, term: Term) -> Option<Kernels> {
        self.explanation.kernels.iter().find(|kernels| kernels.term == term).copied()
    }

    /// A mean over device-steps of the charges that `of` picks, where it is noticeable.
    fn noticeable(&self, of: impl Fn(Charge) -> bool) -> Option<f64> {
        let measured = &self.explanation.measured;
        let ns = measured.mean(measured.charged_ns(|_, charge| of(charge)));
        (ns > goodput_trace::diagnosis::NOTICEABLE * self.explanation.gap.measured_ns).then_some(ns)
    }

    fn host(&mut self) {
        if let Some(ns) = self.beyond(Term::Input) {
            self.push(Rule::InputWait, Term::Input, ns, vec![format!("{} a step", ms(ns))]);
        }
        if let Some(ns) = self.beyond(Term::Unexplained) {
            self.push(Rule::UnexplainedIdle, Term::Unexplained, ns, vec![format!("{} a step", ms(ns))]);
        }
        if let Some(ns) = self.beyond(Term::Copies) {
            self.push(Rule::ExposedCopies, Term::Copies, ns, vec![format!("{} a step", ms(ns))]);
        }
        let Some(difference_ns) = self.beyond(Term::Host).filter(|ns| *ns > 0.0) else { return };
        let causes = [
            (Rule::HostSynchronises, HostCause::HostSync),
            (Rule::MemoryFragmented, HostCause::Allocator),
            (Rule::ProfilerOverhead, HostCause::ProfilerOverhead),
        ];
        let mut rest_ns = difference_ns;
        for (rule, cause) in causes {
            if let Some(ns) = self.noticeable(|charge| charge == Charge::HostLate(cause)) {
                self.push(rule, Term::Host, ns, vec![format!("{} of idle time a step", ms(ns))]);
                rest_ns -= ns;
            }
        }
        if rest_ns > 0.5 * difference_ns {
            let parts = self.explanation.measured.parts(Term::Host);
            let mut evidence = vec![self.against(Term::Host)];
            evidence.extend(parts.first().map(|(charge, _)| format!("chiefly: {}", charge.label())));
            self.push(Rule::HostLate, Term::Host, rest_ns, evidence);
        }
    }

    fn kernels(&mut self) {
        if let Some(ns) = self.beyond(Term::Products) {
            let mut evidence = vec![self.against(Term::Products)];
            evidence.extend(self.explanation.products.map(|products| {
                format!(
                    "{:.0} TFLOP/s against {:.0} predicted",
                    products.measured_flops_per_s / 1e12,
                    products.predicted_flops_per_s / 1e12
                )
            }));
            evidence.extend(self.kernel_counts(Term::Products).map(counted));
            let rule = match () {
                () if self.executes_others(ns) => Rule::OtherProducts,
                () if ns < 0.0 => Rule::FastProducts,
                () if self.run.precision.products.is_quantised() => Rule::LowPrecisionProducts,
                () => Rule::SlowProducts,
            };
            self.push(rule, Term::Products, ns, evidence);
        }
        if let Some(ns) = self.beyond(Term::Attention) {
            let evidence = vec![self.against(Term::Attention)];
            self.push(Rule::OtherAttention, Term::Attention, ns, evidence);
        }
        if let Some(ns) = self.beyond(Term::MemoryBound) {
            let counts = self.kernel_counts(Term::MemoryBound);
            let ratio = counts.map_or(1.0, |kernels| kernels.ratio());
            let rule = match ns > 0.0 {
                true if ratio > 1.0 + OTHER_FUSION => Some(Rule::Unfused),
                true => Some(Rule::SlowMemoryBound),
                false if ratio < 1.0 - OTHER_FUSION => Some(Rule::FusedFurther),
                false => None,
            };
            let mut evidence = vec![self.against(Term::MemoryBound)];
            evidence.extend(counts.map(counted));
            if let Some(rule) = rule {
                self.push(rule, Term::MemoryBound, ns, evidence);
            }
        }
        for (term, rule) in [(Term::Routing, Rule::SlowRouting), (Term::Optimizer, Rule::SlowOptimizer)] {
            if let Some(ns) = self.beyond(term).filter(|ns| *ns > 0.0) {
                let mut evidence = vec![self.against(term)];
                evidence.extend(self.kernel_counts(term).map(counted));
                self.push(rule, term, ns, evidence);
            }
        }
    }

    /// Whether products take other time since others are executed: by their FLOPs where shapes tell, else by their number.
    fn executes_others(&self, difference_ns: f64) -> bool {
        let by_flops =
            self.explanation.products.map(|of| (of.measured_flops / of.predicted_flops, SAME_FLOPS));
        let by_count = || Some((self.kernel_counts(Term::Products)?.ratio(), SAME_KERNELS));
        by_flops.or_else(by_count).is_some_and(|(ratio, same)| {
            let apart = ratio - 1.0;
            apart.abs() > same && apart.signum() == difference_ns.signum()
        })
    }

    fn exchanges(&mut self) {
        for exchange in self.explanation.exchanges.clone() {
            let Some(difference_ns) = self.beyond(exchange.term) else { continue };
            let exposed = format!("exposed: {}", self.against(exchange.term));
            if exchange.not_split_share > 0.5 && difference_ns > 0.0 {
                let share = format!(
                    "the peers of {:.0} % of the exchanges are not traced",
                    exchange.not_split_share * 100.0
                );
                self.push(Rule::NotSplit, exchange.term, difference_ns, vec![exposed, share]);
                continue;
            }
            let Some((by_transfer_ns, by_overlap_ns)) = exchange.by_transfer_ns.zip(exchange.by_overlap_ns())
            else {
                continue;
            };
            let mut evidence = vec![exposed];
            evidence.extend(bandwidth(&exchange));
            let worth = 0.25 * difference_ns.abs();
            let [longer, hidden] = match difference_ns > 0.0 {
                true => [Rule::SlowerTransfer, Rule::LessOverlap],
                false => [Rule::FasterTransfer, Rule::MoreOverlap],
            };
            for (rule, ns) in [(longer, by_transfer_ns), (hidden, by_overlap_ns)] {
                if ns.abs() >= worth {
                    self.push(rule, exchange.term, ns, evidence.clone());
                }
            }
        }
        self.stage_exposure();
    }

    /// Which stages' gradients are exposed otherwise.
    fn stage_exposure(&mut self) {
        let worth_ns = goodput_trace::diagnosis::NOTICEABLE * self.explanation.gap.measured_ns;
        let differences: Vec<(usize, f64)> = self
            .explanation
            .stages
            .iter()
            .map(|stage| (stage.stage, stage.gap.line(Term::DataExchange).difference_ns()))
            .collect();
        let Some(&(stage, most)) = differences.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())) else {
            return;
        };
        let mean = differences.iter().map(|(_, ns)| ns).sum::<f64>() / differences.len() as f64;
        if differences.len() > 1 && (most - mean).abs() > worth_ns {
            let evidence = differences
                .iter()
                .map(|(stage, ns)| format!("stage {stage}: {} beyond the prediction", ms(*ns)));
            let evidence =
                std::iter::once(format!("most on stage {stage}")).chain(evidence.take(8)).collect();
            self.push(Rule::StageExposure, Term::DataExchange, mean, evidence);
        }
    }

    fn waits(&mut self) {
        if let Some(ns) = self.beyond(Term::Waiting).filter(|ns| *ns > 0.0) {
            let evidence = self.analysis.evidence();
            let mut lines = vec![self.against(Term::Waiting)];
            lines.extend(evidence.culprit.map(|culprit| {
                let share = culprit.skew_ns as f64 / culprit.all_skew_ns.max(1) as f64;
                let doing =
                    if culprit.doing.is_empty() { String::new() } else { format!("; it {}", culprit.doing) };
                format!(
                    "rank {} holds {:.0} % of the skew, last in {} of {} collectives{doing}",
                    culprit.rank,
                    share * 100.0,
                    culprit.times_last,
                    culprit.collectives
                )
            }));
            self.push(Rule::Stragglers, Term::Waiting, ns, lines);
        }
        if let Some(ns) = self.beyond(Term::Bubble) {
            let micro_batches = self.run.micro_batches().unwrap_or_default();
            let mut evidence = vec![
                self.against(Term::Bubble),
                format!("{} stages, {micro_batches} micro-batches", self.run.layout.pipeline),
            ];
            evidence.extend(self.explanation.stages.iter().take(8).map(|stage| {
                let computing: f64 = Term::ALL
                    .iter()
                    .filter(|term| term.is_compute())
                    .map(|term| stage.gap.line(*term).measured_ns)
                    .sum();
                format!("stage {} computes for {}", stage.stage, ms(computing))
            }));
            let rule = if ns > 0.0 { Rule::LargerBubble } else { Rule::SmallerBubble };
            self.push(rule, Term::Bubble, ns, evidence);
        }
        self.uneven_experts();
    }

    fn uneven_experts(&mut self) {
        if self.run.layout.expert < 2 {
            return;
        }
        let waits = [Term::Waiting, Term::ExpertExchange].iter().filter_map(|term| self.beyond(*term));
        let waits_ns: f64 = waits.filter(|ns| *ns > 0.0).sum();
        let ranks = self.explanation.measured.ranks.iter().filter(|rank| rank.steps > 0);
        let products: Vec<f64> =
            ranks.map(|rank| rank.term_ns(Term::Products) as f64 / rank.steps as f64).collect();
        let most = products.iter().copied().fold(0.0, f64::max);
        let mean = products.iter().sum::<f64>() / products.len().max(1) as f64;
        if waits_ns > 0.0 && most > (1.0 + UNEVEN) * mean {
            let evidence =
                vec![format!("products take {} on the slowest rank, {} on the mean one", ms(most), ms(mean))];
            self.push(Rule::UnevenExperts, Term::Waiting, waits_ns, evidence);
        }
    }

    fn recomputation(&mut self) {
        let Some(measured_ns) = self.explanation.measured.recomputed_ns() else { return };
        let predicted_ns = self.explanation.predicted.recompute_ns;
        let difference_ns = measured_ns - predicted_ns;
        let noise_ns = crate::gap::DEVIATIONS * self.explanation.gap.deviation * predicted_ns;
        let worth_ns = goodput_trace::diagnosis::NOTICEABLE * self.explanation.gap.measured_ns;
        if difference_ns.abs() > noise_ns.max(worth_ns) {
            let rule = if difference_ns > 0.0 { Rule::MoreRecomputation } else { Rule::LessRecomputation };
            let evidence = vec![format!("{} against {} predicted", ms(measured_ns), ms(predicted_ns))];
            self.push(rule, Term::Products, difference_ns, evidence);
        }
    }
}

fn counted(kernels: Kernels) -> String {
    format!("{:.0} kernels against {:.0} predicted", kernels.measured, kernels.predicted)
}

fn bandwidth(exchange: &Exchange) -> Option<String> {
    let [measured, predicted] = exchange.bus_gb_per_s?;
    Some(format!(
        "{measured:.1} GB/s of bus bandwidth against {predicted:.1} predicted for the same messages"
    ))
}

fn ms(ns: f64) -> String {
    if ns.abs() >= 1e6 { format!("{:.2} ms", ns / 1e6) } else { format!("{:.0} µs", ns / 1e3) }
}
