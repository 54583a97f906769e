//! The meter over whole worlds: every rank counts, the test is the collective.
#![allow(clippy::unwrap_used)]

use goodput_model::meter::*;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

fn peak(dtype: &str, tflops: f64) -> DtypePeak {
    DtypePeak { dtype: dtype.to_owned(), flops_per_second: Some(tflops * 1e12) }
}

fn scope(
    world: u64,
    (tp, cp, pp): (u64, u64, u64),
    flops: RankCounts,
    sequence: SequenceCounts,
) -> CountScope {
    CountScope::new(ParallelLayout::new(world, tp, cp, pp).unwrap(), flops, sequence)
}

fn counts(tokens: u64, executed_tokens: u64, useful: u128, executed: u128) -> Counts {
    Counts {
        tokens,
        executed_tokens,
        samples: 1,
        useful_flops: vec![useful],
        executed_flops: vec![executed],
        loss_sum: 2.5 * tokens as f64,
    }
}

/// One step of one rank, whose counts are `of_rank`.
fn step(meter: &mut ThroughputMeter, of_rank: &Counts, elapsed_ns: u64) -> LocalStep {
    meter.micro_batch(of_rank).unwrap();
    meter.end_step(0, elapsed_ns, 1).unwrap()
}

/// What an all-reduce with SUM over ranks gives.
fn all_reduce(steps: &[LocalStep]) -> ReducedSteps {
    let vectors: Vec<Vec<f64>> = steps.iter().map(LocalStep::sums).collect();
    let sums: Vec<f64> = (0..vectors[0].len()).map(|i| vectors.iter().map(|v| v[i]).sum()).collect();
    steps[0].reduced(&sums, steps.iter().map(|s| s.peak_memory_bytes).max().unwrap()).unwrap()
}

/// The figures where every summed rank counts the same.
fn figures_of(scope: CountScope, of_rank: &Counts, elapsed_ns: u64) -> Figures {
    let mut meter = ThroughputMeter::new(scope, vec![peak("bf16", 989.4)]).unwrap();
    let one = step(&mut meter, of_rank, elapsed_ns);
    meter.figures(&all_reduce(&vec![one; usize::try_from(scope.summed_ranks()).unwrap()]))
}

#[test]
fn both_forms_give_one_headline() {
    // World 8, tp 2, cp 2, dp 2; a replica does 8 TFLOP in 1 s: 2 TFLOP/s a device.
    let flops: u128 = 8_000_000_000_000;
    let sizes = (2, 2, 1);
    for (form, of_rank) in [
        (RankCounts::FullModel, flops),
        (RankCounts::TensorShard, flops / 2),
        (RankCounts::DeviceShare, flops / 4),
    ] {
        let scope = scope(8, sizes, form, SequenceCounts::Whole);
        let figures = figures_of(scope, &counts(1000, 1000, of_rank, of_rank), SECOND);
        assert_eq!(figures.useful_tflops_per_device, 2.0, "{form:?}");
        assert_eq!(figures.tokens, 2000);
        assert_eq!(figures.tokens_per_second_per_device, 250.0);
    }
    // Counted after the split over context ranks: half the tokens, half the FLOPs, summed over four ranks.
    for (form, of_rank) in [(RankCounts::FullModel, flops / 2), (RankCounts::TensorShard, flops / 4)] {
        let scope = scope(8, sizes, form, SequenceCounts::ContextShard);
        let figures = figures_of(scope, &counts(500, 500, of_rank, of_rank), SECOND);
        assert_eq!((figures.useful_tflops_per_device, figures.tokens), (2.0, 2000), "{form:?}");
    }
}

