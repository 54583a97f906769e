//! The table of trace patterns as rules.

use goodput_core::Owner;

use super::{Symptom, Term};
use crate::class::Class;
use crate::partition::{Charge, HostCause};

/// A loss under this share of the traced device-time is not worth a finding.
pub const NOTICEABLE: f64 = 0.01;

/// Kernels outside matrix work are a finding from this share of the compute time: the chapter's check of "much of the
/// step in non-GEMM kernels" has no figure of its own.
const MUCH_NON_MATRIX: f64 = 0.30;

/// A peak of the allocator above this multiple of its median is a spike.
const SPIKE: f64 = 1.5;

/// What the traces show, summed over the ranks and steps that are judged. All amounts in device-nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// Traced device-time: `amounts` sum to it.
    pub window_ns: i64,
    /// Every nanosecond by charge.
    pub amounts: Vec<(Charge, i64)>,
    /// Rank-steps summed.
    pub steps: u64,
    /// Kernels launched in them.
    pub kernels: u64,
    /// Median duration of a kernel that computes.
    pub median_kernel_ns: i64,
    /// Intervals in which the host dispatched too late.
    pub gaps: u64,
    /// Their median length.
    pub median_gap_ns: i64,
    /// The rank that the others wait for, if one is.
    pub culprit: Option<Culprit>,
    /// Calls to the driver's allocator inside the steps.
    pub driver_allocations: u64,
    /// Peak and median of allocated bytes inside the steps.
    pub allocated_bytes: Option<(u64, u64)>,
    /// What overlap costs and hides.
    pub contention: Option<ContentionTime>,
    /// Compute time by regime of the roofline, as far as kernels could be placed on it.
    pub roofline: Option<RooflineTime>,
    /// Time of kernels that recompute activations.
    pub recomputed_ns: i64,
    /// Exposed communication that exchanges the embeddings of a recommendation model.
    pub embedding_exchanges_ns: i64,
}

/// What overlap costs and hides, over whole traces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContentionTime {
    /// Time of kernels beside communication beyond their own undisturbed runs.
    pub extra_ns: i64,
    /// Communication beside computation.
    pub hidden_ns: i64,
    /// The traces' device-time.
    pub whole_ns: i64,
}

/// The rank that starts collectives last.
#[derive(Debug, Clone, PartialEq)]
pub struct Culprit {
    /// The rank.
    pub rank: u32,
    /// Skew charged to it.
    pub skew_ns: i64,
    /// Skew charged to all ranks.
    pub all_skew_ns: i64,
    /// Collectives that it started last.
    pub times_last: u64,
    /// Collectives compared.
    pub collectives: u64,
    /// What it did while the others waited.
    pub doing: String,
}

/// Compute time by the regime that the kernel is in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RooflineTime {
    /// Near the bandwidth ceiling.
    pub bandwidth_ns: i64,
    /// Near the compute ceiling.
    pub compute_ns: i64,
    /// Far below both.
    pub below_both_ns: i64,
    /// All kernels that compute, those that could not be placed among them.
    pub computing_ns: i64,
}

impl RooflineTime {
    /// Time of the kernels that could be placed.
    pub fn placed_ns(&self) -> i64 {
        self.bandwidth_ns + self.compute_ns + self.below_both_ns
    }

    fn share(&self, ns: i64) -> String {
        format!(
            "{} of the compute time that could be placed on the roofline ({} of all)",
            percent(ratio(ns, self.placed_ns())),
            percent(ratio(self.placed_ns(), self.computing_ns))
        )
    }
}

/// A trace pattern that was found, and what speaks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The pattern.
    pub symptom: Symptom,
    /// Device-time that it holds. Findings that look at kernels that compute (fusion, roofline, contention,
    /// recomputation) overlap with each other and are no part of the charge-once sum.
    pub amount_ns: i64,
    /// Of the traced device-time.
    pub share: f64,
    /// What the traces show.
    pub evidence: Vec<String>,
}

impl Evidence {
    /// Time of the charges that `of` picks.
    pub fn sum(&self, of: impl Fn(Charge) -> bool) -> i64 {
        self.amounts.iter().filter(|(charge, _)| of(*charge)).map(|(_, ns)| ns).sum()
    }

    /// Time in kernels that compute.
    pub fn computing_ns(&self) -> i64 {
        self.sum(|charge| matches!(charge, Charge::Compute(_)))
    }

