//! Whether the traces are of the run: what both say of the job, side by side.

use std::collections::BTreeSet;

use goodput_model::device::Catalogue;
use goodput_predict::run::Run;
use goodput_trace::analysis::Analysis;
use goodput_trace::class::Class;
use goodput_trace::peers::message_bytes;
use goodput_trace::phase::{Phase, phases};
use goodput_trace::reading::Format;
use goodput_trace::trace::RankTrace;

use crate::axis::Places;
use crate::rate::{Kernels, Products};
use crate::term::Term;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Ranks of the job.
    Devices,
    /// Ranks that were traced.
    TracedRanks,
    /// The device's product name.
    Device,
    /// Who exchanges with whom.
    Groups,
    /// Whether a step trains.
    Training,
    /// FLOPs of matrix products in a step.
    ProductFlops,
    /// Kernels of matrix products in a step.
    ProductKernels,
    /// Exchanges of one kind and axis in a step: number and size.
    Exchange,
}

impl Subject {
    /// The word used in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Devices => "devices",
            Self::TracedRanks => "traced_ranks",
            Self::Device => "device",
            Self::Groups => "groups",
            Self::Training => "training",
            Self::ProductFlops => "product_flops",
            Self::ProductKernels => "product_kernels",
            Self::Exchange => "exchange",
        }
    }

    /// The name that a report shows.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Devices => "devices of the job",
            Self::TracedRanks => "ranks traced",
            Self::Device => "device",
            Self::Groups => "process groups",
            Self::Training => "what a step does",
            Self::ProductFlops => "FLOPs of matrix products a step",
            Self::ProductKernels => "matrix products a step",
            Self::Exchange => "exchange",
        }
    }
}

/// How the two compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// They agree.
    Agrees,
    /// They differ in what may be one job: fused or cut otherwise.
    Differs,
    /// They differ in what one job cannot: the traces are of another.
    OtherJob,
    /// One of them does not tell.
    Unknown,
}

impl Verdict {
    /// The word used in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::OtherJob => "other_job",
            Self::Unknown => "unknown",
        }
    }
}

/// One comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What is compared.
    pub subject: Subject,
    /// What the run says.
    pub run: String,
    /// What the traces say.
    pub trace: String,
    /// How they compare.
    pub verdict: Verdict,
}

/// FLOPs apart by more than this share are of another model, batch or layout: a framework pads a vocabulary, no more.
pub(crate) const SAME_FLOPS: f64 = 0.10;
/// Fewer recorded shapes do not speak for the step.
const ENOUGH_SHAPES: f64 = 0.9;
/// Where they differ by a factor, fewer will do.
const SOME_SHAPES: f64 = 0.5;
/// Projections are one product or three, a weight gradient is split or not: kernels apart by less may be one job.
pub(crate) const SAME_KERNELS: f64 = 0.20;
/// Counts and sizes apart by more than this factor are of another job, however it fuses and cuts.
pub(crate) const OTHER_JOB_FACTOR: f64 = 2.0;
/// Exchanges below this are norms, losses and counts.
const SMALL_BYTES: u64 = 65_536;

/// Everything that both sides tell, exchanges (see [`crate::audit`]) left out.
pub(crate) fn checks(
    run: &Run,
    analysis: &Analysis,
    kernels: &[Kernels],
    products: Option<&Products>,
) -> Vec<Check> {
    let mut checks = devices(run, analysis);
    checks.extend(device(run, analysis));
    checks.push(groups(run, analysis));
    checks.extend(training(analysis));
    checks.push(flops(products));
    checks.extend(counts(kernels));
    checks
}

fn devices(run: &Run, analysis: &Analysis) -> Vec<Check> {
    let sizes: BTreeSet<u32> =
        analysis.ranks.iter().filter_map(|rank| rank.trace.identity.world_size).collect();
    let largest = analysis.ranks.iter().filter_map(|rank| rank.trace.identity.rank).max();
    let run_says = run.devices.to_string();
    let outside = largest.filter(|rank| *rank >= run.devices);
    let (trace, verdict) = match (outside, sizes.iter().find(|size| **size != run.devices)) {
        (_, Some(other)) => (other.to_string(), Verdict::OtherJob),
        (Some(rank), None) => (format!("rank {rank} among them"), Verdict::OtherJob),
        _ if !sizes.is_empty() => (run_says.clone(), Verdict::Agrees),
        _ if analysis.ranks.len() > run.devices as usize => {
            (format!("{} ranks given", analysis.ranks.len()), Verdict::OtherJob)
        }
        _ if run.devices == 1 && analysis.ranks.len() == 1 => ("1 trace".to_owned(), Verdict::Agrees),
        _ => ("not recorded".to_owned(), Verdict::Unknown),
    };
    let mut checks = vec![Check { subject: Subject::Devices, run: run_says.clone(), trace, verdict }];
    if analysis.ranks.len() < run.devices as usize {
        checks.push(Check {
            subject: Subject::TracedRanks,
            run: run_says,
            trace: format!("{}: a part speaks for the rest", analysis.ranks.len()),
            verdict: Verdict::Agrees,
        });
    }
    checks
}

