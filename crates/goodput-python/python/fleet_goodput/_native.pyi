from collections.abc import Sequence
from typing import Literal, Protocol

from typing_extensions import Self

class GoodputError(ValueError):
    path: str | None
    line: int | None
    field: str | None
    remedy: str | None

class Reduction(Protocol):
    def is_ready(self) -> bool:
        """Whether ``result`` would not wait."""
    def result(self) -> tuple[Sequence[float], int]:
        """The sums, and the largest peak memory in bytes."""

class LocalStep:
    @property
    def step(self) -> int: ...
    @property
    def sums(self) -> list[float]:
        """float64, to be reduced with SUM over ``ThroughputMeter.sum_group``."""
    @property
    def peak_memory_bytes(self) -> int:
        """To be reduced with MAX over the world."""
    @property
    def tokens(self) -> int: ...
    @property
    def useful_flops(self) -> int: ...
    @property
    def elapsed_s(self) -> float: ...

class Figures:
    """Figures of one or more steps of the whole job. Rates a device divide by every device."""

    @property
    def step(self) -> int: ...
    @property
    def optimizer_steps(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def executed_tokens(self) -> int: ...
    @property
    def samples(self) -> int: ...
    @property
    def useful_flops(self) -> int: ...
    @property
    def executed_flops(self) -> int: ...
    @property
    def elapsed_s(self) -> float: ...
    @property
    def step_time_per_micro_batch_s(self) -> float: ...
    @property
    def step_time_per_optimizer_step_s(self) -> float: ...
    @property
    def tokens_per_second(self) -> float: ...
    @property
    def tokens_per_second_per_device(self) -> float: ...
    @property
    def samples_per_second(self) -> float: ...
    @property
    def useful_tflops_per_device(self) -> float: ...
    @property
    def executed_tflops_per_device(self) -> float: ...
    @property
    def mfu(self) -> float | None:
        """Useful FLOPs at their peaks over the device-time, 0 to 1; None when refused."""
    @property
    def mfu_refused(self) -> str | None:
        """Why there is no MFU."""
    @property
    def hfu(self) -> float | None:
        """Executed FLOPs at their peaks over the device-time, 0 to 1; None when refused."""
    @property
    def hfu_refused(self) -> str | None: ...
    @property
    def batch_efficiency(self) -> float | None:
        """Real over executed tokens."""
    @property
    def loss(self) -> float | None:
        """Loss a real token."""
    @property
    def peak_memory_bytes(self) -> int: ...
    @property
    def log_wait_s(self) -> float:
        """What reading the sums cost the loop. Not about zero: step times are suspect."""
    @property
    def lag_steps(self) -> int:
        """Steps that had ended since."""

class RankRow:
    rank: int
    tflops_per_second: float
    flops: int
    device_ns: int

class ThroughputMeter:
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
        dtypes: list[str] = ...,
        peak_flops: list[tuple[str, float]] | None = None,
    ) -> Self: ...
    def start(self, step: int) -> None:
        """The next step is ``step``, and begins now."""
    def micro_batch(
        self,
        *,
        tokens: int,
        flops: int | dict[str, int],
        executed_tokens: int | None = None,
        executed_flops: int | dict[str, int] | None = None,
        samples: int = 0,
        loss_sum: float = 0.0,
    ) -> None:
        """Adds a micro-batch to the step. ``executed_...`` default to the useful ones: no padding, no recompute."""
    def end_step(self, *, elapsed_s: float | None = None, peak_memory_bytes: int = 0) -> LocalStep:
        """Ends the step, which took the time since the last one ended unless ``elapsed_s`` says otherwise."""
    def log(self, step: LocalStep, reduction: Reduction) -> list[Figures]:
        """Hands in a step with its reduction under way; gives earlier steps whose sums have arrived. Never waits."""
    def drain(self) -> list[Figures]:
        """Every step under way, waiting for its sums: at the end of a run."""
    def figures(self, step: LocalStep, sums: Sequence[float], peak_memory_bytes: int) -> Figures:
        """The figures of a step whose sums are there."""
    def over(self, steps: Sequence[Figures]) -> Figures:
        """The figures over several steps, derived from their sums."""
    def breakdown(self, figures: Figures, rank_flops: Sequence[int]) -> list[RankRow]:
        """``perf_topk``: from what every rank of the world counted, one row each, whose mean is the headline."""
    @property
    def sum_group(self) -> str: ...
    @property
    def summed_ranks(self) -> int: ...
    @property
    def pending_steps(self) -> int: ...
    @property
    def peak_flops(self) -> list[tuple[str, float | None]]: ...

