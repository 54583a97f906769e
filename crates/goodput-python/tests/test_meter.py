"""The meter, with the test as the collective."""

import pytest

from fleet_goodput import GoodputError, ThroughputMeter
from fleet_goodput.meter import log_values

TERA = 10**12


class Arriving:
    """A reduction that has arrived when the test says so."""

    def __init__(self, step, ranks=1):
        self.ready = False
        self.sums = [ranks * n for n in step.sums]
        self.memory = step.peak_memory_bytes

    def is_ready(self):
        return self.ready

    def result(self):
        return self.sums, self.memory


def test_world_of_eight_counts_its_replica_once():
    meter = ThroughputMeter(8, tensor_parallel=2, context_parallel=2, peak_flops={"bf16": 989.4e12})
    assert (meter.sum_group, meter.summed_ranks) == ("data_parallel", 2)
    meter.micro_batch(tokens=4000, executed_tokens=4096, flops=8 * TERA, executed_flops=9 * TERA, loss_sum=8000.0)
    step = meter.end_step(elapsed_s=1.0, peak_memory_bytes=7)
    figures = meter.figures(step, [2 * n for n in step.sums], 9)
    assert figures.useful_tflops_per_device == 2.0
    assert figures.tokens_per_second == 8000.0
    assert figures.tokens_per_second_per_device == 1000.0
    assert figures.mfu == pytest.approx(2 / 989.4)
    assert figures.hfu == pytest.approx(2.25 / 989.4)
    assert figures.batch_efficiency == 4000 / 4096
    assert (figures.loss, figures.peak_memory_bytes) == (2.0, 9)
    rows = meter.breakdown(figures, [8 * TERA] * 8)
    assert [row.tflops_per_second for row in rows] == [2.0] * 8
    assert sum(row.flops for row in rows) * 8 * 10**9 == figures.useful_flops * 8 * rows[0].device_ns
    with pytest.raises(GoodputError, match="every rank of a replica must count the same"):
        meter.breakdown(figures, [4 * TERA] * 8)


def test_the_shards_factor_is_put_back_once():
    meter = ThroughputMeter(4, tensor_parallel=4, rank_counts="tensor_shard", peak_flops={"bf16": 100e12})
    meter.micro_batch(tokens=10, flops=2 * TERA)
    step = meter.end_step(elapsed_s=1.0)
    assert meter.figures(step, step.sums, 0).useful_tflops_per_device == 2.0


def test_dtypes_have_their_own_peaks():
    meter = ThroughputMeter(1, device="NVIDIA H100 80GB HBM3", dtypes=["bf16", "fp8"])
    assert dict(meter.peak_flops)["bf16"] == 989.4e12
    meter.micro_batch(tokens=1, flops={"bf16": 100 * TERA, "fp8": 200 * TERA})
    step = meter.end_step(elapsed_s=1.0)
    expected = 100 / 989.4 + 200e12 / dict(meter.peak_flops)["fp8"]
    assert meter.figures(step, step.sums, 0).mfu == pytest.approx(expected)
    with pytest.raises(GoodputError, match="expected FLOPs by dtype"):
        meter.micro_batch(tokens=1, flops=1)
    with pytest.raises(GoodputError, match="none of the meter's dtypes"):
        meter.micro_batch(tokens=1, flops={"fp4": 1})


def test_no_device_no_mfu():
    meter = ThroughputMeter(1)
    meter.micro_batch(tokens=1, flops=TERA)
    step = meter.end_step(elapsed_s=1.0)
    figures = meter.figures(step, step.sums, 0)
    assert figures.mfu is None and "not known" in figures.mfu_refused
    assert "perf/mfu" not in log_values(figures)
    with pytest.raises(GoodputError):
        ThroughputMeter(1, device="Imaginary 9000")
    with pytest.raises(GoodputError, match="not both"):
        ThroughputMeter(1, device="NVIDIA H100 80GB HBM3", peak_flops={"bf16": 1e12})


def test_above_the_peak_is_refused_with_causes():
    meter = ThroughputMeter(1, peak_flops={"bf16": 1e12})
    meter.micro_batch(tokens=1, flops=2 * TERA)
    step = meter.end_step(elapsed_s=1.0)
    figures = meter.figures(step, step.sums, 0)
    assert figures.mfu is None and "too few devices" in figures.mfu_refused


def test_deferred_log_never_waits():
    meter = ThroughputMeter(1, peak_flops={"bf16": 1e15})
    reductions = []
    for _ in range(3):
        meter.micro_batch(tokens=1, flops=TERA)
        step = meter.end_step(elapsed_s=1.0)
        reductions.append(Arriving(step))
        assert meter.log(step, reductions[-1]) == []
    assert meter.pending_steps == 3
    for reduction in reductions:
        reduction.ready = True
    meter.micro_batch(tokens=1, flops=TERA)
    step = meter.end_step(elapsed_s=1.0)
    figures = meter.log(step, Arriving(step))
    assert [f.step for f in figures] == [0, 1, 2]
    assert [f.lag_steps for f in figures] == [3, 2, 1]
    assert all(f.log_wait_s < 0.1 for f in figures)
    (last,) = meter.drain()
    assert last.step == 3
    window = meter.over([*figures, last])
    assert (window.optimizer_steps, window.tokens, window.elapsed_s) == (4, 4, 4.0)


def test_a_reduction_that_rounds_is_refused():
    meter = ThroughputMeter(2)
    meter.micro_batch(tokens=16_777_217, flops=123_456_789_012_345)
    step = meter.end_step(elapsed_s=1.0)
    with pytest.raises(GoodputError, match="float64"):
        meter.figures(step, [n / 2 for n in step.sums], 0)
    with pytest.raises(GoodputError, match="entries"):
        meter.figures(step, step.sums[1:], 0)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (dict(world_size=8, tensor_parallel=3), "no multiple"),
        (dict(world_size=0), "world_size is 0"),
        (dict(world_size=1, rank_counts="half"), "expected one of"),
        (dict(world_size=1, sequence_counts="half"), "expected whole"),
        (dict(world_size=1, peak_flops={"bf16": 0.0}), "above zero"),
        (dict(world_size=1, peak_flops={}), "0 dtypes"),
    ],
)
def test_meters_that_cannot_be(arguments, why):
    with pytest.raises(GoodputError, match=why):
        ThroughputMeter(**arguments)


def test_counts_that_cannot_be():
    meter = ThroughputMeter(1)
    with pytest.raises(GoodputError, match="more than executed_tokens"):
        meter.micro_batch(tokens=2, executed_tokens=1, flops=1)
    with pytest.raises(OverflowError):
        meter.micro_batch(tokens=-1, flops=1)
    with pytest.raises(GoodputError, match="without a micro-batch"):
        meter.end_step()
    meter.micro_batch(tokens=1, flops=1)
    with pytest.raises(GoodputError, match="elapsed_s"):
        meter.end_step(elapsed_s=float("nan"))