#[test]
fn perf_topk_decomposes_the_headline() {
    // Replica 0 does 8 TFLOP, replica 1 does 6: headline 14/8, rows of 2 and 1.5.
    let scope = scope(8, (2, 2, 1), RankCounts::FullModel, SequenceCounts::Whole);
    let mut meter = ThroughputMeter::new(scope, vec![peak("bf16", 989.4)]).unwrap();
    let of = |flops: u128| counts(10, 10, flops, flops);
    let (eight, six) = (8_000_000_000_000, 6_000_000_000_000);
    let steps = [step(&mut meter, &of(eight), SECOND), step(&mut meter, &of(six), SECOND)];
    let reduced = all_reduce(&steps);
    assert_eq!(meter.figures(&reduced).useful_tflops_per_device, 1.75);

    let world = [eight, eight, eight, eight, six, six, six, six];
    let breakdown = meter.breakdown(&reduced, &world).unwrap();
    let rates: Vec<f64> = breakdown.rows().iter().map(|row| row.rate.per_device_second() / 1e12).collect();
    assert_eq!(rates, [2.0, 2.0, 2.0, 2.0, 1.5, 1.5, 1.5, 1.5]);
    assert_eq!(breakdown.top(1)[0].rank, 0);

    // One rank of a replica that counts its own shard is another form: no breakdown of this headline.
    let mixed = [eight / 2, eight, eight, eight, six, six, six, six];
    assert!(matches!(meter.breakdown(&reduced, &mixed), Err(BreakdownError::NotTheHeadline { .. })));
    assert!(matches!(meter.breakdown(&reduced, &world[..7]), Err(BreakdownError::Ranks { .. })));
}

#[test]
fn each_dtype_at_its_own_peak() {
    // 100 TFLOP of bf16 at 1000 and 200 of fp8 at 2000 take 0.2 s of a device's second.
    let scope = scope(1, (1, 1, 1), RankCounts::FullModel, SequenceCounts::Whole);
    let mut meter = ThroughputMeter::new(scope, vec![peak("bf16", 1000.0), peak("fp8", 2000.0)]).unwrap();
    let flops = vec![100_000_000_000_000, 200_000_000_000_000];
    let of_rank = Counts {
        tokens: 1,
        executed_tokens: 1,
        useful_flops: flops.clone(),
        executed_flops: flops,
        ..Counts::default()
    };
    let figures = meter.figures(&step(&mut meter.clone(), &of_rank, SECOND).alone());
    assert_eq!(figures.mfu, Ok(0.2));
    assert_eq!(figures.useful_tflops_per_device, 300.0);
    assert!(meter.micro_batch(&counts(1, 1, 1, 1)).is_err(), "one figure a dtype");
}

#[test]
fn an_unknown_device_has_no_mfu() {
    let scope = scope(1, (1, 1, 1), RankCounts::FullModel, SequenceCounts::Whole);
    let unknown = DtypePeak { dtype: "bf16".to_owned(), flops_per_second: None };
    let mut meter = ThroughputMeter::new(scope, vec![unknown]).unwrap();
    let reduced = step(&mut meter, &counts(1, 1, 10, 10), SECOND).alone();
    let figures = meter.figures(&reduced);
    assert_eq!(figures.mfu, Err(NoUtilization::NoPeak { dtype: "bf16".to_owned() }));
    assert_eq!(figures.useful_tflops_per_device, 10e-12);
}

#[test]
fn more_than_the_peak_is_refused_with_causes() {
    let scope = scope(1, (1, 1, 1), RankCounts::FullModel, SequenceCounts::Whole);
    let flops = 2_000_000_000_000_000;
    let why = figures_of(scope, &counts(1, 1, flops, flops), SECOND).mfu.unwrap_err().to_string();
    assert!(why.contains("2.021") && why.contains("too few devices") && why.contains("rank counts"), "{why}");
}

