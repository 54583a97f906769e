"""How far a run is, with the time that is left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable


def clock(seconds: float) -> str:
    """``1:02:03``."""
    whole = max(int(seconds), 0)
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


class Progress:
    """A bar on a terminal (tqdm's where it is installed), a line now and then where output is kept."""

    def __init__(self, total_s: float, count: int, now: Callable[[], float] = time.monotonic) -> None:
        self._total, self._count, self._now = total_s, count, now
        self._start = now()
        self._done_s, self._done = 0.0, 0
        self._last_line = float("-inf")
        self._bar = None
        if sys.stderr.isatty():
            try:
                from tqdm import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=count, unit="kernel", dynamic_ncols=True)

    def left_s(self) -> float:
        """Estimated time left: the plan's own, corrected by how it went so far."""
        left = self._total - self._done_s
        elapsed = self._now() - self._start
        return left * elapsed / self._done_s if self._done_s > 0 else left

    def step(self, estimated_s: float, what: str) -> None:
        """One more is done."""
        self._done += 1
        self._done_s += estimated_s
        if self._bar is not None:
            self._bar.set_postfix_str(what, refresh=False)
            self._bar.update()
            return
        terminal = sys.stderr.isatty()
        if terminal or self._now() - self._last_line >= 10 or self._done == self._count:
            self._last_line = self._now()
            text = f"{self._done}/{self._count}  {clock(self.left_s())} left  {what}"
            end = "" if terminal else "\n"
            sys.stderr.write(f"\r{text[:100]:<100}" if terminal else text + end)
            sys.stderr.flush()

    def close(self) -> None:
        """The end."""
        if self._bar is not None:
            self._bar.close()
        elif sys.stderr.isatty():
            sys.stderr.write("\n")
