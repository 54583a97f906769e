"""The meter inside the training loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from . import _native

if TYPE_CHECKING:
    from typing_extensions import Self


class ThroughputMeter(_native.ThroughputMeter):
    """Counts one rank's steps, and derives the whole job's figures from sums over its ranks.

    The meter starts no collective. At the end of a step it gives a vector (``LocalStep.sums``, float64) that the
    caller sums over ``sum_group``, and a peak memory that the caller reduces with MAX over the world. Additive
    quantities (tokens, FLOPs, samples, loss) are summed over the data-parallel group only, since ranks of one replica
    count the same tokens; intensive ones (MFU, tokens/s a device) are derived from two sums and never averaged;
    figures a device divide by every device, tensor-parallel ranks included.

    Useful FLOPs (real tokens, forward and backward, no recomputation) make the MFU. Executed FLOPs (padding and
    recomputation included) make the HFU. Each is taken at the dense peak of its own dtype.

    Parameters
    ----------
    world_size
        Ranks, one device each.
    tensor_parallel, context_parallel, pipeline_parallel
        Sizes of the groups that share one replica. Fully sharded data parallelism is data parallelism.
    rank_counts
        What the FLOPs that a rank hands in are, of the tokens that it hands in: ``"full_model"`` (form i),
        ``"tensor_shard"`` (form ii: FLOPs / tensor_parallel, put back once), or ``"device_share"`` (one device's equal
        share of its replica).
    sequence_counts
        ``"whole"``: tokens are counted before sequences are split over context ranks. ``"context_shard"``: after, so
        the sum goes over the context group too.
    device
        The accelerator's name as torch, nvidia-smi, JAX or Slurm print it; its peaks come from goodput's catalogue. A
        name that the catalogue does not know is an error that lists near ones.
    dtypes
        Dtypes of the arithmetic (``"bf16"``, ``"fp8"``), in the order of the counts.
    peak_flops
        Instead of ``device``: dense FLOP/s of one device by dtype. With neither, there is no MFU.

    Raises
    ------
    GoodputError
        Sizes that make no world, an unknown device, counts that cannot be, sums that were rounded on the way.

    Examples
    --------
    >>> meter = ThroughputMeter(8, tensor_parallel=2, context_parallel=2, peak_flops={"bf16": 989.4e12})
    >>> meter.micro_batch(tokens=4000, executed_tokens=4096, flops=8 * 10**12)
    >>> step = meter.end_step(elapsed_s=1.0)
    >>> sums = [2 * n for n in step.sums]  # the caller's all-reduce over 2 data-parallel ranks
    >>> meter.figures(step, sums, 0).useful_tflops_per_device
    2.0

    Source: metrics page of the specification (``docs/meter.md``).
    """

    def __new__(
        cls,
        world_size: int,
        *,
        tensor_parallel: int = 1,
        context_parallel: int = 1,
        pipeline_parallel: int = 1,
        rank_counts: Literal["full_model", "tensor_shard", "device_share"] = "full_model",
        sequence_counts: Literal["whole", "context_shard"] = "whole",
        device: str | None = None,
        dtypes: Sequence[str] = ("bf16",),
        peak_flops: Mapping[str, float] | None = None,
    ) -> Self:
        return super().__new__(
            cls,
            world_size,
            tensor_parallel=tensor_parallel,
            context_parallel=context_parallel,
            pipeline_parallel=pipeline_parallel,
            rank_counts=rank_counts,
            sequence_counts=sequence_counts,
            device=device,
            dtypes=list(dtypes),
            peak_flops=None if peak_flops is None else list(peak_flops.items()),
        )


def log_values(figures: _native.Figures) -> dict[str, float]:
    """The figures under the names that loggers use. Utilisations are in percent; what is unknown is left out.

    Per-step time has two names since it is two things: ``perf/step_time`` is of one micro-batch,
    ``perf/optimizer_step_time`` of one optimizer step.
    """
    values = {
        "perf/tokens_per_second": figures.tokens_per_second,
        "perf/tokens_per_second_per_gpu": figures.tokens_per_second_per_device,
        "perf/tflops_per_second": figures.useful_tflops_per_device,
        "perf/executed_tflops_per_second": figures.executed_tflops_per_device,
        "perf/mfu": None if figures.mfu is None else 100.0 * figures.mfu,
        "perf/hfu": None if figures.hfu is None else 100.0 * figures.hfu,
        "perf/step_time": figures.step_time_per_micro_batch_s,
        "perf/optimizer_step_time": figures.step_time_per_optimizer_step_s,
        "perf/peak_memory_bytes": figures.peak_memory_bytes,
        "perf/log_wait_ms": 1e3 * figures.log_wait_s,
        "train/batch_efficiency": figures.batch_efficiency,
        "train/loss": figures.loss,
    }
    return {name: value for name, value in values.items() if value is not None}
