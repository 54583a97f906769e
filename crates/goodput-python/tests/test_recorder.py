"""What the recorder writes."""

import json
import os
import subprocess
import sys

import pytest

from fleet_goodput import GoodputError, TimelineRecorder


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.jsonl"


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_loop_is_lines_in_order(path):
    with TimelineRecorder(path, job="1", devices=8, peak_tflops=989.4, commits=True, software={"x": "1"}) as recorder:
        with recorder.launch("build"):
            pass
        for step, batch in recorder.steps([10, 20, 30], first_step=5, tokens=lambda batch: batch, model_flops=2**70):
            if step == 6:
                with recorder.checkpoint(step - 1):
                    pass
        with recorder.evaluation("validation"):
            pass
        recorder.stop("finished")
    header, launch, *rest = lines(path)
    assert header == {
        "goodput_timeline": 1, "job": "1", "devices": 8, "peak_tflops": 989.4, "commits": True, "software": {"x": "1"},
    }
    assert launch["event"] == "launch"
    kinds = [line.get("event") or line["step"] for line in rest]
    assert kinds == ["phase", "phase_end", 5, "save", "phase", "phase_end", "commit", 6, 7, "phase", "phase_end", "stop"]
    steps = [line for line in rest if "start" in line and "step" in line]
    assert [step["tokens"] for step in steps] == [10, 20, 30]
    assert steps[0]["model_flops"] == str(2**70)
    assert all(0 <= step["input_wait_s"] <= step["end"] - step["start"] + 1e-6 for step in steps)


def test_a_step_that_raises_has_no_line_and_the_log_says_fault(path):
    with pytest.raises(ZeroDivisionError):
        with TimelineRecorder(path) as recorder:
            for step, _ in recorder.steps(range(3)):
                1 / (1 - step)
    assert [line.get("step") for line in lines(path) if "start" in line] == [0]
    assert lines(path)[-1]["cause"] == "fault"


def test_a_loop_left_with_break_keeps_its_last_step(path):
    with TimelineRecorder(path) as recorder:
        for step, _ in recorder.steps(range(9)):
            if step == 2:
                break
    assert [line.get("step") for line in lines(path) if "start" in line] == [0, 1, 2]


def test_an_error_that_is_caught_outside_is_no_step(path):
    with TimelineRecorder(path) as recorder:
        try:
            for step, _ in recorder.steps(range(9)):
                if step == 2:
                    raise OSError
        except OSError:
            recorder.stop("fault")
    assert [line.get("step") for line in lines(path) if "start" in line] == [0, 1]


@pytest.mark.parametrize(("error", "cause"), [(KeyboardInterrupt, "ended"), (SystemExit, "ended"), (OSError, "fault")])
def test_how_it_ended(path, error, cause):
    with pytest.raises(error):
        with TimelineRecorder(path):
            raise error
    assert lines(path)[-1]["cause"] == cause


def test_a_failed_save_is_no_commit(path):
    with TimelineRecorder(path) as recorder, pytest.raises(OSError):
        with recorder.checkpoint(3):
            raise OSError
    assert "commit" not in [line.get("event") for line in lines(path)]


def test_a_restart_goes_on_with_the_file(path):
    TimelineRecorder(path, job="1", devices=8).close()
    with TimelineRecorder(path, job="1", devices=16) as recorder, recorder.restore() as restore:
        restore.step = 99
    events = [line.get("event") for line in lines(path)]
    assert events == [None, "launch", None, "launch", "resize", "phase", "phase_end", "restore", "stop"]
    with pytest.raises(GoodputError, match="run.jsonl:1: the timeline is of job") as refused:
        TimelineRecorder(path, job="2")
    assert (refused.value.path, refused.value.line) == (str(path), 1)


def test_one_recorder_a_job(path):
    with TimelineRecorder(path):
        with pytest.raises(GoodputError, match="another recorder"):
            TimelineRecorder(path)
        script = f"import fleet_goodput; fleet_goodput.TimelineRecorder({str(path)!r})"
        other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert other.returncode == 1 and f"process {os.getpid()}" in other.stderr
    TimelineRecorder(path).close()


FORK = """
import multiprocessing, sys
from fleet_goodput import GoodputError, TimelineRecorder

recorder = TimelineRecorder(sys.argv[1])
context = multiprocessing.get_context("fork")
go_on, said = context.Event(), context.Queue()

def worker():
    try:
        recorder.stop("ended")
    except GoodputError as error:
        said.put(str(error))
    go_on.wait(20)

child = context.Process(target=worker)
child.start()
print(said.get(timeout=20))
recorder.close()
TimelineRecorder(sys.argv[1]).close()  # while the worker still lives
go_on.set()
child.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_worker_neither_writes_nor_keeps_the_lock(path):
    # In a process of its own: one that has loaded a framework must not fork.
    run = subprocess.run([sys.executable, "-c", FORK, str(path)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "does not survive a fork" in run.stdout


def test_closed_is_closed(path):
    recorder = TimelineRecorder(path)
    recorder.close()
    assert recorder.closed
    with pytest.raises(GoodputError, match="closed"):
        recorder.commit(1)


def test_steps_do_not_nest(path):
    with TimelineRecorder(path) as recorder, recorder.step(0):
        with pytest.raises(GoodputError, match="begins inside step 0"):
            with recorder.step(1):
                pass


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda r: r.stop("done"), "expected one of finished"),
        (lambda r: r.record_phase("lunch", 0, 1), "expected one of launch"),
        (lambda r: r.record_phase("evaluation", 1, 0), "end is before start"),
        (lambda r: r.record_step(0, 2, 1), "end is before start"),
        (lambda r: r.record_step(0, 1, 2, input_wait_ns=5), "input_wait_s is 5 ns"),
    ],
)
def test_lines_that_cannot_be(path, call, why):
    with TimelineRecorder(path) as recorder, pytest.raises(GoodputError, match=why):
        call(recorder)
    assert len(lines(path)) == 3


@pytest.mark.parametrize("header", [dict(devices=0), dict(peak_tflops=float("nan")), dict(model_flops_per_token=-1.0)])
def test_headers_that_cannot_be(path, header):
    with pytest.raises(GoodputError, match="expected"):
        TimelineRecorder(path, **header)
