"""Times calls on one device. PyTorch is imported by who calls."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TARGET_S = 200e-6
"""A burst lasts so long at least: clocks and events are no finer than a microsecond."""
WARM_UP = 3
CHUNK_S = 0.05
SETTLED = 0.3
"""Of a sustained run, the last part that counts: by then clock and temperature hold."""


@dataclass
class Measurement:
    """One call's time."""

    us: float
    spread: float
    repeats: int


def summary(times_us: list[float]) -> Measurement:
    """The median, and the median absolute deviation as a standard deviation, over it."""
    middle = statistics.median(times_us)
    apart = statistics.median(abs(us - middle) for us in times_us)
    return Measurement(middle, 1.4826 * apart / middle if middle > 0 else 0.0, len(times_us))


class Timer:
    """Times on a GPU with events, on a CPU with the clock."""

    def __init__(self, torch: Any, device: str, reps: int) -> None:
        self.torch, self.device, self.reps = torch, device, reps
        self.is_cuda = device == "cuda"
        self._flush = None
        if self.is_cuda:
            cache = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 64 << 20)
            self._flush = torch.empty(2 * cache, dtype=torch.int8, device="cuda")

    def sync(self) -> None:
        """Waits for the device."""
        if self.is_cuda:
            self.torch.cuda.synchronize()

    def span_s(self, run: Callable[[], object]) -> float:
        """Seconds from the start to the end of what `run` enqueues."""
        if not self.is_cuda:
            start = time.perf_counter()
            run()
            return time.perf_counter() - start
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3

    def burst(self, calls: list[Callable[[], object]]) -> Measurement:
        """A few calls after a warm-up, each round with a cold L2. ``calls`` do the same on operands of their own."""
        for index in range(WARM_UP):
            calls[index % len(calls)]()
        self.sync()
        once = max(self.span_s(calls[0]), 1e-7)
        inner = max(1, min(1000, round(TARGET_S / once)))

        def many() -> None:
            for index in range(inner):
                calls[index % len(calls)]()

        run = self._captured(many) if self.is_cuda else many
        times = []
        for _ in range(self.reps):
            if self._flush is not None:
                self._flush.zero_()
            times.append(self.span_s(run) / inner * 1e6)
        return summary(times)

    def _captured(self, many: Callable[[], None]) -> Callable[[], object]:
        """As a graph, so that the host's launches are not in the time; as it is where a call cannot be captured."""
        torch = self.torch
        try:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                many()
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                many()
        except RuntimeError:
            torch.cuda.synchronize()
            return many
        graph.replay()
        torch.cuda.synchronize()
        return graph.replay

    def sustained(self, calls: list[Callable[[], object]], seconds: float) -> Measurement:
        """One call after the other for so long; of the chunks the last ones count."""
        for call in calls:
            call()
        self.sync()
        once = max(self.span_s(calls[0]), 1e-7)
        inner = max(1, round(CHUNK_S / once))

        def chunk() -> None:
            for index in range(inner):
                calls[index % len(calls)]()

        times: list[tuple[float, float]] = []
        start = time.monotonic()
        while not times or time.monotonic() - start < seconds:
            times.append((time.monotonic() - start, self.span_s(chunk) / inner * 1e6))
        first = (1 - SETTLED) * seconds
        settled = [us for at, us in times if at >= first] or [times[-1][1]]
        return summary(settled)


def software(torch: Any, device: str) -> str:
    """Versions, in one line."""
    parts = [f"torch {torch.__version__}"]
    if device == "cuda":
        parts.append(f"CUDA {torch.version.cuda}")
        try:
            parts.append("NCCL " + ".".join(map(str, torch.cuda.nccl.version())))
        except (AttributeError, RuntimeError):
            pass
    return ", ".join(parts)


def conditions(device: str) -> str:
    """Driver, power limit and largest clock as ``nvidia-smi`` says; empty where it is not there."""
    if device != "cuda":
        return ""
    query = ["driver_version", "power.limit", "clocks.max.sm", "clocks.max.mem"]
    command = ["nvidia-smi", f"--query-gpu={','.join(query)}", "--format=csv,noheader", "--id=0"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    cells = [cell.strip() for cell in answer.strip().splitlines()[0].split(",")] if answer.strip() else []
    names = ["driver", "power limit", "SM clock up to", "memory clock up to"]
    return ", ".join(f"{name} {cell}" for name, cell in zip(names, cells, strict=False))
