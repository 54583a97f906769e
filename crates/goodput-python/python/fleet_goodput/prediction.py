"""The verbs of ``goodput`` that predict, and that hold predictions against what was measured."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping

from . import _native
from ._native import GoodputError
from .prediction_reports import (
    CalibrateReport,
    Collection,
    Explanation,
    Prediction,
    SearchReport,
    Validation,
)
from .verbs import Path, _paths, _positive, _share


def predict(
    run: Path,
    *,
    tables: Iterable[Path] = (),
    stragglers: float | None = None,
    calibration: Path | None = None,
    software: str | None = None,
    trace: Path | None = None,
    title: str | None = None,
) -> Prediction:
    """Step time, MFU and memory of a layout, term by term: ``goodput predict``.

    Parameters
    ----------
    run
        RUN.yaml: model, cluster, layout, batch (``examples/run.yaml``).
    tables
        Files that :func:`calibrate` wrote, one a device: in front of the shipped tables.
    stragglers
        Relative standard deviation of the devices' speeds: the step waits for the slowest.
    calibration, software
        Factors on the times, as ``goodput validate --calibrate`` found them, and the software whose factors count.
    trace
        Write the simulated step as a trace for Perfetto to this file; gzipped when its name ends in ``.gz``.

    Raises
    ------
    GoodputError
        A run that cannot be, with its field and what to write.

    Source: ``docs/prediction.md``.
    """
    request = {
        "run": os.fspath(run),
        "tables": _paths(tables),
        "straggler_deviation": _share("stragglers", stragglers),
        "calibration": _path(calibration),
        "software": software,
        "picture": True,
        "trace": _path(trace),
        "report": {"title": title},
    }
    return Prediction.of(_native.predict(json.dumps(request)))


def search(
    run: Path,
    *,
    tables: Iterable[Path] = (),
    devices: int | str | Iterable[int | str] = (),
    constraint: Iterable[str] = (),
    top: int = 10,
    by_device_time: bool = False,
    pareto: bool = False,
    calibration: Path | None = None,
    software: str | None = None,
    tokens: float | None = None,
    queue_wait: str | Mapping[int, str] | None = None,
    runtime_goodput: float | Mapping[int, float] | None = None,
    write: Path | None = None,
    title: str | None = None,
    price: float | None = None,
    currency: str | None = None,
) -> SearchReport:
    """Every feasible layout of a run, ranked: ``goodput search``.

    Parameters
    ----------
    run
        RUN.yaml; its layout gives the switches, not the degrees.
    devices
        Devices to try, over the run's own: numbers, ``"8..512"`` (doubled) or ``"8..64:8"`` (in steps).
    constraint
        Such as ``"tp<=8"``, ``"memory<=70"`` (GB), ``"recompute=none,full"``; ``goodput search --help`` lists them.
    top
        How many of the best.
    by_device_time
        Rank by device-time, the cheapest result, instead of step time.
    pareto
        Also find all that no other layout beats in time, memory and devices at once.
    tables, calibration, software
        As for :func:`predict`.
    tokens
        Tokens of the whole job: rank by the time to the result.
    queue_wait
        Wait in the queue, such as ``"24h"``, or one for each number of devices.
    runtime_goodput
        Share of the held time in retained steps, or one for each number of devices.
    write
        Write the run with the best layout to this file, ready for :func:`predict`.
    price, currency
        Price of one device-hour, for costs.

    Raises
    ------
    GoodputError
        A run or a constraint that cannot be, or no layout that can run, with the counts by rule.

    Source: ``docs/prediction.md``.
    """
    numbers = [devices] if isinstance(devices, (int, str)) else list(devices)
    request = {
        "run": os.fspath(run),
        "tables": _paths(tables),
        "devices": [str(number) for number in numbers],
        "constraints": list(constraint),
        "top": top,
        "by_device_time": by_device_time,
        "pareto": pareto,
        "calibration": _path(calibration),
        "software": software,
        "tokens": _positive("tokens", tokens),
        "queue_wait": _by_devices(queue_wait),
        "runtime_goodput": _by_devices(runtime_goodput),
        "write": _path(write),
        "report": {"title": title, "price": _positive("price", price), "currency": currency},
    }
    return SearchReport.of(_native.search(json.dumps(request)))


def validate(
    runs: Path,
    *,
    tables: Iterable[Path] = (),
    rules: Path | None = None,
    by: Iterable[str] = (),
    calibrate: Path | None = None,
    calibration: Path | None = None,
    regression: Path | None = None,
    record: bool = False,
    margin: float | None = None,
    rows: Path | None = None,
) -> Validation:
    """Prediction errors against measured runs, by source, device, software and degree: ``goodput validate``.

    Parameters
    ----------
    runs
        RUNS.csv, one measured run a row (``docs/validation.md``); :func:`validate_collect` writes one.
    tables
        As for :func:`predict`.
    rules
        Rules of your own, before those that are built in.
    by
        What errors are broken down by; source and device when left out.
    calibrate
        Fit one calibration a device and software on half of the rows, write it to this file, and report the errors of
        the other half.
    calibration
        Report also the errors with this calibration, of rows that it was not fitted on.
    regression, record, margin
        A file of errors that may not grow by more than its margin; ``record`` writes it from the errors as they are.
    rows
        Write the outcome of each row to this CSV.

    Raises
    ------
    GoodputError
        A file that is no table of runs, or none of whose runs can be predicted.

    Source: ``docs/validation.md``.
    """
    if calibrate is not None and calibration is not None:
        raise GoodputError("calibrate and calibration: give one of the two")
    factors = {"fit": _path(calibrate)} if calibrate is not None else {"use": _path(calibration)}
    kept = {"file": _path(regression), "record": record, "margin": _share("margin", margin)}
    request = {
        "runs": os.fspath(runs),
        "tables": _paths(tables),
        "rules": _path(rules),
        "by": list(by),
        "calibration": factors if calibrate is not None or calibration is not None else None,
        "regression": kept if regression is not None else None,
        "rows": _path(rows),
    }
    return Validation.of(_native.validate(json.dumps(request)))


def validate_collect(
    *sources: Path,
    output: Path,
    map: Path | None = None,
    model: str | None = None,
    cluster: str | None = None,
) -> Collection:
    """RUNS.csv from MLflow stores, job logs and step traces, with what each row lacks: ``goodput validate collect``.

    Parameters
    ----------
    sources
        MLflow folders, databases and REST exports; job logs; step traces, as files or a folder.
    output
        The table to write.
    map
        Your own names of parameters, and values that no run logs.
    model, cluster
        Of all runs: a known name, a ``config.json`` or our YAML; a cluster of ``docs/collectives.md``.

    Raises
    ------
    GoodputError
        No run is found, or the map, the model or the output cannot be used.

    Source: ``docs/validation.md``.
    """
    request = {
        "sources": _paths(sources),
        "output": os.fspath(output),
        "map": _path(map),
        "model": model,
        "cluster": cluster,
    }
    return Collection.of(_native.collect(json.dumps(request)))


def explain(
    run: Path,
    *traces: Path,
    tables: Iterable[Path] = (),
    ranks: Mapping[Path, int] | None = None,
    raw_clocks: bool = False,
    stragglers: float | None = None,
    title: str | None = None,
) -> Explanation:
    """The predicted step of a run against traces of it, term by term: ``goodput explain``.

    Parameters
    ----------
    run
        RUN.yaml, as for :func:`predict`.
    traces
        Step traces of the run: files, or directories of them. A part of the ranks will do.
    tables, stragglers
        As for :func:`predict`.
    ranks, raw_clocks
        As for :func:`trace`.

    Raises
    ------
    GoodputError
        A run that cannot be, a trace that cannot be read, or traces without a step.

    Source: ``docs/explain.md``.
    """
    request = {
        "run": os.fspath(run),
        "tables": _paths(tables),
        "traces": _paths(traces),
        "ranks": [f"{os.fspath(path)}={rank}" for path, rank in (ranks or {}).items()],
        "raw_clocks": raw_clocks,
        "straggler_deviation": _share("stragglers", stragglers),
        "report": {"title": title},
    }
    return Explanation.of(_native.explain(json.dumps(request)))


def calibrate(
    *tables: Path,
    output: Path | None = None,
    device: str | None = None,
    column: Mapping[str, str] | None = None,
    set: Mapping[str, str] | None = None,
) -> CalibrateReport:
    """Measured kernels and exchanges, checked row by row and written for :func:`predict`: ``goodput calibrate``.

    Parameters
    ----------
    tables
        CSV (gzipped or not) or Parquet, and calibration files to be joined with them.
    output
        A file, or a folder (with a ``/`` at its end) for one file a device; without it the tables are only checked.
    device
        The device of every row, over what the tables say.
    column
        What the tables call a column: ``{"time_ms": "latency"}``.
    set
        Values that hold for every row: ``{"state": "burst"}``.

    Raises
    ------
    GoodputError
        A table that cannot be read, or none of whose rows can be used.

    Source: ``docs/calibrate.md``.
    """
    request = {
        "tables": _paths(tables),
        "output": _path(output),
        "device": device,
        "columns": [f"{ours}={theirs}" for ours, theirs in (column or {}).items()],
        "values": [f"{ours}={value}" for ours, value in (set or {}).items()],
    }
    return CalibrateReport.of(_native.calibrate(json.dumps(request)))


def _path(path: Path | None) -> str | None:
    return None if path is None else os.fspath(path)


def _by_devices(given: float | str | Mapping[int, float] | Mapping[int, str] | None) -> list[str]:
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [f"{devices}={value}" for devices, value in given.items()]
    return [str(given)]
