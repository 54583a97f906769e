"""The verbs of ``goodput`` that help to decide."""

from __future__ import annotations

import json
import os

from . import _native
from .decision_reports import Comparison
from .verbs import Path, _share


def compare(
    before: Path,
    after: Path,
    *,
    lever: str | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 1,
    title: str | None = None,
) -> Comparison:
    """Two reports under one contract, and whether to keep the change: ``goodput compare``.

    Parameters
    ----------
    before, after
        JSON of ``goodput account`` or ``goodput timeline``, or of :func:`account` and :func:`timeline`:
        ``json.dump(report.raw, file)``.
    lever
        Whose product decides: ``"job"`` or ``"pool"``. When left out, the pool's for fleets, the job's for one job.
    confidence
        Of the intervals.
    resamples, seed
        Of the bootstrap.

    Raises
    ------
    GoodputError
        A file that is no such report, or two reports that have no comparison.

    Source: ``docs/compare.md``.
    """
    request = {
        "before": os.fspath(before),
        "after": os.fspath(after),
        "lever": lever,
        "confidence": _share("confidence", confidence),
        "resamples": resamples,
        "seed": seed,
        "report": {"title": title},
    }
    return Comparison.of(_native.compare(json.dumps(request)))