#[test]
fn micro_batches_and_optimizer_steps_have_their_own_times() {
    let scope = scope(1, (1, 1, 1), RankCounts::FullModel, SequenceCounts::Whole);
    let mut meter = ThroughputMeter::new(scope, vec![peak("bf16", 1.0)]).unwrap();
    for _ in 0..4 {
        meter.micro_batch(&counts(900, 1000, 100, 120)).unwrap();
    }
    let mut steps = meter.end_step(7, 2 * SECOND, 5).unwrap().alone();
    let figures = meter.figures(&steps);
    assert_eq!((figures.step_time_per_micro_batch_s, figures.step_time_per_optimizer_step_s), (0.5, 2.0));
    assert_eq!((figures.tokens, figures.samples, figures.batch_efficiency), (3600, 4, Some(0.9)));
    assert_eq!(figures.loss, Some(2.5));
    assert!(matches!(meter.end_step(8, SECOND, 0), Err(MeterError::EmptyStep { step: 8 })));

    // Two steps weigh by their time: 100 FLOPs a micro-batch, 4 in 2 s and 1 in 3 s, are 100 a second, not 100.
    meter.micro_batch(&counts(900, 1000, 100, 120)).unwrap();
    steps.add(&meter.end_step(8, 3 * SECOND, 4).unwrap().alone()).unwrap();
    let figures = meter.figures(&steps);
    assert_eq!((figures.optimizer_steps, figures.peak_memory_bytes), (2, 5));
    assert_eq!(figures.useful_tflops_per_device, 100e-12);
    assert_eq!(figures.step_time_per_micro_batch_s, 1.0);
}

#[test]
fn counts_that_cannot_be_are_refused() {
    let scope = scope(1, (1, 1, 1), RankCounts::FullModel, SequenceCounts::Whole);
    let mut meter = ThroughputMeter::new(scope, vec![peak("bf16", 1.0)]).unwrap();
    let refused = [
        (counts(2, 1, 1, 1), "tokens is 2, more than executed_tokens 1"),
        (counts(1, 1, 2, 1), "useful_flops is 2, more than executed_flops 1"),
        (counts(0, Counts::MOST_TOKENS, 0, 0), "executed_tokens adds up"),
        (counts(1, 1, 1, Counts::MOST_FLOPS), "executed_flops adds up"),
        (Counts { loss_sum: f64::NAN, ..counts(1, 1, 1, 1) }, "loss_sum is NaN"),
    ];
    for (bad, why) in refused {
        let error = meter.micro_batch(&bad).unwrap_err().to_string();
        assert!(error.starts_with(why), "{error}");
    }
    assert!(matches!(meter.end_step(0, 1, 0), Err(MeterError::EmptyStep { .. })), "nothing was added");
    meter.micro_batch(&counts(1, 1, 1, 1)).unwrap();
    assert!(matches!(meter.end_step(0, 0, 0), Err(MeterError::NoTime { .. })));
}

#[test]
fn a_meter_needs_dtypes_with_peaks_that_are_peaks() {
    let scope = scope(1, (1, 1, 1), RankCounts::FullModel, SequenceCounts::Whole);
    let new = |peaks| ThroughputMeter::new(scope, peaks).unwrap_err();
    assert_eq!(new(vec![]), MeterError::Dtypes { given: 0 });
    assert!(matches!(new(vec![peak("bf16", 1.0), peak("bf16", 2.0)]), MeterError::DtypeTwice { .. }));
    for tflops in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(new(vec![peak("bf16", tflops)]), MeterError::Peak { .. }));
    }
}

#[test]
fn layouts_that_do_not_divide_are_refused() {
    for (world, sizes) in
        [(8, (3, 1, 1)), (8, (0, 1, 1)), (8, (1, 16, 1)), (8, (u64::MAX, 2, 1)), (1 << 40, (1, 1, 1))]
    {
        assert!(ParallelLayout::new(world, sizes.0, sizes.1, sizes.2).is_err(), "{world} {sizes:?}");
    }
}

#[test]
fn a_reduction_that_rounds_is_refused() {
    let scope = scope(2, (1, 1, 1), RankCounts::FullModel, SequenceCounts::Whole);
    let mut meter = ThroughputMeter::new(scope, vec![peak("bf16", 989.4)]).unwrap();
    let one = step(&mut meter, &counts(40_001, 50_003, 123_456_789_012_345, 123_456_789_999_999), SECOND);
    let doubled: Vec<f64> = one.sums().iter().map(|n| 2.0 * n).collect();
    assert!(one.reduced(&doubled, 1).is_ok());
    let in_float32: Vec<f64> = doubled.iter().map(|&n| f64::from(n as f32)).collect();
    assert_eq!(one.reduced(&in_float32, 1), Err(ReductionError::Rounded));
    let averaged: Vec<f64> = one.sums().iter().map(|n| n / 3.0).collect();
    assert_eq!(one.reduced(&averaged, 1), Err(ReductionError::Rounded));
    assert!(matches!(one.reduced(&doubled[1..], 1), Err(ReductionError::Length { .. })));
    let nothing = vec![0.0; doubled.len()];
    assert!(matches!(one.reduced(&nothing, 1), Err(ReductionError::LessThanOwn { .. })));
}