    /// Compute-only over step time, input waits left out: the upper bound on program goodput. `None` without steps.
    pub fn upper_bound(&self) -> Option<f64> {
        let inside = self.window_ns - self.sum(|charge| charge == Charge::HostLate(HostCause::DataLoader));
        (inside > 0).then(|| self.computing_ns() as f64 / inside as f64)
    }

    fn share(&self, ns: i64) -> f64 {
        if self.window_ns > 0 { ns as f64 / self.window_ns as f64 } else { 0.0 }
    }
}

/// The patterns that the evidence shows, the largest first.
pub fn findings(evidence: &Evidence) -> Vec<Finding> {
    let mut found: Vec<_> = Symptom::ALL.iter().filter_map(|&symptom| find(symptom, evidence)).collect();
    found.sort_by(|a, b| b.amount_ns.cmp(&a.amount_ns).then(a.symptom.cmp(&b.symptom)));
    found
}

fn find(symptom: Symptom, e: &Evidence) -> Option<Finding> {
    let host = |cause| e.sum(|charge| charge == Charge::HostLate(cause));
    let of_window = |ns: i64| format!("{} of the traced device-time", percent(e.share(ns)));
    let of_compute = |ns: i64| format!("{} of the compute time", percent(ratio(ns, e.computing_ns())));
    let (amount_ns, evidence) = match symptom {
        Symptom::DispatchGaps => (
            host(HostCause::Dispatch) + host(HostCause::Optimizer),
            vec![format!(
                "{} intervals, median {}, among kernels of median {}",
                e.gaps,
                microseconds(e.median_gap_ns),
                microseconds(e.median_kernel_ns)
            )],
        ),
        Symptom::HostSynchronisation => (host(HostCause::HostSync), Vec::new()),
        Symptom::QueueLatency => (
            e.sum(|charge| matches!(charge, Charge::LaunchLatency | Charge::StreamDependency)),
            vec![format!(
                "{} of it waits for another stream",
                percent(ratio(
                    e.sum(|charge| charge == Charge::StreamDependency),
                    e.sum(|charge| matches!(charge, Charge::LaunchLatency | Charge::StreamDependency))
                ))
            )],
        ),
        Symptom::ExposedCollectives => {
            (e.sum(|charge| matches!(charge, Charge::Transfer(_))), largest_collective(e))
        }
        Symptom::ExposedNotSplit => {
            (e.sum(|charge| matches!(charge, Charge::CommunicationNotSplit(_))), largest_collective(e))
        }
        Symptom::BarrierWaits => {
            let waits = e.sum(|charge| charge == Charge::PeerWait);
            (waits, e.culprit.iter().map(culprit).collect())
        }
        Symptom::PipelineBubbles => (e.sum(|charge| charge == Charge::Bubble), Vec::new()),
        Symptom::NonMatrixKernels => {
            let ns = e.sum(|charge| matches!(charge, Charge::Compute(class) if !class.is_matrix_work()));
            if ratio(ns, e.computing_ns()) < MUCH_NON_MATRIX {
                return None;
            }
            let mut evidence = vec![of_compute(ns)];
            evidence.extend(largest_class(e));
            (ns, evidence)
        }
        Symptom::BandwidthBound => {
            let time = e.roofline?;
            (time.bandwidth_ns, vec![time.share(time.bandwidth_ns)])
        }
        Symptom::BelowBothCeilings => {
            let time = e.roofline?;
            (time.below_both_ns, vec![time.share(time.below_both_ns)])
        }
        Symptom::MemorySpikes => {
            let (peak, median) = e.allocated_bytes?;
            if (peak as f64) < SPIKE * median as f64 {
                return None;
            }
            let bytes = vec![format!("allocated bytes peak at {peak}, median {median}")];
            return Some(Finding { symptom, amount_ns: 0, share: 0.0, evidence: bytes });
        }
        Symptom::AllocatorChurn => (
            host(HostCause::Allocator),
            vec![format!(
                "{} calls to the driver's allocator in {} rank-steps",
                e.driver_allocations, e.steps
            )],
        ),
        Symptom::RecompilationInLoop => (host(HostCause::Compile), Vec::new()),
        Symptom::InputWaits => (host(HostCause::DataLoader), Vec::new()),
        Symptom::ExposedCopies => (e.sum(|charge| matches!(charge, Charge::Copy | Charge::Fill)), Vec::new()),
        Symptom::OverlapContention => {
            let ContentionTime { extra_ns, hidden_ns, whole_ns } = e.contention?;
            let evidence = vec![
                format!("{} of the traces' device-time", percent(ratio(extra_ns, whole_ns))),
                format!(
                    "overlap hides {} and costs {}: net gain {}",
                    microseconds(hidden_ns),
                    microseconds(extra_ns),
                    microseconds(hidden_ns - extra_ns)
                ),
            ];
            let share = ratio(extra_ns, whole_ns);
            return (share >= NOTICEABLE).then_some(Finding {
                symptom,
                amount_ns: extra_ns,
                share,
                evidence,
            });
        }
        Symptom::RecomputedForward => (e.recomputed_ns, vec![of_compute(e.recomputed_ns)]),
        Symptom::EmbeddingExchanges => (e.embedding_exchanges_ns, Vec::new()),
        Symptom::GarbageCollection => (host(HostCause::GarbageCollection), Vec::new()),
        Symptom::ProfilerOverhead => (host(HostCause::ProfilerOverhead), Vec::new()),
    };
    let share = e.share(amount_ns);
    let evidence = std::iter::once(of_window(amount_ns)).chain(evidence).collect();
    (share >= NOTICEABLE).then_some(Finding { symptom, amount_ns, share, evidence })
}

