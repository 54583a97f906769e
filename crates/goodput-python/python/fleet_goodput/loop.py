"""What the framework callbacks share: where one step ends and the next begins."""

from __future__ import annotations

from .recorder import TimelineRecorder


class StepClock:
    """Times steps from callbacks. Time from the end of whatever came last to the start of a step's work is input wait."""

    def __init__(self, recorder: TimelineRecorder) -> None:
        self.recorder = recorder
        self.committed: int | None = None
        """The last step that a commit holds."""
        self._end = recorder.now_ns()
        self._start: int | None = None
        self._waited = 0

    @property
    def open(self) -> bool:
        """Whether a step is under way."""
        return self._start is not None

    def lap(self) -> tuple[int, int]:
        """From the end of what came last until now, which becomes that end."""
        start, self._end = self._end, self.recorder.now_ns()
        return start, self._end

    def begin(self) -> None:
        """The work of a step, or of a further micro-batch of it, begins: its batch is there."""
        start, now = self.lap()
        if self._start is None:
            self._start, self._waited = start, 0
        self._waited += now - start

    def pause(self) -> None:
        """A micro-batch is done, and its step is not."""
        self.lap()

    def end(self, step: int, *, tokens: int = 0, model_flops: int = 0) -> None:
        """The step is done."""
        _, now = self.lap()
        if self._start is not None:
            self.recorder.record_step(
                step, self._start, now, input_wait_ns=self._waited, tokens=tokens, model_flops=model_flops
            )
        self._start = None

    def drop(self) -> None:
        """The step under way is none after all."""
        self._start = None
        self.lap()

    def phase(self, phase: str, name: str = "") -> None:
        """What came last until now was this."""
        start, end = self.lap()
        self.recorder.record_phase(phase, start, end, name)

    def checkpoint(self, step: int, *, commit: bool = True) -> None:
        """What came last until now was a synchronous save of the state after ``step``."""
        start, end = self.lap()
        self.recorder.record_checkpoint(step, start, end, commit=commit)
        if commit:
            self.committed = step

    def stop(self, last_step: int, planned_steps: int | None) -> None:
        """The loop is done: finished only if it did all that was planned and a commit holds it."""
        did_all = planned_steps is None or planned_steps <= 0 or last_step + 1 >= planned_steps
        self.recorder.stop("finished" if did_all and self.committed == last_step else "ended")