/// A reduction that has arrived when the test says so.
struct Arriving<'a>(&'a std::cell::Cell<u64>, Vec<f64>);

impl PendingReduction for Arriving<'_> {
    type Error = ReductionError;

    fn is_ready(&mut self) -> Result<bool, Self::Error> {
        Ok(self.0.get() > 0)
    }

    fn take(self, step: &LocalStep) -> Result<ReducedSteps, Self::Error> {
        step.reduced(&self.1, step.peak_memory_bytes)
    }
}

#[test]
fn a_step_is_logged_when_a_later_one_has_ended_and_its_sums_are_there() {
    let scope = scope(1, (1, 1, 1), RankCounts::FullModel, SequenceCounts::Whole);
    let mut meter = ThroughputMeter::new(scope, vec![peak("bf16", 989.4)]).unwrap();
    let arrived = std::cell::Cell::new(0);
    let mut log = DeferredLog::default();
    for number in 0..3 {
        meter.micro_batch(&counts(1, 1, 1, 1)).unwrap();
        let step = meter.end_step(number, SECOND, 1).unwrap();
        let sums = step.sums();
        log.push(step, Arriving(&arrived, sums));
        assert_eq!(log.flush().unwrap(), None, "nothing has arrived");
    }
    arrived.set(1);
    let first = log.flush().unwrap().unwrap();
    assert_eq!((first.reduced.step, first.lag_steps), (0, 2));
    assert_eq!(log.flush().unwrap().unwrap().reduced.step, 1);
    assert_eq!(log.flush().unwrap(), None, "the newest step waits for a later one");
    assert_eq!(log.len(), 1);
    assert_eq!(log.take_oldest().unwrap().unwrap().reduced.step, 2);
    assert!(log.is_empty() && log.take_oldest().unwrap().is_none());
}

fn sizes() -> impl Strategy<Value = (u64, u64, u64, u64)> {
    (1u64..6, 1u64..5, 1u64..4, 1u64..4)
}

fn form() -> impl Strategy<Value = RankCounts> {
    prop_oneof![Just(RankCounts::FullModel), Just(RankCounts::TensorShard), Just(RankCounts::DeviceShare)]
}

fn sequence() -> impl Strategy<Value = SequenceCounts> {
    prop_oneof![Just(SequenceCounts::Whole), Just(SequenceCounts::ContextShard)]
}

