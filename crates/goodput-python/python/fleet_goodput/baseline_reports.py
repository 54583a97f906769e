"""Reports of a history and its regressions: plain data, tables for Arrow, pages."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from . import _native
from .reports import _Answer, _html_list, _html_table, _Row, _write


@dataclass(frozen=True)
class BaselineUpdate(_Answer):
    """What was added to a history. Table for Arrow: ``refused_lines``."""

    history: str
    reports: int
    """Reports read."""
    added: int
    """Rows added."""
    known: int
    """Rows that it had."""
    refused: list[str]
    """Rows that cannot stand beside those it has."""
    refused_lines: list[dict[str, Any]]
    """Lines of the history that are no rows."""
    falls_short: bool
    """Whether a row or a line was refused."""

    @classmethod
    def of(cls, report: _native.Report) -> BaselineUpdate:
        raw = json.loads(report.json())
        names = ("history", "reports", "added", "known", "refused", "refused_lines")
        return cls(**{name: raw[name] for name in names}, falls_short=report.falls_short, raw=raw, _report=report)

    def to_arrow(self, table: str = "refused_lines") -> _native.ArrowTable:
        """Rows as an Arrow table: ``refused_lines``."""
        return self._report.table(table)

    def _repr_html_(self) -> str:
        rows = [("reports", str(self.reports)), ("rows added", str(self.added)), ("rows known", str(self.known))]
        lines = [f"line {refused['line']}: {refused['why']}" for refused in self.refused_lines]
        return _html_table((self.history, ""), rows) + _html_list([*self.refused, *lines])


@dataclass(frozen=True)
class BaselineChange(_Row):
    """A change of one figure of one job or pool."""

    tier: str
    metric: str
    label: str
    unit: str
    """``seconds``, ``share``, ``per_day`` or ``ratio``: of ``before`` and ``after``."""
    kind: str
    """``job`` or ``pool``."""
    subject: str
    worse: bool
    recovered: bool
    """Whether it has come back since."""
    before: float
    after: float
    relative: float | None
    """After over before, less one; None from nothing."""
    relative_interval: list[float] | None
    """95 % interval of that, where the figure is compared by ratio."""
    day: str
    """First UTC day after the change."""
    between: list[str]
    """Last day that may still be before it, and the last that may be its first."""
    p_value: float
    causes: list[dict[str, Any]]
    """What else changed then: ``what``, ``before``, ``after``, ``day``."""
    slow_host: str | None
    """The host of ``slow_hosts`` that causes it and is counted in its place."""


@dataclass(frozen=True)
class BaselineCheck(_Answer):
    """What a check found. Tables for Arrow: ``changes``, ``causes``, ``tiers``, ``slow_hosts``, ``canaries``,
    ``departures``, ``refused``."""

    verdict: str
    """``regressed``, ``no_regression`` or ``not_enough_history``."""
    regressions: int
    """What became worse and still is."""
    changes: list[BaselineChange]
    """Standing regressions first."""
    slow_hosts: list[dict[str, Any]]
    """Hosts that are slower than their peers, with their jobs."""
    departures: list[dict[str, Any]]
    """Runs off the baseline of their architecture, software, device and convention."""
    falls_short: bool
    """Whether a line of the history was refused or nothing could be tested."""

    @classmethod
    def of(cls, report: _native.Report) -> BaselineCheck:
        raw = json.loads(report.json())
        return cls(
            **{name: raw[name] for name in ("verdict", "regressions", "slow_hosts", "departures")},
            changes=[BaselineChange.of(row) for row in raw["changes"]],
            falls_short=report.falls_short,
            raw=raw,
            _report=report,
        )

    def to_arrow(self, table: str = "changes") -> _native.ArrowTable:
        """Rows as an Arrow table: ``changes``, ``causes``, ``tiers``, ``slow_hosts``, ``canaries``, ``departures`` or
        ``refused``."""
        return self._report.table(table)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page; with ``path`` it is written there too."""
        return _write(self._report.render("html", 100), path)

    def _repr_html_(self) -> str:
        head = [("standing regressions", str(self.regressions)), ("rows", str(self.raw["rows"]))]
        rows = [
            (
                change.subject,
                change.label,
                "recovered" if change.recovered else "worse" if change.worse else "better",
                "" if change.relative is None else f"{change.relative:+.2%}",
                change.day,
                ", ".join(
                    [f"slow host {change.slow_host}, counted once"] * bool(change.slow_host)
                    + [f"{cause['what']} {cause['before']} to {cause['after']}" for cause in change.causes]
                ),
            )
            for change in self.changes
        ]
        return _html_table((self.verdict.replace("_", " "), ""), head) + _html_table(
            ("of", "figure", "change", "relative", "since", "what else changed"), rows
        )
