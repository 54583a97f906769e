//! All ranks of a set of traces: steps, partitions and totals.

mod evidence;
mod tables;

pub use tables::JobTables;

use std::collections::{BTreeMap, BTreeSet};

use goodput_core::program::{NoTerms, StepTerms};
use goodput_core::{CapacityTime, Pattern};
use goodput_model::device::Catalogue;
use rayon::prelude::*;

use crate::class::refine;
use crate::contention::Contention;
use crate::partition::{Charge, Partition, Partitioner, Splits};
use crate::peers::{self, PeerAnalysis, PeerOptions};
use crate::roofline::{Roofline, RooflineOptions};
use crate::steps::{Step, Steps};
use crate::trace::RankTrace;

/// How traces are analysed.
#[derive(Debug, Clone, Copy)]
pub struct AnalysisOptions<'a> {
    /// How the ranks are compared.
    pub peers: PeerOptions,
    /// Devices with their ceilings.
    pub catalogue: &'a Catalogue,
    /// The device of all ranks, over what the traces say.
    pub device: Option<&'a str>,
}

impl<'a> AnalysisOptions<'a> {
    /// Clocks corrected, devices as the traces name them.
    pub fn new(catalogue: &'a Catalogue) -> Self {
        Self { peers: PeerOptions::default(), catalogue, device: None }
    }
}

/// All ranks, analysed.
#[derive(Debug)]
pub struct Analysis {
    /// One entry a rank, in the order of the traces.
    pub ranks: Vec<RankAnalysis>,
    /// The ranks together; `None` for a single trace.
    pub peers: Option<PeerAnalysis>,
}

/// One rank.
#[derive(Debug)]
pub struct RankAnalysis {
    /// Its trace.
    pub trace: RankTrace,
    /// Its steps.
    pub steps: Steps,
    /// First to last device work; `None` without any.
    pub whole: Option<Partition>,
    /// Each step's windows, in the order of the steps.
    pub windows: Vec<StepWindows>,
    /// Kernels on the roofline, as far as shapes give their FLOPs and bytes. Over the whole trace.
    pub roofline: Roofline,
    /// Kernels beside communication against their undisturbed runs. Over the whole trace.
    pub contention: Contention,
}

/// The windows of one step.
#[derive(Debug)]
pub struct StepWindows {
    /// On the host, device work cut by time; `None` when the boundaries are known on the device only.
    pub host: Option<Partition>,
    /// On the device; `None` for a step without device work.
    pub device: Option<Partition>,
    /// Whether the step counts in totals and findings.
    pub judged: bool,
}

/// Analyses the ranks of a job.
pub fn analyse(mut traces: Vec<RankTrace>, options: AnalysisOptions<'_>) -> Analysis {
    traces.par_iter_mut().for_each(refine);
    let peers = (traces.len() > 1).then(|| peers::analyse(&traces, options.peers));
    let alone = Splits::default();
    let ranks = traces
        .into_par_iter()
        .enumerate()
        .map(|(index, trace)| {
            let splits = peers.as_ref().map_or(&alone, |peers| &peers.splits[index]);
            rank(trace, splits, options)
        })
        .collect();
    Analysis { ranks, peers }
}

fn rank(trace: RankTrace, splits: &Splits, options: AnalysisOptions<'_>) -> RankAnalysis {
    let steps = Steps::of(&trace);
    let partitioner = Partitioner::new(&trace, splits);
    let partition = |window| partitioner.partition(window, |_, _| true);
    let whole = trace.device_window().map(partition);
    let judged = judged(&steps.steps);
    let windows = steps
        .steps
        .iter()
        .zip(judged)
        .map(|(step, judged)| StepWindows {
            host: step.host.map(partition),
            device: step.device.map(partition),
            judged,
        })
        .collect();
    drop(partitioner);
    let roofline = RooflineOptions { catalogue: options.catalogue, device: options.device, counters: None };
    RankAnalysis {
        roofline: Roofline::of(&trace, &roofline),
        contention: Contention::of(&trace),
        whole,
        windows,
        steps,
        trace,
    }
}

/// Warm-up and incomplete steps do not speak for the job; where there are no others, they are all there is.
fn judged(steps: &[Step]) -> Vec<bool> {
    let is_steady = |step: &Step| step.device.is_some() && !step.warm_up && !step.incomplete;
    let any = steps.iter().any(is_steady);
    steps.iter().map(|step| if any { is_steady(step) } else { step.device.is_some() }).collect()
}

impl RankAnalysis {
    /// Devices that the trace's work ran on.
    pub fn devices(&self) -> usize {
        let work = self.trace.work.iter();
        work.map(|work| self.trace.streams[work.stream as usize].device).collect::<BTreeSet<_>>().len()
    }

    /// The device windows of the judged steps.
    pub fn judged(&self) -> impl Iterator<Item = &Partition> {
        self.windows.iter().filter(|windows| windows.judged).filter_map(|windows| windows.device.as_ref())
    }
}

impl Analysis {
    /// The device windows of the judged steps of all ranks, by charge.
    pub fn amounts(&self) -> BTreeMap<Charge, i64> {
        let mut sum = BTreeMap::new();
        for partition in self.ranks.iter().flat_map(RankAnalysis::judged) {
            for (&charge, &ns) in &partition.amounts {
                *sum.entry(charge).or_insert(0) += ns;
            }
        }
        sum
    }

    /// What the traced steps say of the job's program loss: every charge but computing and input wait, by pattern.
    ///
    /// # Errors
    /// [`NoTerms`] when no step holds device work.
    pub fn step_terms(&self) -> Result<StepTerms, NoTerms> {
        let mut traced = CapacityTime::ZERO;
        let mut losses: BTreeMap<Pattern, CapacityTime> = BTreeMap::new();
        for (charge, ns) in self.amounts() {
            let amount = CapacityTime::from_device_ns(ns.into());
            match charge.pattern() {
                Some(Pattern::InputWait) => continue,
                Some(pattern) => {
                    let sum = losses.entry(pattern).or_insert(CapacityTime::ZERO);
                    *sum += amount;
                }
                None => {}
            }
            traced += amount;
        }
        StepTerms::new(traced, losses.into_iter().collect())
    }

    /// Steps that count in the totals, over all ranks.
    pub fn judged_steps(&self) -> usize {
        self.ranks.iter().map(|rank| rank.judged().count()).sum()
    }
}