proptest! {
    /// Equal global tokens a second and devices: neither the layout nor the form of the counts moves a figure.
    #[test]
    fn figures_do_not_depend_on_the_layout((dp, tp, cp, pp) in sizes(), form in form(), sequence in sequence(), unit in 1u128..1_000_000_000) {
        let world = dp * tp * cp * pp;
        let scope = scope(world, (tp, cp, pp), form, sequence);
        // The whole job, divisible by every share.
        let job_tokens = 3600 * world;
        let job_flops = unit * u128::from(world);
        let ranks = scope.summed_ranks();
        let of_rank = job_flops / u128::from(ranks) / u128::from(scope.flops_factor());
        prop_assert_eq!(of_rank * u128::from(ranks * scope.flops_factor()), job_flops);
        let tokens = job_tokens / ranks;
        let sharded = figures_of(scope, &counts(tokens, tokens, of_rank, of_rank), SECOND);
        let plain = CountScope::new(ParallelLayout::new(world, 1, 1, 1).unwrap(), RankCounts::FullModel, SequenceCounts::Whole);
        let unsharded = figures_of(plain, &counts(3600, 3600, unit, unit), SECOND);
        prop_assert_eq!(&sharded.mfu, &unsharded.mfu);
        prop_assert_eq!(sharded.useful_rate, unsharded.useful_rate);
        prop_assert_eq!(sharded.tokens_per_second_per_device, unsharded.tokens_per_second_per_device);
    }

    /// The mean of the rows is the headline, in integers, whatever each replica did.
    #[test]
    fn rows_sum_to_the_headline((dp, tp, cp, pp) in sizes(), form in form(), sequence in sequence(), flops in proptest::collection::vec(0u128..1 << 60, 24), elapsed in 1u64..1_000_000_000_000) {
        let world = dp * tp * cp * pp;
        let scope = scope(world, (tp, cp, pp), form, sequence);
        let mut meter = ThroughputMeter::new(scope, vec![peak("bf16", 989.4)]).unwrap();
        let of_group: Vec<u128> = (0..scope.summed_ranks()).map(|rank| flops[rank as usize % flops.len()]).collect();
        let steps: Vec<LocalStep> = of_group.iter().map(|&flops| step(&mut meter, &counts(1, 1, flops, flops), elapsed)).collect();
        let reduced = all_reduce(&steps);
        let of_world: Vec<u128> = (0..world).map(|rank| of_group[(rank / scope.copies()) as usize]).collect();
        let breakdown = meter.breakdown(&reduced, &of_world).unwrap();
        let headline = breakdown.headline();
        prop_assert_eq!(breakdown.rows().len() as u64, world);
        // mean = sum / (world x device_ns of a row) = count / device_ns of the headline.
        let sum: u128 = breakdown.rows().iter().map(|row| row.rate.count).sum();
        let row_ns = breakdown.rows()[0].rate.device_ns;
        prop_assert_eq!(row_ns * u128::from(world), headline.device_ns * u128::from(scope.copies()));
        prop_assert_eq!(sum, headline.count * u128::from(scope.copies()));
    }

    /// Padding is executed, never useful.
    #[test]
    fn padding_changes_what_is_executed_only(tokens in 1u64..1_000_000, padding in 1u64..1_000_000, flops in 1u128..1 << 40) {
        let scope = scope(4, (2, 1, 1), RankCounts::FullModel, SequenceCounts::Whole);
        let padded_flops = flops + u128::from(padding);
        let plain = figures_of(scope, &counts(tokens, tokens, flops, flops), SECOND);
        let padded = figures_of(scope, &counts(tokens, tokens + padding, flops, padded_flops), SECOND);
        prop_assert_eq!(&plain.mfu, &padded.mfu);
        prop_assert_eq!(plain.tokens_per_second, padded.tokens_per_second);
        prop_assert!(plain.hfu.unwrap() <= padded.hfu.unwrap());
        prop_assert_eq!(padded.executed_flops - plain.executed_flops, 2 * u128::from(padding));
        prop_assert!(padded.batch_efficiency.unwrap() < 1.0);
        prop_assert_eq!(plain.batch_efficiency, Some(1.0));
    }

    /// Sums of large counts over many ranks come back to the last FLOP.
    #[test]
    fn sums_are_exact(ranks in 1u64..5000, tokens in 0u64..1 << 40, useful in 0u128..1 << 77, more in 0u128..1 << 70) {
        let scope = scope(ranks, (1, 1, 1), RankCounts::FullModel, SequenceCounts::Whole);
        let mut meter = ThroughputMeter::new(scope, vec![peak("bf16", 989.4)]).unwrap();
        let one = step(&mut meter, &counts(tokens, tokens, useful, useful + more), SECOND);
        let sums: Vec<f64> = one.sums().iter().map(|n| n * ranks as f64).collect();
        let reduced = one.reduced(&sums, 1).unwrap();
        prop_assert_eq!(reduced.counts.tokens, tokens * ranks);
        prop_assert_eq!(reduced.counts.useful_flops[0], useful * u128::from(ranks));
        prop_assert_eq!(reduced.counts.executed_flops[0], (useful + more) * u128::from(ranks));
    }
}
