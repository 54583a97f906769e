"""Reports of predictions, searches, validations, explanations and calibrations: plain data, tables for Arrow, pages."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from . import _native
from .reports import File, _Answer, _html_list, _html_table, _percent, _ratio, _Row, _write


@dataclass(frozen=True)
class PredictedTerm(_Row):
    """One term of a predicted step, the mean over all devices."""

    term: str
    kind: str
    """``compute``, ``exchange``, ``bubble``, ``launch``, ``optimizer`` or ``straggler``."""
    time_ns: float
    share: float
    """Of the step."""
    deviation: float | None
    """Relative standard deviation; None for what is assumed."""
    basis: str | None
    """The weakest thing that it rests on: ``user_table``, ``table``, ``extrapolated`` or ``analytic``."""


@dataclass(frozen=True)
class PredictedMemory(_Row):
    """Memory of the rank that needs most, in bytes."""

    stage: int
    weights_bytes: float
    gradients_bytes: float
    optimizer_bytes: float
    activations_bytes: float
    working_bytes: float
    logits_bytes: float
    total_bytes: float
    allowance_bytes: float
    """Assumed, for fragments, the device's context and buffers of collectives; not in the total."""
    capacity_bytes: float | None
    fits: bool | None


@dataclass(frozen=True)
class Prediction(_Answer):
    """A predicted step. Tables for Arrow: ``terms``, ``stages``, ``efficiency`` (MFU conventions), ``closed_forms``."""

    step_ns: float
    deviation: float
    """Relative standard deviation of the step."""
    basis: str
    mfu: float
    """Exact model FLOPs of real tokens over the dense peak of the products' format."""
    hfu: float
    tokens_per_second_per_device: float
    terms: list[PredictedTerm]
    memory: PredictedMemory
    falls_short: bool
    """Whether it does not fit in memory."""

    @classmethod
    def of(cls, report: _native.Report) -> Prediction:
        raw = json.loads(report.json())
        names = ("step_ns", "deviation", "basis", "mfu", "hfu", "tokens_per_second_per_device")
        return cls(
            **{name: raw[name] for name in names},
            terms=[PredictedTerm.of(row) for row in raw["terms"]],
            memory=PredictedMemory.of(raw["memory"]),
            falls_short=report.falls_short,
            raw=raw,
            _report=report,
        )

    def to_arrow(self, table: str = "terms") -> _native.ArrowTable:
        """Rows as an Arrow table: ``terms``, ``stages``, ``efficiency`` or ``closed_forms``."""
        return self._report.table(table)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page with the picture of the simulated step; with ``path`` it is written there too."""
        return _write(self._report.render("html", 100), path)

    def _repr_html_(self) -> str:
        head = [
            ("step", f"{self.step_ns / 1e6:,.1f} ms ± {_percent(self.deviation)}"),
            ("MFU", _percent(self.mfu)),
            ("HFU", _percent(self.hfu)),
            ("tokens/s a device", f"{self.tokens_per_second_per_device:,.0f}"),
            ("memory", f"{(self.memory.total_bytes + self.memory.allowance_bytes) / 1e9:,.1f} GB"),
        ]
        terms = [
            (t.term, _ms(t.time_ns), _percent(t.share), _percent(t.deviation), t.basis or "assumed")
            for t in self.terms
        ]
        return _html_table((self.raw["run"]["model"], ""), head) + _html_table(
            ("term", "ms", "of the step", "uncertainty", "rests on"), terms
        )


@dataclass(frozen=True)
class Layout(_Row):
    """One layout that can run."""

    devices: int
    tp: int
    sp: bool
    cp: int
    pp: int
    vpp: int
    uneven_ends: list[int]
    """Layers that the first and the last part hold less than every other."""
    ep: int
    etp: int
    dp: int
    micro_batch: int
    schedule: str
    sharding: str
    recompute: str
    step_ns: float
    deviation: float | None
    memory_bytes: float
    """Of the rank that needs most, the allowance included."""
    mfu: float | None
    step_cost: float | None
    result_ns: float | None
    """Until the result: the stated wait, and steps x step time over the stated runtime goodput."""
    result_cost: float | None


@dataclass(frozen=True)
class SearchReport(_Answer):
    """Layouts of a run. Tables for Arrow: ``layouts``, ``pareto``."""

    best: list[Layout]
    """In order."""
    pareto: list[Layout]
    """All that no other beats in time, memory and devices at once, by step time."""
    candidates: int
    predicted: int
    feasible: int

    @classmethod
    def of(cls, report: _native.Report) -> SearchReport:
        raw = json.loads(report.json())
        return cls(
            best=[Layout.of(row) for row in raw["best"]],
            pareto=[Layout.of(row) for row in raw["pareto"]],
            candidates=raw["candidates"],
            predicted=raw["predicted"],
            feasible=raw["feasible"],
            raw=raw,
            _report=report,
        )

    def to_arrow(self, table: str = "layouts") -> _native.ArrowTable:
        """Rows as an Arrow table: ``layouts`` or ``pareto``."""
        return self._report.table(table)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page with the Pareto picture; with ``path`` it is written there too."""
        return _write(self._report.render("html", 100), path)

    def _repr_html_(self) -> str:
        rows = [
            (
                f"{layout.devices:,}",
                *(str(degree) for degree in (layout.tp, layout.cp, layout.pp, layout.vpp, layout.ep, layout.dp)),
                str(layout.micro_batch),
                layout.schedule,
                layout.recompute,
                f"{layout.step_ns / 1e6:,.1f}",
                _percent(layout.mfu),
                f"{layout.memory_bytes / 1e9:,.1f}",
            )
            for layout in self.best
        ]
        head = ("devices", "tp", "cp", "pp", "vpp", "ep", "dp", "micro", "schedule", "recompute", "ms", "MFU", "GB")
        return _html_table(head, rows)


