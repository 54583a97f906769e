//! A traced step in the terms of the comparison, every nanosecond once.

use std::collections::BTreeMap;

use goodput_core::records::Symbol;
use goodput_predict::run::Run;
use goodput_trace::analysis::{Analysis, RankAnalysis};
use goodput_trace::class::Coarse;
use goodput_trace::partition::{Charge, Splits};
use goodput_trace::phase::{Phase, phases};
use goodput_trace::trace::DeviceWork;
use rustc_hash::FxHashMap;

use crate::axis::{Axis, Places};
use crate::term::Term;
use crate::transfer::{Transfers, Wire};

/// The judged steps of all traced ranks.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// One entry a trace.
    pub ranks: Vec<MeasuredRank>,
}

/// The judged steps of one rank. Nanoseconds are sums over them.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredRank {
    /// Its number, where the trace tells.
    pub rank: Option<u32>,
    /// Its stage by the run's layout.
    pub stage: Option<usize>,
    /// Judged steps.
    pub steps: u64,
    /// Their device windows. The terms sum to it.
    pub window_ns: i64,
    /// What each charge adds to a term.
    pub amounts: BTreeMap<(Term, Charge), i64>,
    /// Kernels that compute, by term.
    pub kernels: BTreeMap<Term, u64>,
    /// Of the kernels that compute, what recomputes activations; `None` where nothing tells phases apart.
    pub recomputed_ns: Option<i64>,
    /// Communication by axis, hidden or not.
    pub transfers: Transfers,
}

impl MeasuredRank {
    /// Nanoseconds of one term.
    pub fn term_ns(&self, term: Term) -> i64 {
        self.amounts.iter().filter(|((of, _), _)| *of == term).map(|(_, ns)| ns).sum()
    }

    /// The mean over steps, ns.
    pub fn step_ns(&self) -> f64 {
        self.window_ns as f64 / self.steps.max(1) as f64
    }
}

impl Measured {
    /// The judged steps of an analysis, exchanges told apart by the axes of the run.
    pub fn of(run: &Run, analysis: &Analysis) -> Self {
        let places = Places::of(run);
        let mut wire = Wire::new(run);
        let splits = |index: usize| analysis.peers.as_ref().map(|peers| &peers.splits[index]);
        let ranks = analysis.ranks.iter().enumerate();
        Self { ranks: ranks.map(|(index, rank)| of_rank(&places, &mut wire, rank, splits(index))).collect() }
    }

    /// Device-steps: judged steps of all ranks.
    pub fn steps(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.steps).sum()
    }

    /// Device-time of the judged steps of all ranks. The terms sum to it.
    pub fn window_ns(&self) -> i64 {
        self.ranks.iter().map(|rank| rank.window_ns).sum()
    }

    /// Nanoseconds of one term, of all judged steps.
    pub fn term_ns(&self, term: Term) -> i64 {
        self.ranks.iter().map(|rank| rank.term_ns(term)).sum()
    }

    /// Nanoseconds of the charges that `of` picks, of all judged steps.
    pub fn charged_ns(&self, of: impl Fn(Term, Charge) -> bool) -> i64 {
        let amounts = self.ranks.iter().flat_map(|rank| &rank.amounts);
        amounts.filter(|((term, charge), _)| of(*term, *charge)).map(|(_, ns)| ns).sum()
    }

    /// Kernels that compute in a term, of all judged steps.
    pub fn kernels(&self, term: Term) -> u64 {
        self.ranks.iter().filter_map(|rank| rank.kernels.get(&term)).sum()
    }

    /// The mean over device-steps.
    pub fn mean(&self, sum: i64) -> f64 {
        sum as f64 / self.steps().max(1) as f64
    }

    /// The mean step, ns.
    pub fn step_ns(&self) -> f64 {
        self.mean(self.window_ns())
    }

    /// What recomputes activations in a step, ns; `None` where a trace does not tell.
    pub fn recomputed_ns(&self) -> Option<f64> {
        let sums = self.ranks.iter().filter(|rank| rank.steps > 0).map(|rank| rank.recomputed_ns);
        sums.sum::<Option<i64>>().map(|ns| self.mean(ns))
    }

    /// Charges of a term with their time, the largest first; exchanges of all kinds together.
    pub fn parts(&self, term: Term) -> Vec<(Charge, i64)> {
        let mut sums: BTreeMap<&str, (Charge, i64)> = BTreeMap::new();
        for ((of, charge), ns) in self.ranks.iter().flat_map(|rank| &rank.amounts) {
            if *of == term {
                sums.entry(charge.key()).or_insert((*charge, 0)).1 += ns;
            }
        }
        let mut parts: Vec<_> = sums.into_values().filter(|(_, ns)| *ns > 0).collect();
        parts.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        parts
    }

    /// Communication of all ranks by axis.
    pub fn transfers(&self) -> Transfers {
        let mut sum = Transfers::default();
        self.ranks.iter().for_each(|rank| sum.add(&rank.transfers));
        sum
    }

    /// The stage of each judged device-step where all of them are known; empty otherwise.
    pub fn stages(&self) -> Vec<usize> {
        let judged = self.ranks.iter().filter(|rank| rank.steps > 0);
        let stages: Option<Vec<_>> = judged
            .map(|rank| rank.stage.map(|stage| std::iter::repeat_n(stage, rank.steps as usize)))
            .collect();
        stages.into_iter().flatten().flatten().collect()
    }
}

