"""Reports of decisions: plain data, tables for Arrow, pages."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from . import _native
from .reports import _Answer, _html_list, _html_table, _ratio, _Row, _write


@dataclass(frozen=True)
class Ratio(_Row):
    """After over before, with its interval."""

    value: float
    low: float | None
    """None where there is too little to draw from."""
    high: float | None

    def __str__(self) -> str:
        interval = "" if self.low is None or self.high is None else f" ({self.low:.4f} to {self.high:.4f})"
        return f"{self.value:.4f}{interval}"


@dataclass(frozen=True)
class FactorMove:
    """One factor before and after."""

    factor: str
    """``scheduling``, ``runtime`` or ``program``."""
    decides: bool
    """Whether the deciding product holds it."""
    basis: str
    """``factors``, or ``step_times`` where no ideal is known."""
    before: float | None
    """On the settled share."""
    after: float | None
    ratio: Ratio
    headroom: float | None
    """The most that its own levers can multiply the product by from here."""


@dataclass(frozen=True)
class Comparison(_Answer):
    """Two reports under one contract. Tables for Arrow: ``factors``, ``differences``, ``adequacy``."""

    verdict: str
    """``accept``, ``reject`` or ``not_decided``."""
    reasons: list[str]
    """The deciding one first."""
    lever: str
    """Whose product decides: ``job`` or ``pool``."""
    product: Ratio
    """The product of the ratios that decides."""
    factors: list[FactorMove]
    differences: list[dict[str, Any]]
    """Conditions that the two do not share, each with what cannot be attributed because of it."""
    notes: list[str]
    falls_short: bool
    """Whether the change is not accepted."""

    @classmethod
    def of(cls, report: _native.Report) -> Comparison:
        raw = json.loads(report.json())
        names = ("factor", "decides", "basis", "before", "after", "headroom")
        return cls(
            **{name: raw[name] for name in ("verdict", "reasons", "lever", "differences", "notes")},
            product=Ratio.of(raw["product"]),
            factors=[
                FactorMove(**{name: row[name] for name in names}, ratio=Ratio.of(row["ratio"]))
                for row in raw["factors"]
            ],
            falls_short=report.falls_short,
            raw=raw,
            _report=report,
        )

    def to_arrow(self, table: str = "factors") -> _native.ArrowTable:
        """Rows as an Arrow table: ``factors``, ``differences`` or ``adequacy``."""
        return self._report.table(table)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page; with ``path`` it is written there too."""
        return _write(self._report.render("html", 100), path)

    def _repr_html_(self) -> str:
        head = [("product", str(self.product)), ("of the", self.lever)]
        factors = [(f.factor, _ratio(f.before), _ratio(f.after), str(f.ratio)) for f in self.factors]
        return (
            _html_table((self.verdict.replace("_", " "), ""), head)
            + _html_list(self.reasons)
            + _html_table(("factor", "before", "after", "ratio"), factors)
            + _html_list(self.notes)
        )


@dataclass(frozen=True)
class PlanFigure(_Row):
    """One figure of an answer."""

    key: str
    label: str
    value: float | None
    """In the unit; None where there is no finite one."""
    unit: str


@dataclass(frozen=True)
class PlanAnswer:
    """One question of a plan answered."""

    question: str
    """The word after ``ask``."""
    name: str | None
    verdict: str
    """The decision in words."""
    figures: list[PlanFigure]
    """The most important first."""
    rows: list[dict[str, Any]]
    """Options, sizes or terms, a table each: ``title``, ``columns``, ``rows``."""
    inputs: list[dict[str, Any]]
    """What the answer rests on, each with its source."""
    warnings: list[str]


@dataclass(frozen=True)
class PlanReport(_Answer):
    """Questions answered. Tables for Arrow: ``figures``, ``inputs``."""

    title: str | None
    currency: str | None
    seed: int
    answers: list[PlanAnswer]
    """In the order of the questions."""

    @classmethod
    def of(cls, report: _native.Report) -> PlanReport:
        raw = json.loads(report.json())
        names = ("question", "name", "verdict", "rows", "inputs", "warnings")
        return cls(
            **{name: raw[name] for name in ("title", "currency", "seed")},
            answers=[
                PlanAnswer(**{name: row[name] for name in names}, figures=[PlanFigure.of(f) for f in row["figures"]])
                for row in raw["answers"]
            ],
            raw=raw,
            _report=report,
        )

    def to_arrow(self, table: str = "figures") -> _native.ArrowTable:
        """Rows as an Arrow table: ``figures`` or ``inputs`` of all answers."""
        return self._report.table(table)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page, with curves and the frontier; with ``path`` it is written there too."""
        return _write(self._report.render("html", 100), path)

    def _repr_html_(self) -> str:
        rows = [(a.name or a.question, a.verdict, "; ".join(a.warnings)) for a in self.answers]
        return _html_table(("question", "answer", "warnings"), rows)


@dataclass(frozen=True)
class LintFinding(_Row):
    """A mistake in a sheet or a report."""

    check: str
    severity: str
    """``error``, ``warning`` or ``note``."""
    title: str
    at: str
    """Key path."""
    evidence: list[str]
    why: str
    corrected: list[dict[str, Any]]
    """Figures put right: ``name``, ``stated``, ``value``, ``how``."""


@dataclass(frozen=True)
class LintReport(_Answer):
    """Known mistakes. Tables for Arrow: ``findings``, ``corrected``."""

    title: str | None
    kind: str
    """``sheet``, ``account`` or ``timeline``."""
    checks: int
    """Checks made."""
    errors: int
    warnings: int
    notes: int
    findings: list[LintFinding]
    """Errors first."""
    falls_short: bool
    """Whether a finding is an error."""

    @classmethod
    def of(cls, report: _native.Report) -> LintReport:
        raw = json.loads(report.json())
        return cls(
            **{name: raw[name] for name in ("title", "kind", "checks", "errors", "warnings", "notes")},
            findings=[LintFinding.of(row) for row in raw["findings"]],
            falls_short=report.falls_short,
            raw=raw,
            _report=report,
        )

    def to_arrow(self, table: str = "findings") -> _native.ArrowTable:
        """Rows as an Arrow table: ``findings``, or the ``corrected`` figures of all."""
        return self._report.table(table)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page; with ``path`` it is written there too."""
        return _write(self._report.render("html", 100), path)

    def _repr_html_(self) -> str:
        rows = [(f.severity, f.title, f.at, "; ".join(f.evidence)) for f in self.findings]
        return _html_table(("severity", "mistake", "at", "evidence"), rows)
