"""The report of a serving fleet: plain data, tables for Arrow, pages."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from . import _native
from .reports import File, ReportWarning, _Answer, _html_list, _html_table, _Row, _ratio, _write


@dataclass(frozen=True)
class ServingMeasure(_Row):
    """A figure with all that names it."""

    key: str
    name: str
    """Which goodput, which ideal."""
    value: float | None
    denominator: str
    missing: str | None
    """Why there is none."""


@dataclass(frozen=True)
class ServingLoss(_Row):
    """Held time that is not ideal, charged once."""

    boundary: str
    """``runtime`` or ``program``."""
    pattern: str
    label: str
    amount_ns: int
    """Device-nanoseconds."""
    share_of_held: float | None
    owner: str


@dataclass(frozen=True)
class ServingRow:
    """A deployment on one kind of device. Rows are not added to one another."""

    deployment: str
    device: str | None
    replicas: int
    held_ns: int
    """Device-nanoseconds held by whole replicas."""
    ready_ns: int
    measures: list[ServingMeasure]
    losses: list[ServingLoss]
    work: dict[str, Any]
    """What was served, as the command's JSON has it."""
    missing: list[str]
    """What the ideals lack and what settles it."""


@dataclass(frozen=True)
class ServingReport(_Answer):
    """A fleet of replicas. Tables for Arrow: ``measures``, ``losses``, ``rows``, ``decode_terms``, ``pools``,
    ``lifetimes``, ``warnings``, ``files``."""

    rows: list[ServingRow]
    pools: list[dict[str, Any]]
    """Scheduling of the pools that have samples."""
    warnings: list[ReportWarning]
    files: list[File]
    falls_short: bool
    """Whether rows were repaired or refused, or a warning questions a figure."""

    @classmethod
    def of(cls, report: _native.Report) -> ServingReport:
        raw = json.loads(report.json())
        return cls(
            rows=[
                ServingRow(
                    **{name: row[name] for name in ("deployment", "replicas", "work")},
                    device=row["basis"]["device"],
                    held_ns=int(row["held_ns"]),
                    ready_ns=int(row["ready_ns"]),
                    measures=[ServingMeasure.of(measure) for measure in row["measures"]],
                    losses=[ServingLoss.of(loss) for loss in row["losses"]],
                    missing=row["basis"]["missing"],
                )
                for row in raw["rows"]
            ],
            pools=raw["pools"],
            warnings=[ReportWarning.of(row) for row in raw["warnings"]],
            files=[File.of(row) for row in raw["read_report"]["files"]],
            falls_short=report.falls_short,
            raw=raw,
            _report=report,
        )

    def to_arrow(self, table: str = "measures") -> _native.ArrowTable:
        """Rows as an Arrow table: ``measures``, ``losses``, ``rows``, ``decode_terms``, ``pools``, ``lifetimes``,
        ``warnings`` or ``files``."""
        return self._report.table(table)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page; with ``path`` it is written there too."""
        return _write(self._report.render("html", 100), path)

    def to_openmetrics(self) -> str:
        """Gauges for Prometheus."""
        return self._report.render("openmetrics", 100)

    def _repr_html_(self) -> str:
        measures = [
            (row.deployment, row.device or "", measure.name, _ratio(measure.value), measure.denominator)
            for row in self.rows
            for measure in row.measures
            if measure.value is not None
        ]
        return _html_table(("deployment", "device", "measure", "", "divides by"), measures) + _html_list(
            warning.message for warning in self.warnings
        )
