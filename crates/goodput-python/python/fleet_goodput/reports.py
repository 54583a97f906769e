"""Reports: plain data, tables for Arrow, and a page for people.

Exact integers (nanoseconds, device-nanoseconds, FLOPs) are Python integers; in Arrow they are decimal128(38, 0).
Shares and factors are floats from 0 to 1, None where nothing settles them.
"""

from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from . import _native

Row = TypeVar("Row", bound="_Row")


class _Row:
    """A dataclass made from the fields of the same names of a JSON object."""

    @classmethod
    def of(cls: type[Row], values: dict[str, Any]) -> Row:
        return cls(**{f.name: _exact(f.name, values.get(f.name)) for f in fields(cls)})  # type: ignore[arg-type]


def _exact(name: str, value: Any) -> Any:
    return int(value) if name.endswith("_ns") and isinstance(value, str) else value


@dataclass(frozen=True)
class Factors(_Row):
    """What crossed each boundary over what arrived there; None where nothing settles it."""

    scheduling: float | None
    """Held over offered; None for one job."""
    runtime: float | None
    """Retained over held."""
    program: float | None
    """Ideal over retained."""
    mpg: float | None
    """The product: ideal over offered; None for one job."""
    job_product: float | None
    """Runtime x program."""


@dataclass(frozen=True)
class Loss(_Row):
    """Capacity-time that fails to cross one boundary."""

    boundary: str
    pattern: str
    label: str
    owner: str
    owners: list[str]
    lever: str
    amount_ns: int
    """Device-nanoseconds, exact."""
    device_hours: float
    share: float | None
    """Of the report's first level: offered for a fleet, held for a job."""
    open: bool
    """Whether evidence may still move it."""
    evidence: list[str]
    """Records that it came from, as ``file:line``."""


@dataclass(frozen=True)
class Lever(_Row):
    """What removing one loss is worth, the largest relative gain first."""

    rank: int
    lever: str
    boundary: str
    pattern: str
    owner: str
    loss_ns: int
    loss_device_hours: float
    relative_gain: float | None
    relative_gain_low: float | None
    worth: float | None
    condition: str | None
    open: bool


@dataclass(frozen=True)
class ReportWarning(_Row):
    """What a person should know before trusting a figure."""

    code: str
    message: str
    job: str | None
    source: str | None
    more: int


@dataclass(frozen=True)
class File(_Row):
    """What became of one file's rows."""

    path: str
    format: str
    rows: int
    used: int
    repaired: int
    refused: int


@dataclass(frozen=True)
class Steps(_Row):
    """Steps of a job by fate."""

    executed: int
    retained: int
    discarded: int
    pending: int
    planned: int | None


@dataclass(frozen=True)
class Pool:
    """One pool of a fleet."""

    name: str
    devices: int
    factors: Factors
    offered_ns: int
    held_ns: int
    retained_ns: int
    ideal_ns: int
    availability: float | None
    losses: list[Loss]


@dataclass(frozen=True)
class Job:
    """One job of a fleet."""

    id: str
    name: str
    user: str
    account: str
    pool: str
    state: str
    attempts: int
    devices: int
    factors: Factors
    held_ns: int
    retained_ns: int
    ideal_ns: int
    losses: list[Loss]


