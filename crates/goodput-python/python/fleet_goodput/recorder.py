"""The job's own log, written from the training loop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TypeVar

from . import _native
from ._native import GoodputError

Batch = TypeVar("Batch")


class TimelineRecorder:
    """Appends to the timeline of one job, which ``goodput timeline`` and :func:`fleet_goodput.timeline` read.

    Every line is one system call, so a crash of the process leaves no half line. A restarted attempt opens the same
    file and goes on with it: its first steps number back to where it resumed, and the accounting sees the rework. One
    process of a job records (rank 0, say); a second recorder is refused with the first one's process and host. The
    lock goes with the process, however it ends.

    Steps count optimizer steps from 0 and never restart: a job that resumes from a checkpoint which holds step 99 goes
    on with 100.

    Parameters
    ----------
    path
        The file, made when it is not there. ``PATH.lock`` beside it is the lock.
    job
        The job's id in the scheduler's records.
    devices
        Active accelerators of the job, spares excluded.
    device, peak_tflops, dtype
        Accelerator name, and the dense peak of one in TFLOP/s for ``dtype``.
    model_flops_per_token, convention
        Model FLOPs of one real token, recomputation and padding excluded, and how they were counted.
    planned_steps
        Steps that the job is to run.
    commits
        True when every commit is recorded, so that steps after the last one are pending.
    software
        Names and versions.
    enabled
        False: nothing is opened or written, so that every rank runs the same code and rank 0 records
        (``enabled=rank == 0``).

    Raises
    ------
    GoodputError
        The file cannot be written, is another job's or no timeline, or another process records this job.

    Examples
    --------
    >>> with TimelineRecorder(path, job="4711", devices=8, commits=True) as recorder:  # doctest: +SKIP
    ...     with recorder.launch("model_build"):
    ...         model = build()
    ...     for step, batch in recorder.steps(loader, tokens=lambda batch: batch["real_tokens"]):
    ...         train_step(batch)
    ...         if step % 100 == 99:
    ...             with recorder.checkpoint(step):
    ...                 save(model)
    ...     recorder.stop("finished")

    Source: ``docs/timeline-format.md``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
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
        software: Mapping[str, str] | None = None,
        enabled: bool = True,
    ) -> None:
        self.path = os.fspath(path)
        self._step: _Step | None = None
        self._stopped = False
        self._undecided: tuple[int, ...] | None = None
        self._recorder: _native.Recorder | None = None
        if not enabled:
            self._recorder = _Silent()  # type: ignore[assignment]
            return
        self._recorder = _native.Recorder(
            self.path,
            job=job,
            devices=devices,
            device=device,
            peak_tflops=peak_tflops,
            dtype=dtype,
            model_flops_per_token=model_flops_per_token,
            convention=convention,
            planned_steps=planned_steps,
            commits=commits,
            software=sorted((software or {}).items()),
        )

    # Steps

    def steps(
        self,
        batches: Iterable[Batch],
        *,
        first_step: int = 0,
        tokens: int | Callable[[Batch], int] | None = None,
        model_flops: int | Callable[[Batch], int] | None = None,
    ) -> Iterator[tuple[int, Batch]]:
        """Number and batch of every step; the wait for the batch is its input wait, the loop's body its work.

        ``tokens`` and ``model_flops`` are real tokens and model FLOPs of one step over all devices, or functions of
        the batch. A step that raises has no line, one that leaves the loop with ``break`` has. The end of a step is when the body is done: where
        the device runs behind the host, single steps are those of the host, and their sum is right.
        """
        step = first_step
        source = iter(batches)
        while True:
            with self.step(step) as open_step:
                with self.input_wait():
                    try:
                        batch = next(source)
                    except StopIteration:
                        open_step.discard()
                        return
                open_step.tokens = _work(tokens, batch)
                open_step.model_flops = _work(model_flops, batch)
                yield step, batch
            step += 1

    def step(self, step: int, *, tokens: int = 0, model_flops: int = 0) -> _Step:
        """A context: one step. Its ``tokens`` and ``model_flops`` may be set before it ends."""
        return _Step(self, step, tokens, model_flops)

    def record_step(
        self,
        step: int,
        start_ns: int,
        end_ns: int,
        *,
        input_wait_ns: int = 0,
        tokens: int = 0,
        model_flops: int = 0,
    ) -> None:
        """A step that is over, by :meth:`now_ns`."""
        self._native.step(step, start_ns, end_ns, input_wait_ns, tokens, model_flops)

    def record_rank(
        self,
        step: int,
        rank: int,
        duration_ns: int,
        *,
        host: str = "",
        device: int | None = None,
        input_wait_ns: int = 0,
    ) -> None:
        """One rank's own duration of a step, for stragglers."""
        self._native.rank(step, rank, host, device, duration_ns, input_wait_ns)

    def input_wait(self) -> _InputWait:
        """A context: waiting for a batch. Inside a step it is the step's input wait, outside a phase of its own."""
        return _InputWait(self)

    # Stretches that are no step

    def launch(self, name: str = "") -> _Phase:
        """A context: part of a start (device initialisation, build, compilation)."""
        return _Phase(self, "launch", name)

    def checkpoint(self, step: int, *, commit: bool = True) -> _Checkpoint:
        """A context: training halts while the state after ``step`` is saved.

        With ``commit`` the checkpoint is complete when the context ends without an error. An asynchronous save passes
        ``commit=False`` and calls :meth:`commit` when it is.
        """
        return _Checkpoint(self, step, commit)

    def restore(self, step: int | None = None) -> _Restore:
        """A context: reading the checkpoint that holds ``step``. The step may be set inside."""
        return _Restore(self, step)

    def evaluation(self, name: str = "") -> _Phase:
        """A context: evaluation."""
        return _Phase(self, "evaluation", name)

    def suspension(self, name: str = "") -> _Phase:
        """A context: suspended with the devices kept."""
        return _Phase(self, "suspension", name)

    def reconfiguration(self, name: str = "") -> _Phase:
        """A context: elastic resize or planned drain."""
        return _Phase(self, "reconfiguration", name)

    def declared(self, name: str) -> _Phase:
        """A context: other work that is no step."""
        return _Phase(self, "declared", name)

    def record_phase(self, phase: str, start_ns: int, end_ns: int, name: str = "") -> None:
        """A stretch that is over, by :meth:`now_ns`."""
        self._native.phase(phase, name, start_ns, end_ns)

    def record_checkpoint(self, step: int, start_ns: int, end_ns: int, *, commit: bool = True) -> None:
        """A save of the state after ``step`` that halted training, and is complete with ``commit``."""
        self._native.save(step, start_ns)
        self._native.phase("checkpoint_pause", "", start_ns, end_ns)
        if commit:
            self._native.commit(step, end_ns)

    def record_logging(self, start_ns: int, end_ns: int) -> None:
        """Logging itself took this long, inside whatever else was going on."""
        self._native.logging(start_ns, end_ns)

    # Instants

    def save(self, step: int) -> None:
        """A save of the state after ``step`` began."""
        self._native.save(step, self.now_ns())

    def commit(self, step: int) -> None:
        """The checkpoint that holds ``step`` is complete. Any thread may call it."""
        self._native.commit(step, self.now_ns())

    def restored(self, step: int | None = None) -> None:
        """State was restored from the checkpoint that holds ``step``."""
        self._native.restore(step, self.now_ns())

    def resize(self, devices: int) -> None:
        """The job is active on this many devices from here on."""
        self._native.resize(devices, self.now_ns())

    def standby(self, devices: int) -> None:
        """This many further devices of the allocation are hot spares from here on."""
        self._native.standby(devices, self.now_ns())

    def stop(self, cause: str) -> None:
        """Execution stopped: ``finished`` (its result is committed), ``ended``, ``fault``, ``preempted`` or
        ``reconfiguration``."""
        if cause == "fault":
            self._undecided = None
        self._native.stop(cause, self.now_ns())
        self._stopped = True

    def now_ns(self) -> int:
        """Nanoseconds since 1970, UTC, that never go back."""
        return self._native.now()

    def sync(self) -> None:
        """Waits until the disk or the file server has every line."""
        self._native.sync()

    def close(self) -> None:
        """Gives the file and its lock up. Nothing is recorded after it."""
        if self._undecided is not None:
            self.now_ns()
        self._recorder = None

    @property
    def closed(self) -> bool:
        """Whether the recorder was closed."""
        return self._recorder is None

    @property
    def enabled(self) -> bool:
        """Whether lines are written at all."""
        return not isinstance(self._recorder, _Silent)

    @property
    def stopped(self) -> bool:
        """Whether the end of execution is recorded."""
        return self._stopped

    @property
    def _native(self) -> _native.Recorder:
        if self._recorder is None:
            raise GoodputError(f"{self.path}: the recorder is closed: open another one")
        if self._undecided is not None:
            line, self._undecided = self._undecided, None
            self._recorder.step(*line)
        return self._recorder

    def __enter__(self) -> TimelineRecorder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._undecided = None
        if self._recorder is None:
            return
        if not self._stopped:
            # An interrupt or an exit is a wish; any other exception is a fault.
            is_fault = kind is not None and issubclass(kind, Exception)
            self.stop("fault" if is_fault else "ended")
        self.close()

    def __repr__(self) -> str:
        return f"TimelineRecorder({self.path!r}{', closed' if self.closed else ''})"


