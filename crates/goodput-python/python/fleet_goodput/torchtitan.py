"""torchtitan, and trainers of its shape: ``train_step``, ``batch_generator``, ``checkpointer``, ``validator``.

    trainer = config.build()
    with TimelineRecorder("run.jsonl", devices=8, commits=True, enabled=rank == 0) as recorder:
        with recorded(trainer, recorder):
            trainer.train()
        recorder.stop("finished")

torchtitan counts steps from 1, the timeline from 0: its step N is written as N - 1. Written to the interface of
torchtitan 0.3.0; nothing of torchtitan is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .recorder import TimelineRecorder


@contextmanager
def recorded(
    trainer: Any, recorder: TimelineRecorder, *, tokens: Callable[[Any], int] | None = None
) -> Iterator[TimelineRecorder]:
    """A context in which ``trainer.train()`` records steps, input waits, loading, saves and validation.

    ``tokens`` is called with the trainer after a step and gives its real tokens over all devices. An asynchronous save
    is complete when the next one begins or the checkpointer is closed, since both wait for it.
    """
    originals: list[tuple[Any, str]] = []

    def replace(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        original = getattr(owner, name, None)
        if original is not None:
            setattr(owner, name, make(original))
            originals.append((owner, name))

    checkpointer = getattr(trainer, "checkpointer", None)
    saves = _Saves(trainer, recorder)
    replace(trainer, "train_step", lambda original: _train_step(trainer, recorder, original, tokens))
    replace(trainer, "batch_generator", lambda original: _batch_generator(recorder, original))
    replace(checkpointer, "load", lambda original: _load(trainer, recorder, original))
    replace(checkpointer, "save", saves.save)
    replace(checkpointer, "close", saves.close)
    replace(getattr(trainer, "validator", None), "validate", lambda original: _validate(recorder, original))
    try:
        yield recorder
    finally:
        for owner, name in originals:
            delattr(owner, name)


def _train_step(trainer: Any, recorder: TimelineRecorder, original: Callable[..., Any], tokens: Any) -> Any:
    def train_step(*args: Any, **kwargs: Any) -> Any:
        with recorder.step(trainer.step - 1) as step:
            result = original(*args, **kwargs)
            if tokens is not None:
                step.tokens = int(tokens(trainer))
            return result

    return train_step


def _batch_generator(recorder: TimelineRecorder, original: Callable[..., Any]) -> Any:
    def batch_generator(*args: Any, **kwargs: Any) -> Iterator[Any]:
        batches = original(*args, **kwargs)
        while True:
            with recorder.input_wait():
                try:
                    batch = next(batches)
                except StopIteration:
                    return
            yield batch

    return batch_generator


def _load(trainer: Any, recorder: TimelineRecorder, original: Callable[..., Any]) -> Any:
    def load(*args: Any, **kwargs: Any) -> Any:
        start = recorder.now_ns()
        loaded = original(*args, **kwargs)
        if loaded:
            recorder.record_phase("checkpoint_load", start, recorder.now_ns())
            recorder.restored(trainer.step - 1 if trainer.step > 0 else None)
        return loaded

    return load


def _validate(recorder: TimelineRecorder, original: Callable[..., Any]) -> Any:
    def validate(*args: Any, **kwargs: Any) -> Any:
        with recorder.evaluation("validation"):
            return original(*args, **kwargs)

    return validate


class _Saves:
    def __init__(self, trainer: Any, recorder: TimelineRecorder) -> None:
        self._trainer = trainer
        self._recorder = recorder
        self._uncommitted: int | None = None

    def save(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def save(*args: Any, **kwargs: Any) -> Any:
            start = self._recorder.now_ns()
            saved = original(*args, **kwargs)
            if saved and self._trainer.step > 0:
                self._commit()
                step = self._trainer.step - 1
                self._recorder.record_checkpoint(step, start, self._recorder.now_ns(), commit=not self._is_async())
                self._uncommitted = step if self._is_async() else None
            return saved

        return save

    def close(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def close(*args: Any, **kwargs: Any) -> Any:
            closed = original(*args, **kwargs)
            self._commit()
            return closed

        return close

    def _commit(self) -> None:
        if self._uncommitted is not None:
            self._recorder.commit(self._uncommitted)
            self._uncommitted = None

    def _is_async(self) -> bool:
        config = getattr(getattr(self._trainer, "config", None), "checkpoint", None)
        return str(getattr(config, "async_mode", "disabled")) != "disabled"
