//! What the diagnosis asks of an analysis.

use std::collections::BTreeMap;

use super::{Analysis, RankAnalysis};
use crate::class::Coarse;
use crate::diagnosis::{Culprit, Evidence};
use crate::partition::{Charge, Slice};
use crate::peers::blame;
use crate::trace::HostKind;

impl Analysis {
    /// The judged steps of all ranks, as the diagnosis asks for them.
    pub fn evidence(&self) -> Evidence {
        let amounts: Vec<_> = self.amounts().into_iter().filter(|(_, ns)| *ns > 0).collect();
        let mut kernels = Vec::new();
        let mut gaps = Vec::new();
        let mut driver_allocations = 0;
        let mut allocated = Vec::new();
        for rank in &self.ranks {
            kernels.extend(rank.judged_kernels_ns());
            for partition in rank.judged() {
                gaps.extend(
                    partition.slices.iter().filter(|s| s.charge.is_idle()).map(|s| s.end_ns - s.start_ns),
                );
            }
            for (from_ns, to_ns) in rank.judged_host_windows() {
                let inside = |at_ns: i64| (from_ns..to_ns).contains(&at_ns);
                driver_allocations += rank
                    .trace
                    .ranges
                    .iter()
                    .filter(|r| r.kind == HostKind::Allocator && inside(r.start_ns))
                    .count();
                allocated.extend(
                    rank.trace.memory.iter().filter(|m| inside(m.at_ns)).filter_map(|m| m.allocated_bytes),
                );
            }
        }
        Evidence {
            window_ns: amounts.iter().map(|(_, ns)| ns).sum(),
            amounts,
            steps: self.judged_steps() as u64,
            kernels: kernels.len() as u64,
            median_kernel_ns: median(&mut kernels).unwrap_or(0),
            gaps: gaps.len() as u64,
            median_gap_ns: median(&mut gaps).unwrap_or(0),
            culprit: self.culprit(),
            driver_allocations: driver_allocations as u64,
            allocated_bytes: allocated.iter().copied().max().zip(median(&mut allocated)),
            contention: None,
            roofline: None,
            recomputed_ns: 0,
        }
    }

    /// The rank that made the others wait most.
    fn culprit(&self) -> Option<Culprit> {
        let peers = self.peers.as_ref()?;
        let all_skew_ns: i64 = peers.blame.iter().map(|blame| blame.skew_ns).sum();
        let (index, worst) = peers.blame.iter().enumerate().max_by_key(|(_, blame)| blame.skew_ns)?;
        if worst.skew_ns == 0 {
            return None;
        }
        Some(Culprit {
            rank: self.ranks[index].trace.identity.rank?,
            skew_ns: worst.skew_ns,
            all_skew_ns,
            times_last: worst.times_last,
            collectives: worst.collectives,
            doing: self.doing().get(index).cloned().unwrap_or_default(),
        })
    }

    /// For each rank, what it chiefly did while others waited for it.
    pub fn doing(&self) -> Vec<String> {
        let Some(peers) = &self.peers else { return Vec::new() };
        let slices: Vec<&[Slice]> = self
            .ranks
            .iter()
            .map(|rank| rank.whole.as_ref().map_or(&[][..], |whole| &whole.slices))
            .collect();
        blame::causes(peers, &slices)
            .into_iter()
            .map(|causes| match causes.chiefly() {
                Some((charge, ns)) if causes.skew_ns > 0 => {
                    let share = ns as f64 / causes.skew_ns as f64;
                    format!("{} {:.0}% of that time", phrase(charge), share * 100.0)
                }
                _ => String::new(),
            })
            .collect()
    }
}

fn phrase(charge: Charge) -> String {
    match charge {
        Charge::Compute(class) => format!("ran {}", class.label()),
        Charge::HostLate(_) => format!("idled, {}", charge.label()),
        charge if charge.is_idle() => format!("idled: {}", charge.label()),
        charge => format!("was in {}", charge.label()),
    }
}

impl RankAnalysis {
    /// Durations of the kernels that compute in the judged steps.
    fn judged_kernels_ns(&self) -> impl Iterator<Item = i64> {
        let judged: BTreeMap<_, _> = self.windows.iter().enumerate().map(|(i, w)| (i, w.judged)).collect();
        self.trace.work.iter().zip(&self.steps.members).filter_map(move |(work, member)| {
            let step = member.step()?;
            (work.coarse() == Coarse::Compute && judged.get(&step) == Some(&true)).then(|| work.duration_ns())
        })
    }

    /// Host windows of the judged steps.
    fn judged_host_windows(&self) -> impl Iterator<Item = (i64, i64)> {
        self.windows.iter().zip(&self.steps.steps).filter(|(w, _)| w.judged).filter_map(|(_, step)| step.host)
    }
}

fn median<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}