class _Silent:
    """A recorder that records nothing."""

    def now(self) -> int:
        return time.time_ns()

    def __getattr__(self, name: str) -> Callable[..., None]:
        return _nothing


def _nothing(*arguments: object) -> None:
    return None


def _work(work: int | Callable[[Batch], int] | None, batch: Batch) -> int:
    if work is None:
        return 0
    return int(work(batch) if callable(work) else work)


class _Step:
    __slots__ = ("_recorder", "_start", "_waited", "_discarded", "_outer", "step", "tokens", "model_flops")

    def __init__(self, recorder: TimelineRecorder, step: int, tokens: int, model_flops: int) -> None:
        self._recorder = recorder
        self._waited = 0
        self._discarded = False
        self.step = step
        self.tokens = tokens
        self.model_flops = model_flops

    def discard(self) -> None:
        """No step after all: it has no line."""
        self._discarded = True

    def __enter__(self) -> _Step:
        recorder = self._recorder
        if recorder._step is not None:
            raise GoodputError(f"step {self.step} begins inside step {recorder._step.step}: end that one first")
        recorder._step = self
        self._start = recorder.now_ns()
        return self

    def __exit__(self, kind, error, trace) -> None:
        recorder = self._recorder
        recorder._step = None
        if self._discarded or (kind is not None and kind is not GeneratorExit):
            return
        line = (self.step, self._start, recorder.now_ns(), self._waited, self.tokens, self.model_flops)
        if kind is None:
            recorder._native.step(*line)
        else:
            # The loop's generator is closed: by a `break`, or by an error of the body on its way out. What comes next
            # tells.
            recorder._undecided = line


