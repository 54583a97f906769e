"""JAX loops: steps whose device work runs behind the host.

    loop = RecordedLoop(recorder)
    for step, batch in loop.steps(batches, tokens=lambda batch: int(batch["mask"].sum())):
        state, metrics = train_step(state, batch)
        loop.dispatched(metrics)

A step's end is when its outputs are ready, seen one step later: when step N has been dispatched, the loop waits for
step N-1, so that the device always has work and the host is never more than one step ahead. Tested with jax 0.10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import jax

from ._native import GoodputError
from .recorder import TimelineRecorder, _work

Batch = TypeVar("Batch")


class _Step(NamedTuple):
    step: int
    start: int | None
    """None: when the step before it ends."""
    waited: int
    tokens: int
    model_flops: int


class RecordedLoop:
    """Records the steps of a loop that dispatches asynchronously."""

    def __init__(self, recorder: TimelineRecorder) -> None:
        self.recorder = recorder
        self._current: _Step | None = None
        self._pending: tuple[_Step, Any] | None = None
        self._end = recorder.now_ns()

    def steps(
        self,
        batches: Iterable[Batch],
        *,
        first_step: int = 0,
        tokens: int | Callable[[Batch], int] | None = None,
        model_flops: int | Callable[[Batch], int] | None = None,
    ) -> Iterator[tuple[int, Batch]]:
        """Number and batch of every step; its body calls :meth:`dispatched`.

        The fetch of a batch is input wait only if the device had run dry before it began.
        """
        step = first_step
        source = iter(batches)
        while True:
            if self._pending is not None and _is_ready(self._pending[1]):
                self.finish()
            start = self.recorder.now_ns()
            is_dry = self._pending is None
            try:
                batch = next(source)
            except StopIteration:
                self.finish()
                return
            waited = self.recorder.now_ns() - start if is_dry else 0
            work = _work(tokens, batch), _work(model_flops, batch)
            self._current = _Step(step, start if is_dry else None, waited, *work)
            yield step, batch
            if self._current is not None:
                raise GoodputError(f"step {step}: call dispatched(outputs) in the body of the loop")
            step += 1

    def dispatched(self, outputs: Any) -> None:
        """The step under way has been dispatched; ``outputs`` are arrays that it computes."""
        if self._current is None:
            raise GoodputError("dispatched: no step is under way")
        current, self._current = self._current, None
        self.finish()
        self._pending = (current, outputs)

    def finish(self) -> None:
        """Waits for the step that is on the device: before a checkpoint or an evaluation, and at the end."""
        if self._pending is None:
            return
        (step, start, waited, tokens, model_flops), outputs = self._pending
        jax.block_until_ready(outputs)
        self._pending = None
        end = self.recorder.now_ns()
        start = self._end if start is None else start
        self.recorder.record_step(
            step, start, end, input_wait_ns=waited, tokens=tokens, model_flops=model_flops
        )
        self._end = end


def _is_ready(outputs: Any) -> bool:
    return all(leaf.is_ready() for leaf in jax.tree.leaves(outputs) if isinstance(leaf, jax.Array))