fn device(run: &Run, analysis: &Analysis) -> Option<Check> {
    let names: BTreeSet<&str> = analysis
        .ranks
        .iter()
        .flat_map(|rank| &rank.trace.devices)
        .map(|device| device.name.as_str())
        .collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    let catalogue = Catalogue::built_in();
    let of_run = catalogue.find(&run.cluster.device).ok()?;
    let known: Vec<_> =
        names.iter().map(|name| catalogue.find(name).map(|device| device.name.as_str())).collect();
    let verdict = match known.as_slice() {
        [] => Verdict::Unknown,
        all if all.iter().any(|name| name.as_ref().is_ok_and(|name| *name != of_run.name)) => {
            Verdict::OtherJob
        }
        all if all.iter().all(|name| name.as_ref().is_ok_and(|name| *name == of_run.name)) => Verdict::Agrees,
        _ => Verdict::Unknown,
    };
    let trace = if names.is_empty() { "not recorded".to_owned() } else { names.join(", ") };
    Some(Check { subject: Subject::Device, run: of_run.name.clone(), trace, verdict })
}

/// Every group whose ranks are known must be one of the layout's.
fn groups(run: &Run, analysis: &Analysis) -> Check {
    let places = Places::of(run);
    let mut seen: BTreeSet<&[u32]> = BTreeSet::new();
    for rank in &analysis.ranks {
        let trace = &rank.trace;
        for work in trace.work.iter().filter(|work| work.class == Class::Communication) {
            let Some(args) = trace.collective_of(work) else { continue };
            let bytes = message_bytes(trace, trace.collective_kind(work), args);
            let ranks = args.ranks.as_deref().filter(|ranks| ranks.len() > 1);
            if let Some(ranks) = ranks.filter(|_| bytes.is_none_or(|bytes| bytes >= SMALL_BYTES)) {
                seen.insert(ranks);
            }
        }
    }
    let strange =
        seen.iter().find(|ranks| places.axes_of(ranks).is_empty() && ranks.len() as u32 != run.devices);
    let layout = &run.layout;
    let run_says = format!(
        "tp {}, cp {}, pp {}, ep {}, dp {}",
        layout.tensor, layout.context, layout.pipeline, layout.expert, layout.data
    );
    let (trace, verdict) = match strange {
        Some(ranks) => (format!("ranks {} exchange together", brief(ranks)), Verdict::OtherJob),
        None if seen.is_empty() => ("no ranks recorded".to_owned(), Verdict::Unknown),
        None => {
            let groups =
                if seen.len() == 1 { "1 group".to_owned() } else { format!("{} groups", seen.len()) };
            (format!("{groups}, none outside this layout"), Verdict::Agrees)
        }
    };
    Check { subject: Subject::Groups, run: run_says, trace, verdict }
}

fn brief(ranks: &[u32]) -> String {
    let shown: Vec<String> = ranks.iter().take(8).map(u32::to_string).collect();
    let more = if ranks.len() > 8 { format!(", … ({} in all)", ranks.len()) } else { String::new() };
    shown.join(", ") + &more
}

/// A step is one of training: of PyTorch's traces, whose ranges tell, at least one has a backward pass or an update.
fn training(analysis: &Analysis) -> Option<Check> {
    let is_told = |trace: &&RankTrace| {
        trace.format == Format::Chrome
            && trace.operators.iter().any(|operator| trace.name(operator.name).starts_with("aten::"))
    };
    let mut traces = analysis.ranks.iter().map(|rank| &rank.trace).filter(is_told).peekable();
    traces.peek()?;
    let trains = |trace: &RankTrace| {
        let phases = phases(trace);
        let trained = [Phase::Backward, Phase::Recompute, Phase::Optimizer];
        phases.iter().any(|phase| trained.contains(phase))
            || trace.work.iter().any(|work| {
                let name = trace.name(work.name);
                work.class == Class::Optimizer || name.contains("bwd") || name.contains("backward")
            })
    };
    let (trace, verdict) = match traces.any(trains) {
        true => ("a backward pass or an update", Verdict::Agrees),
        false => ("no backward pass and no update: inference", Verdict::OtherJob),
    };
    Some(Check { subject: Subject::Training, run: "training".to_owned(), trace: trace.to_owned(), verdict })
}

fn flops(products: Option<&Products>) -> Check {
    let subject = Subject::ProductFlops;
    let tera = |flops: f64| format!("{:.2} TFLOP a device", flops / 1e12);
    match products {
        None => Check {
            subject,
            run: "known".to_owned(),
            trace: "no shapes recorded (record_shapes=True records them)".to_owned(),
            verdict: Verdict::Unknown,
        },
        Some(products) => {
            let apart = (products.measured_flops / products.predicted_flops - 1.0).abs();
            let ratio = products.measured_flops / products.predicted_flops;
            let verdict = match products.coverage {
                share if share > SOME_SHAPES && ratio.max(1.0 / ratio) > OTHER_JOB_FACTOR => {
                    Verdict::OtherJob
                }
                share if share < ENOUGH_SHAPES => Verdict::Unknown,
                _ if apart > SAME_FLOPS => Verdict::OtherJob,
                _ => Verdict::Agrees,
            };
            let of = format!(" (shapes of {:.0} % of the time)", products.coverage * 100.0);
            let trace = tera(products.measured_flops) + &of;
            Check { subject, run: tera(products.predicted_flops), trace, verdict }
        }
    }
}

fn counts(kernels: &[Kernels]) -> Option<Check> {
    let of = kernels.iter().find(|kernels| kernels.term == Term::Products)?;
    Some(Check {
        subject: Subject::ProductKernels,
        run: format!("{:.0}", of.predicted),
        trace: format!("{:.0}", of.measured),
        verdict: match of.ratio() {
            ratio if (ratio - 1.0).abs() <= SAME_KERNELS => Verdict::Agrees,
            ratio if ratio.max(1.0 / ratio) > OTHER_JOB_FACTOR => Verdict::OtherJob,
            _ => Verdict::Differs,
        },
    })
}
