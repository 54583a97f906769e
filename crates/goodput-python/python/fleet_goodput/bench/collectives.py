"""Exchanges under ``torchrun``: sizes and times as nccl-tests counts them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .measure import Timer, summary
from .plan import Row


def world() -> tuple[int, int, int, int]:
    """Rank, ranks, nodes and the rank on this node, as ``torchrun`` says; one rank without it."""
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    local = int(os.environ.get("LOCAL_WORLD_SIZE", str(ranks)))
    return int(os.environ.get("RANK", "0")), ranks, max(ranks // max(local, 1), 1), int(os.environ.get("LOCAL_RANK", "0"))


def call(torch: Any, device: str, row: Row) -> Callable[[], object]:
    """The exchange of a row. ``bytes``: one rank's buffer of an all-reduce and an all-to-all, the whole of the others."""
    dist = torch.distributed
    ranks = dist.get_world_size()
    count = max(int(str(row["bytes"])) // 2 // ranks, 1) * ranks
    whole = torch.randn(count, device=device, dtype=torch.float32).to(torch.bfloat16)
    part = whole[: count // ranks].clone()
    kind = row["kind"]
    if kind == "all_reduce":
        return lambda: dist.all_reduce(whole)
    if kind == "all_gather":
        return lambda: dist.all_gather_into_tensor(whole, part)
    if kind == "reduce_scatter":
        return lambda: dist.reduce_scatter_tensor(part, whole)
    if kind == "all_to_all":
        other = torch.empty_like(whole)
        return lambda: dist.all_to_all_single(other, whole)
    if dist.get_rank() == 0:
        return lambda: dist.send(whole, 1)
    return lambda: dist.recv(whole, 0)


def measure(torch: Any, timer: Timer, device: str, row: Row) -> tuple[float, float, int]:
    """Time in us (the slowest rank's), its spread, repeats."""
    run = call(torch, device, row)
    for _ in range(5):
        run()
    timer.sync()
    inner = 20 if int(str(row["bytes"])) <= 1 << 24 else 5
    times = []
    for _ in range(timer.reps):
        torch.distributed.barrier()

        def many() -> None:
            for _ in range(inner):
                run()

        spent = torch.tensor([timer.span_s(many) / inner * 1e6], device=device)
        torch.distributed.all_reduce(spent, op=torch.distributed.ReduceOp.MAX)
        times.append(float(spent.item()))
    found = summary(times)
    return found.us, found.spread, found.repeats
