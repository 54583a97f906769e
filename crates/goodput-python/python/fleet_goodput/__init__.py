"""Where a machine-learning fleet's accelerator-hours go.

Inside the training loop:

- :class:`ThroughputMeter`: tokens/s, TFLOP/s and MFU, each in exactly one scope.
- :class:`TimelineRecorder`: the job's own log, which ``goodput timeline`` reads.
- ``fleet_goodput.pytorch``, ``.huggingface``, ``.lightning``, ``.torchtitan``, ``.jax``: both, ready for a framework.
  Each imports its framework only when it is imported itself.

What cannot be answered raises :class:`GoodputError` with the file, line and field, and what to do.
"""

from ._native import Figures, GoodputError, LocalStep, RankRow
from .meter import ThroughputMeter
from .recorder import TimelineRecorder

__all__ = [
    "Figures",
    "GoodputError",
    "LocalStep",
    "RankRow",
    "ThroughputMeter",
    "TimelineRecorder",
]
