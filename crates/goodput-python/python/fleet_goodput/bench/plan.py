"""What is measured, in what order, and about how long it takes. No PyTorch here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

Row = dict[str, object]

GROUPS = ("gemm", "attention", "memory", "optimizer", "copy", "host", "collectives")
"""What ``--only`` chooses from."""

BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "tf32": 4}

# Only to say beforehand how long a plan takes: about an H100.
ASSUMED_FLOPS = {"cuda": 4e14, "cpu": 5e10}
ASSUMED_BYTES = {"cuda": 2e12, "cpu": 1e10}
ASSUMED_SETUP_S = 0.05


class PlanError(Exception):
    """A plan that cannot be, with what to do."""


@dataclass
class Model:
    """The layers of a decoder, as its products see them."""

    width: int
    heads: int
    kv_heads: int
    head_dim: int
    inner: int
    vocabulary: int
    gated: bool = True
    experts: int = 0
    active: int = 0
    expert_inner: int = 0

    @classmethod
    def from_config(cls, path: str | Path) -> Model:
        """Of a Hugging Face ``config.json``."""
        try:
            config = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise PlanError(f"--model {path}: {error.strerror}; give the path of a Hugging Face config.json") from error
        except ValueError as error:
            raise PlanError(f"--model {path}: no JSON: {error}") from error
        config = config.get("text_config", config)

        def need(*names: str) -> int:
            for name in names:
                value = config.get(name)
                if isinstance(value, int) and value > 0:
                    return value
            raise PlanError(f"--model {path}: field {names[0]} is missing; give a decoder's config.json")

        width, heads = need("hidden_size", "n_embd"), need("num_attention_heads", "n_head")
        return cls(
            width=width,
            heads=heads,
            kv_heads=config.get("num_key_value_heads") or heads,
            head_dim=config.get("head_dim") or width // heads,
            inner=config.get("intermediate_size") or config.get("n_inner") or 4 * width,
            vocabulary=need("vocab_size"),
            gated="silu" in str(config.get("hidden_act", "")) or "gated" in str(config.get("hidden_act", "")),
            experts=config.get("num_local_experts") or config.get("num_experts") or config.get("n_routed_experts") or 0,
            active=config.get("num_experts_per_tok") or 0,
            expert_inner=config.get("moe_intermediate_size") or config.get("intermediate_size") or 0,
        )


@dataclass
class Request:
    """What a person asks for."""

    device: str = "cuda"
    device_name: str = ""
    dtypes: list[str] = field(default_factory=lambda: ["bf16"])
    only: list[str] = field(default_factory=lambda: list(GROUPS))
    model: Model | None = None
    tp: int = 1
    ep: int = 1
    sequence: int = 4096
    micro: int = 1
    burst: bool = True
    sustained_s: float = 0.0
    reps: int = 10
    memory_bytes: float = 70e9
    ranks: int = 1
    nodes: int = 1
    tiny: bool = False
    attention_kernel: str = "flash2"


def groups(text: str) -> list[str]:
    """The groups of ``--only``."""
    names = text.split(",")
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        raise PlanError(f"--only {','.join(unknown)}: choose from {', '.join(GROUPS)}")
    return names


def plan(request: Request) -> list[Row]:
    """Rows without their times, the most useful first: the model's own shapes, then a grid from coarse to fine."""
    parts = {
        "gemm": _gemm,
        "attention": _attention,
        "memory": _memory,
        "optimizer": _optimizer,
        "copy": _copy,
        "host": _host,
        "collectives": _collectives,
    }
    rows: list[Row] = []
    for name in GROUPS:
        if name in request.only:
            rows += parts[name](request)
    rows = [row for row in rows if operand_bytes(row) < 0.4 * request.memory_bytes]
    states: list[Row] = []
    if request.burst:
        states += [{**row, "state": "burst"} for row in rows]
    if request.sustained_s > 0:
        states += [{**row, "state": "sustained"} for row in rows if _is_worth_sustaining(row)]
    named = [{"device": request.device_name, **row} for row in states]
    # The coarse grid comes again in the fine one.
    return list({tuple(row.items()): row for row in named}.values())