fn of_rank(
    places: &Places<'_>,
    wire: &mut Wire<'_>,
    rank: &RankAnalysis,
    splits: Option<&Splits>,
) -> MeasuredRank {
    let trace = &rank.trace;
    let phases = phases(trace);
    // One look-up a group and kind, not one an exchange: rank lists are long.
    let mut axes: FxHashMap<_, Option<Axis>> = FxHashMap::default();
    let mut axis_of = |work: &DeviceWork| {
        let kind = trace.collective_kind(work);
        let args = trace.collective_of(work);
        let key = args.map(|args| (args.group, args.group_size, args.source_rank, args.destination_rank));
        // Groups without a name are told apart by their ranks only.
        match key {
            Some((Some(_), ..)) | None => {
                *axes.entry((kind, key)).or_insert_with(|| places.axis_of(trace, kind, args))
            }
            Some(_) => places.axis_of(trace, kind, args),
        }
    };
    let mut kernel_terms: FxHashMap<(Symbol, bool, _), Term> = FxHashMap::default();
    let mut kernel_term = |index: usize| {
        let (work, in_optimizer) = (&trace.work[index], phases[index] == Phase::Optimizer);
        *kernel_terms
            .entry((work.name, in_optimizer, work.class))
            .or_insert_with(|| Term::of_kernel(work.class, trace.name(work.name), in_optimizer))
    };

    let mut of = MeasuredRank {
        rank: trace.identity.rank,
        stage: trace.identity.rank.and_then(|rank| places.stage(rank)),
        steps: 0,
        window_ns: 0,
        amounts: BTreeMap::new(),
        kernels: BTreeMap::new(),
        recomputed_ns: phases.iter().any(|phase| *phase != Phase::Unknown).then_some(0),
        transfers: Transfers::default(),
    };
    for partition in rank.judged() {
        of.steps += 1;
        of.window_ns += partition.window_ns();
        for slice in &partition.slices {
            let ns = slice.end_ns - slice.start_ns;
            let work = slice.work.map(|index| index as usize);
            let term = match (slice.charge, work) {
                (Charge::Compute(_), Some(index)) => {
                    if phases[index] == Phase::Recompute {
                        of.recomputed_ns = of.recomputed_ns.map(|sum| sum + ns);
                    }
                    kernel_term(index)
                }
                (charge, Some(index)) if charge.is_communication() => {
                    Term::of_charge(charge, axis_of(&trace.work[index]))
                }
                (charge, _) => Term::of_charge(charge, None),
            };
            *of.amounts.entry((term, slice.charge)).or_default() += ns;
        }
    }
    let judged: Vec<bool> = rank.windows.iter().map(|windows| windows.judged).collect();
    for (index, (work, member)) in trace.work.iter().zip(&rank.steps.members).enumerate() {
        if !member.step().is_some_and(|step| judged[step]) {
            continue;
        }
        match work.coarse() {
            Coarse::Compute => *of.kernels.entry(kernel_term(index)).or_default() += 1,
            Coarse::Communication => {
                let split = splits.and_then(|splits| splits.get(&(index as u32)));
                of.transfers.push(axis_of(work), trace, work, split, wire);
            }
            Coarse::Memory => {}
        }
    }
    of
}