class Recorder:
    def __init__(
        self,
        path: str,
        *,
        job: str | None = None,
        devices: int | None = None,
        device: str | None = None,
        peak_tflops: float | None = None,
        dtype: str | None = None,
        model_flops_per_token: float | None = None,
        convention: str | None = None,
        planned_steps: int | None = None,
        commits: bool = False,
        software: list[tuple[str, str]] = ...,
    ) -> None: ...
    def now(self) -> int: ...
    def step(
        self, step: int, start: int, end: int, input_wait_ns: int = 0, tokens: int = 0, model_flops: int = 0
    ) -> None: ...
    def rank(
        self, step: int, rank: int, host: str, device: int | None, duration_ns: int, input_wait_ns: int = 0
    ) -> None: ...
    def begin_phase(self, kind: str, name: str, start: int) -> None: ...
    def end_phase(self, kind: str, name: str, end: int) -> None: ...
    def phase(self, kind: str, name: str, start: int, end: int) -> None: ...
    def logging(self, start: int, end: int) -> None: ...
    def save(self, step: int, when: int) -> None: ...
    def commit(self, step: int, when: int) -> None: ...
    def restore(self, step: int | None, when: int) -> None: ...
    def resize(self, devices: int, when: int) -> None: ...
    def standby(self, devices: int, when: int) -> None: ...
    def stop(self, cause: str, when: int) -> None: ...
    def sync(self) -> None: ...

class ArrowTable:
    """Rows that pyarrow, polars and pandas take without a copy (Arrow PyCapsule interface)."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...

class Report:
    @property
    def falls_short(self) -> bool: ...
    def json(self) -> str: ...
    def render(self, format: str, width: int) -> str: ...
    def table(self, name: str) -> ArrowTable: ...

def account(request: str, fleet: str | None = None, denominator: str | None = None) -> Report: ...
def timeline(request: str) -> Report: ...
def trace(request: str) -> Report: ...
def predict(request: str) -> Report: ...
def search(request: str) -> Report: ...
def validate(request: str) -> Report: ...
def collect(request: str) -> Report: ...
def explain(request: str) -> Report: ...
def compare(request: str) -> Report: ...
def plan(request: str) -> Report: ...
def baseline_update(request: str) -> Report: ...
def baseline_check(request: str) -> Report: ...
def lint(request: str) -> Report: ...
def serving(request: str) -> Report: ...
def calibrate(request: str) -> Report: ...
def mfu_convert(request: str) -> Report: ...
def mfu_audit(request: str) -> Report: ...
def flops(model: str, training: dict[str, object], batch: dict[str, object]) -> Report: ...

class BatchFlops:
    """FLOPs of one batch, exact."""

    tokens: int
    executed_tokens: int
    useful: int
    """Of real tokens, forward and backward, without recomputation."""
    executed: int
    """With padding and recomputation."""

class FlopCounter:
    def __new__(cls, model: str, training: dict[str, object]) -> Self: ...
    def documents(
        self,
        documents: Sequence[int],
        executed_tokens: int | None = None,
        images: Sequence[tuple[int, int, int]] = ...,
    ) -> BatchFlops:
        """Of documents of these lengths, in a row of ``executed_tokens`` where it is longer than they are."""
    def cu_seqlens(
        self,
        cu_seqlens: Sequence[int],
        padded_cu_seqlens: Sequence[int] | None = None,
        executed_tokens: int | None = None,
        images: Sequence[tuple[int, int, int]] = ...,
    ) -> BatchFlops:
        """Of the documents between cumulative lengths that begin with 0."""