@dataclass(frozen=True)
class Validation(_Answer):
    """Predictions against measured runs; errors are fractions. Tables for Arrow: ``runs``, ``refused``."""

    runs: int
    mape: float
    median_ape: float
    p90_ape: float
    bias: float
    worse: list[dict[str, Any]]
    """What has grown beyond the regression file: source, measure, before, now."""
    falls_short: bool
    """Whether a row was refused or could not be predicted."""

    @classmethod
    def of(cls, report: _native.Report) -> Validation:
        raw = json.loads(report.json())
        names = ("runs", "mape", "median_ape", "p90_ape", "bias")
        return cls(
            **{name: raw[name] for name in names},
            worse=(raw["regression"] or {}).get("worse", []),
            falls_short=report.falls_short,
            raw=raw,
            _report=report,
        )

    def to_arrow(self, table: str = "runs") -> _native.ArrowTable:
        """Rows as an Arrow table: ``runs``, or ``refused`` with line, field, found and expected."""
        return self._report.table(table)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page with the terms that hold the errors; with ``path`` it is written there too."""
        return _write(self._report.render("html", 100), path)

    def _repr_html_(self) -> str:
        figures = ("mape", "median_ape", "p90_ape", "bias")
        head = [(name, _percent(getattr(self, name))) for name in figures]
        rows = [
            (row["id"], row["source"], _ms(row["measured_ns"]), _ms(row["predicted_ns"]), _percent(row["error"]))
            for row in self.raw["rows"]
        ]
        return _html_table((f"{self.runs} runs", ""), head) + _html_table(
            ("run", "source", "measured ms", "predicted ms", "error"), rows
        )


@dataclass(frozen=True)
class ExplainedTerm(_Row):
    """One term of a step, the mean over traced device-steps."""

    term: str
    label: str
    predicted_ns: float
    deviation: float
    """Relative standard deviation of the prediction."""
    measured_ns: float
    difference_ns: float
    """Measured less predicted."""
    gap_share: float | None
    """Of the gap; None without a gap worth a name."""
    beyond_noise: bool
    """Whether the difference is beyond the prediction's noise, and above 1 % of the step."""


@dataclass(frozen=True)
class ExplainFinding(_Row):
    """A rule that fired."""

    rule: str
    term: str
    symptom: str
    amount_ns: float
    """What it adds to the step."""
    share: float
    evidence: list[str]
    check: str
    lever: str
    owner: str


