"""The meter's collectives with real torch.distributed: four processes, gloo."""

import pytest

torch = pytest.importorskip("torch")

from fleet_goodput import ThroughputMeter  # noqa: E402
from fleet_goodput.pytorch import start_reduction  # noqa: E402

TERA = 10**12


def rank_main(rank, store, results):
    """World 4: two data-parallel ranks of two tensor-parallel ones. Replica r does (r + 1) TFLOP in 1 s."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=4)
    groups = [torch.distributed.new_group([0, 2]), torch.distributed.new_group([1, 3])]
    meter = ThroughputMeter(4, tensor_parallel=2, peak_flops={"bf16": 10e12})
    figures = []
    for _ in range(3):
        meter.micro_batch(tokens=100, flops=(rank // 2 + 1) * TERA)
        step = meter.end_step(elapsed_s=1.0, peak_memory_bytes=rank)
        figures += meter.log(step, start_reduction(step, groups[rank % 2]))
    figures += meter.drain()
    results.put([(f.step, f.useful_tflops_per_device, f.tokens, f.mfu, f.peak_memory_bytes) for f in figures])
    torch.distributed.destroy_process_group()


def test_sums_over_data_parallel_ranks_only(tmp_path):
    context = torch.multiprocessing.get_context("spawn")
    results = context.Queue()
    ranks = [context.Process(target=rank_main, args=(rank, tmp_path / "store", results)) for rank in range(4)]
    for rank in ranks:
        rank.start()
    expected = [(step, 0.75, 200, 0.075, 3) for step in range(3)]
    for _ in ranks:
        assert results.get(timeout=120) == [pytest.approx(row) for row in expected]
    for rank in ranks:
        rank.join()
        assert rank.exitcode == 0


def test_alone_without_a_process_group():
    meter = ThroughputMeter(1, peak_flops={"bf16": 10e12})
    meter.micro_batch(tokens=100, flops=TERA)
    step = meter.end_step(elapsed_s=1.0, peak_memory_bytes=5)
    reduction = start_reduction(step)
    assert reduction.is_ready()
    assert reduction.result() == (step.sums, 5)
