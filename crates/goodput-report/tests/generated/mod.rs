//! Views of generated traces.
#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses its part; a test may panic")]

use goodput_model::device::Catalogue;
use goodput_report::{
    CeilingsView, Exact, NotPlacedView, RegimeView, RooflineKernelView, RooflineView, TraceBeside, TraceView,
    ViewSettings,
};
use goodput_simulate::step_trace::{Scenario, simulate};
use goodput_trace::analysis::{AnalysisOptions, analyse};
use goodput_trace::class::Class;
use goodput_trace::read::{ReadOptions, read_traces};
use goodput_trace::reading::Format;
use goodput_trace::trace::{Epoch, TraceBuilder};

const SCRIPT: &str = "<script>alert('x')</script>";
const STEERS: &str = "\u{1b}[2Jwiped\r\n<img onerror=alert(1)>";

fn settings() -> ViewSettings {
    ViewSettings { generated_by: "goodput test".to_owned(), ..ViewSettings::default() }
}

fn view(scenario: &Scenario, ranks: usize) -> TraceView {
    let folder = tempfile::tempdir().unwrap();
    // The last two parts of a path are shown: they must not change from run to run.
    let paths = simulate(scenario).write(&folder.path().join("traces")).unwrap();
    let set = read_traces(&paths[..ranks.min(paths.len())], &ReadOptions::default()).unwrap();
    let analysis = analyse(set.ranks, AnalysisOptions::new(Catalogue::built_in()));
    TraceView::new(&analysis, &set.files, TraceBeside::default(), 20, &settings())
}

/// A named scenario.
pub fn trace(name: &str) -> TraceView {
    view(&Scenario::named(name).unwrap(), usize::MAX)
}

/// Replicas of a small model.
pub fn scaled(ranks: u32, steps: u32) -> TraceView {
    view(&Scenario::scaled(ranks, steps, 1), usize::MAX)
}

/// One of four ranks.
pub fn one_rank() -> TraceView {
    view(&Scenario::named("overlap_contention").unwrap(), 1)
}

/// A trace without any device work.
pub fn without_work() -> TraceView {
    let trace = TraceBuilder::default().finish("traces/rank0.json".as_ref(), Format::Chrome, Epoch::Own);
    let analysis = analyse(vec![trace], AnalysisOptions::new(Catalogue::built_in()));
    TraceView::new(&analysis, &[], TraceBeside::default(), 20, &settings())
}

/// The ranks of a small job, over and over.
pub fn many(ranks: u32, steps: u32) -> TraceView {
    let mut view = scaled(4, steps);
    let copies = |index: u32| (index % 4) as usize;
    view.ranks = (0..ranks)
        .map(|index| {
            let mut rank = view.ranks[copies(index)].clone();
            rank.rank = Some(index);
            rank
        })
        .collect();
    for row in &mut view.steps_across.rows {
        row.of_rank = (0..ranks).map(|index| row.of_rank[copies(index)]).collect();
    }
    let peers = view.peers.as_mut().unwrap();
    peers.ranks = (0..ranks)
        .map(|index| {
            let mut rank = peers.ranks[copies(index)].clone();
            rank.rank = index;
            rank
        })
        .collect();
    let overlap = view.overlap.as_mut().unwrap();
    overlap.ranks = (0..ranks).map(|index| overlap.ranks[copies(index)].clone()).collect();
    view.files = (0..ranks).map(|index| view.files[copies(index)].clone()).collect();
    view
}

/// Every name that a trace can give, hostile; kernels on a roofline, some at the ends of its scales.
pub fn hostile() -> TraceView {
    let mut view = trace("overlap_contention");
    view.title = Some(STEERS.to_owned());
    view.scope.devices = vec![SCRIPT.to_owned()];
    view.warnings = vec![format!("{SCRIPT}: {STEERS}")];
    for rank in &mut view.ranks {
        rank.file = SCRIPT.to_owned();
        rank.part = Some(STEERS.to_owned());
        for step in &mut rank.steps {
            step.name = SCRIPT.to_owned();
        }
    }
    // Ranks that their parts name.
    view.ranks[3].rank = None;
    for file in &mut view.files {
        file.file = STEERS.to_owned();
    }
    let tables = [&mut view.kernels, &mut view.operators, &mut view.classes, &mut view.collectives];
    for row in tables.into_iter().flatten() {
        row.name = SCRIPT.to_owned();
    }
    let peers = view.peers.as_mut().unwrap();
    for row in &mut peers.bandwidth {
        row.group = SCRIPT.to_owned();
    }
    for blame in &mut peers.blame {
        blame.doing = STEERS.to_owned();
    }
    for kernel in &mut view.overlap.as_mut().unwrap().kernels {
        kernel.name = SCRIPT.to_owned();
    }
    let timeline = view.timeline.as_mut().unwrap();
    timeline.step = STEERS.to_owned();
    for segment in timeline.lanes.iter_mut().flat_map(|lane| &mut lane.segments) {
        segment.kernel = segment.kernel.as_ref().map(|_| SCRIPT.to_owned());
    }
    view.roofline = Some(roofline());
    view
}

fn roofline() -> RooflineView {
    let kernel = |kind: Class, time_ns: i64, flops: i64, bytes: i64, regime: (&'static str, &str)| {
        let per_second = |amount: i64| amount as f64 * 1e9 / time_ns as f64;
        RooflineKernelView {
            name: SCRIPT.to_owned(),
            class: kind.key(),
            dtype: Some("bf16"),
            count: 3,
            time_ns,
            flops: Exact::from(flops),
            bytes: Exact::from(bytes),
            traffic: "algorithmic",
            assumed: Some("mask not recorded: full attention counted"),
            intensity: (bytes > 0).then(|| flops as f64 / bytes as f64),
            flops_per_second: per_second(flops),
            bytes_per_second: per_second(bytes),
            compute_share: per_second(flops) / 989e12,
            bandwidth_share: per_second(bytes) / 3.35e12,
            regime: regime.0,
            regime_label: regime.1.to_owned(),
            kind,
        }
    };
    let (compute, bandwidth) =
        (("near_compute", "near the compute ceiling"), ("near_bandwidth", "near the bandwidth ceiling"));
    let below = ("far_below_both", "far below both ceilings");
    let ceilings = |dtype, flops_per_second: f64| CeilingsView {
        dtype,
        flops_per_second,
        bytes_per_second: 3.35e12,
        ridge: flops_per_second / 3.35e12,
    };
    RooflineView {
        compute_ns: 5_000_000,
        known_ns: 4_500_000,
        placed_ns: 4_100_000,
        near: 0.6,
        regimes: vec![RegimeView {
            regime: compute.0,
            label: compute.1.to_owned(),
            time_ns: 2_000_000,
            share: 0.49,
        }],
        ceilings: vec![
            ceilings(Some("bf16"), 989e12),
            ceilings(Some("fp32"), 67e12),
            ceilings(None, 1979e12),
        ],
        kernels: vec![
            kernel(Class::Gemm, 2_000_000, 1_400_000_000_000, 1_000_000_000, compute),
            kernel(Class::Normalisation, 1_000_000, 5_000_000_000, 2_800_000_000, bandwidth),
            // Moves and does not compute; computes and moves nothing.
            kernel(Class::CopyLayout, 1_000_000, 0, 2_000_000_000, bandwidth),
            kernel(Class::Other, 100_000, 7, 0, below),
        ],
        kernels_omitted: 2,
        not_placed: vec![NotPlacedView { reason: SCRIPT.to_owned(), time_ns: 400_000 }],
    }
}