@dataclass(frozen=True)
class Explanation(_Answer):
    """A predicted step against the traced one.

    Tables for Arrow: ``terms``, ``exchanges``, ``checks``, ``findings``, ``ranks``.
    """

    same_job: bool
    """Whether nothing says that the traces are of another job; the ``checks`` say why."""
    predicted_ns: float
    deviation: float
    """Relative standard deviation of the prediction."""
    measured_ns: float
    gap_ns: float
    """Measured less predicted."""
    within_noise: bool
    """Whether the gap is within two standard deviations of the prediction."""
    holder: str | None
    """The term that holds most of the gap; None where none is beyond its noise."""
    terms: list[ExplainedTerm]
    findings: list[ExplainFinding]
    warnings: list[str]
    falls_short: bool
    """Whether the step is not as predicted, the traces are of another job, or their reading is questioned."""

    @classmethod
    def of(cls, report: _native.Report) -> Explanation:
        raw = json.loads(report.json())
        names = ("same_job", "predicted_ns", "deviation", "measured_ns", "gap_ns", "within_noise", "holder", "warnings")
        return cls(
            **{name: raw[name] for name in names},
            terms=[ExplainedTerm.of(row) for row in raw["terms"]],
            findings=[ExplainFinding.of(row) for row in raw["findings"]],
            falls_short=report.falls_short,
            raw=raw,
            _report=report,
        )

    def to_arrow(self, table: str = "terms") -> _native.ArrowTable:
        """Rows as an Arrow table: ``terms``, ``exchanges``, ``checks``, ``findings`` or ``ranks``."""
        return self._report.table(table)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page with both steps side by side; with ``path`` it is written there too."""
        return _write(self._report.render("html", 100), path)

    def _repr_html_(self) -> str:
        head = [
            ("predicted", f"{self.predicted_ns / 1e6:,.1f} ms ± {_percent(self.deviation)}"),
            ("measured", f"{self.measured_ns / 1e6:,.1f} ms"),
            ("the term that holds the gap", self.raw["holder_label"] or "none is beyond its noise"),
            ("the same job", "yes" if self.same_job else "no"),
        ]
        terms = [
            (t.label, _ms(t.predicted_ns), _ms(t.measured_ns), _ms(t.difference_ns), _percent(t.gap_share))
            for t in self.terms
        ]
        return (
            _html_table((self.raw["run"]["model"], ""), head)
            + _html_table(("term", "predicted ms", "measured ms", "difference ms", "of the gap"), terms)
            + _html_list([f"{found.symptom}: {found.check}" for found in self.findings] + self.warnings)
        )


@dataclass(frozen=True)
class CalibratedKind(_Row):
    """One kind of call, measured on one device."""

    device: str
    kind: str
    rows: int
    sustained_rows: int
    repeats: int
    least: float
    """The smallest call, in ``unit``."""
    most: float
    unit: str
    noise: float | None
    """Median relative spread of the measurements of one call."""
    ratio: float | None
    """Measured over shipped time, the median; None where none is shipped."""
    ratio_p10: float | None
    ratio_p90: float | None
    compared_with: str | None
    """What the shipped time rests on: ``table``, ``extrapolated`` or ``analytic``."""


@dataclass(frozen=True)
class CalibrateReport(_Answer):
    """Measured kernels and exchanges. Tables for Arrow: ``kinds``, ``devices``, ``files``."""

    written: dict[str, str | None]
    """The calibration file of each device; None where the tables were only checked."""
    kinds: list[CalibratedKind]
    files: list[File]
    falls_short: bool
    """Whether rows were repaired or refused."""

    @classmethod
    def of(cls, report: _native.Report) -> CalibrateReport:
        raw = json.loads(report.json())
        return cls(
            written={device["device"]: device["file"] for device in raw["devices"]},
            kinds=[
                CalibratedKind.of({**kind, "device": device["device"]})
                for device in raw["devices"]
                for kind in device["kinds"]
            ],
            files=[File.of(row) for row in raw["read"]["files"]],
            falls_short=report.falls_short,
            raw=raw,
            _report=report,
        )

    def to_arrow(self, table: str = "kinds") -> _native.ArrowTable:
        """Rows as an Arrow table: ``kinds``, ``devices`` or ``files``."""
        return self._report.table(table)

    def _repr_html_(self) -> str:
        kinds = [
            (k.device, k.kind, f"{k.rows:,}", _percent(k.noise), _ratio(k.ratio), k.compared_with or "")
            for k in self.kinds
        ]
        files = [(f.path, f"{f.rows:,}", f"{f.used:,}", f"{f.repaired:,}", f"{f.refused:,}") for f in self.files]
        return _html_table(("device", "kind", "calls", "noise", "over shipped", "shipped is"), kinds) + _html_table(
            ("file", "rows", "used", "repaired", "refused"), files
        )


@dataclass(frozen=True)
class CollectedRun:
    """One row of RUNS.csv."""

    id: str
    source: str
    step: str | None
    """The step time or throughput, in words: steps, spread, metric."""
    measure: str | None
    """Column of the measurement."""
    value: float | None
    """Seconds, or a throughput."""
    steps: int
    missing: dict[str, str]
    """What fills each column that nothing states."""


@dataclass(frozen=True)
class Collection(_Answer):
    """Measured runs as rows of RUNS.csv. Tables for Arrow: ``rows``, ``missing``, ``files``."""

    output: str
    """The RUNS.csv that was written."""
    complete: int
    """Rows that lack nothing."""
    partial: int
    """Rows that lack a column."""
    rows: list[CollectedRun]
    falls_short: bool
    """Whether a source, run or line was refused, or a row lacks a column."""

    @classmethod
    def of(cls, report: _native.Report) -> Collection:
        raw = json.loads(report.json())
        names = ("id", "source", "step", "measure", "value", "steps")
        rows = [
            CollectedRun(
                **{name: row[name] for name in names},
                missing={lacks["column"]: lacks["remedy"] for lacks in row["missing"]},
            )
            for row in raw["rows"]
        ]
        return cls(
            **{name: raw[name] for name in ("output", "complete", "partial")},
            rows=rows,
            falls_short=report.falls_short,
            raw=raw,
            _report=report,
        )

    def to_arrow(self, table: str = "rows") -> _native.ArrowTable:
        """Rows as an Arrow table: ``rows``, ``missing`` or ``files``."""
        return self._report.table(table)

    def _repr_html_(self) -> str:
        rows = [(row.id, row.step or "", ", ".join(row.missing)) for row in self.rows]
        refused = [f"{run['id']}: {run['column']} has two values" for run in self.raw["refused"]]
        refused += [f"{source['source']}: {source['reason']}" for source in self.raw["refused_sources"]]
        return _html_table(("run", "measured", "missing"), rows) + _html_list(refused)


def _ms(ns: float) -> str:
    return f"{ns / 1e6:,.2f}"