def _is_worth_sustaining(row: Row) -> bool:
    """Arithmetic of some length: what the power limit slows down. A forward pass tells as much as a gradient."""
    return row["kind"] in ("gemm", "attention") and row["pass"] == "forward" and flops(row) >= 1e10


def _powers(first: int, last: int, step: int = 1) -> list[int]:
    return [1 << log2 for log2 in range(first, last + 1, step)]


def _gemm(request: Request) -> Iterator[Row]:
    tokens = request.micro * request.sequence
    shapes: list[tuple[int, int, int]] = []
    if (model := request.model) is not None:
        tp = request.tp
        kv = max(model.kv_heads // tp, 1)
        qkv = (model.heads // tp + 2 * kv) * model.head_dim
        up = (2 if model.gated else 1) * model.inner // tp
        shapes += [
            (tokens, qkv, model.width),
            (tokens, model.width, model.heads // tp * model.head_dim),
            (tokens, up, model.width),
            (tokens, model.width, model.inner // tp),
            (tokens, model.vocabulary // tp, model.width),
        ]
    if request.tiny:
        grid = [(64, 64, 64), (128, 64, 64)]
    else:
        coarse = _powers(10, 14, 2)
        fine = _powers(10, 14)
        grid = [(m, n, k) for lengths in (coarse, fine) for m in lengths for n in lengths for k in lengths]
        grid += [(m, n, k) for m in _powers(4, 9) for n in coarse for k in coarse]
    for dtype in request.dtypes:
        for m, n, k in [*shapes, *grid]:
            for direction in ("forward", "dgrad", "wgrad"):
                yield {"kind": "gemm", "dtype": dtype, "pass": direction, "m": m, "n": n, "k": k}
        if model is not None and model.experts > 1:
            experts = model.experts // request.ep
            each = max(tokens * request.ep * model.active // model.experts, 1)
            up = (2 if model.gated else 1) * model.expert_inner
            for n, k in ((up, model.width), (model.width, model.expert_inner)):
                for direction in ("forward", "dgrad", "wgrad"):
                    row = {"kind": "grouped_gemm", "dtype": dtype, "pass": direction, "m": each, "n": n, "k": k}
                    yield {**row, "experts": experts}


def _attention(request: Request) -> Iterator[Row]:
    shapes: list[tuple[int, int, int, int, int]] = []
    if (model := request.model) is not None:
        heads, kv = model.heads // request.tp, max(model.kv_heads // request.tp, 1)
        shapes.append((request.micro, heads, kv, request.sequence, model.head_dim))
    if request.tiny:
        shapes.append((1, 2, 2, 64, 32))
    else:
        shapes += [(1, heads, heads, length, 128) for length in _powers(10, 15) for heads in (8, 16, 32)]
        shapes += [(1, 32, 8, length, 128) for length in _powers(10, 15)]
        shapes += [(1, 16, 16, length, 64) for length in _powers(10, 14)]
    for dtype in request.dtypes:
        if BYTES[dtype] != 2 and request.device != "cpu":
            continue
        for batch, heads, kv, length, head_dim in shapes:
            for direction in ("forward", "backward"):
                yield {
                    "kind": "attention", "dtype": dtype, "pass": direction, "kernel": request.attention_kernel,
                    "batch": batch, "heads": heads, "kv_heads": kv, "queries": length, "keys": length,
                    "head_dim": head_dim, "value_dim": head_dim, "mask": "causal",
                }  # fmt: skip


MEMORY_KINDS = ("layer_norm", "rms_norm", "rope", "gated_activation", "activation", "residual", "softmax", "cross_entropy")


def _memory(request: Request) -> Iterator[Row]:
    sizes = [1 << 12] if request.tiny else _powers(18, 29)
    for kind in MEMORY_KINDS:
        for values in sizes:
            for direction in ("forward", "backward"):
                # One kernel each in PyTorch, other than these, which are several.
                several = kind in ("rms_norm", "rope", "gated_activation", "cross_entropy")
                row = {"kind": kind, "dtype": "bf16", "pass": direction, "values": values}
                yield {**row, "kernel": "eager" if several else "fused"}


def _optimizer(request: Request) -> Iterator[Row]:
    for values in [1 << 12] if request.tiny else _powers(20, 30):
        yield {"kind": "adam", "dtype": "bf16", "pass": "forward", "kernel": "fused", "values": values}


def _copy(request: Request) -> Iterator[Row]:
    for size in [1 << 16] if request.tiny else _powers(20, 33):
        yield {"kind": "copy", "bytes": size}


def _host(request: Request) -> Iterator[Row]:
    yield {"kind": "host", "kernel": "eager", "pass": "forward"}
    yield {"kind": "host", "kernel": "eager", "pass": "backward"}
    if request.device == "cuda":
        yield {"kind": "host", "kernel": "graph", "pass": "forward"}


COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_receive")


def _collectives(request: Request) -> Iterator[Row]:
    if request.ranks < 2:
        return
    for kind in COLLECTIVES:
        if kind == "send_receive" and request.ranks != 2:
            continue
        for size in [1 << 12, 1 << 16] if request.tiny else _powers(10, 31):
            yield {
                "kind": kind, "dtype": "bf16", "ranks": request.ranks, "nodes": request.nodes, "bytes": size,
            }  # fmt: skip


def _int(row: Row, name: str) -> int:
    value = row.get(name, 0)
    return int(value) if isinstance(value, (int, str)) and value != "" else 0


def flops(row: Row) -> float:
    """FLOPs of one call; 0 for what bytes bound."""
    if row["kind"] in ("gemm", "grouped_gemm"):
        return 2.0 * max(_int(row, "experts"), 1) * _int(row, "m") * _int(row, "n") * _int(row, "k")
    if row["kind"] == "attention":
        pairs = _int(row, "queries") * _int(row, "keys") / 2
        products = 2 if row["pass"] == "forward" else 5
        return 2.0 * products * _int(row, "batch") * _int(row, "heads") * pairs * _int(row, "head_dim")
    return 0.0


def operand_bytes(row: Row) -> float:
    """Bytes that operands and results of one call hold."""
    kind = row["kind"]
    width = BYTES.get(str(row.get("dtype", "bf16")), 2)
    if kind in ("gemm", "grouped_gemm"):
        m, n, k = (_int(row, name) for name in "mnk")
        return float(width * max(_int(row, "experts"), 1) * (m * k + n * k + m * n))
    if kind == "attention":
        heads = 2 * _int(row, "heads") + 2 * _int(row, "kv_heads")
        times = 1 if row["pass"] == "forward" else 3
        return float(times * width * _int(row, "batch") * _int(row, "queries") * heads * _int(row, "head_dim"))
    if kind == "adam":
        return 16.0 * _int(row, "values")
    if "values" in row:
        # With a graph for the backward pass, and fp32 copies of some.
        return 16.0 * _int(row, "values")
    if kind == "host":
        return 0.0
    return 2.0 * _int(row, "bytes")


def estimated_s(row: Row, request: Request) -> float:
    """About how long a measurement takes, with its setup."""
    if row.get("state") == "sustained":
        return request.sustained_s + ASSUMED_SETUP_S
    call = flops(row) / ASSUMED_FLOPS[request.device] + operand_bytes(row) / ASSUMED_BYTES[request.device] + 20e-6
    return (request.reps + 3) * max(call, 200e-6) + operand_bytes(row) / 2e11 + ASSUMED_SETUP_S


def within(rows: Iterable[Row], request: Request, budget_s: float) -> list[Row]:
    """The first rows that fit into a budget of time."""
    chosen, sum_s = [], 0.0
    for row in rows:
        sum_s += estimated_s(row, request)
        if sum_s > budget_s:
            break
        chosen.append(row)
    return chosen