class _InputWait:
    __slots__ = ("_recorder", "_start")

    def __init__(self, recorder: TimelineRecorder) -> None:
        self._recorder = recorder

    def __enter__(self) -> _InputWait:
        self._start = self._recorder.now_ns()
        return self

    def __exit__(self, kind, error, trace) -> None:
        recorder, end = self._recorder, self._recorder.now_ns()
        if recorder._step is not None:
            recorder._step._waited += end - self._start
        elif kind is None:
            recorder._native.phase("input_wait", "", self._start, end)


class _Phase:
    __slots__ = ("_recorder", "_phase", "_name")

    def __init__(self, recorder: TimelineRecorder, phase: str, name: str) -> None:
        self._recorder = recorder
        self._phase = phase
        self._name = name

    def __enter__(self) -> _Phase:
        self._recorder._native.begin_phase(self._phase, self._name, self._recorder.now_ns())
        return self

    def __exit__(self, kind, error, trace) -> None:
        self._recorder._native.end_phase(self._phase, self._name, self._recorder.now_ns())


class _Checkpoint(_Phase):
    __slots__ = ("_step", "_commit")

    def __init__(self, recorder: TimelineRecorder, step: int, commit: bool) -> None:
        super().__init__(recorder, "checkpoint_pause", "")
        self._step = step
        self._commit = commit

    def __enter__(self) -> _Checkpoint:
        self._recorder.save(self._step)
        super().__enter__()
        return self

    def __exit__(self, kind, error, trace) -> None:
        super().__exit__(kind, error, trace)
        if self._commit and kind is None:
            self._recorder.commit(self._step)


class _Restore(_Phase):
    __slots__ = ("step",)

    def __init__(self, recorder: TimelineRecorder, step: int | None) -> None:
        super().__init__(recorder, "checkpoint_load", "")
        self.step = step

    def __enter__(self) -> _Restore:
        super().__enter__()
        return self

    def __exit__(self, kind, error, trace) -> None:
        super().__exit__(kind, error, trace)
        if kind is None:
            self._recorder.restored(self.step)
