"""Plain PyTorch loops: the collectives of the meter.

    meter = ThroughputMeter(world_size, tensor_parallel=tp, device=torch.cuda.get_device_name())
    for step, batch in recorder.steps(loader):
        ...
        meter.micro_batch(tokens=..., flops=...)
        local = meter.end_step(peak_memory_bytes=torch.cuda.max_memory_allocated())
        for figures in meter.log(local, start_reduction(local, data_parallel_group)):
            logger.log(log_values(figures))

The timeline of a plain loop needs no callback: :meth:`TimelineRecorder.steps` and its contexts are it.
Tested with torch 2.15 on CPUs (gloo).
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from ._native import LocalStep


class StartedReduction:
    """Sums and a maximum on their way to the host. Nothing of it waits until :meth:`result` is called."""

    def __init__(self, step: LocalStep, sum_group: Any, world_group: Any, device: torch.device) -> None:
        self._sums = torch.tensor(step.sums, dtype=torch.float64, device=device)
        self._memory = torch.tensor([step.peak_memory_bytes], dtype=torch.int64, device=device)
        self._works = []
        self._copied: torch.cuda.Event | None = None
        if dist.is_available() and dist.is_initialized():
            self._works = [
                dist.all_reduce(self._sums, dist.ReduceOp.SUM, group=sum_group, async_op=True),
                dist.all_reduce(self._memory, dist.ReduceOp.MAX, group=world_group, async_op=True),
            ]
        if device.type == "cuda":
            self._copy_to_host(device)

    def _copy_to_host(self, device: torch.device) -> None:
        # On a stream of its own: a copy on the loop's stream would wait for the steps queued there.
        stream = torch.cuda.Stream(device)
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            for work in self._works:
                work.wait()
            on_host = [torch.empty_like(t, device="cpu", pin_memory=True) for t in (self._sums, self._memory)]
            for host, tensor in zip(on_host, (self._sums, self._memory)):
                host.copy_(tensor, non_blocking=True)
                tensor.record_stream(stream)
            self._copied = torch.cuda.Event()
            self._copied.record(stream)
        self._sums, self._memory = on_host
        self._works = []

    def is_ready(self) -> bool:
        """Whether :meth:`result` would not wait."""
        if self._copied is not None:
            return self._copied.query()
        return all(work.is_completed() for work in self._works)

    def result(self) -> tuple[list[float], int]:
        """The sums, and the largest peak memory in bytes."""
        if self._copied is not None:
            self._copied.synchronize()
        for work in self._works:
            work.wait()
        return self._sums.tolist(), int(self._memory.item())


def start_reduction(
    step: LocalStep,
    sum_group: Any = None,
    *,
    world_group: Any = None,
    device: torch.device | str | None = None,
) -> StartedReduction:
    """Starts the collectives of one step: SUM of the counts over ``sum_group``, MAX of the peak memory over the world.

    ``sum_group`` is the process group that ``ThroughputMeter.sum_group`` names, ``None`` for the whole world.
    ``device`` is where the backend reduces: the current CUDA device when there is one, else the CPU. Without an
    initialised process group this rank is all there is.
    """
    if device is None:
        device = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")
    return StartedReduction(step, sum_group, world_group, torch.device(device))