@dataclass(frozen=True)
class _Report:
    factors: Factors
    held_ns: int
    """Device-nanoseconds held by complete allocations."""
    retained_ns: int
    """Productive device-nanoseconds on retained steps."""
    ideal_ns: int
    """The same steps at the ideal rate."""
    losses: list[Loss]
    levers: list[Lever]
    warnings: list[ReportWarning]
    files: list[File]
    falls_short: bool
    """Whether rows were repaired or refused, or a warning questions a figure."""
    raw: dict[str, Any] = field(repr=False)
    """Everything, as the command's JSON has it (``schemas/``)."""
    _report: _native.Report = field(repr=False, compare=False)

    def to_arrow(self, table: str = "losses") -> _native.ArrowTable:
        """Rows as an Arrow table, without a copy: ``pyarrow.table(t)``, ``polars.DataFrame(t)``,
        ``pandas.DataFrame.from_arrow(t)``.

        ``table`` is ``losses``, ``levers``, ``warnings``, ``files``, or of a fleet ``pools`` or ``jobs``.
        """
        return self._report.table(table)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The whole report as one page that works offline; with ``path`` it is written there too."""
        return _write(self._report.render("html", 100), path)

    def to_openmetrics(self, path: str | os.PathLike[str] | None = None) -> str:
        """OpenMetrics text for a scraper."""
        return _write(self._report.render("openmetrics", 100), path)

    def __str__(self) -> str:
        return self._report.render("table", 100)

    def _repr_html_(self) -> str:
        shown = {name: value for name, value in vars(self.factors).items() if value is not None}
        factors = "".join(f"<tr><th>{html.escape(name)}</th><td>{value:.4f}</td></tr>" for name, value in shown.items())
        rows = "".join(
            f"<tr><td>{html.escape(loss.boundary)}</td><td>{html.escape(loss.label)}</td>"
            f"<td>{html.escape(loss.owner)}</td><td style='text-align:right'>{loss.device_hours:,.2f}</td>"
            f"<td style='text-align:right'>{'' if loss.share is None else f'{loss.share:.2%}'}</td></tr>"
            for loss in self.losses
        )
        notes = "".join(f"<li>{html.escape(warning.message)}</li>" for warning in self.warnings)
        return (
            f"<table>{factors}</table>"
            "<table><thead><tr><th>boundary</th><th>loss</th><th>owner</th><th>device-hours</th><th>share</th></tr>"
            f"</thead><tbody>{rows}</tbody></table>" + (f"<ul>{notes}</ul>" if notes else "")
        )


def _common(report: _native.Report, raw: dict[str, Any]) -> dict[str, Any]:
    capacity = raw["capacity_time"]
    return {
        "factors": Factors.of(raw["factors"]),
        "held_ns": int(capacity["held_ns"]),
        "retained_ns": int(capacity["retained_ns"]),
        "ideal_ns": int(capacity["ideal_ns"]),
        "losses": [Loss.of(row) for row in raw["losses"]],
        "levers": [Lever.of(row) for row in raw["levers"]],
        "warnings": [ReportWarning.of(row) for row in raw["warnings"]],
        "files": [File.of(row) for row in raw["read_report"]["files"]],
        "falls_short": report.falls_short,
        "raw": raw,
        "_report": report,
    }


@dataclass(frozen=True)
class TimelineReport(_Report):
    """One job: runtime and program goodput, and every loss of its held time."""

    job: str | None
    devices: int
    steps: Steps
    fault_free_step_ns: int | None
    """f, the median steady step with input ready."""
    mfu: float | None
    """Of the retained steps whose work is known; None without FLOPs or peak."""

    @classmethod
    def of(cls, report: _native.Report) -> TimelineReport:
        raw = json.loads(report.json())
        basis = raw["program_basis"]
        return cls(
            job=raw["job"],
            devices=raw["held"]["devices"],
            steps=Steps.of(raw["steps"]),
            fault_free_step_ns=_exact("_ns", raw["fault_free_step_ns"]),
            mfu=None if basis is None else basis["mfu"],
            **_common(report, raw),
        )


@dataclass(frozen=True)
class AccountReport(_Report):
    """A fleet: the three factors, every loss with its owner, pools and jobs."""

    offered_ns: int
    """Device-nanoseconds in service (or installed)."""
    availability: float | None
    pools: list[Pool]
    jobs: list[Job]

    @classmethod
    def of(cls, report: _native.Report) -> AccountReport:
        raw = json.loads(report.json())
        return cls(
            offered_ns=int(raw["capacity_time"]["offered_ns"]),
            availability=raw["availability"],
            pools=[_part(Pool, row) for row in raw["pools"]],
            jobs=[_part(Job, row) for row in raw["jobs"]],
            **_common(report, raw),
        )


def _part(kind: type, row: dict[str, Any]) -> Any:
    """A pool or a job, whose ledger is spread over its row."""
    values = {**row, **row["capacity_time"]}
    values["factors"] = Factors.of(row["factors"])
    values["losses"] = [Loss.of(loss) for loss in row["losses"]]
    return kind(**{f.name: _exact(f.name, values[f.name]) for f in fields(kind)})


def _write(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return text
