"""Planned rows as calls of PyTorch. Operands are random normal: constants draw less power and run faster."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from .plan import Row, operand_bytes

Call = Callable[[], object]

COPIES_BYTES = 512e6
MOST_COPIES = 8
HOST_CALLS = 1000


class NotMeasurable(Exception):
    """This PyTorch or device has no such kernel."""


def calls(torch: Any, device: str, row: Row) -> list[Call]:
    """The same call on several operands, so that a small one does not live in the cache."""
    bytes_each = max(operand_bytes(row), 1.0)
    copies = max(1, min(MOST_COPIES, int(COPIES_BYTES / bytes_each))) if device == "cuda" else 1
    return [_call(torch, device, row) for _ in range(copies)]


def _dtype(torch: Any, row: Row) -> Any:
    return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(str(row.get("dtype", "bf16")), torch.float32)


def _call(torch: Any, device: str, row: Row) -> Call:
    kind, backward = str(row["kind"]), row.get("pass") in ("backward",)
    dtype = _dtype(torch, row)

    def normal(*shape: int, grad: bool = False) -> Any:
        return torch.randn(*shape, device=device, dtype=dtype).requires_grad_(grad)

    if kind == "gemm":
        return _product(torch, row, normal, 0)
    if kind == "grouped_gemm":
        return _product(torch, row, normal, int(str(row["experts"])))
    if kind == "attention":
        return _attention(torch, row, normal, backward)
    if kind == "copy":
        source = torch.empty(int(str(row["bytes"])) // 2, dtype=torch.int8, device=device)
        target = torch.empty_like(source)
        return lambda: target.copy_(source)
    if kind == "adam":
        return _adam(torch, device, int(str(row["values"])))
    return _memory(torch, kind, int(str(row["values"])), normal, device, backward)


def _product(torch: Any, row: Row, normal: Callable[..., Any], experts: int) -> Call:
    """Y = X W^T, dX = dY W, dW = dY^T X, with the layouts of a linear layer."""
    m, n, k = (int(str(row[name])) for name in "mnk")
    lead = (experts,) if experts else ()
    product = torch.bmm if experts else torch.mm
    flip = lambda matrix: matrix.transpose(-2, -1)  # noqa: E731
    if row["pass"] == "forward":
        one, other = normal(*lead, m, k), flip(normal(*lead, n, k))
    elif row["pass"] == "dgrad":
        one, other = normal(*lead, m, n), normal(*lead, n, k)
    else:
        one, other = flip(normal(*lead, m, n)), normal(*lead, m, k)
    out = product(one, other)
    return lambda: product(one, other, out=out)


def _attention(torch: Any, row: Row, normal: Callable[..., Any], backward: bool) -> Call:
    batch, heads, kv, length, dim = (
        int(str(row[name])) for name in ("batch", "heads", "kv_heads", "queries", "head_dim")
    )
    grad = backward
    if row["kernel"] in ("flash3", "flash4"):
        try:
            from flash_attn_interface import flash_attn_func
        except ImportError as error:
            raise NotMeasurable(f"{row['kernel']}: flash_attn_interface is not installed") from error
        query, key, value = (normal(batch, length, h, dim, grad=grad) for h in (heads, kv, kv))

        def attend() -> Any:
            out = flash_attn_func(query, key, value, causal=True)
            return out[0] if isinstance(out, tuple) else out
    else:
        query, key, value = (normal(batch, h, length, dim, grad=grad) for h in (heads, kv, kv))
        attention = torch.nn.functional.scaled_dot_product_attention
        same = {} if kv == heads else {"enable_gqa": True}
        flash2 = _flash2(torch) if query.is_cuda else contextlib.nullcontext

        def attend() -> Any:
            # Which kernel runs must be known: FlashAttention 2 on a GPU, never what the library would pick.
            with flash2():
                return attention(query, key, value, is_causal=True, **same)

    if not backward:
        return attend
    return _gradient(torch, attend(), (query, key, value))


def _flash2(torch: Any) -> Callable[[], Any]:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    return lambda: sdpa_kernel(SDPBackend.FLASH_ATTENTION)


def _gradient(torch: Any, out: Any, inputs: tuple[Any, ...]) -> Call:
    """Only the backward pass of something computed once."""
    seed = torch.randn_like(out)
    return lambda: torch.autograd.grad(out, inputs, seed, retain_graph=True)


def _memory(torch: Any, kind: str, values: int, normal: Callable[..., Any], device: str, backward: bool) -> Call:
    functional = torch.nn.functional
    width = min(4096, values)
    rows = max(values // width, 1)
    grad = backward
    x = normal(rows, width, grad=grad)
    weights: tuple[Any, ...] = ()
    if kind == "layer_norm":
        weights = (normal(width, grad=grad), normal(width, grad=grad))
        run = lambda: functional.layer_norm(x, (width,), *weights)  # noqa: E731
    elif kind == "rms_norm":
        weights = (normal(width, grad=grad),)

        def run() -> Any:
            wide = x.float()
            return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weights[0]
    elif kind == "rope":
        cos, sin = normal(rows, width), normal(rows, width)

        def run() -> Any:
            half = width // 2
            return x * cos + torch.cat((-x[:, half:], x[:, :half]), -1) * sin
    elif kind == "gated_activation":
        # `values` come out, twice as many go in.
        x = normal(rows, width, grad=grad)
        up = normal(rows, width, grad=grad)
        weights = (up,)
        run = lambda: functional.silu(x) * up  # noqa: E731
    elif kind == "activation":
        run = lambda: functional.gelu(x, approximate="tanh")  # noqa: E731
    elif kind == "residual":
        other = normal(rows, width, grad=grad)
        weights = (other,)
        run = lambda: x + other  # noqa: E731
    elif kind == "softmax":
        run = lambda: functional.softmax(x, -1)  # noqa: E731
    elif kind == "cross_entropy":
        vocabulary = min(1 << 15, values)
        tokens = max(values // vocabulary, 1)
        x = normal(tokens, vocabulary, grad=grad)
        target = torch.randint(vocabulary, (tokens,), device=device)
        run = lambda: functional.cross_entropy(x.float(), target)  # noqa: E731
    else:
        raise NotMeasurable(f"no call is known for {kind}")
    if not backward:
        return run
    return _gradient(torch, run(), (x, *weights))


def _adam(torch: Any, device: str, values: int) -> Call:
    parameter = torch.nn.Parameter(torch.randn(values, device=device))
    parameter.grad = torch.randn_like(parameter)
    fused = {"fused": True} if device == "cuda" else {}
    optimizer = torch.optim.Adam([parameter], lr=1e-6, **({"capturable": True} if device == "cuda" else {}), **fused)
    optimizer.step()
    return optimizer.step


def host_us(torch: Any, device: str, row: Row) -> float:
    """The host's time to enqueue one small kernel."""
    sync = torch.cuda.synchronize if device == "cuda" else lambda: None
    x = torch.zeros(16, device=device)
    if row["kernel"] == "graph":
        graph = torch.cuda.CUDAGraph()
        x.add_(1)
        sync()
        with torch.cuda.graph(graph):
            for _ in range(HOST_CALLS):
                x.add_(1)
        graph.replay()
        sync()
        start = time.perf_counter()
        graph.replay()
        sync()
        return (time.perf_counter() - start) / HOST_CALLS * 1e6
    if row["pass"] == "forward":
        for _ in range(HOST_CALLS):
            x.add_(1)
        sync()
        start = time.perf_counter()
        for _ in range(HOST_CALLS):
            x.add_(1)
        # Not waited for: the device is not part of it, unless it is slower and the queue fills.
        spent = time.perf_counter() - start
        sync()
        return spent / HOST_CALLS * 1e6
    for _ in range(2):
        y = torch.ones(16, device=device, requires_grad=True)
        out = y
        for _ in range(HOST_CALLS):
            out = out * 1.0001
        seed = torch.ones_like(out)
        sync()
        start = time.perf_counter()
        out.backward(seed)
        spent = time.perf_counter() - start
        sync()
    return spent / HOST_CALLS * 1e6
