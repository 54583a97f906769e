//! What the diagnosis asks of an analysis.

use super::{Analysis, RankAnalysis};
use crate::class::{Coarse, embedding_exchanges};
use crate::diagnosis::{ContentionTime, Culprit, Evidence, RooflineTime};
use crate::nearest_rank::median;
use crate::partition::{Charge, HostCause, Slice};
use crate::peers::blame;
use crate::phase::{Phase, phases};
use crate::roofline::Regime;
use crate::trace::{HostKind, HostRange};

impl Analysis {
    /// The judged steps of all ranks, as the diagnosis asks for them.
    pub fn evidence(&self) -> Evidence {
        let amounts: Vec<_> = self.amounts().into_iter().filter(|(_, ns)| *ns > 0).collect();
        let mut kernels = Vec::new();
        let mut gaps = Vec::new();
        let mut driver_allocations = 0;
        let mut allocated = Vec::new();
        let mut recomputed_ns = 0;
        let mut embedding_exchanges_ns = 0;
        for rank in &self.ranks {
            let phases = phases(&rank.trace);
            for index in rank.judged_kernels() {
                let duration_ns = rank.trace.work[index].duration_ns();
                kernels.push(duration_ns);
                if phases[index] == Phase::Recompute {
                    recomputed_ns += duration_ns;
                }
            }
            embedding_exchanges_ns += rank.exposed_embedding_exchanges_ns();
            for partition in rank.judged() {
                let late = partition.slices.iter().filter(|s| {
                    matches!(s.charge, Charge::HostLate(HostCause::Dispatch | HostCause::Optimizer))
                });
                gaps.extend(late.map(|s| s.end_ns - s.start_ns));
            }
            // Host windows follow each other.
            let windows: Vec<_> = rank.judged_host_windows().collect();
            let inside = |at_ns: i64| {
                let begun = windows.partition_point(|&(from_ns, _)| from_ns <= at_ns);
                begun > 0 && at_ns < windows[begun - 1].1
            };
            let is_allocation = |r: &&HostRange| r.kind == HostKind::Allocator && inside(r.start_ns);
            driver_allocations += rank.trace.ranges.iter().filter(is_allocation).count();
            allocated.extend(
                rank.trace.memory.iter().filter(|m| inside(m.at_ns)).filter_map(|m| m.allocated_bytes),
            );
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
            contention: self.contention_time(),
            roofline: self.roofline_time(),
            recomputed_ns,
            embedding_exchanges_ns,
        }
    }

    /// What overlap costs and hides; `None` without anything compared.
    fn contention_time(&self) -> Option<ContentionTime> {
        let mut sum = ContentionTime::default();
        for rank in self.ranks.iter().filter(|rank| !rank.contention.kernels.is_empty()) {
            sum.extra_ns += rank.contention.extra_ns();
            sum.hidden_ns += rank.contention.hidden_ns;
            sum.whole_ns += rank.whole.as_ref().map_or(0, |whole| whole.window_ns());
        }
        (sum.whole_ns > 0).then_some(sum)
    }

    /// Compute time by regime; `None` when no kernel could be placed.
    fn roofline_time(&self) -> Option<RooflineTime> {
        let mut time = RooflineTime::default();
        for rank in &self.ranks {
            time.computing_ns += rank.roofline.compute_ns;
            for kernel in &rank.roofline.kernels {
                match kernel.placement.as_ref().map(|placement| placement.regime()) {
                    Ok(Regime::NearBandwidth) => time.bandwidth_ns += kernel.time_ns,
                    Ok(Regime::NearCompute) => time.compute_ns += kernel.time_ns,
                    Ok(Regime::FarBelowBoth) => time.below_both_ns += kernel.time_ns,
                    Err(_) => {}
                }
            }
        }
        (time.placed_ns() > 0).then_some(time)
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
    /// Kernels that compute in the judged steps, by index.
    fn judged_kernels(&self) -> impl Iterator<Item = usize> {
        let judged: Vec<bool> = self.windows.iter().map(|windows| windows.judged).collect();
        let works = self.trace.work.iter().zip(&self.steps.members).enumerate();
        works
            .filter(move |(_, (work, member))| {
                work.coarse() == Coarse::Compute && member.step().is_some_and(|step| judged[step])
            })
            .map(|(index, _)| index)
    }

    /// Exposed communication of the judged steps that exchanges embeddings; waiting for peers is the peers' doing.
    fn exposed_embedding_exchanges_ns(&self) -> i64 {
        let exchanges = embedding_exchanges(&self.trace);
        if !exchanges.contains(&true) {
            return 0;
        }
        let slices = self.judged().flat_map(|partition| &partition.slices);
        let exchanged = slices.filter(|slice| {
            matches!(slice.charge, Charge::Transfer(_) | Charge::CommunicationNotSplit(_))
                && slice.work.is_some_and(|work| exchanges[work as usize])
        });
        exchanged.map(|slice| slice.end_ns - slice.start_ns).sum()
    }

    /// Host windows of the judged steps.
    fn judged_host_windows(&self) -> impl Iterator<Item = (i64, i64)> {
        self.windows.iter().zip(&self.steps.steps).filter(|(w, _)| w.judged).filter_map(|(_, step)| step.host)
    }
}