fn culprit(culprit: &Culprit) -> String {
    let Culprit { rank, skew_ns, all_skew_ns, times_last, collectives, doing } = culprit;
    format!(
        "rank {rank} starts last in {times_last} of {collectives} collectives and holds {} of the skew{}{doing}",
        percent(ratio(*skew_ns, *all_skew_ns)),
        if doing.is_empty() { "" } else { "; meanwhile it " },
    )
}

fn largest_class(e: &Evidence) -> Option<String> {
    let of = |class: Class| (class, e.sum(|charge| charge == Charge::Compute(class)));
    let others = Class::ALL.iter().copied().filter(|class| !class.is_matrix_work()).map(of);
    let (class, ns) = others.max_by_key(|(_, ns)| *ns).filter(|(_, ns)| *ns > 0)?;
    Some(format!(
        "the largest is {}, {} of the compute time",
        class.label(),
        percent(ratio(ns, e.computing_ns()))
    ))
}

fn largest_collective(e: &Evidence) -> Vec<String> {
    let kinds = e.amounts.iter().filter_map(|(charge, ns)| match charge {
        Charge::Transfer(kind) | Charge::CommunicationNotSplit(kind) => Some((kind, *ns)),
        _ => None,
    });
    let Some((kind, ns)) = kinds.max_by_key(|(_, ns)| *ns).filter(|(_, ns)| *ns > 0) else {
        return Vec::new();
    };
    vec![format!("the largest is {}, {} of the traced device-time", kind.label(), percent(e.share(ns)))]
}

/// Whether the evidence asks for the peers' traces before anything else.
pub(super) fn needs_peers(e: &Evidence) -> bool {
    e.share(e.sum(|charge| matches!(charge, Charge::CommunicationNotSplit(_)))) >= NOTICEABLE
}

/// Device-time by term, the largest first. Kernels that compute are left out: they may be ideal time.
pub fn lost_by_term(e: &Evidence) -> Vec<(Term, Owner, i64)> {
    let mut terms: Vec<(Term, Owner, i64)> = Vec::new();
    for &(charge, ns) in &e.amounts {
        let Some(pattern) = charge.pattern() else { continue };
        let (term, owner) = (charge.term(), pattern.owner());
        match terms.iter_mut().find(|(t, o, _)| (*t, *o) == (term, owner)) {
            Some((_, _, sum)) => *sum += ns,
            None => terms.push((term, owner, ns)),
        }
    }
    terms.retain(|(_, _, ns)| *ns > 0);
    terms.sort_by_key(|(_, _, ns)| std::cmp::Reverse(*ns));
    terms
}

pub(super) fn ratio(part: i64, whole: i64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 0.0 }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

fn microseconds(ns: i64) -> String {
    if ns.abs() < 10_000_000 {
        format!("{:.1} us", ns as f64 / 1e3)
    } else {
        format!("{:.1} ms", ns as f64 / 1e6)
    }
}
