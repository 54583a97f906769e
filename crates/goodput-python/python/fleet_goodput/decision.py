"""The verbs of ``goodput`` that help to decide."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping

from . import _native
from ._native import GoodputError
from .baseline_reports import BaselineCheck, BaselineUpdate
from .decision_reports import Comparison, LintReport, PlanReport
from .verbs import Path, _paths, _positive, _share


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


def plan(sheet: Path, *, seed: int | None = None) -> PlanReport:
    """Questions about a run or a fleet before there is one, answered from stated inputs: ``goodput plan``.

    Parameters
    ----------
    sheet
        PLAN.yaml: inputs and questions (``examples/plan.yaml``).
    seed
        Of the draws, instead of the sheet's.

    Raises
    ------
    GoodputError
        A sheet that cannot be read, with the ``field``, or a question that lacks an input.

    Source: ``docs/plan.md``.
    """
    return PlanReport.of(_native.plan(json.dumps({"plan": os.fspath(sheet), "seed": seed})))


def baseline_update(
    history: Path,
    *reports: Path,
    model: str | None = None,
    policy: str | None = None,
    software: Mapping[str, str] | None = None,
    canary: bool = False,
) -> BaselineUpdate:
    """Adds the figures of reports to a history: ``goodput baseline update``.

    Parameters
    ----------
    history
        HISTORY.jsonl; made when it is not there. A report that it has is recognised and skipped.
    reports
        JSON of ``goodput account`` or ``goodput timeline``, or of :func:`account` and :func:`timeline`:
        ``json.dump(report.raw, file)``.
    model, policy, software
        What the reports do not say: architecture of their jobs, version of the scheduler's policy, versions by name.
    canary
        The jobs are canaries: runs on few devices that are repeated to watch the software.

    Raises
    ------
    GoodputError
        A file that is no such report, or a history that cannot be read or written; nothing is written then.

    Source: ``docs/baseline.md``.
    """
    if not reports:
        raise GoodputError("baseline_update: name one report or more")
    request = {
        "history": os.fspath(history),
        "reports": _paths(reports),
        "labels": {"model": model, "policy": policy, "software": dict(software or {}), "canary": canary},
    }
    return BaselineUpdate.of(_native.baseline_update(json.dumps(request)))


def baseline_check(
    history: Path,
    *,
    since: str | None = None,
    job: str | None = None,
    pool: str | None = None,
    tiers: Iterable[str] = (),
    threshold: float = 0.02,
    slow_rank: float = 0.05,
    false_alarms: float = 0.05,
) -> BaselineCheck:
    """What became worse over a history, and what else changed at that time: ``goodput baseline check``.

    Parameters
    ----------
    history
        What :func:`baseline_update` wrote.
    since
        Leave out changes before this UTC day.
    job, pool
        Only this job; only this pool and its jobs.
    tiers
        Only these of ``canary``, ``mfu``, ``gray_failure``, ``startup_recovery`` and ``allocation``.
    threshold
        Least size worth reporting: relative, and for shares of time or capacity in points.
    slow_rank
        From how much over the typical rank's step a rank is slow.
    false_alarms
        Share of findings that may be false; where nothing changed, the probability of any finding.

    Raises
    ------
    GoodputError
        A history that cannot be read or holds no row that is asked for.

    Source: ``docs/baseline.md``.
    """
    if isinstance(tiers, str):
        raise GoodputError(f"tiers {tiers!r}: expected a list of tiers")
    request = {
        "history": os.fspath(history),
        "since": since,
        "job": job,
        "pool": pool,
        "tiers": list(tiers),
        "threshold": _positive("threshold", threshold),
        "slow_rank": _positive("slow_rank", slow_rank),
        "false_alarms": _share("false_alarms", _positive("false_alarms", false_alarms)),
    }
    return BaselineCheck.of(_native.baseline_check(json.dumps(request)))


def lint(file: Path) -> LintReport:
    """Known mistakes in a planning sheet or a report, with the figure put right: ``goodput lint``.

    Parameters
    ----------
    file
        A sheet in YAML (``examples/sheet.yaml``), or a report of ``goodput account`` or ``goodput timeline`` in JSON.

    Raises
    ------
    GoodputError
        A file that cannot be read, with the key and the nearest known one.

    Source: ``docs/lint.md``.
    """
    return LintReport.of(_native.lint(json.dumps({"file": os.fspath(file)})))
