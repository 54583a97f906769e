"""A trainer with the methods and signatures of torchtitan 0.3.0's ``Trainer``, checkpointer and validator.

The real one needs a GPU and a nightly PyTorch; this stub runs the same calls in the same order as its ``train``.
"""

from types import SimpleNamespace

import pytest

from fleet_goodput import TimelineRecorder
from fleet_goodput.torchtitan import recorded


class DataloaderExhaustedError(Exception):
    pass


class Checkpointer:
    def __init__(self, trainer, saved):
        self.trainer, self.saved = trainer, saved

    def load(self, step: int = -1) -> bool:
        if self.saved:
            self.trainer.step = max(self.saved)
        return bool(self.saved)

    def save(self, curr_step: int, last_step: bool = False) -> bool:
        if curr_step % 2 == 0 or last_step:
            self.saved.append(curr_step)
            return True
        return False

    def close(self) -> None:
        pass


class Validator:
    def should_validate(self, step: int) -> bool:
        return step == 3

    def validate(self, model_parts, step: int) -> None:
        pass


class Trainer:
    def __init__(self, saved, steps=6, batches=100, fault_at=None, async_mode="disabled"):
        self.config = SimpleNamespace(
            training=SimpleNamespace(steps=steps),
            checkpoint=SimpleNamespace(load_step=-1, async_mode=async_mode),
            validator=SimpleNamespace(enable=True),
        )
        self.step = 0
        self.fault_at = fault_at
        self.dataloader = range(batches)
        self.checkpointer = Checkpointer(self, saved)
        self.validator = Validator()
        self.model_parts = []

    def batch_generator(self, data_iterable):
        data_iterator = iter(data_iterable)
        while True:
            try:
                batch = next(data_iterator)
            except StopIteration as ex:
                raise DataloaderExhaustedError() from ex
            yield batch

    def train_step(self, data_iterator):
        next(data_iterator), next(data_iterator)
        if self.step == self.fault_at:
            raise RuntimeError("a fault")

    def train(self):
        self.checkpointer.load(step=self.config.checkpoint.load_step)
        data_iterator = self.batch_generator(self.dataloader)
        while self.step < self.config.training.steps:
            self.step += 1
            try:
                self.train_step(data_iterator)
            except DataloaderExhaustedError:
                break
            self.checkpointer.save(self.step, last_step=(self.step == self.config.training.steps))
            if self.config.validator.enable and self.validator.should_validate(self.step):
                self.validator.validate(self.model_parts, self.step)


def run(log, trainer):
    with TimelineRecorder(log.path, job="1", devices=8, commits=True) as recorder:
        with recorded(trainer, recorder, tokens=lambda trainer: 10):
            trainer.train()
            trainer.checkpointer.close()
        recorder.stop("finished")
    assert "train_step" not in vars(trainer) and "save" not in vars(trainer.checkpointer)


@pytest.mark.parametrize("async_mode", ["disabled", "async_with_pinned_mem"])
def test_a_run_with_a_fault_and_its_resumption(log, async_mode):
    saved = []
    with pytest.raises(RuntimeError):
        run(log, Trainer(saved, fault_at=6, async_mode=async_mode))
    run(log, Trainer(saved, async_mode=async_mode))
    # An asynchronous save of step 4 was never waited for, but the resumption proves it complete.
    assert log.steps() == [0, 1, 2, 3, 4, 4, 5]
    assert [line["step"] for line in log.events("restore")] == [3]
    assert len(log.phases("evaluation")) == 1
    steps = log.report().steps
    assert (steps.executed, steps.retained, steps.discarded) == (7, 6, 1)
    assert {line.get("tokens") for line in log.lines() if "step" in line and "start" in line} == {10}


def test_a_step_without_data_is_none(log):
    run(log, Trainer([], batches=5))
    assert log.steps() == [0, 1]
