"""The loop with real JAX on a CPU."""

import time

import pytest

jax = pytest.importorskip("jax")

from fleet_goodput import GoodputError, TimelineRecorder  # noqa: E402
from fleet_goodput.jax import RecordedLoop  # noqa: E402


@jax.jit
def train_step(state, batch):
    for _ in range(20):
        state = state @ state * 0.1 + batch
    return state, state.mean()


def test_steps_end_when_their_outputs_are_ready(log):
    state = jax.numpy.ones((200, 200))
    with TimelineRecorder(log.path, job="1", devices=1, commits=True) as recorder:
        loop = RecordedLoop(recorder)
        for step, batch in loop.steps(range(6), tokens=lambda batch: 5 + batch):
            state, metrics = train_step(state, float(batch))
            loop.dispatched(metrics)
            if step == 3:
                loop.finish()
                with recorder.checkpoint(step):
                    time.sleep(0.01)
        with recorder.checkpoint(5):
            pass
        recorder.stop("finished")
    assert log.steps() == [0, 1, 2, 3, 4, 5]
    steps = [line for line in log.lines() if "step" in line and "start" in line]
    assert [step["tokens"] for step in steps] == [5, 6, 7, 8, 9, 10]
    assert all(float(a["end"]) <= float(b["start"]) for a, b in zip(steps, steps[1:]))
    # The checkpoint stands between two steps, in neither.
    pause = log.phases("checkpoint_pause")[0]
    assert float(steps[3]["end"]) <= float(pause["start"]) and float(pause["start"]) + 0.01 < float(steps[4]["start"])
    report = log.report()
    assert (report.steps.executed, report.steps.retained) == (6, 6)


def test_a_slow_loader_on_a_dry_device_is_input_wait(log):
    def slow():
        for batch in range(3):
            time.sleep(0.05)
            yield batch

    with TimelineRecorder(log.path) as recorder:
        loop = RecordedLoop(recorder)
        for _, batch in loop.steps(slow()):
            outputs = jax.block_until_ready(train_step(jax.numpy.ones((2, 2)), float(batch)))
            loop.dispatched(outputs)
    waits = [float(line["input_wait_s"]) for line in log.lines() if "input_wait_s" in line]
    assert len(waits) == 3 and all(0.05 <= wait < 1 for wait in waits)


def test_a_body_that_does_not_dispatch(log):
    with TimelineRecorder(log.path) as recorder, pytest.raises(GoodputError, match="call dispatched"):
        for _ in RecordedLoop(recorder).steps(range(3)):
            pass
    with TimelineRecorder(log.path) as recorder, pytest.raises(GoodputError, match="no step is under way"):
        RecordedLoop(recorder).dispatched(None)
