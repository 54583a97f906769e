"""Hugging Face ``Trainer``: its timeline from a callback.

    recorder = TimelineRecorder("run.jsonl", job="4711", devices=8, commits=True, enabled=rank == 0)
    trainer = Trainer(..., callbacks=[TimelineCallback(recorder)])
    with recorder:
        trainer.train(resume_from_checkpoint=...)

Tested with transformers 5.24.
"""

from __future__ import annotations

from transformers import TrainerCallback

from .loop import StepClock
from .recorder import TimelineRecorder


class TimelineCallback(TrainerCallback):
    """Records steps, input waits, evaluations, saves (complete when ``Trainer`` has written them), and the resumption.

    Tokens are recorded where the ``Trainer`` counts real ones: ``include_num_input_tokens_seen="non_padding"``.
    Work between two steps that no callback announces is input wait.
    """

    def __init__(self, recorder: TimelineRecorder) -> None:
        self.recorder = recorder
        self._clock = StepClock(recorder)
        self._tokens_seen = 0
        self._ended_step: int | None = None

    def on_train_begin(self, args, state, control, **kwargs):
        self._clock.phase("launch", "trainer")
        self._tokens_seen = state.num_input_tokens_seen
        if state.global_step > 0:
            self.recorder.restored(state.global_step - 1)

    def on_step_begin(self, args, state, control, **kwargs):
        self._write_step(args, state)
        self._clock.begin()

    def on_step_end(self, args, state, control, **kwargs):
        # Whether the log that may follow waits for the device is not known yet: its wait is the step's.
        self._ended_step = state.global_step - 1
        if not control.should_log:
            self._write_step(args, state)

    def on_log(self, args, state, control, logs=None, **kwargs):
        if logs is not None and "loss" in logs:
            self._write_step(args, state)

    def on_evaluate(self, args, state, control, **kwargs):
        self._write_step(args, state)
        self._clock.phase("evaluation")

    def on_save(self, args, state, control, **kwargs):
        self._write_step(args, state)
        # Weights alone cannot be resumed from.
        self._clock.checkpoint(state.global_step - 1, commit=not args.save_only_model)

    def on_train_end(self, args, state, control, **kwargs):
        self._write_step(args, state)
        self._clock.stop(state.global_step - 1, state.max_steps)

    def _write_step(self, args, state) -> None:
        if self._ended_step is None:
            return
        tokens = 0
        if args.include_num_input_tokens_seen == "non_padding":
            tokens = int(state.num_input_tokens_seen - self._tokens_seen)
            self._tokens_seen = state.num_input_tokens_seen
        self._clock.end(self._ended_step, tokens=tokens)
        self._ended_step = None
