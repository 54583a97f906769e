"""``python -m fleet_goodput.bench``."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from . import collectives
from .plan import GROUPS, Model, PlanError, Request, Row, estimated_s, groups, plan, within
from .progress import Progress, clock
from .table import Table, TableError

EPILOG = """examples:
  python -m fleet_goodput.bench --dry-run --model config.json --tp 8
  python -m fleet_goodput.bench -o bench.csv --model config.json --tp 8 --budget 30
  python -m fleet_goodput.bench -o bench.csv --only gemm,attention --sustained 5
  torchrun --nproc-per-node 8 -m fleet_goodput.bench -o bench.csv --only collectives
  goodput calibrate bench.csv -o ours.tables

A run that was stopped goes on with the same command: what the file holds is not measured again. docs/calibrate.md says
what is timed and how.
"""


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m fleet_goodput.bench",
        description="Measures kernels, exchanges and the host with PyTorch, as the table that goodput calibrate imports.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("-o", "--output", default="bench.csv", metavar="FILE", help="the table; rows are added to it [bench.csv]")
    add("--only", metavar="GROUPS", help=f"of {','.join(GROUPS)}, separated by commas [all]")
    add("--model", metavar="CONFIG", help="a Hugging Face config.json: its layers' shapes come first")
    add("--tp", type=int, default=1, metavar="N", help="tensor-parallel degree of those shapes [1]")
    add("--ep", type=int, default=1, metavar="N", help="expert-parallel degree of those shapes [1]")
    add("--sequence", type=int, default=4096, metavar="N", help="tokens of a sequence [4096]")
    add("--micro", type=int, default=1, metavar="N", help="sequences of a micro-batch [1]")
    add("--dtype", default="bf16", metavar="NAMES", help="of products and attention: bf16, fp16, tf32, fp32 [bf16]")
    add("--attention", choices=["flash2", "flash3", "flash4"], default="flash2",
        help="flash2: PyTorch's own; flash3, flash4: flash_attn_interface must be installed")  # fmt: skip
    add("--burst", action=argparse.BooleanOptionalAction, default=True, help="a few calls after a warm-up")
    add("--sustained", type=float, default=0.0, metavar="SECONDS",
        help="also loop each long call for so long, at the clock that the power limit allows [not]")  # fmt: skip
    add("--reps", type=int, default=10, metavar="N", help="repetitions of a burst [10]")
    add("--budget", type=float, metavar="MINUTES", help="measure what fits into so long, the most useful first")
    add("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: tiny shapes, to try the program [cuda]")
    add("--dry-run", action="store_true", help="list what would be measured and how long it takes; needs no GPU")
    return made


def request(args: argparse.Namespace, ranks: int, nodes: int) -> Request:
    """What the options ask for."""
    for name in ("tp", "ep", "sequence", "micro", "reps"):
        if getattr(args, name) < 1:
            raise PlanError(f"--{name} {getattr(args, name)}: expected 1 or more")
    dtypes = args.dtype.split(",")
    unknown = [name for name in dtypes if name not in ("bf16", "fp16", "tf32", "fp32")]
    if unknown:
        raise PlanError(f"--dtype {','.join(unknown)}: expected bf16, fp16, tf32 or fp32")
    # Under torchrun each rank would measure the same kernels; exchanges need several.
    default = ["collectives"] if ranks > 1 else [name for name in GROUPS if name != "collectives"]
    return Request(
        device=args.device,
        dtypes=dtypes,
        only=groups(args.only) if args.only else default,
        model=Model.from_config(args.model) if args.model else None,
        tp=args.tp,
        ep=args.ep,
        sequence=args.sequence,
        micro=args.micro,
        burst=args.burst,
        sustained_s=args.sustained,
        reps=args.reps,
        ranks=ranks,
        nodes=nodes,
        tiny=args.device == "cpu",
        attention_kernel=args.attention,
    )


def words(row: Row) -> str:
    """A row for people."""
    skipped = ("device", "kind", "state")
    return " ".join([str(row["kind"]), *(f"{k}={v}" for k, v in row.items() if k not in skipped), str(row["state"])])


def main(arguments: list[str] | None = None) -> int:
    """Runs it: 0 measured, 1 measured with calls that failed, 2 cannot measure."""
    args = parser().parse_args(arguments)
    rank, ranks, nodes, local = collectives.world()
    try:
        asked = request(args, ranks, nodes)
        if args.dry_run:
            return dry_run(args, asked)
        return bench(args, asked, rank, local)
    except (PlanError, TableError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def chosen(rows: list[Row], args: argparse.Namespace, asked: Request) -> list[Row]:
    """What fits into the budget."""
    return within(rows, asked, 60 * args.budget) if args.budget else rows


def dry_run(args: argparse.Namespace, asked: Request) -> int:
    """Lists the plan."""
    rows = chosen(plan(asked), args, asked)
    for row in rows:
        print(words(row))
    left = sum(estimated_s(row, asked) for row in rows)
    print(f"{len(rows)} measurements, about {clock(left)} on an H100", file=sys.stderr)
    return 0


def bench(args: argparse.Namespace, asked: Request, rank: int, local: int) -> int:
    """Measures what is not in the table yet."""
    try:
        import torch
    except ImportError:
        print("error: PyTorch is not installed; --dry-run lists the plan without it", file=sys.stderr)
        return 2
    if asked.device == "cuda" and not torch.cuda.is_available():
        print("error: PyTorch sees no GPU; --device cpu tries the program, --dry-run lists the plan", file=sys.stderr)
        return 2
    from . import measure

    if asked.device == "cuda":
        torch.cuda.set_device(local)
        asked.device_name = torch.cuda.get_device_name(local)
        asked.memory_bytes = float(torch.cuda.get_device_properties(local).total_memory)
    else:
        asked.device_name, asked.memory_bytes = "cpu", 4e9
    if asked.ranks > 1:
        torch.distributed.init_process_group("nccl" if asked.device == "cuda" else "gloo")
    table = Table(args.output) if rank == 0 else None
    rows = chosen(table.pending(plan(asked)), args, asked) if table else []
    if asked.ranks > 1:
        # Every rank measures the same rows, whatever the first one's table holds.
        shared = [rows]
        torch.distributed.broadcast_object_list(shared, src=0)
        rows = shared[0]
    if table and table.torn:
        print(f"{args.output}: its last line was cut off, and is measured again", file=sys.stderr)
    notes = {"software": measure.software(torch, asked.device), "conditions": measure.conditions(asked.device)}
    timer = measure.Timer(torch, asked.device, asked.reps)
    total = sum(estimated_s(row, asked) for row in rows)
    progress = Progress(total, len(rows)) if rank == 0 else None
    failed = 0
    end = time.monotonic() + 60 * args.budget if args.budget and asked.ranks == 1 else None
    try:
        for row in rows:
            if end is not None and time.monotonic() > end:
                break
            try:
                us, spread, repeats = one(torch, timer, asked, row)
            except Exception as error:
                if asked.ranks > 1:
                    raise
                failed += 1
                print(f"\n{words(row)}: not measured: {str(error).splitlines()[0]}", file=sys.stderr)
                continue
            finally:
                if asked.device == "cuda":
                    torch.cuda.empty_cache()
            if table:
                table.append({**row, "time_us": f"{us:.7g}", "spread": f"{spread:.4f}", "repeats": repeats, **notes})
            if progress:
                progress.step(estimated_s(row, asked), words(row))
    except KeyboardInterrupt:
        print(f"\nstopped: the same command goes on; {args.output} holds what was measured", file=sys.stderr)
        return 130
    finally:
        if progress:
            progress.close()
        if asked.ranks > 1:
            torch.distributed.destroy_process_group()
    if table:
        print(f"{args.output}: {len(table.done)} rows; next: goodput calibrate {args.output} -o ours.tables",
              file=sys.stderr)  # fmt: skip
    return 1 if failed else 0


def one(torch: Any, timer: Any, asked: Request, row: Row) -> tuple[float, float, int]:
    """Time in us, spread, repeats of one row."""
    from . import kernels, measure

    if "ranks" in row:
        return collectives.measure(torch, timer, asked.device, row)
    if row["kind"] == "host":
        found = measure.summary([kernels.host_us(torch, asked.device, row) for _ in range(5)])
    else:
        calls = kernels.calls(torch, asked.device, row)
        if row["state"] == "sustained":
            found = timer.sustained(calls, asked.sustained_s)
        else:
            found = timer.burst(calls)
    return found.us, found.spread, found.repeats
