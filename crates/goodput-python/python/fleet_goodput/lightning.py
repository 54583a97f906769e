"""Lightning: the timeline of ``Trainer.fit`` from a callback.

    recorder = TimelineRecorder("run.jsonl", job="4711", devices=8, commits=True, enabled=rank == 0)
    trainer = Trainer(..., callbacks=[TimelineCallback(recorder)])
    with recorder:
        trainer.fit(model, ckpt_path=...)

Tested with lightning 2.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from lightning.pytorch import Callback
    from lightning.pytorch.plugins.io import AsyncCheckpointIO
except ImportError:
    from pytorch_lightning import Callback
    from pytorch_lightning.plugins.io import AsyncCheckpointIO

from .loop import StepClock
from .recorder import TimelineRecorder


class TimelineCallback(Callback):
    """Records optimizer steps with their input waits, validation, checkpoints, the resumption, and how it ended.

    ``Trainer.save_checkpoint`` is timed, since no hook tells its end. A checkpoint is complete when it returns, unless
    it is written asynchronously: then commits are for the caller to record. ``tokens`` gives the real tokens of one
    batch over all devices.
    """

    def __init__(self, recorder: TimelineRecorder, *, tokens: Callable[[Any], int] | None = None) -> None:
        self.recorder = recorder
        self._clock = StepClock(recorder)
        self._tokens_of = tokens
        self._tokens = 0
        self._steps_done = 0

    def on_fit_start(self, trainer, pl_module):
        save = trainer.save_checkpoint
        commits = not isinstance(trainer.strategy.checkpoint_io, AsyncCheckpointIO)

        def timed(filepath: Any, weights_only: bool | None = None, storage_options: Any = None) -> None:
            self._clock.lap()
            save(filepath, weights_only, storage_options)
            if trainer.global_step > 0:
                # Weights alone cannot be resumed from.
                self._clock.checkpoint(trainer.global_step - 1, commit=commits and not weights_only)

        trainer.save_checkpoint = timed

    def on_sanity_check_end(self, trainer, pl_module):
        self._clock.phase("launch", "sanity_check")

    def on_train_start(self, trainer, pl_module):
        self._clock.phase("launch", "trainer")
        self._steps_done = trainer.global_step
        if trainer.global_step > 0:
            self.recorder.restored(trainer.global_step - 1)

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        self._clock.begin()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if self._tokens_of is not None:
            self._tokens += int(self._tokens_of(batch))
        if trainer.global_step == self._steps_done:
            self._clock.pause()
            return
        self._steps_done = trainer.global_step
        self._clock.end(trainer.global_step - 1, tokens=self._tokens)
        self._tokens = 0

    def on_validation_start(self, trainer, pl_module):
        if not trainer.sanity_checking:
            self._clock.pause()

    def on_validation_end(self, trainer, pl_module):
        if not trainer.sanity_checking:
            self._clock.phase("evaluation", "validation")

    def on_fit_end(self, trainer, pl_module):
        trainer.__dict__.pop("save_checkpoint", None)
        self._clock.stop(trainer.global_step - 1, trainer.max_steps)

    def on_exception(self, trainer, pl_module, exception):
        trainer.__dict__.pop("save_checkpoint", None)
        if not self.recorder.closed and not self.recorder.stopped:
            self.recorder.stop("fault" if isinstance(exception, Exception) else "ended")
