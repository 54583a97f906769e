"""Where a machine-learning fleet's accelerator-hours go.

After the fact:

- :func:`account`: a fleet's records, every lost device-second charged once.
- :func:`timeline`: one job's own log.
- :func:`serving`: a fleet of inference replicas, from its own log.
- :func:`trace`: where the device-time of the steps went, from step traces of all ranks.
- :func:`flops`: exact FLOPs of a batch of a model, and every convention of it.
- :func:`mfu_convert`: a quoted MFU in another convention; :func:`mfu_audit`: a training log's figures recomputed.
- :func:`compare`: two reports under one contract, and whether to keep the change.
- :func:`baseline_update` and :func:`baseline_check`: a history of reports, and what became worse over it.
- :func:`lint`: known mistakes in a report, or in a planning sheet.

Before the run:

- :func:`plan`: questions about a run or a fleet, answered from stated inputs.
- :func:`predict`: step time, MFU and memory of a layout, term by term; :func:`search`: every feasible layout, ranked.
- :func:`explain`: the predicted step against traces of it; :func:`validate`: predictions against measured runs, which
  :func:`validate_collect` gathers; :func:`calibrate`: kernels measured on your devices.

Inside the training loop:

- :class:`FlopCounter`: exact FLOPs of its batches.
- :class:`ThroughputMeter`: tokens/s, TFLOP/s and MFU, each in exactly one scope.
- :class:`TimelineRecorder`: the job's own log, which ``goodput timeline`` reads.
- ``fleet_goodput.pytorch``, ``.huggingface``, ``.lightning``, ``.torchtitan``, ``.jax``: both, ready for a framework.
  Each imports its framework only when it is imported itself.

What cannot be answered raises :class:`GoodputError` with the file, line and field, and what to do.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._native import BatchFlops, Figures, GoodputError, LocalStep, RankRow
from .counter import FlopCounter
from .meter import ThroughputMeter
from .recorder import TimelineRecorder

if TYPE_CHECKING:
    from .decision import baseline_check, baseline_update, compare, lint, plan
    from .prediction import calibrate, explain, predict, search, validate, validate_collect
    from .verbs import account, flops, mfu_audit, mfu_convert, serving, timeline, trace

__all__ = [
    "BatchFlops",
    "Figures",
    "FlopCounter",
    "GoodputError",
    "LocalStep",
    "RankRow",
    "ThroughputMeter",
    "TimelineRecorder",
    "account",
    "baseline_check",
    "baseline_update",
    "calibrate",
    "compare",
    "explain",
    "flops",
    "lint",
    "mfu_audit",
    "mfu_convert",
    "plan",
    "predict",
    "search",
    "serving",
    "timeline",
    "trace",
    "validate",
    "validate_collect",
]

# The module of each verb.
_VERBS = {
    **dict.fromkeys(("account", "flops", "mfu_audit", "mfu_convert", "serving", "timeline", "trace"), "verbs"),
    **dict.fromkeys(("baseline_check", "baseline_update", "compare", "lint", "plan"), "decision"),
    **dict.fromkeys(("calibrate", "explain", "predict", "search", "validate", "validate_collect"), "prediction"),
}


def __getattr__(name: str) -> Any:
    # The verbs come when they are asked for: a training loop needs none of them.
    if name in _VERBS:
        return getattr(import_module(f".{_VERBS[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_VERBS})
