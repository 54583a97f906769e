//! Compares ranks and says what they tell: times that stage alone.
//!
//! `compare_ranks PATH…` reads traces; `compare_ranks RANKS COLLECTIVES` makes up collectives without arguments, which
//! must be aligned, a few of them lost on each rank.

use std::path::{Path, PathBuf};
use std::time::Instant;

use goodput_trace::class::Class;
use goodput_trace::peers::{PeerOptions, analyse};
use goodput_trace::read::{ReadOptions, read_traces};
use goodput_trace::reading::Format;
use goodput_trace::trace::{
    DeviceWork, Epoch, Identity, RankEvidence, RankTrace, Stream, TraceBuilder, WorkKind,
};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let traces = match args.as_slice() {
        [ranks, collectives] if ranks.parse::<u32>().is_ok() => {
            let collectives = collectives.parse().unwrap_or(10_000);
            let ranks = ranks.parse().unwrap_or(8);
            (0..ranks).map(|rank| made_up(rank, ranks, collectives)).collect()
        }
        paths => {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            match read_traces(&paths, &ReadOptions::default()) {
                Ok(set) => set.ranks,
                Err(error) => return println!("{error}"),
            }
        }
    };
    let kernels: usize = traces
        .iter()
        .map(|trace| trace.work.iter().filter(|work| work.class == Class::Communication).count())
        .sum();
    let began = Instant::now();
    let found = analyse(&traces, PeerOptions::default());
    let took = began.elapsed().as_secs_f64();
    println!("{} ranks, {kernels} communication kernels, {:.3} s", traces.len(), took);
    println!("{} exchanges, {} groups", found.matches.len(), found.groups.len());
    for row in &found.not_split {
        println!("not split: {} kernels, {} ns: {}", row.kernels, row.duration_ns, row.reason.label());
    }
    println!(
        "end spread after correction: p99 {:?} ns, max {:?} ns",
        found.clocks.spread_p99_ns, found.clocks.spread_max_ns
    );
    for (index, trace) in traces.iter().enumerate().take(8) {
        let (totals, blame) = (found.totals[index], found.blame[index]);
        println!(
            "rank {:?}: offset {} ns, wait {} ns, bubble {} ns, transfer {} ns, blame {} ns in {} collectives",
            trace.identity.rank,
            found.clocks.offsets_ns[index],
            totals.wait_ns,
            totals.bubble_ns,
            totals.transfer_ns,
            blame.skew_ns,
            blame.times_last,
        );
    }
    for row in found.bandwidth.iter().take(5) {
        println!(
            "{} of {} bytes over {} ranks: {} times, median {} ns, bus {:.2} GB/s",
            row.kind.key(),
            row.bytes,
            row.ranks,
            row.count,
            row.median_ns,
            row.bus_bytes_per_second() / 1e9
        );
    }
}

/// Collectives of five kinds in turn, at irregular instants that all ranks share; each rank starts some late.
fn made_up(rank: u32, ranks: u32, collectives: u32) -> RankTrace {
    let mut builder = TraceBuilder::default();
    let names: Vec<_> =
        (0..5).map(|kind| builder.intern(&format!("ncclDevKernel_AllReduce_{kind}"))).collect();
    let stream = builder.stream(Stream { device: 0, id: 20 });
    let mut at_ns = 1_780_000_000_000_000_000 + i64::from(rank) * 1_000;
    for index in 0..collectives {
        at_ns += 500_000 + i64::from(index.wrapping_mul(2_654_435_761) % 100_000);
        if (index + rank * 31) % 4_999 == 17 {
            continue;
        }
        let late_ns = i64::from((index ^ rank).wrapping_mul(40_503) % 1_000);
        let work = DeviceWork {
            start_ns: at_ns + late_ns,
            end_ns: at_ns + 100_000,
            name: names[(index % 5) as usize],
            stream,
            correlation: u64::from(index),
            launch: None,
            operator: None,
            collective: None,
            bytes: None,
            kind: WorkKind::Kernel,
            class: Class::Communication,
        };
        builder.work(work, None, None);
    }
    builder.identity = Some(Identity {
        rank: Some(rank),
        evidence: RankEvidence::Metadata,
        world_size: Some(ranks),
        ..Identity::UNKNOWN
    });
    builder.finish(Path::new("made up"), Format::Chrome, Epoch::Unix)
}
